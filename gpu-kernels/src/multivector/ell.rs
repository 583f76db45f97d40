//! ELL times several vectors.

use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use super::Tile;
use crate::ell::sum_of_places;
use crate::values::Values;
use crate::vector::update;

/// One group of lanes per row, which stops at the row's first padding.
///
/// # Safety
/// The arrays are those of a valid ELL matrix with `rows` rows: `width` columns of `stride` slots each. `x` and `y` are
/// as for [`csr_multivector`](super::csr::csr_multivector).
#[kernel(T: scalars)]
pub unsafe fn ell_multivector<T: GpuScalar>(
    /// Number of rows.
    rows: u32,
    /// The vectors of this launch.
    tile: Tile,
    /// Slots from one entry of a row to the next.
    stride: u32,
    /// Entries of the longest row.
    width: u32,
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
    let mut row = tile.group();
    while row < rows {
        let element = |column| x.load(tile.x_place(column));
        let sum = sum_of_places::<T, T, 1>(
            row.into(),
            stride.into(),
            width,
            column_indices,
            Values::as_they_are(values),
            element,
        );
        update(y, tile.y_place(row), alpha, sum, beta);
        row += tile.groups();
    }
}
