//! CSR to COO and back. Both keep columns and values in the same order.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::{Global, GlobalMut, kernel};

use super::entries::for_each_entry;
use crate::Offset;
use crate::search::first_at_least;

/// Writes the row of each entry.
///
/// # Safety
/// `row_offsets` are those of `rows` rows with `nnz` entries; `row_indices` has an element for each entry; blocks are
/// made of whole warps, `interval` is a multiple of 32.
#[kernel(O: [u32, u64])]
pub unsafe fn coo_from_csr<O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Number of stored entries.
    nnz: u64,
    /// Entries of one warp; a multiple of 32.
    interval: u64,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The row of each entry.
    row_indices: GlobalMut<u32>,
) {
    for_each_entry(rows, nnz, interval, row_offsets, |entry, row| row_indices.store(entry, row));
}

/// Writes the offset of each row: one thread per row searches for the first entry that is not in an earlier row.
///
/// # Safety
/// `row_indices` has `nnz` elements, never decreasing and below `rows`; `row_offsets` has `rows` + 1.
#[kernel(O: [u32, u64])]
pub unsafe fn csr_from_coo<O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Number of stored entries.
    nnz: u64,
    /// The row of each entry.
    row_indices: Global<u32>,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: GlobalMut<O>,
) {
    let mut row = index_1d();
    while row <= rows {
        row_offsets.store(row, O::of(first_at_least(row_indices, 0, nnz, row)));
        row += grid_threads();
    }
}
