//! For operations of other crates that run kernels: launches, scans, sorts, and matrices made of arrays written by
//! kernels.

pub use crate::convert::primitives::{Array, Scan, largest, launch, one_number};
pub use crate::convert::radix::{Sorted, sorted_by};
pub use crate::convert::wide::{WideOffsets, wide};
use crate::format::{Csr, Offsets};
use crate::memory::Memory;
use crate::real::Scalar;

/// A CSR matrix from unchecked arrays.
///
/// # Safety
/// There must be `rows` + 1 offsets, starting with 0, never decreasing, and ending with the length of both other arrays;
/// every column index must be less than `columns`.
pub unsafe fn csr_unchecked<T: Scalar, M: Memory>(
    rows: usize,
    columns: usize,
    row_offsets: Offsets<M>,
    column_indices: M::Buffer<u32>,
    values: M::Buffer<T>,
) -> Csr<T, M> {
    Csr::from_valid(rows, columns, row_offsets, column_indices, values)
}
