//! Coordinate format by segmented reduction: without atomics (Bell & Garland 2009, §3.4 and §3.7), with the same bits
//! in every run, and with atomics (Anzt et al. 2020, §3.2).

use cuda_std::thread::index_1d;
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, warp_shuffle_down, warp_shuffle_idx, warp_vote_any};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use crate::entries::{BATCH, STEP, next_step, products_of_batch};
use crate::reduction::{add_ended_rows, sum_over_lanes, sum_over_matching, sum_over_runs};
use crate::vector::add;

/// y ← y + α A x, except for the last row of each warp.
///
/// Each warp has one interval of entries and goes through it 32 at a time, in persistent fashion. A row's sum is
/// carried from one step to the next in a register; when the row ends, the warp that sees its end adds the sum to y.
/// The sum left at the end of an interval goes to the carries, which [`coo_carries`] adds to y.
///
/// # Safety
/// The arrays are those of a valid COO matrix, sorted by row, with `nnz` entries; `x` has an element for each
/// column, `y` one for each row; the carries have one element for each interval; blocks are made of whole
/// warps.
#[kernel(T: scalars)]
pub unsafe fn coo_intervals<T: GpuScalar>(
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
    /// The vector to multiply.
    x: Global<T>,
    /// The result.
    y: GlobalMut<T>,
    /// The last row of each interval.
    carry_rows: GlobalMut<u32>,
    /// The partial sum of that row.
    carry_values: GlobalMut<T>,
) {
    let warp = index_1d() / WARP_LANES;
    let begin = u64::from(warp) * interval;
    if begin >= nnz {
        return;
    }
    let end = nnz.min(begin + interval);
    let mut carry_row = row_indices.load(begin);
    let mut carry = T::ZERO;
    let mut first = begin;
    while first < end {
        let mut rows = rows_of_batch(first, end, row_indices);
        let mut products = products_of_batch(first, end, column_indices, values, x);
        let batch_end = end.min(first + BATCH);
        while first < batch_end {
            let add = |row, sum| add(y, row, alpha, sum);
            (carry_row, carry) = add_ended_rows((carry_row, carry), rows[0], products[0], add);
            rows = next_step(rows);
            products = next_step(products);
            first += STEP;
        }
    }
    if lane_id() == 0 {
        carry_rows.store(warp, carry_row);
        carry_values.store(warp, carry);
    }
}

/// Adds the carries of [`coo_intervals`] to y. The first carry of each row has a warp, which sums all carries of that
/// row.
///
/// # Safety
/// The carries are those that [`coo_intervals`] wrote for as many intervals, and `y` is its `y`; blocks are made of
/// whole warps, and there is a warp for each interval.
#[kernel(T: scalars)]
pub unsafe fn coo_carries<T: GpuScalar>(
    /// Number of carries.
    intervals: u32,
    /// The row of each carry, never decreasing.
    carry_rows: Global<u32>,
    /// The sum to add to that row.
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
    // All lanes load the rows of this warp's carries at once, instead of a search; past the last carry, that one is
    // loaded again.
    let carry = first + lane_id();
    let there = carry < intervals;
    let carry = carry.min(intervals - 1);
    let (own_row, value) = (carry_rows.load(carry), carry_values.load(carry));
    let row_before = carry_rows.load(first.saturating_sub(1));
    let (row, _) = warp_shuffle_idx(ALL_LANES, own_row, 0, WARP_LANES);
    if first > 0 && row_before == row {
        return;
    }
    let in_run = there && own_row == row;
    let mut sum = if in_run { value } else { T::ZERO };
    if !warp_vote_any(ALL_LANES, !in_run) {
        let end = end_of_run(carry_rows, first + WARP_LANES - 1, intervals, row);
        let mut carry = carry + WARP_LANES;
        while carry < end {
            sum = sum + carry_values.load(carry);
            carry += WARP_LANES;
        }
    }
    let sum = sum_over_lanes::<T, 32>(sum);
    if lane_id() == 0 {
        add(y, row, alpha, sum);
    }
}

