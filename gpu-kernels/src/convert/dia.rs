//! CSR to DIA and back. A thread processes one row on up to [`DIAGONALS_AT_ONCE`] neighbouring diagonals.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::{Global, GlobalMut, kernel};

use super::entries::for_each_entry;
use super::places::{store_count_of_warp, sum_of_column};
use crate::Offset;
use crate::absent::Absent;
use crate::search::first_at_least;

/// Number of diagonals per thread.
pub const DIAGONALS_AT_ONCE: u32 = 64;

/// Sets a flag for each diagonal that has an entry. Diagonal 0 is the one through the last row's first column.
///
/// # Safety
/// The arrays are those of a valid CSR matrix with `rows` rows and `nnz` entries; `occupied` has an element for each
/// diagonal; blocks are made of whole warps, `interval` is a multiple of 32.
#[kernel(O: [u32, u64])]
pub unsafe fn dia_occupied<O: Offset>(
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
    /// 1 for each diagonal with an entry, otherwise 0.
    occupied: GlobalMut<u32>,
) {
    for_each_entry(rows, nnz, interval, row_offsets, |entry, row| {
        occupied.set_flag(column_indices.load_streaming(entry) + (rows - 1 - row));
    });
}

/// Writes the offsets of the occupied diagonals, in order.
///
/// # Safety
/// `numbers` has `count` + 1 elements, and the last of them is the length of `offsets`.
#[kernel]
pub unsafe fn dia_offsets(
    /// Number of rows.
    rows: u32,
    /// Number of all diagonals.
    count: u32,
    /// The number of occupied diagonals before each diagonal.
    numbers: Global<u32>,
    /// Column minus row of each occupied diagonal.
    offsets: GlobalMut<i32>,
) {
    let mut diagonal = u64::from(index_1d());
    while diagonal < u64::from(count) {
        let number = numbers.load(diagonal);
        if numbers.load(diagonal + 1) > number {
            offsets.store(number, (diagonal as u32).wrapping_sub(rows - 1) as i32);
        }
        diagonal += u64::from(grid_threads());
    }
}

/// Fills every slot: the entries of a row are in the order of the diagonals.
///
/// # Safety
/// The arrays are those of a valid CSR matrix with `rows` rows, each sorted by column, and those of DIA for it; `counts`
/// has an element for each warp; blocks are made of whole warps.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn dia_from_csr<T: Absent, O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    entries: Global<T>,
    /// Slots from one diagonal to the next.
    stride: u32,
    /// Number of diagonals.
    diagonals: u32,
    /// Column minus row of each diagonal.
    offsets: Global<i32>,
    /// The value of each slot, or [`Absent::ABSENT`].
    values: GlobalMut<T>,
    /// Number of slots that each warp has filled with an entry.
    counts: GlobalMut<u32>,
) {
    let mut filled = 0;
    for_each_part(stride, diagonals, |row, first, end_diagonal| {
        let (mut entry, mut end) = (0, 0);
        if row < rows {
            (entry, end) = (row_offsets.load(row).widen(), row_offsets.load(row + 1).widen());
            if first > 0 {
                let column = (i64::from(row) + i64::from(offsets.load(first))).max(0) as u32;
                entry = first_at_least(column_indices, entry, end, column);
            }
        }
        let mut place = u64::from(first) * u64::from(stride) + u64::from(row);
        let mut diagonal = first;
        while diagonal < end_diagonal {
            // Left of the matrix this wraps to a column without entries.
            let column = row.wrapping_add_signed(offsets.load(diagonal));
            let value;
            (value, entry) = sum_of_column(entry, end, column, column_indices, entries);
            values.store(place, value);
            filled += u32::from(!value.is_absent());
            place += u64::from(stride);
            diagonal += 1;
        }
    });
    store_count_of_warp(filled, counts);
}

/// Counts the entries of each row on each group of [`DIAGONALS_AT_ONCE`] diagonals.
///
/// # Safety
/// `values` are those of a valid DIA matrix with `rows` rows; `counts` has an element for each row and part of the
/// diagonals.
#[kernel(T: scalars)]
pub unsafe fn dia_counts<T: Absent>(
    /// Number of rows.
    rows: u32,
    /// Slots from one diagonal to the next.
    stride: u32,
    /// Number of diagonals.
    diagonals: u32,
    /// The value of each slot, or [`Absent::ABSENT`].
    values: Global<T>,
    /// The number of entries: row by row, and within each row part by part.
    counts: GlobalMut<u32>,
) {
    for_each_part(rows, diagonals, |row, first, end| {
        let mut place = u64::from(first) * u64::from(stride) + u64::from(row);
        let mut count = 0;
        let mut diagonal = first;
        while diagonal < end {
            count += u32::from(!values.load_streaming(place).is_absent());
            place += u64::from(stride);
            diagonal += 1;
        }
        counts.store(part_number(row, first, diagonals), count);
    });
}

/// Writes the entries of each row in the order of the diagonals, and the offset of each row.
///
/// # Safety
/// As for [`dia_counts`]; there is at least one diagonal; `begins` are the sums of all counts before each and, last, of
/// all; the arrays of CSR have the lengths that follow from these.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn csr_from_dia<T: Absent, O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Slots from one diagonal to the next.
    stride: u32,
    /// Number of diagonals.
    diagonals: u32,
    /// Column minus row of each diagonal.
    offsets: Global<i32>,
    /// The value of each slot, or [`Absent::ABSENT`].
    values: Global<T>,
    /// Offset of the entries of each row and part.
    begins: Global<O>,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: GlobalMut<O>,
    /// The column of each entry.
    column_indices: GlobalMut<u32>,
    /// The value of each entry.
    entries: GlobalMut<T>,
) {
    for_each_part(rows, diagonals, |row, first, end| {
        let part = part_number(row, first, diagonals);
        let begin = begins.load(part);
        if first == 0 {
            row_offsets.store(row, begin);
            if row == rows - 1 {
                row_offsets.store(rows, begins.load(part + parts(diagonals)));
            }
        }
        let mut entry = begin.widen();
        let mut place = u64::from(first) * u64::from(stride) + u64::from(row);
        let mut diagonal = first;
        while diagonal < end {
            let value = values.load_streaming(place);
            if !value.is_absent() {
                column_indices.store(entry, row.wrapping_add_signed(offsets.load(diagonal)));
                entries.store(entry, value);
                entry += 1;
            }
            place += u64::from(stride);
            diagonal += 1;
        }
    });
}

/// Calls `work` with each row and the first and the end of each group of [`DIAGONALS_AT_ONCE`] diagonals; neighbouring
/// threads have neighbouring rows.
#[inline(always)]
fn for_each_part(rows: u32, diagonals: u32, mut work: impl FnMut(u32, u32, u32)) {
    let mut part = u64::from(index_1d());
    while part < u64::from(rows) * parts(diagonals) {
        let first = (part / u64::from(rows)) as u32 * DIAGONALS_AT_ONCE;
        work((part % u64::from(rows)) as u32, first, diagonals.min(first + DIAGONALS_AT_ONCE));
        part += u64::from(grid_threads());
    }
}

/// The number of parts of each row.
#[inline(always)]
fn parts(diagonals: u32) -> u64 {
    diagonals.div_ceil(DIAGONALS_AT_ONCE).into()
}

/// The number of the part that begins at diagonal `first`, row by row.
#[inline(always)]
fn part_number(row: u32, first: u32, diagonals: u32) -> u64 {
    u64::from(row) * parts(diagonals) + u64::from(first / DIAGONALS_AT_ONCE)
}
