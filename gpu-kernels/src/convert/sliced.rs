//! CSR to sliced ELLPACK and back; ELLPACK is one slice of all its rows.
//!
//! The columns of slots of all slices, in order, are divided into equal parts of [`COLUMNS_AT_ONCE`], so neither long
//! rows nor wide slices take longer than others. Neighbouring threads have neighbouring rows.

use core::hint::assert_unchecked;

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, warp_shuffle_xor};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use crate::Offset;
use crate::ell::PADDING;

/// Number of columns of slots that a thread processes at a time.
pub const COLUMNS_AT_ONCE: u32 = 32;

/// Computes the width of each slice: the length of its longest row, rounded up. One warp per slice.
///
/// # Safety
/// `lengths` has an element for each of `rows` positions, `widths` one for each slice of `slice_size` of them;
/// `slice_size` and `stride_factor` are at least 1, and no width exceeds 2^32; blocks are made of whole warps.
#[kernel]
pub unsafe fn slice_widths(
    /// Number of rows.
    rows: u32,
    /// Rows of a slice.
    slice_size: u32,
    /// Widths are multiples of this.
    stride_factor: u32,
    /// The number of entries of the row at each position.
    lengths: Global<u32>,
    /// Width of each slice: the number of slots of each of its rows.
    widths: GlobalMut<u32>,
) {
    assert_unchecked(slice_size > 0 && stride_factor > 0);
    let slices = rows.div_ceil(slice_size);
    let mut slice = index_1d() / WARP_LANES;
    while slice < slices {
        let begin = slice * slice_size;
        let end = begin + slice_size.min(rows - begin);
        let mut width = 0;
        let mut position = begin + lane_id();
        while position < end {
            width = lengths.load_streaming(position).max(width);
            position += WARP_LANES;
        }
        let mut distance = WARP_LANES / 2;
        while distance > 0 {
            width = width.max(warp_shuffle_xor(ALL_LANES, width, distance, WARP_LANES).0);
            distance /= 2;
        }
        if lane_id() == 0 {
            widths.store(slice, width.div_ceil(stride_factor) * stride_factor);
        }
        slice += grid_threads() / WARP_LANES;
    }
}

/// Writes every slot: an entry, or padding. Entries of a row beyond the width of its slice are left out.
///
/// # Safety
/// The CSR arrays are those of a valid matrix with `rows` rows. `slice_begins` has `slices` + 1 elements, never
/// decreasing, 0 first; `slice_size` · `slices` is at least `rows`, and `slice_size` at least 1. `row_indices` holds
/// each row once if `sorted` is 1. The new arrays have `slice_size` slots for each column of slots.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn sliced_from_csr<T: GpuScalar, O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Rows of a slice.
    slice_size: u32,
    /// Number of slices.
    slices: u32,
    /// Total width of all slices before each one.
    slice_begins: Global<u64>,
    /// 1 if `row_indices` holds the row at each position; otherwise each row is at its own position.
    sorted: u32,
    /// The row at each position.
    row_indices: Global<u32>,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// The column of each slot, or [`PADDING`].
    new_column_indices: GlobalMut<u32>,
    /// The value of each slot, or 0.
    new_values: GlobalMut<T>,
) {
    for_each_run(slice_size, slices, slice_begins, |run| {
        let (mut entry, mut end) = (0, 0);
        if run.position < u64::from(rows) {
            let position = run.position as u32;
            let row = if sorted == 1 { row_indices.load(position) } else { position };
            entry = row_offsets.load(row).widen() + run.first;
            end = row_offsets.load(row + 1).widen();
        }
        let mut place = run.place;
        let mut left = run.count;
        while left > 0 {
            let (mut column, mut value) = (PADDING, T::ZERO);
            if entry < end {
                column = column_indices.load(entry);
                value = values.load(entry);
            }
            new_column_indices.store(place, column);
            new_values.store(place, value);
            entry += 1;
            place += u64::from(slice_size);
            left -= 1;
        }
    });
}

