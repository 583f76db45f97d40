//! NVIDIA GPUs, through the CUDA driver.

mod borrowed;
mod buffer;
mod context;
mod driver;
mod event;
mod executor;
mod kept_context;
mod kernels;
mod mailbox;
mod owner;
mod packing;
mod peer_memory;
mod pool;
mod ptx;
mod recorder;
mod recording;
mod side_stream;
mod staged;
mod staging;
mod stream;

use std::ffi::c_void;
use std::fmt::{Debug, Display};
use std::sync::{Arc, Mutex};

use cuda_std::launch::{Arguments, Entry, Grid, Place};
use cust::device::{Device as Gpu, DeviceAttribute};
use cust::sys::{CUresult, cuLaunchKernel, cuMemcpyDtoDAsync_v2};

pub use borrowed::{DeviceCsr, DeviceIndices};
pub use buffer::{CudaBuffer, CudaMemory};
use context::Context;
use driver::{cuda, driver, failed, in_words};
use event::Event;
#[doc(hidden)]
pub use kept_context::KeptContext;
use kernels::{Kernels, Loaded, Multiprocessors, RESERVED_SHARED_BYTES};
use mailbox::Mailbox;
pub use owner::MemoryUse;
use owner::Owner;
#[doc(hidden)]
pub use packing::{Beside, Packing};
pub use peer_memory::{Fetch, PeerArray, PeerMemory, Piece};
use pool::Pool;
use ptx::for_device;
use recorder::Recorder;
#[doc(hidden)]
pub use side_stream::{Mark, SideStream};
#[doc(hidden)]
pub use staged::Staged;
use staging::{Staging, WORTHWHILE};
use stream::Stream;

use super::operation::Executor;
use crate::device::{Device, Tuning};
use crate::error::{Error, check_length};
use crate::memory::{Buffer, Element};

/// The executor that runs on an NVIDIA GPU.
///
/// ```no_run
/// use host::executor::{Cuda, Executor};
/// use host::{Csr, Format, Plan};
///
/// # fn main() -> Result<(), host::Error> {
/// let gpu = Cuda::new(0)?;
/// let matrix = Csr::try_from_triplets(2, 2, &[0, 1], &[0, 1], &[2.0, 3.0])?;
/// let x = gpu.upload(vec![1.0, 1.0])?;
/// let mut y = gpu.zeros(2)?;
/// Plan::with_format(&gpu, matrix, Format::CSR_VECTOR)?.apply(1.0, &x, 0.0, &mut y)?; // Queued: it returns at once.
/// assert_eq!(gpu.download(&y)?, [2.0, 3.0]); // Waits.
/// # Ok(())
/// # }
/// ```
///
/// Work is queued on a stream and runs in order. Clones are handles of the same executor: they share its stream, memory and
/// kernels, and each has its own [`Tuning`]. Each call of [`new`](Self::new) makes an executor with a stream of its own.
///
/// It works in the device's primary context, shared with CUDA's runtime and with other executors, and each call makes
/// this context the calling thread's current one. Arrays keep the context alive, so they may outlive the executor. An
/// array belongs to the executor that made it: every other executor rejects it with [`Error::Foreign`], and can take a
/// copy with [`copy_of`](Self::copy_of).
///
/// Memory of dropped arrays is kept for later ones, as long as it and the live arrays together take at most half of the
/// GPU's memory: see [`with_kept_memory`](Self::with_kept_memory). It is released when an array would not fit otherwise, by
/// [`release_memory`](Self::release_memory), and when the executor and its arrays are dropped.
///
/// The first copy of 4 MB or more allocates 24 MB of page-locked host memory, which is kept for such copies.
///
/// A kernel that fails, or a device that is lost, breaks the context: from then on, every call of every executor of
/// that device is an error, and so is a new executor. Once all executors and arrays of the device have been dropped,
/// the context is gone, and a new executor starts afresh if the driver allows it.
#[derive(Clone)]
pub struct Cuda {
    device: Arc<Device>,
    kernels: Arc<Loaded>,
    shared: Arc<Shared>,
    owner: Arc<Owner>,
    /// The stream on which this handle launches kernels, if not the executor's own: only for [`Packing`], which keeps their
    /// order.
    side: Option<Arc<SideStream>>,
}

/// State shared by all handles of an executor, besides its memory.
struct Shared {
    /// Created when a long array is first copied.
    staging: Mutex<Option<Staging>>,
    /// Created when a few numbers are first read or written.
    mailbox: Mutex<Option<Mailbox>>,
    owner: Arc<Owner>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Page-locked memory is freed in the current context. If it cannot be entered, the memory is gone with it.
        let _ = self.owner.enter_to_free();
    }
}

/// An error that says why the executor is not available.
fn unavailable(reason: String) -> Error {
    Error::Unavailable { executor: "cuda", reason }
}

