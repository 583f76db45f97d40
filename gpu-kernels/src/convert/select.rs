//! Counts of numbers in each of 32 ranges, by which a selection narrows down the range of its result.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, warp_shuffle_xor};
use cuda_std::{Global, GlobalMut, kernel};

use super::digits::lanes_of_own_digit;

/// Number of ranges: one per lane of a warp.
pub const RANGES: u32 = WARP_LANES;

/// Counts the numbers of each range, per warp. Range i begins at `least` + i · 2^`shift`.
///
/// # Safety
/// `numbers` has `count` elements, `counts` [`RANGES`] for each warp; blocks are made of whole warps; `shift` is below
/// 32.
#[kernel]
pub unsafe fn range_counts(
    /// Number of elements.
    count: u32,
    /// Begin of the first range.
    least: u32,
    /// Binary logarithm of the length of a range.
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

/// Adds up the warps' counts of each range. One warp per range.
///
/// # Safety
/// `counts` has [`RANGES`] elements for each of `warps` warps, `sums` has [`RANGES`]; blocks are made of whole warps.
#[kernel]
pub unsafe fn range_sums(
    /// Number of warps that counted.
    warps: u32,
    /// The counts of the warps.
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
