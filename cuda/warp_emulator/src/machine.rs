//! What is run, and what all warps of a run use.

use std::cell::RefCell;
use std::rc::Rc;

use rand_chacha::ChaCha8Rng;

use crate::FaultKind;
use crate::global::GlobalMemory;
use crate::shared::MAXIMUM_SHARED_BYTES;
use crate::stack::Stacks;

/// The most threads that a block can have on any GPU.
pub const MAXIMUM_THREADS_PER_BLOCK: u32 = 1024;

/// How many threads run a kernel, and what memory they share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Grid {
    /// The number of blocks. With 0 nothing runs.
    pub blocks: u32,
    /// The number of threads of each block, 1 to [`MAXIMUM_THREADS_PER_BLOCK`]. The last warp may be partial.
    pub threads_per_block: u32,
    /// The bytes of shared memory of each block, up to [`MAXIMUM_SHARED_BYTES`].
    pub shared_bytes: u32,
}

impl Grid {
    pub(crate) fn check(&self) -> Result<(), FaultKind> {
        let check = |what, value, minimum, maximum| {
            if (minimum..=maximum).contains(&value) {
                Ok(())
            } else {
                Err(FaultKind::InvalidGrid { what, value, minimum, maximum })
            }
        };
        check("the number of threads per block", self.threads_per_block, 1, MAXIMUM_THREADS_PER_BLOCK)?;
        check("the number of bytes of shared memory", self.shared_bytes, 0, MAXIMUM_SHARED_BYTES)
    }
}

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Blocks that ran.
    pub blocks: u64,
    /// Warps that ran.
    pub warps: u64,
    /// Threads that ran.
    pub threads: u64,
    /// How often a warp was picked to run.
    pub steps: u64,
    /// How often a lane was begun or resumed.
    pub switches: u64,
    /// Operations in which lanes of a warp met: shuffles, votes, matches and warp barriers. It counts groups of
    /// lanes, not lanes.
    pub collectives: u64,
    /// How often the threads of a block met at a block barrier.
    pub block_barriers: u64,
    /// Calls of [`interleave`](crate::interleave).
    pub interleavings: u64,
}

/// What to run.
pub(crate) struct Launch<'run> {
    pub(crate) name: &'run str,
    pub(crate) kernel: &'run dyn Fn(),
    pub(crate) grid: Grid,
    pub(crate) step_limit: u64,
}

/// What all warps of a run use.
pub(crate) struct Machine {
    pub(crate) random: ChaCha8Rng,
    pub(crate) stacks: Stacks,
    pub(crate) statistics: Statistics,
    pub(crate) global: Rc<RefCell<GlobalMemory>>,
}
