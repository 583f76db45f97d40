//! Code shared by the formats with a slot for each entry of a region: DIA, BCSR and BELLPACK.

use cuda_std::Global;
use cuda_std::GlobalMut;
use cuda_std::thread::index_1d;
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, warp_shuffle_xor};

use crate::absent::Absent;

/// The content of the slot of `column`, and the first entry after it: the sum, in order, of the entries from `entry` on
/// that are in this column.
///
/// # Safety
/// Entries up to `end` exist.
#[inline(always)]
pub(super) unsafe fn sum_of_column<T: Absent>(
    mut entry: u64,
    end: u64,
    column: u32,
    column_indices: Global<u32>,
    values: Global<T>,
) -> (T, u64) {
    let mut sum = T::ABSENT;
    while entry < end && column_indices.load(entry) == column {
        let value = values.load(entry);
        sum = if sum.is_absent() { value } else { sum + value }.present();
        entry += 1;
    }
    (sum, entry)
}

/// Writes how many slots the lanes of this warp have filled.
///
/// # Safety
/// All lanes of the warp call it; `counts` has an element for each warp.
#[inline(always)]
pub(super) unsafe fn store_count_of_warp(mut filled: u32, counts: GlobalMut<u32>) {
    let mut distance = WARP_LANES / 2;
    while distance > 0 {
        filled += warp_shuffle_xor(ALL_LANES, filled, distance, WARP_LANES).0;
        distance /= 2;
    }
    if lane_id() == 0 {
        counts.store(index_1d() / WARP_LANES, filled);
    }
}