/// The same, for an error of the driver.
fn missing<E: Debug>(what: &str) -> impl Fn(E) -> Error {
    move |error| unavailable(format!("{what}: {}", in_words(&error)))
}

/// Starts the driver.
fn start() -> Result<(), Error> {
    cust::init(cust::CudaFlags::empty()).map_err(missing("the driver did not start"))
}

impl Cuda {
    /// The GPU with this zero-based number, in CUDA's order.
    ///
    /// # Errors
    /// When there is no such GPU, or it is too old for the kernels.
    pub fn new(number: u32) -> Result<Self, Error> {
        Self::on_primary(number, || Stream::blocking().map_err(missing("no stream")))
    }

    /// Number of GPUs.
    ///
    /// # Errors
    /// When there is no driver, or it finds no GPU.
    pub fn count() -> Result<u32, Error> {
        start()?;
        Gpu::num_devices().map_err(missing("no device was found"))
    }

    /// An executor in the primary context of this GPU, on the stream that `make` creates there.
    fn on_primary(number: u32, make: impl FnOnce() -> Result<Stream, Error>) -> Result<Self, Error> {
        let count = Self::count()?;
        if number >= count {
            return Err(unavailable(format!("device {number} was requested, but there are {count}")));
        }
        let gpu = Gpu::get_device(number).map_err(missing("the device was not found"))?;
        Self::on_gpu(gpu, || {
            let context = Context::primary(gpu).map_err(missing("no context"))?;
            Ok((context, make()?))
        })
    }

    /// An executor on this GPU, in the context that `make` enters, and on one of its streams.
    fn on_gpu(gpu: Gpu, make: impl FnOnce() -> Result<(Context, Stream), Error>) -> Result<Self, Error> {
        let attribute =
            |which| gpu.get_attribute(which).map(|value| value as u32).map_err(missing("the device's attributes"));
        let name = gpu.name().map_err(missing("the device's name"))?;
        let (major, minor) =
            (attribute(DeviceAttribute::ComputeCapabilityMajor)?, attribute(DeviceAttribute::ComputeCapabilityMinor)?);
        let ptx = for_device(&name, major, minor).map_err(unavailable)?;
        let (context, stream) = make()?;
        let driver = cust::CudaApiVersion::get().map_err(missing("the driver's version"))?;
        let shared_bytes = attribute(DeviceAttribute::MaxSharedMemoryPerMultiprocessor)?;
        let device = Device {
            name: format!("{name}, driver for CUDA {}.{}", driver.major(), driver.minor()),
            cache_bytes: Some(attribute(DeviceAttribute::L2CacheSize)?.into()),
            multiprocessors: attribute(DeviceAttribute::MultiprocessorCount)?,
            threads_per_multiprocessor: attribute(DeviceAttribute::MaxThreadsPerMultiprocessor)?,
            shared_bytes: Some(shared_bytes.saturating_sub(RESERVED_SHARED_BYTES)),
            tuning: Tuning::default(),
        };
        let multiprocessors = Multiprocessors { count: device.multiprocessors, shared_bytes };
        let recorder = Recorder::new().map_err(missing("no stream"))?;
        let pool = Pool::new(gpu.as_raw(), &context, stream);
        let bytes = gpu.total_memory().map_err(missing("the device's memory"))?;
        pool.keep(bytes as u64 / 2);
        let owner = Arc::new(Owner::new(pool, recorder, context));
        Ok(Self {
            device: Arc::new(device),
            kernels: Loaded::new(Kernels::new(ptx, multiprocessors), &owner),
            shared: Arc::new(Shared { staging: Mutex::default(), mailbox: Mutex::default(), owner: owner.clone() }),
            owner,
            side: None,
        })
    }

    /// Keeps the memory of dropped arrays for later ones as long as live arrays and kept memory together stay within
    /// `bytes`. The excess goes back to the driver at the next call that waits for the GPU. With 0, nothing is kept beyond
    /// that.
    ///
    /// An array from kept memory takes microseconds. One from the driver takes 0.1 ms, or 1 ms per gigabyte;
    /// conversions pay this for each array of their workspace.
    pub fn with_kept_memory(self, bytes: u64) -> Self {
        self.owner.pool.keep(bytes);
        self
    }

    /// Sets the sizes of grids.
    pub fn with_tuning(mut self, tuning: Tuning) -> Self {
        Arc::make_mut(&mut self.device).tuning = tuning;
        self
    }

    /// Uses the kernels of this PTX instead of the library's, for comparing variants of a kernel.
    ///
    /// # Safety
    /// The entry points must have the parameters of the library's, and access the same arrays.
    pub unsafe fn with_ptx(mut self, text: String) -> Self {
        let kernels = self.kernels.lock().with_ptx(text);
        self.kernels = Loaded::new(kernels, &self.owner);
        self
    }

