//! CSR to SELL-16 and back. One warp per slice, and two rows per lane.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, warp_shuffle_xor};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use crate::Offset;
use crate::sell_16::{NO_ENTRY, SLICE_ROWS};

/// The column after the last entry of a row.
const NO_COLUMN: u32 = u32::MAX;

/// Computes the width of each slice: the number of slots of each of its rows.
///
/// # Safety
/// The CSR arrays are those of a valid matrix with `rows` rows, whose slices have less than 2^32 entries each; `widths`
/// has an element for each slice; blocks are made of whole warps.
#[kernel(O: [u32, u64])]
pub unsafe fn sell_16_widths<O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// Width of each slice.
    widths: GlobalMut<u32>,
) {
    for_each_slice(rows, |slice| {
        let mut entries = slice.map(|row| Entries::of_row(row, rows, row_offsets, column_indices));
        let mut width = 0;
        while let Some(base) = next_base(&entries) {
            for entries in &mut entries {
                entries.take(base, column_indices);
            }
            width += 1;
        }
        if lane_id() == 0 {
            widths.store(slice[0] / SLICE_ROWS, width);
        }
    });
}

/// Writes every slot: an entry, or padding.
///
/// # Safety
/// As for [`sell_16_widths`]; `slice_begins` has the widths before each slice, added up, and the sum of all. There is a
/// base for each column of slots, and a word and two new values for each of its lanes.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn sell_16_from_csr<T: GpuScalar, O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// Total width of all slices before each one.
    slice_begins: Global<u64>,
    /// The smallest column among the entries of each column of slots.
    bases: GlobalMut<u32>,
    /// Two offsets from the base per lane of each column of slots.
    column_offsets: GlobalMut<u32>,
    /// Two values per lane of each column of slots.
    new_values: GlobalMut<T>,
) {
    for_each_slice(rows, |slice| {
        let mut entries = slice.map(|row| Entries::of_row(row, rows, row_offsets, column_indices));
        let mut place = slice_begins.load(slice[0] / SLICE_ROWS);
        while let Some(base) = next_base(&entries) {
            if lane_id() == 0 {
                bases.store(place, base);
            }
            let word = place * u64::from(WARP_LANES) + u64::from(lane_id());
            let (first, second) = (entries[0].take(base, column_indices), entries[1].take(base, column_indices));
            column_offsets.store(word, first.offset | second.offset << 16);
            new_values.store(2 * word, first.value(values));
            new_values.store(2 * word + 1, second.value(values));
            place += 1;
        }
    });
}

/// Counts the entries of each row.
///
/// # Safety
/// The arrays are those of a valid SELL-16 matrix with `rows` rows; `lengths` has an element for each row; blocks are
/// made of whole warps.
#[kernel]
pub unsafe fn sell_16_row_lengths(
    /// Number of rows.
    rows: u32,
    /// Total width of all slices before each one.
    slice_begins: Global<u64>,
    /// Two offsets per lane of each column of slots.
    column_offsets: Global<u32>,
    /// The number of entries of each row.
    lengths: GlobalMut<u32>,
) {
    for_each_slice(rows, |slice| {
        let mut count = [0; 2];
        for_each_word(slice, slice_begins, column_offsets, |_, _, offsets| {
            count = [count[0] + u32::from(offsets[0] != NO_ENTRY), count[1] + u32::from(offsets[1] != NO_ENTRY)];
        });
        if slice[0] < rows {
            lengths.store(slice[0], count[0]);
        }
        if slice[1] < rows {
            lengths.store(slice[1], count[1]);
        }
    });
}

/// Moves the entry of each slot to CSR: those of a row to the row's offset.
///
/// # Safety
/// The arrays are those of a valid SELL-16 matrix with `rows` rows; each row has room for its entries in the new arrays,
/// from its offset on; blocks are made of whole warps.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn csr_from_sell_16<T: GpuScalar, O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Total width of all slices before each one.
    slice_begins: Global<u64>,
    /// The smallest column among the entries of each column of slots.
    bases: Global<u32>,
    /// Two offsets from the base per lane of each column of slots.
    column_offsets: Global<u32>,
    /// Two values per lane of each column of slots.
    values: Global<T>,
    /// Where each row begins.
    row_offsets: Global<O>,
    /// The column of each entry.
    new_column_indices: GlobalMut<u32>,
    /// The value of each entry.
    new_values: GlobalMut<T>,
) {
    for_each_slice(rows, |slice| {
        let mut entries = slice.map(|row| if row < rows { row_offsets.load(row).widen() } else { 0 });
        for_each_word(slice, slice_begins, column_offsets, |place, word, offsets| {
            let base = bases.load(place);
            let values = values.load_streaming_2(2 * word);
            if offsets[0] != NO_ENTRY {
                new_column_indices.store(entries[0], base + offsets[0]);
                new_values.store(entries[0], values[0]);
                entries[0] += 1;
            }
            if offsets[1] != NO_ENTRY {
                new_column_indices.store(entries[1], base + offsets[1]);
                new_values.store(entries[1], values[1]);
                entries[1] += 1;
            }
        });
    });
}

