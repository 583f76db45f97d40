//! Sums and maxima over whole arrays, which a conversion needs before it can place an entry.
//!
//! An exclusive scan takes three kernels: each block adds up an interval of the counts, one block scans those sums,
//! and each block scans its interval from there on.

use core::ops::AddAssign;

use cuda_std::shared;
use cuda_std::thread::{block_dim_x, block_idx_x, grid_threads, index_1d, sync_threads, thread_idx_x};
use cuda_std::warp::{ALL_LANES, WARP_LANES, WarpShuffleValue, lane_id, warp_shuffle_up, warp_shuffle_xor};
use cuda_std::{Global, GlobalMut, kernel};

use crate::Offset;

/// Sums each interval: block i adds up the counts from i · `interval` on.
///
/// # Safety
/// `counts` has `count` elements, `sums` one for each block; blocks are made of whole warps, with 8 bytes of shared
/// memory per warp.
#[kernel]
pub unsafe fn scan_intervals(
    /// Number of counts.
    count: u32,
    /// Counts of one block.
    interval: u32,
    /// The counts.
    counts: Global<u32>,
    /// The sum of each interval.
    sums: GlobalMut<u64>,
) {
    let (begin, end) = interval_of_block(count, interval);
    let mut sum = 0;
    let mut place = begin + thread_idx_x();
    while place < end {
        sum += u64::from(counts.load_streaming(place));
        place += block_dim_x();
    }
    let (_, sum) = scan_block(sum);
    if thread_idx_x() == 0 {
        sums.store(block_idx_x(), sum);
    }
}

/// Replaces each sum by the sum of all before it. Runs in one block.
///
/// # Safety
/// `sums` has `count` elements, `total` one; the grid has one block, made of whole warps, with 8 bytes of shared memory
/// per warp.
#[kernel]
pub unsafe fn scan_sums(
    /// Number of sums.
    count: u32,
    /// The sums.
    sums: GlobalMut<u64>,
    /// The sum of all.
    total: GlobalMut<u64>,
) {
    let mut before = 0;
    let mut first = 0;
    while first < count {
        let place = first + thread_idx_x();
        let value = if place < count { sums.load(place) } else { 0 };
        let (sum, all) = scan_block(value);
        if place < count {
            sums.store(place, before + sum);
        }
        before += all;
        first += block_dim_x();
    }
    if thread_idx_x() == 0 {
        total.store(0u32, before);
    }
}

/// Writes the begin of each count if all are laid out contiguously, and the end of the last.
///
/// # Safety
/// `counts` has `count` elements, at least 1, `offsets` one more; `sums` has one for each block, from [`scan_sums`]
/// for the same intervals; the blocks are as for [`scan_intervals`].
#[kernel(O: [u32, u64])]
pub unsafe fn scan_offsets<O: Offset>(
    /// Number of counts.
    count: u32,
    /// Counts of one block.
    interval: u32,
    /// Offset difference for a count of one.
    unit: u32,
    /// The counts.
    counts: Global<u32>,
    /// The sum of all counts before each interval.
    sums: Global<u64>,
    /// The sums of all counts before each count, times the unit.
    offsets: GlobalMut<O>,
) {
    let (begin, end) = interval_of_block(count, interval);
    let unit = u64::from(unit);
    let mut before = sums.load(block_idx_x());
    let mut first = begin;
    while first < end {
        let place = first + thread_idx_x();
        let value = if place < end { counts.load_streaming(place).into() } else { 0 };
        let (sum, all) = scan_block(value);
        if place < end {
            offsets.store(place, O::of((before + sum) * unit));
            if place == count - 1 {
                offsets.store(count, O::of((before + sum + value) * unit));
            }
        }
        before += all;
        first += block_dim_x();
    }
}

/// Finds the largest value of each block.
///
/// # Safety
/// `values` has `count` elements, `results` one for each block; blocks are made of whole warps, with 4 bytes of shared
/// memory per warp.
#[kernel]
pub unsafe fn largest(
    /// Number of values.
    count: u32,
    /// The values.
    values: Global<u32>,
    /// The largest value of each block; 0 if it has none.
    results: GlobalMut<u32>,
) {
    let mut most = 0;
    let mut place = index_1d();
    while place < count {
        most = values.load_streaming(place).max(most);
        place += grid_threads();
    }
    let most = largest_of_block(most);
    if thread_idx_x() == 0 {
        results.store(block_idx_x(), most);
    }
}

/// The counts of this block: begin and end.
#[inline(always)]
fn interval_of_block(count: u32, interval: u32) -> (u32, u32) {
    let begin = u64::from(block_idx_x()) * u64::from(interval);
    let end = begin + u64::from(interval);
    // At most `count`, which has 32 bits.
    (begin.min(count.into()) as u32, end.min(count.into()) as u32)
}

/// The sum of `value` over all threads of the block before this one, and over all of them.
///
/// # Safety
/// All threads of the block call it; it has 8 bytes of shared memory per warp.
#[inline(always)]
pub(crate) unsafe fn scan_block(value: u64) -> (u64, u64) {
    let sum = sum_up_to_lane(value);
    let sums = shared::dynamic::<u64>(0);
    let own_warp = thread_idx_x() / WARP_LANES;
    if lane_id() == WARP_LANES - 1 {
        sums.store(own_warp, sum);
    }
    sync_threads();
    let (mut before, mut all) = (sum - value, 0);
    let mut warp = 0;
    while warp < block_dim_x() / WARP_LANES {
        let sum = sums.load(warp);
        if warp < own_warp {
            before += sum;
        }
        all += sum;
        warp += 1;
    }
    // All sums are read before the next ones overwrite them.
    sync_threads();
    (before, all)
}

/// The sum of the numbers of this lane and those before it.
///
/// # Safety
/// All lanes of the warp call it.
#[inline(always)]
pub(crate) unsafe fn sum_up_to_lane<N: WarpShuffleValue + AddAssign>(number: N) -> N {
    let mut sum = number;
    let mut distance = 1;
    while distance < WARP_LANES {
        let (below, there) = warp_shuffle_up(ALL_LANES, sum, distance, WARP_LANES);
        if there {
            sum += below;
        }
        distance *= 2;
    }
    sum
}

/// The largest `value` among the threads of a block.
///
/// # Safety
/// All threads of the block call it; it has 4 bytes of shared memory per warp, which are not otherwise in use.
#[inline(always)]
pub(crate) unsafe fn largest_of_block(value: u32) -> u32 {
    let mut value = largest_of_warp(value);
    let values = shared::dynamic::<u32>(0);
    if lane_id() == 0 {
        values.store(thread_idx_x() / WARP_LANES, value);
    }
    sync_threads();
    let mut warp = 0;
    while warp < block_dim_x() / WARP_LANES {
        value = value.max(values.load(warp));
        warp += 1;
    }
    value
}

/// The largest `value` among the lanes of a warp.
///
/// # Safety
/// All lanes of the warp call it.
#[inline(always)]
pub(crate) unsafe fn largest_of_warp(mut value: u32) -> u32 {
    let mut distance = WARP_LANES / 2;
    while distance > 0 {
        value = value.max(warp_shuffle_xor(ALL_LANES, value, distance, WARP_LANES).0);
        distance /= 2;
    }
    value
}