/// Counts the entries of each row, up to its first padding.
///
/// # Safety
/// The arrays are those of a valid SELL-P matrix with `rows` rows, or of an ELL matrix as one slice; `lengths` has an
/// element for each row. `sorted` and `row_indices` are as for [`sliced_from_csr`].
#[kernel]
pub unsafe fn sliced_row_lengths(
    /// Number of rows.
    rows: u32,
    /// Rows of a slice.
    slice_size: u32,
    /// Total width of all slices before each one.
    slice_begins: Global<u64>,
    /// 1 if `row_indices` holds the row at each position; otherwise each row is at its own position.
    sorted: u32,
    /// The row at each position.
    row_indices: Global<u32>,
    /// The column of each slot, or [`PADDING`].
    column_indices: Global<u32>,
    /// The number of entries of each row.
    lengths: GlobalMut<u32>,
) {
    assert_unchecked(slice_size > 0);
    let mut position = index_1d();
    while position < rows {
        let slice = position / slice_size;
        let begin = slice_begins.load(slice);
        let step = u64::from(slice_size);
        let first = begin * step + u64::from(position % slice_size);
        // Padding comes after all entries.
        let (mut low, mut high) = (0, slice_begins.load(slice + 1) - begin);
        while low < high {
            let middle = low + (high - low) / 2;
            if column_indices.load(first + middle * step) == PADDING {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        let row = if sorted == 1 { row_indices.load(position) } else { position };
        lengths.store(row, low as u32);
        position += grid_threads();
    }
}

/// Moves the entry of each slot to CSR: those of a row to the row's offset.
///
/// # Safety
/// As for [`sliced_from_csr`], in the other direction: each row has room for its entries in the new arrays, from its
/// offset on.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn csr_from_sliced<T: GpuScalar, O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Rows of a slice.
    slice_size: u32,
    /// Number of slices.
    slices: u32,
    /// Total width of all slices before each one.
    slice_begins: Global<u64>,
    /// 1 if `row_indices` holds the row at each position; otherwise each row is at its own position.
    sorted: u32,
    /// The row at each position.
    row_indices: Global<u32>,
    /// Where each row begins.
    row_offsets: Global<O>,
    /// The column of each slot, or [`PADDING`].
    column_indices: Global<u32>,
    /// The value of each slot.
    values: Global<T>,
    /// The column of each entry.
    new_column_indices: GlobalMut<u32>,
    /// The value of each entry.
    new_values: GlobalMut<T>,
) {
    for_each_run(slice_size, slices, slice_begins, |run| {
        if run.position >= u64::from(rows) {
            return;
        }
        let position = run.position as u32;
        let row = if sorted == 1 { row_indices.load(position) } else { position };
        let mut entry = row_offsets.load(row).widen() + run.first;
        let mut place = run.place;
        let mut left = run.count;
        while left > 0 {
            let column = column_indices.load_streaming(place);
            if column == PADDING {
                return;
            }
            new_column_indices.store(entry, column);
            new_values.store(entry, values.load_streaming(place));
            entry += 1;
            place += u64::from(slice_size);
            left -= 1;
        }
    });
}

/// Consecutive slots of one row.
struct Run {
    /// The position of the row.
    position: u64,
    /// Number of earlier slots of the row.
    first: u64,
    /// The first slot; the next one is `slice_size` further.
    place: u64,
    /// Number of slots.
    count: u64,
}

/// Calls `visit` with the runs of this thread.
///
/// # Safety
/// As for [`sliced_from_csr`].
#[inline(always)]
unsafe fn for_each_run(slice_size: u32, slices: u32, slice_begins: Global<u64>, visit: impl Fn(Run)) {
    assert_unchecked(slice_size > 0);
    let step = u64::from(slice_size);
    let columns = slice_begins.load(slices);
    let parts = columns.div_ceil(u64::from(COLUMNS_AT_ONCE));
    let mut item = u64::from(index_1d());
    while item < parts * step {
        let place_in_slice = item % step;
        let mut column = item / step * u64::from(COLUMNS_AT_ONCE);
        let end = columns.min(column + u64::from(COLUMNS_AT_ONCE));
        let mut slice = slice_of(column, 0, slices, slice_begins);
        while column < end {
            // Any number of slices without slots may follow.
            if slice_begins.load(slice + 1) <= column {
                slice = slice_of(column, slice + 1, slices, slice_begins);
            }
            let begin = slice_begins.load(slice);
            let run_end = end.min(slice_begins.load(slice + 1));
            visit(Run {
                position: u64::from(slice) * step + place_in_slice,
                first: column - begin,
                place: column * step + place_in_slice,
                count: run_end - column,
            });
            column = run_end;
            slice += 1;
        }
        item += u64::from(grid_threads());
    }
}

/// The slice, among those from `low` on, that contains a column of slots.
///
/// # Safety
/// `slice_begins` has `slices` + 1 elements, and the column is in one of the slices from `low` on.
#[inline(always)]
unsafe fn slice_of(column: u64, mut low: u32, slices: u32, slice_begins: Global<u64>) -> u32 {
    let mut high = slices - 1;
    while low < high {
        let middle = low + (high - low) / 2;
        if slice_begins.load(middle + 1) > column {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}
