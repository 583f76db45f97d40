//! The sizes of grids: data, apart from the kernels.

use std::num::NonZeroU32;

use cuda_std::launch::Grid;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// Properties of a device that launches depend on.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// The device's name, and the identity of its software.
    pub name: String,
    /// Bytes of the largest cache, if known.
    pub cache_bytes: Option<u64>,
    /// Streaming multiprocessors, or their equivalents, which run blocks in parallel.
    pub multiprocessors: u32,
    /// Threads that one multiprocessor holds at a time.
    pub threads_per_multiprocessor: u32,
    /// Bytes of shared memory that a block may have, if limited.
    pub shared_bytes: Option<u32>,
    /// Sizes of grids on this device.
    pub tuning: Tuning,
}

/// Resources that a kernel needs on a multiprocessor, as reported by its compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelResources {
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of static shared memory per block, besides those that a launch requests.
    pub shared_bytes: u32,
    /// Maximum number of threads per block.
    pub most_threads: u32,
}

/// Sizes of grids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    threads_per_block: u32,
    waves: u32,
    persistent: bool,
    oversubscription: Option<NonZeroU32>,
}

impl Tuning {
    /// For the emulator of a small GPU.
    pub(crate) const SMALL: Self = Self { threads_per_block: 64, waves: 1, persistent: false, oversubscription: None };

    /// Blocks of `threads_per_block` threads, and grids of at most `waves` times as many threads as the device holds at
    /// a time; in larger jobs, each thread takes several steps. Kernels that run faster in successive blocks have at
    /// least 16 waves, and those that run faster in small blocks half as many threads in each;
    /// [`persistent`](Self::persistent) makes no difference between kernels. A large `waves` gives each
    /// thread one row.
    ///
    /// # Errors
    /// When `threads_per_block` is not a multiple of 32 from 32 to 1024, since lanes of a partial warp would wait for lanes
    /// that do not exist, or when `waves` is 0.
    pub fn new(threads_per_block: u32, waves: u32) -> Result<Self, Error> {
        let refused = |what, value: u32, expected| Err(Error::Setting { what, value: value.to_string(), expected });
        let lanes = WARP_LANES as u32;
        if !(lanes..=MOST_THREADS_PER_BLOCK).contains(&threads_per_block) || !threads_per_block.is_multiple_of(lanes) {
            return refused("the number of threads per block", threads_per_block, "a multiple of 32 from 32 to 1024");
        }
        if waves == 0 {
            return refused("the number of waves", waves, "at least 1");
        }
        Ok(Self { threads_per_block, waves, persistent: false, oversubscription: None })
    }

    /// The same grids for all kernels: with one wave, every warp stays until all work is done, as in Bell & Garland 2009,
    /// §3.7; `csr-vector-32` is then their kernel.
    #[must_use]
    pub fn persistent(self) -> Self {
        Self { persistent: true, ..self }
    }

    /// Launches `oversubscription` warps for each one that a multiprocessor works on at once, in kernels that add
    /// atomically: ω of Anzt et al. 2020, §3.2.
    #[must_use]
    pub fn oversubscribed(self, oversubscription: NonZeroU32) -> Self {
        Self { oversubscription: Some(oversubscription), ..self }
    }

    /// The value set by [`oversubscribed`](Self::oversubscribed); if `None`, the number of entries decides.
    pub fn oversubscription(self) -> Option<NonZeroU32> {
        self.oversubscription
    }

    /// Threads per block.
    pub fn threads_per_block(self) -> u32 {
        self.threads_per_block
    }

    /// The largest number of threads in a grid, as a multiple of what the device holds at a time.
    pub fn waves(self) -> u32 {
        self.waves
    }

    /// As [`waves`](Self::waves), for kernels whose threads have unequal work.
    fn uneven_waves(self) -> u32 {
        if self.persistent { self.waves } else { self.waves.max(UNEVEN_WAVES) }
    }
}

