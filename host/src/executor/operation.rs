//! What an executor is, and what an operation is.
//!
//! An [`Executor`] is memory, a way to run operations, and a clock. An [`Operation`] says how it is done by kernels and how
//! on the host. Neither lists the other: a new operation is one file and runs on every executor, and a new executor
//! runs every operation.

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
    /// In twice the working precision, one element after the other.
    Compensated,
}

/// Something to do with arrays in an executor's memory, such as a product or a conversion.
///
/// The types that implement it are markers: they have no values, and [`Executor::run`] takes one as its type parameter.
pub trait Operation {
    /// What it works on.
    type Operands<'a, M: Memory>;
    /// What comes of it.
    type Output<M: Memory>;

    /// Does it by kernels.
    ///
    /// # Errors
    /// When the operands do not fit each other, memory runs out, or the device fails.
    fn by_kernels<K: KernelExecutor>(
        executor: &K,
        operands: Self::Operands<'_, K::Memory>,
    ) -> Result<Self::Output<K::Memory>, Error>;

    /// Does it on the host.
    ///
    /// # Errors
    /// When the operands do not fit each other, or memory runs out.
    fn on_host(
        arithmetic: Arithmetic,
        operands: Self::Operands<'_, HostMemory>,
    ) -> Result<Self::Output<HostMemory>, Error>;
}

