//! Exchange of elements of vectors between a GPU and the host, through page-locked memory and concurrently with the
//! executor's work.

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

/// Transfers elements to the host and back; the executor's own stream waits only when it needs them.
#[doc(hidden)]
pub struct Staged<T: Scalar> {
    cuda: Cuda,
    side: SideStream,
    packed: CudaBuffer<T>,
    received: CudaBuffer<T>,
    outgoing: LockedBuffer<T>,
    incoming: LockedBuffer<T>,
    /// Set after the packing, and after the copy to the GPU.
    is_packed: Mark,
    has_come: Mark,
}

impl<T: Scalar> Staged<T> {
    /// Room for `outgoing` elements to the host and `incoming` elements from it.
    ///
    /// # Errors
    /// When memory runs out, or the device fails.
    pub fn new(executor: &Cuda, outgoing: usize, incoming: usize) -> Result<Self, Error> {
        let (packed, received) = (executor.zeros(outgoing)?, executor.zeros(incoming)?);
        // CUDA does not allocate zero bytes.
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

    /// Queues the packing of elements of these vectors, stored consecutively in x, and their copy to the host.
    ///
    /// # Errors
    /// When the number of elements is not `outgoing`, the executor's work is being recorded, or the device fails.
    pub fn pack(&mut self, elements: &Elements<CudaMemory>, vectors: usize, x: &CudaBuffer<T>) -> Result<(), Error> {
        self.cuda.refuse_to_record("copying to the host")?;
        self.cuda.run::<PackElements<T>>(PackOperands { elements, vectors, x, to: &mut self.packed })?;
        self.cuda.set(&self.is_packed)?;
        // Also orders the incoming copy, which overwrites elements that the last product reads.
        self.side.wait_for(&self.is_packed)?;
        let bytes = self.packed.bytes() as usize;
        if bytes > 0 {
            let to = self.outgoing.as_mut_ptr().cast::<c_void>();
            let stream = self.side.stream().handle();
            // SAFETY: both have this many bytes. The page-locked ones are not read before the stream has reached that point,
            // by `packed`, and both stay alive until then, by `drop`.
            driver(unsafe { cuMemcpyDtoHAsync_v2(to, self.packed.address(), bytes, stream) }, DOWNLOADING)?;
        }
        Ok(())
    }

    /// The elements packed last; waits for them, but not for later work of the executor.
    ///
    /// # Errors
    /// When the device fails.
    pub fn packed(&mut self) -> Result<&[T], Error> {
        self.side.synchronize()?;
        Ok(&self.outgoing[..self.packed.len()])
    }

    /// Queues the copy of elements to the GPU, before all work queued on the executor from now on.
    ///
    /// # Errors
    /// When the number of elements is not `incoming`, or the device fails.
    pub fn bring(&mut self, elements: &[T]) -> Result<(), Error> {
        check_length("the room for elements", self.received.len(), elements.len())?;
        // The previous elements have left the page-locked memory.
        self.side.synchronize()?;
        self.incoming[..elements.len()].copy_from_slice(elements);
        let bytes = self.received.bytes() as usize;
        if bytes > 0 {
            let from = self.incoming.as_ptr().cast::<c_void>();
            let stream = self.side.stream().handle();
            // SAFETY: both have this many bytes, and stay alive until the stream has reached that point, by `drop`; the
            // page-locked ones are not overwritten before that, by the line above.
            driver(unsafe { cuMemcpyHtoDAsync_v2(self.received.address(), from, bytes, stream) }, UPLOADING)?;
        }
        self.side.set(&self.has_come)?;
        self.cuda.wait_for(&self.has_come)
    }

    /// The elements received last.
    pub fn received(&self) -> &CudaBuffer<T> {
        &self.received
    }

    /// The stream on which its copies are queued.
    pub fn side(&self) -> &SideStream {
        &self.side
    }
}

impl<T: Scalar> Drop for Staged<T> {
    fn drop(&mut self) {
        // If waiting fails, the context is gone, and with it all work in flight. Page-locked memory is freed in the current
        // context, which this call makes the executor's.
        let _ = self.side.synchronize();
    }
}
