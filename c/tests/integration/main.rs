//! The C interface as used by a C program, and called from here with invalid arguments.

mod calls;
#[cfg(feature = "cuda")]
mod context;
mod device;
mod example;
mod header;
