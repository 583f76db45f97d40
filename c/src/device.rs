//! Arrays in the memory of a GPU, and the streams that they are used on. Without the feature `cuda`, and for executors of
//! the host, each call is an error.

use std::ffi::c_void;

#[cfg(feature = "cuda")]
use host::Scalar;
#[cfg(feature = "cuda")]
use host::executor::{Cuda, DeviceCsr, DeviceIndices};

#[cfg(feature = "cuda")]
use crate::executor::AnyExecutor;
use crate::executor::Executor;
use crate::guard::guarded;
#[cfg(feature = "cuda")]
use crate::matrix::IndexType;
use crate::matrix::Pattern;
use crate::options::{Options, Wishes};
use crate::plan::{AnyMultiply, Number, Plan, of_type, with_plan};
use crate::pointers::{check, overlap, reference};
use crate::registry::{self, Object};
use crate::status::{Failure, Status};

/// Arrays in a GPU's memory were given to an executor of the host.
pub(crate) fn not_on_gpu() -> Failure {
    Failure::new(Status::Argument, "the executor is not one of a GPU, whose memory the arrays are in")
}

/// An array in a GPU's memory.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "no executor takes it"))]
pub(crate) struct DeviceArray {
    pub address: u64,
    pub length: usize,
}

impl DeviceArray {
    fn new<T>(pointer: *const T, length: usize) -> Self {
        Self { address: pointer.addr() as u64, length }
    }
}

/// A matrix in a GPU's memory, to be used where it lies.
#[cfg(feature = "cuda")]
impl Pattern {
    fn on_device(&self, values: u64) -> Result<DeviceCsr, Failure> {
        self.check_reserved()?;
        let indices = |what, number, pointer: *const c_void| {
            let address = pointer.addr() as u64;
            match number {
                _ if number == IndexType::Int32 as i32 || number == IndexType::Uint32 as i32 => {
                    Ok(DeviceIndices::Narrow(address))
                }
                _ if number == IndexType::Int64 as i32 || number == IndexType::Uint64 as i32 => {
                    Ok(DeviceIndices::Wide(address))
                }
                other => Err(Self::wrong_type(what, other)),
            }
        };
        Ok(DeviceCsr {
            rows: self.rows,
            columns: self.columns,
            entries: self.entries,
            row_offsets: indices("row_offsets", self.row_offset_type, self.row_offsets)?,
            column_indices: indices("column_indices", self.column_index_type, self.column_indices)?,
            values,
        })
    }
}

/// Makes a plan of arrays in the memory of an executor's GPU.
///
/// # Safety
/// That of the functions for each type.
#[cfg(feature = "cuda")]
unsafe fn plan_on_device<T: Number>(
    executor: Executor,
    pattern: &Pattern,
    values: *const T,
    wishes: &Wishes,
    stream: *mut c_void,
) -> Result<AnyMultiply<T>, Failure> {
    let AnyExecutor::Cuda(executor) = crate::executor::executor_of(executor)? else { return Err(not_on_gpu()) };
    let described = pattern.on_device(values.addr() as u64)?;
    // SAFETY: the caller's promise, for the stream and the arrays.
    let made = unsafe {
        executor.in_order_of(stream, || {
            crate::plan::plan_in_memory(&executor, executor.borrow_csr::<T>(&described)?, wishes)
        })?
    };
    Ok(Box::new(made))
}

/// The same without a GPU.
#[cfg(not(feature = "cuda"))]
unsafe fn plan_on_device<T: Number>(
    executor: Executor,
    _: &Pattern,
    _: *const T,
    _: &Wishes,
    _: *mut c_void,
) -> Result<AnyMultiply<T>, Failure> {
    crate::executor::executor_of(executor)?;
    Err(not_on_gpu())
}

