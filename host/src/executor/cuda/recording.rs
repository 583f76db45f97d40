//! Launches that are recorded as a CUDA graph and repeated.

use std::ptr::null_mut;
use std::sync::Arc;

use cust::sys::{CUgraphExec, CUresult, cuGraphExecDestroy, cuGraphInstantiateWithFlags, cuGraphLaunch};

use super::driver::driver;
use super::kernels::Loaded;
use super::recorder::destroy;
use crate::error::Error;

/// The recording of repeated work.
#[derive(Default)]
pub enum CudaRecording {
    /// Nothing: the work has not run yet, so its kernels may have to be compiled, which cannot be recorded.
    #[default]
    Empty,
    /// Nothing yet: the work has run once.
    Known,
    /// Its launches.
    #[expect(private_interfaces, reason = "nobody outside makes one")]
    Recorded(Graph),
    /// The work cannot be recorded.
    Refused,
}

/// A graph that can be launched.
pub(super) struct Graph {
    executable: CUgraphExec,
    /// The kernels that the graph launches, and the owner of its arrays.
    kernels: Arc<Loaded>,
    /// Number of the owner's arrays that had been freed when the graph was recorded. If another is freed, the graph may be
    /// using it; the graph uses no arrays of other executors, since launches reject them.
    freed: u64,
}

// SAFETY: a graph can be launched from any thread, one at a time.
unsafe impl Send for Graph {}

impl Drop for Graph {
    fn drop(&mut self) {
        // If the context cannot be entered, the graph is gone with it.
        let _ = self.kernels.owner.enter_to_free();
        // SAFETY: nothing uses it afterwards; the driver keeps whatever is still running.
        unsafe { cuGraphExecDestroy(self.executable) };
    }
}

impl Graph {
    /// Records the launches of the work without running them. Returns `None` if that is not possible.
    fn record(kernels: &Arc<Loaded>, work: &mut dyn FnMut() -> Result<(), Error>) -> Option<Self> {
        let owner = &kernels.owner;
        owner.enter().ok()?;
        let freed = owner.meter.freed();
        let mut capture = owner.recorder.begin(address(kernels))?;
        let done = work();
        let graph = capture.end();
        drop(capture);
        let mut executable = null_mut();
        let instantiated = done.is_ok() && !graph.is_null() && {
            // SAFETY: the graph exists.
            let result = unsafe { cuGraphInstantiateWithFlags(&mut executable, graph, 0) };
            result == CUresult::CUDA_SUCCESS
        };
        destroy(graph);
        instantiated.then(|| Self { executable, kernels: kernels.clone(), freed })
    }

    /// Launches the graph if everything it uses still exists, and returns whether it did.
    fn launch(&self, kernels: &Arc<Loaded>) -> Result<bool, Error> {
        let owner = &kernels.owner;
        owner.enter()?;
        let _freeing = owner.freeing.lock();
        if !Arc::ptr_eq(&self.kernels, kernels) || self.freed != owner.meter.freed() {
            return Ok(false);
        }
        // SAFETY: the graph's kernels are all in `kernels`, which keeps their modules. Its arrays exist: none has been freed
        // since it was recorded, and any freed from now on is freed after it, on the same stream. A recorded launch has met
        // its kernel's conditions.
        let result = unsafe { cuGraphLaunch(self.executable, owner.stream().handle()) };
        driver(result, "launching a recording").map(|()| true)
    }
}

/// Distinguishes live kernels from others.
pub(super) fn address(kernels: &Arc<Loaded>) -> usize {
    Arc::as_ptr(kernels).addr()
}

impl CudaRecording {
    /// Does the work once, or launches its recording.
    pub(super) fn play(
        &mut self,
        kernels: &Arc<Loaded>,
        work: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<(), Error> {
        match self {
            Self::Recorded(graph) if !kernels.owner.recorder.is_recording() && graph.launch(kernels)? => Ok(()),
            Self::Empty => {
                *self = Self::Known;
                work()
            }
            Self::Known | Self::Recorded(_) => match Graph::record(kernels, work) {
                Some(graph) if graph.launch(kernels)? => {
                    *self = Self::Recorded(graph);
                    Ok(())
                }
                recorded => {
                    // Another thread may have freed an array meanwhile; the next attempt may succeed.
                    *self = if recorded.is_some() { Self::Known } else { Self::Refused };
                    work()
                }
            },
            Self::Refused => work(),
        }
    }
}
