//! Searches, by all lanes of a warp together or by each lane alone.

use cuda_std::Global;
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, warp_vote_ballot};

/// The first index from `low` on for which `holds` is true, or `high` if there is none below it. If it is true for an
/// index, it is true for all after it. Each round makes 32 probes at once and leaves a 32nd of the range, so even 2^31
/// indices take 7 rounds.
///
/// # Safety
/// All lanes of the warp call it, with the same range, below 2^31; `holds` may be called for all of it.
#[inline(always)]
pub(crate) unsafe fn first_that(mut low: u32, mut high: u32, holds: impl Fn(u32) -> bool) -> u32 {
    while low < high {
        let step = (high - low).div_ceil(WARP_LANES);
        // Each lane probes the last index of its part of the range.
        let probe = low + lane_id() * step + (step - 1);
        let found = warp_vote_ballot(ALL_LANES, probe >= high || holds(probe));
        if found == 0 {
            return high;
        }
        low += found.trailing_zeros() * step;
        high = high.min(low + (step - 1));
    }
    high
}

/// The first index from `low` on for which `holds` is true, or `high` if there is none below it; each lane searches
/// alone. If it is true for an index, it is true for all after it.
#[inline(always)]
pub(crate) fn first_in_range(mut low: u64, mut high: u64, holds: impl Fn(u64) -> bool) -> u64 {
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// The first index from `low` on whose element is at least `least`, or `high` if there is none before it. The elements
/// never decrease.
///
/// # Safety
/// Elements from `low` to `high` exist.
#[inline(always)]
pub(crate) unsafe fn first_at_least(elements: Global<u32>, low: u64, high: u64, least: u32) -> u64 {
    first_in_range(low, high, |index| elements.load(index) >= least)
}
