//! Clustered slices: a block for each part, rows that share columns, with the part's x in shared memory.
//!
//! An element of x that many rows of a part need is loaded once, wherever it lies, and an entry's column takes 16 bits:
//! its number among those of the part. The rows of a part are in slices of 64, the longest first, two for each lane of a
//! warp: row l and row l + 32 of the slice for lane l. Results go to the rows' own places in y.

use cuda_std::shared::{Shared, dynamic};
use cuda_std::thread::{block_dim_x, block_idx_x, sync_threads, thread_idx_x};
use cuda_std::warp::{WARP_LANES, lane_id};
use cuda_std::{Global, GlobalMut, GpuScalar, Stored, kernel};

use crate::vector::update;

/// Rows of a slice.
pub const SLICE_ROWS: u32 = 2 * WARP_LANES;

/// The column of a place that holds no entry. An entry's column is below.
pub const NO_ENTRY: u32 = 0xFFFF;

/// The row of a position that has none.
pub const NO_ROW: u32 = u32::MAX;

/// One block a part.
///
/// # Safety
/// The arrays are those of a valid clustered matrix; `x` has an element for each column of the matrix, `y` one for each
/// row; `table` has an entry for each code among the values; there is a block for each part, made of whole warps, with shared
/// memory for the elements of the columns of any part and for the table.
#[kernel((V, T): stored)]
pub unsafe fn clustered<V: Stored<T>, T: GpuScalar>(
    /// The slices before each part; one more than there are parts.
    part_begins: Global<u32>,
    /// The columns of all parts before this one, counted; one more than there are parts.
    column_begins: Global<u64>,
    /// The columns of each part.
    column_numbers: Global<u32>,
    /// The row at each position of the slices, or [`NO_ROW`].
    row_numbers: Global<u32>,
    /// The widths of all slices before this one, added up; one more than there are slices.
    slice_begins: Global<u64>,
    /// For each lane of each column of places, two columns by their number in the part: the lower half for its first row.
    local_columns: Global<u32>,
    /// Two values for each lane of each column of places.
    values: Global<V>,
    /// What codes in place of values stand for.
    table: Global<T>,
    /// How many numbers that are.
    table_length: u32,
    /// The factor of A x.
    alpha: T,
    /// The vector that is multiplied.
    x: Global<T>,
    /// The factor of y.
    beta: T,
    /// The result.
    y: GlobalMut<T>,
) {
    let part = block_idx_x();
    let elements = dynamic::<T>(0);
    let column_begin = column_begins.load(part);
    let count = (column_begins.load(part + 1) - column_begin) as u32;
    let column = |place: u32| column_numbers.load_streaming(column_begin + u64::from(place));
    gather(count, column, |column| x.load(column), elements);
    // A block's x leaves the first cache too small for a table.
    let held_table = dynamic::<T>(count * size_of::<T>() as u32);
    let mut entry = thread_idx_x();
    while entry < table_length {
        held_table.store(entry, table.load(entry));
        entry += block_dim_x();
    }
    sync_threads();
    let places = Places { local_columns, values, elements, table: held_table };
    let (mut slice, end) = (part_begins.load(part) + thread_idx_x() / WARP_LANES, part_begins.load(part + 1));
    while slice < end {
        let position = u64::from(slice) * u64::from(SLICE_ROWS) + u64::from(lane_id());
        let rows = [row_numbers.load(position), row_numbers.load(position + u64::from(WARP_LANES))];
        let sums = places.add_slice(slice_begins.load(slice), slice_begins.load(slice + 1));
        if rows[0] != NO_ROW {
            update(y, rows[0], alpha, sums[0], beta);
        }
        if rows[1] != NO_ROW {
            update(y, rows[1], alpha, sums[1], beta);
        }
        slice += block_dim_x() / WARP_LANES;
    }
}

/// Puts the elements of x of `count` columns in shared memory, where `column` gives the column of a place and `element` its
/// element. Four of a thread are on their way at a time.
///
/// # Safety
/// Both hold for all places, and shared memory has room for the elements.
#[inline(always)]
pub(crate) unsafe fn gather<T: GpuScalar>(
    count: u32,
    column: impl Fn(u32) -> u32,
    element: impl Fn(u32) -> T,
    elements: Shared<T>,
) {
    let threads = block_dim_x();
    let mut place = thread_idx_x();
    while place < count {
        // Behind the last column, that one is loaded again.
        let places = [0, 1, 2, 3].map(|step| (place + step * threads).min(count - 1));
        let columns = places.map(&column);
        let loaded = columns.map(&element);
        elements.store(places[0], loaded[0]);
        let mut step = 1;
        while step < 4 {
            if place + step as u32 * threads < count {
                elements.store(places[step], loaded[step]);
            }
            step += 1;
        }
        place += 4 * threads;
    }
}

/// What all slices of a part share.
struct Places<V, T> {
    local_columns: Global<u32>,
    values: Global<V>,
    elements: Shared<T>,
    /// What codes in place of values stand for.
    table: Shared<T>,
}

impl<V: Stored<T>, T: GpuScalar> Places<V, T> {
    /// The sums of this lane's rows of a slice.
    ///
    /// # Safety
    /// The places exist, and shared memory holds the elements of the part's columns.
    #[inline(always)]
    unsafe fn add_slice(&self, begin: u64, end: u64) -> [T; 2] {
        let mut place = begin;
        let mut sums = [T::ZERO; 2];
        while end - place >= 4 {
            sums = self.add::<4>(place, sums);
            place += 4;
        }
        while end - place >= 2 {
            sums = self.add::<2>(place, sums);
            place += 2;
        }
        if place < end {
            sums = self.add::<1>(place, sums);
        }
        sums
    }

    /// The sums of this lane's rows with their products at `COUNT` columns of places. All of these are loaded before
    /// the first product, to keep the memory busy.
    ///
    /// # Safety
    /// As for [`add_slice`](Self::add_slice).
    #[inline(always)]
    unsafe fn add<const COUNT: usize>(&self, first: u64, sums: [T; 2]) -> [T; 2] {
        let word = first * u64::from(WARP_LANES) + u64::from(lane_id());
        let mut number = 0;
        let places = [(); COUNT].map(|()| {
            let place = word + number * u64::from(WARP_LANES);
            number += 1;
            place
        });
        let words = places.map(|word| self.local_columns.load_streaming(word));
        let values = places.map(|word| self.values.load_streaming_2(2 * word));
        let mut sums = sums;
        let mut number = 0;
        while number < COUNT {
            let (word, value) = (words[number], values[number]);
            sums =
                [self.add_product(sums[0], word & NO_ENTRY, value[0]), self.add_product(sums[1], word >> 16, value[1])];
            number += 1;
        }
        sums
    }

    /// `sum` with one more product, unless the place is padding: then the first element, which is there because some row
    /// of the part has an entry, is loaded and left.
    #[inline(always)]
    unsafe fn add_product(&self, sum: T, column: u32, value: V) -> T {
        let element = self.elements.load(if column == NO_ENTRY { 0 } else { column });
        if column == NO_ENTRY { sum } else { value.widen(|code| self.table.load(code)).mul_add(element, sum) }
    }
}
