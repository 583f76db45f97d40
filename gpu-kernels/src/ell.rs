//! ELLPACK (Bell & Garland 2009, §3.2).

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::{Global, GlobalMut, GpuFloat, kernel};

use crate::vector::update;

/// The column index of a place that holds no entry. Such places come after a row's entries.
pub const PADDING: u32 = u32::MAX;

/// One thread a row, which stops at the row's first padding.
///
/// # Safety
/// The arrays are those of a valid ELL matrix with `rows` rows: `width` columns of `stride` places each, `x`
/// has an element for each column of the matrix, `y` one for each row.
#[kernel(T: [f32, f64])]
pub unsafe fn ell<T: GpuFloat>(
    /// Number of rows.
    rows: u32,
    /// Places from one entry of a row to its next.
    stride: u32,
    /// Entries of the longest row.
    width: u32,
    /// The column of each entry, or [`PADDING`].
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// The factor of A x.
    alpha: T,
    /// The vector that is multiplied.
    x: Global<T>,
    /// The factor of y.
    beta: T,
    /// The result.
    y: GlobalMut<T>,
) {
    let mut row = index_1d();
    while row < rows {
        update(y, row, alpha, sum_of_row(row, stride, width, column_indices, values, x), beta);
        row += grid_threads();
    }
}

/// The product of a row with x. Four places at a time are loaded before the first is used, to keep the memory
/// busy; what padding holds is loaded then, but never used.
///
/// # Safety
/// As for [`ell`].
#[inline(always)]
unsafe fn sum_of_row<T: GpuFloat>(
    row: u32,
    stride: u32,
    width: u32,
    column_indices: Global<u32>,
    values: Global<T>,
    x: Global<T>,
) -> T {
    let stride = u64::from(stride);
    let mut sum = T::ZERO;
    let mut place = u64::from(row);
    let mut left = width;
    while left >= 4 {
        let places = [place, place + stride, place + 2 * stride, place + 3 * stride];
        let columns = places.map(|place| column_indices.load_streaming(place));
        let values = places.map(|place| values.load_streaming(place));
        sum = add_place(sum, columns[0], values[0], x);
        sum = add_place(sum, columns[1], values[1], x);
        sum = add_place(sum, columns[2], values[2], x);
        sum = add_place(sum, columns[3], values[3], x);
        if columns[3] == PADDING {
            return sum;
        }
        place += 4 * stride;
        left -= 4;
    }
    while left > 0 {
        let column = column_indices.load_streaming(place);
        if column == PADDING {
            return sum;
        }
        sum = add_place(sum, column, values.load_streaming(place), x);
        place += stride;
        left -= 1;
    }
    sum
}

/// `sum` with one more product, unless the place is padding.
///
/// # Safety
/// `x` has an element for `column`, unless that is [`PADDING`].
#[inline(always)]
unsafe fn add_place<T: GpuFloat>(sum: T, column: u32, value: T, x: Global<T>) -> T {
    if column == PADDING { sum } else { value.mul_add(x.load(column), sum) }
}
