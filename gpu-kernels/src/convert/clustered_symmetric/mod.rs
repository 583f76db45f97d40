//! CSR to clustered slices with pairs stored once, when the rows and the columns of the parts are known.
//!
//! The choices are those of the conversion on the CPU, in the same order, so the arrays are the same. What depends on
//! the choice before it is done by one warp per part: who stores a pair, and in which step.
//!
//! A *position* is the index of a row among those of all parts; each part has whole slices of them. At first its rows
//! ascend, with [`NO_ROW`](crate::clustered::NO_ROW) behind them; then the longest come first.

pub mod choices;
pub mod entries;
pub mod halves;
pub mod pairs;
pub mod steps;
pub mod write;

use cuda_std::Global;
use cuda_std::thread::{block_dim_x, thread_idx_x};
use cuda_std::warp::WARP_LANES;

use crate::clustered::SLICE_ROWS;

/// In place of the row of a part to which a column belongs: it belongs to none.
pub const NO_OWNER: u32 = 0xFFFF;

/// In place of the index of an entry's image: the entry has none.
pub const NO_IMAGE: u32 = u32::MAX;

/// In place of the index of an entry's image: the image is stored for both.
pub const DROPPED: u32 = u32::MAX - 1;

/// The positions of a part.
#[derive(Clone, Copy)]
struct Part {
    /// First of its slices.
    slice: u32,
    /// First of its positions.
    first: u32,
    /// Number of its positions.
    positions: u32,
}

impl Part {
    /// The part with this number, by the number of slices before each part.
    ///
    /// # Safety
    /// It exists.
    #[inline(always)]
    unsafe fn new(part_begins: Global<u32>, part: u32) -> Self {
        let (slice, end) = (part_begins.load(part), part_begins.load(part + 1));
        Self { slice, first: slice * SLICE_ROWS, positions: (end - slice) * SLICE_ROWS }
    }

    /// Number of its slices.
    #[inline(always)]
    fn slices(self) -> u32 {
        self.positions / SLICE_ROWS
    }
}

/// This thread's warp in its block.
#[inline(always)]
fn warp_of_block() -> u32 {
    thread_idx_x() / WARP_LANES
}

/// Warps of a block.
#[inline(always)]
fn warps_of_block() -> u32 {
    block_dim_x() / WARP_LANES
}
