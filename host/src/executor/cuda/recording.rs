//! Launches that are recorded as a CUDA graph and repeated.

use std::ptr::null_mut;
use std::sync::Arc;

use cust::sys::{CUgraphExec, CUresult, cuGraphExecDestroy, cuGraphInstantiateWithFlags, cuGraphLaunch};

use super::driver::driver;
use super::kernels::Loaded;
use super::recorder::destroy;
use crate::error::Error;

/// What is kept of work that is repeated.
#[derive(Default)]
pub enum CudaRecording {
    /// Nothing: the work was not done yet, so its kernels may have to be compiled, which cannot be recorded.
    #[default]
    Empty,
    /// Nothing yet: the work was done once.
    Known,
    /// Its launches.
    #[expect(private_interfaces, reason = "nobody outside makes one")]
    Recorded(Graph),
    /// It cannot be recorded.
    Refused,
}

/// A graph that can be launched.
pub(super) struct Graph {
    executable: CUgraphExec,
    /// The kernels that the graph launches, and the owner of its arrays.
    kernels: Arc<Loaded>,
    /// The number of the owner's arrays that had been freed when the graph was recorded. When another one is freed, the graph
    /// may be using it; it uses no arrays of others, for launches refuse them.
    freed: u64,
}

// SAFETY: a graph can be launched from any thread, by one at a time.
unsafe impl Send for Graph {}

impl Drop for Graph {
    fn drop(&mut self) {
        // Where the context cannot be had, the graph is gone with it.
        let _ = self.kernels.owner.enter();
        // SAFETY: nothing uses it afterwards; the driver keeps what still runs.
        unsafe { cuGraphExecDestroy(self.executable) };
    }
}

impl Graph {
    /// Records what the work launches, without doing it. `None` if that is not possible.
    fn record(kernels: &Arc<Loaded>, work: &mut dyn FnMut() -> Result<(), Error>) -> Option<Self> {
        let owner = &kernels.owner;
        owner.enter().ok()?;
        let freed = owner.meter.freed();
        let mut capture = owner.recorder.begin()?;
        let done = work();
        let graph = capture.end();
        drop(capture);
        let mut executable = null_mut();
        let instantiated = done.is_ok() && !graph.is_null() && {
            // SAFETY: the graph is there.
            let result = unsafe { cuGraphInstantiateWithFlags(&mut executable, graph, 0) };
            result == CUresult::CUDA_SUCCESS
        };
        destroy(graph);
        let graph = instantiated.then(|| Self { executable, kernels: kernels.clone(), freed })?;
        graph.is_valid(kernels).then_some(graph)
    }

    /// Whether everything that the graph uses is still there.
    fn is_valid(&self, kernels: &Arc<Loaded>) -> bool {
        Arc::ptr_eq(&self.kernels, kernels) && self.freed == kernels.owner.meter.freed()
    }

    fn launch(&self) -> Result<(), Error> {
        let owner = &self.kernels.owner;
        owner.enter()?;
        // SAFETY: the modules of the graph's kernels are kept by `kernels`, and its arrays exist, because none was freed
        // since: see `is_valid`. A recorded launch kept its kernel's promises, and launches on one stream come one after the
        // other.
        let result = unsafe { cuGraphLaunch(self.executable, owner.stream().as_inner()) };
        driver(result, "launching a recording")
    }
}

impl CudaRecording {
    /// Does the work once, or launches what is recorded of it.
    pub(super) fn play(
        &mut self,
        kernels: &Arc<Loaded>,
        work: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<(), Error> {
        match self {
            Self::Recorded(graph) if graph.is_valid(kernels) && !kernels.owner.recorder.is_recording() => {
                graph.launch()
            }
            Self::Empty => {
                *self = Self::Known;
                work()
            }
            Self::Known | Self::Recorded(_) => match Graph::record(kernels, work) {
                Some(graph) => {
                    *self = Self::Recorded(graph);
                    self.play(kernels, work)
                }
                None => {
                    *self = Self::Refused;
                    work()
                }
            },
            Self::Refused => work(),
        }
    }
}
