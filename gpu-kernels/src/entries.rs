//! The entries of a matrix as a warp goes through them: 32 neighbours per step.

use cuda_std::warp::{WARP_LANES, lane_id};
use cuda_std::{Global, GpuScalar};

/// Entries of one step of a warp.
pub(crate) const STEP: u64 = WARP_LANES as u64;

/// Entries whose loads are in flight at the same time: those of four steps.
pub(crate) const BATCH: u64 = 4 * STEP;

/// Entry times element of x for this lane's entry in each of the four steps from `first` on; 0 past `end`. All entries
/// are loaded before the first product, to keep the memory busy.
///
/// # Safety
/// Entries up to `end` exist, and `x` has an element for each of their columns.
#[inline(always)]
pub(crate) unsafe fn products_of_batch<T: GpuScalar>(
    first: u64,
    end: u64,
    column_indices: Global<u32>,
    values: Global<T>,
    x: Global<T>,
) -> [T; 4] {
    let entry = first + u64::from(lane_id());
    let entries = [entry, entry + STEP, entry + 2 * STEP, entry + 3 * STEP];
    if end - first >= BATCH {
        let columns = entries.map(|entry| column_indices.load_streaming(entry));
        let values = entries.map(|entry| values.load_streaming(entry));
        let elements = columns.map(|column| x.load(column));
        return [values[0] * elements[0], values[1] * elements[1], values[2] * elements[2], values[3] * elements[3]];
    }
    entries.map(|entry| {
        if entry < end { values.load_streaming(entry) * x.load(column_indices.load_streaming(entry)) } else { T::ZERO }
    })
}

/// The batch without its first step.
#[inline(always)]
pub(crate) fn next_step<T: Copy>(batch: [T; 4]) -> [T; 4] {
    // Shifted instead of indexed: an array with a variable index would go to local memory.
    [batch[1], batch[2], batch[3], batch[3]]
}
