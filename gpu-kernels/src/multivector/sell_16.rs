//! SELL-16 times several vectors.

use cuda_std::warp::WARP_LANES;
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use super::Tile;
use crate::sell_16::{NO_ENTRY, SLICE_ROWS};
use crate::vector::update;

/// One group of lanes per row.
///
/// # Safety
/// The arrays are those of a valid SELL-16 matrix with `rows` rows; `x` and `y` are as for
/// [`csr_multivector`](super::csr::csr_multivector).
#[kernel(T: scalars)]
pub unsafe fn sell_16_multivector<T: GpuScalar>(
    /// Number of rows.
    rows: u32,
    /// The vectors of this launch.
    tile: Tile,
    /// Total width of all slices before each one; slices + 1 numbers.
    slice_begins: Global<u64>,
    /// The smallest column among the entries of each column of slots.
    bases: Global<u32>,
    /// Two offsets from the base per lane of each column of slots: the lower half for its first row.
    column_offsets: Global<u32>,
    /// Two values per lane of each column of slots.
    values: Global<T>,
    /// The factor of A X.
    alpha: T,
    /// The vectors to multiply.
    x: Global<T>,
    /// The factor of Y.
    beta: T,
    /// The results.
    y: GlobalMut<T>,
) {
    if !tile.has_vector() {
        return;
    }
    let mut row = tile.group();
    while row < rows {
        let (slice, row_in_slice) = (row / SLICE_ROWS, row % SLICE_ROWS);
        // The lane with this row, and which of its two rows this is.
        let (lane, half) = (row_in_slice % WARP_LANES, row_in_slice / WARP_LANES);
        let end = slice_begins.load(slice + 1);
        let mut sum = T::ZERO;
        let mut place = slice_begins.load(slice);
        while place < end {
            let word = place * u64::from(WARP_LANES) + u64::from(lane);
            let offset = column_offsets.load(word) >> (16 * half) & NO_ENTRY;
            let value = values.load(2 * word + u64::from(half));
            // For padding, the element at the base is loaded and ignored.
            let element = x.load(tile.x_place(bases.load(place) + if offset == NO_ENTRY { 0 } else { offset }));
            sum = if offset == NO_ENTRY { sum } else { value.mul_add(element, sum) };
            place += 1;
        }
        update(y, tile.y_place(row), alpha, sum, beta);
        row += tile.groups();
    }
}
