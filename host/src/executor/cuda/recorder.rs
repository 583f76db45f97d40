//! The stream that launches are recorded on.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::ThreadId;

use cust::error::CudaResult;
use cust::stream::{Stream, StreamFlags};
use cust::sys::{CUgraph, CUresult, CUstreamCaptureMode, cuGraphDestroy, cuStreamBeginCapture_v2, cuStreamEndCapture};

/// The stream of an executor that launches are recorded on: by one thread at a time. Other threads go on launching.
pub(super) struct Recorder {
    stream: Stream,
    thread: Mutex<Option<ThreadId>>,
    /// Whether any thread records.
    busy: AtomicBool,
}

impl Recorder {
    pub(super) fn new() -> CudaResult<Self> {
        Ok(Self {
            stream: Stream::new(StreamFlags::NON_BLOCKING, None)?,
            thread: Mutex::default(),
            busy: AtomicBool::new(false),
        })
    }

    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Whether this thread records.
    pub(super) fn is_recording(&self) -> bool {
        // Each launch asks. A thread that records has set `busy` itself.
        self.busy.load(Ordering::Relaxed)
            && *self.thread.lock().unwrap_or_else(PoisonError::into_inner) == Some(std::thread::current().id())
    }

    /// Begins to record what this thread launches, unless a thread records already or the driver does not want to.
    pub(super) fn begin(&self) -> Option<Capture<'_>> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_some() {
            return None;
        }
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is there, and nothing else uses it.
        let begun = unsafe { cuStreamBeginCapture_v2(self.stream.as_inner(), mode) };
        *thread = (begun == CUresult::CUDA_SUCCESS).then(|| std::thread::current().id());
        self.busy.store(thread.is_some(), Ordering::Relaxed);
        thread.map(|_| Capture { recorder: self, ended: false })
    }
}

/// A recording in progress; ends when it is dropped.
pub(super) struct Capture<'a> {
    recorder: &'a Recorder,
    ended: bool,
}

impl Capture<'_> {
    /// The graph of what was launched, or null if something could not be recorded, or it was taken before.
    pub(super) fn end(&mut self) -> CUgraph {
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
        let mut thread = self.recorder.thread.lock().unwrap_or_else(PoisonError::into_inner);
        self.recorder.busy.store(false, Ordering::Relaxed);
        *thread = None;
    }
}

pub(super) fn destroy(graph: CUgraph) {
    if !graph.is_null() {
        // SAFETY: the graph is there, and nothing uses it afterwards.
        unsafe { cuGraphDestroy(graph) };
    }
}
