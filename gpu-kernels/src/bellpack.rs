//! Blocked ELLPACK (Choi, Singh & Vuduc 2010, §5).

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::{Global, GlobalMut, GpuScalar, Stored, kernel};

use crate::absent::Marked;
use crate::block::{Block, LARGEST_SIDE, Sums, add_block, unrolled, word_length};
use crate::ell::PADDING;
use crate::values::Values;
use crate::vector::update;

/// One thread per block row (the paper's Algorithm 2), which stops at the first padding of its block row.
///
/// # Safety
/// The arrays are those of a valid BELLPACK matrix with blocks of `SIZE` and `rows` rows, `x` has `last_column` + 1
/// elements if there is any block, `y` one for each row; `table` has an entry for each code among the values except the
/// mark.
#[kernel((V, T): stored_each, SIZE: [12, 22, 23, 32, 33, 34, 44, 55, 66, 77, 88])]
pub unsafe fn bellpack<V: Stored<T> + Marked, T: GpuScalar, const SIZE: u32>(
    /// Number of rows.
    rows: u32,
    /// The last column.
    last_column: u32,
    /// Block rows of each partition but the last.
    partition_rows: u32,
    /// Offset of each partition, in blocks of one of its block rows; partitions + 1 offsets.
    partition_offsets: Global<u32>,
    /// The block row at each stored position.
    block_rows: Global<u32>,
    /// The first column of each block, or [`PADDING`].
    first_columns: Global<u32>,
    /// The words of the blocks, interleaved over the block rows of a partition.
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
    let matrix = BlockRows::<V, T, SIZE> {
        rows,
        last_column,
        partition_rows,
        partition_offsets,
        block_rows,
        first_columns,
        values: Values { stored: values, table },
    };
    matrix.multiply(x, |row, sum| update(y, row, alpha, sum, beta));
}

/// The matrix of [`bellpack`].
pub(crate) struct BlockRows<V, T, const SIZE: u32> {
    pub rows: u32,
    pub last_column: u32,
    pub partition_rows: u32,
    pub partition_offsets: Global<u32>,
    pub block_rows: Global<u32>,
    pub first_columns: Global<u32>,
    pub values: Values<V, T>,
}

impl<V: Stored<T> + Marked, T: GpuScalar, const SIZE: u32> BlockRows<V, T, SIZE> {
    /// Passes the product of each row with x to `write`.
    ///
    /// # Safety
    /// As for [`bellpack`].
    #[inline(always)]
    pub unsafe fn multiply(self, x: Global<T>, mut write: impl FnMut(u32, T)) {
        let Self { rows, last_column, partition_rows, partition_offsets, block_rows, first_columns, values } = self;
        let stored_rows = rows.div_ceil(Block::<SIZE>::ROWS);
        let mut stored_row = index_1d();
        while stored_row < stored_rows {
            let sums = sums_of_block_row::<V, T, SIZE>(
                stored_row,
                stored_rows,
                partition_rows,
                partition_offsets,
                last_column,
                first_columns,
                values,
                |column| x.load(column),
            );
            let row = block_rows.load(stored_row) * Block::<SIZE>::ROWS;
            unrolled(Block::<SIZE>::ROWS, |row_in_block| {
                if row + row_in_block < rows {
                    write(row + row_in_block, sums[row_in_block as usize]);
                }
            });
            stored_row += grid_threads();
        }
    }
}

/// Number of blocks whose loads are in flight together: one more than elsewhere for nine values of 8 bytes, which is
/// faster although fewer warps fit.
const fn at_once<T, const SIZE: u32>() -> u32 {
    if Block::<SIZE>::PLACES == 9 && size_of::<T>() == 8 { 3 } else { Block::<SIZE>::AT_ONCE }
}

/// Sums of the block row stored as number `stored_row` of `stored_rows`; x is given by column.
///
/// # Safety
/// The matrix is as for [`bellpack`], and `element` may be called for columns up to `last_column`.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "they are the arrays and the part of them to process")]
pub(crate) unsafe fn sums_of_block_row<V: Stored<T> + Marked, T: GpuScalar, const SIZE: u32>(
    stored_row: u32,
    stored_rows: u32,
    partition_rows: u32,
    partition_offsets: Global<u32>,
    last_column: u32,
    first_columns: Global<u32>,
    values: Values<V, T>,
    element: impl Fn(u32) -> T,
) -> Sums<T> {
    let partition = stored_row / partition_rows;
    let first_row = partition * partition_rows;
    let (begin, end) = (partition_offsets.load(partition), partition_offsets.load(partition + 1));
    sums_of_blocks::<V, T, SIZE>(
        u64::from(begin) * u64::from(partition_rows),
        end - begin,
        stored_row - first_row,
        (stored_rows - first_row).min(partition_rows),
        last_column,
        first_columns,
        values,
        element,
    )
}

/// Sums of one block row: number `lane` of the `lanes` block rows of a partition that begins at `begin` and is `width`
/// blocks wide.
///
/// # Safety
/// As for [`sums_of_block_row`].
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "they are the arrays and the part of them to process")]
unsafe fn sums_of_blocks<V: Stored<T> + Marked, T: GpuScalar, const SIZE: u32>(
    begin: u64,
    width: u32,
    lane: u32,
    lanes: u32,
    last_column: u32,
    first_columns: Global<u32>,
    values: Values<V, T>,
    element: impl Fn(u32) -> T,
) -> Sums<T> {
    let word_length = const { word_length::<T>(Block::<SIZE>::PLACES) };
    let mut sums = [T::ZERO; LARGEST_SIDE];
    // Index of the next block, and of its first value.
    let mut block = begin + u64::from(lane);
    let mut start = begin * u64::from(Block::<SIZE>::PLACES) + u64::from(lane * word_length);
    let add = |sums, start: u64, first_column: u32| {
        add_block::<V, T, SIZE, false>(sums, values, start, lanes * word_length, first_column, last_column, &element)
    };
    let step = u64::from(lanes) * u64::from(Block::<SIZE>::PLACES);
    let at_once = const { at_once::<T, SIZE>() };
    let mut left = width;
    while at_once > 1 && left >= at_once {
        let mut first_column = PADDING;
        unrolled(at_once, |_| {
            // The values of padding are absent.
            first_column = first_columns.load_streaming(block);
            sums = add(sums, start, first_column);
            block += u64::from(lanes);
            start += step;
        });
        if first_column == PADDING {
            return sums;
        }
        left -= at_once;
    }
    while left > 0 {
        let first_column = first_columns.load_streaming(block);
        if first_column == PADDING {
            return sums;
        }
        sums = add(sums, start, first_column);
        block += u64::from(lanes);
        start += step;
        left -= 1;
    }
    sums
}