impl Default for Tuning {
    fn default() -> Self {
        Self { threads_per_block: 256, waves: 1, persistent: false, oversubscription: None }
    }
}

/// Maximum number of threads per block on every GPU.
const MOST_THREADS_PER_BLOCK: u32 = 1024;

/// Bytes of shared memory that every GPU grants a block by default.
pub(crate) const ALWAYS_SHARED_BYTES: u32 = 48 << 10;

/// Lanes of a warp.
pub(crate) const WARP_LANES: usize = cuda_std::warp::WARP_LANES as usize;

/// The grid with `bytes` bytes of shared memory per warp.
#[doc(hidden)]
pub fn with_shared_for_each_warp(grid: Grid, bytes: u32) -> Grid {
    Grid { shared_bytes: grid.threads_per_block.div_ceil(WARP_LANES as u32) * bytes, ..grid }
}

/// Minimum number of waves where successive blocks are faster than persistent warps.
const UNEVEN_WAVES: u32 = 16;

impl Device {
    /// Whether the device runs kernels or their emulation: a multiprocessor holds many threads, a CPU core one.
    pub fn has_kernels(&self) -> bool {
        self.threads_per_multiprocessor > 1
    }

    /// Threads that the device holds at a time.
    pub(crate) fn resident_threads(&self) -> u64 {
        u64::from(self.multiprocessors) * u64::from(self.threads_per_multiprocessor)
    }

    /// Returns `bytes` if a block may have that much shared memory; `what` is the number of bytes that is too large if not.
    ///
    /// # Errors
    /// When it may not.
    pub(crate) fn shared_of_block(&self, what: &'static str, bytes: u32) -> Result<u32, Error> {
        match self.shared_bytes {
            Some(most) if bytes > most => Err(Error::TooLarge { what, value: bytes.into(), limit: most.into() }),
            _ => Ok(bytes),
        }
    }

    /// Threads of a block for kernels that run faster in small blocks, half as many as the tuning has: a multiprocessor
    /// starts a block when another has ended, and fewer warps wait for the slowest of theirs.
    pub(crate) fn small_block(&self) -> u32 {
        match self.tuning.persistent {
            true => self.tuning.threads_per_block,
            false => (self.tuning.threads_per_block / 2).next_multiple_of(WARP_LANES as u32),
        }
    }

    /// Threads of a block for kernels with one thread per row, which run faster in [small blocks](Self::small_block) if
    /// there are few rows.
    pub(crate) fn block_for_rows(&self, rows: usize) -> u32 {
        if self.has_few_rows(rows) { self.small_block() } else { self.tuning.threads_per_block }
    }

    /// Whether rows are so few that one thread per row keeps the memory busy only with many entries in flight, and that the
    /// cost of a launch matters. On an H200, 16 entries in flight instead of 4 take 0.5 to 0.97 of the time up to this
    /// limit, and 1.0 to 1.2 from twice as many rows on.
    pub(crate) fn has_few_rows(&self, rows: usize) -> bool {
        rows as u64 <= self.resident_threads().saturating_mul(2)
    }

    /// A grid with a thread per piece of work, or as many as the tuning allows; no blocks if there is no work.
    pub fn grid(&self, work: u64) -> Grid {
        self.grid_of_blocks(work, self.tuning.threads_per_block)
    }

    /// [`grid`](Self::grid) for a kernel that needs blocks of a certain size.
    pub(crate) fn grid_of_blocks(&self, work: u64, threads_per_block: u32) -> Grid {
        self.grid_of_waves(work, threads_per_block, self.tuning.waves)
    }

    fn grid_of_waves(&self, work: u64, threads_per_block: u32, waves: u32) -> Grid {
        // A device that holds no threads would leave all work undone.
        let most = self.resident_threads().saturating_mul(waves.into()).max(1);
        // A thread's index has 32 bits, and kernels step past the end once.
        let blocks = work.min(most).min(1 << 30).div_ceil(threads_per_block.into());
        Grid { blocks: blocks as u32, threads_per_block, shared_bytes: 0 }
    }

