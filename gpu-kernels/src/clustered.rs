//! Clustered slices: one block per part, a group of rows that share columns, with the part's x in shared memory.
//!
//! An element of x that many rows of a part need is loaded only once, wherever it lies, and an entry's column takes 16
//! bits: its number among the columns of the part. The rows of a part are in slices of 64, the longest first, with two
//! rows per lane of a warp: rows l and l + 32 of the slice for lane l. A slice of long rows is divided among several
//! warps. Results are written to the rows' original positions in y.

use cuda_std::shared::{Shared, dynamic};
use cuda_std::thread::{block_dim_x, block_idx_x, sync_threads, thread_idx_x};
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, warp_vote_ballot};
use cuda_std::{Global, GlobalMut, GpuScalar, Stored, kernel};

use crate::ahead::request;
use crate::vector::update;

/// Rows of a slice.
pub const SLICE_ROWS: u32 = 2 * WARP_LANES;

/// The column of a slot without an entry. Columns of entries are smaller.
pub const NO_ENTRY: u32 = 0xFFFF;

/// The row of a position without a row.
pub const NO_ROW: u32 = u32::MAX;

/// Number of longest slices in a warp's share of a part from which on a warp multiplies whole slices: then these divide
/// well enough, and slices that adjacent warps multiply are adjacent.
const SLICES_OF_A_SHARE: u32 = 3;

/// One block per part.
///
/// # Safety
/// The arrays are those of a valid clustered matrix; `x` has an element for each column of the matrix, `y` one for each
/// row; `table` has an entry for each code among the values; there is a block for each part, made of whole warps, with
/// shared memory for the elements of the columns of any part and for the table, and for [`SLICE_ROWS`] elements a warp.
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
    let [first, last] = [part_begins.load(part), part_begins.load(part + 1)];
    let column_begin = column_begins.load(part);
    let count = (column_begins.load(part + 1) - column_begin) as u32;
    let column = |place: u32| column_numbers.load_streaming(column_begin + u64::from(place));
    let begin = slice_begins.load(first);
    // What the slices need is on its way while x is gathered.
    let slices = last - first;
    request(slice_begins, first.into(), slices + 1);
    request(row_numbers, u64::from(first) * u64::from(SLICE_ROWS), slices * SLICE_ROWS);
    gather::<4, T>(count, column, |column| x.load(column), elements);
    // The block's x leaves the L1 cache too small for the table.
    let held_table = dynamic::<T>(count * size_of::<T>() as u32);
    let mut entry = thread_idx_x();
    while entry < table_length {
        held_table.store(entry, table.load(entry));
        entry += block_dim_x();
    }
    sync_threads();
    let part = Part {
        slices: Slices { first, last, begin, begins: slice_begins },
        places: Places { begin, local_columns, values, elements, table: held_table },
        row_numbers,
        alpha,
        beta,
        y,
    };
    let end = part.slices.begin(last);
    let shares = Shares { columns: end.div_ceil(block_dim_x() / WARP_LANES), end };
    // The first slice is the longest.
    if part.slices.begin(first + 1) <= shares.columns / SLICES_OF_A_SHARE {
        part.multiply_slices();
    } else {
        part.multiply_shares(shares);
    }
}

/// A part, with its elements of x in shared memory.
struct Part<V, T> {
    slices: Slices,
    places: Places<V, T>,
    row_numbers: Global<u32>,
    alpha: T,
    beta: T,
    y: GlobalMut<T>,
}

impl<V: Stored<T>, T: GpuScalar> Part<V, T> {
    /// Multiplies whole slices, one warp each.
    ///
    /// # Safety
    /// Shared memory holds the elements of the part.
    #[inline(always)]
    unsafe fn multiply_slices(&self) {
        let mut slice = self.slices.first + thread_idx_x() / WARP_LANES;
        while slice < self.slices.last {
            let rows = self.rows(slice);
            self.write(rows, self.places.add(self.slices.begin(slice), self.slices.begin(slice + 1)));
            slice += block_dim_x() / WARP_LANES;
        }
    }

    /// Multiplies equal shares of the columns of slots, one a warp: a slice of long rows is divided among several.
    ///
    /// # Safety
    /// Shared memory holds the elements of the part, and all threads of the block call it.
    #[inline(always)]
    unsafe fn multiply_shares(&self, shares: Shares) {
        let warp = thread_idx_x() / WARP_LANES;
        // Rows without entries come last.
        let mut slice = self.slices.first_from(shares.end) + warp;
        while slice < self.slices.last {
            self.write(self.rows(slice), [T::ZERO; 2]);
            slice += block_dim_x() / WARP_LANES;
        }
        let to = shares.begin(warp + 1);
        slice = self.slices.first_from(shares.begin(warp));
        let mut place = self.slices.begin(slice).min(to);
        // The share may begin within a slice, and end within one.
        let before = self.places.add(shares.begin(warp), place);
        let (mut rows, mut sums, mut slice_end) = ([NO_ROW; 2], [T::ZERO; 2], 0);
        while place < to {
            rows = self.rows(slice);
            slice_end = self.slices.begin(slice + 1);
            sums = self.places.add(place, slice_end.min(to));
            if slice_end > to {
                break;
            }
            self.write(rows, sums);
            place = slice_end;
            slice += 1;
        }
        // All warps are done with the elements.
        sync_threads();
        let (held, own) = (self.places.elements, warp * SLICE_ROWS + lane_id());
        held.store(own, before[0]);
        held.store(own + WARP_LANES, before[1]);
        sync_threads();
        if place < to {
            self.write(rows, shares.add_rest(sums, held, warp, slice_end));
        }
    }

