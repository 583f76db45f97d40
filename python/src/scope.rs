//! Work without the interpreter.

use pyo3::prelude::*;

use crate::failure::Failure;

/// Does `work` while other threads of Python go on, and leaves this one the CUDA context that it had: PyTorch and CuPy have
/// their own.
pub fn released<R: Send>(py: Python<'_>, work: impl FnOnce() -> Result<R, Failure> + Send) -> Result<R, Failure> {
    py.detach(|| {
        // Dropped last: to free what is on a GPU makes its context the current one.
        #[cfg(feature = "cuda")]
        let _kept = host::executor::KeptContext::new();
        work()
    })
}
