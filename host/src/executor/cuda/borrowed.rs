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

/// Row offsets or column indices in a GPU's memory, by the address of the first one.
#[derive(Clone, Copy, Debug)]
pub enum DeviceIndices {
    /// Of type `u32`, or `i32`.
    Narrow(u64),
    /// Of type `u64`, or `i64`.
    Wide(u64),
}

/// A matrix in CSR whose arrays are in a GPU's memory, by the addresses of their first elements. That of an array without
/// elements may be anything.
#[derive(Clone, Copy, Debug)]
pub struct DeviceCsr {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// Number of stored entries.
    pub entries: usize,
    /// Where each row begins, counted from 0, and where the last one ends: rows + 1 numbers.
    pub row_offsets: DeviceIndices,
    /// The column of each entry.
    pub column_indices: DeviceIndices,
    /// The value of each entry.
    pub values: u64,
}

/// Contexts, streams and arrays that the caller owns: each function that takes one is unsafe, for neither this
/// library nor the driver can know what a handle or an address will mean later.
impl Cuda {
    /// An executor in a context and on a stream of the caller: what is queued here comes after what the caller has
    /// queued there, and before what it queues there later. `context` is a `CUcontext`, or NULL for the one that is the
    /// calling thread's current one, and `stream` a `CUstream` of it, or a `cudaStream_t`, which is the same. NULL and 1 are
    /// the legacy default stream. 2 is the default stream of the calling thread; then every call that queues something is
    /// an error on other threads.
    ///
    /// The executor destroys neither. Its own are the memory that it allocates, the kernels, and a stream that launches are
    /// recorded on. Each call makes the context the calling thread's current one. A device's primary context is retained.
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
    /// When no context is given and none is current, the stream is one of another context, or the GPU is too old for the
    /// kernels; where the driver notices, also for a handle that means nothing.
    ///
    /// # Safety
    /// Context and stream exist until all handles of the executor, its plans and its arrays are dropped and what they
    /// queued is done. While the stream is captured, products can be queued, and the arrays that they use, those of the plan
    /// too, exist and serve nothing else whenever the graph is launched; what allocates or waits is an error then, and memory
    /// of arrays that are dropped may be lost.
    pub unsafe fn on_stream(context: *mut c_void, stream: *mut c_void) -> Result<Self, Error> {
        start()?;
        // SAFETY: the caller's promise.
        let (context, gpu) = unsafe { Context::of_caller(context.cast())? };
        let stream: CUstream = stream.cast();
        if !is_default(stream) {
            let mut of: CUcontext = null_mut();
            // SAFETY: the caller's promise, and a place for a context.
            driver(unsafe { cuStreamGetCtx(stream, &mut of) }, "asking for the context of a stream")?;
            if of != context.handle() {
                let reason = "it is one of another context".into();
                return Err(Error::Cuda { what: "taking a stream".into(), reason });
            }
        }
        Self::on_gpu(gpu, || Ok((context, Stream::of_caller(stream))))
    }

    /// An executor on the legacy default stream of a GPU's primary context, where programs that use CUDA's runtime work if
    /// they name no other stream: nothing has to be ordered against them.
    ///
    /// # Errors
    /// When there is no such GPU, or it is too old for the kernels.
    pub fn on_default_stream(number: u32) -> Result<Self, Error> {
        Self::on_primary(number, || Ok(Stream::of_caller(null_mut())))
    }

    /// An array of `length` elements at this address, which stays the program's: nothing is copied, and nothing freed when
    /// this is dropped. It is used as an array of the executor's own, for x and, where it can be written to, for y.
    ///
    /// # Errors
    /// When the address is NULL, though there are elements, no multiple of their size, or not one of this executor's GPU and
    /// context, at its beginning or its end.
    ///
    /// # Safety
    /// As long as this, or what it was moved into, exists, and until what was queued until then is done:
    /// - the elements are there, and what fills them comes before, in the order of the executor's stream or by an event;
    /// - nothing else writes them while work of the executor may be reading them, or uses them in any way while it may be
    ///   writing them;
    /// - it overlaps no other array that is given to the same call, if either is written.
    pub unsafe fn borrow<T: Element>(&self, address: u64, length: usize) -> Result<CudaBuffer<T>, Error> {
        if length > 0 {
            check_address::<T>(address, length)?;
            self.enter()?;
            let last = address + (length * size_of::<T>() - 1) as u64;
            // Other elements than those at the ends would take as many questions.
            for place in [address, last] {
                self.check_reachable(place)?;
            }
        }
        Ok(CudaBuffer::borrowed(&self.owner, address, length))
    }

    /// A matrix whose arrays stay the program's: values, and column indices and row offsets of 32 bits, are used where they
    /// lie. Column indices of 64 bits, and row offsets that need not have 64, are copied in 32. Everything is checked as
    /// [`Csr::try_new`] does, for which row offsets and column indices are copied to the host, after what is queued.
    ///
    /// A [`Plan`](crate::Plan) of it in a format of CSR multiplies with these arrays, in COO with the columns and values; other
    /// formats are converted to on the GPU. [`Plan::update_values`](crate::Plan::update_values) leaves them alone: it gives
    /// the plan an array of its own. In CSR and COO the program may also write new values to its array, in the order of the
    /// stream.
    ///
    /// # Errors
    /// Those of [`borrow`](Self::borrow) and of [`Csr::try_new`].
    ///
    /// # Safety
    /// That of [`borrow`](Self::borrow) for each array; and nobody changes row offsets and column indices from now on.
    pub unsafe fn borrow_csr<T: Scalar>(&self, matrix: &DeviceCsr) -> Result<Csr<T, CudaMemory>, Error> {
        // SAFETY: the caller's promise.
        unsafe { self.csr(matrix, true) }
    }

