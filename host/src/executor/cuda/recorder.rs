//! The stream on which launches are recorded.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

use cust::sys::{CUgraph, CUresult, CUstreamCaptureMode, cuGraphDestroy, cuStreamBeginCapture_v2, cuStreamEndCapture};

use super::stream::Stream;

/// The stream of an executor on which launches are recorded, by one thread at a time. Other threads continue to launch.
pub(super) struct Recorder {
    stream: Stream,
    /// The recording thread, and the address of the kernels that its recording will keep.
    recording: Mutex<Option<(ThreadId, usize)>>,
    /// Whether any thread is recording.
    busy: AtomicBool,
}

impl Recorder {
    pub(super) fn new() -> Result<Self, CUresult> {
        Ok(Self { stream: Stream::non_blocking()?, recording: Mutex::default(), busy: AtomicBool::new(false) })
    }

    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Whether this thread is recording.
    pub(super) fn is_recording(&self) -> bool {
        self.of_this_thread().is_some()
    }

    /// If this thread is recording: whether the recording will keep these kernels.
    pub(super) fn keeps(&self, kernels: usize) -> Option<bool> {
        self.of_this_thread().map(|kept| kept == kernels)
    }

    /// The address of the kernels of this thread's recording.
    fn of_this_thread(&self) -> Option<usize> {
        // Called at each launch. A recording thread has set `busy` itself.
        if !self.busy.load(Ordering::Relaxed) {
            return None;
        }
        self.lock().and_then(|(thread, kernels)| (thread == std::thread::current().id()).then_some(kernels))
    }

    // A thread that panicked while holding the lock left the data consistent.
    fn lock(&self) -> MutexGuard<'_, Option<(ThreadId, usize)>> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to record this thread's launches of the kernels at this address, which stay alive meanwhile. Returns
    /// `None` if a thread is already recording or the driver refuses.
    pub(super) fn begin(&self, kernels: usize) -> Option<Capture<'_>> {
        let mut recording = self.lock();
        if recording.is_some() {
            return None;
        }
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream exists, and nothing else uses it.
        let begun = unsafe { cuStreamBeginCapture_v2(self.stream.handle(), mode) };
        if begun != CUresult::CUDA_SUCCESS {
            return None;
        }
        *recording = Some((std::thread::current().id(), kernels));
        self.busy.store(true, Ordering::Relaxed);
        Some(Capture { recorder: self, ended: false })
    }
}

/// A recording in progress, which ends when it is dropped.
pub(super) struct Capture<'a> {
    recorder: &'a Recorder,
    ended: bool,
}

impl Capture<'_> {
    /// The graph of the launches, or null if something could not be recorded or the graph was taken before.
    pub(super) fn end(&mut self) -> CUgraph {
        let mut graph = null_mut();
        if !std::mem::replace(&mut self.ended, true) {
            // SAFETY: the stream exists; a failure leaves null or a graph.
            unsafe { cuStreamEndCapture(self.recorder.stream.handle(), &mut graph) };
        }
        graph
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        let graph = self.end();
        destroy(graph);
        let mut recording = self.recorder.lock();
        self.recorder.busy.store(false, Ordering::Relaxed);
        *recording = None;
    }
}

pub(super) fn destroy(graph: CUgraph) {
    if !graph.is_null() {
        // SAFETY: the graph exists, and nothing uses it afterwards.
        unsafe { cuGraphDestroy(graph) };
    }
}
