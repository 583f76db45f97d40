//! DIA times several vectors.

use cuda_std::{Global, GlobalMut, kernel};

use super::Tile;
use crate::absent::Absent;
use crate::dia::{add_place, column_or_last};
use crate::vector::update;

/// One group of lanes per row. The offsets are loaded again for each row, by all lanes of a warp at once.
///
/// # Safety
/// The arrays are those of a valid DIA matrix with `rows` rows and `columns` columns: `diagonals` offsets, and as many
/// columns of `stride` slots each; the slots outside the matrix are padding. `x` and `y` are as for
/// [`csr_multivector`](super::csr::csr_multivector).
#[kernel(T: scalars)]
pub unsafe fn dia_multivector<T: Absent>(
    /// Number of rows.
    rows: u32,
    /// The vectors of this launch.
    tile: Tile,
    /// Number of columns.
    columns: u32,
    /// Slots from one diagonal to the next.
    stride: u32,
    /// Number of diagonals.
    diagonals: u32,
    /// Column minus row of each diagonal.
    offsets: Global<i32>,
    /// The value of each slot, or [`Absent::ABSENT`].
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
        let value = |diagonal: u32| values.load(u64::from(diagonal) * u64::from(stride) + u64::from(row));
        let element = |offset| x.load(tile.x_place(column_or_last(row, offset, columns)));
        let mut sum = T::ZERO;
        let mut diagonal = 0;
        while diagonals - diagonal >= 4 {
            // Four products are loaded before the first is used, to keep the memory busy.
            let four = [diagonal, diagonal + 1, diagonal + 2, diagonal + 3];
            let offsets = four.map(|diagonal| offsets.load(diagonal));
            let values = four.map(value);
            let elements = offsets.map(element);
            sum = add_place(sum, values[0], elements[0]);
            sum = add_place(sum, values[1], elements[1]);
            sum = add_place(sum, values[2], elements[2]);
            sum = add_place(sum, values[3], elements[3]);
            diagonal += 4;
        }
        while diagonal < diagonals {
            sum = add_place(sum, value(diagonal), element(offsets.load(diagonal)));
            diagonal += 1;
        }
        update(y, tile.y_place(row), alpha, sum, beta);
        row += tile.groups();
    }
}
