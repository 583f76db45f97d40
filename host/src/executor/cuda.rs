//! NVIDIA GPUs, through the CUDA driver.

use std::collections::HashMap;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cuda_std::launch::{Grid, Launch};
use cuda_std::{Global, GlobalMut};
use cust::context::{Context, CurrentContext};
use cust::device::DeviceAttribute;
use cust::error::CudaError;
use cust::event::{Event, EventFlags};
use cust::function::FunctionAttribute;
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use cust::sys::{
    CUdeviceptr, CUfunction, CUfunction_attribute, CUresult, cuFuncSetAttribute, cuLaunchKernel, cuMemcpyDtoDAsync_v2,
    cuMemcpyDtoH_v2, cuMemcpyHtoDAsync_v2, cuMemsetD8Async, cuOccupancyMaxActiveBlocksPerMultiprocessor,
};

use super::pool::Pool;
use super::ptx::{self, Ptx};
use super::recording::Recorder;
use super::staging::{DOWNLOADING, Staging, UPLOADING, WORTHWHILE};
use super::{Executor, KernelExecutor, Recording, multiply_by_kernels};
use crate::dense;
use crate::error::{Error, check_length};
use crate::format::{Csr, FillLimit, Format, Matrix};
use crate::memory::{Buffer, Element, Memory};
use crate::real::Real;
use crate::spmv::{
    ALWAYS_SHARED_BYTES, Device, KernelResources, MultivectorOperands, Operands, Tuning, Workspace, launches,
    multivector_launches, transposed_launches,
};

/// The executor that runs on an NVIDIA GPU.
///
/// Multiplications are queued on a stream of its own and run one after the other.
///
/// It works in the device's primary context, which it shares with CUDA's runtime and with other executors, and which
/// each call makes the calling thread's current one. Arrays keep the context alive, so they may outlive the executor.
/// An executor can work with arrays of another one of the same GPU, once that one is done with them:
/// [`synchronize`](Executor::synchronize) it first, for each has a queue of its own.
///
/// Memory of arrays that are dropped is kept for later ones, as long as it and the arrays there are have at most half of the
/// GPU's memory: see [`with_kept_memory`](Self::with_kept_memory). It is given back when an array would not fit otherwise,
/// by [`release_memory`](Self::release_memory), and when the executor and its arrays are dropped.
///
/// From the first copy of 4 MB or more on it keeps 24 MB of page-locked memory of the host, through which such copies go.
///
/// A kernel that fails, or a device that is lost, breaks the context: from then on every call of every executor of that
/// device is an error, and so is a new executor. When all executors and arrays of the device have been dropped, the
/// context is gone, and a new executor begins anew if the driver allows it.
pub struct Cuda {
    device: Device,
    ptx: Ptx,
    /// Shared memory of a multiprocessor.
    shared_bytes: u32,
    // Fields are dropped in this order: the context last.
    kernels: Mutex<Kernels>,
    pub(super) recorder: Recorder,
    /// Made when a long array is copied for the first time.
    staging: Mutex<Option<Staging>>,
    pub(super) owner: Arc<Owner>,
}

/// Bytes of shared memory that the driver takes for itself in each block.
const RESERVED_SHARED_BYTES: u32 = 1024;

/// The kernels that were used.
#[derive(Default)]
struct Kernels {
    loaded: HashMap<String, LoadedKernel>,
    /// The one that was launched last.
    last: String,
}

/// What an executor shares with its arrays and recordings.
pub(super) struct Owner {
    pub(super) meter: Meter,
    // Dropped before the context.
    pool: Pool,
    context: Context,
}

impl Drop for Owner {
    fn drop(&mut self) {
        // Streams and pools are freed in the context that is current. Where it cannot be had, they are gone with it.
        let _ = self.enter();
    }
}

impl Owner {
    /// Makes this GPU the calling thread's current one: another executor may have changed it.
    pub(super) fn enter(&self) -> Result<(), Error> {
        CurrentContext::set_current(&self.context).map_err(cuda("setting the context"))
    }
}

