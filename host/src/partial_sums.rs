//! Partial sums over the elements of vectors.

use cuda_std::{Global, GlobalMut};
use gpu_kernels::dense::passes;
use gpu_kernels::fused;

use crate::error::Error;
use crate::executor::Executor;
use crate::memory::{Buffer, HostMemory, Memory, collect};

/// Partial sums over the elements of vectors, one per sum and block of a grid. They are added up in 64 bits, in an order
/// that depends only on the grid, so that the same work gives the same bits.
///
/// [`Plan::apply_fused`](crate::Plan::apply_fused) writes them.
pub struct PartialSums<M: Memory = HostMemory> {
    /// All partial sums of the first sum, then of the second, and so on.
    values: M::Buffer<f64>,
    sums: usize,
    blocks: usize,
}

impl<M: Memory> PartialSums<M> {
    /// Room for `sums` sums of one pass over vectors, at least 4, or for those of a product; initially without sums. Takes 8
    /// bytes per sum and block of the device's largest grid.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn new<E: Executor<Memory = M>>(executor: &E, sums: usize) -> Result<Self, Error> {
        let device = executor.device();
        let of_pass = sums.max(passes::MOST_SUMS).saturating_mul(device.grid(u64::MAX).blocks.max(1) as usize);
        let of_product = fused::MOST_SUMS as usize * device.uneven_grid(u64::MAX).blocks as usize;
        Ok(Self { values: executor.zeros(of_pass.max(of_product))?, sums: 0, blocks: 0 })
    }

    /// The sums written last. Waits for all queued work.
    ///
    /// # Errors
    /// When the sums belong to another executor, memory runs out, or the device fails.
    pub fn totals<E: Executor<Memory = M>>(&self, executor: &E) -> Result<Vec<f64>, Error> {
        let values = executor.download(&self.values)?;
        collect((0..self.sums).map(|sum| self.total_of(&values, sum)))
    }

    /// Adds up the partial sums of a sum in `values`.
    fn total_of(&self, values: &[f64], sum: usize) -> f64 {
        values[sum * self.blocks..][..self.blocks].iter().sum()
    }

    /// Number of sums.
    pub fn sums(&self) -> usize {
        self.sums
    }

    /// Number of partial sums per sum.
    #[doc(hidden)]
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// The partial sums.
    #[doc(hidden)]
    pub fn global(&self) -> Global<f64> {
        self.values.global()
    }

    /// The partial sums for writing.
    #[doc(hidden)]
    pub fn global_mut(&mut self) -> GlobalMut<f64> {
        self.values.global_mut()
    }

    /// Room for the partial sums of `blocks` further blocks, if there is one sum; they are not written yet.
    ///
    /// # Errors
    /// When there are several sums, or no room is left.
    #[doc(hidden)]
    pub fn extend(&mut self, blocks: usize) -> Result<GlobalMut<f64>, Error> {
        if self.sums != 1 {
            return Err(Error::structure("list of sums", format!("has {} sums, expected 1", self.sums)));
        }
        let first = self.blocks;
        self.begin(1, first + blocks)?;
        Ok(self.values.global_mut().after(first))
    }

    /// Starts new sums over a grid of `blocks` blocks, whose partial sums are not written yet.
    ///
    /// # Errors
    /// When there is not enough room.
    #[doc(hidden)]
    pub fn begin(&mut self, sums: usize, blocks: usize) -> Result<(), Error> {
        // Sums over no blocks are still written to scalars.
        let (value, limit) = (sums as u128 * blocks.max(1) as u128, self.values.len() as u128);
        if value > limit {
            return Err(Error::TooLarge { what: "number of partial sums of a pass", value, limit });
        }
        (self.sums, self.blocks) = (sums, blocks);
        Ok(())
    }
}

impl PartialSums<HostMemory> {
    /// The total of one sum.
    #[doc(hidden)]
    pub fn total(&self, sum: usize) -> f64 {
        self.total_of(&self.values, sum)
    }

    /// The partial sums, those of the first sum first.
    #[doc(hidden)]
    pub fn as_mut_slice(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// Sets the sums.
    ///
    /// # Errors
    /// When there is not enough room.
    #[doc(hidden)]
    pub fn set(&mut self, sums: &[f64]) -> Result<(), Error> {
        self.begin(sums.len(), 1)?;
        self.values[..sums.len()].copy_from_slice(sums);
        Ok(())
    }
}
