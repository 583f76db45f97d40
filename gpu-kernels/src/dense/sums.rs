//! What one block does between passes: it adds up partial sums and goes on with the arithmetic.

use cuda_std::shared;
use cuda_std::thread::{block_dim_x, sync_threads, thread_idx_x};
use cuda_std::warp::{WARP_LANES, lane_id};
use cuda_std::{Global, GlobalMut, kernel};

use super::program::{STATUS, run};
use crate::reduction::sum_over_lanes;

/// Adds up the partial sums that the blocks of a grid left, each in a slot from `target` on, then runs a program on the
/// slots; nothing if the status is not 0.
///
/// # Safety
/// The grid has one block of a power of two of warps, with 8 bytes of shared memory for each; `warps_per_sum`
/// is a power of two that is not more. `partial_sums` has `blocks` numbers for each sum, those of the first sum first;
/// all slots of the sums and of the program, of `steps` steps, are inside `scalars`.
#[kernel]
pub unsafe fn finish_sums(
    /// Number of sums.
    sums: u32,
    /// Partial sums of each.
    blocks: u32,
    /// Warps that work on one sum.
    warps_per_sum: u32,
    /// The slot of the first sum.
    target: u32,
    /// What the blocks left.
    partial_sums: Global<f64>,
    /// Number of steps of the program.
    steps: u32,
    /// The words of its steps.
    program: Global<u32>,
    /// The slots.
    scalars: GlobalMut<f64>,
) {
    let stopped = scalars.load(STATUS) != 0.0;
    // Before a thread changes it.
    sync_threads();
    if stopped {
        return;
    }
    let warps_per_sum = warps_per_sum.max(1);
    let parts = shared::dynamic::<f64>(0);
    let warp = thread_idx_x() / WARP_LANES;
    let sums_at_once = block_dim_x() / WARP_LANES / warps_per_sum;
    let mut first = 0;
    while first < sums {
        let sum = first + warp / warps_per_sum;
        let mut part = 0.0;
        if sum < sums {
            let mut block = warp % warps_per_sum * WARP_LANES + lane_id();
            while block < blocks {
                part += partial_sums.load(u64::from(sum) * u64::from(blocks) + u64::from(block));
                block += warps_per_sum * WARP_LANES;
            }
        }
        let part = sum_over_lanes::<f64, WARP_LANES>(part);
        if lane_id() == 0 {
            parts.store(warp, part);
        }
        sync_threads();
        let number = thread_idx_x();
        if number < sums_at_once && first + number < sums {
            let mut total = 0.0;
            let mut part = 0;
            while part < warps_per_sum {
                total += parts.load(number * warps_per_sum + part);
                part += 1;
            }
            scalars.store(target + first + number, total);
        }
        sync_threads();
        first += sums_at_once;
    }
    if thread_idx_x() == 0 {
        run(steps, |word| program.load(word), |slot| scalars.load(slot), |slot, value| scalars.store(slot, value));
    }
}
