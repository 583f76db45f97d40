//! Devices: where matrices are and where they are multiplied.

#[cfg(feature = "cuda")]
use std::sync::{Mutex, PoisonError};

use host::executor::Cpu;
#[cfg(feature = "cuda")]
use host::executor::Cuda;
use pyo3::prelude::*;

use crate::failure::Failure;
use crate::scope::released;

/// An executor.
pub enum AnyExecutor {
    Cpu(Cpu),
    #[cfg(feature = "cuda")]
    Cuda(Cuda),
}

/// The GPUs in use, by their numbers: their matrices share memory that is kept, and compiled kernels.
#[cfg(feature = "cuda")]
static GPUS: Mutex<Vec<(u32, Cuda)>> = Mutex::new(Vec::new());

#[cfg(feature = "cuda")]
fn gpu(number: u32) -> Result<Cuda, Failure> {
    one_of(&GPUS, number, Cuda::new)
}

/// The same on the stream that other libraries use if nobody names another.
#[cfg(feature = "cuda")]
static GPUS_OF_OTHERS: Mutex<Vec<(u32, Cuda)>> = Mutex::new(Vec::new());

#[cfg(feature = "cuda")]
pub fn gpu_on_default_stream(number: u32) -> Result<Cuda, Failure> {
    one_of(&GPUS_OF_OTHERS, number, Cuda::on_default_stream)
}

#[cfg(feature = "cuda")]
fn one_of(
    gpus: &Mutex<Vec<(u32, Cuda)>>,
    number: u32,
    make: impl FnOnce(u32) -> Result<Cuda, host::Error>,
) -> Result<Cuda, Failure> {
    // The list is whole between any two statements.
    let mut gpus = gpus.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, gpu)) = gpus.iter().find(|(known, _)| *known == number) {
        return Ok(gpu.clone());
    }
    let gpu = make(number)?;
    gpus.push((number, gpu.clone()));
    Ok(gpu)
}

impl AnyExecutor {
    /// The executor of a text such as "cpu", "cuda" or "cuda:1".
    pub fn new(text: &str) -> Result<Self, Failure> {
        let number = match text {
            "cpu" => return Ok(Self::Cpu(Cpu::new())),
            "cuda" => Some(0),
            text => text.strip_prefix("cuda:").and_then(|number| number.parse().ok()),
        };
        let expected = || format!("device is '{text}', expected 'cpu', 'cuda', or 'cuda:' and a number");
        Self::cuda(number.ok_or_else(|| Failure::value(expected()))?)
    }

    #[cfg(feature = "cuda")]
    fn cuda(number: u32) -> Result<Self, Failure> {
        Ok(Self::Cuda(gpu(number)?))
    }

    #[cfg(not(feature = "cuda"))]
    fn cuda(_: u32) -> Result<Self, Failure> {
        let reason = "this package was built without the feature `cuda`".into();
        Err(host::Error::Unavailable { executor: "cuda", reason }.into())
    }
}

/// Why there is no GPU, or `None` where there is one.
#[pyfunction]
pub fn why_no_gpu(py: Python<'_>) -> Option<String> {
    let tried = released(py, || AnyExecutor::new("cuda"));
    tried.err().map(|error| PyErr::from(error).value(py).to_string())
}
