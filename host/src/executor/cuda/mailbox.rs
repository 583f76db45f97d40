//! Page-locked memory through which a few numbers go to and from a GPU: the GPU takes and brings them by itself, in the order
//! of the stream, and the host waits only for what it reads.

use std::sync::PoisonError;

use cust::memory::LockedBuffer;
use cust::sys::{CUdeviceptr, cuMemcpyDtoHAsync_v2, cuMemcpyHtoDAsync_v2};

use super::Cuda;
use super::driver::{cuda, driver, failed};
use super::event::Event;
use super::staging::{DOWNLOADING, UPLOADING};
use super::stream::Stream;
use crate::error::Error;

/// Bytes that go this way at most.
pub(super) const ROOM: usize = 16 << 10;

/// Room for numbers in both directions.
pub(super) struct Mailbox {
    incoming: LockedBuffer<u8>,
    outgoing: LockedBuffer<u8>,
    /// What was queued last with `incoming` is done, and what was with `outgoing`.
    has_come: Event,
    sent: Event,
}

impl Mailbox {
    /// The context is the current one, as it is for what follows.
    pub fn new() -> Result<Self, Error> {
        let room = || LockedBuffer::new(&0, ROOM).map_err(cuda("allocating page-locked memory"));
        Ok(Self { incoming: room()?, outgoing: room()?, has_come: Event::new()?, sent: Event::new()? })
    }

    /// Copies from the GPU, after what is queued, for which it waits, with `work` done meanwhile: not for what that queues.
    ///
    /// # Safety
    /// There are as many bytes at the address as `to` has, which is no more than there is room for.
    pub unsafe fn read(
        &mut self,
        from: CUdeviceptr,
        to: &mut [u8],
        stream: &Stream,
        work: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<(), Error> {
        if !to.is_empty() {
            let place = self.incoming.as_mut_ptr().cast();
            // SAFETY: the caller's promise, and nobody looks at the room before the stream has come that far.
            driver(unsafe { cuMemcpyDtoHAsync_v2(place, from, to.len(), stream.handle()) }, DOWNLOADING)?;
            self.has_come.record(stream)?;
        }
        let done = work();
        self.has_come.synchronize().map_err(|result| failed(result, DOWNLOADING))?;
        to.copy_from_slice(&self.incoming[..to.len()]);
        done
    }

    /// Queues a copy to the GPU, and does not wait for it.
    ///
    /// # Safety
    /// As for [`read`](Self::read).
    pub unsafe fn write(&mut self, from: &[u8], to: CUdeviceptr, stream: &Stream) -> Result<(), Error> {
        self.sent.synchronize().map_err(|result| failed(result, UPLOADING))?;
        self.outgoing[..from.len()].copy_from_slice(from);
        let place = self.outgoing.as_ptr().cast();
        // SAFETY: the caller's promise, and the room is written again when the copy is done.
        driver(unsafe { cuMemcpyHtoDAsync_v2(to, place, from.len(), stream.handle()) }, UPLOADING)?;
        self.sent.record(stream)
    }
}

impl Cuda {
    /// Reads or writes a few bytes of an array through page-locked memory.
    pub(super) fn by_mail(&self, work: impl FnOnce(&mut Mailbox) -> Result<(), Error>) -> Result<(), Error> {
        // Not kept meanwhile: the work may read and write as well, with another one.
        let place = || self.shared.mailbox.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = place().take();
        let mut mailbox = match taken {
            Some(mailbox) => mailbox,
            None => Mailbox::new()?,
        };
        let done = work(&mut mailbox);
        // Of several the first stays, and others are dropped when the lock is free.
        let spare = place().replace(mailbox);
        self.enter()?;
        drop(spare);
        done
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        // Where waiting fails, the context is gone, and with it what was under way.
        let _ = self.has_come.synchronize().and_then(|()| self.sent.synchronize());
    }
}
