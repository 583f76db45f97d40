//! Executors and operations.
//!
//! An [`Executor`] is memory, a way to run operations, and a clock. An [`Operation`] defines how it runs as kernels and how
//! on the host. Neither lists the other: a new operation is one file and runs on every executor, and a new executor runs
//! every operation.

use std::time::{Duration, Instant};

use cuda_std::launch::Launch;

use crate::device::{Device, KernelResources};
use crate::error::{Error, check_part};
use crate::memory::{self, Buffer, Element, HostMemory, Memory};

/// How the host computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// In the working precision, in parallel.
    Parallel,
    /// In twice the working precision, sequentially.
    Compensated,
}

/// An operation on arrays in an executor's memory, such as a product or a conversion.
///
/// The types that implement it are markers: they have no values, and [`Executor::run`] takes one as its type parameter.
pub trait Operation {
    /// The operands.
    type Operands<'a, M: Memory>;
    /// The result.
    type Output<M: Memory>;

    /// Runs the operation with kernels.
    ///
    /// # Errors
    /// When the operands' sizes do not match, memory runs out, or the device fails.
    fn by_kernels<K: KernelExecutor>(
        executor: &K,
        operands: Self::Operands<'_, K::Memory>,
    ) -> Result<Self::Output<K::Memory>, Error>;

    /// Runs the operation on the host.
    ///
    /// # Errors
    /// When the operands' sizes do not match, or memory runs out.
    fn on_host(
        arithmetic: Arithmetic,
        operands: Self::Operands<'_, HostMemory>,
    ) -> Result<Self::Output<HostMemory>, Error>;
}

