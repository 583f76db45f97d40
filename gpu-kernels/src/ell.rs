//! ELLPACK (Bell & Garland 2009, §3.2; Anzt et al. 2020, §3.4).

use core::hint::assert_unchecked;

use cuda_std::shared;
use cuda_std::thread::{block_dim_x, block_idx_x, grid_dim_x, grid_threads, index_1d, sync_threads, thread_idx_x};
use cuda_std::warp::WARP_LANES;
use cuda_std::{Global, GlobalMut, GpuScalar, Stored, kernel};

use crate::reduction::sum_over_groups;
use crate::values::Values;
use crate::vector::update;

/// The column index of a slot without an entry. Such slots come after a row's entries.
pub const PADDING: u32 = u32::MAX;

/// Slots that a thread loads at once.
pub const BATCH: u32 = 4;

/// One thread per row, which stops at the row's first padding. It has `BATCHES` times [`BATCH`] slots in flight at
/// once: 1 batch if there are enough threads to keep the memory busy, 4 if rows are few.
///
/// # Safety
/// The arrays are those of a valid ELL matrix with `rows` rows: `width` columns of `stride` slots each, `x` has an
/// element for each column of the matrix, `y` one for each row; `table` has an entry for each code among the values,
/// including those of padding.
#[kernel((V, T): stored, BATCHES: [1, 4])]
pub unsafe fn ell<V: Stored<T>, T: GpuScalar, const BATCHES: usize>(
    /// Number of rows.
    rows: u32,
    /// Slots from one entry of a row to the next.
    stride: u32,
    /// Entries of the longest row.
    width: u32,
    /// The column of each entry, or [`PADDING`].
    column_indices: Global<u32>,
    /// The value of each entry.
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
    let mut row = index_1d();
    while row < rows {
        let element = |column| x.load(column);
        let sum = sum_of_places::<V, T, BATCHES>(row.into(), stride.into(), width, column_indices, values, element);
        update(y, row, alpha, sum, beta);
        row += grid_threads();
    }
}

/// Several threads per row, each with every `threads_per_row`-th slot of it up to its first padding: a subwarp, or
/// several whole warps of one block (Anzt et al. 2020, Alg. 3). Their sums are combined in shared memory rather than by
/// atomic additions, so that the result has the same bits in every run. Neighbouring threads have neighbouring rows,
/// which are adjacent in memory.
///
/// # Safety
/// As for [`ell`]. Blocks are made of whole warps and of a multiple of `threads_per_row` threads, with shared memory
/// for one value per thread; `threads_per_row` is a power of two or a multiple of 32.
#[kernel((V, T): stored)]
pub unsafe fn ell_subwarp<V: Stored<T>, T: GpuScalar>(
    /// Number of rows.
    rows: u32,
    /// Threads that share a row.
    threads_per_row: u32,
    /// Slots from one entry of a row to the next.
    stride: u32,
    /// Entries of the longest row.
    width: u32,
    /// The column of each entry, or [`PADDING`].
    column_indices: Global<u32>,
    /// The value of each entry.
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
    let sums = shared::dynamic::<T>(0);
    let thread = thread_idx_x();
    // Otherwise the divisions would add code for panics.
    assert_unchecked(threads_per_row > 0);
    let rows_per_block = block_dim_x() / threads_per_row;
    assert_unchecked(rows_per_block > 0);
    let first_place = thread / rows_per_block;
    // Number of lanes of one warp that add up the sums of a row.
    let lanes = threads_per_row.min(WARP_LANES);
    let (lane, row_to_add) = (thread % lanes, thread / lanes);
    // The block stays together for its barriers: it continues while its first row exists.
    let mut first_row = block_idx_x() * rows_per_block;
    while first_row < rows {
        let row = first_row + thread % rows_per_block;
        let mut sum = T::ZERO;
        if row < rows && first_place < width {
            let stride = u64::from(stride);
            let first = u64::from(first_place) * stride + u64::from(row);
            let count = (width - first_place).div_ceil(threads_per_row);
            let step = u64::from(threads_per_row) * stride;
            sum = sum_of_places::<V, T, 1>(first, step, count, column_indices, values, |column| x.load(column));
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
        // All sums are read before the next rows overwrite them.
        sync_threads();
        first_row += grid_dim_x() * rows_per_block;
    }
}

/// Sum of entry times element of x, by column, over `count` slots, `step` apart, up to the first padding. The contents
/// of padding are loaded but never used.
///
/// `BATCHES` times [`BATCH`] slots are requested before the first is used. With one batch, the next is in flight while
/// the elements of this one are loaded; with more, registers would not suffice.
///
/// # Safety
/// The slots exist. `element` may be called for each of their columns except [`PADDING`], and for column 0.
#[inline(always)]
pub(crate) unsafe fn sum_of_places<V: Stored<T>, T: GpuScalar, const BATCHES: usize>(
    first: u64,
    step: u64,
    count: u32,
    column_indices: Global<u32>,
    values: Values<V, T>,
    element: impl Fn(u32) -> T,
) -> T {
    let load = |place: u64, count: u32| {
        let mut batch = 0;
        [(); BATCHES].map(|()| {
            let (place, count) = (place + u64::from(batch) * step, count.saturating_sub(batch));
            batch += BATCH;
            let columns = column_indices.load_streaming_apart(place, step, count, PADDING);
            (columns, values.stored.load_streaming_apart(place, step, count, V::default()))
        })
    };
    let mut sum = T::ZERO;
    let mut place = first;
    let mut left = count;
    let mut next = load(place, left);
    while left > 0 {
        let batches = next;
        let at_once = BATCH * BATCHES as u32;
        place += u64::from(at_once) * step;
        // An incomplete batch ends in padding.
        left = if batches[BATCHES - 1].0[3] == PADDING { 0 } else { left - at_once };
        if BATCHES == 1 {
            next = load(place, left);
        }
        let elements =
            batches.map(|(columns, _)| columns.map(|column| element(if column == PADDING { 0 } else { column })));
        // The table has the codes of padding too. All are widened before the loop, which would otherwise not be
        // unrolled.
        let batches = batches.map(|(columns, stored)| (columns, stored.map(|stored| values.widen(stored))));
        let mut batch = 0;
        while batch < BATCHES {
            let (columns, values) = batches[batch];
            let mut number = 0;
            while number < columns.len() {
                if columns[number] != PADDING {
                    sum = values[number].mul_add(elements[batch][number], sum);
                }
                number += 1;
            }
            batch += 1;
        }
        if BATCHES > 1 {
            next = load(place, left);
        }
    }
    sum
}
