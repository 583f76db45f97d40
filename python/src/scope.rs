//! Work without the interpreter, and the threads that share it.

use std::sync::{Mutex, OnceLock, PoisonError};

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::failure::Failure;

/// The process that loaded this package. It uses rayon's own threads.
static LOADED_BY: OnceLock<u32> = OnceLock::new();

/// The threads of a forked process, with its identity: a fork has none of its parent's threads, and would wait for them
/// forever. Never dropped, because a parent's threads cannot be joined.
static FORKED: Mutex<Option<(u32, &ThreadPool)>> = Mutex::new(None);

/// To be called when the package is loaded.
pub fn remember_process() {
    LOADED_BY.get_or_init(std::process::id);
}

/// The threads of this process, if it was forked after the package was loaded.
fn threads_of_fork() -> Result<Option<&'static ThreadPool>, Failure> {
    let process = std::process::id();
    if LOADED_BY.get().is_none_or(|&loaded_by| loaded_by == process) {
        return Ok(None);
    }
    // The contents are consistent between any two statements.
    let mut forked = FORKED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, threads)) = forked.filter(|&(owner, _)| owner == process) {
        return Ok(Some(threads));
    }
    let threads = ThreadPoolBuilder::new().build().map_err(|error| Failure::runtime(format!("no threads: {error}")))?;
    let threads: &ThreadPool = Box::leak(Box::new(threads));
    *forked = Some((process, threads));
    Ok(Some(threads))
}

/// Does `work` while other Python threads continue, and restores this thread's CUDA context, since PyTorch and CuPy have
/// their own.
pub fn released<R: Send>(py: Python<'_>, work: impl FnOnce() -> Result<R, Failure> + Send) -> Result<R, Failure> {
    py.detach(|| {
        let work = || {
            // Dropped last, since freeing GPU memory makes its context current.
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
