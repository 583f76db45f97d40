//! The transpose of a matrix in CSR: its entries sorted by column, and those of a column in their order.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::{Global, GlobalMut, GpuFloat, kernel};

use crate::search::first_in_range;

/// What the entries are sorted by, the largest first: a number that is the larger, the smaller the column is.
///
/// # Safety
/// `column_indices` and `keys` have `nnz` elements, at most 2^32 less those that the grid has threads; no column is
/// `columns` or more.
#[kernel]
pub unsafe fn transposed_keys(
    /// Number of stored entries.
    nnz: u32,
    /// Number of columns.
    columns: u32,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The number of each entry.
    keys: GlobalMut<u32>,
) {
    let mut entry = index_1d();
    while entry < nnz {
        keys.store(entry, columns - 1 - column_indices.load_streaming(entry));
        entry += grid_threads();
    }
}

/// Where each row of the transpose begins: one thread a row searches the first entry that is not before it.
///
/// # Safety
/// `keys` are those of [`transposed_keys`], sorted, the largest first; `row_offsets` has `columns` + 1 elements.
#[kernel]
pub unsafe fn transposed_offsets(
    /// Number of stored entries.
    nnz: u32,
    /// Number of columns.
    columns: u32,
    /// What the entries are sorted by.
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

/// The column of each entry of the transpose.
///
/// # Safety
/// `order` and `new_column_indices` have `nnz` elements, at most 2^32 less those that the grid has threads; each of
/// `order` is less than the length of `row_indices`.
#[kernel]
pub unsafe fn transposed_columns(
    /// Number of stored entries.
    nnz: u32,
    /// Which entry of the matrix each one is.
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

/// Complex numbers become their conjugates.
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
