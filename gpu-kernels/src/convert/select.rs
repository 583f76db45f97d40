//! How many numbers fall into each of 32 ranges: what a selection narrows down the range of its result by.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, warp_shuffle_xor};
use cuda_std::{Global, GlobalMut, kernel};

use super::digits::lanes_of_own_digit;

/// Number of ranges: one for each lane of a warp.
pub const RANGES: u32 = WARP_LANES;

/// How many numbers of each range each warp finds. Range i begins at `least` + i · 2^`shift`.
///
/// # Safety
/// `numbers` has `count` elements, `counts` [`RANGES`] for each warp; blocks are made of whole warps; `shift` is below 32.
#[kernel]
pub unsafe fn range_counts(
    /// How many numbers there are.
    count: u32,
    /// Where the first range begins.
    least: u32,
    /// The length of a range is two to the power of this.
    shift: u32,
    /// The numbers.
    numbers: Global<u32>,
    /// The counts: range by range, and warp by warp.
    counts: GlobalMut<u32>,
) {
    let mut counted = 0;
    let mut first = index_1d() - lane_id();
    while first < count {
        let place = first + lane_id();
        let mut range = RANGES;
        if place < count {
            let number = numbers.load_streaming(place);
            if number >= least {
                range = (number - least) >> shift;
            }
        }
        counted += lanes_of_own_digit(range < RANGES, range % RANGES).count_ones();
        first += grid_threads();
    }
    let (warp, warps) = (index_1d() / WARP_LANES, grid_threads() / WARP_LANES);
    counts.store(lane_id() * warps + warp, counted);
}

/// How many numbers of each range all warps found. One warp a range.
///
/// # Safety
/// `counts` has [`RANGES`] elements for each of `warps` warps, `sums` has [`RANGES`]; blocks are made of whole warps.
#[kernel]
pub unsafe fn range_sums(
    /// Number of warps that counted.
    warps: u32,
    /// What they counted.
    counts: Global<u32>,
    /// The sum of each range.
    sums: GlobalMut<u32>,
) {
    let range = index_1d() / WARP_LANES;
    if range >= RANGES {
        return;
    }
    let mut sum = 0;
    let mut warp = lane_id();
    while warp < warps {
        sum += counts.load(range * warps + warp);
        warp += WARP_LANES;
    }
    let mut distance = WARP_LANES / 2;
    while distance > 0 {
        sum += warp_shuffle_xor(ALL_LANES, sum, distance, WARP_LANES).0;
        distance /= 2;
    }
    if lane_id() == 0 {
        sums.store(range, sum);
    }
}
