//! Launches that are recorded as a CUDA graph and repeated.

use std::ptr::null_mut;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;

use cust::error::CudaResult;
use cust::stream::{Stream, StreamFlags};
use cust::sys::{
    CUgraph, CUgraphExec, CUresult, CUstreamCaptureMode, cuGraphDestroy, cuGraphExecDestroy,
    cuGraphInstantiateWithFlags, cuGraphLaunch, cuStreamBeginCapture_v2, cuStreamEndCapture,
};

use super::driver::driver;
use super::owner::Owner;
use crate::error::Error;

/// The stream of an executor that launches are recorded on: by one thread at a time. Other threads go on launching.
pub(super) struct Recorder {
    stream: Stream,
    thread: Mutex<Option<ThreadId>>,
}

impl Recorder {
    pub(super) fn new() -> CudaResult<Self> {
        Ok(Self { stream: Stream::new(StreamFlags::NON_BLOCKING, None)?, thread: Mutex::default() })
    }

    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Whether this thread records.
    pub(super) fn is_recording(&self) -> bool {
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) == Some(std::thread::current().id())
    }

    /// Begins to record what this thread launches, unless a thread records already or the driver does not want to.
    fn begin(&self) -> Option<Capture<'_>> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_some() {
            return None;
        }
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is there, and nothing else uses it.
        let begun = unsafe { cuStreamBeginCapture_v2(self.stream.as_inner(), mode) };
        *thread = (begun == CUresult::CUDA_SUCCESS).then(|| std::thread::current().id());
        thread.map(|_| Capture { recorder: self, ended: false })
    }
}

/// A recording in progress; ends when it is dropped.
struct Capture<'a> {
    recorder: &'a Recorder,
    ended: bool,
}

impl Capture<'_> {
    /// The graph of what was launched, or null if something could not be recorded, or it was taken before.
    fn end(&mut self) -> CUgraph {
        let mut graph = null_mut();
        if !std::mem::replace(&mut self.ended, true) {
            // SAFETY: the stream is there; a failure leaves null or a graph.
            unsafe { cuStreamEndCapture(self.recorder.stream.as_inner(), &mut graph) };
        }
        graph
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        let graph = self.end();
        destroy(graph);
        *self.recorder.thread.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

fn destroy(graph: CUgraph) {
    if !graph.is_null() {
        // SAFETY: the graph is there, and nothing uses it afterwards.
        unsafe { cuGraphDestroy(graph) };
    }
}

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
    /// The executor's: the graph launches its kernels.
    owner: Arc<Owner>,
    /// The number of the owner's arrays that had been freed when the graph was recorded. When another one is freed, the graph
    /// may be using it; it uses no arrays of others, for launches refuse them.
    freed: u64,
}

// SAFETY: a graph can be launched from any thread, by one at a time.
unsafe impl Send for Graph {}

impl Drop for Graph {
    fn drop(&mut self) {
        // Where the context cannot be had, the graph is gone with it.
        let _ = self.owner.enter();
        // SAFETY: nothing uses it afterwards; the driver keeps what still runs.
        unsafe { cuGraphExecDestroy(self.executable) };
    }
}

impl Graph {
    /// Records what the work launches, without doing it. `None` if that is not possible.
    fn record(recorder: &Recorder, owner: &Arc<Owner>, work: &mut dyn FnMut() -> Result<(), Error>) -> Option<Self> {
        owner.enter().ok()?;
        let freed = owner.meter.freed();
        let mut capture = recorder.begin()?;
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
        let graph = instantiated.then(|| Self { executable, owner: owner.clone(), freed })?;
        graph.is_valid(owner).then_some(graph)
    }

    /// Whether everything that the graph uses is still there.
    fn is_valid(&self, owner: &Arc<Owner>) -> bool {
        Arc::ptr_eq(&self.owner, owner) && self.freed == owner.meter.freed()
    }

    fn launch(&self) -> Result<(), Error> {
        self.owner.enter()?;
        // SAFETY: the graph's kernels are this executor's, and its arrays are there, because none was freed since: see
        // `is_valid`. A recorded launch kept its kernel's promises, and launches on one stream come one after the other.
        let result = unsafe { cuGraphLaunch(self.executable, self.owner.stream().as_inner()) };
        driver(result, "launching a recording")
    }
}

impl CudaRecording {
    /// Does the work once, or launches what is recorded of it.
    pub(super) fn play(
        &mut self,
        recorder: &Recorder,
        owner: &Arc<Owner>,
        work: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<(), Error> {
        match self {
            Self::Recorded(graph) if graph.is_valid(owner) && !recorder.is_recording() => graph.launch(),
            Self::Empty => {
                *self = Self::Known;
                work()
            }
            Self::Known | Self::Recorded(_) => match Graph::record(recorder, owner, work) {
                Some(graph) => {
                    *self = Self::Recorded(graph);
                    self.play(recorder, owner, work)
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
