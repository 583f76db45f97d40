//! The executors by name.

use std::fmt;
use std::str::FromStr;

use super::cpu::Cpu;
#[cfg(feature = "cuda")]
use super::cuda::Cuda;
use super::emulated::Emulated;
use super::host_executor::HostExecutor;
use super::operation::Executor;
use super::reference::Reference;
use crate::error::Error;

/// The names of the executors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExecutorName {
    /// [`Reference`].
    Reference,
    /// [`Cpu`].
    Cpu,
    /// [`Emulated`].
    Emulated,
    /// `Cuda`; requires the feature `cuda`.
    Cuda,
}

/// Work that can run on any executor.
pub trait ExecutorVisitor {
    /// The result.
    type Output;

    /// Does the work.
    fn visit<E: Executor>(self, executor: &E) -> Self::Output;
}

impl ExecutorName {
    /// Every executor.
    pub const ALL: &[Self] = &[Self::Reference, Self::Cpu, Self::Emulated, Self::Cuda];

    /// The name, as accepted by [`FromStr`].
    pub fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Cpu => "cpu",
            Self::Emulated => "emulated",
            Self::Cuda => "cuda",
        }
    }

    /// Creates the executor with this name and does `work` on it.
    ///
    /// # Errors
    /// When the executor is not available on this machine.
    pub fn with<V: ExecutorVisitor>(self, work: V) -> Result<V::Output, Error> {
        match self {
            Self::Reference => Ok(work.visit(&HostExecutor::from(Reference::new()))),
            Self::Cpu => Ok(work.visit(&HostExecutor::from(Cpu::new()))),
            Self::Emulated => Ok(work.visit(&HostExecutor::from(Emulated::new(0)))),
            #[cfg(feature = "cuda")]
            Self::Cuda => Ok(work.visit(&Cuda::new(0)?)),
            #[cfg(not(feature = "cuda"))]
            Self::Cuda => Err(Error::Unavailable {
                executor: "cuda",
                reason: "this program was built without the feature `cuda`".into(),
            }),
        }
    }
}

impl fmt::Display for ExecutorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for ExecutorName {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL.iter().copied().find(|executor| executor.name() == name).ok_or_else(|| Error::Name {
            what: "executor",
            name: name.into(),
            expected: Self::ALL.iter().map(|executor| executor.name()).collect::<Vec<_>>().join(", "),
        })
    }
}
