//! The classes of rows that have hash tables of one size.

use cuda_std::launch::Grid;
use gpu_kernels::sparse_product::classes::FIRST_CLASS;

use crate::device::{ALWAYS_SHARED_BYTES, Device};

/// Numbers of classes: that of empty rows, the logarithm of any number of slots, and that of the longest rows.
pub(super) const CLASSES: u32 = 32;

/// Slots that lanes of a warp clear and sort, at most; a block those of more.
const SLOTS_OF_WARP: u32 = 512;

/// Slots for which the usual block is enlarged.
const SLOTS_OF_LARGE_BLOCK: u32 = 4096;

/// The classes on a device.
pub(super) struct Classes {
    /// The largest whose tables fit in shared memory; below the first where none does.
    pub last: u32,
}

/// A class, and how many rows are in it.
pub(super) struct Class {
    pub rows: u32,
    /// Slots of a row's table; 0 where rows are too long for one.
    pub slots: u32,
    /// Threads that share a row.
    pub lanes: u32,
    threads_per_block: u32,
}

impl Classes {
    pub fn new(device: &Device) -> Self {
        let limit = device.shared_bytes.unwrap_or(ALWAYS_SHARED_BYTES);
        let fits = |&class: &u32| Class::of(class, 1, device).shared_bytes() <= limit;
        Self { last: (FIRST_CLASS..CLASSES - 2).take_while(fits).last().unwrap_or(FIRST_CLASS - 1) }
    }

    /// The class with this number, which has `rows` rows.
    pub fn class(&self, number: u32, rows: u32, device: &Device) -> Class {
        let class = Class::of(number.min(self.last), rows, device);
        if number > self.last { Class { slots: 0, ..class } } else { class }
    }
}

impl Class {
    fn of(number: u32, rows: u32, device: &Device) -> Self {
        let (slots, threads) = (1 << number, device.tuning.threads_per_block());
        if slots <= SLOTS_OF_WARP {
            return Self { rows, slots, lanes: (slots / 16).clamp(4, 32), threads_per_block: threads };
        }
        // A block that takes much of a multiprocessor's shared memory brings threads for it.
        let lanes = (threads * (slots / SLOTS_OF_LARGE_BLOCK).clamp(1, 4)).min(1024);
        Self { rows, slots, lanes, threads_per_block: lanes }
    }

    /// A table for each team, and 4 bytes for each warp.
    fn shared_bytes(&self) -> u32 {
        let teams = self.threads_per_block / self.lanes;
        let tables = u64::from(teams) * 4 * u64::from(self.slots);
        u32::try_from(tables + u64::from(self.threads_per_block / 32 * 4)).unwrap_or(u32::MAX)
    }

    pub fn grid(&self, device: &Device) -> Grid {
        let work = u64::from(self.rows) * u64::from(self.lanes);
        Grid { shared_bytes: self.shared_bytes(), ..device.uneven_grid_of_blocks(work, self.threads_per_block) }
    }
}