impl Cuda {
    /// The GPU of this number, counted from 0 as CUDA does.
    ///
    /// # Errors
    /// When there is no such GPU, or it is too old for the kernels.
    pub fn new(number: u32) -> Result<Self, Error> {
        let unavailable = |reason: String| Error::Unavailable { executor: "cuda", reason };
        let failed = |what: &'static str| {
            move |error: CudaError| Error::Unavailable { executor: "cuda", reason: format!("{what}: {error:?}") }
        };
        cust::init(cust::CudaFlags::empty()).map_err(failed("the driver did not start"))?;
        let count = cust::device::Device::num_devices().map_err(failed("no device was found"))?;
        if number >= count {
            return Err(unavailable(format!("device {number} was asked for, and there are {count}")));
        }
        let gpu = cust::device::Device::get_device(number).map_err(failed("the device was not found"))?;
        let attribute = |which| gpu.get_attribute(which).map(|value| value as u32).map_err(failed("the device"));
        let name = gpu.name().map_err(failed("the device's name"))?;
        let (major, minor) =
            (attribute(DeviceAttribute::ComputeCapabilityMajor)?, attribute(DeviceAttribute::ComputeCapabilityMinor)?);
        let ptx = ptx::for_device(&name, major, minor).map_err(unavailable)?;
        let context = Context::new(gpu).map_err(failed("no context"))?;
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None).map_err(failed("no stream"))?;
        let driver = cust::CudaApiVersion::get().map_err(failed("the driver's version"))?;
        let shared_bytes = attribute(DeviceAttribute::MaxSharedMemoryPerMultiprocessor)?;
        let device = Device {
            name: format!("{name}, driver for CUDA {}.{}", driver.major(), driver.minor()),
            cache_bytes: Some(attribute(DeviceAttribute::L2CacheSize)?.into()),
            multiprocessors: attribute(DeviceAttribute::MultiprocessorCount)?,
            threads_per_multiprocessor: attribute(DeviceAttribute::MaxThreadsPerMultiprocessor)?,
            shared_bytes: Some(shared_bytes.saturating_sub(RESERVED_SHARED_BYTES)),
            tuning: Tuning::default(),
        };
        let recorder = Recorder::new().map_err(failed("no stream"))?;
        let pool = Pool::new(gpu.as_raw(), stream);
        let bytes = gpu.total_memory().map_err(failed("the device's memory"))?;
        pool.keep(bytes as u64 / 2);
        let owner = Arc::new(Owner { meter: Meter::default(), pool, context });
        let (kernels, staging) = (Mutex::default(), Mutex::default());
        Ok(Self { device, ptx, shared_bytes, kernels, recorder, staging, owner })
    }

    /// The same, which keeps memory of arrays that were dropped for later ones as long as both have at most so many bytes;
    /// what is beyond goes back to the driver when a call next waits for the GPU. With 0, nothing is kept beyond that.
    ///
    /// A kept array is made in microseconds. One from the driver takes 0.1 ms, or 1 ms for a gigabyte, and so do
    /// conversions for each array of their workspace.
    pub fn with_kept_memory(self, bytes: u64) -> Self {
        self.owner.pool.keep(bytes);
        self
    }

    /// The same with other sizes of grids.
    pub fn with_tuning(mut self, tuning: Tuning) -> Self {
        self.device.tuning = tuning;
        self
    }

    /// The same with kernels from this PTX instead of those that the library has, for comparing variants of a kernel.
    ///
    /// # Safety
    /// The entry points have the parameters of those that the library has, and keep to the same arrays.
    pub unsafe fn with_ptx(mut self, text: String) -> Self {
        self.ptx = Ptx::new(text);
        self.kernels = Mutex::default();
        self
    }

    pub(super) fn enter(&self) -> Result<(), Error> {
        self.owner.enter()
    }

    // A thread that panicked with the lock left whole kernels behind.
    fn kernels(&self) -> MutexGuard<'_, Kernels> {
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stream that this thread's launches are queued on: while it records, what is not recorded is an error.
    fn launch_stream(&self) -> &Stream {
        if self.recorder.is_recording() { self.recorder.stream() } else { self.stream() }
    }

    /// The stream that everything is queued on.
    pub(super) fn stream(&self) -> &Stream {
        self.owner.pool.stream()
    }

    /// Says no to what cannot be recorded while this thread records.
    fn refuse_recording(&self, what: &str) -> Result<(), Error> {
        if self.recorder.is_recording() {
            return Err(Error::Cuda { what: what.into(), reason: "this cannot be part of a recording".into() });
        }
        Ok(())
    }

    /// The function of an entry point that is launched next.
    fn function(&self, entry: &str, grid: Grid) -> Result<CUfunction, Error> {
        let mut kernels = self.kernels();
        kernels.last.clear();
        kernels.last.push_str(entry);
        // Launched before, as almost always: one look.
        if let Some(kernel) = kernels.loaded.get(entry)
            && grid.shared_bytes == kernel.shared_bytes
        {
            return Ok(kernel.function);
        }
        let kernel = self.load(&mut kernels, entry)?;
        // Never less than before: another thread may be about to launch larger blocks.
        if grid.shared_bytes > kernel.allowed_bytes {
            allow_shared(kernel.function, grid, entry)?;
            kernel.allowed_bytes = grid.shared_bytes;
        }
        if grid.shared_bytes != kernel.shared_bytes {
            self.leave_cache(kernel.function, grid, entry)?;
            kernel.shared_bytes = grid.shared_bytes;
        }
        Ok(kernel.function)
    }

    /// The kernel with this entry point, which the driver compiles when it is used first.
    fn load<'a>(&self, kernels: &'a mut Kernels, entry: &str) -> Result<&'a mut LoadedKernel, Error> {
        let missing = || Error::Cuda { what: entry.into(), reason: "there is no such kernel".into() };
        if !kernels.loaded.contains_key(entry) {
            let module = Module::from_ptx(self.ptx.module(entry).ok_or_else(missing)?, &[]).map_err(cuda(entry))?;
            let function = module.get_function(entry).map_err(cuda(entry))?.to_raw();
            kernels.loaded.insert(
                entry.to_owned(),
                LoadedKernel { module, function, allowed_bytes: ALWAYS_SHARED_BYTES, shared_bytes: 0 },
            );
        }
        kernels.loaded.get_mut(entry).ok_or_else(missing)
    }

    /// Asks for no more shared memory on a multiprocessor than so many blocks take as fit for other reasons: the rest of
    /// that memory is the L1 cache. The driver by itself may reserve twice as much.
    fn leave_cache(&self, function: CUfunction, grid: Grid, entry: &str) -> Result<(), Error> {
        let mut blocks = 0;
        let (threads, bytes) = (grid.threads_per_block as i32, grid.shared_bytes as usize);
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
        // How many blocks fit is counted with what was asked for last, and that may have been for smaller ones.
        // SAFETY: the function is loaded, in the current context.
        driver(unsafe { cuFuncSetAttribute(function, attribute, 100) }, entry)?;
        // SAFETY: as before.
        let result = unsafe { cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, function, threads, bytes) };
        driver(result, entry)?;
        let needed = blocks as u32 * (grid.shared_bytes + RESERVED_SHARED_BYTES);
        // Rounded down: there are few sizes to choose from, and the driver takes the next larger one.
        let percent = (100 * needed / self.shared_bytes).min(100);
        // SAFETY: as before.
        driver(unsafe { cuFuncSetAttribute(function, attribute, percent as i32) }, entry)
    }

    /// An array of no particular content.
    fn allocate<T: Element>(&self, length: usize) -> Result<CudaBuffer<T>, Error> {
        self.refuse_recording("allocating on the GPU")?;
        self.enter()?;
        let bytes = length.saturating_mul(size_of::<T>());
        let mut array = CudaBuffer { address: 0, length: 0, owner: self.owner.clone(), elements: PhantomData };
        if bytes > 0 {
            let allocated = self.owner.pool.allocate(bytes);
            array.address = allocated.map_err(|result| match result {
                CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                    let bytes = length as u128 * size_of::<T>() as u128;
                    Error::OutOfMemory { what: "an array on the GPU", bytes }
                }
                result => failed(result, "allocating on the GPU"),
            })?;
            array.length = length;
            self.owner.meter.add(array.bytes());
        }
        Ok(array)
    }

    /// Bytes of all arrays of this executor that there are now, and the most that there were at a time since
    /// [`reset_peak`](Self::reset_peak). What the driver takes besides is not counted.
    pub fn memory_use(&self) -> MemoryUse {
        let Meter { now, peak, .. } = &self.owner.meter;
        let [now, peak] = [now, peak].map(|bytes| bytes.load(Ordering::Relaxed));
        MemoryUse { now, peak }
    }

    /// Begins to look for the peak of memory anew.
    pub fn reset_peak(&self) {
        let Meter { now, peak, .. } = &self.owner.meter;
        peak.store(now.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Bytes of the GPU's memory that arrays could have: what nobody uses, neither this process nor another, and what this
    /// executor and others keep for them. What was dropped is counted, for the call waits for what is queued.
    ///
    /// # Errors
    /// When the device fails.
    pub fn free_memory(&self) -> Result<u64, Error> {
        self.synchronize()?;
        let (free, _) = cust::memory::mem_get_info().map_err(cuda("asking for the free memory"))?;
        Ok(free as u64 + self.kept_memory())
    }

    /// Bytes that this executor, and others of this GPU, keep for later arrays.
    pub fn kept_memory(&self) -> u64 {
        self.owner.pool.kept()
    }

    /// Gives memory that is kept for later arrays back to the driver, for other libraries and processes. It is that of all
    /// executors of this GPU, and the call waits for what they have queued.
    ///
    /// # Errors
    /// When the device fails.
    pub fn release_memory(&self) -> Result<(), Error> {
        self.enter()?;
        self.owner.pool.release();
        self.synchronize()
    }

    /// Copies so many bytes through page-locked memory by `copy`. Says `None` where they are too few, another thread is
    /// at it, or there is no such memory: then the driver has its own way.
    fn staged(&self, bytes: usize, copy: impl FnOnce(&mut Staging) -> Result<(), Error>) -> Option<Result<(), Error>> {
        if bytes < WORTHWHILE {
            return None;
        }
        let mut staging = self.staging.try_lock().ok()?;
        if staging.is_none() {
            *staging = Staging::new().ok();
        }
        staging.as_mut().map(copy)
    }

    /// An error of waiting for the device: what failed is what was queued before.
    fn waiting(&self, error: CudaError) -> Error {
        let what = match self.kernels().last.as_str() {
            "" => "waiting for copies".to_owned(),
            last => format!("waiting for the kernels up to {last}"),
        };
        cuda(&what)(error)
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // Modules are freed in the context that is current. Where it cannot be had, they are gone with it.
        let _ = self.enter();
    }
}

/// Bytes of arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryUse {
    /// Now.
    pub now: u64,
    /// The most at a time.
    pub peak: u64,
}

