//! Contexts, streams and arrays of the caller.

use std::borrow::Cow;
use std::ffi::c_void;
use std::fmt::LowerHex;
use std::ptr::null_mut;

use cust::sys::{
    CUcontext, CUdeviceptr, CUmemoryPool, CUmemorytype, CUpointer_attribute, CUstream, cuEventRecord,
    cuPointerGetAttributes, cuStreamGetCtx, cuStreamWaitEvent,
};

use super::context::Context;
use super::driver::driver;
use super::event::Event;
use super::stream::{Stream, is_default};
use super::{Cuda, CudaBuffer, CudaMemory, start};
use crate::error::Error;
use crate::executor::operation::Executor;
use crate::format::{Csr, Offsets, check_indices, check_shape};
use crate::interop::Index;
use crate::memory::Element;
use crate::real::Scalar;

/// Row offsets or column indices in a GPU's memory, given by the address of the first.
#[derive(Clone, Copy, Debug)]
pub enum DeviceIndices {
    /// Of type `u32` or `i32`.
    Narrow(u64),
    /// Of type `u64` or `i64`.
    Wide(u64),
}

/// A CSR matrix whose arrays are in a GPU's memory, given by the addresses of their first elements. The address of an empty
/// array is ignored.
#[derive(Clone, Copy, Debug)]
pub struct DeviceCsr {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// Number of stored entries.
    pub entries: usize,
    /// Zero-based start of each row, followed by the end of the last one: rows + 1 numbers.
    pub row_offsets: DeviceIndices,
    /// The column of each entry.
    pub column_indices: DeviceIndices,
    /// The value of each entry.
    pub values: u64,
}

/// Contexts, streams and arrays owned by the caller. Every function that takes one is unsafe, for neither this library
/// nor the driver can know what a handle or an address will refer to later.
impl Cuda {
    /// An executor in the caller's context and on the caller's stream: its work comes after everything already queued on the
    /// stream, and before everything queued there later. `context` is a `CUcontext`, or NULL for the calling thread's
    /// current context; `stream` is one of its `CUstream`s, or a `cudaStream_t`, which is the same. NULL and 1 are the
    /// legacy default stream. 2 is the calling thread's default stream; every call from another thread that queues something
    /// is then an error.
    ///
    /// The executor destroys neither. It owns only the memory that it allocates, the kernels, and a stream on which launches
    /// are recorded. Each call makes the context the calling thread's current one. A device's primary context is retained.
    ///
    /// ```no_run
    /// use host::executor::{Cuda, Executor};
    /// use host::{Csr, Format, Plan};
    ///
    /// # fn multiply(stream: *mut std::ffi::c_void, x: u64, y: u64) -> Result<(), host::Error> {
    /// let matrix = Csr::try_from_triplets(2, 2, &[0, 1], &[0, 1], &[2.0, 3.0])?;
    /// // SAFETY: the program's stream, of the current context, and two arrays there of two numbers each: all are there until
    /// // what is queued is done.
    /// let (gpu, x, mut y) = unsafe {
    ///     let gpu = Cuda::on_stream(std::ptr::null_mut(), stream)?;
    ///     (gpu.clone(), gpu.borrow::<f64>(x, 2)?, gpu.borrow(y, 2)?)
    /// };
    /// Plan::with_format(&gpu, matrix, Format::CSR_VECTOR)?.apply(1.0, &x, 0.0, &mut y)?; // Queued on the stream.
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When no context is given and none is current, the stream belongs to another context, or the GPU is too old for the
    /// kernels; also for an invalid handle, if the driver detects it.
    ///
    /// # Safety
    /// The context and the stream must exist until all handles of the executor, its plans and its arrays are dropped and
    /// their queued work is done. While the stream is being captured, products can be queued; the arrays that they use,
    /// including the plan's, must exist and serve no other purpose whenever the graph is launched. During capture, calls
    /// that allocate or wait are errors, and the memory of dropped arrays may leak.
    pub unsafe fn on_stream(context: *mut c_void, stream: *mut c_void) -> Result<Self, Error> {
        start()?;
        // SAFETY: the caller's promise.
        let (context, gpu) = unsafe { Context::of_caller(context.cast())? };
        let stream: CUstream = stream.cast();
        if !is_default(stream) {
            let mut of: CUcontext = null_mut();
            // SAFETY: the caller's promise, and `of` is valid for writes.
            driver(unsafe { cuStreamGetCtx(stream, &mut of) }, "asking for the context of a stream")?;
            if of != context.handle() {
                let reason = "it belongs to another context".into();
                return Err(Error::Cuda { what: "taking a stream".into(), reason });
            }
        }
        Self::on_gpu(gpu, || Ok((context, Stream::of_caller(stream))))
    }

