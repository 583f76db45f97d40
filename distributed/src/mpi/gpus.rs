//! Exchanges between the memory of GPUs, by an MPI that accepts its addresses ("CUDA-aware").

use std::ffi::c_int;
use std::mem;
use std::sync::{Arc, OnceLock};

use host::executor::PeerMemory;

use super::Shared;
use super::swap::Requests;
use crate::error::Error;
use crate::transport::{Channel, GpuExchange, GpuMemory, Messages};

/// Returns whether this process's MPI claims to accept addresses of GPU memory, or the reason why not, on one line.
pub(super) fn support() -> Result<(), String> {
    static SUPPORT: OnceLock<Result<(), String>> = OnceLock::new();
    SUPPORT.get_or_init(ask).clone()
}

fn ask() -> Result<(), String> {
    const NAME: &str = "MPIX_Query_cuda_support";
    // Not all MPI libraries have it, so it is looked up among the loaded symbols.
    let loaded = libloading::os::unix::Library::this();
    // SAFETY: Open MPI and MPICH declare it this way, and it may be called once MPI has started.
    let answer = unsafe { loaded.get::<unsafe extern "C" fn() -> c_int>(NAME).map(|query| query()) };
    match answer {
        Ok(0) => Err(format!("this MPI reports that it cannot access GPU memory ({NAME})")),
        Ok(_) => Ok(()),
        Err(_) => Err(format!("this MPI does not report whether it can access GPU memory (it has no {NAME})")),
    }
}

/// An exchange between GPUs.
pub(super) struct Swap {
    requests: Requests,
    memory: GpuMemory,
}

impl Swap {
    pub fn new(shared: &Arc<Shared>, channel: Channel, messages: &Messages, memory: GpuMemory) -> Result<Self, Error> {
        support().map_err(|reason| Error::Exchange { way: "mpi", reason })?;
        let fit = |messages: &[(usize, usize)], memory: &PeerMemory| {
            let bytes = messages.iter().try_fold(0usize, |sum, &(_, bytes)| sum.checked_add(bytes));
            bytes.is_some_and(|bytes| bytes <= memory.bytes())
        };
        if !fit(&messages.to, &memory.outgoing) || !fit(&messages.from, &memory.incoming) {
            return Err(Error::Exchange { way: "mpi", reason: "an array is too short for its messages".into() });
        }
        let (outgoing, incoming) = (memory.outgoing.address() as *const u8, memory.incoming.address() as *mut u8);
        // SAFETY: the arrays have the bytes of all messages, and this MPI accepts their addresses; `drop` frees them after
        // the requests, unless MPI may still use them. Kernels that use them meanwhile affect only their contents.
        let requests = unsafe { Requests::new(shared, channel, messages, outgoing, incoming) }?;
        Ok(Self { requests, memory })
    }
}

impl GpuExchange for Swap {
    fn start(&mut self) -> Result<(), Error> {
        self.requests.start()
    }

    fn wait(&mut self) -> Result<(), Error> {
        self.requests.wait()
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        if self.requests.is_active() {
            mem::forget(self.memory.clone());
        }
    }
}
