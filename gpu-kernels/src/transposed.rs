//! y ← y + α Aᵀ x without the transpose, and y ← y + α Aᴴ x, by atomic additions to y. They come in any order, so the
//! bits of the result vary from run to run.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use crate::Offset;

/// CSR, several lanes per row, which read its element of x together.
///
/// # Safety
/// The arrays are those of a valid CSR matrix with `rows` rows, `x` has an element for each row, `y` one for each
/// column; `lanes` is a power of two, at most 32.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn csr_transposed<T: GpuScalar, O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Lanes that share a row.
    lanes: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// The factor of Aᵀ x.
    alpha: T,
    /// The vector to multiply.
    x: Global<T>,
    /// The result.
    y: GlobalMut<T>,
) {
    add_rows(rows, lanes, row_offsets, column_indices, |entry| values.load(entry), alpha, x, y);
}

/// Like [`csr_transposed`], with the conjugate of each value.
///
/// # Safety
/// As for [`csr_transposed`].
#[kernel(T: complexes, O: [u32, u64])]
pub unsafe fn csr_conjugate_transposed<T: GpuScalar, O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Lanes that share a row.
    lanes: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// The factor of Aᴴ x.
    alpha: T,
    /// The vector to multiply.
    x: Global<T>,
    /// The result.
    y: GlobalMut<T>,
) {
    add_rows(rows, lanes, row_offsets, column_indices, |entry| values.load(entry).conjugate(), alpha, x, y);
}

/// Shared by the CSR kernels; `value` returns the value of an entry.
///
/// # Safety
/// As for [`csr_transposed`]; `value` may be called for each entry.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "they are the arrays and the operation on them")]
unsafe fn add_rows<T: GpuScalar, O: Offset>(
    rows: u32,
    lanes: u32,
    row_offsets: Global<O>,
    column_indices: Global<u32>,
    value: impl Fn(O) -> T,
    alpha: T,
    x: Global<T>,
    y: GlobalMut<T>,
) {
    let mut row = index_1d() >> lanes.trailing_zeros();
    while row < rows {
        let element = x.load(row);
        let end = row_offsets.load(row + 1);
        let mut entry = row_offsets.load(row) + O::from(index_1d() & (lanes - 1));
        while entry < end {
            y.atomic_add(column_indices.load(entry), alpha * (value(entry) * element));
            entry = entry + O::from(lanes);
        }
        row += grid_threads() >> lanes.trailing_zeros();
    }
}

/// COO, one thread per entry.
///
/// # Safety
/// The arrays are those of a valid COO matrix with `nnz` entries, `x` has an element for each row, `y` one for each
/// column.
#[kernel(T: scalars)]
pub unsafe fn coo_transposed<T: GpuScalar>(
    /// Number of stored entries.
    nnz: u64,
    /// The row of each entry.
    row_indices: Global<u32>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// The factor of Aᵀ x.
    alpha: T,
    /// The vector to multiply.
    x: Global<T>,
    /// The result.
    y: GlobalMut<T>,
) {
    add_entries(nnz, row_indices, column_indices, |entry| values.load_streaming(entry), alpha, x, y);
}

/// Like [`coo_transposed`], with the conjugate of each value.
///
/// # Safety
/// As for [`coo_transposed`].
#[kernel(T: complexes)]
pub unsafe fn coo_conjugate_transposed<T: GpuScalar>(
    /// Number of stored entries.
    nnz: u64,
    /// The row of each entry.
    row_indices: Global<u32>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// The factor of Aᴴ x.
    alpha: T,
    /// The vector to multiply.
    x: Global<T>,
    /// The result.
    y: GlobalMut<T>,
) {
    add_entries(nnz, row_indices, column_indices, |entry| values.load_streaming(entry).conjugate(), alpha, x, y);
}

/// Shared by the COO kernels; `value` returns the value of an entry.
///
/// # Safety
/// As for [`coo_transposed`]; `value` may be called for each entry.
#[inline(always)]
unsafe fn add_entries<T: GpuScalar>(
    nnz: u64,
    row_indices: Global<u32>,
    column_indices: Global<u32>,
    value: impl Fn(u64) -> T,
    alpha: T,
    x: Global<T>,
    y: GlobalMut<T>,
) {
    let mut entry = u64::from(index_1d());
    while entry < nnz {
        let column = column_indices.load_streaming(entry);
        let product = value(entry) * x.load(row_indices.load_streaming(entry));
        y.atomic_add(column, alpha * product);
        entry += u64::from(grid_threads());
    }
}
