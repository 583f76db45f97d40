//! The [`Executor`] traits on an NVIDIA GPU.

use std::time::Duration;

use cuda_std::launch::Launch;
use cust::sys::{cuMemcpyDtoH_v2, cuMemcpyHtoDAsync_v2, cuMemsetD8Async};

use super::driver::driver;
use super::event::Event;
use super::mailbox::ROOM;
use super::recording::CudaRecording;
use super::staging::{DOWNLOADING, UPLOADING};
use super::{Cuda, CudaBuffer, CudaMemory};
use crate::device::{Device, KernelResources};
use crate::error::{Error, check_part};
use crate::executor::operation::{Executor, KernelExecutor, Operation};
use crate::memory::{Buffer, Element};

/// Elements that are read or written at a time.
const fn at_once<T>() -> usize {
    const { assert!(size_of::<T>() <= ROOM, "an element has more bytes than there is room for") };
    if size_of::<T>() == 0 { ROOM } else { ROOM / size_of::<T>() }
}

// SAFETY: arrays are copied byte by byte, in the order of the stream, and the operation is the requested one.
unsafe impl Executor for Cuda {
    type Memory = CudaMemory;
    type Recording = CudaRecording;

    fn device(&self) -> &Device {
        &self.device
    }

    fn kernel_resources(&self, entry: &str) -> Option<KernelResources> {
        self.enter().ok()?;
        self.kernels.lock().resources(entry)
    }

    fn upload<T: Element>(&self, array: Vec<T>) -> Result<CudaBuffer<T>, Error> {
        self.upload_slice(&array)
    }

    fn upload_slice<T: Element>(&self, array: &[T]) -> Result<CudaBuffer<T>, Error> {
        let buffer = self.allocate(array.len())?;
        if array.is_empty() {
            return Ok(buffer);
        }
        // On the stream, so that the copy precedes kernels launched later.
        let (bytes, address): (&[u8], _) = (bytemuck::cast_slice(array), buffer.address());
        // SAFETY: the lengths agree, and freed memory is reused only after the copy.
        match self.staged(bytes.len(), |staging| unsafe { staging.upload(bytes, address, self.stream()) }) {
            Some(done) => done?,
            None => {
                let (from, stream) = (bytes.as_ptr().cast(), self.stream().handle());
                // SAFETY: `bytes` and the new array have the same length. Once freed, that memory is reused only later
                // on this stream, and `array` lives until the next line has waited for the copy.
                driver(unsafe { cuMemcpyHtoDAsync_v2(address, from, bytes.len(), stream) }, UPLOADING)?;
                self.synchronize()?;
            }
        }
        Ok(buffer)
    }

    fn zeros<T: Element>(&self, length: usize) -> Result<CudaBuffer<T>, Error> {
        self.filled(length, 0)
    }

    fn filled<T: Element>(&self, length: usize, byte: u8) -> Result<CudaBuffer<T>, Error> {
        let buffer = self.allocate(length)?;
        if !buffer.is_empty() {
            let (bytes, stream) = (buffer.bytes() as usize, self.stream().handle());
            // SAFETY: the array has `bytes` bytes, and kernels launched later come after.
            driver(unsafe { cuMemsetD8Async(buffer.address(), byte, bytes, stream) }, "filling an array")?;
        }
        Ok(buffer)
    }

