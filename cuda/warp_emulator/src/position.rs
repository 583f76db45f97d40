//! The position of a lane in the grid.

use crate::WARP_LANES;

/// The thread of the grid that a lane is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    /// The block in the grid.
    pub block: u32,
    /// The number of blocks in the grid.
    pub blocks: u32,
    /// The thread in its block.
    pub thread: u32,
    /// The number of threads in a block.
    pub threads_per_block: u32,
}

impl Position {
    /// The lane in its warp.
    pub fn lane(&self) -> u32 {
        self.thread % WARP_LANES
    }

    /// The warp in its block.
    pub fn warp(&self) -> u32 {
        self.thread / WARP_LANES
    }

    /// The number of lanes of this warp: 32, or fewer in the last warp of a block.
    pub fn lanes(&self) -> u32 {
        (self.threads_per_block - self.warp() * WARP_LANES).min(WARP_LANES)
    }
}
