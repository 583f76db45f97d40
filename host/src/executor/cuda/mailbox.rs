//! Page-locked memory for exchanging a few numbers with a GPU. The GPU copies them itself, in stream order, and the host
//! waits only for what it reads.

use std::sync::PoisonError;

use cust::memory::LockedBuffer;
use cust::sys::{CUdeviceptr, cuMemcpyDtoHAsync_v2, cuMemcpyHtoDAsync_v2};

use super::Cuda;
use super::driver::{cuda, driver, failed};
use super::event::Event;
use super::staging::{DOWNLOADING, UPLOADING};
use super::stream::Stream;
use crate::error::Error;

/// Maximum number of bytes transferred this way.
pub(super) const ROOM: usize = 16 << 10;

/// Buffers for both directions.
pub(super) struct Mailbox {
    incoming: LockedBuffer<u8>,
    outgoing: LockedBuffer<u8>,
    /// Mark the end of the last work queued with `incoming` and with `outgoing`.
    has_come: Event,
    sent: Event,
}

impl Mailbox {
    /// Creates a mailbox. The context must be current, as in the functions below.
    pub fn new() -> Result<Self, Error> {
        let room = || LockedBuffer::new(&0, ROOM).map_err(cuda("allocating page-locked memory"));
        Ok(Self { incoming: room()?, outgoing: room()?, has_come: Event::new()?, sent: Event::new()? })
    }

    /// Copies from the GPU, after all queued work, and waits for that copy. `work` runs meanwhile; what it queues is not
    /// waited for.
    ///
    /// # Safety
    /// There must be `to.len()` bytes at `from`, and at most [`ROOM`].
    pub unsafe fn read(
        &mut self,
        from: CUdeviceptr,
        to: &mut [u8],
        stream: &Stream,
        work: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<(), Error> {
        if !to.is_empty() {
            let place = self.incoming.as_mut_ptr().cast();
            // SAFETY: the caller's promise, and the buffer is not read before the stream has reached that point.
            driver(unsafe { cuMemcpyDtoHAsync_v2(place, from, to.len(), stream.handle()) }, DOWNLOADING)?;
            self.has_come.record(stream)?;
        }
        let done = work();
        self.has_come.synchronize().map_err(|result| failed(result, DOWNLOADING))?;
        to.copy_from_slice(&self.incoming[..to.len()]);
        done
    }

    /// Queues a copy to the GPU without waiting for it.
    ///
    /// # Safety
    /// As for [`read`](Self::read).
    pub unsafe fn write(&mut self, from: &[u8], to: CUdeviceptr, stream: &Stream) -> Result<(), Error> {
        self.sent.synchronize().map_err(|result| failed(result, UPLOADING))?;
        self.outgoing[..from.len()].copy_from_slice(from);
        let place = self.outgoing.as_ptr().cast();
        // SAFETY: the caller's promise, and the buffer is not overwritten before the copy is done.
        driver(unsafe { cuMemcpyHtoDAsync_v2(to, place, from.len(), stream.handle()) }, UPLOADING)?;
        self.sent.record(stream)
    }
}

impl Cuda {
    /// Reads or writes a few bytes of an array through page-locked memory.
    pub(super) fn by_mail(&self, work: impl FnOnce(&mut Mailbox) -> Result<(), Error>) -> Result<(), Error> {
        // The lock is not held meanwhile: the work may itself read and write, through another mailbox.
        let place = || self.shared.mailbox.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = place().take();
        let mut mailbox = match taken {
            Some(mailbox) => mailbox,
            None => Mailbox::new()?,
        };
        let done = work(&mut mailbox);
        // One is kept, and any other is dropped once the lock is released.
        let spare = place().replace(mailbox);
        self.enter()?;
        drop(spare);
        done
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        // If waiting fails, the context is gone, and with it all work in flight.
        let _ = self.has_come.synchronize().and_then(|()| self.sent.synchronize());
    }
}
