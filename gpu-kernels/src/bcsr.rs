//! Blocked compressed sparse rows (Choi, Singh & Vuduc 2010, §4).

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::warp::{WARP_LANES, lane_id};
use cuda_std::{Global, GlobalMut, GpuScalar, Stored, kernel};

use crate::absent::Marked;
use crate::block::{Block, LARGEST_SIDE, Sums, add_block, unrolled, word_length};
use crate::reduction::sum_over_lanes;
use crate::values::Values;
use crate::vector::update;

/// Number of blocks of a block row whose words are interleaved: one per lane of a warp. The last group of a block row
/// may be smaller.
pub const GROUP_BLOCKS: u32 = WARP_LANES;

/// `LANES` lanes per block row, each with one block at a time, and 32 / `LANES` block rows per warp; warps go on to
/// further block rows (the paper's Algorithm 1, with shuffles instead of its shared memory).
///
/// # Safety
/// The arrays are those of a valid BCSR matrix with blocks of `SIZE` and `rows` rows, `x` has `last_column` + 1
/// elements if there is any block, `y` one for each row; `table` has an entry for each code among the values except the
/// mark; blocks of threads are made of whole warps.
#[kernel((V, T): stored_each, SIZE: [12, 22, 23, 32, 33, 34, 44, 55, 66, 77, 88], LANES: [2, 8, 32])]
pub unsafe fn bcsr<V: Stored<T> + Marked, T: GpuScalar, const SIZE: u32, const LANES: u32>(
    /// Number of rows.
    rows: u32,
    /// The last column.
    last_column: u32,
    /// Offset of each block row, in blocks; block rows + 1 offsets.
    block_offsets: Global<u32>,
    /// The first column of each block.
    first_columns: Global<u32>,
    /// The words of the blocks, interleaved in groups of [`GROUP_BLOCKS`].
    values: Global<V>,
    /// The value that each code stands for.
    table: Global<T>,
    /// The factor of A x.
    alpha: T,
    /// The vector to multiply.
    x: Global<T>,
    /// The factor of y.
    beta: T,
    /// The result.
    y: GlobalMut<T>,
) {
    let values = Values { stored: values, table };
    let block_rows = rows.div_ceil(Block::<SIZE>::ROWS);
    let lane = lane_id() % LANES;
    // The warp stays together for the sums over its lanes: it continues while its first block row exists.
    let mut first_block_row = index_1d() / WARP_LANES * (WARP_LANES / LANES);
    while first_block_row < block_rows {
        let block_row = first_block_row + lane_id() / LANES;
        let mut sums = [T::ZERO; LARGEST_SIDE];
        if block_row < block_rows {
            let (begin, end) = (block_offsets.load(block_row), block_offsets.load(block_row + 1));
            sums =
                sums_of_blocks::<V, T, SIZE, LANES>(begin, end, lane, last_column, first_columns, values, |column| {
                    x.load(column)
                });
        }
        unrolled(Block::<SIZE>::ROWS, |row_in_block| {
            let sum = sum_over_lanes::<T, LANES>(sums[row_in_block as usize]);
            let row = block_row * Block::<SIZE>::ROWS + row_in_block;
            if lane == row_in_block % LANES && row < rows {
                update(y, row, alpha, sum, beta);
            }
        });
        first_block_row += grid_threads() / LANES;
    }
}

/// Sums over every `LANES`-th block, from number `lane` on, of the block row from `begin` to `end`; x is given by
/// column.
///
/// # Safety
/// The matrix is as for [`bcsr`], and `element` may be called for columns up to `last_column`.
#[inline(always)]
pub(crate) unsafe fn sums_of_blocks<V: Stored<T> + Marked, T: GpuScalar, const SIZE: u32, const LANES: u32>(
    begin: u32,
    end: u32,
    lane: u32,
    last_column: u32,
    first_columns: Global<u32>,
    values: Values<V, T>,
    element: impl Fn(u32) -> T,
) -> Sums<T> {
    let word_length = const { word_length::<T>(Block::<SIZE>::PLACES) };
    let length = end - begin;
    let add = |sums, block: u32| {
        let group = block / GROUP_BLOCKS * GROUP_BLOCKS;
        let group_blocks = (length - group).min(GROUP_BLOCKS);
        let start =
            u64::from(begin + group) * u64::from(Block::<SIZE>::PLACES) + u64::from((block - group) * word_length);
        let first_column = first_columns.load(begin + block);
        add_block::<V, T, SIZE, true>(
            sums,
            values,
            start,
            group_blocks * word_length,
            first_column,
            last_column,
            &element,
        )
    };
    let mut sums = [T::ZERO; LARGEST_SIDE];
    let mut block = lane;
    while block + (Block::<SIZE>::AT_ONCE - 1) * LANES < length {
        unrolled(Block::<SIZE>::AT_ONCE, |number| sums = add(sums, block + number * LANES));
        block += Block::<SIZE>::AT_ONCE * LANES;
    }
    while block < length {
        sums = add(sums, block);
        block += LANES;
    }
    sums
}
