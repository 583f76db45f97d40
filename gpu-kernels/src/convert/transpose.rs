//! The transpose of a matrix in CSR: its entries sorted by column; those of a column keep their order.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::{Global, GlobalMut, GpuFloat, kernel};

use crate::search::first_in_range;

/// Computes the sort keys of the entries, the largest first: the smaller the column, the larger the key.
///
/// # Safety
/// `column_indices` and `keys` have `nnz` elements, at most 2^32 minus the number of threads of the grid; all columns
/// are below `columns`.
#[kernel]
pub unsafe fn transposed_keys(
    /// Number of stored entries.
    nnz: u32,
    /// Number of columns.
    columns: u32,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The key of each entry.
    keys: GlobalMut<u32>,
) {
    let mut entry = index_1d();
    while entry < nnz {
        keys.store(entry, columns - 1 - column_indices.load_streaming(entry));
        entry += grid_threads();
    }
}

/// Finds the offset of each row of the transpose: one thread per row searches for the first entry that is not in an
/// earlier row.
///
/// # Safety
/// `keys` are those of [`transposed_keys`], sorted, the largest first; `row_offsets` has `columns` + 1 elements.
#[kernel]
pub unsafe fn transposed_offsets(
    /// Number of stored entries.
    nnz: u32,
    /// Number of columns.
    columns: u32,
    /// The keys by which the entries are sorted.
    keys: Global<u32>,
    /// Where each row of the transpose begins.
    row_offsets: GlobalMut<u32>,
) {
    let mut row = index_1d();
    while row <= columns {
        let begin = first_in_range(0, nnz.into(), |entry| keys.load(entry) < columns - row);
        row_offsets.store(row, begin as u32);
        row += grid_threads();
    }
}

/// Writes the column of each entry of the transpose.
///
/// # Safety
/// `order` and `new_column_indices` have `nnz` elements, at most 2^32 minus the number of threads of the grid; each
/// element of `order` is less than the length of `row_indices`.
#[kernel]
pub unsafe fn transposed_columns(
    /// Number of stored entries.
    nnz: u32,
    /// The matrix's entry at each position of the transpose.
    order: Global<u32>,
    /// The row of each entry of the matrix.
    row_indices: Global<u32>,
    /// The column of each entry of the transpose.
    new_column_indices: GlobalMut<u32>,
) {
    let mut entry = index_1d();
    while entry < nnz {
        new_column_indices.store(entry, row_indices.load(order.load_streaming(entry)));
        entry += grid_threads();
    }
}

/// Replaces complex numbers by their conjugates.
///
/// # Safety
/// `parts` has two elements for each of `count` numbers.
#[kernel(N: reals)]
pub unsafe fn conjugates<N: GpuFloat>(
    /// Number of complex numbers.
    count: u64,
    /// The real and the imaginary part of each.
    parts: GlobalMut<N>,
) {
    let mut number = u64::from(index_1d());
    while number < count {
        let place = 2 * number + 1;
        parts.store(place, -parts.load(place));
        number += u64::from(grid_threads());
    }
}