/// Asks for blocks with so much shared memory.
fn allow_shared(function: CUfunction, grid: Grid, entry: &str) -> Result<(), Error> {
    let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    // SAFETY: the function is loaded, in the current context.
    match unsafe { cuFuncSetAttribute(function, attribute, grid.shared_bytes as i32) } {
        CUresult::CUDA_ERROR_INVALID_VALUE => {
            let reason = format!("a block needs {} bytes of shared memory, more than this GPU has", grid.shared_bytes);
            Err(Error::Cuda { what: entry.into(), reason })
        }
        result => driver(result, entry),
    }
}

/// A kernel that the driver has compiled.
struct LoadedKernel {
    /// Where the function is: it must stay.
    module: Module,
    function: CUfunction,
    /// The most shared memory that a block may have.
    allowed_bytes: u32,
    /// The shared memory of the blocks that it was launched in last, for which it leaves the rest to the cache.
    shared_bytes: u32,
}

// SAFETY: a function can be launched from any thread.
unsafe impl Send for LoadedKernel {}

/// Counts the bytes of an executor's arrays.
#[derive(Default)]
pub(super) struct Meter {
    now: AtomicU64,
    peak: AtomicU64,
    /// How many arrays were freed: what was recorded before may use one of them.
    pub(super) freed: AtomicU64,
}

