//! ELLPACK (Bell & Garland 2009, §3.2; Anzt et al. 2020, §3.4).

use core::hint::assert_unchecked;

use cuda_std::shared;
use cuda_std::thread::{block_dim_x, block_idx_x, grid_dim_x, grid_threads, index_1d, sync_threads, thread_idx_x};
use cuda_std::warp::WARP_LANES;
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use crate::reduction::sum_over_groups;
use crate::vector::update;

/// The column index of a place that holds no entry. Such places come after a row's entries.
pub const PADDING: u32 = u32::MAX;

/// One thread a row, which stops at the row's first padding.
///
/// # Safety
/// The arrays are those of a valid ELL matrix with `rows` rows: `width` columns of `stride` places each, `x`
/// has an element for each column of the matrix, `y` one for each row.
#[kernel(T: scalars)]
pub unsafe fn ell<T: GpuScalar>(
    /// Number of rows.
    rows: u32,
    /// Places from one entry of a row to its next.
    stride: u32,
    /// Entries of the longest row.
    width: u32,
    /// The column of each entry, or [`PADDING`].
    column_indices: Global<u32>,
    /// The value of each entry.
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
    let mut row = index_1d();
    while row < rows {
        let sum = sum_of_places(row.into(), stride.into(), width, column_indices, values, |column| x.load(column));
        update(y, row, alpha, sum, beta);
        row += grid_threads();
    }
}

/// Several threads a row, each with every `threads_per_row`-th place of it up to its first padding: a subwarp, or
/// several whole warps of one block (Anzt et al. 2020, Alg. 3). Their sums meet in shared memory and not in
/// atomic additions, so that the result has the same bits every run. Neighbouring threads have neighbouring
/// rows, because those lie side by side in memory.
///
/// # Safety
/// As for [`ell`]. Blocks are made of whole warps and of a multiple of `threads_per_row` threads, with
/// shared memory for a value for each thread; `threads_per_row` is a power of two or a multiple of 32.
#[kernel(T: scalars)]
pub unsafe fn ell_subwarp<T: GpuScalar>(
    /// Number of rows.
    rows: u32,
    /// Threads that share a row.
    threads_per_row: u32,
    /// Places from one entry of a row to its next.
    stride: u32,
    /// Entries of the longest row.
    width: u32,
    /// The column of each entry, or [`PADDING`].
    column_indices: Global<u32>,
    /// The value of each entry.
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
    let sums = shared::dynamic::<T>(0);
    let thread = thread_idx_x();
    // Or the divisions would bring code for panics along.
    assert_unchecked(threads_per_row > 0);
    let rows_per_block = block_dim_x() / threads_per_row;
    assert_unchecked(rows_per_block > 0);
    let first_place = thread / rows_per_block;
    // So many lanes of one warp add up the sums of a row.
    let lanes = threads_per_row.min(WARP_LANES);
    let (lane, row_to_add) = (thread % lanes, thread / lanes);
    // The block stays together for its barriers: it goes on while its first row exists.
    let mut first_row = block_idx_x() * rows_per_block;
    while first_row < rows {
        let row = first_row + thread % rows_per_block;
        let mut sum = T::ZERO;
        if row < rows && first_place < width {
            let stride = u64::from(stride);
            let first = u64::from(first_place) * stride + u64::from(row);
            let count = (width - first_place).div_ceil(threads_per_row);
            let step = u64::from(threads_per_row) * stride;
            sum = sum_of_places(first, step, count, column_indices, values, |column| x.load(column));
        }
        sums.store(thread, sum);
        sync_threads();
        let mut sum = T::ZERO;
        if row_to_add < rows_per_block {
            let mut part = lane;
            while part < threads_per_row {
                sum = sum + sums.load(part * rows_per_block + row_to_add);
                part += lanes;
            }
        }
        let sum = sum_over_groups(sum, lanes);
        if lane == 0 && row_to_add < rows_per_block && first_row + row_to_add < rows {
            update(y, first_row + row_to_add, alpha, sum, beta);
        }
        // The sums are read before the next rows overwrite them.
        sync_threads();
        first_row += grid_dim_x() * rows_per_block;
    }
}

/// The sum of entry times element of x, by column, over `count` places, `step` apart, up to the first padding. Four places at
/// a time are loaded before the first is used, to keep the memory busy; what padding holds is loaded then, but
/// never used.
///
/// # Safety
/// The places exist, and `element` may be called for each of their columns but [`PADDING`].
#[inline(always)]
pub(crate) unsafe fn sum_of_places<T: GpuScalar>(
    first: u64,
    step: u64,
    count: u32,
    column_indices: Global<u32>,
    values: Global<T>,
    element: impl Fn(u32) -> T,
) -> T {
    let mut sum = T::ZERO;
    let mut place = first;
    let mut left = count;
    while left >= 4 {
        let columns = column_indices.load_streaming_apart(place, step);
        let values = values.load_streaming_apart(place, step);
        sum = add_place(sum, columns[0], values[0], &element);
        sum = add_place(sum, columns[1], values[1], &element);
        sum = add_place(sum, columns[2], values[2], &element);
        sum = add_place(sum, columns[3], values[3], &element);
        if columns[3] == PADDING {
            return sum;
        }
        place += 4 * step;
        left -= 4;
    }
    while left > 0 {
        let column = column_indices.load_streaming(place);
        if column == PADDING {
            return sum;
        }
        sum = add_place(sum, column, values.load_streaming(place), &element);
        place += step;
        left -= 1;
    }
    sum
}

/// `sum` with one more product, unless the place is padding.
#[inline(always)]
fn add_place<T: GpuScalar>(sum: T, column: u32, value: T, element: impl Fn(u32) -> T) -> T {
    if column == PADDING { sum } else { value.mul_add(element(column), sum) }
}
