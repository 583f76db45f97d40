//! All cores of the host, through rayon.

use super::host_memory::host_memory;
use super::operation::{Arithmetic, Executor, Operation};
use crate::device::{Device, Tuning};
use crate::error::Error;
use crate::memory::HostMemory;
use crate::parallel;

/// The executor that runs on rayon's threads: the pool it is called from, or the global one. Its results do not depend
/// on the number of threads.
#[derive(Clone)]
pub struct Cpu {
    device: Device,
}

impl Cpu {
    /// Creates the executor; it has no settings.
    pub fn new() -> Self {
        let threads = parallel::threads();
        let name = format!("{threads} thread{}", if threads == 1 { "" } else { "s" });
        let multiprocessors = threads as u32;
        Self {
            device: Device {
                name,
                cache_bytes: cache_bytes(),
                multiprocessors,
                threads_per_multiprocessor: 1,
                shared_bytes: None,
                tuning: Tuning::default(),
            },
        }
    }
}

impl Default for Cpu {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: arrays are vectors, moved and cloned, and the operation is the requested one.
unsafe impl Executor for Cpu {
    host_memory!();

    fn device(&self) -> &Device {
        &self.device
    }

    fn run<O: Operation>(&self, operands: O::Operands<'_, HostMemory>) -> Result<O::Output<HostMemory>, Error> {
        O::on_host(Arithmetic::Parallel, operands)
    }
}

/// Bytes of the largest cache of the first core, as reported by Linux.
fn cache_bytes() -> Option<u64> {
    let sizes = (0..8).filter_map(|level| {
        let text = std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{level}/size")).ok()?;
        text.trim().strip_suffix('K')?.parse::<u64>().ok()
    });
    sizes.max().map(|kibibytes| kibibytes * 1024)
}
