//! CSR times several vectors: one row per group of lanes.

use cuda_std::{Elements, Global, GlobalMut, kernel};

use super::Tile;
use crate::Offset;
use crate::csr::sum_of_entries;
use crate::values::Values;
use crate::vector::update;

/// One group of lanes per row.
///
/// # Safety
/// The arrays are those of a valid CSR matrix with `rows` rows; `x` and `y` hold the vectors described by `tile`, with
/// as many elements as the matrix has columns and rows.
#[kernel(T: elements, O: [u32, u64])]
pub unsafe fn csr_multivector<T: Elements, O: Offset>(
    /// Number of rows.
    rows: u32,
    /// The vectors of this launch.
    tile: Tile,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<<T as Elements>::Number>,
    /// The factor of A X.
    alpha: <T as Elements>::Number,
    /// The vectors to multiply.
    x: Global<T>,
    /// The factor of Y.
    beta: <T as Elements>::Number,
    /// The results.
    y: GlobalMut<T>,
) {
    if !tile.has_vector() {
        return;
    }
    let values = Values::as_they_are(values);
    let mut row = tile.group();
    while row < rows {
        let (begin, end) = (row_offsets.load(row), row_offsets.load(row + 1));
        let element = |column| x.load(tile.x_place(column));
        let sum = sum_of_entries::<_, T, O, 1>(begin, end, column_indices, values, element);
        update(y, tile.y_place(row), alpha, sum, beta);
        row += tile.groups();
    }
}
