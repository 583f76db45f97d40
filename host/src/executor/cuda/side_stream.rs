//! A second stream of an executor, and marks by which streams wait for each other, across GPUs too.

use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

use super::Cuda;
use super::driver::failed;
use super::event::Event;
use super::owner::Owner;
use super::stream::Stream;
use crate::error::Error;

/// A mark in a stream, which streams of this GPU and of others can wait for.
#[doc(hidden)]
pub struct Mark {
    event: Event,
    owner: Arc<Owner>,
}

impl Mark {
    /// A mark for the streams of an executor. Waiting for a mark that has not been set is no wait.
    ///
    /// # Errors
    /// When the device fails.
    pub fn new(executor: &Cuda) -> Result<Self, Error> {
        executor.enter()?;
        Ok(Self { event: Event::new()?, owner: executor.owner.clone() })
    }

    /// As [`new`](Self::new), and the mark records when it was reached.
    ///
    /// # Errors
    /// When the device fails.
    pub fn with_time(executor: &Cuda) -> Result<Self, Error> {
        executor.enter()?;
        Ok(Self { event: Event::with_time()?, owner: executor.owner.clone() })
    }

    /// Whether everything before the mark is done; true if it was never set.
    ///
    /// # Errors
    /// When the device fails.
    pub fn is_reached(&self) -> Result<bool, Error> {
        self.owner.enter_to_free()?;
        self.event.is_done()
    }

    /// Blocks until everything before the mark is done.
    ///
    /// # Errors
    /// When the device fails.
    pub fn wait(&self) -> Result<(), Error> {
        self.owner.enter_to_free()?;
        self.event.synchronize().map_err(|result| failed(result, WAITING))
    }

    /// The time from another mark of the same GPU to this one, both [with a time](Self::with_time) and set. Blocks until
    /// both are reached.
    ///
    /// # Errors
    /// When the device fails.
    pub fn since(&self, earlier: &Self) -> Result<Duration, Error> {
        earlier.wait()?;
        self.wait()?;
        self.event.elapsed(&earlier.event)
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // The event is destroyed in the current context. If the owner's cannot be entered, the event is gone with it.
        let _ = self.owner.enter_to_free();
    }
}

const WAITING: &str = "waiting for a mark";

/// A second stream of an executor, whose work runs concurrently with the executor's own, except for marks.
#[doc(hidden)]
pub struct SideStream {
    stream: Stream,
    owner: Arc<Owner>,
}

impl SideStream {
    /// A stream whose kernels take precedence over others that have not started.
    ///
    /// # Errors
    /// When the device fails.
    pub fn new(executor: &Cuda) -> Result<Self, Error> {
        executor.enter()?;
        let stream = Stream::urgent().map_err(|result| failed(result, "making a stream"))?;
        Ok(Self { stream, owner: executor.owner.clone() })
    }

    /// The stream, a `CUstream`, for other libraries.
    pub fn handle(&self) -> *mut c_void {
        self.stream.handle().cast()
    }

    /// Makes the executor's context current on the calling thread.
    ///
    /// # Errors
    /// When the device fails.
    pub fn enter(&self) -> Result<(), Error> {
        self.owner.enter_to_free()
    }

    /// Sets a mark after all queued work.
    ///
    /// # Errors
    /// When the mark belongs to another executor, or the device fails.
    pub fn set(&self, mark: &Mark) -> Result<(), Error> {
        check_mark(mark, &self.owner)?;
        self.enter()?;
        mark.event.record(&self.stream)
    }

    /// Makes work queued from now on wait for a mark, of any executor, as it was last set.
    ///
    /// # Errors
    /// When the device fails.
    pub fn wait_for(&self, mark: &Mark) -> Result<(), Error> {
        self.enter()?;
        self.stream.wait(&mark.event)
    }

    /// Blocks until all queued work has finished.
    ///
    /// # Errors
    /// When the device fails.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.enter()?;
        self.stream.synchronize().map_err(|result| failed(result, "waiting for the second stream"))
    }

    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    pub(super) fn owner(&self) -> &Arc<Owner> {
        &self.owner
    }
}

impl Drop for SideStream {
    fn drop(&mut self) {
        // As for a mark.
        let _ = self.enter();
    }
}

fn check_mark(mark: &Mark, owner: &Arc<Owner>) -> Result<(), Error> {
    if Arc::ptr_eq(&mark.owner, owner) { Ok(()) } else { Err(Error::Foreign { what: "a mark".into() }) }
}

/// Synchronization of other streams with the executor's own.
impl Cuda {
    /// Sets a mark after all queued work. It cannot be part of a recording.
    ///
    /// # Errors
    /// When the mark belongs to another executor, the executor's work is being recorded, or the device fails.
    #[doc(hidden)]
    pub fn set(&self, mark: &Mark) -> Result<(), Error> {
        self.refuse_recording("setting a mark")?;
        check_mark(mark, &self.owner)?;
        mark.event.record(self.stream())
    }

    /// Makes work queued from now on wait for a mark, of any executor, as it was last set. It cannot be part of a
    /// recording.
    ///
    /// # Errors
    /// When the executor's work is being recorded, or the device fails.
    #[doc(hidden)]
    pub fn wait_for(&self, mark: &Mark) -> Result<(), Error> {
        self.refuse_recording("waiting for a mark")?;
        self.stream().wait(&mark.event)
    }

    /// Returns an error while the executor's work is being recorded.
    ///
    /// # Errors
    /// While the executor's work is being recorded.
    #[doc(hidden)]
    pub fn refuse_to_record(&self, what: &str) -> Result<(), Error> {
        self.refuse_recording(what)
    }
}
