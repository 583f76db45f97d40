//! Arrays in a GPU's memory, and the streams they are used on. Without the feature `cuda`, and for executors of the host,
//! every call is an error.

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

/// The error for arrays in a GPU's memory passed to an executor of the host.
pub(crate) fn not_on_gpu() -> Failure {
    Failure::new(Status::Argument, "the executor is not on a GPU, but the arrays are")
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

/// A matrix in a GPU's memory, to be used in place.
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
/// As for the functions for each type.
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

/// y <- α A x + β y for vectors in the memory of a plan's GPU, in stream order.
///
/// # Safety
/// As for the functions for each type.
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

/// New values in the memory of a plan's GPU, in stream order.
///
/// # Safety
/// As for the functions for each type.
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
/// As for the functions for each type.
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
/// As for the functions for each type.
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
/// As for the functions for each type.
unsafe fn update<T: Number>(plan: Plan, values: *const T, length: usize, stream: *mut c_void) -> Status {
    guarded(|| {
        with_plan(plan, |plan| {
            // SAFETY: the caller's promise.
            unsafe { of_type::<T>(plan)?.update_on_device(DeviceArray::new(values, length), stream) }
        })
    })
}

/// Creates an executor on an NVIDIA GPU that queues all work on a stream of the program, in a context of the program:
/// `context` is a `CUcontext`, or NULL for the calling thread's current one, as in programs that use CUDA's runtime;
/// `stream` is a `CUstream` or `cudaStream_t` of that context. NULL and 1 are the legacy default stream; 2 is the calling
/// thread's, and every other thread that uses the executor gets DEVICE. This library destroys neither. Unless the status is
/// OK, `executor` is not written.
///
/// # Safety
/// `executor` must be NULL or memory for a handle. The context and the stream must exist until the executor and its plans
/// are destroyed and their queued work is done.
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

/// Creates a plan of a matrix with values of type `float`, whose arrays are in the memory of the executor's GPU: `pattern`
/// is in host memory, and holds device pointers; its row offsets begin with 0. In CSR and COO formats the arrays are used in
/// place, except for 64-bit column indices, and 64-bit row offsets where 32 bits suffice, which are copied. Row offsets and
/// column indices are checked on the host. Work that fills the arrays must be queued on `stream`, a `CUstream` or
/// `cudaStream_t`, before the call; work queued there later comes after the arrays have been read, if they are read once.
/// Otherwise as `warp_spmv_plan_create_float32`.
///
/// # Safety
/// `pattern`, `options` and `plan` as for `warp_spmv_plan_create_float32`. The device pointers must be those of arrays with
/// the lengths and types given in `pattern`, and `stream` must exist. In CSR and COO formats, the arrays must exist as long
/// as the plan does, and row offsets and column indices must not be written.
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

/// y <- alpha A x + beta y, with vectors in the memory of the plan's GPU, used in place. The product comes after all work
/// already queued on `stream`, a `CUstream` or `cudaStream_t`, and before all work queued there later; the call returns once
/// it is queued. Otherwise as `warp_spmv_plan_apply_float32`.
///
/// # Safety
/// `x` and `y` must be arrays of `x_length` and `y_length` elements that exist until the product is done, and `stream` must
/// exist. Nothing else may use y or write x meanwhile.
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
/// `warp_spmv_plan_apply_device_float32` does. They are copied there; values from which the plan was made and that it uses
/// in place are left unchanged. Otherwise as `warp_spmv_plan_update_values_float32`.
///
/// # Safety
/// `values` must be an array of `length` elements that exists and is not written until it has been copied, and `stream`
/// must exist.
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
