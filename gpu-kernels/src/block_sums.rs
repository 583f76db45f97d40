//! Sums over the threads of a block.

use cuda_std::thread::{block_dim_x, thread_idx_x};
use cuda_std::warp::{WARP_LANES, lane_id};
use cuda_std::{GlobalMut, shared};

use crate::reduction::sum_over_lanes;

/// Stores this warp's part of sum `number` of the block. A tree of depth 5.
///
/// # Safety
/// All lanes of the warp call it, and the block has 8 bytes of shared memory per warp and sum.
#[inline(always)]
pub(crate) unsafe fn put_sum_of_warp(number: u32, sum: f64) {
    let sum = sum_over_lanes::<f64, WARP_LANES>(sum);
    if lane_id() == 0 {
        let warps = block_dim_x() / WARP_LANES;
        shared::dynamic(0).store(number * warps + thread_idx_x() / WARP_LANES, sum);
    }
}

/// Writes the first `sums` sums of the block, each to the index that `place` returns for it. One thread per sum adds up
/// the warps' parts.
///
/// # Safety
/// All threads of the block have stored their parts of all these sums before a barrier, the block has a thread for each
/// sum, and each index is inside `results` and used by no other thread.
#[inline(always)]
pub(crate) unsafe fn store_sums_of_block(sums: u32, results: GlobalMut<f64>, place: impl Fn(u32) -> Option<u64>) {
    let (number, warps) = (thread_idx_x(), block_dim_x() / WARP_LANES);
    if number >= sums {
        return;
    }
    if let Some(place) = place(number) {
        let mut sum = 0.0;
        let mut warp = 0;
        while warp < warps {
            sum += shared::dynamic::<f64>(0).load(number * warps + warp);
            warp += 1;
        }
        results.store(place, sum);
    }
}
