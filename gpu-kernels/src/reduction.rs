//! Sums over the lanes of a warp.

use cuda_std::GpuFloat;
use cuda_std::warp::{ALL_LANES, WARP_LANES, warp_shuffle_up, warp_shuffle_xor};

/// The sum of `value` over each group of `LANES` neighbouring lanes, in every lane of the group. A tree of
/// depth log2(`LANES`).
///
/// # Safety
/// All lanes of the warp are here.
#[inline(always)]
pub(crate) unsafe fn sum_over_lanes<T: GpuFloat, const LANES: u32>(mut value: T) -> T {
    let mut distance = LANES / 2;
    while distance > 0 {
        value = value + warp_shuffle_xor(ALL_LANES, value, distance, WARP_LANES).0;
        distance /= 2;
    }
    value
}

/// Adds up `value` along runs of neighbouring lanes with the same `row`: each lane gets the sum from the
/// first lane of its run up to itself. Rows must not come back after another one. A tree of depth 5.
///
/// # Safety
/// All lanes of the warp are here.
#[inline(always)]
pub(crate) unsafe fn sum_over_runs<T: GpuFloat>(row: u32, mut value: T) -> T {
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
