//! Streams of executors and of the caller.

use std::ptr::null_mut;
use std::thread::{self, ThreadId};

use cust::sys::{
    CUresult, CUstream, CUstream_flags, CUstreamCaptureStatus, cuCtxGetStreamPriorityRange, cuStreamCreate,
    cuStreamCreateWithPriority, cuStreamDestroy_v2, cuStreamIsCapturing, cuStreamSynchronize, cuStreamWaitEvent,
};

use super::driver::driver;
use super::event::Event;
use crate::error::Error;

/// The largest handle of a default stream: 0 and 1 are the legacy one, 2 is the thread's.
const LAST_DEFAULT: usize = 2;

/// A stream of the driver.
pub(super) struct Stream {
    handle: CUstream,
    of: Of,
}

/// The owner of a stream.
enum Of {
    /// The executor's, which destroys it.
    Executor,
    /// The surrounding program.
    Caller,
    /// A thread's default stream; on other threads, its handle refers to another stream.
    Thread(ThreadId),
}

// SAFETY: the driver accepts calls for a stream from any thread.
unsafe impl Send for Stream {}
// SAFETY: the driver accepts calls for a stream from several threads at once.
unsafe impl Sync for Stream {}

impl Stream {
    /// A stream that the legacy default stream waits for, and that waits for the legacy default stream.
    pub fn blocking() -> Result<Self, CUresult> {
        Self::with_flags(CUstream_flags::CU_STREAM_DEFAULT)
    }

    /// A stream that waits for no other and that no other waits for, unless requested. Only such a stream can record
    /// launches while other threads use the legacy default stream.
    pub fn non_blocking() -> Result<Self, CUresult> {
        Self::with_flags(CUstream_flags::CU_STREAM_NON_BLOCKING)
    }

    /// A non-blocking stream whose kernels take precedence over kernels of other streams that have not started.
    pub fn urgent() -> Result<Self, CUresult> {
        let (mut least, mut greatest, mut handle) = (0, 0, null_mut());
        let flags = CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: all three are valid for writes. Without priorities, all are 0.
        let result = unsafe {
            match cuCtxGetStreamPriorityRange(&mut least, &mut greatest) {
                CUresult::CUDA_SUCCESS => cuStreamCreateWithPriority(&mut handle, flags, greatest),
                result => result,
            }
        };
        if result == CUresult::CUDA_SUCCESS { Ok(Self { handle, of: Of::Executor }) } else { Err(result) }
    }

    fn with_flags(flags: CUstream_flags) -> Result<Self, CUresult> {
        let mut handle = null_mut();
        // SAFETY: `handle` is valid for writes.
        match unsafe { cuStreamCreate(&mut handle, flags as u32) } {
            CUresult::CUDA_SUCCESS => Ok(Self { handle, of: Of::Executor }),
            result => Err(result),
        }
    }

    /// A stream of the caller, which destroys it later than this.
    pub fn of_caller(handle: CUstream) -> Self {
        let of = match handle.addr() {
            LAST_DEFAULT => Of::Thread(thread::current().id()),
            _ => Of::Caller,
        };
        Self { handle, of }
    }

    pub fn handle(&self) -> CUstream {
        self.handle
    }

    /// Whether the handle refers to another stream on this thread.
    pub fn is_of_another_thread(&self) -> bool {
        matches!(self.of, Of::Thread(id) if id != thread::current().id())
    }

    pub fn synchronize(&self) -> Result<(), CUresult> {
        // SAFETY: the stream exists.
        match unsafe { cuStreamSynchronize(self.handle) } {
            CUresult::CUDA_SUCCESS => Ok(()),
            result => Err(result),
        }
    }

    /// Makes work queued from now on wait for the work marked by an event.
    pub fn wait(&self, event: &Event) -> Result<(), Error> {
        // SAFETY: both exist.
        driver(unsafe { cuStreamWaitEvent(self.handle, event.handle(), 0) }, "waiting for an event")
    }

    /// Whether queued work is captured into a graph instead of being run.
    pub fn is_capturing(&self) -> bool {
        is_capturing(self.handle)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Of::Executor = self.of {
            // SAFETY: nothing uses it afterwards; the driver completes work that is still queued.
            unsafe { cuStreamDestroy_v2(self.handle) };
        }
    }
}

/// Whether a handle refers to the default stream of the current context or thread, and not to a created one.
pub(super) fn is_default(handle: CUstream) -> bool {
    handle.addr() <= LAST_DEFAULT
}

/// Whether an existing stream is capturing.
pub(super) fn is_capturing(handle: CUstream) -> bool {
    let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    // SAFETY: the stream exists, and `status` is valid for writes.
    let result = unsafe { cuStreamIsCapturing(handle, &mut status) };
    // Using the legacy default stream would disturb another stream that is capturing. Other errors are reported by
    // other calls.
    result == CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
        || status != CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE
}

#[cfg(test)]
mod tests {
    use std::ptr::without_provenance_mut;

    use super::*;

    #[test]
    fn a_threads_default_stream_is_that_threads() {
        for (number, of_a_thread) in [(0, false), (1, false), (2, true), (0x7f00, false)] {
            let handle: CUstream = without_provenance_mut(number);
            let stream = Stream::of_caller(handle);
            assert!(!stream.is_of_another_thread());
            let elsewhere = thread::scope(|scope| scope.spawn(|| stream.is_of_another_thread()).join().unwrap());
            assert_eq!((elsewhere, is_default(handle)), (of_a_thread, number <= 2), "{number}");
        }
    }
}
