//! Sparse matrix-vector multiplication (SpMV), y ← α A x + β y, on NVIDIA GPUs and on the CPU.
//!
//! A [`Csr`] matrix comes from a generator, a file or its arrays. An [executor](executor::Executor) determines where to
//! multiply, and a [`Format`] how the matrix is stored there. A [`Plan`] holds the matrix on that executor, in a given
//! or chosen format, and multiplies it. The [`tutorial`] continues from here.
//!
//! ```
//! use warp_spmv::executor::{Cpu, Executor};
//! use warp_spmv::synthetic::Generator;
//! use warp_spmv::verify::{exact, verify};
//! use warp_spmv::{Csr, Plan};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The Laplacian of 7 points on a grid of 20 x 20 x 20.
//! let matrix: Csr<f64> = "stencil:7:20".parse::<Generator>()?.generate()?;
//! let x: Vec<f64> = (0..matrix.columns()).map(|column| (column as f64).sin()).collect();
//!
//! let cpu = Cpu::new();
//! let mut plan = Plan::new(&cpu, matrix.clone())?;
//! let mut y = cpu.upload(vec![0.0; matrix.rows()])?;
//! plan.apply(1.0, &cpu.upload(x.clone())?, 0.0, &mut y)?;
//!
//! // Compare with the answer in twice the precision, row by row.
//! let y = cpu.download(&y)?;
//! let expected = exact(&matrix, 1.0, &x, 0.0, &y)?;
//! assert!(verify(&y, &expected, plan.format())?.passed());
//! # Ok(())
//! # }
//! ```
//!
//! Matrices and vectors can also come from files:
//!
//! ```
//! use warp_spmv::io::{read_matrix_market, read_vector, write_vector};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("small.mtx");
//! std::fs::write(&path, "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 4.0\n2 3 0.5\n")?;
//! let (matrix, _) = read_matrix_market::<f32>(&path, None)?;
//! assert!(matrix.row(1).eq([(2, 0.5)]));
//!
//! let path = folder.path().join("y.mtx");
//! write_vector(&path, &[1.0, 0.1])?;
//! assert_eq!(read_vector::<f64>(&path, None)?, [1.0, 0.1]);
//! # Ok(())
//! # }
//! ```
//!
//! On a GPU, use `Cuda::new(0)?` instead of `Cpu::new()`; the rest stays the same.
//!
//! # Features
//! - `command`, on by default: the command `warp-spmv`. With `default-features = false` only the library is built.
//! - `cuda`: the executor `Cuda`, which runs on NVIDIA GPUs through the CUDA driver.
//! - `faer`, `nalgebra-sparse`, `ndarray`, `sprs`: converts the matrices and vectors of these crates to those of this
//!   one and back, without a copy if both have the same arrays: [`interop`].
//! - `metis`: [orders of rows](synthetic::reorder) by METIS, which is compiled along with it.
//! - `mpi`: ranks of a [distributed] matrix can be processes of MPI.
//! - `nccl`: ranks on GPUs exchange elements by NVIDIA's library NCCL, if it is found at run time; with `cuda`.
//! - `peers`: the command also times other libraries.
//!
//! # Modules
//! The types that most programs need are at the top. [`executor`] has the executors, [`format`](mod@format) the storage
//! formats, [`interop`] matrices of other crates, [`select`] the choice of a format, [`verify`] the error bound, [`io`]
//! files, [`solver`] iterative solvers, [`distributed`] matrices over several ranks, and [`synthetic`] generated
//! matrices.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[doc(inline)]
pub use distributed;
#[doc(inline)]
pub use files as io;
#[doc(inline)]
pub use host::{
    Complex, Csr, Epilogue, Error, Format, HostMemory, Layout, Memory, Multivector, NarrowType, PartialSums, Plan,
    PlanOptions, ProductSums, Real, Scalar, Transposed, ValueStorage, Vector, device, executor, format, interop,
    memory, select, sparse_product, verify,
};
#[doc(inline)]
pub use solvers as solver;

/// Matrices that are generated rather than read.
#[doc(inline)]
pub use synthetic;

pub mod tutorial;

/// The programs in the README and in the guide are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../docs/guide/library.md")]
struct GuideToTheLibrary;

#[cfg(doctest)]
#[doc = include_str!("../docs/guide/solve.md")]
struct GuideToSolvers;