/// Calls `work` with this lane's rows of each slice of its warp; the second row, or both, may be outside the matrix.
#[inline(always)]
unsafe fn for_each_slice(rows: u32, work: impl Fn([u32; 2])) {
    let mut slice = index_1d() / WARP_LANES;
    while slice < rows.div_ceil(SLICE_ROWS) {
        let first = slice * SLICE_ROWS + lane_id();
        work([first, first + WARP_LANES]);
        slice += grid_threads() / WARP_LANES;
    }
}

/// Calls `visit` with each slot of this lane's rows: its column of slots, its word, and the two offsets there.
///
/// # Safety
/// The arrays are those of a valid SELL-16 matrix, and the rows are in one of its slices.
#[inline(always)]
unsafe fn for_each_word(
    rows: [u32; 2],
    slice_begins: Global<u64>,
    column_offsets: Global<u32>,
    mut visit: impl FnMut(u64, u64, [u32; 2]),
) {
    let slice = rows[0] / SLICE_ROWS;
    let (mut place, end) = (slice_begins.load(slice), slice_begins.load(slice + 1));
    while place < end {
        let word = place * u64::from(WARP_LANES) + u64::from(lane_id());
        let offsets = column_offsets.load_streaming(word);
        visit(place, word, [offsets & NO_ENTRY, offsets >> 16]);
        place += 1;
    }
}

/// The entries of a row that have no slot yet.
struct Entries {
    next: u64,
    end: u64,
    /// The column of the next one, or [`NO_COLUMN`].
    column: u32,
}

/// The content of a slot: an entry, or nothing.
struct Taken {
    entry: u64,
    /// Offset from the base, or [`NO_ENTRY`].
    offset: u32,
}

impl Entries {
    /// All entries of a row, or none if the matrix has no such row.
    ///
    /// # Safety
    /// As for [`sell_16_widths`].
    #[inline(always)]
    unsafe fn of_row<O: Offset>(row: u32, rows: u32, row_offsets: Global<O>, column_indices: Global<u32>) -> Self {
        let (mut next, mut end) = (0, 0);
        if row < rows {
            (next, end) = (row_offsets.load(row).widen(), row_offsets.load(row + 1).widen());
        }
        let column = if next < end { column_indices.load(next) } else { NO_COLUMN };
        Self { next, end, column }
    }

    /// Takes the next entry if it is near enough to the base; its column is at least the base.
    ///
    /// # Safety
    /// As for [`sell_16_widths`].
    #[inline(always)]
    unsafe fn take(&mut self, base: u32, column_indices: Global<u32>) -> Taken {
        let offset = self.column - base;
        let entry = self.next;
        if self.column == NO_COLUMN || offset >= NO_ENTRY {
            return Taken { entry, offset: NO_ENTRY };
        }
        self.next += 1;
        self.column = if self.next < self.end { column_indices.load(self.next) } else { NO_COLUMN };
        Taken { entry, offset }
    }
}

impl Taken {
    /// The value of this slot: 0 if there is no entry.
    ///
    /// # Safety
    /// `values` has the entry.
    #[inline(always)]
    unsafe fn value<T: GpuScalar>(&self, values: Global<T>) -> T {
        if self.offset == NO_ENTRY { T::ZERO } else { values.load(self.entry) }
    }
}

/// The smallest next column among the rows of the slice, for all lanes; none if all entries have slots.
///
/// # Safety
/// All lanes of the warp call it.
#[inline(always)]
unsafe fn next_base(entries: &[Entries; 2]) -> Option<u32> {
    let mut base = entries[0].column.min(entries[1].column);
    let mut distance = WARP_LANES / 2;
    while distance > 0 {
        base = base.min(warp_shuffle_xor(ALL_LANES, base, distance, WARP_LANES).0);
        distance /= 2;
    }
    if base == NO_COLUMN { None } else { Some(base) }
}
