//! Devices: where matrices are stored and multiplied.

#[cfg(feature = "cuda")]
use std::sync::{Mutex, PoisonError};

#[cfg(feature = "cuda")]
use host::executor::Cuda;
use host::executor::{Cpu, Executor};
use host::{Error, Vector};
use pyo3::prelude::*;
use solvers::preconditioner::Preconditioner;

use crate::failure::Failure;
use crate::numbers::Number;
use crate::preconditioner::AnyInverse;
use crate::scope::released;

/// An executor.
pub enum AnyExecutor {
    Cpu(Cpu),
    #[cfg(feature = "cuda")]
    Cuda(Cuda),
}

/// The GPUs in use, by their numbers: their matrices share kept memory and compiled kernels. They work on the stream
/// that other libraries use by default, so that products with their arrays need no events.
#[cfg(feature = "cuda")]
static GPUS: Mutex<Vec<(u32, Cuda)>> = Mutex::new(Vec::new());

#[cfg(feature = "cuda")]
pub fn gpu(number: u32) -> Result<Cuda, Failure> {
    // The list is complete between any two statements.
    let mut gpus = GPUS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, gpu)) = gpus.iter().find(|(known, _)| *known == number) {
        return Ok(gpu.clone());
    }
    let gpu = Cuda::on_default_stream(number)?;
    gpus.push((number, gpu.clone()));
    Ok(gpu)
}

/// Operations of this package on an executor.
pub trait Device: Executor {
    /// Copies a vector back to an array.
    fn read_back<T: Number>(&self, vector: &Vector<T, Self>, to: &mut [T]) -> Result<(), Error>;

    /// The preconditioner, if it is on such an executor.
    fn inverse<T: Number>(any: &mut AnyInverse<T>) -> Option<&mut Preconditioner<T, Self>>;
}

impl Device for Cpu {
    fn read_back<T: Number>(&self, vector: &Vec<T>, to: &mut [T]) -> Result<(), Error> {
        to.copy_from_slice(vector);
        Ok(())
    }

    #[allow(clippy::unnecessary_wraps, unreachable_patterns, reason = "without CUDA there is no other")]
    fn inverse<T: Number>(any: &mut AnyInverse<T>) -> Option<&mut Preconditioner<T, Self>> {
        match any {
            AnyInverse::Cpu(inverse) => Some(inverse),
            _ => None,
        }
    }
}

#[cfg(feature = "cuda")]
impl Device for Cuda {
    fn read_back<T: Number>(&self, vector: &Vector<T, Self>, to: &mut [T]) -> Result<(), Error> {
        to.copy_from_slice(&self.download(vector)?);
        Ok(())
    }

    fn inverse<T: Number>(any: &mut AnyInverse<T>) -> Option<&mut Preconditioner<T, Self>> {
        match any {
            AnyInverse::Cuda(inverse) => Some(inverse),
            AnyInverse::Cpu(_) => None,
        }
    }
}

impl AnyExecutor {
    /// The executor for a text such as "cpu", "cuda" or "cuda:1".
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
        Err(Error::Unavailable { executor: "cuda", reason }.into())
    }
}

/// The reason why no GPU is available, or `None` if there is one.
#[pyfunction]
pub fn why_no_gpu(py: Python<'_>) -> Option<String> {
    let tried = released(py, || AnyExecutor::new("cuda"));
    tried.err().map(|error| PyErr::from(error).value(py).to_string())
}
