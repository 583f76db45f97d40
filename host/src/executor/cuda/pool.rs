//! The memory of a GPU's arrays, in stream order.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cust::sys::{
    CUcontext, CUdeviceptr, CUmemAllocationHandleType, CUmemAllocationType, CUmemLocation, CUmemLocationType,
    CUmemPool_attribute, CUmemPoolProps, CUmemoryPool, CUresult, CUstream, cuCtxSetCurrent, cuCtxSynchronize,
    cuMemAlloc_v2, cuMemAllocFromPoolAsync, cuMemFree_v2, cuMemFreeAsync, cuMemPoolCreate, cuMemPoolDestroy,
    cuMemPoolGetAttribute, cuMemPoolSetAttribute, cuMemPoolTrimTo, cuStreamSynchronize,
};

use super::context::Context;
use super::kept_context::KeptContext;
use super::stream::{Stream, is_capturing, is_default};

/// Memory that the driver keeps for the arrays of one executor: allocating and freeing an array takes microseconds, whereas
/// a round trip to the driver's own memory takes 0.1 ms, or 1 ms for a gigabyte.
///
/// Memory is allocated and freed in stream order. Freed memory may be reused at once, since its next user comes later on the
/// stream. Only work queued on that stream uses the memory, so freeing waits for nothing.
pub(super) struct Pool {
    /// `None` if the driver has no pools for the device; each array then comes from the driver.
    handle: Option<Handle>,
    device: i32,
    stream: Stream,
    /// Its identity in the list of all pools.
    number: u64,
}

/// A pool of the driver.
#[derive(Clone, Copy)]
struct Handle(CUmemoryPool);

// SAFETY: the driver accepts calls for a pool from any thread.
unsafe impl Send for Handle {}
// SAFETY: the driver accepts calls for a pool from several threads at once.
unsafe impl Sync for Handle {}

