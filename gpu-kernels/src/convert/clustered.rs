//! CSR to clustered slices, when the rows and the columns of the parts are known.

use cuda_std::thread::{block_dim_x, block_idx_x, thread_idx_x};
use cuda_std::warp::{WARP_LANES, lane_id};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use crate::Offset;
use crate::clustered::{NO_ENTRY, NO_ROW, SLICE_ROWS};
use crate::search::first_at_least;

/// Writes the slots of all slices. One block per part, one warp per slice; each lane has two rows.
///
/// # Safety
/// The matrix is valid; each row is in one part, which has its columns, ascending; no row of a slice is longer than the
/// slice is wide; there is a block of whole warps for each part; the new arrays have a word and two values for each
/// lane of each column of slots.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn clustered_from_csr<T: GpuScalar, O: Offset>(
    /// Number of slices before each part.
    part_begins: Global<u32>,
    /// Number of columns of all parts before each part.
    column_begins: Global<u64>,
    /// The columns of each part.
    column_numbers: Global<u32>,
    /// The row at each position of the slices, or [`NO_ROW`].
    row_numbers: Global<u32>,
    /// Total width of all slices before each slice.
    slice_begins: Global<u64>,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// Two columns per lane of each column of slots.
    local_columns: GlobalMut<u32>,
    /// Two values per lane of each column of slots.
    new_values: GlobalMut<T>,
) {
    let part = block_idx_x();
    let (column_begin, column_end) = (column_begins.load(part), column_begins.load(part + 1));
    // The column's number and the value of the entry of a row with this index, if it has one.
    let entry_of = |(begin, end): (u64, u64), index: u64| {
        if begin + index >= end {
            return (NO_ENTRY, T::ZERO);
        }
        let column = column_indices.load(begin + index);
        let number = first_at_least(column_numbers, column_begin, column_end, column) - column_begin;
        (number as u32, values.load(begin + index))
    };
    let mut slice = part_begins.load(part) + thread_idx_x() / WARP_LANES;
    while slice < part_begins.load(part + 1) {
        let ranges = [0, WARP_LANES].map(|half| {
            let position = u64::from(slice) * u64::from(SLICE_ROWS) + u64::from(half + lane_id());
            let row = row_numbers.load(position);
            if row == NO_ROW { (0, 0) } else { (row_offsets.load(row).widen(), row_offsets.load(row + 1).widen()) }
        });
        let (begin, end) = (slice_begins.load(slice), slice_begins.load(slice + 1));
        let mut place = begin;
        while place < end {
            let [first, second] = [entry_of(ranges[0], place - begin), entry_of(ranges[1], place - begin)];
            let word = place * u64::from(WARP_LANES) + u64::from(lane_id());
            local_columns.store(word, first.0 | second.0 << 16);
            new_values.store(2 * word, first.1);
            new_values.store(2 * word + 1, second.1);
            place += 1;
        }
        slice += block_dim_x() / WARP_LANES;
    }
}