/// Memory, a way to run operations on it, and a clock. An executor is a handle: a clone shares the device, its memory and
/// its queue with the original, and costs a few counters.
///
/// Threads can share an executor, and matrices and plans on it can move between threads. Calls that threads make
/// concurrently on one executor are queued in some order, each call as a whole.
///
/// Calls may return before the work is done; [`download`](Self::download), [`synchronize`](Self::synchronize)
/// and [`time`](Self::time) wait for it.
///
/// # Safety
/// Operations trust the arrays of a matrix, which are checked when it is made. Functions that move or copy arrays must
/// therefore return the same elements at the same length, [`run`](Self::run) must run the requested operation, and nothing
/// else may change the arrays. In its [`Memory`], [`Buffer::len`](crate::memory::Buffer::len) must be constant for an array,
/// [`global`](crate::memory::Buffer::global) must be exactly the elements of that array, and
/// [`global_parts`](crate::memory::Buffer::global_parts) their parts.
pub unsafe trait Executor: Clone + Send + Sync + 'static {
    /// The memory that holds its arrays.
    type Memory: Memory;

    /// Recordings of [repeated](Self::repeat) work; empty at first.
    type Recording: Default + Send;

    /// The device that it runs on.
    fn device(&self) -> &Device;

    /// The resources that the kernel with this entry point needs on a multiprocessor; `None` if the kernel does not
    /// exist, or is not compiled for the device.
    fn kernel_resources(&self, _entry: &str) -> Option<KernelResources> {
        None
    }

    /// Moves an array into the executor's memory. Costs nothing if that is host memory.
    ///
    /// # Errors
    /// When memory runs out.
    fn upload<T: Element>(&self, array: Vec<T>) -> Result<<Self::Memory as Memory>::Buffer<T>, Error>;

    /// Copies an array from host memory into the executor's memory.
    ///
    /// # Errors
    /// When memory runs out.
    fn upload_slice<T: Element>(&self, array: &[T]) -> Result<<Self::Memory as Memory>::Buffer<T>, Error> {
        self.upload(memory::copy(array)?)
    }

    /// An array of zeros in the executor's memory.
    ///
    /// # Errors
    /// When memory runs out.
    fn zeros<T: Element>(&self, length: usize) -> Result<<Self::Memory as Memory>::Buffer<T>, Error>;

    /// An array in the executor's memory all of whose bytes are equal.
    ///
    /// # Errors
    /// When memory runs out.
    fn filled<T: Element>(&self, length: usize, byte: u8) -> Result<<Self::Memory as Memory>::Buffer<T>, Error> {
        let mut array: Vec<T> = memory::zeros(length)?;
        bytemuck::cast_slice_mut::<T, u8>(&mut array).fill(byte);
        self.upload(array)
    }

    /// Copies an array to the host.
    ///
    /// # Errors
    /// When the array belongs to another executor, memory runs out, or the device fails.
    fn download<T: Element>(&self, array: &<Self::Memory as Memory>::Buffer<T>) -> Result<Vec<T>, Error>;

    /// Copies an array within the executor's memory.
    ///
    /// # Errors
    /// When the array belongs to another executor, or memory runs out.
    fn duplicate<T: Element>(
        &self,
        array: &<Self::Memory as Memory>::Buffer<T>,
    ) -> Result<<Self::Memory as Memory>::Buffer<T>, Error>;

    /// Copies an array into another one of the same length, in place: a [recording](Self::repeat) that uses the destination
    /// continues with the new elements.
    ///
    /// # Errors
    /// When an array belongs to another executor, the lengths differ, or the device fails. Unless the device fails, the
    /// destination is then unchanged.
    fn copy<T: Element>(
        &self,
        from: &<Self::Memory as Memory>::Buffer<T>,
        to: &mut <Self::Memory as Memory>::Buffer<T>,
    ) -> Result<(), Error>;

    /// Copies `to.len()` elements of an array, from `first` on, to the host; meant for a few elements.
    ///
    /// # Errors
    /// When the array belongs to another executor or is too short, or the device fails.
    fn read<T: Element>(
        &self,
        array: &<Self::Memory as Memory>::Buffer<T>,
        first: usize,
        to: &mut [T],
    ) -> Result<(), Error> {
        self.read_during(array, first, to, &mut || Ok(()))
    }

    /// As [`read`](Self::read) of the current elements, with `work` done meanwhile: if work is queued, this waits for the
    /// elements but, if they are few, not for the work that `work` queues.
    ///
    /// # Errors
    /// As for [`read`](Self::read) and for the work.
    fn read_during<T: Element>(
        &self,
        array: &<Self::Memory as Memory>::Buffer<T>,
        first: usize,
        to: &mut [T],
        work: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<(), Error> {
        check_part(first, to.len(), array.len())?;
        to.copy_from_slice(&self.download(array)?[first..][..to.len()]);
        work()
    }

    /// Overwrites elements of an array, from `first` on; meant for a few elements.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    fn write<T: Element>(
        &self,
        from: &[T],
        array: &mut <Self::Memory as Memory>::Buffer<T>,
        first: usize,
    ) -> Result<(), Error> {
        check_part(first, from.len(), array.len())?;
        let mut all = self.download(array)?;
        all[first..][..from.len()].copy_from_slice(from);
        self.copy(&self.upload(all)?, array)
    }

    /// Notifies the executor of an array in host memory that it did not create and that an operation is about to use.
    #[doc(hidden)]
    fn hear_of(&self, _bytes: &[u8]) {}

    /// Runs an operation on arrays in the executor's memory.
    ///
    /// # Errors
    /// As for the operation, and when an array belongs to another executor.
    fn run<O: Operation>(&self, operands: O::Operands<'_, Self::Memory>) -> Result<O::Output<Self::Memory>, Error>;

    /// Does `work` `times` times in sequence. An executor may record the launches of the work in `recording`, and from then
    /// on repeat these without calling `work`: the work must therefore launch the same kernels every time, on the same
    /// arrays, and whatever else it does on the host may happen fewer times. A recording belongs to one work. Work that
    /// allocates or waits for a result cannot be recorded, and is called every time.
    ///
    /// # Errors
    /// As for the work, and when the device fails.
    fn repeat(
        &self,
        _recording: &mut Self::Recording,
        times: usize,
        work: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<(), Error> {
        (0..times).try_for_each(|_| work())
    }

    /// Blocks until all queued work has finished.
    ///
    /// # Errors
    /// When the device fails.
    fn synchronize(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Whether its times are representative of other machines' speed; false for an emulator.
    fn times_tell(&self) -> bool {
        true
    }

    /// Measures how long `work` takes on the device.
    ///
    /// # Errors
    /// As for the work, and when the device fails.
    fn time(&self, work: &mut dyn FnMut() -> Result<(), Error>) -> Result<Duration, Error> {
        let start = Instant::now();
        work()?;
        self.synchronize()?;
        Ok(start.elapsed())
    }
}

/// An executor that runs the kernels themselves: a GPU or its emulator.
///
/// # Safety
/// [`launch`](Self::launch) must run this kernel on this grid after those launched before, keep it for a recording, or fail;
/// [`unwritten`](Self::unwritten) and [`zeros`](Executor::zeros) must return arrays of the requested length that are not
/// shared, and whose [`global`](crate::memory::Buffer::global) is their memory; and the [`device`](Executor::device) must
/// always be the same.
pub unsafe trait KernelExecutor: Executor {
    /// Runs a kernel after those launched before; the call may return before the kernel is done. Launching a grid
    /// without blocks does nothing.
    ///
    /// # Errors
    /// When an array among the arguments is not in this executor's memory, or the device fails.
    ///
    /// # Safety
    /// The conditions of the kernel's `# Safety` section must hold, for arrays that live until the kernel is done. This
    /// executor's own arrays do, since they are freed after earlier launches. On a GPU, the executor must have an entry
    /// point with the kernel's name, compiled from this kernel.
    unsafe fn launch(&self, launch: &Launch) -> Result<(), Error>;

    /// Whether this thread's launches are recorded instead of run.
    fn records(&self) -> bool {
        false
    }

    /// Runs several kernels in order.
    ///
    /// # Errors
    /// As for [`launch`](Self::launch). If an array among the arguments of any kernel is not in this executor's memory, none
    /// is run; otherwise those after the one that fails are not run.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch), for each.
    unsafe fn launch_all(&self, launches: &[Launch]) -> Result<(), Error> {
        // SAFETY: the caller's promise.
        launches.iter().try_for_each(|launch| unsafe { self.launch(launch) })
    }

    /// An array in the executor's memory whose elements are unspecified until a kernel writes them.
    ///
    /// # Errors
    /// When memory runs out.
    fn unwritten<T: Element>(&self, length: usize) -> Result<<Self::Memory as Memory>::Buffer<T>, Error>;
}
