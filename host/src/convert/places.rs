//! What the conversions to DIA, BCSR and BELLPACK share.

use cuda_std::launch::Grid;

use super::primitives::{Array, Scan};
use crate::device::WARP_LANES;
use crate::error::Error;
use crate::executor::KernelExecutor;

/// How many places the warps of one launch have filled: an element for each warp.
pub(crate) struct Filled<'e, K: KernelExecutor> {
    executor: &'e K,
    /// What each warp writes its count to.
    pub counts: Array<K, u32>,
}

impl<'e, K: KernelExecutor> Filled<'e, K> {
    pub fn new(executor: &'e K, grid: Grid) -> Result<Self, Error> {
        let warps = grid.blocks as usize * grid.threads_per_block as usize / WARP_LANES;
        Ok(Self { executor, counts: executor.unwritten(warps)? })
    }

    /// The sum over all warps.
    pub fn total(self) -> Result<usize, Error> {
        Ok(Scan::new(self.executor, &self.counts)?.total() as usize)
    }
}
