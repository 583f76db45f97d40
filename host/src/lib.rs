//! Sparse matrix-vector multiplication (SpMV): formats, conversions, executors and the choice of a format.
//!
//! A [`Csr`] matrix and an [executor] make a [`Plan`], which multiplies:
//!
//! ```
//! use host::executor::{Cpu, Executor};
//! use host::{Csr, Format, Plan};
//!
//! # fn main() -> Result<(), host::Error> {
//! let matrix = Csr::try_from_triplets(2, 3, &[0, 1, 1], &[0, 1, 2], &[1.0, 2.0, 3.0])?;
//! let cpu = Cpu::new();
//! let x = cpu.upload(vec![1.0, 10.0, 100.0])?;
//! let mut y = cpu.upload(vec![0.0; 2])?;
//! Plan::with_format(&cpu, matrix, Format::COO)?.apply(1.0, &x, 0.0, &mut y)?;
//! assert_eq!(cpu.download(&y)?, [1.0, 320.0]);
//! # Ok(())
//! # }
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

mod accumulator;
mod available_memory;
pub mod complex;
pub mod convert;
pub mod device;
#[doc(hidden)]
pub mod elements;
pub mod error;
pub mod executor;
pub mod format;
#[cfg(all(feature = "instances", not(test)))]
#[doc(hidden)]
pub mod instances;
pub mod interop;
#[doc(hidden)]
#[allow(unsafe_code, reason = "the caller vouches for its result")]
pub mod kernels;
pub mod memory;
#[doc(hidden)]
pub mod occupied_rows;
#[doc(hidden)]
pub mod parallel;
mod partial_sums;
pub mod plan;
pub mod real;
#[doc(hidden)]
pub mod replace;
pub mod select;
#[doc(hidden)]
pub mod small_file;
pub mod sparse_product;
mod spmv;
pub mod verify;

pub use complex::Complex;
pub use error::Error;
pub use format::{Csr, Format, NarrowType, ValueStorage};
pub use memory::{HostMemory, Memory};
pub use partial_sums::PartialSums;
pub use plan::{Plan, PlanOptions, Transposed, Vector};
pub use real::{Real, Scalar};
pub use spmv::{Epilogue, Layout, Multivector, ProductSums};