impl Handle {
    /// Bytes that belong to no array.
    fn kept(self) -> u64 {
        let read = |attribute| {
            let mut bytes = 0_u64;
            // SAFETY: these attributes are 64-bit numbers, and a pool leaves the list before it is destroyed.
            let result = unsafe { cuMemPoolGetAttribute(self.0, attribute, (&raw mut bytes).cast()) };
            if result == CUresult::CUDA_SUCCESS { bytes } else { 0 }
        };
        let reserved = read(CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
        reserved.saturating_sub(read(CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT))
    }
}

/// The part of an executor's memory that other executors access.
struct Known {
    /// Unique among all pools.
    number: u64,
    device: i32,
    handle: Option<Handle>,
    context: CUcontext,
    stream: CUstream,
}

// SAFETY: the driver accepts calls for a stream and a context from any thread.
unsafe impl Send for Known {}

impl Known {
    /// Waits for all work queued on the stream. Failures there are reported to the caller that waits for the results.
    fn wait(&self) {
        let _kept = KeptContext::new();
        // SAFETY: a stream and its context leave the list before they are destroyed. The handle of a default stream refers
        // to the current context's, and a thread's default stream to another stream here: in these cases the whole context
        // is waited for.
        unsafe {
            cuCtxSetCurrent(self.context);
            // Waiting would end the capture with an error, and captured work has nothing to release yet.
            if is_default(self.stream) {
                cuCtxSynchronize();
            } else if !is_capturing(self.stream) {
                cuStreamSynchronize(self.stream);
            }
        }
    }
}

/// The memory of all executors.
static ALL: Mutex<Vec<Known>> = Mutex::new(Vec::new());

/// Number of pools made so far.
static POOLS: AtomicU64 = AtomicU64::new(0);

fn all() -> MutexGuard<'static, Vec<Known>> {
    // The list is complete between any two calls.
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// Memory of this device, for work queued on the stream, which belongs to the context.
    pub fn new(device: i32, context: &Context, stream: Stream) -> Self {
        let properties = CUmemPoolProps {
            allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            location: CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: device },
            win32SecurityAttributes: null_mut(),
            reserved: [0; 64],
        };
        let mut pool = null_mut();
        // SAFETY: the properties only name the device.
        let result = unsafe { cuMemPoolCreate(&mut pool, &properties) };
        let handle = (result == CUresult::CUDA_SUCCESS).then_some(Handle(pool));
        let number = POOLS.fetch_add(1, Ordering::Relaxed);
        all().push(Known { number, device, handle, context: context.handle(), stream: stream.handle() });
        Self { handle, device, stream, number }
    }

    /// The number of the device.
    pub fn device(&self) -> i32 {
        self.device
    }

    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Keeps freed memory as long as live arrays and kept memory together stay within `bytes`. If the driver refuses,
    /// less is kept.
    pub fn keep(&self, mut bytes: u64) {
        let Some(Handle(pool)) = self.handle else { return };
        let value = (&raw mut bytes).cast::<c_void>();
        // SAFETY: this attribute is a 64-bit number.
        unsafe { cuMemPoolSetAttribute(pool, CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, value) };
    }

    /// Bytes kept for later arrays of any executor of this device.
    pub fn kept(&self) -> u64 {
        all()
            .iter()
            .filter(|known| known.device == self.device)
            .filter_map(|known| known.handle)
            .map(Handle::kept)
            .sum()
    }

    /// Returns memory that belongs to no array, of all executors of this device, to the driver. Waits for all queued
    /// work.
    pub fn release(&self) {
        for known in all().iter().filter(|known| known.device == self.device) {
            known.wait();
            if let Some(Handle(pool)) = known.handle {
                // SAFETY: a pool leaves the list before it is destroyed.
                unsafe { cuMemPoolTrimTo(pool, 0) };
            }
        }
    }

    /// Memory with unspecified content for work queued from now on, aligned to 256 bytes.
    ///
    /// # Errors
    /// The driver's error, `CUDA_ERROR_OUT_OF_MEMORY` above all.
    pub fn allocate(&self, bytes: usize) -> Result<CUdeviceptr, CUresult> {
        match self.try_allocate(bytes) {
            Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY) => {
                // Kept memory, here or of other executors, may be in pieces that are too small.
                self.release();
                self.try_allocate(bytes)
            }
            result => result,
        }
    }

    fn try_allocate(&self, bytes: usize) -> Result<CUdeviceptr, CUresult> {
        let mut address = 0;
        // SAFETY: the context is current, and the pool and the stream exist.
        let result = unsafe {
            match self.handle {
                Some(Handle(pool)) => cuMemAllocFromPoolAsync(&mut address, bytes, pool, self.stream.handle()),
                None => cuMemAlloc_v2(&mut address, bytes),
            }
        };
        if result == CUresult::CUDA_SUCCESS { Ok(address) } else { Err(result) }
    }

    /// Frees memory. If the context is broken, the memory is gone with it.
    ///
    /// # Safety
    /// The memory was allocated here and has not been freed since; the context is current; all work that uses it is
    /// queued on this pool's stream, or done.
    pub unsafe fn free(&self, address: CUdeviceptr) {
        // SAFETY: by the caller's promise; without a pool, the driver waits for all queued work. The handle of another
        // thread's default stream refers to this thread's here, whose work begins when all is done.
        unsafe {
            if self.stream.is_of_another_thread() {
                cuCtxSynchronize();
            }
            match self.handle {
                Some(_) => cuMemFreeAsync(address, self.stream.handle()),
                None => cuMemFree_v2(address),
            };
        }
    }
}

impl Drop for Pool {
    /// All arrays have been freed, since they keep the owner of this pool alive.
    fn drop(&mut self) {
        let mut all = all();
        if let Some(place) = all.iter().position(|known| known.number == self.number) {
            // Queued work still has to free its arrays.
            all.swap_remove(place).wait();
        }
        if let Some(Handle(pool)) = self.handle {
            // SAFETY: all memory allocated here has been freed.
            unsafe { cuMemPoolDestroy(pool) };
        }
    }
}
