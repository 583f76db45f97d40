//! Threads that work on one row together: lanes of a warp, or a block.

use cuda_std::shared::Shared;
use cuda_std::thread::{block_dim_x, block_idx_x, grid_dim_x, sync_threads, thread_idx_x};
use cuda_std::warp::{ALL_LANES, WARP_LANES, WarpShuffleValue, lane_id, sync_warp, warp_shuffle_xor};

/// The team of a thread. All threads of a team call each of its functions together.
#[derive(Clone, Copy)]
pub(crate) struct Team {
    /// Number of threads: a power of two up to 32, or all of a block.
    pub lanes: u32,
    /// The thread's number in the team.
    pub lane: u32,
    /// Mask of the team's lanes in the warp.
    pub mask: u32,
}

impl Team {
    /// Teams of `lanes` threads: a power of two up to 32, or as many as the block has.
    #[inline(always)]
    pub fn new(lanes: u32) -> Self {
        let of_warp = lanes.min(WARP_LANES);
        let first = lane_id() & !(of_warp - 1);
        Self { lanes, lane: thread_idx_x() % lanes, mask: (ALL_LANES >> (WARP_LANES - of_warp)) << first }
    }

    /// The team's number in its block.
    #[inline(always)]
    pub fn in_block(self) -> u32 {
        thread_idx_x() / self.lanes
    }

    /// The team's number in the grid.
    #[inline(always)]
    pub fn in_grid(self) -> u32 {
        block_idx_x() * (block_dim_x() / self.lanes) + self.in_block()
    }

    /// Number of teams in the grid.
    #[inline(always)]
    pub fn count(self) -> u32 {
        grid_dim_x() * (block_dim_x() / self.lanes)
    }

    /// Waits until the whole team has arrived; all its threads then see what any of them wrote before.
    ///
    /// # Safety
    /// The whole team calls it.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn sync(self) {
        if self.lanes > WARP_LANES {
            sync_threads();
        } else {
            sync_warp(self.mask);
        }
    }

    /// Sums a number over the team, which must pass a barrier between two calls.
    ///
    /// # Safety
    /// The whole team calls it; if it is more than a warp, `sums` has an element for each warp of the block.
    #[inline(always)]
    pub unsafe fn sum(self, number: u32, sums: Shared<u32>) -> u32 {
        let mut sum = self.together_in_warp(number, |sum, other| sum + other);
        if self.lanes > WARP_LANES {
            if lane_id() == 0 {
                sums.store(thread_idx_x() / WARP_LANES, sum);
            }
            sync_threads();
            sum = 0;
            let mut warp = 0;
            while warp < self.lanes / WARP_LANES {
                sum += sums.load(warp);
                warp += 1;
            }
        }
        sum
    }

    /// Reduces the values of the team's lanes in this warp, for each of them; `of_two` combines two values in either
    /// order.
    ///
    /// # Safety
    /// The whole team calls it.
    #[inline(always)]
    pub unsafe fn together_in_warp<T: WarpShuffleValue>(self, mut value: T, of_two: impl Fn(T, T) -> T) -> T {
        let mut distance = self.lanes.min(WARP_LANES) / 2;
        while distance > 0 {
            value = of_two(value, warp_shuffle_xor(self.mask, value, distance, WARP_LANES).0);
            distance /= 2;
        }
        value
    }
}
