//! Plans: matrices ready for multiplication.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use host::error::check_length;
use host::executor::HostExecutor;
#[cfg(feature = "cuda")]
use host::executor::{Cuda, Executor as _};
use host::{Csr, Error, Format, Scalar};

#[cfg(feature = "cuda")]
use crate::device;
use crate::device::{DeviceArray, not_on_gpu};
use crate::executor::{AnyExecutor, Executor, executor_of};
use crate::guard::guarded;
use crate::matrix::Pattern;
use crate::options::{Options, Wishes};
use crate::pointers::{check, give_text, overlap, reference, slice, slice_mut, write};
use crate::registry::{self, Object};
use crate::status::{Failure, Status};

/// A handle of a plan: a matrix on an executor, ready for multiplication.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// 0 for none. Unique among all objects ever created.
    pub id: u64,
}

/// A plan on any executor.
pub(crate) trait Multiply<T>: Send {
    /// y <- α A x + β y for vectors in host memory.
    fn apply(&mut self, alpha: T, x: &[T], beta: T, y: &mut [T]) -> Result<(), Error>;

    /// Gives the matrix new values, which are in host memory.
    fn update(&mut self, values: &[T]) -> Result<(), Error>;

    /// y <- α A x + β y for vectors in a GPU's memory, in stream order.
    ///
    /// # Safety
    /// The arrays must exist until the product is done, and be of this type; nothing else may use y or write x meanwhile.
    /// The stream must exist.
    unsafe fn apply_on_device(&mut self, _: [T; 2], _: [DeviceArray; 2], _: *mut c_void) -> Result<(), Failure> {
        Err(not_on_gpu())
    }

    /// Gives the matrix new values, which are in a GPU's memory, in stream order.
    ///
    /// # Safety
    /// The array must exist until it is copied, and be of this type, and nothing may write it meanwhile. The stream
    /// must exist.
    unsafe fn update_on_device(&mut self, _: DeviceArray, _: *mut c_void) -> Result<(), Failure> {
        Err(not_on_gpu())
    }

    fn format(&self) -> Format;

    /// Rows, columns, entries.
    fn shape(&self) -> [usize; 3];
}

impl<T: Scalar> Multiply<T> for host::Plan<T, HostExecutor> {
    fn apply(&mut self, alpha: T, x: &[T], beta: T, y: &mut [T]) -> Result<(), Error> {
        self.apply_slices(alpha, x, beta, y)
    }

    fn update(&mut self, values: &[T]) -> Result<(), Error> {
        self.update_values(&host::memory::copy(values)?)
    }

    fn format(&self) -> Format {
        host::Plan::format(self)
    }

    fn shape(&self) -> [usize; 3] {
        [self.matrix().rows(), self.matrix().columns(), self.matrix().nnz()]
    }
}

#[cfg(feature = "cuda")]
impl<T: Scalar> Multiply<T> for host::Plan<T, Cuda> {
    /// Copies the vectors to the device, and y back.
    fn apply(&mut self, alpha: T, x: &[T], beta: T, y: &mut [T]) -> Result<(), Error> {
        let device = self.executor().clone();
        let on_device = device.upload(host::memory::copy(x)?)?;
        // With β = 0, y is not read.
        let mut result =
            if beta == T::ZERO { device.zeros(y.len())? } else { device.upload(host::memory::copy(y)?)? };
        host::Plan::apply(self, alpha, &on_device, beta, &mut result)?;
        y.copy_from_slice(&device.download(&result)?);
        Ok(())
    }

    fn update(&mut self, values: &[T]) -> Result<(), Error> {
        let values = self.executor().upload(host::memory::copy(values)?)?;
        self.update_values(&values)
    }

    unsafe fn apply_on_device(
        &mut self,
        factors: [T; 2],
        vectors: [DeviceArray; 2],
        stream: *mut c_void,
    ) -> Result<(), Failure> {
        // SAFETY: the caller's promise.
        unsafe { device::apply_on_device(self, factors, vectors, stream) }
    }