/// End of the run of `row` that begins at `first`, by binary search: a row may span many intervals.
///
/// # Safety
/// `rows` has `count` elements, never decreasing, and `first` is below `count`.
#[inline(always)]
pub(crate) unsafe fn end_of_run(rows: Global<u32>, first: u32, count: u32, row: u32) -> u32 {
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

/// y ← y + α A x with atomic additions (Algorithm 1): the bits vary from run to run, because additions to a row that
/// several warps share come in any order.
///
/// Each warp has one interval of entries and goes through it 32 at a time; each lane adds up its own products. When a
/// lane reaches another row, which the warp detects by a vote, a segmented sum over the lanes leaves one addition to y
/// per row.
///
/// # Safety
/// As for [`coo_intervals`], without carries.
#[kernel(T: scalars)]
pub unsafe fn coo_atomic<T: GpuScalar>(
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
    /// The vector to multiply.
    x: Global<T>,
    /// The result.
    y: GlobalMut<T>,
) {
    add_interval(nnz, interval, row_indices, column_indices, values, x, |row, sum| add_atomically(y, alpha, row, sum));
}

/// Like [`coo_atomic`], but finds the lanes of a row by a match instead of a scan (§3.2.2); groups of lanes add up
/// separately.
///
/// # Safety
/// As for [`coo_atomic`].
#[kernel(T: scalars)]
pub unsafe fn coo_match<T: GpuScalar>(
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
    /// The vector to multiply.
    x: Global<T>,
    /// The result.
    y: GlobalMut<T>,
) {
    add_interval(nnz, interval, row_indices, column_indices, values, x, |row, sum| {
        let (sum, is_first) = sum_over_matching(row, sum);
        if is_first {
            y.atomic_add(row, alpha * sum);
        }
    });
}

/// Goes through this warp's interval; all lanes pass their current row and its partial sum to `add` whenever one of
/// them leaves its row, and at the end.
///
/// # Safety
/// As for [`coo_atomic`].
#[inline(always)]
unsafe fn add_interval<T: GpuScalar>(
    nnz: u64,
    interval: u64,
    row_indices: Global<u32>,
    column_indices: Global<u32>,
    values: Global<T>,
    x: Global<T>,
    add: impl Fn(u32, T),
) {
    let begin = u64::from(index_1d() / WARP_LANES) * interval;
    if begin >= nnz {
        return;
    }
    let end = nnz.min(begin + interval);
    let mut row = rows_of_batch(begin, end, row_indices)[0];
    let mut sum = T::ZERO;
    let mut first = begin;
    while first < end {
        let mut rows = rows_of_batch(first, end, row_indices);
        let mut products = products_of_batch(first, end, column_indices, values, x);
        let batch_end = end.min(first + BATCH);
        while first < batch_end {
            if warp_vote_any(ALL_LANES, rows[0] != row) {
                add(row, sum);
                sum = T::ZERO;
            }
            row = rows[0];
            sum = sum + products[0];
            rows = next_step(rows);
            products = next_step(products);
            first += STEP;
        }
    }
    add(row, sum);
}

/// The row of this lane's entry in each of the four steps from `first` on. Past `end`, it is the row of the last entry:
/// the products there are 0 and add nothing.
///
/// # Safety
/// The entries from `first` to `end` exist.
#[inline(always)]
unsafe fn rows_of_batch(first: u64, end: u64, row_indices: Global<u32>) -> [u32; 4] {
    let entry = first + u64::from(lane_id());
    let entries = [entry, entry + STEP, entry + 2 * STEP, entry + 3 * STEP];
    entries.map(|entry| row_indices.load_streaming(entry.min(end - 1)))
}

/// Adds α times the sum over each run of lanes with the same `row` to y: one addition per run, by its last lane, which
/// has the sum. (The paper's scan goes the other way, to the first lane.)
///
/// # Safety
/// All lanes of the warp call it; rows never decrease from lane to lane and are inside `y`.
#[inline(always)]
unsafe fn add_atomically<T: GpuScalar>(y: GlobalMut<T>, alpha: T, row: u32, sum: T) {
    let sum = sum_over_runs(row, sum);
    let (row_above, there) = warp_shuffle_down(ALL_LANES, row, 1, WARP_LANES);
    if !there || row_above != row {
        y.atomic_add(row, alpha * sum);
    }
}
