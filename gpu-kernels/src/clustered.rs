//! Clustered slices: one block per part, a group of rows that share columns, with the part's x in shared memory.
//!
//! An element of x that many rows of a part need is loaded only once, wherever it lies, and an entry's column takes 16
//! bits: its number among the columns of the part. The rows of a part are in slices of 64, the longest first, with two
//! rows per lane of a warp: rows l and l + 32 of the slice for lane l. Results are written to the rows' original
//! positions in y.

use cuda_std::shared::{Shared, dynamic};
use cuda_std::thread::{block_dim_x, block_idx_x, sync_threads, thread_idx_x};
use cuda_std::warp::{WARP_LANES, lane_id};
use cuda_std::{Global, GlobalMut, GpuScalar, Stored, kernel};

use crate::vector::update;

/// Rows of a slice.
pub const SLICE_ROWS: u32 = 2 * WARP_LANES;

/// The column of a slot without an entry. Columns of entries are smaller.
pub const NO_ENTRY: u32 = 0xFFFF;

/// The row of a position without a row.
pub const NO_ROW: u32 = u32::MAX;

/// One block per part.
///
/// # Safety
/// The arrays are those of a valid clustered matrix; `x` has an element for each column of the matrix, `y` one for each
/// row; `table` has an entry for each code among the values; there is a block for each part, made of whole warps, with
/// shared memory for the elements of the columns of any part and for the table.
#[kernel((V, T): stored)]
pub unsafe fn clustered<V: Stored<T>, T: GpuScalar>(
    /// Number of slices before each part; parts + 1 numbers.
    part_begins: Global<u32>,
    /// Number of columns of all parts before each one; parts + 1 numbers.
    column_begins: Global<u64>,
    /// The columns of each part.
    column_numbers: Global<u32>,
    /// The row at each position of the slices, or [`NO_ROW`].
    row_numbers: Global<u32>,
    /// Total width of all slices before each one; slices + 1 numbers.
    slice_begins: Global<u64>,
    /// Two part-local column numbers per lane of each column of slots: the lower half for the lane's first row.
    local_columns: Global<u32>,
    /// Two values per lane of each column of slots.
    values: Global<V>,
    /// The value that each code stands for.
    table: Global<T>,
    /// Length of `table`.
    table_length: u32,
    /// The factor of A x.
    alpha: T,
    /// The vector to multiply.
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
    // The block's x leaves the L1 cache too small for the table.
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

/// Loads the elements of x of `count` columns into shared memory; `column` returns the column of an index, and
/// `element` its element. Each thread has four loads in flight.
///
/// # Safety
/// Both may be called for all indices below `count`, and shared memory has room for the elements.
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
        // Indices past the end load the last column again.
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

/// Data shared by all slices of a part.
struct Places<V, T> {
    local_columns: Global<u32>,
    values: Global<V>,
    elements: Shared<T>,
    /// The value that each code stands for.
    table: Shared<T>,
}

impl<V: Stored<T>, T: GpuScalar> Places<V, T> {
    /// Sums of this lane's rows of a slice.
    ///
    /// # Safety
    /// The slots exist, and shared memory holds the elements of the part's columns.
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

    /// `sums` plus the products of this lane's rows at `COUNT` columns of slots. All of these are loaded before the
    /// first product, to keep the memory busy.
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

    /// `sum` plus one more product, unless the slot is padding: then the first element is loaded and ignored; it exists
    /// because some row of the part has an entry.
    #[inline(always)]
    unsafe fn add_product(&self, sum: T, column: u32, value: V) -> T {
        let element = self.elements.load(if column == NO_ENTRY { 0 } else { column });
        if column == NO_ENTRY { sum } else { value.widen(|code| self.table.load(code)).mul_add(element, sum) }
    }
}
