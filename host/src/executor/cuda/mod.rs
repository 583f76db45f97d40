//! NVIDIA GPUs, through the CUDA driver.

mod buffer;
mod driver;
mod executor;
mod kept_context;
mod kernels;
mod owner;
mod pool;
mod ptx;
mod recorder;
mod recording;
mod staging;

use std::ffi::c_void;
use std::fmt::Display;
use std::sync::{Arc, Mutex};

use cuda_std::launch::{Arguments, Entry, Grid, Place};
use cust::context::Context;
use cust::device::DeviceAttribute;
use cust::error::CudaError;
use cust::event::{Event, EventFlags};
use cust::stream::{Stream, StreamFlags, StreamWaitEventFlags};
use cust::sys::{cuLaunchKernel, cuMemcpyDtoDAsync_v2};

pub use buffer::{CudaBuffer, CudaMemory};
use driver::{cuda, driver, in_words};
#[doc(hidden)]
pub use kept_context::KeptContext;
use kernels::{Kernels, Loaded, Multiprocessors, RESERVED_SHARED_BYTES};
pub use owner::MemoryUse;
use owner::Owner;
use pool::Pool;
use ptx::for_device;
use recorder::Recorder;
use staging::{Staging, WORTHWHILE};

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
/// Work is queued on a stream and runs in order. Clones are handles of the same executor: they share its stream, its memory
/// and its kernels, each with its own [`Tuning`]. Each call of [`new`](Self::new) makes an executor with a stream of its own.
///
/// It works in the device's primary context, which it shares with CUDA's runtime and with other executors, and which
/// each call makes the calling thread's current one. Arrays keep the context alive, so they may outlive the executor.
/// An array belongs to the executor that made it: every other one refuses it with [`Error::Foreign`], and takes a copy
/// with [`copy_of`](Self::copy_of).
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
#[derive(Clone)]
pub struct Cuda {
    device: Arc<Device>,
    kernels: Arc<Loaded>,
    shared: Arc<Shared>,
    owner: Arc<Owner>,
}