impl Meter {
    fn add(&self, bytes: u64) {
        let now = self.now.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(now, Ordering::Relaxed);
    }
}

impl KernelExecutor for Cuda {
    unsafe fn launch(&self, launch: &Launch) -> Result<(), Error> {
        let Launch { grid, kernel } = launch;
        if grid.blocks == 0 {
            return Ok(());
        }
        self.enter()?;
        let entry = kernel.entry();
        let function = self.function(&entry, *grid)?;
        let mut arguments: Vec<_> = kernel.arguments().into_iter().map(<*const _>::cast_mut).collect();
        // SAFETY: the arguments' types are the kernel's own, by `#[kernel]`, and its module is loaded as long as this
        // executor is there; the rest is the caller's promise.
        let result = unsafe {
            cuLaunchKernel(
                function,
                grid.blocks,
                1,
                1,
                grid.threads_per_block,
                1,
                1,
                grid.shared_bytes,
                self.launch_stream().as_inner(),
                arguments.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        driver(result, &entry)
    }

    fn unwritten<T: Element>(&self, length: usize) -> Result<CudaBuffer<T>, Error> {
        self.allocate(length)
    }
}

impl Cuda {
    /// The stream that multiplications are queued on, a `CUstream`, for libraries that work on the same arrays. This
    /// GPU's primary context is the calling thread's current one afterwards. The stream lives as long as this
    /// executor.
    ///
    /// # Errors
    /// When the device fails.
    pub fn enter_stream(&self) -> Result<*mut c_void, Error> {
        self.enter()?;
        Ok(self.stream().as_inner().cast())
    }

    /// Queues a copy from one array to another of the same length.
    ///
    /// # Errors
    /// When the lengths differ, or the device fails.
    pub fn copy<T: Element>(&self, from: &CudaBuffer<T>, to: &mut CudaBuffer<T>) -> Result<(), Error> {
        check_length("the array copied to", to.len(), from.len())?;
        if from.is_empty() {
            return Ok(());
        }
        self.enter()?;
        let stream = self.launch_stream().as_inner();
        // SAFETY: both arrays are on this GPU and have so many bytes, and what is freed is used again after the copy.
        let result = unsafe { cuMemcpyDtoDAsync_v2(to.address, from.address, from.bytes() as usize, stream) };
        driver(result, "copying on the GPU")
    }
}

/// What the driver answered to a call.
pub(super) fn driver(result: CUresult, what: &str) -> Result<(), Error> {
    if result == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(failed(result, what)) }
}

fn failed(result: CUresult, what: &str) -> Error {
    Error::Cuda { what: what.into(), reason: format!("{result:?}") }
}

/// An error of the driver, with what was asked of it. The driver's own text is not asked for: that can fail.
pub(super) fn cuda(what: &str) -> impl Fn(CudaError) -> Error + use<> {
    let what = what.to_owned();
    move |error| Error::Cuda { what: what.clone(), reason: format!("{error:?}") }
}

// SAFETY: arrays are copied byte by byte, in the order of the stream; conversions are by kernels that are tested to keep each entry.
unsafe impl Executor for Cuda {
    type Memory = CudaMemory;