    unsafe fn update_on_device(&mut self, values: DeviceArray, stream: *mut c_void) -> Result<(), Failure> {
        // SAFETY: the caller's promise.
        unsafe { device::update_on_device(self, values, stream) }
    }

    fn format(&self) -> Format {
        host::Plan::format(self)
    }

    fn shape(&self) -> [usize; 3] {
        [self.matrix().rows(), self.matrix().columns(), self.matrix().nnz()]
    }
}

/// A plan on any executor.
pub(crate) type AnyMultiply<T> = Box<dyn Multiply<T>>;

/// A plan of any number type.
pub(crate) enum AnyPlan {
    Float32(AnyMultiply<f32>),
    Float64(AnyMultiply<f64>),
}

/// The number types of the C interface.
pub(crate) trait Number: Scalar {
    fn any(plan: AnyMultiply<Self>) -> AnyPlan;

    /// The plan, if its numbers are of this type.
    fn of(plan: &mut AnyPlan) -> Option<&mut dyn Multiply<Self>>;
}

impl Number for f32 {
    fn any(plan: AnyMultiply<f32>) -> AnyPlan {
        AnyPlan::Float32(plan)
    }

    fn of(plan: &mut AnyPlan) -> Option<&mut dyn Multiply<f32>> {
        match plan {
            AnyPlan::Float32(plan) => Some(&mut **plan),
            AnyPlan::Float64(_) => None,
        }
    }
}

impl Number for f64 {
    fn any(plan: AnyMultiply<f64>) -> AnyPlan {
        AnyPlan::Float64(plan)
    }

    fn of(plan: &mut AnyPlan) -> Option<&mut dyn Multiply<f64>> {
        match plan {
            AnyPlan::Float32(_) => None,
            AnyPlan::Float64(plan) => Some(&mut **plan),
        }
    }
}

fn plan_on<T: Scalar, E: host::executor::Executor>(
    executor: &E,
    matrix: Csr<T>,
    wishes: &Wishes,
) -> Result<host::Plan<T, E>, Error> {
    match wishes.format {
        Format::Auto => host::Plan::automatic(executor, matrix, &wishes.selection),
        format => host::Plan::with_options(executor, matrix, format, wishes.plan_options()),
    }
}

/// As `plan_on`, for a matrix in the executor's memory.
#[cfg(feature = "cuda")]
pub(crate) fn plan_in_memory<T: Scalar, E: host::executor::Executor>(
    executor: &E,
    matrix: Csr<T, E::Memory>,
    wishes: &Wishes,
) -> Result<host::Plan<T, E>, Error> {
    match wishes.format {
        Format::Auto => host::Plan::automatic_in_memory(executor, matrix, &wishes.selection),
        format => host::Plan::in_memory(executor, matrix, format, wishes.plan_options()),
    }
}

/// # Safety
/// As for the functions for each type.
unsafe fn create<T: Number>(
    executor: Executor,
    pattern: *const Pattern,
    values: *const T,
    options: *const Options,
    plan: *mut Plan,
) -> Status {
    guarded(|| {
        check("plan", plan, 1)?;
        let executor = executor_of(executor)?;
        // SAFETY: the caller's promise, for all three.
        let (wishes, matrix) = unsafe { (Wishes::new(options)?, reference("pattern", pattern)?.with_values(values)?) };
        let made: AnyMultiply<T> = match executor {
            AnyExecutor::Host(executor) => Box::new(plan_on(&executor, matrix, &wishes)?),
            #[cfg(feature = "cuda")]
            AnyExecutor::Cuda(executor) => Box::new(plan_on(&executor, matrix, &wishes)?),
        };
        // SAFETY: the caller's promise.
        unsafe { registry::give("plan", plan, Object::plan(T::any(made)), |id| Plan { id }) }
    })
}

