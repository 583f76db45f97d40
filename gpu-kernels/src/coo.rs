//! Coordinate format by segmented reduction (Bell & Garland 2009, §3.4 and §3.7), without atomics: the same
//! bits every run.

use cuda_std::thread::index_1d;
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, warp_shuffle_down, warp_shuffle_idx};
use cuda_std::{Global, GlobalMut, GpuFloat, kernel};

use crate::reduction::{sum_over_lanes, sum_over_runs};

/// y ← y + α A x, but for the last row that each warp came to.
///
/// Each warp has one interval of entries and goes through it 32 at a time, in persistent fashion. A row's sum
/// goes from one step to the next in a register; when the row ends, whichever warp sees the end adds the sum
/// to y. What is left at the end of an interval goes to the carries, which [`coo_carries`] adds to y.
///
/// # Safety
/// The arrays are those of a valid COO matrix, sorted by row, with `nnz` entries; `x` has an element for each
/// column, `y` one for each row; the carries have one element for each interval; blocks are made of whole
/// warps.
#[kernel(T: [f32, f64])]
pub unsafe fn coo_intervals<T: GpuFloat>(
    /// Number of stored entries.
    nnz: u64,
    /// Entries of one warp; a multiple of 32.
    interval: u64,
    /// The row of each entry.
    row_indices: Global<u32>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// The factor of A x.
    alpha: T,
    /// The vector that is multiplied.
    x: Global<T>,
    /// The result.
    y: GlobalMut<T>,
    /// The last row of each interval.
    carry_rows: GlobalMut<u32>,
    /// What is left of that row's sum.
    carry_values: GlobalMut<T>,
) {
    let lane = lane_id();
    let warp = index_1d() / WARP_LANES;
    let begin = u64::from(warp) * interval;
    if begin >= nnz {
        return;
    }
    let end = if nnz - begin < interval { nnz } else { begin + interval };
    let mut carry_row = row_indices.load(begin);
    let mut carry = T::ZERO;
    let mut first = begin;
    while first < end {
        let entry = first + u64::from(lane);
        // Lanes past the end have nothing to add to the last row.
        let mut sum = T::ZERO;
        let row = if entry < end {
            sum = values.load_streaming(entry) * x.load(column_indices.load_streaming(entry));
            row_indices.load_streaming(entry)
        } else {
            row_indices.load(end - 1)
        };
        if lane == 0 {
            if row == carry_row {
                sum = sum + carry;
            } else {
                add(y, carry_row, alpha, carry);
            }
        }
        let sum = sum_over_runs(row, sum);
        let (row_above, there) = warp_shuffle_down(ALL_LANES, row, 1, WARP_LANES);
        if there && row_above != row {
            add(y, row, alpha, sum);
        }
        carry_row = warp_shuffle_idx(ALL_LANES, row, WARP_LANES - 1, WARP_LANES).0;
        carry = warp_shuffle_idx(ALL_LANES, sum, WARP_LANES - 1, WARP_LANES).0;
        first += u64::from(WARP_LANES);
    }
    if lane == 0 {
        carry_rows.store(warp, carry_row);
        carry_values.store(warp, carry);
    }
}

/// Adds what [`coo_intervals`] left over to y. The first carry of each row has a warp, which sums all carries
/// of that row.
///
/// # Safety
/// The carries are those that [`coo_intervals`] wrote for as many intervals, `y` is its `y`; blocks are made
/// of whole warps, and there is a warp for each interval.
#[kernel(T: [f32, f64])]
pub unsafe fn coo_carries<T: GpuFloat>(
    /// Number of carries.
    intervals: u32,
    /// The row of each carry, never decreasing.
    carry_rows: Global<u32>,
    /// What to add to that row.
    carry_values: Global<T>,
    /// The factor of A x.
    alpha: T,
    /// The result.
    y: GlobalMut<T>,
) {
    let first = index_1d() / WARP_LANES;
    if first >= intervals {
        return;
    }
    let row = carry_rows.load(first);
    if first > 0 && carry_rows.load(first - 1) == row {
        return;
    }
    let end = end_of_run(carry_rows, first, intervals, row);
    let mut sum = T::ZERO;
    let mut carry = first + lane_id();
    while carry < end {
        sum = sum + carry_values.load(carry);
        carry += WARP_LANES;
    }
    let sum = sum_over_lanes::<T, 32>(sum);
    if lane_id() == 0 {
        add(y, row, alpha, sum);
    }
}

/// Where the run of `row` that begins at `first` ends, by binary search: a row may span many intervals.
///
/// # Safety
/// `rows` has `count` elements, never decreasing, and `first` is below `count`.
#[inline(always)]
unsafe fn end_of_run(rows: Global<u32>, first: u32, count: u32, row: u32) -> u32 {
    let mut inside = first;
    let mut outside = count;
    while outside - inside > 1 {
        let middle = inside + (outside - inside) / 2;
        if rows.load(middle) == row {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    outside
}

/// y\[row\] ← y\[row\] + α sum.
///
/// # Safety
/// `row` is inside `y`, and no other thread touches that element.
#[inline(always)]
unsafe fn add<T: GpuFloat>(y: GlobalMut<T>, row: u32, alpha: T, sum: T) {
    y.store(row, alpha.mul_add(sum, y.load(row)));
}
