//! CSR to CMRS and back.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, warp_shuffle_idx};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use super::digits::lanes_of_own_digit;
use super::entries::for_each_entry;
use crate::Offset;
use crate::cmrs::{column_of, pack, row_in_strip};
use crate::entries::STEP;
use crate::search::first_at_least;

/// Computes the offset of each strip from the offsets of the rows.
///
/// # Safety
/// `row_offsets` are those of `rows` rows; `strip_offsets` has one element more than there are strips, and its type
/// holds every offset; `height` is at least 1.
#[kernel(O: [u32, u64], P: [u32, u64])]
pub unsafe fn strip_offsets<O: Offset, P: Offset>(
    /// Number of rows.
    rows: u32,
    /// Number of strips.
    strips: u32,
    /// Rows of a strip.
    height: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// Where each strip begins; strips + 1 offsets.
    strip_offsets: GlobalMut<P>,
) {
    let mut strip = index_1d();
    while strip <= strips {
        strip_offsets.store(strip, P::of(row_offsets.load(rows.min(strip * height)).widen()));
        strip += grid_threads();
    }
}

/// Turns each column into a word that also holds the row in its strip.
///
/// # Safety
/// `row_offsets` are those of `rows` rows with `nnz` entries; `words` has an element for each, below 2^28; `height` is
/// from 1 to 16; blocks are made of whole warps, `interval` is a multiple of 32.
#[kernel(O: [u32, u64])]
pub unsafe fn cmrs_words<O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Number of stored entries.
    nnz: u64,
    /// Entries of one warp; a multiple of 32.
    interval: u64,
    /// Rows of a strip.
    height: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry; then its word.
    words: GlobalMut<u32>,
) {
    core::hint::assert_unchecked(height > 0);
    for_each_entry(rows, nnz, interval, row_offsets, |entry, row| {
        words.store(entry, pack(row % height, words.load(entry)));
    });
}

/// Orders the entries of each strip by column, those of a column by row, and keeps the order of those with the same row
/// and column: each entry finds its position by counting the entries before it in each row of the strip.
///
/// # Safety
/// The CSR arrays are those of a valid matrix with `rows` rows, each sorted by column, and `nnz` entries, in columns
/// below 2^28; the new arrays are as long; the rest is as for [`cmrs_words`].
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn cmrs_by_column<T: GpuScalar, O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Number of stored entries.
    nnz: u64,
    /// Entries of one warp; a multiple of 32.
    interval: u64,
    /// Rows of a strip.
    height: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// The words in their new order.
    words: GlobalMut<u32>,
    /// The values in their new order.
    new_values: GlobalMut<T>,
) {
    core::hint::assert_unchecked(height > 0);
    for_each_entry(rows, nnz, interval, row_offsets, |entry, row| {
        let column = column_indices.load(entry);
        let first_row = row - row % height;
        let end_row = first_row + height.min(rows - first_row);
        let mut begin = row_offsets.load(first_row).widen();
        let mut place = begin;
        let mut other = first_row;
        while other < end_row {
            let end = row_offsets.load(other + 1).widen();
            let before = if other == row {
                entry
            } else {
                // In the same column, entries of earlier rows come first.
                first_at_least(column_indices, begin, end, column + u32::from(other < row))
            };
            place += before - begin;
            begin = end;
            other += 1;
        }
        words.store(place, pack(row - first_row, column));
        new_values.store(place, values.load_streaming(entry));
    });
}

/// Counts the entries of each row. One warp per strip.
///
/// # Safety
/// The arrays are those of a valid CMRS matrix with `rows` rows in strips of `height`; `lengths` has an element for each
/// row; blocks are made of whole warps.
#[kernel(O: [u32, u64])]
pub unsafe fn cmrs_row_lengths<O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Rows of a strip.
    height: u32,
    /// Where each strip begins; strips + 1 offsets.
    strip_offsets: Global<O>,
    /// Column and row in the strip of each entry.
    words: Global<u32>,
    /// The number of entries of each row.
    lengths: GlobalMut<u32>,
) {
    let mut strip = index_1d() / WARP_LANES;
    while strip * height < rows {
        let row = strip * height + lane_id();
        // Each lane counts for the row of its own number.
        let mut length = 0;
        for_each_step(strip, strip_offsets, |entry, there| {
            let row_here = if there { row_in_strip(words.load_streaming(entry)) } else { 0 };
            length += lanes_of_own_digit(there, row_here).count_ones();
        });
        if lane_id() < height && row < rows {
            lengths.store(row, length);
        }
        strip += grid_threads() / WARP_LANES;
    }
}

/// Moves the entries of each strip to their rows; those of a row keep their order. One warp per strip.
///
/// # Safety
/// As for [`cmrs_row_lengths`]; `row_offsets` holds the offset of each row in the new arrays, which are as long as the
/// old ones.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn csr_from_cmrs<T: GpuScalar, O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Rows of a strip.
    height: u32,
    /// Where each strip begins; strips + 1 offsets.
    strip_offsets: Global<O>,
    /// Column and row in the strip of each entry.
    words: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry, row by row.
    column_indices: GlobalMut<u32>,
    /// The value of each entry, row by row.
    new_values: GlobalMut<T>,
) {
    let mut strip = index_1d() / WARP_LANES;
    while strip * height < rows {
        // Position of the next entry of the row with this lane's number.
        let mut next = row_offsets.load(rows.min(strip * height + lane_id())).widen();
        for_each_step(strip, strip_offsets, |entry, there| {
            let word = if there { words.load_streaming(entry) } else { 0 };
            let row_here = row_in_strip(word);
            let lanes = lanes_of_own_digit(there, row_here);
            let first = warp_shuffle_idx(ALL_LANES, next, row_here, WARP_LANES).0;
            let of_same_row = warp_shuffle_idx(ALL_LANES, lanes, row_here, WARP_LANES).0;
            if there {
                let before = (of_same_row & ((1 << lane_id()) - 1)).count_ones();
                let place = first + u64::from(before);
                column_indices.store(place, column_of(word));
                new_values.store(place, values.load_streaming(entry));
            }
            next += u64::from(lanes.count_ones());
        });
        strip += grid_threads() / WARP_LANES;
    }
}

/// Calls `work` with each index of a strip and whether an entry exists there, 32 neighbours at a time; all lanes of the
/// warp call it together.
///
/// # Safety
/// All lanes of the warp call it; the strip has two offsets.
#[inline(always)]
unsafe fn for_each_step<O: Offset>(strip: u32, strip_offsets: Global<O>, mut work: impl FnMut(u64, bool)) {
    let (mut first, end) = (strip_offsets.load(strip).widen(), strip_offsets.load(strip + 1).widen());
    while first < end {
        let entry = first + u64::from(lane_id());
        work(entry, entry < end);
        first += STEP;
    }
}