    /// [`grid`](Self::grid) for a kernel whose threads have unequal work, or wait less for each other in this form: a
    /// multiprocessor that finishes one block early gets the next.
    pub(crate) fn uneven_grid(&self, work: u64) -> Grid {
        self.uneven_grid_of_blocks(work, self.tuning.threads_per_block)
    }

    /// [`uneven_grid`](Self::uneven_grid) for a kernel that needs blocks of a certain size.
    pub(crate) fn uneven_grid_of_blocks(&self, work: u64, threads_per_block: u32) -> Grid {
        self.grid_of_waves(work, threads_per_block, self.tuning.uneven_waves())
    }

    /// A grid of `threads` threads, rounded up to whole blocks, whatever the tuning allows: for kernels whose warps
    /// divide the work themselves.
    pub(crate) fn grid_of(&self, threads: u64) -> Grid {
        let threads_per_block = self.tuning.threads_per_block;
        Grid { blocks: threads.div_ceil(threads_per_block.into()) as u32, threads_per_block, shared_bytes: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tuning_is_whole_warps() {
        for threads in [32, 64, 96, 1024] {
            assert_eq!(Tuning::new(threads, 1).unwrap().threads_per_block(), threads);
        }
        for threads in [0, 1, 16, 31, 33, 1000, 1056, 2048, u32::MAX] {
            let error = Tuning::new(threads, 1).unwrap_err().to_string();
            let expected = "expected a multiple of 32 from 32 to 1024";
            assert_eq!(error, format!("the number of threads per block is {threads}, {expected}"));
        }
        assert_eq!(Tuning::new(32, 0).unwrap_err().to_string(), "the number of waves is 0, expected at least 1");
        assert_eq!(Tuning::new(32, u32::MAX).unwrap().waves(), u32::MAX);
    }

    #[test]
    fn warps_stay_in_every_kernel_where_that_is_asked_for() {
        let device = |tuning| Device {
            name: String::new(),
            cache_bytes: None,
            multiprocessors: 10,
            threads_per_multiprocessor: 2048,
            shared_bytes: None,
            tuning,
        };
        let tuning = Tuning::default();
        let blocks = |tuning| [device(tuning).grid(1 << 30).blocks, device(tuning).uneven_grid(1 << 30).blocks];
        assert_eq!(blocks(tuning), [80, 16 * 80]);
        assert_eq!(blocks(tuning.persistent()), [80, 80]);
        assert_eq!(blocks(Tuning::new(256, 3).unwrap().persistent()), [240, 240]);
        let small = |tuning| device(tuning).small_block();
        assert_eq!([tuning, tuning.persistent()].map(small), [128, 256]);
        assert_eq!([32, 96, 1024].map(|threads| small(Tuning::new(threads, 1).unwrap())), [32, 64, 512]);
    }

    /// There is a block wherever there is work, and never more threads than an index can count.
    #[test]
    fn no_work_is_left_without_a_block() {
        for (multiprocessors, threads_per_multiprocessor) in [(0, 0), (1, 0), (0, 1), (1, 1), (u32::MAX, u32::MAX)] {
            for tuning in [Tuning::default(), Tuning::new(1024, u32::MAX).unwrap(), Tuning::default().persistent()] {
                let (name, cache_bytes, shared_bytes) = (String::new(), None, None);
                let device =
                    Device { name, cache_bytes, multiprocessors, threads_per_multiprocessor, shared_bytes, tuning };
                for work in [0, 1, 31, 32, 1 << 31, u64::MAX] {
                    for grid in [device.grid(work), device.uneven_grid(work), device.uneven_grid_of_blocks(work, 32)] {
                        assert_eq!(grid.blocks == 0, work == 0, "{device:?}, work {work}");
                        assert!(u64::from(grid.blocks) * u64::from(grid.threads_per_block) < 1 << 31);
                    }
                }
            }
        }
    }
}
