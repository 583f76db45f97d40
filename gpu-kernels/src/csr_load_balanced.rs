//! CSR with equal shares of entries for all warps (CSRI; Anzt et al. 2020, §3.3), by segmented reduction: without
//! atomics, with the same bits in every run, and with atomics.

use cuda_std::thread::index_1d;
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, warp_shuffle_idx};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use crate::Offset;
use crate::entries::{BATCH, STEP, next_step, products_of_batch};
use crate::reduction::{add_ended_rows, sum_over_lanes};
use crate::search::first_that;
use crate::vector::add;

/// y ← y + α A x, except for the last row of each warp, which goes to the carries; the kernel
/// [`coo_carries`](crate::coo::coo_carries) adds them.
///
/// # Safety
/// The arrays are those of a valid CSR matrix with `rows` rows and `nnz` entries; `x` has an element for each
/// column, `y` one for each row; the carries have one element for each interval; blocks are made of whole
/// warps.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn csr_load_balanced<T: GpuScalar, O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Number of stored entries.
    nnz: u64,
    /// Entries of one warp; a multiple of 32.
    interval: u64,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
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
    // A row ends in only one interval.
    let add = |row, sum| add(y, row, alpha, sum);
    let (row, sum) = add_interval(begin, end, rows, row_offsets, column_indices, values, x, add);
    if lane_id() == 0 {
        carry_rows.store(warp, row);
        carry_values.store(warp, sum);
    }
}

/// y ← y + α A x with atomic additions, as in the paper: the bits vary from run to run, because additions to a row that
/// several warps share come in any order.
///
/// # Safety
/// As for [`csr_load_balanced`], without carries.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn csr_load_balanced_atomic<T: GpuScalar, O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Number of stored entries.
    nnz: u64,
    /// Entries of one warp; a multiple of 32.
    interval: u64,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
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
    let begin = u64::from(index_1d() / WARP_LANES) * interval;
    if begin >= nnz {
        return;
    }
    let end = nnz.min(begin + interval);
    let add = |row, sum| {
        y.atomic_add(row, alpha * sum);
    };
    let (row, sum) = add_interval(begin, end, rows, row_offsets, column_indices, values, x, add);
    if lane_id() == 0 {
        add(row, sum);
    }
}

/// Passes each row that ends between the entries `begin` and `end` to `add`, with the sum of its products from `begin`
/// on, and returns the last row and, in lane 0, its partial sum.
///
/// The warp finds its first row by a search of the row offsets, and goes through the entries 32 at a time. While a row
/// continues, each lane adds up its own products; only a step in which a row ends needs a segmented reduction.
///
/// # Safety
/// The matrix is as for [`csr_load_balanced`]; all lanes of the warp call it, and the entries from `begin` to `end`
/// exist; `add` may be called with each of their rows.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "they are the arrays and the part of them to process")]
unsafe fn add_interval<T: GpuScalar, O: Offset>(
    begin: u64,
    end: u64,
    rows: u32,
    row_offsets: Global<O>,
    column_indices: Global<u32>,
    values: Global<T>,
    x: Global<T>,
    add: impl Fn(u32, T),
) -> (u32, T) {
    let lane = lane_id();
    let mut row = first_that(0, rows, |row| row_offsets.load(row + 1).widen() > begin);
    let mut row_end = row_offsets.load(row + 1).widen();
    // Sum of the row so far: one part per lane, or all in lane 0.
    let mut sum = T::ZERO;
    let mut in_all_lanes = false;
    let mut first = begin;
    while first < end {
        let mut products = products_of_batch(first, end, column_indices, values, x);
        let batch_end = end.min(first + BATCH);
        // With the test at its end, the loop needs few enough registers in float32 for all warps to fit.
        loop {
            let next = first + STEP;
            let step_end = end.min(next);
            if step_end <= row_end {
                sum = sum + products[0];
                in_all_lanes = true;
            } else {
                if in_all_lanes {
                    sum = sum_over_lanes::<T, 32>(sum);
                    in_all_lanes = false;
                }
                let own_row = rows_of_step(first, step_end, row, rows, row_offsets);
                let left;
                (row, left) = add_ended_rows((row, sum), own_row, products[0], &add);
                row_end = row_offsets.load(row + 1).widen();
                sum = if lane == 0 { left } else { T::ZERO };
            }
            products = next_step(products);
            first = next;
            if next >= batch_end {
                break;
            }
        }
    }
    if in_all_lanes {
        sum = sum_over_lanes::<T, 32>(sum);
    }
    (row, sum)
}

/// The row of this lane's entry in the step from `first` to `end`; past the end, that of the last entry. Runs of empty
/// rows are skipped by search.
///
/// # Safety
/// All lanes of the warp call it. There are 1 to 32 entries from `first` to `end`, none of them in a row before
/// `window`, which ends at `first` or after.
#[inline(always)]
pub(crate) unsafe fn rows_of_step<O: Offset>(
    first: u64,
    end: u64,
    mut window: u32,
    rows: u32,
    row_offsets: Global<O>,
) -> u32 {
    let entries = (end - first) as u32;
    let place = lane_id().min(entries - 1);
    let mut own_row = window;
    let mut known = 0;
    loop {
        // Each lane holds the end of one of 32 rows, relative to `first` and clamped to a step.
        let row_end = row_offsets.load(rows.min(window + lane_id() + 1)).widen();
        let row_end = (row_end - first).min(STEP) as u32;
        let row = window + ended_at(row_end, place);
        if place >= known {
            own_row = row;
        }
        known = warp_shuffle_idx(ALL_LANES, row_end, WARP_LANES - 1, WARP_LANES).0;
        if known >= entries {
            return own_row;
        }
        let next = first + u64::from(known);
        window = first_that(window + WARP_LANES, rows, |row| row_offsets.load(row + 1).widen() > next);
    }
}

/// Number of lanes whose row has ended at `place`, at most 31; the ends never decrease from lane to lane.
///
/// # Safety
/// All lanes of the warp call it.
#[inline(always)]
unsafe fn ended_at(row_end: u32, place: u32) -> u32 {
    let mut ended = 0;
    let mut more = WARP_LANES / 2;
    while more > 0 {
        if warp_shuffle_idx(ALL_LANES, row_end, ended + more - 1, WARP_LANES).0 <= place {
            ended += more;
        }
        more /= 2;
    }
    ended
}
