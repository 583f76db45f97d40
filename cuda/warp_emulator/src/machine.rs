//! The launch, and the state shared by all warps of a run.

use std::cell::RefCell;
use std::rc::Rc;

use rand_chacha::ChaCha8Rng;

use crate::FaultKind;
use crate::global::GlobalMemory;
use crate::shared::MAXIMUM_SHARED_BYTES;
use crate::stack::Stacks;

/// The largest number of threads of a block on any GPU.
pub const MAXIMUM_THREADS_PER_BLOCK: u32 = 1024;

/// The number of threads that run a kernel, and the memory that they share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Grid {
    /// The number of blocks. With 0, nothing runs.
    pub blocks: u32,
    /// The number of threads per block, 1 to [`MAXIMUM_THREADS_PER_BLOCK`]. The last warp may be partial.
    pub threads_per_block: u32,
    /// Bytes of shared memory per block, up to [`MAXIMUM_SHARED_BYTES`].
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

/// Statistics of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Number of blocks that ran.
    pub blocks: u64,
    /// Number of warps that ran.
    pub warps: u64,
    /// Number of threads that ran.
    pub threads: u64,
    /// Number of times that a warp was picked to run.
    pub steps: u64,
    /// Number of times that a lane was begun or resumed.
    pub switches: u64,
    /// Number of operations in which lanes of a warp met: shuffles, votes, matches and warp barriers. It counts groups
    /// of lanes, not lanes.
    pub collectives: u64,
    /// Number of times that the threads of a block met at a block barrier.
    pub block_barriers: u64,
    /// Number of calls of [`interleave`](crate::interleave).
    pub interleavings: u64,
}

/// A kernel and its grid.
pub(crate) struct Launch<'run> {
    pub(crate) name: &'run str,
    pub(crate) kernel: &'run dyn Fn(),
    pub(crate) grid: Grid,
    pub(crate) step_limit: u64,
}

/// State shared by all warps of a run.
pub(crate) struct Machine {
    pub(crate) random: ChaCha8Rng,
    pub(crate) stacks: Stacks,
    pub(crate) statistics: Statistics,
    pub(crate) global: Rc<RefCell<GlobalMemory>>,
}
