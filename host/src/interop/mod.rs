//! Matrices and vectors of other programs and crates.
//!
//! [`Csr::try_from_slices`](crate::Csr::try_from_slices) takes arrays with any type of [`Index`]. The rest is behind one
//! feature per crate, with the crate's name: `faer` (0.24), `nalgebra-sparse` (0.11), `ndarray` (0.17), `sprs` (0.11).
//!
//! A matrix of another crate converts to a [`Csr`](crate::Csr) by `TryFrom`, and vice versa. Every invariant is
//! checked, whatever the other crate promises: the check is O(nnz), even if nothing is copied. The types determine what
//! is moved and what is copied:
//!
//! | from | to | arrays |
//! |---|---|---|
//! | owned, indices of type `u32` | `Csr` | moved; nothing is copied |
//! | owned, other indices | `Csr` | values moved; columns and offsets narrowed, hence copied |
//! | a view or a reference | `Csr` | copied |
//! | of faer, with gaps between rows | `Csr` | copied without the gaps |
//! | in columns (CSC) | `Csr` | as above, then transposed, which copies all arrays |
//! | `Csr` | owned, indices of type `u32` | moved; nothing is copied |
//! | `Csr` | owned, other indices | values moved; columns and offsets widened, hence copied |
//! | `&Csr` | a view, indices of type `u32` | borrowed; nothing is copied |
//!
//! The arrays of a matrix in columns are those of its transpose in CSR. All three crates can reinterpret them without a
//! copy: `transpose_into` of sprs, `into_transpose` of faer, `transpose_as_csr` of nalgebra-sparse. A plan of the
//! transpose multiplies by the matrix itself with [`apply_transposed`](crate::Plan::apply_transposed); nothing is
//! copied or transposed:
//!
#![cfg_attr(feature = "sprs", doc = "```")]
#![cfg_attr(not(feature = "sprs"), doc = "```ignore")]
//! use host::executor::Cpu;
//! use host::{Csr, Format, Plan};
//! use sprs::CsMatI;
//!
//! # fn main() -> Result<(), host::Error> {
//! // 1 2 in the first row, 0 3 in the second one; in columns.
//! let columns = CsMatI::<f64, u32>::new_csc((2, 2), vec![0, 1, 3], vec![0, 0, 1], vec![1.0, 2.0, 3.0]);
//! let transpose = Csr::try_from(columns.transpose_into())?;
//! let plan = Plan::with_format(&Cpu::new(), transpose, Format::CSR_VECTOR)?;
//! let mut y = vec![0.0; 2];
//! plan.apply_transposed(1.0, &vec![1.0, 10.0], 0.0, &mut y)?;
//! assert_eq!(y, [21.0, 30.0]);
//! # Ok(())
//! # }
//! ```
//!
//! The other crates require more of their matrices than [`Csr`](crate::Csr) does: the entries of each row must be sorted by
//! column, without duplicates. Otherwise the conversion is an error, and [`sort_rows`](crate::Csr::sort_rows) and
//! [`sum_duplicates`](crate::Csr::sum_duplicates) help.

mod arrays;
#[cfg(feature = "faer")]
mod faer;
mod index;
#[cfg(feature = "nalgebra-sparse")]
mod nalgebra_sparse;
#[cfg(feature = "ndarray")]
pub mod ndarray;
#[cfg(feature = "sprs")]
mod sprs;

#[doc(hidden)]
pub use arrays::checked_offsets;
pub use index::Index;
