//! Row by row, in twice the working precision: slow, simple, and the standard for the others.

use super::host_memory::host_memory;
use super::operation::{Arithmetic, Executor, Operation};
use crate::device::{Device, Tuning};
use crate::error::Error;
use crate::memory::HostMemory;

/// The sequential, compensated executor.
#[derive(Clone)]
pub struct Reference {
    device: Device,
}

impl Reference {
    /// Creates the executor; it has no settings.
    pub fn new() -> Self {
        let name = "one thread, compensated".into();
        Self {
            device: Device {
                name,
                cache_bytes: None,
                multiprocessors: 1,
                threads_per_multiprocessor: 1,
                shared_bytes: None,
                tuning: Tuning::default(),
            },
        }
    }
}

impl Default for Reference {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: arrays are vectors, moved and cloned, and the operation is the requested one.
unsafe impl Executor for Reference {
    host_memory!();

    fn device(&self) -> &Device {
        &self.device
    }

    fn run<O: Operation>(&self, operands: O::Operands<'_, HostMemory>) -> Result<O::Output<HostMemory>, Error> {
        O::on_host(Arithmetic::Compensated, operands)
    }

    fn times_tell(&self) -> bool {
        false
    }
}