    /// An executor on the legacy default stream of a GPU's primary context, which programs that use CUDA's runtime work on
    /// if they name no other stream: no ordering against them is needed.
    ///
    /// # Errors
    /// When there is no such GPU, or it is too old for the kernels.
    pub fn on_default_stream(number: u32) -> Result<Self, Error> {
        Self::on_primary(number, || Ok(Stream::of_caller(null_mut())))
    }

    /// An array of `length` elements at `address`, still owned by the program: nothing is copied, and nothing is freed when
    /// the array is dropped. It can be used like the executor's own arrays: as x and, if it is writable, as y.
    ///
    /// # Errors
    /// When the array is not empty and its address is NULL, is not a multiple of the element size, or does not belong to
    /// this executor's GPU and context, at its beginning or its end.
    ///
    /// # Safety
    /// As long as the array, or whatever it was moved into, exists, and until the work queued up to then is done:
    /// - the elements must exist, and writes to them must come first, in the order of the executor's stream or by an
    ///   event;
    /// - nothing else may write them while work of the executor may be reading them, or use them in any way while it may be
    ///   writing them;
    /// - the array must not overlap another array passed to the same call, if either is written.
    pub unsafe fn borrow<T: Element>(&self, address: u64, length: usize) -> Result<CudaBuffer<T>, Error> {
        if length > 0 {
            check_address::<T>(address, length)?;
            self.enter()?;
            let last = address + (length * size_of::<T>() - 1) as u64;
            // Checking elements other than the first and the last would take one query each.
            for place in [address, last] {
                self.check_reachable(place)?;
            }
        }
        Ok(CudaBuffer::borrowed(&self.owner, address, length))
    }

    /// A matrix whose arrays remain the program's: values, and 32-bit column indices and row offsets, are used in place.
    /// 64-bit column indices, and row offsets that do not need 64 bits, are copied to 32 bits. All checks of
    /// [`Csr::try_new`] are made, for which row offsets and column indices are copied to the host, after everything queued
    /// so far.
    ///
    /// A [`Plan`](crate::Plan) of the matrix uses these arrays in place in CSR formats, and columns and values in COO;
    /// conversion to other formats runs on the GPU. [`Plan::update_values`](crate::Plan::update_values) leaves the arrays
    /// alone and gives the plan its own. In CSR and COO the program may also write new values to its array, in stream order.
    ///
    /// # Errors
    /// As for [`borrow`](Self::borrow) and [`Csr::try_new`].
    ///
    /// # Safety
    /// As for [`borrow`](Self::borrow), for each array. Row offsets and column indices must not be changed from now on.
    pub unsafe fn borrow_csr<T: Scalar>(&self, matrix: &DeviceCsr) -> Result<Csr<T, CudaMemory>, Error> {
        // SAFETY: the caller's promise.
        unsafe { self.csr(matrix, true) }
    }

    /// [`borrow_csr`](Self::borrow_csr) without checking row offsets and column indices of 32 bits.
    ///
    /// # Errors
    /// As for [`borrow`](Self::borrow), and when the shape is too large.
    ///
    /// # Safety
    /// As for [`borrow_csr`](Self::borrow_csr). The row offsets must begin with 0, never decrease, and end with the number
    /// of entries; each column index must be less than the number of columns.
    pub unsafe fn borrow_csr_unchecked<T: Scalar>(&self, matrix: &DeviceCsr) -> Result<Csr<T, CudaMemory>, Error> {
        // SAFETY: the caller's promise.
        unsafe { self.csr(matrix, false) }
    }

