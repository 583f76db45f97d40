//! Sliced ELLPACK with columns of 16 bits: offsets from a base that a column of slots of a slice shares.
//!
//! A slice has 64 rows, two per lane of a warp: rows l and l + 32 of the slice for lane l. A lane thus loads two
//! offsets as one word and two values at once, while the lanes' elements of x are those of 32 consecutive rows. Any
//! slot of a row may be padding: if the columns of 64 rows are too far apart for one base, some of the rows wait for
//! the next.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::warp::{WARP_LANES, lane_id};
use cuda_std::{Global, GlobalMut, GpuScalar, Stored, kernel};

use crate::values::Values;
use crate::vector::update;

/// Rows of a slice.
pub const SLICE_ROWS: u32 = 2 * WARP_LANES;

/// The offset of a slot without an entry. Offsets of entries are smaller.
pub const NO_ENTRY: u32 = 0xFFFF;

/// One warp per slice.
///
/// # Safety
/// The arrays are those of a valid SELL-16 matrix with `rows` rows; `x` has an element for each column of the matrix,
/// `y` one for each row; `table` has an entry for each code among the values; blocks are made of whole warps.
#[kernel((V, T): stored)]
pub unsafe fn sell_16<V: Stored<T>, T: GpuScalar>(
    /// Number of rows.
    rows: u32,
    /// Total width of all slices before each one; slices + 1 numbers.
    slice_begins: Global<u64>,
    /// The smallest column among the entries of each column of slots.
    bases: Global<u32>,
    /// Two offsets from the base per lane of each column of slots: the lower half for its first row.
    column_offsets: Global<u32>,
    /// Two values per lane of each column of slots.
    values: Global<V>,
    /// The value that each code stands for.
    table: Global<T>,
    /// The factor of A x.
    alpha: T,
    /// The vector to multiply.
    x: Global<T>,
    /// The factor of y.
    beta: T,
    /// The result.
    y: GlobalMut<T>,
) {
    let places = Places { bases, column_offsets, values: Values { stored: values, table }, x };
    places.multiply(rows, slice_begins, |row, sum| update(y, row, alpha, sum, beta));
}

/// Data shared by all slices.
pub(crate) struct Places<V, T> {
    pub bases: Global<u32>,
    pub column_offsets: Global<u32>,
    pub values: Values<V, T>,
    pub x: Global<T>,
}

impl<V: Stored<T>, T: GpuScalar> Places<V, T> {
    /// Passes the product of each row with x to `write`.
    ///
    /// # Safety
    /// As for [`sell_16`], and all lanes of the warp call it.
    #[inline(always)]
    pub unsafe fn multiply(&self, rows: u32, slice_begins: Global<u64>, mut write: impl FnMut(u32, T)) {
        let mut slice = index_1d() / WARP_LANES;
        while slice < rows.div_ceil(SLICE_ROWS) {
            let (mut place, end) = (slice_begins.load(slice), slice_begins.load(slice + 1));
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
            let row = slice * SLICE_ROWS + lane_id();
            if row < rows {
                write(row, sums[0]);
            }
            if row + WARP_LANES < rows {
                write(row + WARP_LANES, sums[1]);
            }
            slice += grid_threads() / WARP_LANES;
        }
    }

    /// `sums` plus the products of this lane's rows at `COUNT` columns of slots. All of these are loaded before the
    /// first product, to keep the memory busy.
    ///
    /// # Safety
    /// The slots exist.
    #[inline(always)]
    unsafe fn add<const COUNT: usize>(&self, first: u64, sums: [T; 2]) -> [T; 2] {
        let word = first * u64::from(WARP_LANES) + u64::from(lane_id());
        let mut number = 0;
        let places = [(); COUNT].map(|()| {
            let place = (first + number, word + number * u64::from(WARP_LANES));
            number += 1;
            place
        });
        let words = places.map(|(_, word)| self.column_offsets.load_streaming(word));
        let values = places.map(|(_, word)| self.values.stored.load_streaming_2(2 * word));
        let bases = places.map(|(place, _)| self.bases.load(place));
        let mut sums = sums;
        let mut number = 0;
        while number < COUNT {
            let (base, word, value) = (bases[number], words[number], values[number]);
            sums = [
                self.add_product(sums[0], base, word & NO_ENTRY, value[0]),
                self.add_product(sums[1], base, word >> 16, value[1]),
            ];
            number += 1;
        }
        sums
    }

    /// `sum` plus one more product, unless the slot is padding: then the element at the base, which some entry of these
    /// slots needs anyway, is loaded and ignored.
    #[inline(always)]
    unsafe fn add_product(&self, sum: T, base: u32, offset: u32, value: V) -> T {
        let element = self.x.load(base + if offset == NO_ENTRY { 0 } else { offset });
        if offset == NO_ENTRY { sum } else { self.values.widen(value).mul_add(element, sum) }
    }
}
