//! The work of a single block between passes: it adds up partial sums and continues with the arithmetic.

use cuda_std::shared::{self, dynamic};
use cuda_std::thread::{block_dim_x, nanoseconds, sync_threads, thread_idx_x};
use cuda_std::warp::{WARP_LANES, lane_id};
use cuda_std::{Global, GlobalMut, kernel};

use super::program::{STATUS, run};
use crate::block::unrolled;
use crate::reduction::sum_over_lanes;

/// Adds up the partial sums of the blocks of a grid, each in a slot from `target` on, then runs a program on the slots.
/// Does nothing if the status is not 0. If `number` is not 0, [`FLAG`] takes it once the sums are written, for ranks
/// that [add them up](add_up_ranks).
///
/// # Safety
/// The grid has one block of a power of two of warps, with 8 bytes of shared memory per warp; `warps_per_sum` is a
/// power of two and at most the number of warps. `partial_sums` has `blocks` numbers for each sum, those of the first
/// sum first; all slots of the sums and of the program, of `steps` steps, are inside `scalars`, as is [`FLAG`] if
/// `number` is not 0.
#[kernel]
pub unsafe fn finish_sums(
    /// Number of sums.
    sums: u32,
    /// Number of partial sums per sum.
    blocks: u32,
    /// Warps that work on one sum.
    warps_per_sum: u32,
    /// The slot of the first sum.
    target: u32,
    /// What the flag becomes, or 0.
    number: f64,
    /// Partial sums of the blocks.
    partial_sums: Global<f64>,
    /// Number of steps of the program.
    steps: u32,
    /// The words of its steps.
    program: Global<u32>,
    /// The slots.
    scalars: GlobalMut<f64>,
) {
    let stopped = scalars.load(STATUS) != 0.0;
    // All threads read the status before one of them changes it.
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
        let place = thread_idx_x();
        if place < sums_at_once && first + place < sums {
            let mut total = 0.0;
            let mut part = 0;
            while part < warps_per_sum {
                total += parts.load(place * warps_per_sum + part);
                part += 1;
            }
            scalars.store(target + first + place, total);
        }
        sync_threads();
        first += sums_at_once;
    }
    if thread_idx_x() == 0 {
        if number != 0.0 {
            scalars.publish(FLAG, number);
        }
        run(steps, |word| program.load(word), |slot| scalars.load(slot), |slot, value| scalars.store(slot, value));
    }
}

/// Largest number of ranks whose sums are added up in place, in the GPUs' memory.
pub const MOST_RANKS: usize = 8;

/// The element of a rank's array that holds the number of its latest sums.
pub const FLAG: u32 = 1;
/// The first element of a rank's array that holds its sums.
pub const FIRST_SUM: u32 = 2;

/// Adds up the sums of several ranks, in the order of the ranks, each in a slot from `target` on, then runs a program
/// on the slots. Waits until the flags of all ranks have reached `number`; after `patience` nanoseconds the sums become
/// NaN, at once if the flag of a rank is below `number` - 2, for which this kernel has already waited: flags in an array
/// advance by two. If the status is not 0, it waits and does nothing else: the ranks that stopped must not overwrite
/// sums that others still read.
///
/// # Safety
/// The grid has one block of at least `ranks` threads, with 4 bytes of shared memory per rank. There are 1 to
/// [`MOST_RANKS`] ranks. The array of each has [`FIRST_SUM`] + `sums` elements. All slots of the sums and of the
/// program, of `steps` steps, are inside `scalars`.
#[kernel]
pub unsafe fn add_up_ranks(
    /// Number of sums.
    sums: u32,
    /// Number of ranks.
    ranks: u32,
    /// The slot of the first sum.
    target: u32,
    /// The arrays of the ranks.
    of_ranks: [Global<f64>; 8],
    /// Number of these sums: a rank's sums are ready when its flag has reached it.
    number: f64,
    /// Nanoseconds to wait for ranks whose flags are less.
    patience: u64,
    /// Number of steps of the program.
    steps: u32,
    /// The words of its steps.
    program: Global<u32>,
    /// The slots.
    scalars: GlobalMut<f64>,
) {
    let stopped = scalars.load(STATUS) != 0.0;
    let thread = thread_idx_x();
    let missing = dynamic::<u32>(0);
    unrolled(MOST_RANKS as u32, |rank| {
        if rank == thread && rank < ranks {
            let begin = nanoseconds();
            let (mut waits, mut late) = (true, false);
            while waits && !late {
                let flag = of_ranks[rank as usize].observe(FLAG);
                waits = flag < number;
                late = flag < number - 2.0 || nanoseconds() - begin > patience;
            }
            missing.store(rank, waits.into());
        }
    });
    // All threads have read the status, which one of them may change below.
    sync_threads();
    if stopped {
        return;
    }
    let mut any_missing = false;
    let mut rank = 0;
    while rank < ranks {
        any_missing |= missing.load(rank) != 0;
        rank += 1;
    }
    let mut sum = thread;
    while sum < sums {
        // Loaded from the memory of other GPUs: all are in flight before the first is needed.
        let mut parts = [0.0; MOST_RANKS];
        unrolled(MOST_RANKS as u32, |rank| {
            if rank < ranks {
                parts[rank as usize] = of_ranks[rank as usize].load_coherent(FIRST_SUM + sum);
            }
        });
        let mut total = parts[0];
        unrolled(MOST_RANKS as u32, |rank| {
            if rank > 0 && rank < ranks {
                total += parts[rank as usize];
            }
        });
        scalars.store(target + sum, if any_missing { f64::NAN } else { total });
        sum += block_dim_x();
    }
    sync_threads();
    if thread == 0 {
        run(steps, |word| program.load(word), |slot| scalars.load(slot), |slot, value| scalars.store(slot, value));
    }
}