/// y <- α A x + β y for vectors in the memory of a plan's GPU, in the order of a stream.
///
/// # Safety
/// That of the functions for each type.
#[cfg(feature = "cuda")]
pub(crate) unsafe fn apply_on_device<T: Scalar>(
    plan: &mut host::Plan<T, Cuda>,
    factors: [T; 2],
    [x, y]: [DeviceArray; 2],
    stream: *mut c_void,
) -> Result<(), Failure> {
    let executor = plan.executor().clone();
    // SAFETY: the caller's promise, for the stream and the arrays.
    unsafe {
        let x = executor.borrow(x.address, x.length)?;
        let mut y = executor.borrow(y.address, y.length)?;
        Ok(executor.in_order_of(stream, || plan.apply(factors[0], &x, factors[1], &mut y))?)
    }
}

/// New values in the memory of a plan's GPU, in the order of a stream.
///
/// # Safety
/// That of the functions for each type.
#[cfg(feature = "cuda")]
pub(crate) unsafe fn update_on_device<T: Scalar>(
    plan: &mut host::Plan<T, Cuda>,
    values: DeviceArray,
    stream: *mut c_void,
) -> Result<(), Failure> {
    let executor = plan.executor().clone();
    // SAFETY: the caller's promise, for the stream and the array.
    unsafe {
        let values = executor.borrow(values.address, values.length)?;
        Ok(executor.in_order_of(stream, || plan.update_values(&values))?)
    }
}

/// # Safety
/// That of the functions for each type.
unsafe fn create<T: Number>(
    executor: Executor,
    pattern: *const Pattern,
    values: *const T,
    options: *const Options,
    stream: *mut c_void,
    plan: *mut Plan,
) -> Status {
    guarded(|| {
        check("plan", plan, 1)?;
        // SAFETY: the caller's promise, for all.
        let made = unsafe {
            let (wishes, pattern) = (Wishes::new(options)?, reference("pattern", pattern)?);
            plan_on_device(executor, pattern, values, &wishes, stream)?
        };
        // SAFETY: the caller's promise.
        unsafe { registry::give("plan", plan, Object::plan(T::any(made)), |id| Plan { id }) }
    })
}

/// # Safety
/// That of the functions for each type.
unsafe fn apply<T: Number>(
    plan: Plan,
    factors: [T; 2],
    (x, x_length): (*const T, usize),
    (y, y_length): (*mut T, usize),
    stream: *mut c_void,
) -> Status {
    guarded(|| {
        with_plan(plan, |plan| {
            let plan = of_type::<T>(plan)?;
            if overlap(x, x_length, y, y_length) {
                return Err(Failure::new(Status::Argument, "x and y overlap"));
            }
            let vectors = [DeviceArray::new(x, x_length), DeviceArray::new(y, y_length)];
            // SAFETY: the caller's promise.
            unsafe { plan.apply_on_device(factors, vectors, stream) }
        })
    })
}

/// # Safety
/// That of the functions for each type.
unsafe fn update<T: Number>(plan: Plan, values: *const T, length: usize, stream: *mut c_void) -> Status {
    guarded(|| {
        with_plan(plan, |plan| {
            // SAFETY: the caller's promise.
            unsafe { of_type::<T>(plan)?.update_on_device(DeviceArray::new(values, length), stream) }
        })
    })
}

/// Makes an executor of an NVIDIA GPU that queues everything on a stream of the program's, in a context of the program's:
/// `context` is a `CUcontext`, or NULL for the one that is current on the calling thread, as in programs that use CUDA's
/// runtime; `stream` is a `CUstream` or `cudaStream_t` of that context. NULL and 1 are the legacy default stream; 2 is that
/// of the calling thread, and every other thread that uses the executor gets DEVICE. Neither is destroyed by this library.
/// Where the status is not OK, `executor` is not written.
///
/// # Safety
/// `executor` is NULL or memory for a handle. Context and stream exist until the executor and its plans are destroyed, and
/// what they queued is done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warp_spmv_executor_create_on_stream(
    context: *mut c_void,
    stream: *mut c_void,
    executor: *mut Executor,
) -> Status {
    guarded(|| {
        check("executor", executor, 1)?;
        // SAFETY: the caller's promise.
        let made = unsafe { crate::executor::create_on_stream(context, stream)? };
        // SAFETY: the caller's promise.
        unsafe { registry::give("executor", executor, Object::Executor(made), |id| Executor { id }) }
    })
}

