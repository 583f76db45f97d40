//! Everything that a kernel may call.
//!
//! On nvptx64 these are the GPU's own instructions. Elsewhere the same functions run on the warp emulator (crate
//! `warp_emulator`), which checks what a GPU takes on trust. A kernel is written once and never depends on where it
//! runs.
//!
//! Names and signatures are those of Rust-CUDA's `cuda_std` wherever it has the operation.
//!
//! Collectives (shuffles, votes, barriers) go through LLVM's convergent intrinsics, never through inline
//! assembly, which LLVM may move across divergent control flow.
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(asm_experimental_arch, link_llvm_intrinsics, stdarch_nvptx, abi_unadjusted)
)]
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]

mod complex;
mod entry_name;
mod float;
mod global;
#[cfg(not(target_arch = "nvptx64"))]
pub mod launch;
mod pair;
#[cfg(not(target_arch = "nvptx64"))]
mod place;
mod plain;
pub mod shared;
mod stored;
pub mod thread;
pub mod warp;

#[cfg_attr(target_arch = "nvptx64", path = "backend/nvptx.rs")]
#[cfg_attr(not(target_arch = "nvptx64"), path = "backend/emulated.rs")]
mod backend;

pub use complex::Complex;
pub use cuda_std_macros::kernel;
pub use float::{GpuFloat, GpuScalar, square_root};
pub use global::{Global, GlobalMut, Index, Scalar};
pub use pair::{Elements, Pair};
pub use plain::Plain;
pub use stored::{BFloat16, Code, Float16, OfBits, Same, Stored};

pub use entry_name::EntryName;
