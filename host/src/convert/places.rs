//! Common parts of the conversions to DIA, BCSR and BELLPACK.

use cuda_std::launch::Grid;

use super::primitives::{Array, Scan};
use crate::device::WARP_LANES;
use crate::error::Error;
use crate::executor::KernelExecutor;

/// Number of slots filled by each warp of one launch.
pub(crate) struct Filled<'e, K: KernelExecutor> {
    executor: &'e K,
    /// Array to which each warp writes its count.
    pub counts: Array<K, u32>,
}

impl<'e, K: KernelExecutor> Filled<'e, K> {
    pub fn new(executor: &'e K, grid: Grid) -> Result<Self, Error> {
        let warps = grid.blocks as usize * grid.threads_per_block as usize / WARP_LANES;
        Ok(Self { executor, counts: executor.unwritten(warps)? })
    }

    /// Returns the sum over all warps.
    pub fn total(self) -> Result<usize, Error> {
        Ok(Scan::new(self.executor, &self.counts)?.total() as usize)
    }
}
