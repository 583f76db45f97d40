//! What the lab asks of an executor besides multiplying: in one place for those of the host, and in one for GPUs.

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
    /// What takes the times.
    const TIMER: &'static str = "std::time::Instant around the call";

    /// Its name.
    fn name(&self) -> ExecutorName;

    /// Whether its times say anything: otherwise nothing is timed more than once.
    fn is_fast(&self) -> bool {
        matches!(self.name(), ExecutorName::Cpu | ExecutorName::Cuda)
    }

    /// How fast its memory is; none where that is not worth knowing.
    ///
    /// # Errors
    /// When memory runs out, or the device fails.
    fn memory_rates(&self) -> Result<Option<MemoryRates>, Error> {
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
    fn effort(&self, asked: Effort) -> Effort {
        if self.is_fast() { asked } else { Effort { warm_ups: 0, repetitions: 1, ..asked } }
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
    with_tuning(name, Asked::default(), work)
}

/// [`with`] the executor's usual sizes of grids, but for what is asked for.
///
/// # Errors
/// When there is no such executor on this machine, or it has no such sizes: those without kernels have none.
pub fn with_tuning<V: SubjectVisitor>(name: ExecutorName, asked: Asked, work: V) -> Result<V::Output, Error> {
    with_turn(name, asked, |_| 0, work)
}

/// [`with_tuning`] for one of several that each take a GPU in turn: the first takes the first, and after the last GPU comes
/// the first again.
///
/// # Errors
/// As for [`with_tuning`].
pub fn in_turn<V: SubjectVisitor>(name: ExecutorName, asked: Asked, turn: usize, work: V) -> Result<V::Output, Error> {
    with_turn(name, asked, |count| (turn % count.max(1) as usize) as u32, work)
}

/// On the GPU that is picked, by number, when it is told how many there are.
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
            let expected = "cuda or emulated: others have no grids";
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
