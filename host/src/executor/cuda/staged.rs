//! Elements of vectors that leave a GPU for the host, and others that come from there, through page-locked memory and beside
//! the executor's work.

use std::ffi::c_void;

use cust::memory::LockedBuffer;
use cust::sys::{cuMemcpyDtoHAsync_v2, cuMemcpyHtoDAsync_v2};

use super::driver::{cuda, driver};
use super::side_stream::{Mark, SideStream};
use super::staging::{DOWNLOADING, UPLOADING};
use super::{Cuda, CudaBuffer, CudaMemory};
use crate::elements::{Elements, PackElements, PackOperands};
use crate::error::{Error, check_length};
use crate::executor::operation::Executor;
use crate::memory::Buffer;
use crate::real::Scalar;

/// A way of elements to the host and back, which the executor's own stream waits for only when it needs them.
#[doc(hidden)]
pub struct Staged<T: Scalar> {
    cuda: Cuda,
    side: SideStream,
    packed: CudaBuffer<T>,
    received: CudaBuffer<T>,
    outgoing: LockedBuffer<T>,
    incoming: LockedBuffer<T>,
    /// Behind the packing, and behind the copy to the GPU.
    is_packed: Mark,
    has_come: Mark,
}

impl<T: Scalar> Staged<T> {
    /// Room for `outgoing` elements that leave, and `incoming` that come.
    ///
    /// # Errors
    /// When memory runs out, or the device fails.
    pub fn new(executor: &Cuda, outgoing: usize, incoming: usize) -> Result<Self, Error> {
        let (packed, received) = (executor.zeros(outgoing)?, executor.zeros(incoming)?);
        // CUDA does not allocate nothing.
        let room = |length: usize| LockedBuffer::new(&T::ZERO, length.max(1));
        let locked = |length| room(length).map_err(cuda("allocating page-locked memory"));
        Ok(Self {
            side: SideStream::new(executor)?,
            packed,
            received,
            outgoing: locked(outgoing)?,
            incoming: locked(incoming)?,
            is_packed: Mark::new(executor)?,
            has_come: Mark::new(executor)?,
            cuda: executor.clone(),
        })
    }

    /// Queues the packing of elements of these vectors, one after the other in x, and their way to the host.
    ///
    /// # Errors
    /// When there is room for another number, the executor's work is recorded, or the device fails.
    pub fn pack(&mut self, elements: &Elements<CudaMemory>, vectors: usize, x: &CudaBuffer<T>) -> Result<(), Error> {
        self.cuda.refuse_to_record("copying to the host")?;
        self.cuda.run::<PackElements<T>>(PackOperands { elements, vectors, x, to: &mut self.packed })?;
        self.cuda.set(&self.is_packed)?;
        // What comes is written where the last product reads, too.
        self.side.wait_for(&self.is_packed)?;
        let bytes = self.packed.bytes() as usize;
        if bytes > 0 {
            let to = self.outgoing.as_mut_ptr().cast::<c_void>();
            let stream = self.side.stream().handle();
            // SAFETY: both have so many bytes. Nobody looks at the page-locked ones before the stream has come that far, by
            // `packed`, and both stay until then, by `drop`.
            driver(unsafe { cuMemcpyDtoHAsync_v2(to, self.packed.address(), bytes, stream) }, DOWNLOADING)?;
        }
        Ok(())
    }

    /// What was packed last; waits for it, and not for what the executor has queued since.
    ///
    /// # Errors
    /// When the device fails.
    pub fn packed(&mut self) -> Result<&[T], Error> {
        self.side.synchronize()?;
        Ok(&self.outgoing[..self.packed.len()])
    }

    /// Queues the way of elements to the GPU: what is queued on the executor from now on comes after it.
    ///
    /// # Errors
    /// When there is room for another number, or the device fails.
    pub fn bring(&mut self, elements: &[T]) -> Result<(), Error> {
        check_length("the room for elements", self.received.len(), elements.len())?;
        // The last ones have left the page-locked memory.
        self.side.synchronize()?;
        self.incoming[..elements.len()].copy_from_slice(elements);
        let bytes = self.received.bytes() as usize;
        if bytes > 0 {
            let from = self.incoming.as_ptr().cast::<c_void>();
            let stream = self.side.stream().handle();
            // SAFETY: both have so many bytes, and stay until the stream has come that far, by `drop`; the page-locked ones
            // are not written before, by the line above.
            driver(unsafe { cuMemcpyHtoDAsync_v2(self.received.address(), from, bytes, stream) }, UPLOADING)?;
        }
        self.side.set(&self.has_come)?;
        self.cuda.wait_for(&self.has_come)
    }

    /// What came last.
    pub fn received(&self) -> &CudaBuffer<T> {
        &self.received
    }

    /// Where its copies are queued.
    pub fn side(&self) -> &SideStream {
        &self.side
    }
}

impl<T: Scalar> Drop for Staged<T> {
    fn drop(&mut self) {
        // Where waiting fails, the context is gone, and with it what was under way. Page-locked memory is freed in the context
        // that is current, which this makes that of the executor.
        let _ = self.side.synchronize();
    }
}
