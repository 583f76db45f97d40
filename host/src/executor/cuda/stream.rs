//! Streams: those that executors make, and those of the caller.

use std::ptr::null_mut;
use std::thread::{self, ThreadId};

use cust::sys::{
    CUresult, CUstream, CUstream_flags, CUstreamCaptureStatus, cuCtxGetStreamPriorityRange, cuStreamCreate,
    cuStreamCreateWithPriority, cuStreamDestroy_v2, cuStreamIsCapturing, cuStreamSynchronize, cuStreamWaitEvent,
};

use super::driver::driver;
use super::event::Event;
use crate::error::Error;

/// The largest handle that names a default stream: 0 and 1 are the legacy one, 2 is that of the thread.
const LAST_DEFAULT: usize = 2;

/// A stream of the driver.
pub(super) struct Stream {
    handle: CUstream,
    of: Of,
}

/// Whose stream it is.
enum Of {
    /// The executor's, which destroys it.
    Executor,
    /// The program's around it.
    Caller,
    /// A thread's default stream: on other threads its handle means another stream.
    Thread(ThreadId),
}

// SAFETY: the driver takes calls for a stream from any thread.
unsafe impl Send for Stream {}
// SAFETY: the driver takes calls for a stream from several threads at once.
unsafe impl Sync for Stream {}

impl Stream {
    /// A stream that the legacy default stream waits for, and that waits for it.
    pub fn blocking() -> Result<Self, CUresult> {
        Self::with_flags(CUstream_flags::CU_STREAM_DEFAULT)
    }

    /// A stream that no other waits for unless it is told to. Only such a one can record launches while other threads use
    /// the legacy default stream.
    pub fn non_blocking() -> Result<Self, CUresult> {
        Self::with_flags(CUstream_flags::CU_STREAM_NON_BLOCKING)
    }

    /// One that no other waits for, whose kernels go before those of other streams that have not begun.
    pub fn urgent() -> Result<Self, CUresult> {
        let (mut least, mut greatest, mut handle) = (0, 0, null_mut());
        let flags = CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: places for two numbers and a stream. Where there are no priorities, all are 0.
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
        // SAFETY: a place for a stream.
        match unsafe { cuStreamCreate(&mut handle, flags as u32) } {
            CUresult::CUDA_SUCCESS => Ok(Self { handle, of: Of::Executor }),
            result => Err(result),
        }
    }

    /// A stream of the caller, which destroys it after this.
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

    /// Whether the handle means another stream on this thread.
    pub fn is_of_another_thread(&self) -> bool {
        matches!(self.of, Of::Thread(id) if id != thread::current().id())
    }

    pub fn synchronize(&self) -> Result<(), CUresult> {
        // SAFETY: the stream is there.
        match unsafe { cuStreamSynchronize(self.handle) } {
            CUresult::CUDA_SUCCESS => Ok(()),
            result => Err(result),
        }
    }

    /// What is queued from now on waits for what an event has marked.
    pub fn wait(&self, event: &Event) -> Result<(), Error> {
        // SAFETY: both are there.
        driver(unsafe { cuStreamWaitEvent(self.handle, event.handle(), 0) }, "waiting for an event")
    }

    /// Whether what is queued is captured into a graph instead of being done.
    pub fn is_capturing(&self) -> bool {
        is_capturing(self.handle)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Of::Executor = self.of {
            // SAFETY: nothing uses it afterwards; the driver does what is still queued.
            unsafe { cuStreamDestroy_v2(self.handle) };
        }
    }
}

/// Whether a handle names the default stream of the current context, or thread, and not one that was made.
pub(super) fn is_default(handle: CUstream) -> bool {
    handle.addr() <= LAST_DEFAULT
}

/// Whether a stream that exists captures.
pub(super) fn is_capturing(handle: CUstream) -> bool {
    let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    // SAFETY: the stream is there, and a place for its status.
    let result = unsafe { cuStreamIsCapturing(handle, &mut status) };
    // To use the legacy default stream would disturb another one that captures. Other errors are said by other calls.
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
