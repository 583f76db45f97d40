//! What the lab asks of an executor besides multiplying. One place for each executor.

use host::Error;
use host::executor::{Cpu, Emulated, ExecutorName, Reference};

use crate::ceilings;
use crate::memory;
use crate::peers::WithPeers;
use crate::record::{Ceilings, Clocks};
use crate::timing::Effort;

/// Clears the caches.
pub type Chill<'s> = Box<dyn FnMut() -> Result<(), Error> + 's>;

/// An executor that can be measured.
pub trait Subject: WithPeers {
    /// Its name.
    const NAME: ExecutorName;

    /// What takes the times.
    const TIMER: &'static str = "std::time::Instant around the call";

    /// Whether its times say anything: otherwise nothing is timed more than once.
    const FAST: bool = false;

    /// How fast it can be at all; none where that is not worth knowing.
    ///
    /// # Errors
    /// When memory runs out, or the device fails.
    fn ceilings(&self) -> Result<Option<Ceilings>, Error> {
        Ok(None)
    }

    /// What leaves nothing of matrix and vectors in the caches; none where times do not depend on it.
    ///
    /// # Errors
    /// When memory runs out, or the device fails.
    fn chill(&self) -> Result<Option<Chill<'_>>, Error> {
        Ok(None)
    }

    /// Bytes of its memory now, and the most at a time since [`reset_peak`](Self::reset_peak); none where nothing
    /// counts them.
    fn memory_use(&self) -> Option<(u64, u64)> {
        memory::used()
    }

    /// Begins to look for the peak anew.
    fn reset_peak(&self) {
        memory::reset_peak();
    }

    /// Version of the driver.
    fn driver(&self) -> Option<String> {
        None
    }

    /// The clocks as they are now.
    fn clocks(&self) -> Option<Clocks> {
        None
    }

    /// `asked` where times say something.
    fn effort(asked: Effort) -> Effort {
        if Self::FAST { asked } else { Effort { warm_ups: 0, repetitions: 1, ..asked } }
    }
}

/// Work that can be done on any executor that can be measured.
pub trait SubjectVisitor {
    /// What comes of it.
    type Output;

    /// Does the work.
    fn visit<S: Subject>(self, subject: &S) -> Self::Output;
}

/// Makes the executor of this name and does `work` on it.
///
/// # Errors
/// When there is no such executor on this machine.
pub fn with<V: SubjectVisitor>(name: ExecutorName, work: V) -> Result<V::Output, Error> {
    match name {
        ExecutorName::Reference => Ok(work.visit(&Reference::new())),
        ExecutorName::Cpu => Ok(work.visit(&Cpu::new())),
        ExecutorName::Emulated => Ok(work.visit(&Emulated::new(0))),
        #[cfg(feature = "cuda")]
        ExecutorName::Cuda => Ok(work.visit(&host::executor::Cuda::new(0)?)),
        #[cfg(not(feature = "cuda"))]
        ExecutorName::Cuda => Err(Error::Unavailable {
            executor: "cuda",
            reason: "this program was built without the feature `cuda`".into(),
        }),
    }
}

impl Subject for Reference {
    const NAME: ExecutorName = ExecutorName::Reference;
}

impl Subject for Emulated {
    const NAME: ExecutorName = ExecutorName::Emulated;
}

impl Subject for Cpu {
    const NAME: ExecutorName = ExecutorName::Cpu;
    const FAST: bool = true;

    fn ceilings(&self) -> Result<Option<Ceilings>, Error> {
        ceilings::of_cpu(self).map(Some)
    }

    fn chill(&self) -> Result<Option<Chill<'_>>, Error> {
        ceilings::chill_cpu(self).map(Some)
    }
}

#[cfg(feature = "cuda")]
impl Subject for host::executor::Cuda {
    const NAME: ExecutorName = ExecutorName::Cuda;
    const TIMER: &'static str = "CUDA events around the call";
    const FAST: bool = true;

    fn ceilings(&self) -> Result<Option<Ceilings>, Error> {
        ceilings::cuda::ceilings(self).map(Some)
    }

    fn chill(&self) -> Result<Option<Chill<'_>>, Error> {
        ceilings::cuda::chill(self).map(Some)
    }

    fn memory_use(&self) -> Option<(u64, u64)> {
        let used = host::executor::Cuda::memory_use(self);
        Some((used.now, used.peak))
    }

    fn reset_peak(&self) {
        host::executor::Cuda::reset_peak(self);
    }

    fn driver(&self) -> Option<String> {
        nvml_wrapper::Nvml::init().ok()?.sys_driver_version().ok()
    }

    fn clocks(&self) -> Option<Clocks> {
        use nvml_wrapper::enum_wrappers::device::Clock;
        let nvml = nvml_wrapper::Nvml::init().ok()?;
        let gpu = nvml.device_by_index(0).ok()?;
        let clock = |which| gpu.clock_info(which).ok();
        Some(Clocks { multiprocessor_mhz: clock(Clock::SM)?, memory_mhz: clock(Clock::Memory)? })
    }
}