    /// The architecture that its kernels are compiled for, such as 90 for sm_90: the newest in the library that the device
    /// runs. 0 for [other kernels](Self::with_ptx).
    pub fn ptx_architecture(&self) -> u32 {
        self.kernels.lock().ptx_architecture()
    }

    fn enter(&self) -> Result<(), Error> {
        self.owner.enter()
    }

    /// The stream for this thread's launches. While the thread records, launches that cannot be recorded are errors.
    fn launch_stream(&self, what: &dyn Display) -> Result<&Stream, Error> {
        match self.owner.recorder.keeps(recording::address(&self.kernels)) {
            None => Ok(self.side.as_deref().map_or(self.stream(), SideStream::stream)),
            Some(true) => Ok(self.owner.recorder.stream()),
            Some(false) => {
                let reason = "a recording has the kernels of a single handle, and these belong to another".into();
                Err(Error::Cuda { what: what.to_string(), reason })
            }
        }
    }

    /// The stream that all work is queued on.
    fn stream(&self) -> &Stream {
        self.owner.stream()
    }

    /// Returns an error while this thread records or the stream is captured, for operations that cannot be recorded.
    fn refuse_recording(&self, what: &str) -> Result<(), Error> {
        self.refuse_own_recording(what)?;
        self.enter()?;
        if self.stream().is_capturing() {
            let reason = "this cannot be part of a graph, and the stream is captured".into();
            return Err(Error::Cuda { what: what.into(), reason });
        }
        Ok(())
    }

    /// Returns an error while this thread records, for operations that cannot be recorded.
    fn refuse_own_recording(&self, what: &str) -> Result<(), Error> {
        if self.owner.recorder.is_recording() {
            return Err(Error::Cuda { what: what.into(), reason: "this cannot be part of a recording".into() });
        }
        Ok(())
    }

    /// Checks that an array belongs to this executor: another executor may still be filling it, or free it too early.
    /// Also for libraries that are given its address.
    ///
    /// # Errors
    /// When the array belongs to another executor.
    pub fn check_own<T: Element>(&self, array: &CudaBuffer<T>, what: &'static str) -> Result<(), Error> {
        if Arc::ptr_eq(array.owner(), &self.owner) { Ok(()) } else { Err(Error::Foreign { what: what.into() }) }
    }

    /// Checks that the arrays among a kernel's arguments belong to this executor.
    fn check_places(&self, entry: &Entry, arguments: &Arguments<'_>) -> Result<(), Error> {
        let own = |place: &Place| matches!(place, Place::Nowhere) || *place == Place::Device(self.owner.id);
        if arguments.places().iter().all(own) { Ok(()) } else { Err(Error::Foreign { what: entry.to_string() }) }
    }

    /// Queues a kernel on a non-empty grid, in the current context, which must be this executor's.
    ///
    /// # Safety
    /// The arguments must be the kernel's own, in this executor's memory; otherwise as for
    /// [`launch`](KernelExecutor::launch).
    unsafe fn queue(&self, grid: Grid, entry: &'static Entry, arguments: &mut Arguments<'_>) -> Result<(), Error> {
        let stream = self.launch_stream(entry)?.handle();
        let function = self.kernels.lock().function(entry, grid)?;
        // SAFETY: the kernel's module stays loaded as long as this executor exists; the rest is the caller's promise.
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
                stream,
                arguments.addresses().as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        if result == CUresult::CUDA_SUCCESS { Ok(()) } else { driver(result, &entry.to_string()) }
    }

    /// An array with unspecified content.
    fn allocate<T: Element>(&self, length: usize) -> Result<CudaBuffer<T>, Error> {
        self.refuse_recording("allocating on the GPU")?;
        CudaBuffer::new(&self.owner, length)
    }

    /// Bytes of all live arrays of this executor, and their maximum since [`reset_peak`](Self::reset_peak). Memory that
    /// the driver itself takes is not counted.
    pub fn memory_use(&self) -> MemoryUse {
        self.owner.meter.read()
    }

    /// Restarts the measurement of peak memory.
    pub fn reset_peak(&self) {
        self.owner.meter.reset_peak();
    }

    /// Bytes of the GPU's memory that arrays could take: memory used by no process, and memory that executors keep for later
    /// arrays. Dropped arrays count as free, since the call waits for queued work.
    ///
    /// # Errors
    /// When the device fails.
    pub fn free_memory(&self) -> Result<u64, Error> {
        self.synchronize()?;
        let (free, _) = cust::memory::mem_get_info().map_err(cuda("asking for the free memory"))?;
        Ok(free as u64 + self.kept_memory())
    }

    /// Bytes that this and other executors of this GPU keep for later arrays.
    pub fn kept_memory(&self) -> u64 {
        self.owner.pool.kept()
    }

