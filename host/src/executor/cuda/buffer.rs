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

/// An array on a GPU, allocated or [borrowed](super::Cuda::borrow) by an executor: no other executor accepts it. CUDA does
/// not allocate zero bytes, so an empty array has no address.
pub struct CudaBuffer<T: Element> {
    address: CUdeviceptr,
    length: usize,
    /// Whether the memory belongs to the caller.
    borrowed: bool,
    /// The memory, if it is not from the owner's pool.
    memory: Option<Arc<PeerMemory>>,
    owner: Arc<Owner>,
    elements: PhantomData<T>,
}

impl<T: Element> CudaBuffer<T> {
    /// An array with unspecified content. The owner's context must be current.
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

    /// An array in memory that belongs to the caller, unless it is empty.
    pub(super) fn borrowed(owner: &Arc<Owner>, address: CUdeviceptr, length: usize) -> Self {
        let address = if length == 0 { 0 } else { address };
        Self { address, length, borrowed: length > 0, memory: None, owner: owner.clone(), elements: PhantomData }
    }

    /// An array in memory that is large enough, and that other arrays may share.
    pub(super) fn in_memory(owner: &Arc<Owner>, memory: Arc<PeerMemory>, length: usize) -> Self {
        let mut array = Self::borrowed(owner, memory.address(), length);
        array.memory = Some(memory);
        array
    }

    /// The array's address on the GPU; 0 for an empty array. Only work queued on the executor's stream may read or
    /// write there.
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
        // Memory is freed in the current context, and this thread may have none or another one. If the owner's cannot
        // be entered, it is gone together with its memory.
        if self.owner.enter_to_free().is_ok() {
            // SAFETY: it was allocated there. Every other executor rejects it, `Cuda::copy_of` makes this stream wait for
            // its reader, and users of the address queue on the owner's stream.
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