/// Does `work` with the plan of a handle, in exclusive use: other threads wait.
pub(crate) fn with_plan(plan: Plan, work: impl FnOnce(&mut AnyPlan) -> Result<(), Failure>) -> Result<(), Failure> {
    let shared = registry::get("plan", plan.id, |object| match object {
        Object::Plan(plan) => Some(Arc::clone(plan)),
        Object::Executor(_) => None,
    })?;
    let mut plan = shared
        .lock()
        .map_err(|_| Failure::new(Status::Internal, "a bug in warp-spmv has left this plan broken: destroy it"))?;
    work(&mut plan)
}

/// The plan, if its numbers are of this type.
pub(crate) fn of_type<T: Number>(plan: &mut AnyPlan) -> Result<&mut dyn Multiply<T>, Failure> {
    let message = || format!("the plan's numbers are not of type {}", T::NAME);
    T::of(plan).ok_or_else(|| Failure::new(Status::NumberType, message()))
}

/// Checks the length of a vector, and its pointer as far as possible, before a slice is made of it.
fn check_vector<T>(what: &'static str, pointer: *const T, found: usize, expected: usize) -> Result<(), Failure> {
    check_length(what, found, expected)?;
    if found > 0 { check(what, pointer, found) } else { Ok(()) }
}

/// # Safety
/// As for the functions for each type.
unsafe fn update<T: Number>(plan: Plan, values: *const T, length: usize) -> Status {
    guarded(|| {
        with_plan(plan, |plan| {
            let plan = of_type::<T>(plan)?;
            let [_, _, entries] = plan.shape();
            check_vector("values", values, length, entries)?;
            // SAFETY: the caller's promise.
            let values = unsafe { slice("values", values, length)? };
            Ok(plan.update(values)?)
        })
    })
}

/// # Safety
/// As for the functions for each type.
unsafe fn apply<T: Number>(
    plan: Plan,
    alpha: T,
    x: *const T,
    x_length: usize,
    beta: T,
    y: *mut T,
    y_length: usize,
) -> Status {
    guarded(|| {
        with_plan(plan, |plan| {
            let plan = of_type::<T>(plan)?;
            let [rows, columns, _] = plan.shape();
            check_vector("x", x, x_length, columns)?;
            check_vector("y", y, y_length, rows)?;
            if overlap(x, x_length, y, y_length) {
                return Err(Failure::new(Status::Argument, "x and y overlap"));
            }
            // SAFETY: the caller's promise, which includes that y is initialised; and the two do not overlap.
            let (x, y) = unsafe { (slice("x", x, x_length)?, slice_mut("y", y, y_length)?) };
            Ok(plan.apply(alpha, x, beta, y)?)
        })
    })
}

/// Creates a plan of a matrix with values of type `float`: copies it to the executor, chooses a format unless `options` name
/// one, and converts it. `options` may be NULL. Unless the status is OK, `plan` is not written.
///
/// # Safety
/// Each pointer, including those in `pattern` and `options`, must be NULL or point to what its name says, with the lengths
/// and types given in `pattern`; and no other thread may write to any of it during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warp_spmv_plan_create_float32(
    executor: Executor,
    pattern: *const Pattern,
    values: *const f32,
    options: *const Options,
    plan: *mut Plan,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { create(executor, pattern, values, options, plan) }
}

/// `warp_spmv_plan_create_float32` for values of type `double`.
///
/// # Safety
/// As for `warp_spmv_plan_create_float32`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warp_spmv_plan_create_float64(
    executor: Executor,
    pattern: *const Pattern,
    values: *const f64,
    options: *const Options,
    plan: *mut Plan,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { create(executor, pattern, values, options, plan) }
}

