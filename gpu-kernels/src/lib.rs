//! The SpMV kernels, one file per format, those of the conversions between formats, and those for dense vectors that
//! solvers need.
//!
//! Each kernel is compiled to PTX for the GPU and as plain Rust for the warp emulator. No kernel has a `cfg`:
//! `cuda_std` selects the backend. With the feature `ptx` the crate contains that PTX as text.
//!
//! The kernels of the formats compute y ← α A x + β y, some for several x or for Aᵀ; with β = 0 they never read y.
#![no_std]
// The contract of a kernel is its Safety section, and its entire body relies on it.
#![allow(unsafe_op_in_unsafe_fn)]

pub mod absent;
mod ahead;
pub mod bcsr;
pub mod bellpack;
pub mod block;
mod block_sums;
pub mod ceiling;
pub mod clustered;
pub mod clustered_symmetric;
pub mod cmrs;
pub mod column_panels;
pub mod conformance;
pub mod conformance_of_pairs;
pub mod convert;
pub mod coo;
pub mod coo_16;
pub mod csr;
pub mod csr_load_balanced;
pub mod csr_merge_path;
pub mod csr_tiled;
pub mod csr_tiled_arriving;
pub mod dense;
pub mod dia;
pub mod ell;
mod entries;
pub mod fused;
pub mod multigrid;
pub mod multivector;
#[cfg(feature = "ptx")]
pub mod ptx;
mod reduction;
pub mod scan;
mod search;
pub mod sell_16;
pub mod sell_p;
pub mod sparse_product;
pub mod transposed;
pub mod triangular;
mod values;
pub mod vector;

use core::ops::{Add, Sub};

use cuda_std::warp::WarpShuffleValue;
use cuda_std::{EntryName, Index, Scalar};

/// A row offset: `u32`, or `u64` for matrices with 2^32 or more stored entries.
pub trait Offset:
    Scalar + Index + EntryName + WarpShuffleValue + PartialOrd + Add<Output = Self> + Sub<Output = Self> + From<u32>
{
    /// Converts an offset, which must fit.
    fn of(offset: u64) -> Self;
}

impl Offset for u32 {
    #[inline(always)]
    fn of(offset: u64) -> Self {
        offset as u32
    }
}

impl Offset for u64 {
    #[inline(always)]
    fn of(offset: u64) -> Self {
        offset
    }
}
