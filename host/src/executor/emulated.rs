//! The GPU's kernels on the warp emulator.

use cuda_std::launch::Launch;
use warp_emulator::Emulator;

use super::{Executor, KernelExecutor, host_memory, multiply_by_kernels};
use crate::dense;
use crate::error::Error;
use crate::format::{Csr, FillLimit, Format, Matrix};
use crate::memory::{Element, HostMemory};
use crate::real::Real;
use crate::spmv::{
    Device, MultivectorOperands, Operands, Tuning, Workspace, launches, multivector_launches, transposed_launches,
};

/// Every byte of an array that no kernel has written to.
const UNWRITTEN: u8 = 0xa5;

/// The executor that runs the same launches as a GPU, lane by lane on one thread, and checks every access and
/// every meeting of lanes. Its times say nothing about a GPU.
pub struct Emulated {
    device: Device,
    emulator: Emulator,
}

impl Emulated {
    /// An emulator of a small GPU, whose warps and blocks run in an order drawn from `seed`.
    pub fn new(seed: u64) -> Self {
        // Two multiprocessors of four warps each: small matrices already need persistent warps.
        Self::with_size(seed, 2, 128, Tuning { threads_per_block: 64, waves: 1 })
    }

    /// An emulator of a GPU with so many multiprocessors and threads on each.
    pub fn with_size(seed: u64, multiprocessors: u32, threads_per_multiprocessor: u32, tuning: Tuning) -> Self {
        let name = format!("warp emulator, seed {seed}");
        Self {
            device: Device { name, cache_bytes: None, multiprocessors, threads_per_multiprocessor, tuning },
            emulator: Emulator::new(seed),
        }
    }
}

impl KernelExecutor for Emulated {
    unsafe fn launch(&self, launch: &Launch) -> Result<(), Error> {
        let Launch { grid, kernel } = launch;
        // SAFETY: the caller's promise.
        self.emulator.run(&kernel.entry(), *grid, &|| unsafe { kernel.run() })?;
        Ok(())
    }

    fn unwritten<T: Element>(&self, length: usize) -> Result<Vec<T>, Error> {
        let mut array = self.zeros(length)?;
        // Nothing that a kernel could take for a result.
        bytemuck::cast_slice_mut::<T, u8>(&mut array).fill(UNWRITTEN);
        Ok(array)
    }
}

impl Executor for Emulated {
    host_memory!();
    multiply_by_kernels!();
}