    /// Returns the memory kept for later arrays to the driver, for other libraries and processes. This is the memory of all
    /// executors of this GPU, and the call waits for their queued work.
    ///
    /// # Errors
    /// When the device fails.
    pub fn release_memory(&self) -> Result<(), Error> {
        self.enter()?;
        self.owner.pool.release();
        self.synchronize()
    }

    /// Copies `bytes` bytes through page-locked memory by `copy`. Returns `None` if that is not worthwhile, another thread
    /// is using the memory, or none could be allocated; the driver then copies on its own.
    fn staged(&self, bytes: usize, copy: impl FnOnce(&mut Staging) -> Result<(), Error>) -> Option<Result<(), Error>> {
        if bytes < WORTHWHILE {
            return None;
        }
        let mut staging = self.shared.staging.try_lock().ok()?;
        if staging.is_none() {
            *staging = Staging::new().ok();
        }
        staging.as_mut().map(copy)
    }

    /// An error from waiting for the device: earlier queued work failed.
    fn waiting(&self, result: CUresult) -> Error {
        let what = match self.kernels.lock().last() {
            None => "waiting for copies".to_owned(),
            Some(last) => format!("waiting for the kernels up to {last}"),
        };
        failed(result, &what)
    }
}

impl Cuda {
    /// The stream on which multiplications are queued, a `CUstream`, for libraries that work on the same arrays. Makes
    /// this GPU's primary context current on the calling thread. The stream lives as long as this executor.
    ///
    /// # Errors
    /// When the device fails.
    pub fn enter_stream(&self) -> Result<*mut c_void, Error> {
        self.refuse_own_recording("using the stream")?;
        self.enter()?;
        Ok(self.stream().handle().cast())
    }

    /// Queues a copy from one array to another of the same length.
    ///
    /// # Errors
    /// When an array belongs to another executor, the lengths differ, or the device fails.
    pub fn copy<T: Element>(&self, from: &CudaBuffer<T>, to: &mut CudaBuffer<T>) -> Result<(), Error> {
        self.check_own(from, "the array copied from")?;
        self.check_own(to, "the array copied to")?;
        check_length("the array copied to", to.len(), from.len())?;
        if from.is_empty() {
            return Ok(());
        }
        self.enter()?;
        // SAFETY: both arrays are in this executor's memory.
        unsafe { copy_on(self.launch_stream(&COPYING)?, from, to) }
    }

    /// A copy, in this executor's memory, of an array of another executor of the same GPU. The copy comes after everything
    /// the other executor has queued so far, and before everything it queues from now on; the host does not wait.
    ///
    /// # Errors
    /// When the array is on another GPU, memory runs out, or the device fails.
    pub fn copy_of<T: Element>(&self, array: &CudaBuffer<T>) -> Result<CudaBuffer<T>, Error> {
        let theirs = array.owner();
        if theirs.pool.device() != self.owner.pool.device() {
            let reason = "the array is on another GPU: download it to the host and upload it here".into();
            return Err(Error::Cuda { what: COPYING_FOREIGN.into(), reason });
        }
        if theirs.recorder.is_recording() {
            let reason = "its executor's recording has not finished".into();
            return Err(Error::Cuda { what: COPYING_FOREIGN.into(), reason });
        }
        let mut copy = self.allocate(array.len())?;
        if array.is_empty() {
            return Ok(copy);
        }
        let (filled, copied) = (Event::new()?, Event::new()?);
        filled.record(theirs.stream())?;
        self.stream().wait(&filled)?;
        // SAFETY: both arrays are on this GPU, and the copy comes after the work that fills the array. Later work of the
        // array's executor, its freeing above all, comes after the copy, by the event or, if that fails, by waiting here.
        unsafe { copy_on(self.stream(), array, &mut copy) }?;
        let ordered = copied.record(self.stream()).and_then(|()| theirs.stream().wait(&copied));
        if ordered.is_err() {
            let _ = self.stream().synchronize();
        }
        ordered.map(|()| copy)
    }
}

const COPYING: &str = "copying on the GPU";
const COPYING_FOREIGN: &str = "copying an array of another executor";

/// Queues a copy between arrays of the same length on the stream's GPU, in the current context.
///
/// # Safety
/// Work queued on other streams must leave both arrays alone until the copy is done.
unsafe fn copy_on<T: Element>(stream: &Stream, from: &CudaBuffer<T>, to: &mut CudaBuffer<T>) -> Result<(), Error> {
    // SAFETY: both arrays have this many bytes; the rest is the caller's promise.
    let result = unsafe { cuMemcpyDtoDAsync_v2(to.address(), from.address(), from.bytes() as usize, stream.handle()) };
    driver(result, COPYING)
}