    fn device(&self) -> &Device {
        &self.device
    }

    fn kernel_resources(&self, entry: &str) -> Option<KernelResources> {
        self.enter().ok()?;
        let mut kernels = self.kernels();
        let function = self.load(&mut kernels, entry).ok()?.module.get_function(entry).ok()?;
        let attribute = |which| u32::try_from(function.get_attribute(which).ok()?).ok();
        Some(KernelResources {
            registers: attribute(FunctionAttribute::NumRegisters)?,
            shared_bytes: attribute(FunctionAttribute::SharedMemorySizeBytes)?,
            most_threads: attribute(FunctionAttribute::MaxThreadsPerBlock)?,
        })
    }

    fn upload<T: Element>(&self, array: Vec<T>) -> Result<CudaBuffer<T>, Error> {
        let buffer = self.allocate(array.len())?;
        if array.is_empty() {
            return Ok(buffer);
        }
        // On the stream, so that it comes before the kernels that are launched later.
        let (bytes, address): (&[u8], _) = (bytemuck::cast_slice(&array), buffer.address);
        // SAFETY: the lengths agree, and what is freed is used again after the copy.
        match self.staged(bytes.len(), |staging| unsafe { staging.upload(bytes, address, self.stream()) }) {
            Some(done) => done?,
            None => {
                let (from, stream) = (bytes.as_ptr().cast(), self.stream().as_inner());
                // SAFETY: as before, and `array` lives until the copy is done, by the last line.
                driver(unsafe { cuMemcpyHtoDAsync_v2(address, from, bytes.len(), stream) }, UPLOADING)?;
                self.synchronize()?;
            }
        }
        Ok(buffer)
    }

