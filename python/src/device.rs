//! Devices: where matrices are and where they are multiplied.

#[cfg(feature = "cuda")]
use std::sync::{Mutex, PoisonError};

#[cfg(feature = "cuda")]
use host::executor::Cuda;
use host::executor::{Cpu, Emulated, ExecutorName, HostExecutor, Reference};
use pyo3::prelude::*;

use crate::failure::Failure;
use crate::scope::released;

/// Executors by what is generic over them.
pub enum AnyExecutor {
    Host(HostExecutor),
    #[cfg(feature = "cuda")]
    Cuda(Cuda),
}

/// The GPUs in use, by their numbers: their matrices share memory that is kept, and compiled kernels.
#[cfg(feature = "cuda")]
static GPUS: Mutex<Vec<(u32, Cuda)>> = Mutex::new(Vec::new());

#[cfg(feature = "cuda")]
fn gpu(number: u32) -> Result<Cuda, Failure> {
    // The list is whole between any two statements.
    let mut gpus = GPUS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, gpu)) = gpus.iter().find(|(known, _)| *known == number) {
        return Ok(gpu.clone());
    }
    let gpu = Cuda::new(number)?;
    gpus.push((number, gpu.clone()));
    Ok(gpu)
}

impl AnyExecutor {
    /// The executor of a text such as "cpu", "cuda" or "cuda:1".
    pub fn new(text: &str) -> Result<Self, Failure> {
        let (name, number) = match text.split_once(':') {
            Some((name, number)) => (name, Some(number)),
            None => (text, None),
        };
        let name: ExecutorName = name.parse()?;
        let number = match number {
            Some(number) if name == ExecutorName::Cuda => number
                .parse()
                .map_err(|_| Failure::value(format!("device is '{text}', expected 'cuda:' and a number")))?,
            Some(_) => return Err(Failure::value(format!("device is '{text}', expected '{name}'"))),
            None => 0,
        };
        Ok(match name {
            ExecutorName::Reference => Self::Host(Reference::new().into()),
            ExecutorName::Cpu => Self::Host(Cpu::new().into()),
            ExecutorName::Emulated => Self::Host(Emulated::new(0).into()),
            ExecutorName::Cuda => Self::cuda(number)?,
        })
    }

    #[cfg(feature = "cuda")]
    fn cuda(number: u32) -> Result<Self, Failure> {
        Ok(Self::Cuda(gpu(number)?))
    }

    #[cfg(not(feature = "cuda"))]
    fn cuda(_: u32) -> Result<Self, Failure> {
        let reason = "this package was built without the feature `cuda`".into();
        Err(host::Error::Unavailable { executor: ExecutorName::Cuda.name(), reason }.into())
    }
}

/// Why there is no GPU, or `None` where there is one.
#[pyfunction]
pub fn why_no_gpu(py: Python<'_>) -> Option<String> {
    let tried = released(py, || Ok(AnyExecutor::new(ExecutorName::Cuda.name())?));
    tried.err().map(|error| PyErr::from(error).value(py).to_string())
}