    /// # Safety
    /// As for the two functions above.
    unsafe fn csr<T: Scalar>(&self, matrix: &DeviceCsr, checked: bool) -> Result<Csr<T, CudaMemory>, Error> {
        let DeviceCsr { rows, columns, entries, row_offsets, column_indices, values } = *matrix;
        check_shape(rows, columns)?;
        let check = |offsets: &Offsets| match checked {
            true => offsets.check("CSR", "row", rows, entries),
            false => Ok(()),
        };
        let row_offsets = match row_offsets {
            DeviceIndices::Narrow(address) => {
                // SAFETY: the caller's promise.
                let array = unsafe { self.borrow(address, rows + 1)? };
                // Kernels count past the last offset.
                if checked || Offsets::width_for(entries as u128) > 4 {
                    let on_host = Offsets::try_from(self.download(&array)?)?;
                    check(&on_host)?;
                    match on_host {
                        Offsets::Narrow(_) => Offsets::Narrow(array),
                        Offsets::Wide(wide) => Offsets::Wide(self.upload(wide)?),
                    }
                } else {
                    Offsets::Narrow(array)
                }
            }
            DeviceIndices::Wide(address) => {
                // SAFETY: the caller's promise.
                let array = unsafe { self.borrow(address, rows + 1)? };
                let on_host = Offsets::try_from(self.download(&array)?)?;
                check(&on_host)?;
                match on_host {
                    Offsets::Narrow(narrow) => Offsets::Narrow(self.upload(narrow)?),
                    Offsets::Wide(_) => Offsets::Wide(array),
                }
            }
        };
        let column_indices = match column_indices {
            DeviceIndices::Narrow(address) => {
                // SAFETY: the caller's promise.
                let array = unsafe { self.borrow::<u32>(address, entries)? };
                if checked {
                    check_indices("CSR", "column", columns, &self.download(&array)?)?;
                }
                array
            }
            DeviceIndices::Wide(address) => {
                // SAFETY: the caller's promise.
                let array = unsafe { self.borrow::<u64>(address, entries)? };
                self.upload(u64::into_columns(Cow::Owned(self.download(&array)?), columns)?)?
            }
        };
        // SAFETY: the caller's promise.
        let values = unsafe { self.borrow(values, entries)? };
        Ok(Csr::from_valid(rows, columns, row_offsets, column_indices, values))
    }

    /// Makes work queued here from now on wait for everything already queued on a stream of the program: `stream` is a
    /// `CUstream` or one of the numbers that [`on_stream`](Self::on_stream) takes. The host does not wait.
    ///
    /// # Errors
    /// When the driver rejects the stream, or the device fails.
    ///
    /// # Safety
    /// The stream must exist.
    pub unsafe fn wait_for_stream(&self, stream: *mut c_void) -> Result<(), Error> {
        self.refuse_own_recording("waiting for a stream")?;
        self.enter()?;
        let event = Event::new()?;
        // SAFETY: the caller's promise.
        driver(unsafe { cuEventRecord(event.handle(), stream.cast()) }, "recording an event in a given stream")?;
        self.stream().wait(&event)
    }

    /// Makes work queued on a stream of the program from now on wait for everything already queued here.
    ///
    /// # Errors
    /// As for [`wait_for_stream`](Self::wait_for_stream).
    ///
    /// # Safety
    /// The stream must exist.
    pub unsafe fn hold_stream(&self, stream: *mut c_void) -> Result<(), Error> {
        self.refuse_own_recording("holding a stream")?;
        self.enter()?;
        let event = Event::new()?;
        event.record(self.stream())?;
        // SAFETY: the caller's promise.
        driver(unsafe { cuStreamWaitEvent(stream.cast(), event.handle(), 0) }, "letting a given stream wait")
    }

    /// Queues work in the order of a stream of the program: after everything already queued there, and before everything
    /// queued there later. On the executor's own stream, this requires nothing.
    ///
    /// # Errors
    /// As for the work and for [`wait_for_stream`](Self::wait_for_stream).
    ///
    /// # Safety
    /// The stream must exist.
    pub unsafe fn in_order_of<R>(
        &self,
        stream: *mut c_void,
        work: impl FnOnce() -> Result<R, Error>,
    ) -> Result<R, Error> {
        if self.is_on(stream) {
            return work();
        }
        // SAFETY: the caller's promise.
        unsafe { self.wait_for_stream(stream)? };
        let result = work();
        // Even if the work failed half way. SAFETY: the caller's promise.
        let held = unsafe { self.hold_stream(stream) };
        if held.is_err() {
            let _ = self.stream().synchronize();
        }
        let result = result?;
        held.map(|()| result)
    }

    /// Whether a handle denotes this executor's stream.
    pub fn is_on(&self, stream: *mut c_void) -> bool {
        // Two numbers denote the legacy default stream.
        let number = |handle: CUstream| if handle.is_null() { 1 } else { handle.addr() };
        number(self.stream().handle()) == number(stream.cast()) && !self.stream().is_of_another_thread()
    }

    /// Makes work queued here from now on wait for the work marked by an event, a `CUevent`.
    ///
    /// # Errors
    /// When the event is NULL or rejected by the driver, or the device fails.
    ///
    /// # Safety
    /// The event must be NULL or exist.
    pub unsafe fn wait_for_event(&self, event: *mut c_void) -> Result<(), Error> {
        self.refuse_own_recording("waiting for an event")?;
        check_event(event)?;
        self.enter()?;
        // SAFETY: the caller's promise.
        driver(unsafe { cuStreamWaitEvent(self.stream().handle(), event.cast(), 0) }, "waiting for a given event")
    }