    /// This lane's rows of a slice.
    ///
    /// # Safety
    /// The slice is one of the part.
    #[inline(always)]
    unsafe fn rows(&self, slice: u32) -> [u32; 2] {
        let position = u64::from(slice) * u64::from(SLICE_ROWS) + u64::from(lane_id());
        [self.row_numbers.load(position), self.row_numbers.load(position + u64::from(WARP_LANES))]
    }

    /// Updates y by the sums of these rows.
    ///
    /// # Safety
    /// No other thread writes them.
    #[inline(always)]
    unsafe fn write(&self, rows: [u32; 2], sums: [T; 2]) {
        if rows[0] != NO_ROW {
            update(self.y, rows[0], self.alpha, sums[0], self.beta);
        }
        if rows[1] != NO_ROW {
            update(self.y, rows[1], self.alpha, sums[1], self.beta);
        }
    }
}

/// The slices of a part. Their columns of slots are numbered from the part's first.
struct Slices {
    first: u32,
    last: u32,
    /// Total width of all slices before the part's.
    begin: u64,
    /// Total width of all slices before each one.
    begins: Global<u64>,
}

impl Slices {
    /// The first column of slots of a slice, or the number of them all from the last slice on.
    ///
    /// # Safety
    /// The slice is not before the part.
    #[inline(always)]
    unsafe fn begin(&self, slice: u32) -> u32 {
        (self.begins.load(slice.min(self.last)) - self.begin) as u32
    }

    /// The first slice that does not begin before `place`.
    ///
    /// # Safety
    /// All lanes of the warp call it.
    #[inline(always)]
    unsafe fn first_from(&self, place: u32) -> u32 {
        let (mut found, mut slice) = (self.first, self.first);
        while slice < self.last {
            let own = slice + lane_id();
            found += warp_vote_ballot(ALL_LANES, own < self.last && self.begin(own) < place).count_ones();
            slice += WARP_LANES;
        }
        found
    }
}

/// The equal shares that the warps of a block have of a part's columns of slots.
struct Shares {
    /// Columns of slots of a share; the last shares may have fewer.
    columns: u32,
    /// Columns of slots of the part.
    end: u32,
}

impl Shares {
    /// The first column of slots of a warp.
    #[inline(always)]
    fn begin(&self, warp: u32) -> u32 {
        (warp * self.columns).min(self.end)
    }

    /// `sums` of a slice that ends at `slice_end`, after the share of `warp`, plus what the next warps have of it.
    ///
    /// # Safety
    /// Shared memory holds the sums that each warp has of a slice that begins before its share.
    #[inline(always)]
    unsafe fn add_rest<T: GpuScalar>(&self, sums: [T; 2], held: Shared<T>, warp: u32, slice_end: u32) -> [T; 2] {
        let (mut sums, mut other) = (sums, warp + 1);
        while other < block_dim_x() / WARP_LANES && self.begin(other) < slice_end {
            let place = other * SLICE_ROWS + lane_id();
            sums = [sums[0] + held.load(place), sums[1] + held.load(place + WARP_LANES)];
            other += 1;
        }
        sums
    }
}

/// Loads the elements of x of `count` columns into shared memory; `column` returns the column of an index, and
/// `element` its element. Each thread has `LOADS` loads in flight.
///
/// # Safety
/// Both may be called for all indices below `count`, and shared memory has room for the elements.
#[inline(always)]
pub(crate) unsafe fn gather<const LOADS: usize, T: GpuScalar>(
    count: u32,
    column: impl Fn(u32) -> u32,
    element: impl Fn(u32) -> T,
    elements: Shared<T>,
) {
    let threads = block_dim_x();
    let mut place = thread_idx_x();
    while place < count {
        // Indices past the end load the last column again.
        let mut next = place;
        let places = [(); LOADS].map(|()| {
            let own = next.min(count - 1);
            next += threads;
            own
        });
        let columns = places.map(&column);
        let loaded = columns.map(&element);
        elements.store(places[0], loaded[0]);
        let mut step = 1;
        while step < LOADS {
            if place + step as u32 * threads < count {
                elements.store(places[step], loaded[step]);
            }
            step += 1;
        }
        place += LOADS as u32 * threads;
    }
}

/// Data shared by all slices of a part.
struct Places<V, T> {
    /// Total width of all slices before the part's.
    begin: u64,
    local_columns: Global<u32>,
    values: Global<V>,
    elements: Shared<T>,
    /// The value that each code stands for.
    table: Shared<T>,
}

impl<V: Stored<T>, T: GpuScalar> Places<V, T> {
    /// Sums of this lane's rows over the columns of slots from `begin` to `end`, which belong to one slice.
    ///
    /// # Safety
    /// The slots exist, and shared memory holds the elements of the part's columns.
    #[inline(always)]
    unsafe fn add(&self, begin: u32, end: u32) -> [T; 2] {
        let mut place = begin;
        let mut sums = [T::ZERO; 2];
        while end - place >= 4 {
            sums = self.add_columns::<4>(place, sums);
            place += 4;
        }
        while end - place >= 2 {
            sums = self.add_columns::<2>(place, sums);
            place += 2;
        }
        if place < end {
            sums = self.add_columns::<1>(place, sums);
        }
        sums
    }

    /// `sums` plus the products of this lane's rows at `COUNT` columns of slots. All of these are loaded before the
    /// first product, to keep the memory busy.
    ///
    /// # Safety
    /// As for [`add`](Self::add).
    #[inline(always)]
    unsafe fn add_columns<const COUNT: usize>(&self, first: u32, sums: [T; 2]) -> [T; 2] {
        let word = (self.begin + u64::from(first)) * u64::from(WARP_LANES) + u64::from(lane_id());
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
