//! An executor of the host that is chosen at run time.

use super::cpu::Cpu;
use super::emulated::Emulated;
use super::host_memory::host_memory;
use super::name::ExecutorName;
use super::operation::{Executor, Operation};
use super::reference::Reference;
use crate::device::Device;
use crate::error::Error;
use crate::memory::HostMemory;

/// One of the executors whose arrays are in host memory. Code that is generic over executors is compiled once for all
/// three.
#[derive(Clone)]
pub enum HostExecutor {
    /// In twice the working precision, on one thread.
    Reference(Reference),
    /// On all cores.
    Cpu(Cpu),
    /// With the GPU's kernels.
    Emulated(Emulated),
}

impl HostExecutor {
    /// The executor's name.
    pub fn name(&self) -> ExecutorName {
        match self {
            Self::Reference(_) => ExecutorName::Reference,
            Self::Cpu(_) => ExecutorName::Cpu,
            Self::Emulated(_) => ExecutorName::Emulated,
        }
    }
}

impl From<Reference> for HostExecutor {
    fn from(executor: Reference) -> Self {
        Self::Reference(executor)
    }
}

impl From<Cpu> for HostExecutor {
    fn from(executor: Cpu) -> Self {
        Self::Cpu(executor)
    }
}

impl From<Emulated> for HostExecutor {
    fn from(executor: Emulated) -> Self {
        Self::Emulated(executor)
    }
}

// SAFETY: arrays are vectors, moved and cloned, and the operation is the requested one.
unsafe impl Executor for HostExecutor {
    host_memory!();

    fn hear_of(&self, bytes: &[u8]) {
        if let Self::Emulated(executor) = self {
            executor.hear_of(bytes);
        }
    }

    fn times_tell(&self) -> bool {
        match self {
            Self::Reference(executor) => executor.times_tell(),
            Self::Cpu(executor) => executor.times_tell(),
            Self::Emulated(executor) => executor.times_tell(),
        }
    }

    fn device(&self) -> &Device {
        match self {
            Self::Reference(executor) => executor.device(),
            Self::Cpu(executor) => executor.device(),
            Self::Emulated(executor) => executor.device(),
        }
    }

    fn run<O: Operation>(&self, operands: O::Operands<'_, HostMemory>) -> Result<O::Output<HostMemory>, Error> {
        match self {
            Self::Reference(executor) => executor.run::<O>(operands),
            Self::Cpu(executor) => executor.run::<O>(operands),
            Self::Emulated(executor) => executor.run::<O>(operands),
        }
    }
}
