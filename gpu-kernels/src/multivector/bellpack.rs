//! BELLPACK times several vectors.

use cuda_std::{Global, GlobalMut, kernel};

use super::Tile;
use crate::absent::Absent;
use crate::bellpack::sums_of_block_row;
use crate::block::{Block, unrolled};
use crate::values::Values;
use crate::vector::update;

/// One group of lanes per block row; each lane has the sums of all its rows.
///
/// # Safety
/// The arrays are those of a valid BELLPACK matrix with blocks of `SIZE` and `rows` rows; `x` and `y` are as for
/// [`csr_multivector`](super::csr::csr_multivector), and X has `last_column` + 1 elements in a vector if there is any
/// block.
#[kernel(T: scalars, SIZE: [12, 22, 23, 32, 33, 34, 44, 55, 66, 77, 88])]
pub unsafe fn bellpack_multivector<T: Absent, const SIZE: u32>(
    /// Number of rows.
    rows: u32,
    /// The vectors of this launch.
    tile: Tile,
    /// The last column.
    last_column: u32,
    /// Block rows of each partition but the last.
    partition_rows: u32,
    /// Offset of each partition, in blocks of one of its block rows; partitions + 1 offsets.
    partition_offsets: Global<u32>,
    /// The block row at each stored position.
    block_rows: Global<u32>,
    /// The first column of each block, or [`PADDING`](crate::ell::PADDING).
    first_columns: Global<u32>,
    /// The words of the blocks, interleaved over the block rows of a partition.
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
    let stored_rows = rows.div_ceil(Block::<SIZE>::ROWS);
    let mut stored_row = tile.group();
    while stored_row < stored_rows {
        let element = |column| x.load(tile.x_place(column));
        let sums = sums_of_block_row::<T, T, SIZE>(
            stored_row,
            stored_rows,
            partition_rows,
            partition_offsets,
            last_column,
            first_columns,
            values,
            element,
        );
        let first_row = block_rows.load(stored_row) * Block::<SIZE>::ROWS;
        unrolled(Block::<SIZE>::ROWS, |row_in_block| {
            let row = first_row + row_in_block;
            if row < rows {
                update(y, tile.y_place(row), alpha, sums[row_in_block as usize], beta);
            }
        });
        stored_row += tile.groups();
    }
}
