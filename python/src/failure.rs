//! Errors as exceptions.

use std::io;

use host::Error;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(
    warp_spmv,
    DeviceError,
    PyRuntimeError,
    "The device is not available on this machine or in this build, or it failed."
);

/// An exception to be raised.
pub struct Failure(PyErr);

impl Failure {
    /// A `ValueError`.
    pub fn value(message: impl Into<String>) -> Self {
        Self(PyValueError::new_err(message.into()))
    }

    /// A `TypeError`.
    pub fn number_type(message: impl Into<String>) -> Self {
        Self(PyTypeError::new_err(message.into()))
    }

    /// A `RuntimeError`.
    pub fn runtime(message: impl Into<String>) -> Self {
        Self(PyRuntimeError::new_err(message.into()))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self(match error {
            Error::OutOfMemory { .. } => PyMemoryError::new_err(error.to_string()),
            Error::Unavailable { .. } | Error::Cuda { .. } | Error::Emulator(_) => {
                DeviceError::new_err(error.to_string())
            }
            // Python turns it into a FileNotFoundError, or another class according to the number.
            Error::File { path, source } => match source.raw_os_error() {
                Some(number) => {
                    let reason = source.to_string();
                    let reason = reason.trim_end_matches(&format!(" (os error {number})")).to_owned();
                    PyOSError::new_err((number, reason, path.into_os_string()))
                }
                None => io::Error::new(source.kind(), format!("{}: {source}", path.display())).into(),
            },
            // The user's function raised it.
            Error::Operation(source) => match source.downcast::<PyErr>() {
                Ok(raised) => *raised,
                Err(source) => PyValueError::new_err(source.to_string()),
            },
            // Arrays of other executors are never passed to a plan here.
            Error::Foreign { .. } => PyRuntimeError::new_err(error.to_string()),
            _ => PyValueError::new_err(error.to_string()),
        })
    }
}

impl From<synthetic::Error> for Failure {
    fn from(error: synthetic::Error) -> Self {
        match error {
            synthetic::Error::Matrix(error) => error.into(),
            synthetic::Error::Memory { .. } => Self(PyMemoryError::new_err(error.to_string())),
            _ => Self::value(error.to_string()),
        }
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self(error)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        failure.0
    }
}
