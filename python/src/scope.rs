//! Work without the interpreter, and the threads that it is spread over.

use std::sync::{Mutex, OnceLock, PoisonError};

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::failure::Failure;

/// The process that loaded this package. Its threads are rayon's own.
static LOADED_BY: OnceLock<u32> = OnceLock::new();

/// The threads of a process that was forked from it, and which process that is: a fork has none of its parent's threads,
/// and would wait for them for ever. Never dropped, because those of a parent cannot be joined.
static FORKED: Mutex<Option<(u32, &ThreadPool)>> = Mutex::new(None);

/// To be called when the package is loaded.
pub fn remember_process() {
    LOADED_BY.get_or_init(std::process::id);
}

/// The threads of this process, where it was forked after the package was loaded.
fn threads_of_fork() -> Result<Option<&'static ThreadPool>, Failure> {
    let process = std::process::id();
    if LOADED_BY.get().is_none_or(|&loaded_by| loaded_by == process) {
        return Ok(None);
    }
    // What is in there is whole between any two statements.
    let mut forked = FORKED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, threads)) = forked.filter(|&(owner, _)| owner == process) {
        return Ok(Some(threads));
    }
    let threads = ThreadPoolBuilder::new().build().map_err(|error| Failure::runtime(format!("no threads: {error}")))?;
    let threads: &ThreadPool = Box::leak(Box::new(threads));
    *forked = Some((process, threads));
    Ok(Some(threads))
}

/// Does `work` while other threads of Python go on, and leaves this one the CUDA context that it had: PyTorch and CuPy have
/// their own.
pub fn released<R: Send>(py: Python<'_>, work: impl FnOnce() -> Result<R, Failure> + Send) -> Result<R, Failure> {
    py.detach(|| {
        let work = || {
            // Dropped last: to free what is on a GPU makes its context the current one.
            #[cfg(feature = "cuda")]
            let _kept = host::executor::KeptContext::new();
            work()
        };
        match threads_of_fork()? {
            Some(threads) => threads.install(work),
            None => work(),
        }
    })
}
