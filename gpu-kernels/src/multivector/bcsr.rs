//! BCSR times several vectors.

use cuda_std::{Global, GlobalMut, kernel};

use super::Tile;
use crate::absent::Absent;
use crate::bcsr::sums_of_blocks;
use crate::block::{Block, unrolled};
use crate::values::Values;
use crate::vector::update;

/// One group of lanes per block row; each lane has the sums of all its rows.
///
/// # Safety
/// The arrays are those of a valid BCSR matrix with blocks of `SIZE` and `rows` rows; `x` and `y` are as for
/// [`csr_multivector`](super::csr::csr_multivector), and X has `last_column` + 1 elements in a vector if there is any
/// block.
#[kernel(T: scalars, SIZE: [12, 22, 23, 32, 33, 34, 44, 55, 66, 77, 88])]
pub unsafe fn bcsr_multivector<T: Absent, const SIZE: u32>(
    /// Number of rows.
    rows: u32,
    /// The vectors of this launch.
    tile: Tile,
    /// The last column.
    last_column: u32,
    /// Offset of each block row, in blocks; block rows + 1 offsets.
    block_offsets: Global<u32>,
    /// The first column of each block.
    first_columns: Global<u32>,
    /// The words of the blocks, as for [`bcsr`](crate::bcsr::bcsr).
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
    let values = Values::as_they_are(values);
    if !tile.has_vector() {
        return;
    }
    let block_rows = rows.div_ceil(Block::<SIZE>::ROWS);
    let mut block_row = tile.group();
    while block_row < block_rows {
        let (begin, end) = (block_offsets.load(block_row), block_offsets.load(block_row + 1));
        let element = |column| x.load(tile.x_place(column));
        let sums = sums_of_blocks::<T, T, SIZE, 1>(begin, end, 0, last_column, first_columns, values, element);
        unrolled(Block::<SIZE>::ROWS, |row_in_block| {
            let row = block_row * Block::<SIZE>::ROWS + row_in_block;
            if row < rows {
                update(y, tile.y_place(row), alpha, sums[row_in_block as usize], beta);
            }
        });
        block_row += tile.groups();
    }
}
