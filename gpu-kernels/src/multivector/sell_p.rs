//! SELL-P times several vectors.

use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use super::Tile;
use crate::sell_p::sum_of_row;
use crate::values::Values;
use crate::vector::update;

/// One group of lanes per row, whether the rows are stored in their own order or in another one.
///
/// # Safety
/// The arrays are those of a valid SELL-P matrix with `rows` rows in slices of `slice_size`, at least 1; `row_indices`
/// holds each row once, or is empty if the rows are in their own order. `x` and `y` are as for
/// [`csr_multivector`](super::csr::csr_multivector).
#[kernel(T: scalars)]
pub unsafe fn sell_p_multivector<T: GpuScalar>(
    /// Number of rows.
    rows: u32,
    /// The vectors of this launch.
    tile: Tile,
    /// Rows of a slice.
    slice_size: u32,
    /// Total width of all slices before each one; slices + 1 numbers.
    slice_begins: Global<u64>,
    /// Number of row indices: `rows`, or 0 if the rows are in their own order.
    sorted_rows: u32,
    /// The row at each position.
    row_indices: Global<u32>,
    /// The column of each entry, or [`PADDING`](crate::ell::PADDING).
    column_indices: Global<u32>,
    /// The value of each entry.
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
    let mut position = tile.group();
    while position < rows {
        let element = |column| x.load(tile.x_place(column));
        let sum = sum_of_row::<T, T, 1>(
            position,
            slice_size,
            slice_begins,
            column_indices,
            Values::as_they_are(values),
            element,
        );
        let row = if position < sorted_rows { row_indices.load(position) } else { position };
        update(y, tile.y_place(row), alpha, sum, beta);
        position += tile.groups();
    }
}