    fn download<T: Element>(&self, array: &CudaBuffer<T>) -> Result<Vec<T>, Error> {
        self.check_own(array, "the array copied to the host")?;
        self.synchronize()?;
        let mut copy = crate::memory::zeros(array.len())?;
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut copy);
        if bytes.is_empty() {
            return Ok(copy);
        }
        let length = bytes.len();
        // SAFETY: the lengths agree.
        match self.staged(length, |staging| unsafe { staging.download(array.address(), bytes, self.stream()) }) {
            Some(done) => done?,
            // SAFETY: `copy` has as many elements as `array`, hence `length` bytes each, and all queued work is done.
            None => driver(unsafe { cuMemcpyDtoH_v2(copy.as_mut_ptr().cast(), array.address(), length) }, DOWNLOADING)?,
        }
        Ok(copy)
    }

    fn duplicate<T: Element>(&self, array: &CudaBuffer<T>) -> Result<CudaBuffer<T>, Error> {
        let mut copy = self.allocate(array.len())?;
        self.copy(array, &mut copy)?;
        Ok(copy)
    }

    fn copy<T: Element>(&self, from: &CudaBuffer<T>, to: &mut CudaBuffer<T>) -> Result<(), Error> {
        Cuda::copy(self, from, to)
    }

    fn read_during<T: Element>(
        &self,
        array: &CudaBuffer<T>,
        first: usize,
        to: &mut [T],
        work: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.check_own(array, "the array copied to the host")?;
        check_part(first, to.len(), array.len())?;
        self.refuse_recording("waiting for the kernels")?;
        let place = |element: usize| array.address() + ((first + element) * size_of::<T>()) as u64;
        let (few, rest) = to.split_at_mut(to.len().min(at_once::<T>()));
        for (number, part) in rest.chunks_mut(at_once::<T>()).enumerate() {
            let from = place((number + 1) * at_once::<T>());
            // SAFETY: the elements lie within the array, and a part has at most `ROOM` bytes.
            self.by_mail(|mailbox| unsafe {
                mailbox.read(from, bytemuck::cast_slice_mut(part), self.stream(), &mut || Ok(()))
            })?;
        }
        // SAFETY: as above.
        self.by_mail(|mailbox| unsafe { mailbox.read(place(0), bytemuck::cast_slice_mut(few), self.stream(), work) })
    }

    fn write<T: Element>(&self, from: &[T], array: &mut CudaBuffer<T>, first: usize) -> Result<(), Error> {
        self.check_own(array, "the array copied to")?;
        check_part(first, from.len(), array.len())?;
        self.refuse_recording("copying to the GPU")?;
        for (number, part) in from.chunks(at_once::<T>()).enumerate() {
            let to = array.address() + ((first + number * at_once::<T>()) * size_of::<T>()) as u64;
            // SAFETY: as above.
            self.by_mail(|mailbox| unsafe { mailbox.write(bytemuck::cast_slice(part), to, self.stream()) })?;
        }
        Ok(())
    }

    fn run<O: Operation>(&self, operands: O::Operands<'_, CudaMemory>) -> Result<O::Output<CudaMemory>, Error> {
        O::by_kernels(self, operands)
    }

    fn repeat(
        &self,
        recording: &mut CudaRecording,
        times: usize,
        work: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<(), Error> {
        (0..times).try_for_each(|_| recording.play(&self.kernels, work))
    }

    fn synchronize(&self) -> Result<(), Error> {
        self.refuse_recording("waiting for the kernels")?;
        self.stream().synchronize().map_err(|result| self.waiting(result))
    }

    fn time(&self, work: &mut dyn FnMut() -> Result<(), Error>) -> Result<Duration, Error> {
        self.refuse_recording("timing")?;
        let (start, stop) = (Event::with_time()?, Event::with_time()?);
        start.record(self.stream())?;
        work()?;
        stop.record(self.stream())?;
        stop.synchronize().map_err(|result| self.waiting(result))?;
        stop.elapsed(&start)
    }
}

// SAFETY: kernels are queued on the stream that frees the arrays, or kept by a graph that detects when an array is
// freed.
unsafe impl KernelExecutor for Cuda {
    unsafe fn launch(&self, launch: &Launch) -> Result<(), Error> {
        let Launch { grid, call } = launch;
        let (entry, mut arguments) = (call.entry(), call.arguments());
        self.check_places(entry, &arguments)?;
        if grid.blocks == 0 {
            return Ok(());
        }
        self.enter()?;
        // SAFETY: the arguments are the kernel's own, by `Kernel` and `Argument`, and their arrays were checked; the caller
        // promises that the entry point is the kernel's, and the rest.
        unsafe { self.queue(*grid, entry, &mut arguments) }
    }

    unsafe fn launch_all(&self, launches: &[Launch]) -> Result<(), Error> {
        if let [launch] = launches {
            // SAFETY: the caller's promise.
            return unsafe { self.launch(launch) };
        }
        // All are checked before the first is queued, so that nothing changes if one is rejected.
        launches.iter().try_for_each(|launch| self.check_places(launch.call.entry(), &launch.call.arguments()))?;
        self.enter()?;
        let mut launches = launches.iter().filter(|launch| launch.grid.blocks > 0);
        // SAFETY: as for a single one.
        launches.try_for_each(|Launch { grid, call }| unsafe { self.queue(*grid, call.entry(), &mut call.arguments()) })
    }

    fn records(&self) -> bool {
        self.owner.recorder.is_recording() || self.stream().is_capturing()
    }

    fn unwritten<T: Element>(&self, length: usize) -> Result<CudaBuffer<T>, Error> {
        self.allocate(length)
    }
}
