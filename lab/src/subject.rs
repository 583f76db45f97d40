//! The lab's interface to executors besides multiplying: one place for those of the host, and one for GPUs.

use host::Error;
use host::executor::{Cpu, Emulated, Executor, ExecutorName, HostExecutor, Reference};

use crate::ceilings::{self, MemoryRates};
use crate::memory;
use crate::peers::WithPeers;
use crate::record::Clocks;
use crate::timing::Effort;
use crate::tuning::Asked;

/// Clears the caches.
pub type Chill<'s> = Box<dyn FnMut() -> Result<(), Error> + 's>;

/// An executor that can be measured.
pub trait Subject: WithPeers {
    /// The timer.
    const TIMER: &'static str = "std::time::Instant around the call";

    /// Returns the name.
    fn name(&self) -> ExecutorName;

    /// Returns whether its times are meaningful: otherwise everything is timed only once.
    fn is_fast(&self) -> bool {
        matches!(self.name(), ExecutorName::Cpu | ExecutorName::Cuda)
    }

    /// Speeds of its memory; `None` if they are of no interest.
    ///
    /// # Errors
    /// When memory runs out, or the device fails.
    fn memory_rates(&self) -> Result<Option<MemoryRates>, Error> {
        Ok(None)
    }

    /// Returns a function that evicts matrix and vectors from the caches; `None` if times do not depend on them.
    ///
    /// # Errors
    /// When memory runs out, or the device fails.
    fn chill(&self) -> Result<Option<Chill<'_>>, Error> {
        Ok(None)
    }

    /// Returns the bytes of its memory in use, and their peak since [`reset_peak`](Self::reset_peak); `None` if nothing
    /// counts them.
    fn memory_use(&self) -> Option<(u64, u64)> {
        memory::used()
    }

    /// Resets the peak.
    fn reset_peak(&self) {
        memory::reset_peak();
    }

    /// Returns the version of the driver.
    fn driver(&self) -> Option<String> {
        None
    }

    /// Returns the current clocks.
    fn clocks(&self) -> Option<Clocks> {
        None
    }

    /// Returns `asked` if times are meaningful, otherwise a single repetition without warm-ups.
    fn effort(&self, asked: Effort) -> Effort {
        if self.is_fast() { asked } else { Effort { warm_ups: 0, repetitions: 1, ..asked } }
    }
}

/// Work for any executor that can be measured.
pub trait SubjectVisitor {
    /// The result.
    type Output;

    /// Does the work.
    fn visit<S: Subject>(self, subject: &S) -> Self::Output;
}

/// Makes the executor `name` and does `work` on it.
///
/// # Errors
/// When this machine has no such executor.
pub fn with<V: SubjectVisitor>(name: ExecutorName, work: V) -> Result<V::Output, Error> {
    with_tuning(name, Asked::default(), work)
}

/// [`with`] the requested grid sizes, and otherwise the executor's usual ones.
///
/// # Errors
/// When this machine has no such executor, or it does not support such sizes; executors without kernels support none.
pub fn with_tuning<V: SubjectVisitor>(name: ExecutorName, asked: Asked, work: V) -> Result<V::Output, Error> {
    with_turn(name, asked, |_| 0, work)
}

/// [`with_tuning`] for one of several users that take GPUs in turn: the first takes the first GPU, and the first GPU
/// follows the last.
///
/// # Errors
/// As for [`with_tuning`].
pub fn in_turn<V: SubjectVisitor>(name: ExecutorName, asked: Asked, turn: usize, work: V) -> Result<V::Output, Error> {
    with_turn(name, asked, |count| (turn % count.max(1) as usize) as u32, work)
}

/// Does `work` on the GPU whose number `pick` returns for the number of GPUs.
fn with_turn<V: SubjectVisitor>(
    name: ExecutorName,
    asked: Asked,
    pick: impl Fn(u32) -> u32,
    work: V,
) -> Result<V::Output, Error> {
    #[cfg(not(feature = "cuda"))]
    let _ = pick;
    match name {
        ExecutorName::Reference | ExecutorName::Cpu if asked.if_any().is_some() => {
            let expected = "cuda or emulated: other executors have no grids";
            Err(Error::Setting { what: "the executor", value: format!("{name} with {asked}"), expected })
        }
        ExecutorName::Reference => Ok(work.visit(&HostExecutor::from(Reference::new()))),
        ExecutorName::Cpu => Ok(work.visit(&HostExecutor::from(Cpu::new()))),
        ExecutorName::Emulated => Ok(work.visit(&tuned_emulator(asked)?)),
        #[cfg(feature = "cuda")]
        ExecutorName::Cuda => {
            let cuda = host::executor::Cuda::new(pick(host::executor::Cuda::count()?))?;
            let tuning = asked.of(cuda.device().tuning)?;
            Ok(work.visit(&cuda.with_tuning(tuning)))
        }
        #[cfg(not(feature = "cuda"))]
        ExecutorName::Cuda => Err(Error::Unavailable {
            executor: "cuda",
            reason: "this program was built without the feature `cuda`".into(),
        }),
    }
}

fn tuned_emulator(asked: Asked) -> Result<HostExecutor, Error> {
    let emulated = Emulated::new(0);
    let tuning = asked.of(emulated.device().tuning)?;
    Ok(emulated.with_tuning(tuning).into())
}

impl Subject for HostExecutor {
    fn name(&self) -> ExecutorName {
        HostExecutor::name(self)
    }

    fn memory_rates(&self) -> Result<Option<MemoryRates>, Error> {
        self.is_fast().then(|| ceilings::rates_of_cpu(self)).transpose()
    }

    fn chill(&self) -> Result<Option<Chill<'_>>, Error> {
        self.is_fast().then(|| ceilings::chill_cpu(self)).transpose()
    }
}

#[cfg(feature = "cuda")]
impl Subject for host::executor::Cuda {
    const TIMER: &'static str = "CUDA events around the call";

    fn name(&self) -> ExecutorName {
        ExecutorName::Cuda
    }

    fn memory_rates(&self) -> Result<Option<MemoryRates>, Error> {
        ceilings::cuda::rates(self).map(Some)
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
