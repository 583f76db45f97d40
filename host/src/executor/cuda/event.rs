//! Marks in streams.

use std::ptr::null_mut;
use std::time::Duration;

use cust::sys::{
    CUevent, CUevent_flags, CUresult, cuEventCreate, cuEventDestroy_v2, cuEventElapsedTime, cuEventQuery,
    cuEventRecord, cuEventSynchronize,
};

use super::driver::driver;
use super::stream::Stream;
use crate::error::Error;

/// An event of the driver.
pub(super) struct Event(CUevent);

// SAFETY: the driver takes calls for an event from any thread.
unsafe impl Send for Event {}
// SAFETY: the driver takes calls for an event from several threads at once.
unsafe impl Sync for Event {}

impl Event {
    /// An event that records its time, in the current context.
    pub fn with_time() -> Result<Self, Error> {
        Self::with_flags(CUevent_flags::CU_EVENT_DEFAULT)
    }

    /// An event that only orders streams, which costs less.
    pub fn new() -> Result<Self, Error> {
        Self::with_flags(CUevent_flags::CU_EVENT_DISABLE_TIMING)
    }

    fn with_flags(flags: CUevent_flags) -> Result<Self, Error> {
        let mut event = null_mut();
        // SAFETY: `event` is valid for writes.
        driver(unsafe { cuEventCreate(&mut event, flags as u32) }, "making an event")?;
        Ok(Self(event))
    }

    pub fn handle(&self) -> CUevent {
        self.0
    }

    /// Marks everything queued on the stream so far.
    pub fn record(&self, stream: &Stream) -> Result<(), Error> {
        // SAFETY: both exist.
        driver(unsafe { cuEventRecord(self.0, stream.handle()) }, "recording an event")
    }

    /// Blocks until the marked work is done. An event that was never recorded marks nothing.
    pub fn synchronize(&self) -> Result<(), CUresult> {
        // SAFETY: the event exists.
        match unsafe { cuEventSynchronize(self.0) } {
            CUresult::CUDA_SUCCESS => Ok(()),
            result => Err(result),
        }
    }

    /// Whether the marked work is done; true if nothing was marked.
    pub fn is_done(&self) -> Result<bool, Error> {
        // SAFETY: the event exists.
        match unsafe { cuEventQuery(self.0) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            result => driver(result, "asking for an event").map(|()| true),
        }
    }

    /// The time from another event to this one; both must record their time and be done.
    pub fn elapsed(&self, start: &Self) -> Result<Duration, Error> {
        let mut milliseconds = 0.0;
        // SAFETY: `milliseconds` is valid for writes, and both events exist.
        driver(unsafe { cuEventElapsedTime(&mut milliseconds, start.0, self.0) }, "reading a time")?;
        Ok(Duration::from_nanos((milliseconds * 1e6) as u64))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: nothing uses it afterwards; the driver keeps whatever still waits for it.
        unsafe { cuEventDestroy_v2(self.0) };
    }
}
