//! Memory that other GPUs of the process can copy from.

use std::sync::Arc;

use cust::sys::{
    CUdeviceptr, CUresult, CUuuid, cuCtxEnablePeerAccess, cuDeviceCanAccessPeer, cuDeviceGetUuid, cuMemAlloc_v2,
    cuMemFree_v2, cuMemcpyDtoDAsync_v2, cuMemcpyPeerAsync,
};

use super::Cuda;
use super::buffer::CudaBuffer;
use super::driver::{driver, failed};
use super::owner::Owner;
use super::side_stream::SideStream;
use crate::error::Error;
use crate::executor::operation::Executor;
use crate::memory::{Buffer, Element};

/// Memory from the driver rather than from an executor's pool, whose arrays other GPUs cannot reach.
#[doc(hidden)]
pub struct PeerMemory {
    address: CUdeviceptr,
    bytes: usize,
    owner: Arc<Owner>,
}

impl PeerMemory {
    fn new(owner: &Arc<Owner>, bytes: usize) -> Result<Self, Error> {
        let mut memory = Self { address: 0, bytes, owner: owner.clone() };
        if bytes == 0 {
            return Ok(memory);
        }
        // SAFETY: the context is current, and `memory.address` is valid for writes.
        let mut allocate = || unsafe { cuMemAlloc_v2(&mut memory.address, bytes) };
        let mut result = allocate();
        if result == CUresult::CUDA_ERROR_OUT_OF_MEMORY {
            owner.pool.release();
            result = allocate();
        }
        match result {
            CUresult::CUDA_SUCCESS => Ok(memory),
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                Err(Error::OutOfMemory { what: "an array that other GPUs can reach", bytes: bytes as u128 })
            }
            result => Err(failed(result, "allocating on the GPU")),
        }
    }

    /// The address, for other libraries; 0 if the memory is empty.
    pub fn address(&self) -> CUdeviceptr {
        self.address
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for PeerMemory {
    fn drop(&mut self) {
        // If the context cannot be entered, the memory is gone with it.
        if self.address != 0 && self.owner.enter_to_free().is_ok() {
            // SAFETY: it was allocated in this context. Whoever copies from it keeps it until that is done, and the driver
            // waits for the GPU's own work on it.
            unsafe { cuMemFree_v2(self.address) };
        }
    }
}

/// Arrays that other GPUs can reach.
impl Cuda {
    /// Creates an array with unspecified content that executors of other GPUs can [copy from](Fetch), and returns it with
    /// its memory, which they hold for that. Creating one takes longer than other arrays, and
    /// [`memory_use`](Self::memory_use) does not count it.
    ///
    /// # Errors
    /// When memory runs out, or the device fails.
    #[doc(hidden)]
    pub fn reachable<T: Element>(&self, length: usize) -> Result<(CudaBuffer<T>, Arc<PeerMemory>), Error> {
        self.refuse_recording("allocating on the GPU")?;
        let memory = Arc::new(PeerMemory::new(&self.owner, length.saturating_mul(size_of::<T>()))?);
        Ok((CudaBuffer::in_memory(&self.owner, memory.clone(), length), memory))
    }

    /// Lets this GPU read the memory of another one directly, and returns whether it can. Otherwise copies go through the
    /// host.
    ///
    /// # Errors
    /// When the device fails.
    #[doc(hidden)]
    pub fn reach(&self, memory: &PeerMemory) -> Result<bool, Error> {
        self.enter()?;
        let theirs = &memory.owner;
        if theirs.context() == self.owner.context() {
            return Ok(true);
        }
        let mut can = 0;
        // SAFETY: `can` is valid for writes, and both are devices.
        let result = unsafe { cuDeviceCanAccessPeer(&mut can, self.owner.pool.device(), theirs.pool.device()) };
        driver(result, "asking whether a GPU reaches another")?;
        if can == 0 {
            return Ok(false);
        }
        // SAFETY: the other context exists as long as its owner.
        match unsafe { cuCtxEnablePeerAccess(theirs.context(), 0) } {
            CUresult::CUDA_SUCCESS | CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(true),
            CUresult::CUDA_ERROR_PEER_ACCESS_UNSUPPORTED | CUresult::CUDA_ERROR_TOO_MANY_PEERS => Ok(false),
            result => Err(failed(result, "letting a GPU reach another")),
        }
    }

    /// The identity of this GPU, unique across machines.
    ///
    /// # Errors
    /// When the device fails.
    #[doc(hidden)]
    pub fn identity(&self) -> Result<[u8; 16], Error> {
        self.enter()?;
        let mut identity = CUuuid::default();
        // SAFETY: `identity` is valid for writes, and the number is a device's.
        let result = unsafe { cuDeviceGetUuid(&mut identity, self.owner.pool.device()) };
        driver(result, "asking for the identity of a GPU")?;
        Ok(identity.bytes.map(|byte| byte as u8))
    }

    /// Whether the executor works in its device's primary context, as CUDA's runtime and libraries built on it do.
    #[doc(hidden)]
    pub fn is_in_primary_context(&self) -> bool {
        self.owner.is_primary()
    }
}

/// An array of another executor that kernels of this one read in place. Elements read while they are being written are
/// unspecified.
#[doc(hidden)]
pub struct PeerArray<T: Element> {
    array: CudaBuffer<T>,
    reader: Cuda,
}

impl Cuda {
    /// An array in memory of another executor, if this GPU can [reach](Self::reach) it.
    ///
    /// # Errors
    /// When the device fails.
    #[doc(hidden)]
    pub fn peer_array<T: Element>(&self, memory: &Arc<PeerMemory>) -> Result<Option<PeerArray<T>>, Error> {
        let length = memory.bytes / size_of::<T>().max(1);
        let array = || CudaBuffer::in_memory(&self.owner, memory.clone(), length);
        Ok(self.reach(memory)?.then(|| PeerArray { array: array(), reader: self.clone() }))
    }
}

impl<T: Element> PeerArray<T> {
    /// The array, for reading only.
    pub fn array(&self) -> &CudaBuffer<T> {
        &self.array
    }
}

impl<T: Element> Drop for PeerArray<T> {
    fn drop(&mut self) {
        // The memory may be freed afterwards, without waiting for this GPU. If waiting fails, the context is gone together
        // with its queued work.
        let _ = self.reader.enter().and_then(|()| self.reader.synchronize());
    }
}

/// A copy of consecutive elements of an array that other executors can reach.
#[doc(hidden)]
pub struct Piece {
    /// The memory to copy from.
    pub memory: Arc<PeerMemory>,
    /// The first element there.
    pub first: usize,
    /// Number of elements.
    pub count: usize,
    /// The index of the first element in the destination.
    pub to: usize,
}

/// Repeated copies of pieces of arrays, on this GPU and others, into one array.
#[doc(hidden)]
pub struct Fetch<T: Element> {
    side: Arc<SideStream>,
    pieces: Vec<Vec<Piece>>,
    into: CudaBuffer<T>,
}

impl<T: Element> Fetch<T> {
    /// Copies on a side stream of the array's executor. There may be several lists of pieces; each [`queue`](Self::queue)
    /// takes one.
    ///
    /// # Errors
    /// When the array belongs to another executor, or a piece is not within the arrays.
    pub fn new(side: &Arc<SideStream>, pieces: Vec<Vec<Piece>>, into: CudaBuffer<T>) -> Result<Self, Error> {
        if !Arc::ptr_eq(side.owner(), into.owner()) {
            return Err(Error::Foreign { what: "the array copied to".into() });
        }
        for piece in pieces.iter().flatten() {
            let fits = |first: usize, length: usize| first.checked_add(piece.count).is_some_and(|end| end <= length);
            if !fits(piece.first, piece.memory.bytes / size_of::<T>().max(1)) {
                return Err(Error::structure("array", format!("has no {} elements to copy", piece.count)));
            }
            if !fits(piece.to, into.len()) {
                let expected = piece.to.saturating_add(piece.count);
                return Err(Error::Length { what: "the array copied to", found: into.len(), expected });
            }
        }
        Ok(Self { side: side.clone(), pieces, into })
    }

    /// Queues the copies of a list of pieces.
    ///
    /// # Errors
    /// When there is no such list, or the device fails.
    pub fn queue(&mut self, list: usize) -> Result<(), Error> {
        self.side.enter()?;
        let here = self.side.owner().context();
        let stream = self.side.stream().handle();
        let width = size_of::<T>();
        let pieces =
            self.pieces.get(list).ok_or_else(|| Error::structure("copy", format!("there is no list {list}")))?;
        for piece in pieces.iter().filter(|piece| piece.count > 0) {
            let to = self.into.address() + (piece.to * width) as CUdeviceptr;
            let from = piece.memory.address() + (piece.first * width) as CUdeviceptr;
            let (there, bytes) = (piece.memory.owner.context(), piece.count * width);
            // SAFETY: the pieces are within the arrays, by `new`. The stream's owner keeps this context alive, and the
            // piece's memory the other one; `self` keeps both memories until the stream has finished its queued work.
            let result = unsafe {
                match here == there {
                    true => cuMemcpyDtoDAsync_v2(to, from, bytes, stream),
                    false => cuMemcpyPeerAsync(to, here, from, there, bytes, stream),
                }
            };
            driver(result, "copying from another GPU")?;
        }
        Ok(())
    }

    /// The destination.
    pub fn array(&self) -> &CudaBuffer<T> {
        &self.into
    }
}

impl<T: Element> Drop for Fetch<T> {
    fn drop(&mut self) {
        // The pieces' memory may be freed afterwards. If waiting fails, the context is gone together with its queued
        // work.
        let _ = self.side.synchronize();
    }
}
