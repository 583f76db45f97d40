//! The C interface as a C program sees it, and called from here with arguments that are wrong.

mod calls;
#[cfg(feature = "cuda")]
mod context;
mod device;
mod example;
mod header;
