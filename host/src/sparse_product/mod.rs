//! Products of two sparse matrices, C = A B.
//!
//! Row i of C is the sum of the rows of B selected by the entries of row i of A, each times its entry. The pattern of C
//! depends only on the patterns of A and B: an entry whose products cancel is stored, as 0. The entries of each row of C are
//! sorted by column, and each is the sum of its products in the order of A's entries and then of B's: the same bits on every
//! executor, for any number of threads and under every schedule, except for the bits of a NaN. Products and sums are rounded
//! separately.
//!
//! ```
//! use host::{Csr, sparse_product};
//!
//! # fn main() -> Result<(), host::Error> {
//! let left = Csr::try_from_triplets(2, 3, &[0, 0, 1], &[0, 2, 1], &[1.0, 2.0, 3.0])?;
//! let right = Csr::try_from_triplets(3, 2, &[0, 1, 2], &[1, 0, 1], &[10.0, 20.0, 30.0])?;
//! let product = sparse_product::multiply(&left, &right)?;
//! assert!(product == Csr::try_from_triplets(2, 2, &[0, 1], &[1, 0], &[70.0, 60.0])?);
//! # Ok(())
//! # }
//! ```
#![deny(unsafe_code)]

#[allow(unsafe_code, reason = "each launch states why it holds")]
mod at_once;
#[allow(unsafe_code, reason = "each launch states why it holds")]
mod by_kernels;
mod classes;
mod column_set;
#[allow(unsafe_code, reason = "each launch states why it holds")]
mod lanes;
#[allow(unsafe_code, reason = "each launch states why it holds")]
mod listed;
mod on_host;
#[allow(unsafe_code, reason = "each launch states why it holds")]
mod order;
#[allow(unsafe_code, reason = "each launch states why it holds")]
mod patterns;
mod pool;
mod product;
#[allow(unsafe_code, reason = "each launch states why it holds")]
mod sides;
#[cfg(test)]
mod tests;
#[allow(unsafe_code, reason = "each launch states why it holds")]
mod values_by_kernels;
mod workspace;

pub use product::SparseProduct;

use crate::error::{Error, check_length};
use crate::format::Csr;
use crate::memory::Memory;
use crate::real::Scalar;

/// C = A B on the CPU, in parallel. Rows of A and B may be unsorted and have duplicate entries. O(rows + nnz + products +
/// nnz of C); takes memory for the columns of C once more and, per thread, for a number and a little more than a bit per
/// column of B.
///
/// # Errors
/// When A does not have as many columns as B has rows, or memory runs out.
pub fn multiply<T: Scalar>(left: &Csr<T>, right: &Csr<T>) -> Result<Csr<T>, Error> {
    check_inner(left, right)?;
    on_host::multiply(left, right)
}

/// Checks that two matrices can be multiplied.
fn check_inner<T: Scalar, M: Memory>(left: &Csr<T, M>, right: &Csr<T, M>) -> Result<(), Error> {
    check_length("each column of the right matrix", right.rows(), left.columns())
}

/// The error for a product where the kept pattern has no entry.
fn not_in_pattern() -> Error {
    Error::structure("CSR", "the product has an entry outside its kept pattern: the matrices have other patterns")
}
