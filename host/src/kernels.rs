//! For operations of other crates that run kernels: launches, scans, sorts, and matrices of what kernels have written.

pub use crate::convert::primitives::{Array, Scan, largest, launch, one_number};
pub use crate::convert::radix::{Sorted, sorted_by};
pub use crate::convert::wide::{WideOffsets, wide};
use crate::format::{Csr, Offsets};
use crate::memory::Memory;
use crate::real::Scalar;

/// A matrix in CSR from arrays that are not looked at.
///
/// # Safety
/// There are `rows` + 1 offsets, the first 0, none below the one before it, and the last the length of both other arrays; no
/// column index is `columns` or more.
pub unsafe fn csr_unchecked<T: Scalar, M: Memory>(
    rows: usize,
    columns: usize,
    row_offsets: Offsets<M>,
    column_indices: M::Buffer<u32>,
    values: M::Buffer<T>,
) -> Csr<T, M> {
    Csr::from_valid(rows, columns, row_offsets, column_indices, values)
}
