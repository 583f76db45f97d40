//! The memory of a GPU's arrays, in the order of a stream.

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

/// Memory that the driver keeps for the arrays of one executor: making and freeing one takes microseconds, where a way to
/// the driver's own memory and back takes a tenth of a millisecond, or a whole one for a gigabyte.
///
/// Memory is given and taken back in the order of a stream. What is freed may be given again at once: its next user comes
/// later on the stream. Only what is queued on that stream uses the memory, so freeing waits for nothing.
pub(super) struct Pool {
    /// None where the driver has no pools for the device: then each array comes from the driver.
    handle: Option<Handle>,
    device: i32,
    stream: Stream,
    /// Its own in the list of all.
    number: u64,
}

/// A pool of the driver.
#[derive(Clone, Copy)]
struct Handle(CUmemoryPool);

// SAFETY: the driver takes calls for a pool from any thread.
unsafe impl Send for Handle {}
// SAFETY: the driver takes calls for a pool from several threads at once.
unsafe impl Sync for Handle {}

impl Handle {
    /// Bytes that no array has.
    fn kept(self) -> u64 {
        let read = |attribute| {
            let mut bytes = 0_u64;
            // SAFETY: these attributes are numbers of 64 bits, and a pool leaves the list before it is destroyed.
            let result = unsafe { cuMemPoolGetAttribute(self.0, attribute, (&raw mut bytes).cast()) };
            if result == CUresult::CUDA_SUCCESS { bytes } else { 0 }
        };
        let reserved = read(CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
        reserved.saturating_sub(read(CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT))
    }
}

/// What others know of an executor's memory.
struct Known {
    /// No other one ever has it.
    number: u64,
    device: i32,
    handle: Option<Handle>,
    context: CUcontext,
    stream: CUstream,
}

// SAFETY: the driver takes calls for a stream and a context from any thread.
unsafe impl Send for Known {}

impl Known {
    /// Waits for what is queued on the stream. What fails there is said to those who wait for its results.
    fn wait(&self) {
        let _kept = KeptContext::new();
        // SAFETY: a stream, and its context, leave the list before they are destroyed. The handle of a default stream means
        // that of the current context, and that of the thread another stream here: then all of the context is waited for.
        unsafe {
            cuCtxSetCurrent(self.context);
            // To wait would end the capture with an error, and what is captured has nothing to give back yet.
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

/// The number of pools made so far.
static POOLS: AtomicU64 = AtomicU64::new(0);

fn all() -> MutexGuard<'static, Vec<Known>> {
    // The list is whole between any two calls.
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// Memory of this device, for what is queued on the stream, which is one of the context.
    pub fn new(device: i32, context: &Context, stream: Stream) -> Self {
        let properties = CUmemPoolProps {
            allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            location: CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: device },
            win32SecurityAttributes: null_mut(),
            reserved: [0; 64],
        };
        let mut pool = null_mut();
        // SAFETY: the properties say which device, and nothing else.
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

    /// Keeps memory that is freed, as long as live arrays and kept memory together stay within `bytes`. Where the
    /// driver refuses, less is kept.
    pub fn keep(&self, mut bytes: u64) {
        let Some(Handle(pool)) = self.handle else { return };
        let value = (&raw mut bytes).cast::<c_void>();
        // SAFETY: this attribute is a number of 64 bits.
        unsafe { cuMemPoolSetAttribute(pool, CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, value) };
    }

    /// Bytes that are kept for later arrays, of any executor of this device.
    pub fn kept(&self) -> u64 {
        all()
            .iter()
            .filter(|known| known.device == self.device)
            .filter_map(|known| known.handle)
            .map(Handle::kept)
            .sum()
    }

    /// Gives back to the driver what no array of any executor of this device has. Waits for all that is queued.
    pub fn release(&self) {
        for known in all().iter().filter(|known| known.device == self.device) {
            known.wait();
            if let Some(Handle(pool)) = known.handle {
                // SAFETY: a pool leaves the list before it is destroyed.
                unsafe { cuMemPoolTrimTo(pool, 0) };
            }
        }
    }

    /// Memory of no particular content for what is queued from now on, aligned to 256 bytes.
    ///
    /// # Errors
    /// What the driver says, `CUDA_ERROR_OUT_OF_MEMORY` above all.
    pub fn allocate(&self, bytes: usize) -> Result<CUdeviceptr, CUresult> {
        match self.try_allocate(bytes) {
            Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY) => {
                // What is kept, here or by other executors, may be in pieces that are too small.
                self.release();
                self.try_allocate(bytes)
            }
            result => result,
        }
    }

    fn try_allocate(&self, bytes: usize) -> Result<CUdeviceptr, CUresult> {
        let mut address = 0;
        // SAFETY: the context is the current one, the pool and the stream are there.
        let result = unsafe {
            match self.handle {
                Some(Handle(pool)) => cuMemAllocFromPoolAsync(&mut address, bytes, pool, self.stream.handle()),
                None => cuMemAlloc_v2(&mut address, bytes),
            }
        };
        if result == CUresult::CUDA_SUCCESS { Ok(address) } else { Err(result) }
    }

    /// Takes memory back. Where the context is broken, it is gone with it.
    ///
    /// # Safety
    /// It was allocated here and not freed since; the context is the current one; what uses it is queued on this pool's
    /// stream, or is done.
    pub unsafe fn free(&self, address: CUdeviceptr) {
        // SAFETY: by the caller's promise; without a pool, the driver waits for all that is queued. The handle of another
        // thread's default stream means this thread's here, whose work begins when all is done.
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
    /// All arrays are freed: they hold what holds this.
    fn drop(&mut self) {
        let mut all = all();
        if let Some(place) = all.iter().position(|known| known.number == self.number) {
            // What is queued has still to free its arrays.
            all.swap_remove(place).wait();
        }
        if let Some(Handle(pool)) = self.handle {
            // SAFETY: nothing is left that was allocated here.
            unsafe { cuMemPoolDestroy(pool) };
        }
    }
}