/// What all handles of an executor share, besides its memory.
struct Shared {
    /// Made when a long array is copied for the first time.
    staging: Mutex<Option<Staging>>,
    owner: Arc<Owner>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Page-locked memory is freed in the context that is current. Where it cannot be had, it is gone with it.
        let _ = self.owner.enter();
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
            move |error: CudaError| Error::Unavailable {
                executor: "cuda",
                reason: format!("{what}: {}", in_words(&error)),
            }
        };
        cust::init(cust::CudaFlags::empty()).map_err(failed("the driver did not start"))?;
        let count = cust::device::Device::num_devices().map_err(failed("no device was found"))?;
        if number >= count {
            return Err(unavailable(format!("device {number} was asked for, and there are {count}")));
        }
        let gpu = cust::device::Device::get_device(number).map_err(failed("the device was not found"))?;
        let attribute =
            |which| gpu.get_attribute(which).map(|value| value as u32).map_err(failed("the device's attributes"));
        let name = gpu.name().map_err(failed("the device's name"))?;
        let (major, minor) =
            (attribute(DeviceAttribute::ComputeCapabilityMajor)?, attribute(DeviceAttribute::ComputeCapabilityMinor)?);
        let ptx = for_device(&name, major, minor).map_err(unavailable)?;
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
        let multiprocessors = Multiprocessors { count: device.multiprocessors, shared_bytes };
        let recorder = Recorder::new().map_err(failed("no stream"))?;
        let pool = Pool::new(gpu.as_raw(), stream);
        let bytes = gpu.total_memory().map_err(failed("the device's memory"))?;
        pool.keep(bytes as u64 / 2);
        let owner = Arc::new(Owner::new(pool, recorder, context));
        Ok(Self {
            device: Arc::new(device),
            kernels: Loaded::new(Kernels::new(ptx, multiprocessors), &owner),
            shared: Arc::new(Shared { staging: Mutex::default(), owner: owner.clone() }),
            owner,
        })
    }

    /// The same, but it keeps the memory of dropped arrays for later ones as long as live arrays and kept memory together
    /// stay within `bytes`. The excess goes back to the driver at the next call that waits for the GPU. With 0, nothing
    /// is kept beyond that.
    ///
    /// A kept array is made in microseconds. One from the driver takes 0.1 ms, or 1 ms for a gigabyte, and so do
    /// conversions for each array of their workspace.
    pub fn with_kept_memory(self, bytes: u64) -> Self {
        self.owner.pool.keep(bytes);
        self
    }

    /// The same with other sizes of grids.
    pub fn with_tuning(mut self, tuning: Tuning) -> Self {
        Arc::make_mut(&mut self.device).tuning = tuning;
        self
    }

    /// The same with kernels from this PTX instead of those that the library has, for comparing variants of a kernel.
    ///
    /// # Safety
    /// The entry points have the parameters of those that the library has, and keep to the same arrays.
    pub unsafe fn with_ptx(mut self, text: String) -> Self {
        let kernels = self.kernels.lock().with_ptx(text);
        self.kernels = Loaded::new(kernels, &self.owner);
        self
    }

    fn enter(&self) -> Result<(), Error> {
        self.owner.enter()
    }

    /// The stream that this thread's launches are queued on: while it records, what is not recorded is an error.
    fn launch_stream(&self, what: &dyn Display) -> Result<&Stream, Error> {
        match self.owner.recorder.keeps(recording::address(&self.kernels)) {
            None => Ok(self.stream()),
            Some(true) => Ok(self.owner.recorder.stream()),
            Some(false) => {
                let reason = "a recording has the kernels of one handle, and this one has others".into();
                Err(Error::Cuda { what: what.to_string(), reason })
            }
        }
    }

    /// The stream that everything is queued on.
    fn stream(&self) -> &Stream {
        self.owner.stream()
    }

    /// Says no to what cannot be recorded while this thread records.
    fn refuse_recording(&self, what: &str) -> Result<(), Error> {
        if self.owner.recorder.is_recording() {
            return Err(Error::Cuda { what: what.into(), reason: "this cannot be part of a recording".into() });
        }
        Ok(())
    }

    /// Checks that an array belongs to this executor: another one may still be filling it, or free it too early. For
    /// libraries that are given its address, too.
    ///
    /// # Errors
    /// When it is another executor's.
    pub fn check_own<T: Element>(&self, array: &CudaBuffer<T>, what: &'static str) -> Result<(), Error> {
        if Arc::ptr_eq(array.owner(), &self.owner) { Ok(()) } else { Err(Error::Foreign { what: what.into() }) }
    }

    /// Checks that the arrays among a kernel's arguments belong to this executor.
    fn check_places(&self, entry: &Entry, arguments: &Arguments<'_>) -> Result<(), Error> {
        let own = |place: &Place| matches!(place, Place::Nowhere) || *place == Place::Device(self.owner.id);
        if arguments.places().iter().all(own) { Ok(()) } else { Err(Error::Foreign { what: entry.to_string() }) }
    }

    /// Queues a kernel on a grid that has blocks.
    ///
    /// # Safety
    /// The arguments are the kernel's own, of this executor's memory; besides, as for
    /// [`launch`](KernelExecutor::launch).
    unsafe fn queue(&self, grid: Grid, entry: &'static Entry, arguments: &mut Arguments<'_>) -> Result<(), Error> {
        self.enter()?;
        let stream = self.launch_stream(entry)?.as_inner();
        let function = self.kernels.lock().function(entry, grid)?;
        // SAFETY: the kernel's module is loaded as long as this executor exists; the rest is the caller's promise.
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
        if result == cust::sys::CUresult::CUDA_SUCCESS { Ok(()) } else { driver(result, &entry.to_string()) }
    }

    /// An array of no particular content.
    fn allocate<T: Element>(&self, length: usize) -> Result<CudaBuffer<T>, Error> {
        self.refuse_recording("allocating on the GPU")?;
        self.enter()?;
        CudaBuffer::new(&self.owner, length)
    }

    /// Bytes of all arrays of this executor that there are now, and the most that there were at a time since
    /// [`reset_peak`](Self::reset_peak). What the driver takes besides is not counted.
    pub fn memory_use(&self) -> MemoryUse {
        self.owner.meter.read()
    }

    /// Begins to look for the peak of memory anew.
    pub fn reset_peak(&self) {
        self.owner.meter.reset_peak();
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

    /// Copies `bytes` bytes through page-locked memory by `copy`. `None` if that is not worthwhile, another thread is using
    /// the memory, or none could be allocated: then the driver copies in its own way.
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

    /// An error of waiting for the device: what failed is what was queued before.
    fn waiting(&self, error: CudaError) -> Error {
        let what = match self.kernels.lock().last() {
            None => "waiting for copies".to_owned(),
            Some(last) => format!("waiting for the kernels up to {last}"),
        };
        cuda(&what)(error)
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
        self.refuse_recording("using the stream")?;
        self.enter()?;
        Ok(self.stream().as_inner().cast())
    }

    /// Queues a copy from one array to another of the same length.
    ///
    /// # Errors
    /// When an array is another executor's, the lengths differ, or the device fails.
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

    /// A copy, in this executor's memory, of an array of another executor of the same GPU. It is queued behind what the
    /// other one has queued so far, and what the other one queues from now on comes after it: neither waits on the host.
    ///
    /// # Errors
    /// When the array is on another GPU, memory runs out, or the device fails.
    pub fn copy_of<T: Element>(&self, array: &CudaBuffer<T>) -> Result<CudaBuffer<T>, Error> {
        let theirs = array.owner();
        if theirs.pool.device() != self.owner.pool.device() {
            let reason = "the array is on another GPU: take it to the host and upload it here".into();
            return Err(Error::Cuda { what: COPYING_FOREIGN.into(), reason });
        }
        if theirs.recorder.is_recording() {
            let reason = "what its executor records is not done yet".into();
            return Err(Error::Cuda { what: COPYING_FOREIGN.into(), reason });
        }
        let mut copy = self.allocate(array.len())?;
        if array.is_empty() {
            return Ok(copy);
        }
        let event = || Event::new(EventFlags::DISABLE_TIMING).map_err(cuda("making an event"));
        let (filled, copied) = (event()?, event()?);
        filled.record(theirs.stream()).map_err(cuda("recording an event"))?;
        self.stream().wait_event(filled, StreamWaitEventFlags::DEFAULT).map_err(cuda("waiting for an event"))?;
        // SAFETY: both arrays are on this GPU; the copy comes after what fills the array. What the array's executor queues
        // later, freeing it above all, comes after the copy, by the event or, where that fails, by waiting here.
        unsafe { copy_on(self.stream(), array, &mut copy) }?;
        let ordered = copied
            .record(self.stream())
            .and_then(|()| theirs.stream().wait_event(copied, StreamWaitEventFlags::DEFAULT));
        if let Err(error) = ordered {
            let _ = self.stream().synchronize();
            return Err(cuda("waiting for an event")(error));
        }
        Ok(copy)
    }
}

const COPYING: &str = "copying on the GPU";
const COPYING_FOREIGN: &str = "copying an array of another executor";

/// Queues a copy between arrays of the same length on the stream's GPU, in the current context.
///
/// # Safety
/// What is queued on other streams leaves both arrays alone until the copy is done.
unsafe fn copy_on<T: Element>(stream: &Stream, from: &CudaBuffer<T>, to: &mut CudaBuffer<T>) -> Result<(), Error> {
    // SAFETY: both arrays have this many bytes; the rest is the caller's promise.
    let result =
        unsafe { cuMemcpyDtoDAsync_v2(to.address(), from.address(), from.bytes() as usize, stream.as_inner()) };
    driver(result, COPYING)
}
