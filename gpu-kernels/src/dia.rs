//! The diagonal format (Bell & Garland 2009, §3.1).

use cuda_std::shared::{self, Shared};
use cuda_std::thread::{block_dim_x, block_idx_x, grid_threads, sync_threads, thread_idx_x};
use cuda_std::{Global, GlobalMut, kernel};

use crate::absent::Absent;
use crate::vector::update;

/// The most offsets that a block holds in shared memory at a time.
pub const OFFSETS_AT_ONCE: u32 = 1024;

/// One thread a row; there are no column indices to read, and a block reads the offsets once. With more than
/// [`OFFSETS_AT_ONCE`] diagonals it reads them in parts, and again for its next rows.
///
/// # Safety
/// The arrays are those of a valid DIA matrix with `rows` rows: `diagonals` offsets, and as many columns of
/// `stride` places each, of which those outside the matrix are padding. `x` has `columns` elements, `y` one for
/// each row. A block has 4 bytes of shared memory for each offset that it holds at a time.
#[kernel(T: [f32, f64])]
pub unsafe fn dia<T: Absent>(
    /// Number of rows.
    rows: u32,
    /// Number of columns.
    columns: u32,
    /// Places from one diagonal to the next.
    stride: u32,
    /// Number of diagonals.
    diagonals: u32,
    /// Column minus row of each diagonal.
    offsets: Global<i32>,
    /// The value of each place, or [`Absent::ABSENT`].
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
    let held_offsets = shared::dynamic::<i32>(0);
    // The diagonal of the first offset in shared memory: none yet.
    let mut held = diagonals;
    // The block stays together for its barriers: it goes on while its first row exists.
    let mut first_row = block_idx_x() * block_dim_x();
    while first_row < rows {
        let row = first_row + thread_idx_x();
        let mut sum = T::ZERO;
        let mut diagonal = 0;
        while diagonal < diagonals {
            let count = (diagonals - diagonal).min(OFFSETS_AT_ONCE);
            if held != diagonal {
                // All threads are done with what was there before, and see what is there now.
                sync_threads();
                let mut offset = thread_idx_x();
                while offset < count {
                    held_offsets.store(offset, offsets.load(diagonal + offset));
                    offset += block_dim_x();
                }
                sync_threads();
                held = diagonal;
            }
            if row < rows {
                let first_place = u64::from(diagonal) * u64::from(stride) + u64::from(row);
                sum = add_diagonals(sum, row, columns, first_place, stride, count, held_offsets, values, x);
            }
            diagonal += OFFSETS_AT_ONCE;
        }
        if row < rows {
            update(y, row, alpha, sum, beta);
        }
        first_row += grid_threads();
    }
}

/// `sum` with the products of `row` on `count` diagonals, whose offsets are in shared memory. Those of four
/// diagonals are loaded before the first is used, to keep the memory busy.
///
/// # Safety
/// As for [`dia`]; the first of the diagonals has its place for `row` at `place`.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn add_diagonals<T: Absent>(
    mut sum: T,
    row: u32,
    columns: u32,
    mut place: u64,
    stride: u32,
    count: u32,
    offsets: Shared<i32>,
    values: Global<T>,
    x: Global<T>,
) -> T {
    let stride = u64::from(stride);
    let mut diagonal = 0;
    while diagonal + 4 <= count {
        let places = [place, place + stride, place + 2 * stride, place + 3 * stride];
        let values = places.map(|place| values.load_streaming(place));
        let elements = [diagonal, diagonal + 1, diagonal + 2, diagonal + 3]
            .map(|diagonal| x.load(column_or_last(row, offsets.load(diagonal), columns)));
        sum = add_place(sum, values[0], elements[0]);
        sum = add_place(sum, values[1], elements[1]);
        sum = add_place(sum, values[2], elements[2]);
        sum = add_place(sum, values[3], elements[3]);
        place += 4 * stride;
        diagonal += 4;
    }
    while diagonal < count {
        let element = x.load(column_or_last(row, offsets.load(diagonal), columns));
        sum = add_place(sum, values.load_streaming(place), element);
        place += stride;
        diagonal += 1;
    }
    sum
}

/// The column where a diagonal crosses `row`. Outside the matrix it is the last column: its element of x can be
/// loaded before the value says that it is not needed. There is a last column, or there would be no diagonal.
#[inline(always)]
fn column_or_last(row: u32, offset: i32, columns: u32) -> u32 {
    // Left of the matrix this wraps to more than 2^31, right of it there is no wrap.
    row.wrapping_add_signed(offset).min(columns - 1)
}

/// `sum` with one more product, unless the place is padding.
#[inline(always)]
fn add_place<T: Absent>(sum: T, value: T, element: T) -> T {
    if value.is_absent() { sum } else { value.mul_add(element, sum) }
}
