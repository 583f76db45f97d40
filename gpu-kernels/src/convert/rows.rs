//! Properties of the rows of a CSR matrix that conversions need.

use cuda_std::thread::{block_idx_x, grid_threads, index_1d, thread_idx_x};
use cuda_std::{Global, GlobalMut, kernel};

use super::entries::for_each_entry;
use crate::Offset;
use crate::scan::largest_of_block;

/// Counts the entries of each row after its first `skipped`; [`u32::MAX`] if there are that many or more.
///
/// # Safety
/// `row_offsets` are those of `rows` rows; `lengths` has an element for each row.
#[kernel(O: [u32, u64])]
pub unsafe fn row_lengths<O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Number of entries of each row that are not counted.
    skipped: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The number of other entries of each row.
    lengths: GlobalMut<u32>,
) {
    let mut row = index_1d();
    while row < rows {
        let length = (row_offsets.load(row + 1) - row_offsets.load(row)).widen();
        lengths.store(row, length.saturating_sub(skipped.into()).min(u32::MAX.into()) as u32);
        row += grid_threads();
    }
}

/// Determines, per block, whether an entry's column is less than that of the preceding entry in its row plus `step`.
///
/// # Safety
/// The arrays are those of a valid CSR matrix with `rows` rows and `nnz` entries, and `interval` is a multiple of 32;
/// `results` has an element for each block; blocks are made of whole warps, with 4 bytes of shared memory per warp.
#[kernel(O: [u32, u64])]
pub unsafe fn unsorted_rows<O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Number of stored entries.
    nnz: u64,
    /// Entries of one warp; a multiple of 32.
    interval: u64,
    /// Least difference between a column and the one before it: 0 or 1.
    step: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// 1 or 0 for each block.
    results: GlobalMut<u32>,
) {
    let found = core::cell::Cell::new(0);
    for_each_entry(rows, nnz, interval, row_offsets, |entry, row| {
        if entry > row_offsets.load(row).widen() && column_indices.load(entry - 1) + step > column_indices.load(entry) {
            found.set(1);
        }
    });
    let found = largest_of_block(found.get());
    if thread_idx_x() == 0 {
        results.store(block_idx_x(), found);
    }
}
