//! Kernels from source to PTX, on a sample workspace.

mod build;
mod hash;
mod sample;
