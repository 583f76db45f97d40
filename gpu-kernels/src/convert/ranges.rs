//! Ranges of an array, gathered side by side.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::warp::{WARP_LANES, lane_id};
use cuda_std::{Global, GlobalMut, kernel};

/// Copies ranges of an array to consecutive positions; a warp for each range.
///
/// # Safety
/// There are `ranges` ranges of `array`: `begins` has the first element of each. `places`, which never decreases, says
/// where each goes, and ends with the length of `gathered`. Blocks are made of whole warps.
#[kernel]
pub unsafe fn gather_ranges(
    /// Number of ranges.
    ranges: u32,
    /// Where each range begins.
    begins: Global<u64>,
    /// Where each range goes, and the end of the last one.
    places: Global<u64>,
    /// The array.
    array: Global<u32>,
    /// The ranges, side by side.
    gathered: GlobalMut<u32>,
) {
    let mut range = index_1d() / WARP_LANES;
    while range < ranges {
        let (begin, first, end) = (begins.load(range), places.load(range), places.load(range + 1));
        let mut place = first + u64::from(lane_id());
        while place < end {
            gathered.store(place, array.load(begin + (place - first)));
            place += u64::from(WARP_LANES);
        }
        range += grid_threads() / WARP_LANES;
    }
}