    fn zeros<T: Element>(&self, length: usize) -> Result<CudaBuffer<T>, Error> {
        let buffer = self.allocate(length)?;
        if !buffer.is_empty() {
            let (bytes, stream) = (buffer.bytes() as usize, self.stream().as_inner());
            // SAFETY: the array has so many bytes, and kernels that are launched later come after.
            driver(unsafe { cuMemsetD8Async(buffer.address, 0, bytes, stream) }, "filling an array with zeros")?;
        }
        Ok(buffer)
    }

    fn download<T: Element>(&self, array: &CudaBuffer<T>) -> Result<Vec<T>, Error> {
        self.synchronize()?;
        let mut copy = crate::memory::zeros(array.length)?;
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut copy);
        if bytes.is_empty() {
            return Ok(copy);
        }
        let length = bytes.len();
        // SAFETY: the lengths agree.
        match self.staged(length, |staging| unsafe { staging.download(array.address, bytes, self.stream()) }) {
            Some(done) => done?,
            // SAFETY: as before.
            None => driver(unsafe { cuMemcpyDtoH_v2(copy.as_mut_ptr().cast(), array.address, length) }, DOWNLOADING)?,
        }
        Ok(copy)
    }

    fn duplicate<T: Element>(&self, array: &CudaBuffer<T>) -> Result<CudaBuffer<T>, Error> {
        let mut copy = self.allocate(array.len())?;
        self.copy(array, &mut copy)?;
        Ok(copy)
    }

    multiply_by_kernels!();

    fn repeat(
        &self,
        recording: &mut Recording,
        times: usize,
        work: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<(), Error> {
        (0..times).try_for_each(|_| recording.cuda.play(self, work))
    }

    fn synchronize(&self) -> Result<(), Error> {
        self.refuse_recording("waiting for the kernels")?;
        self.enter()?;
        self.stream().synchronize().map_err(|error| self.waiting(error))
    }

    fn time(&self, work: &mut dyn FnMut() -> Result<(), Error>) -> Result<Duration, Error> {
        self.enter()?;
        let event = || Event::new(EventFlags::DEFAULT).map_err(cuda("making an event"));
        let (start, stop) = (event()?, event()?);
        start.record(self.stream()).map_err(cuda("recording an event"))?;
        work()?;
        stop.record(self.stream()).map_err(cuda("recording an event"))?;
        stop.synchronize().map_err(|error| self.waiting(error))?;
        stop.elapsed(&start).map_err(cuda("reading a time"))
    }
}

/// The memory of NVIDIA GPUs.
pub struct CudaMemory;

impl Memory for CudaMemory {
    type Buffer<T: Element> = CudaBuffer<T>;
}

/// An array on a GPU. CUDA does not allocate nothing, so an empty array has no address.
pub struct CudaBuffer<T: Element> {
    address: CUdeviceptr,
    length: usize,
    owner: Arc<Owner>,
    elements: PhantomData<T>,
}

impl<T: Element> Drop for CudaBuffer<T> {
    fn drop(&mut self) {
        if self.length == 0 {
            return;
        }
        self.owner.meter.now.fetch_sub(self.bytes(), Ordering::Relaxed);
        self.owner.meter.freed.fetch_add(1, Ordering::Relaxed);
        // Memory is freed in the context that is current, and this thread's may be none or another. Where it cannot be
        // had, it is gone with its memory.
        if self.owner.enter().is_ok() {
            // SAFETY: it was allocated there, and executors queue all that uses it.
            unsafe { self.owner.pool.free(self.address) };
        }
    }
}

impl<T: Element> Buffer<T> for CudaBuffer<T> {
    fn len(&self) -> usize {
        self.length
    }

    fn global(&self) -> Global<T> {
        Global::from_device(self.address, self.length)
    }

    fn global_mut(&mut self) -> GlobalMut<T> {
        GlobalMut::from_device(self.address, self.length)
    }
}

impl<T: Element> CudaBuffer<T> {
    /// Where the array is on the GPU; 0 for an empty one. Reading and writing there is the business of what is queued
    /// on the executor's stream.
    pub fn address(&self) -> u64 {
        self.address
    }

    fn bytes(&self) -> u64 {
        self.length as u64 * size_of::<T>() as u64
    }
}
