//! Merge sort of the entries of each row by column; entries of the same column keep their order. First come runs of
//! [`FIRST_RUN`] entries, then two runs at a time are merged. Each entry finds its position by counting the entries
//! before it, so long rows are divided among threads like all others.

use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use super::entries::for_each_entry;
use crate::Offset;
use crate::search::first_at_least;

/// Length of the runs that are sorted first; a power of two.
pub const FIRST_RUN: u32 = 32;

/// Sorts each run of [`FIRST_RUN`] entries of a row.
///
/// # Safety
/// The arrays are those of a valid CSR matrix with `rows` rows and `nnz` entries, and new ones of the same length;
/// blocks are made of whole warps, `interval` is a multiple of 32.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn sort_runs<T: GpuScalar, O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Number of stored entries.
    nnz: u64,
    /// Entries of one warp; a multiple of 32.
    interval: u64,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// The columns in their new order.
    new_column_indices: GlobalMut<u32>,
    /// The values in their new order.
    new_values: GlobalMut<T>,
) {
    for_each_entry(rows, nnz, interval, row_offsets, |entry, row| {
        let (begin, end) = (row_offsets.load(row).widen(), row_offsets.load(row + 1).widen());
        let run = begin + (entry - begin) / u64::from(FIRST_RUN) * u64::from(FIRST_RUN);
        let run_end = end.min(run + u64::from(FIRST_RUN));
        let column = column_indices.load(entry);
        let mut place = run;
        let mut other = run;
        while other < run_end {
            let other_column = column_indices.load(other);
            if other_column < column || other_column == column && other < entry {
                place += 1;
            }
            other += 1;
        }
        new_column_indices.store(place, column);
        new_values.store(place, values.load_streaming(entry));
    });
}

/// Merges each pair of neighbouring runs of a row. Rows of at most half a run are skipped: the new arrays already hold
/// them from the pass before the last. Rows of at most one run are copied.
///
/// # Safety
/// As for [`sort_runs`]; runs of `run` entries, a power of two, are sorted, and the new arrays hold the runs from which
/// these were merged, if `run` is more than [`FIRST_RUN`].
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn merge_runs<T: GpuScalar, O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Number of stored entries.
    nnz: u64,
    /// Entries of one warp; a multiple of 32.
    interval: u64,
    /// Entries of a sorted run; a power of two.
    run: u64,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// The columns in their new order.
    new_column_indices: GlobalMut<u32>,
    /// The values in their new order.
    new_values: GlobalMut<T>,
) {
    for_each_entry(rows, nnz, interval, row_offsets, |entry, row| {
        let (begin, end) = (row_offsets.load(row).widen(), row_offsets.load(row + 1).widen());
        if end - begin <= run / 2 && run > u64::from(FIRST_RUN) {
            return;
        }
        // The two runs, one of which contains this entry.
        let first = entry - ((entry - begin) & (2 * run - 1));
        let middle = end.min(first + run);
        let column = column_indices.load(entry);
        let place = if entry < middle {
            entry + (first_at_least(column_indices, middle, end.min(middle + run), column) - middle)
        } else {
            // Columns are less than 2^31, so there is a next one.
            first + (entry - middle) + (first_at_least(column_indices, first, middle, column + 1) - first)
        };
        new_column_indices.store(place, column);
        new_values.store(place, values.load_streaming(entry));
    });
}
