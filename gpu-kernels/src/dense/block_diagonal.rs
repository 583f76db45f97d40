//! Products with a matrix of dense blocks on its diagonal.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, warp_shuffle_idx};
use cuda_std::{Global, GlobalMut, GpuFloat, kernel};

/// Columns of a block whose elements are loaded before the first is used.
const COLUMNS_AT_ONCE: u32 = 4;

/// y ← B x. A block is shared by as many lanes as it has rows, rounded up: each lane has a row, so that they read a
/// column of the block together, and they exchange the elements of x.
///
/// # Safety
/// Blocks of threads are made of whole warps; `lanes` is a power of two up to 32, and `size` is at most `lanes`;
/// `count` blocks of `size` rows hold all `rows` rows, and each has at least one of them. `values` has `size` · `size`
/// elements for each block, those in rows and columns past the last row 0; `x` and `y` have `rows` elements.
#[kernel(T: reals)]
pub unsafe fn block_diagonal<T: GpuFloat>(
    /// Number of rows.
    rows: u32,
    /// Number of blocks.
    count: u32,
    /// Rows of a block; the last one may have fewer.
    size: u32,
    /// Lanes that share a block.
    lanes: u32,
    /// The elements of each block, column by column.
    values: Global<T>,
    /// The vector to multiply.
    x: Global<T>,
    /// The result.
    y: GlobalMut<T>,
) {
    let lane = lane_id() & (lanes - 1);
    let shift = lanes.trailing_zeros();
    // The warp stays together for the shuffles.
    let mut first_block = index_1d() / WARP_LANES * (WARP_LANES >> shift);
    while first_block < count {
        let block = first_block + (lane_id() >> shift);
        let row = if block < count && lane < size { block * size + lane } else { rows };
        let element = if row < rows { x.load(row) } else { T::ZERO };
        let first_value = u64::from(block) * u64::from(size * size) + u64::from(lane);
        let mut sum = T::ZERO;
        let mut column = 0;
        while column < size {
            let columns = [column, column + 1, column + 2, column + 3];
            let values = columns.map(|column| {
                if row < rows && column < size {
                    values.load_streaming(first_value + u64::from(column * size))
                } else {
                    T::ZERO
                }
            });
            let mut next = |column: u32, value: T| {
                if column < size {
                    sum = value.mul_add(warp_shuffle_idx(ALL_LANES, element, column, lanes).0, sum);
                }
            };
            next(columns[0], values[0]);
            next(columns[1], values[1]);
            next(columns[2], values[2]);
            next(columns[3], values[3]);
            column += COLUMNS_AT_ONCE;
        }
        if row < rows {
            y.store(row, sum);
        }
        first_block += grid_threads() >> shift;
    }
}
