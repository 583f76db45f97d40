//! Arrays on a GPU.

use std::marker::PhantomData;
use std::sync::Arc;

use cuda_std::{Global, GlobalMut};
use cust::sys::{CUdeviceptr, CUresult};

use super::driver::failed;
use super::owner::Owner;
use super::peer_memory::PeerMemory;
use crate::error::Error;
use crate::memory::{Buffer, Element, Memory};
use crate::real::Scalar;

/// The memory of NVIDIA GPUs.
pub struct CudaMemory;

impl Memory for CudaMemory {
    type Buffer<T: Element> = CudaBuffer<T>;
}

/// An array on a GPU, of the executor that made it or [borrowed](super::Cuda::borrow) it: no other executor takes it. CUDA
/// does not allocate nothing, so an empty array has no address.
pub struct CudaBuffer<T: Element> {
    address: CUdeviceptr,
    length: usize,
    /// Whether the memory is somebody else's.
    borrowed: bool,
    /// The memory, where it is none of the owner's pool.
    memory: Option<Arc<PeerMemory>>,
    owner: Arc<Owner>,
    elements: PhantomData<T>,
}

impl<T: Element> CudaBuffer<T> {
    /// An array of no particular content. The owner's context is the current one.
    pub(super) fn new(owner: &Arc<Owner>, length: usize) -> Result<Self, Error> {
        let bytes = length.saturating_mul(size_of::<T>());
        let mut array =
            Self { address: 0, length: 0, borrowed: false, memory: None, owner: owner.clone(), elements: PhantomData };
        if bytes > 0 {
            array.address = owner.pool.allocate(bytes).map_err(|result| match result {
                CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                    let bytes = length as u128 * size_of::<T>() as u128;
                    Error::OutOfMemory { what: "an array on the GPU", bytes }
                }
                result => failed(result, "allocating on the GPU"),
            })?;
            array.length = length;
            owner.meter.add(array.bytes());
        }
        Ok(array)
    }

    /// An array in memory that is somebody else's, where there are elements.
    pub(super) fn borrowed(owner: &Arc<Owner>, address: CUdeviceptr, length: usize) -> Self {
        let address = if length == 0 { 0 } else { address };
        Self { address, length, borrowed: length > 0, memory: None, owner: owner.clone(), elements: PhantomData }
    }

    /// An array in memory that has room for it, and that others may have as well.
    pub(super) fn in_memory(owner: &Arc<Owner>, memory: Arc<PeerMemory>, length: usize) -> Self {
        let mut array = Self::borrowed(owner, memory.address(), length);
        array.memory = Some(memory);
        array
    }

    /// Where the array is on the GPU; 0 for an empty one. Reading and writing there is the business of what is queued
    /// on the executor's stream.
    pub fn address(&self) -> u64 {
        self.address
    }

    pub(super) fn bytes(&self) -> u64 {
        self.length as u64 * size_of::<T>() as u64
    }

    pub(super) fn owner(&self) -> &Arc<Owner> {
        &self.owner
    }
}

impl<T: Element> Drop for CudaBuffer<T> {
    fn drop(&mut self) {
        if self.length == 0 {
            return;
        }
        let _freeing = self.owner.freeing.lock();
        if self.borrowed {
            self.owner.meter.lose();
            return;
        }
        self.owner.meter.remove(self.bytes());
        // Memory is freed in the context that is current, and this thread's may be none or another. Where it cannot be
        // had, it is gone with its memory.
        if self.owner.enter_to_free().is_ok() {
            // SAFETY: it was allocated there. Every other executor refuses it, `Cuda::copy_of` makes this stream wait for its
            // reader, and who takes the address queues on the owner's stream.
            unsafe { self.owner.pool.free(self.address) };
        }
    }
}

impl<T: Element> Buffer<T> for CudaBuffer<T> {
    fn len(&self) -> usize {
        self.length
    }

    fn is_borrowed(&self) -> bool {
        self.borrowed
    }

    fn global(&self) -> Global<T> {
        Global::from_device(self.address, self.length, self.owner.id)
    }

    fn global_mut(&mut self) -> GlobalMut<T> {
        GlobalMut::from_device(self.address, self.length, self.owner.id)
    }

    fn global_parts(&self) -> Global<T::Real>
    where
        T: Scalar,
    {
        Global::from_device(self.address, self.length * T::PARTS, self.owner.id)
    }

    fn global_parts_mut(&mut self) -> GlobalMut<T::Real>
    where
        T: Scalar,
    {
        GlobalMut::from_device(self.address, self.length * T::PARTS, self.owner.id)
    }
}
