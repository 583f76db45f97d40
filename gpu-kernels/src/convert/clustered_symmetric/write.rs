//! The arrays of the new format, once each entry has its step.

use cuda_std::thread::block_idx_x;
use cuda_std::warp::{WARP_LANES, lane_id};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use super::{Part, warp_of_block, warps_of_block};
use crate::Offset;
use crate::clustered::{NO_ENTRY, NO_ROW, SLICE_ROWS};

/// Writes the slots of each slice, and its rows. One block per part, one warp per slice; each lane has two rows.
///
/// # Safety
/// `entries`, `steps` and `starts` are those of [`symmetric_steps`](super::steps::symmetric_steps), whose parts these
/// are, with the `rows` and the `order` of [`symmetric_entries`](super::entries::symmetric_entries); each part's slices
/// are numbered anew, and in that order `slice_begins` are the sums of their widths; the matrix is the one that was
/// arranged; the new arrays have an element for each position, and a word and two values for each lane of each column
/// of slots; there is a block of whole warps for each part.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn symmetric_write<T: GpuScalar, O: Offset>(
    /// Number of slices before each part.
    part_begins: Global<u32>,
    /// The row at each former position.
    rows: Global<u32>,
    /// The former position of the piece at each position.
    order: Global<u32>,
    /// Number of stored entries before each position.
    begins: Global<u64>,
    /// The entries of each position, by their columns and, in the upper half, their indices in rows.
    entries: Global<u32>,
    /// The step of each entry.
    steps: Global<u32>,
    /// The first step of each slice.
    starts: Global<u32>,
    /// The new number of each slice in its part.
    new_numbers: Global<u32>,
    /// Total width of all slices before each one, in the new order.
    slice_begins: Global<u64>,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The value of each entry.
    values: Global<T>,
    /// The row at each position, in the new order.
    row_numbers: GlobalMut<u32>,
    /// Two columns per lane of each column of slots.
    local_columns: GlobalMut<u32>,
    /// Two values per lane of each column of slots.
    new_values: GlobalMut<T>,
) {
    let part = Part::new(part_begins, block_idx_x());
    let lane = u64::from(lane_id());
    let word_of = |place: u64| place * u64::from(WARP_LANES) + lane;
    let mut slice = warp_of_block();
    while slice < part.slices() {
        let number = part.slice + new_numbers.load(part.slice + slice);
        let (begin, end) = (slice_begins.load(number), slice_begins.load(number + 1));
        let start = starts.load(part.slice + slice);
        let mut place = begin;
        while place < end {
            local_columns.store(word_of(place), NO_ENTRY << 16 | NO_ENTRY);
            new_values.store(2 * word_of(place), T::ZERO);
            new_values.store(2 * word_of(place) + 1, T::ZERO);
            place += 1;
        }
        let mut half = 0;
        while half < 2 {
            let in_slice = half * WARP_LANES + lane_id();
            let position = part.first + slice * SLICE_ROWS + in_slice;
            let row = rows.load(order.load(position));
            row_numbers.store(number * SLICE_ROWS + in_slice, row);
            if row != NO_ROW {
                let row_begin = row_offsets.load(row).widen();
                let (mut entry, end) = (begins.load(position), begins.load(position + 1));
                while entry < end {
                    let (column, in_row) = (entries.load(entry) & 0xFFFF, entries.load(entry) >> 16);
                    let word = word_of(begin + u64::from(steps.load(entry) - start));
                    let column = if column < part.positions {
                        new_numbers.load(part.slice + column / SLICE_ROWS) * SLICE_ROWS + column % SLICE_ROWS
                    } else {
                        column
                    };
                    let other = local_columns.load(word) & !(NO_ENTRY << (16 * half));
                    local_columns.store(word, other | column << (16 * half));
                    let value = values.load(row_begin + u64::from(in_row));
                    new_values.store(2 * word + u64::from(half), value);
                    entry += 1;
                }
            }
            half += 1;
        }
        slice += warps_of_block();
    }
}
