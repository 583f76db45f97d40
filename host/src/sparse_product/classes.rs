//! The classes of rows with hash tables of one size.

use cuda_std::launch::Grid;
use cuda_std::warp::WARP_LANES;
use gpu_kernels::sparse_product::classes::{CLASSES, FIRST_CLASS, slots_apart};

use crate::device::{ALWAYS_SHARED_BYTES, Device};

/// Number of slots from which on the usual block is enlarged.
const SLOTS_OF_LARGE_BLOCK: u32 = 4096;

/// Number of blocks for which shared memory suffices at a time if lanes of a warp share rows, unless a warp takes more.
const BLOCKS_AT_ONCE: u32 = 8;

/// Maximum number of threads per block.
pub(super) const MOST_THREADS: u32 = 1024;

/// The hash tables of a kernel in shared memory.
#[derive(Clone, Copy)]
pub(super) struct Tables {
    /// Bytes per slot.
    pub slot_bytes: u32,
    /// Minimum number of lanes per row.
    pub least_lanes: u32,
    /// Maximum number of slots of a row that lanes of a warp share; rows with more are shared by a block.
    pub slots_of_warp: u32,
    /// Whether blocks share rows with more.
    pub of_blocks: bool,
    /// Whether blocks share the rows of a class if these are so few that all are in progress at once.
    pub of_blocks_if_few: bool,
}

/// How a kernel processes the rows of a class.
pub(super) struct Class {
    /// Slots of a row's table.
    pub slots: u32,
    /// Threads that share a row.
    pub lanes: u32,
    threads_per_block: u32,
    shared_bytes: u32,
}

impl Tables {
    /// The largest class whose tables fit in shared memory; one less than the first if none fits.
    pub fn last_class(&self, device: &Device) -> u32 {
        let is_possible = |&number: &u32| {
            let fits = |rows| self.class(number, rows, device).shared_bytes <= limit(device);
            fits(0) && fits(u32::MAX) && (self.of_blocks || 1 << number <= self.slots_of_warp)
        };
        (FIRST_CLASS..CLASSES - 1).take_while(is_possible).last().unwrap_or(FIRST_CLASS - 1)
    }

    /// The class with this number, for some rows.
    pub fn class(&self, number: u32, rows: u32, device: &Device) -> Class {
        let (slots, usual) = (1_u32 << number, device.tuning.threads_per_block());
        // Tables, and 4 bytes per warp.
        let bytes = |lanes: u32, threads: u32| {
            let tables = u64::from(threads / lanes) * u64::from(slots_apart(slots, lanes));
            u32::try_from(tables * u64::from(self.slot_bytes) + u64::from(threads / 32 * 4)).unwrap_or(u32::MAX)
        };
        let are_few = u64::from(rows) * u64::from(usual) <= device.resident_threads();
        if slots > self.slots_of_warp || (self.of_blocks_if_few && are_few) {
            // A block that takes much of a multiprocessor's shared memory gets correspondingly many threads.
            let threads = (usual * (slots / SLOTS_OF_LARGE_BLOCK).clamp(1, 4)).min(MOST_THREADS);
            return Class { slots, lanes: threads, threads_per_block: threads, shared_bytes: bytes(threads, threads) };
        }
        let lanes = (slots / 16).clamp(self.least_lanes, WARP_LANES);
        let warps = warps_per_block(bytes(lanes, WARP_LANES), device);
        Class { slots, lanes, threads_per_block: 32 * warps, shared_bytes: bytes(lanes, 32 * warps) }
    }
}

impl Class {
    /// The grid for some rows.
    pub fn grid(&self, rows: u32, device: &Device) -> Grid {
        let work = u64::from(rows) * u64::from(self.lanes);
        Grid { shared_bytes: self.shared_bytes, ..device.uneven_grid_of_blocks(work, self.threads_per_block) }
    }
}

/// Warps of a block, of which each has `bytes` bytes of shared memory. Blocks that take much of a multiprocessor's would leave
/// some of it unused.
pub(super) fn warps_per_block(bytes: u32, device: &Device) -> u32 {
    (limit(device) / BLOCKS_AT_ONCE / bytes).clamp(1, device.tuning.threads_per_block() / WARP_LANES)
}

/// Bytes of shared memory that a block may have.
pub(super) fn limit(device: &Device) -> u32 {
    device.shared_bytes.unwrap_or(ALWAYS_SHARED_BYTES)
}