/// Memory, a way to run operations on it, and a clock. It is a handle: a clone shares the device, its memory and its queue
/// with the original, and costs a few counters.
///
/// Threads can share an executor, and matrices and plans on it can move between threads. What threads queue at the same
/// time on one executor is done in some order, each call as a whole.
///
/// Calls may return before the work is done; [`download`](Self::download), [`synchronize`](Self::synchronize)
/// and [`time`](Self::time) wait for it.
///
/// # Safety
/// Operations trust the arrays of a matrix, which are checked when it is made. So what moves and copies arrays must give
/// back what they held, of the same length, [`run`](Self::run) must run the operation it is asked for, and nothing else may
/// change the arrays. Of its [`Memory`], [`Buffer::len`](crate::memory::Buffer::len) is always the same for an array, and
/// [`global`](crate::memory::Buffer::global) is that many elements of that array, of which
/// [`global_parts`](crate::memory::Buffer::global_parts) are the parts.
pub unsafe trait Executor: Clone + Send + Sync + 'static {
    /// Where its arrays live.
    type Memory: Memory;

    /// What it keeps of work that it [repeats](Self::repeat); empty at first.
    type Recording: Default + Send;

    /// What it runs on.
    fn device(&self) -> &Device;

    /// What the kernel with this entry point takes of a multiprocessor; none where no such kernel exists, or none that
    /// is compiled for the device.
    fn kernel_resources(&self, _entry: &str) -> Option<KernelResources> {
        None
    }

    /// Moves an array into its memory. Free where that is the host's.
    ///
    /// # Errors
    /// When memory runs out.
    fn upload<T: Element>(&self, array: Vec<T>) -> Result<<Self::Memory as Memory>::Buffer<T>, Error>;

    /// Copies an array of the host's into its memory.
    ///
    /// # Errors
    /// When memory runs out.
    fn upload_slice<T: Element>(&self, array: &[T]) -> Result<<Self::Memory as Memory>::Buffer<T>, Error> {
        self.upload(memory::copy(array)?)
    }

    /// An array of zeros in its memory.
    ///
    /// # Errors
    /// When memory runs out.
    fn zeros<T: Element>(&self, length: usize) -> Result<<Self::Memory as Memory>::Buffer<T>, Error>;

    /// Copies an array back.
    ///
    /// # Errors
    /// When the array is another executor's, memory runs out, or the device fails.
    fn download<T: Element>(&self, array: &<Self::Memory as Memory>::Buffer<T>) -> Result<Vec<T>, Error>;

    /// Copies an array within its memory.
    ///
    /// # Errors
    /// When the array is another executor's, or memory runs out.
    fn duplicate<T: Element>(
        &self,
        array: &<Self::Memory as Memory>::Buffer<T>,
    ) -> Result<<Self::Memory as Memory>::Buffer<T>, Error>;

    /// Copies an array into another one of the same length, which stays where it is: a [recording](Self::repeat) that uses
    /// it goes on with the new elements.
    ///
    /// # Errors
    /// When an array is another executor's, the lengths differ, or the device fails. But for the latter, the array copied to
    /// is then what it was.
    fn copy<T: Element>(
        &self,
        from: &<Self::Memory as Memory>::Buffer<T>,
        to: &mut <Self::Memory as Memory>::Buffer<T>,
    ) -> Result<(), Error>;

    /// Copies some elements of an array to the host, from `first` on: meant for a few.
    ///
    /// # Errors
    /// When the array is another executor's or has no such elements, or the device fails.
    fn read<T: Element>(
        &self,
        array: &<Self::Memory as Memory>::Buffer<T>,
        first: usize,
        to: &mut [T],
    ) -> Result<(), Error> {
        self.read_during(array, first, to, &mut || Ok(()))
    }

    /// [`read`](Self::read) of the elements as they are now, with `work` done meanwhile: where work is queued, it waits for
    /// them and not for what `work` has queued, if they are few.
    ///
    /// # Errors
    /// As for [`read`](Self::read), and those of the work.
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

    /// Copies elements over those of an array, from `first` on: meant for a few.
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

    /// Takes note of an array in the host's memory that it did not make and that an operation is going to use.
    #[doc(hidden)]
    fn hear_of(&self, _bytes: &[u8]) {}

    /// Runs an operation on arrays in its memory.
    ///
    /// # Errors
    /// Those of the operation, and when an array is another executor's.
    fn run<O: Operation>(&self, operands: O::Operands<'_, Self::Memory>) -> Result<O::Output<Self::Memory>, Error>;

    /// Does `work` as often as `times` says, one time after the other. An executor may keep in `recording` what the work
    /// launches, and from then on launch the same without doing the work: so the work launches the same every time, on
    /// the same arrays, and what it does on the host besides may happen fewer times. A recording belongs to one work; where
    /// nothing can be kept, because the work allocates or waits for a result, it is done every time.
    ///
    /// # Errors
    /// Those of the work, and when the device fails.
    fn repeat(
        &self,
        _recording: &mut Self::Recording,
        times: usize,
        work: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<(), Error> {
        (0..times).try_for_each(|_| work())
    }

    /// Waits until all work is done.
    ///
    /// # Errors
    /// When the device fails.
    fn synchronize(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Whether times on it tell how fast anything else is: not those of an emulator.
    fn times_tell(&self) -> bool {
        true
    }

    /// How long `work` takes on the device.
    ///
    /// # Errors
    /// Those of the work, and when the device fails.
    fn time(&self, work: &mut dyn FnMut() -> Result<(), Error>) -> Result<Duration, Error> {
        let start = Instant::now();
        work()?;
        self.synchronize()?;
        Ok(start.elapsed())
    }
}

/// An executor that runs the kernels themselves: a GPU, or the emulator of one.
///
/// # Safety
/// [`launch`](Self::launch) runs this kernel on this grid after those before it, keeps it for a recording, or fails;
/// [`unwritten`](Self::unwritten) and [`zeros`](Executor::zeros) give arrays of the length asked for that nobody else has,
/// whose [`global`](crate::memory::Buffer::global) is their memory; and the [`device`](Executor::device) is always the same.
pub unsafe trait KernelExecutor: Executor {
    /// Runs a kernel after those that were launched before; it may return before the kernel is done. A grid without
    /// blocks is nothing to do.
    ///
    /// # Errors
    /// When an array among the arguments is not in this executor's memory, or the device fails.
    ///
    /// # Safety
    /// What the kernel's `# Safety` section demands, of arrays that live until the kernel is done: this executor's own do,
    /// because freeing one comes after what was launched before. On a GPU the executor has an entry point of the kernel's
    /// name, and it was compiled from this kernel.
    unsafe fn launch(&self, launch: &Launch) -> Result<(), Error>;

    /// Whether what this thread launches is kept for later instead of being run.
    fn records(&self) -> bool {
        false
    }

    /// Runs several kernels, one after the other.
    ///
    /// # Errors
    /// As for [`launch`](Self::launch). Where an array among the arguments of any is not in this executor's memory, none is
    /// run; otherwise those after the one that fails are not.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch), for each.
    unsafe fn launch_all(&self, launches: &[Launch]) -> Result<(), Error> {
        // SAFETY: the caller's promise.
        launches.iter().try_for_each(|launch| unsafe { self.launch(launch) })
    }

    /// An array in its memory whose elements mean nothing until a kernel writes them.
    ///
    /// # Errors
    /// When memory runs out.
    fn unwritten<T: Element>(&self, length: usize) -> Result<<Self::Memory as Memory>::Buffer<T>, Error>;
}