    /// Marks everything queued here so far by an event, a `CUevent`.
    ///
    /// # Errors
    /// As for [`wait_for_event`](Self::wait_for_event).
    ///
    /// # Safety
    /// The event must be NULL or exist.
    pub unsafe fn record_event(&self, event: *mut c_void) -> Result<(), Error> {
        self.refuse_own_recording("recording an event")?;
        check_event(event)?;
        self.enter()?;
        // SAFETY: the caller's promise.
        driver(unsafe { cuEventRecord(event.cast(), self.stream().handle()) }, "recording a given event")
    }

    /// Checks that kernels of this executor can reach an address. The context must be current.
    fn check_reachable(&self, address: CUdeviceptr) -> Result<(), Error> {
        let (mut context, mut pool): (CUcontext, CUmemoryPool) = (null_mut(), null_mut());
        let (mut memory_type, mut managed, mut device) = (0_u32, 0_u64, -1_i32);
        let mut attributes = [
            CUpointer_attribute::CU_POINTER_ATTRIBUTE_CONTEXT,
            CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
            CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            CUpointer_attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED,
            CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        ];
        let mut places: [*mut c_void; 5] = [
            (&raw mut context).cast(),
            (&raw mut pool).cast(),
            (&raw mut memory_type).cast(),
            (&raw mut managed).cast(),
            (&raw mut device).cast(),
        ];
        // SAFETY: there is room for each attribute, of its type or wider. An address unknown to the driver is not an error.
        let result = unsafe {
            let count = attributes.len() as u32;
            cuPointerGetAttributes(count, attributes.as_mut_ptr(), places.as_mut_ptr(), address)
        };
        driver(result, "asking for an address")?;
        let on_device = memory_type == CUmemorytype::CU_MEMORYTYPE_DEVICE as u32 && device == self.owner.pool.device();
        // Memory of a pool, or mapped at its address, belongs to the device.
        let in_context = context.is_null() || !pool.is_null() || context == self.owner.context();
        if managed != 0 || on_device && in_context {
            return Ok(());
        }
        Err(refused(address, "one in the memory of the executor's GPU and context"))
    }
}

fn refused(address: impl LowerHex, expected: &'static str) -> Error {
    Error::Setting { what: "the device pointer", value: format!("{address:#x}"), expected }
}

/// Checks the address of a non-empty array by itself.
fn check_address<T>(address: u64, length: usize) -> Result<(), Error> {
    if address == 0 {
        return Err(refused(address, "the address of a non-empty array"));
    }
    if !address.is_multiple_of(size_of::<T>() as u64) {
        return Err(refused(address, "a multiple of the size of the elements"));
    }
    let bytes = length as u128 * size_of::<T>() as u128;
    if u128::from(address) + bytes > u128::from(u64::MAX) {
        let limit = u128::from(u64::MAX - address);
        return Err(Error::TooLarge { what: "number of bytes from the device pointer on", value: bytes, limit });
    }
    Ok(())
}

fn check_event(event: *mut c_void) -> Result<(), Error> {
    match event.is_null() {
        true => Err(Error::Setting { what: "the event", value: "NULL".into(), expected: "a CUDA event" }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Complex;

    #[test]
    fn addresses_that_mean_nothing_are_refused() {
        let message = |result: Result<(), Error>| result.unwrap_err().to_string();
        let expected = "the device pointer is 0x0, expected the address of a non-empty array";
        assert_eq!(message(check_address::<f64>(0, 1)), expected);
        let expected = "the device pointer is 0x7f0004, expected a multiple of the size of the elements";
        assert_eq!(message(check_address::<f64>(0x7f_0004, 1)), expected);
        assert!(check_address::<f32>(0x7f_0004, 1).is_ok());
        assert!(check_address::<Complex<f64>>(0x7f_0008, 1).is_err());
        assert!(message(check_address::<f64>(0x7f_0000, usize::MAX / 4)).contains("number of bytes from the device"));
        assert!(message(check_address::<f64>(u64::MAX - 7, 1)).contains("the limit is 7"));
    }

    #[test]
    fn without_a_driver_there_is_no_executor_on_a_stream() {
        // SAFETY: no context, and the legacy default stream.
        let error = unsafe { Cuda::on_stream(null_mut(), null_mut()) }.map(drop).unwrap_err();
        assert!(matches!(error, Error::Unavailable { .. } | Error::Cuda { .. }), "{error}");
    }
}