    /// [`borrow_csr`](Self::borrow_csr) without a look at row offsets and column indices, where these have 32 bits.
    ///
    /// # Errors
    /// Those of [`borrow`](Self::borrow), and when the shape is too large.
    ///
    /// # Safety
    /// That of [`borrow_csr`](Self::borrow_csr). The row offsets begin with 0, never decrease, and end with the number of
    /// entries; each column index is below the number of columns.
    pub unsafe fn borrow_csr_unchecked<T: Scalar>(&self, matrix: &DeviceCsr) -> Result<Csr<T, CudaMemory>, Error> {
        // SAFETY: the caller's promise.
        unsafe { self.csr(matrix, false) }
    }

    /// # Safety
    /// That of the two above.
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
                // Kernels count beyond the last one.
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

    /// What is queued here from now on comes after what a stream of the program has in its queue: `stream` is a `CUstream`
    /// or one of the numbers that [`on_stream`](Self::on_stream) takes. Nothing waits on the host.
    ///
    /// # Errors
    /// When the driver refuses the stream, or the device fails.
    ///
    /// # Safety
    /// The stream exists.
    pub unsafe fn wait_for_stream(&self, stream: *mut c_void) -> Result<(), Error> {
        self.refuse_own_recording("waiting for a stream")?;
        self.enter()?;
        let event = Event::new()?;
        // SAFETY: the caller's promise.
        driver(unsafe { cuEventRecord(event.handle(), stream.cast()) }, "recording an event in a given stream")?;
        self.stream().wait(&event)
    }

    /// What is queued on a stream of the program from now on comes after what is queued here.
    ///
    /// # Errors
    /// As for [`wait_for_stream`](Self::wait_for_stream).
    ///
    /// # Safety
    /// The stream exists.
    pub unsafe fn hold_stream(&self, stream: *mut c_void) -> Result<(), Error> {
        self.refuse_own_recording("holding a stream")?;
        self.enter()?;
        let event = Event::new()?;
        event.record(self.stream())?;
        // SAFETY: the caller's promise.
        driver(unsafe { cuStreamWaitEvent(stream.cast(), event.handle(), 0) }, "letting a given stream wait")
    }

    /// Queues work in the order of a stream of the program: after what is in its queue, and before what comes there later.
    /// Where that is the executor's own stream, there is nothing to do for it.
    ///
    /// # Errors
    /// Those of the work, and as for [`wait_for_stream`](Self::wait_for_stream).
    ///
    /// # Safety
    /// The stream exists.
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
        // Also where the work failed half way.
        // SAFETY: the caller's promise.
        let held = unsafe { self.hold_stream(stream) };
        if held.is_err() {
            let _ = self.stream().synchronize();
        }
        let result = result?;
        held.map(|()| result)
    }

    /// Whether a handle means this executor's stream.
    pub fn is_on(&self, stream: *mut c_void) -> bool {
        // Two numbers mean the legacy default stream.
        let number = |handle: CUstream| if handle.is_null() { 1 } else { handle.addr() };
        number(self.stream().handle()) == number(stream.cast()) && !self.stream().is_of_another_thread()
    }

    /// What is queued here from now on waits for what an event, a `CUevent`, has marked.
    ///
    /// # Errors
    /// When the event is NULL or the driver refuses it, or the device fails.
    ///
    /// # Safety
    /// It is NULL or an event that exists.
    pub unsafe fn wait_for_event(&self, event: *mut c_void) -> Result<(), Error> {
        self.refuse_own_recording("waiting for an event")?;
        check_event(event)?;
        self.enter()?;
        // SAFETY: the caller's promise.
        driver(unsafe { cuStreamWaitEvent(self.stream().handle(), event.cast(), 0) }, "waiting for a given event")
    }

    /// Marks what is queued here by an event, a `CUevent`.
    ///
    /// # Errors
    /// As for [`wait_for_event`](Self::wait_for_event).
    ///
    /// # Safety
    /// It is NULL or an event that exists.
    pub unsafe fn record_event(&self, event: *mut c_void) -> Result<(), Error> {
        self.refuse_own_recording("recording an event")?;
        check_event(event)?;
        self.enter()?;
        // SAFETY: the caller's promise.
        driver(unsafe { cuEventRecord(event.cast(), self.stream().handle()) }, "recording a given event")
    }

    /// Checks that kernels of this executor can reach an address. The context is the current one.
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
        // SAFETY: a place for each attribute, of its type or wider. An address that the driver does not know is no error.
        let result = unsafe {
            let count = attributes.len() as u32;
            cuPointerGetAttributes(count, attributes.as_mut_ptr(), places.as_mut_ptr(), address)
        };
        driver(result, "asking for an address")?;
        let on_device = memory_type == CUmemorytype::CU_MEMORYTYPE_DEVICE as u32 && device == self.owner.pool.device();
        // Memory of a pool, or mapped by its address, belongs to the device.
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

/// Checks what an address says by itself, where there are elements.
fn check_address<T>(address: u64, length: usize) -> Result<(), Error> {
    if address == 0 {
        return Err(refused(address, "the address of an array that has elements"));
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
        true => Err(Error::Setting { what: "the event", value: "NULL".into(), expected: "an event of CUDA" }),
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
        let expected = "the device pointer is 0x0, expected the address of an array that has elements";
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
