//! Memory that other GPUs of the process copy from.

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

/// Memory of the driver's own, not of an executor's pool, whose arrays other GPUs cannot reach.
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
        // SAFETY: the context is the current one, and a place for an address.
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

    /// Where it is, for other libraries; 0 if it has no bytes.
    pub fn address(&self) -> CUdeviceptr {
        self.address
    }

    /// How many bytes there are.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for PeerMemory {
    fn drop(&mut self) {
        // Where the context cannot be had, the memory is gone with it.
        if self.address != 0 && self.owner.enter_to_free().is_ok() {
            // SAFETY: it was allocated in this context. Who copies from it keeps it until that is done, and the driver waits
            // for what the GPU itself does with it.
            unsafe { cuMemFree_v2(self.address) };
        }
    }
}

/// Arrays that other GPUs can reach.
impl Cuda {
    /// An array of no particular content that executors of other GPUs can [copy from](Fetch), and its memory, which they keep
    /// for that. It takes longer to make than others, and [`memory_use`](Self::memory_use) does not count it.
    ///
    /// # Errors
    /// When memory runs out, or the device fails.
    #[doc(hidden)]
    pub fn reachable<T: Element>(&self, length: usize) -> Result<(CudaBuffer<T>, Arc<PeerMemory>), Error> {
        self.refuse_recording("allocating on the GPU")?;
        let memory = Arc::new(PeerMemory::new(&self.owner, length.saturating_mul(size_of::<T>()))?);
        Ok((CudaBuffer::in_memory(&self.owner, memory.clone(), length), memory))
    }

    /// Lets this GPU read the memory of another one directly, if it can: whether it can. Otherwise copies go by way of the
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
        // SAFETY: a place for a number, and the numbers of two devices.
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

    /// What tells this GPU from all others, on any machine.
    ///
    /// # Errors
    /// When the device fails.
    #[doc(hidden)]
    pub fn identity(&self) -> Result<[u8; 16], Error> {
        self.enter()?;
        let mut identity = CUuuid::default();
        // SAFETY: a place for an identity, and the number of a device.
        let result = unsafe { cuDeviceGetUuid(&mut identity, self.owner.pool.device()) };
        driver(result, "asking for the identity of a GPU")?;
        Ok(identity.bytes.map(|byte| byte as u8))
    }

    /// Whether it works in its device's primary context, as CUDA's runtime and libraries that are built on it do.
    #[doc(hidden)]
    pub fn is_in_primary_context(&self) -> bool {
        self.owner.is_primary()
    }
}

/// An array of another executor that kernels of this one read where it is. What they read while it is written is some number.
#[doc(hidden)]
pub struct PeerArray<T: Element> {
    array: CudaBuffer<T>,
    reader: Cuda,
}

impl Cuda {
    /// An array in memory that other executors can reach, if this GPU [reaches](Self::reach) it.
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
    /// The array, to be read only.
    pub fn array(&self) -> &CudaBuffer<T> {
        &self.array
    }
}

impl<T: Element> Drop for PeerArray<T> {
    fn drop(&mut self) {
        // The memory may be freed afterwards, where nothing waits for this GPU. Where waiting fails, the context is gone with
        // what was queued.
        let _ = self.reader.enter().and_then(|()| self.reader.synchronize());
    }
}

/// A copy of some elements of an array that other executors can reach.
#[doc(hidden)]
pub struct Piece {
    /// Where they are.
    pub memory: Arc<PeerMemory>,
    /// The first of them there.
    pub first: usize,
    /// How many.
    pub count: usize,
    /// The place of the first one where they go to.
    pub to: usize,
}

/// Copies of pieces of arrays, of this GPU and of others, into one array, again and again.
#[doc(hidden)]
pub struct Fetch<T: Element> {
    side: Arc<SideStream>,
    pieces: Vec<Vec<Piece>>,
    into: CudaBuffer<T>,
}

impl<T: Element> Fetch<T> {
    /// Copies on a side stream of the executor that the array is of. There may be several lists of pieces, of which each
    /// [`queue`](Self::queue) takes one.
    ///
    /// # Errors
    /// When the array is another executor's, or a piece is not within the arrays.
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
            // SAFETY: the pieces are within the arrays, by `new`. The stream's owner keeps this context and the piece's memory
            // the other one; this keeps the memory of both until the stream has done what is queued.
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

    /// What is copied to.
    pub fn array(&self) -> &CudaBuffer<T> {
        &self.into
    }
}

impl<T: Element> Drop for Fetch<T> {
    fn drop(&mut self) {
        // The pieces' memory may be freed afterwards. Where waiting fails, the context is gone with what was queued.
        let _ = self.side.synchronize();
    }
}
