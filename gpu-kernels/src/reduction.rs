//! Sums over the lanes of a warp.

use core::ops::Add;

use cuda_std::GpuScalar;
use cuda_std::warp::{
    ALL_LANES, WARP_LANES, WarpShuffleValue, lane_id, warp_match_any_32, warp_shuffle_down, warp_shuffle_idx,
    warp_shuffle_up, warp_shuffle_xor, warp_vote_ballot,
};

/// The sum of `value` over each group of `LANES` neighbouring lanes, in every lane of the group. A tree of
/// depth log2(`LANES`).
///
/// # Safety
/// All lanes of the warp call it.
#[inline(always)]
pub(crate) unsafe fn sum_over_lanes<T: GpuScalar, const LANES: u32>(value: T) -> T {
    sum_over_groups(value, LANES)
}

/// [`sum_over_lanes`] for a number of lanes, a power of two up to 32, that is known only at run time.
///
/// # Safety
/// All lanes of the warp call it, with the same number.
#[inline(always)]
pub(crate) unsafe fn sum_over_groups<T: WarpShuffleValue + Add<Output = T>>(mut value: T, lanes: u32) -> T {
    let mut distance = lanes / 2;
    while distance > 0 {
        value = value + warp_shuffle_xor(ALL_LANES, value, distance, WARP_LANES).0;
        distance /= 2;
    }
    value
}

/// Adds up `value` along runs of neighbouring lanes with the same `row`: each lane gets the sum from the first lane of
/// its run up to itself. The lanes of a row must be contiguous. A tree of depth 5.
///
/// # Safety
/// All lanes of the warp call it.
#[inline(always)]
pub(crate) unsafe fn sum_over_runs<T: GpuScalar>(row: u32, mut value: T) -> T {
    let mut distance = 1;
    while distance < WARP_LANES {
        let (row_below, there) = warp_shuffle_up(ALL_LANES, row, distance, WARP_LANES);
        let (value_below, _) = warp_shuffle_up(ALL_LANES, value, distance, WARP_LANES);
        if there && row_below == row {
            value = value + value_below;
        }
        distance *= 2;
    }
    value
}

/// One step of a segmented reduction: `row` and `sum` are this lane's, `carry` is the last row before this step and, in
/// lane 0, its partial sum. Passes the sum of each row that has ended to `add`, and returns the last row of the step
/// with its partial sum.
///
/// # Safety
/// All lanes of the warp call it. Rows never decrease from `carry` on, and `add` may be called with each of them.
#[inline(always)]
pub(crate) unsafe fn add_ended_rows<T: GpuScalar>(
    carry: (u32, T),
    row: u32,
    mut sum: T,
    add: impl Fn(u32, T),
) -> (u32, T) {
    if lane_id() == 0 {
        if row == carry.0 {
            sum = sum + carry.1;
        } else {
            add(carry.0, carry.1);
        }
    }
    let sum = sum_over_runs(row, sum);
    let (row_above, there) = warp_shuffle_down(ALL_LANES, row, 1, WARP_LANES);
    if there && row_above != row {
        add(row, sum);
    }
    let last_row = warp_shuffle_idx(ALL_LANES, row, WARP_LANES - 1, WARP_LANES).0;
    let left = warp_shuffle_idx(ALL_LANES, sum, WARP_LANES - 1, WARP_LANES).0;
    (last_row, left)
}

/// Returns the sum of `value` over the lanes with the same `row`, in the first of them, and whether this lane is that
/// one. The lanes find each other by a match, and each group has its own tree, as deep as its size requires, so groups
/// diverge and reconverge (Anzt et al. 2020, §3.2.2). The lanes of a row must be contiguous.
///
/// # Safety
/// All lanes of the warp call it.
#[inline(always)]
pub(crate) unsafe fn sum_over_matching<T: GpuScalar>(row: u32, mut value: T) -> (T, bool) {
    let group = warp_match_any_32(ALL_LANES, row);
    let first = group.trailing_zeros();
    let end = first + group.count_ones();
    let mut distance = 1;
    while distance < end - first {
        let other = lane_id() + distance;
        // A lane without another one above it reads its own value.
        let above = warp_shuffle_idx(group, value, if other < end { other } else { lane_id() }, WARP_LANES).0;
        if other < end {
            value = value + above;
        }
        distance *= 2;
    }
    (value, lane_id() == first)
}

/// How the rows of a sum are divided among warps.
#[derive(Clone, Copy)]
pub(crate) struct RowSums {
    /// The first row of this warp.
    pub first: u32,
    /// Rows from one step of a warp to its next.
    pub step: u32,
    /// Number of rows.
    pub count: u32,
    /// Lanes that add up a row, a power of two.
    pub lanes: u32,
}

/// Terms of a row for each of its lanes above which it is left to the whole warp.
const LONG: u32 = 16;

/// Adds up the terms of each row and passes the sum to `finish` in one thread. `range` returns begin and end of a row's
/// terms, and an empty range for numbers past the last row; `term` returns a term. Rows that are much longer than their
/// lanes suit are left to the whole warp. `Rows` of [`csr_tiled`](crate::csr_tiled) has a copy of this loop, for the sake
/// of its registers.
///
/// # Safety
/// All lanes of the warp call it with the same `rows`, which contain no row twice.
#[inline(always)]
pub(crate) unsafe fn add_up_rows<T: GpuScalar>(
    rows: RowSums,
    range: impl Fn(u32) -> (u32, u32),
    term: impl Fn(u32) -> T,
    finish: impl Fn(u32, T),
) {
    let sum_of = |begin: u32, end: u32, step: u32| {
        let (mut sum, mut place) = (T::ZERO, begin);
        while place < end {
            sum = sum + term(place);
            place += step;
        }
        sum
    };
    let RowSums { mut first, step, count, lanes } = rows;
    let shift = lanes.trailing_zeros();
    let lane = lane_id() & (lanes - 1);
    // The warp stays together for the sums over its lanes: it continues while its first row exists.
    while first < count {
        let row = first + (lane_id() >> shift);
        let (begin, end) = range(row);
        let long = end - begin > LONG * lanes;
        let own_end = if long { begin } else { end };
        let sum = sum_over_groups(sum_of(begin + lane, own_end, lanes), lanes);
        if lane == 0 && row < count && !long {
            finish(row, sum);
        }
        let mut left = warp_vote_ballot(ALL_LANES, long && lane == 0);
        while left != 0 {
            let source = left.trailing_zeros();
            let (begin, _) = warp_shuffle_idx(ALL_LANES, begin, source, WARP_LANES);
            let (end, _) = warp_shuffle_idx(ALL_LANES, end, source, WARP_LANES);
            let sum = sum_over_lanes::<T, 32>(sum_of(begin + lane_id(), end, WARP_LANES));
            if lane_id() == source {
                finish(row, sum);
            }
            left &= left - 1;
        }
        first += step;
    }
}