/// Makes a plan of a matrix with values of type `float`, whose arrays are in the memory of the executor's GPU: `pattern` is in
/// the host's memory, and has device pointers; its row offsets begin with 0. In formats of CSR and COO, the arrays are used
/// where they lie, except column indices of 64 bits, and row offsets of 64 bits where 32 would do, which are copied. Row
/// offsets and column indices are checked, on the host. What fills the arrays is queued on `stream`, a `CUstream` or
/// `cudaStream_t`, before the call; what is queued there after it comes when they have been read, where that is done once.
/// Otherwise as `warp_spmv_plan_create_float32`.
///
/// # Safety
/// `pattern`, `options` and `plan` as for `warp_spmv_plan_create_float32`. The device pointers are those of arrays as long as
/// `pattern` says, of the types that it says, and `stream` exists. As long as the plan does, in formats of CSR and COO, the
/// arrays are there, and nobody writes row offsets and column indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warp_spmv_plan_create_device_float32(
    executor: Executor,
    pattern: *const Pattern,
    values: *const f32,
    options: *const Options,
    stream: *mut c_void,
    plan: *mut Plan,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { create(executor, pattern, values, options, stream, plan) }
}

/// `warp_spmv_plan_create_device_float32` for values of type `double`.
///
/// # Safety
/// As for `warp_spmv_plan_create_device_float32`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warp_spmv_plan_create_device_float64(
    executor: Executor,
    pattern: *const Pattern,
    values: *const f64,
    options: *const Options,
    stream: *mut c_void,
    plan: *mut Plan,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { create(executor, pattern, values, options, stream, plan) }
}

/// y <- alpha A x + beta y, with vectors in the memory of the plan's GPU, which are used where they lie. The product comes
/// after what is queued on `stream`, a `CUstream` or `cudaStream_t`, and before what is queued there later; the call returns
/// when it is queued. Otherwise as `warp_spmv_plan_apply_float32`.
///
/// # Safety
/// `x` and `y` are those of arrays of `x_length` and `y_length` elements, which are there until the product is done, and
/// `stream` exists. Nothing else uses y or writes x meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warp_spmv_plan_apply_device_float32(
    plan: Plan,
    alpha: f32,
    x: *const f32,
    x_length: usize,
    beta: f32,
    y: *mut f32,
    y_length: usize,
    stream: *mut c_void,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { apply(plan, [alpha, beta], (x, x_length), (y, y_length), stream) }
}

/// `warp_spmv_plan_apply_device_float32` for a plan with numbers of type `double`.
///
/// # Safety
/// As for `warp_spmv_plan_apply_device_float32`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warp_spmv_plan_apply_device_float64(
    plan: Plan,
    alpha: f64,
    x: *const f64,
    x_length: usize,
    beta: f64,
    y: *mut f64,
    y_length: usize,
    stream: *mut c_void,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { apply(plan, [alpha, beta], (x, x_length), (y, y_length), stream) }
}

/// Gives the matrix of a plan new values that are in the memory of its GPU, in the order of `stream` as
/// `warp_spmv_plan_apply_device_float32` does. They are copied there; values that the plan was made of and uses where they
/// lie stay what they are. Otherwise as `warp_spmv_plan_update_values_float32`.
///
/// # Safety
/// `values` is that of an array of `length` elements, which are there and not written until they have been copied, and
/// `stream` exists.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warp_spmv_plan_update_values_device_float32(
    plan: Plan,
    values: *const f32,
    length: usize,
    stream: *mut c_void,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { update(plan, values, length, stream) }
}

/// `warp_spmv_plan_update_values_device_float32` for a plan with numbers of type `double`.
///
/// # Safety
/// As for `warp_spmv_plan_update_values_device_float32`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warp_spmv_plan_update_values_device_float64(
    plan: Plan,
    values: *const f64,
    length: usize,
    stream: *mut c_void,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { update(plan, values, length, stream) }
}