/// y <- alpha A x + beta y, with vectors in host memory: on the host they are used in place; for a GPU they are copied
/// there, and y back. With beta = 0, the old content of y, even NaN, is ignored and overwritten. x has an element per column
/// of the matrix, y one per row; other lengths are errors, and so are vectors that overlap. Returns when y is complete.
/// Unless the status is OK, y is unchanged; but with DEVICE or INTERNAL it may be partly written.
///
/// # Safety
/// `x` and `y` must be NULL or arrays of `x_length` and `y_length` elements, all of them initialized, including those of y
/// with beta = 0. No other thread may use y or write x during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warp_spmv_plan_apply_float32(
    plan: Plan,
    alpha: f32,
    x: *const f32,
    x_length: usize,
    beta: f32,
    y: *mut f32,
    y_length: usize,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { apply(plan, alpha, x, x_length, beta, y, y_length) }
}

/// `warp_spmv_plan_apply_float32` for a plan with numbers of type `double`.
///
/// # Safety
/// As for `warp_spmv_plan_apply_float32`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warp_spmv_plan_apply_float64(
    plan: Plan,
    alpha: f64,
    x: *const f64,
    x_length: usize,
    beta: f64,
    y: *mut f64,
    y_length: usize,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { apply(plan, alpha, x, x_length, beta, y, y_length) }
}

/// Gives the matrix of a plan new values, one per entry, in the order of the entries. The pattern stays. The plan must have
/// been made with `updates` in its options, unless its format is CSR or COO; in these formats the values are simply copied,
/// whereas for others the matrix is converted again. Unless the status is OK, the values are unchanged.
///
/// # Safety
/// `values` must be NULL or an array of `length` elements, which no other thread may write during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warp_spmv_plan_update_values_float32(plan: Plan, values: *const f32, length: usize) -> Status {
    // SAFETY: the caller's promise.
    unsafe { update(plan, values, length) }
}

/// `warp_spmv_plan_update_values_float32` for a plan with numbers of type `double`.
///
/// # Safety
/// As for `warp_spmv_plan_update_values_float32`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warp_spmv_plan_update_values_float64(plan: Plan, values: *const f64, length: usize) -> Status {
    // SAFETY: the caller's promise.
    unsafe { update(plan, values, length) }
}

/// Writes the format of a plan, named or chosen, to `buffer`: as much of its text as fits into `capacity` bytes, with a
/// terminating 0. `length` receives the number of bytes of the whole text without the 0; it may be NULL.
///
/// # Safety
/// `buffer` must be NULL or point to `capacity` bytes, and `length` must be NULL or memory for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warp_spmv_plan_format(
    plan: Plan,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> Status {
    guarded(|| {
        with_plan(plan, |plan| {
            let format = match plan {
                AnyPlan::Float32(plan) => plan.format(),
                AnyPlan::Float64(plan) => plan.format(),
            };
            // SAFETY: the caller's promise.
            unsafe { give_text(&format.to_string(), buffer, capacity, length) }
        })
    })
}

/// Writes the shape of a plan's matrix, and the number of its stored entries.
///
/// # Safety
/// Each pointer must be NULL or memory for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warp_spmv_plan_shape(
    plan: Plan,
    rows: *mut usize,
    columns: *mut usize,
    entries: *mut usize,
) -> Status {
    guarded(|| {
        with_plan(plan, |plan| {
            let shape = match plan {
                AnyPlan::Float32(plan) => plan.shape(),
                AnyPlan::Float64(plan) => plan.shape(),
            };
            for (what, place) in [("rows", rows), ("columns", columns), ("entries", entries)] {
                check(what, place, 1)?;
            }
            // SAFETY: the caller's promise, for all three.
            unsafe {
                write("rows", rows, shape[0])?;
                write("columns", columns, shape[1])?;
                write("entries", entries, shape[2])
            }
        })
    })
}

/// Destroys a plan. A call of another thread that is using it is not affected.
#[unsafe(no_mangle)]
pub extern "C" fn warp_spmv_plan_destroy(plan: Plan) -> Status {
    guarded(|| registry::remove("plan", plan.id, |object| matches!(object, Object::Plan(_))))
}
