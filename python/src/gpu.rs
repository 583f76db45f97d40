//! Arrays on a GPU owned by other libraries. `_gpu.py` has checked their types, shapes and devices.

use host::Scalar;
use pyo3::prelude::*;

use crate::failure::Failure;
use crate::numbers::{NumberType, with_type};
use crate::options::Wishes;
use crate::plan::{Form, Plan};
use crate::scope::released;

/// An array, as its address and its number of elements.
#[derive(Clone, Copy, FromPyObject)]
#[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "no device takes it"))]
pub struct GpuArray(pub u64, pub usize);

/// The streams that a call is ordered with: it comes after the work in their queues, and before work queued there later.
/// Without any, the call blocks until it is done.
#[derive(FromPyObject)]
#[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "no device takes it"))]
pub struct Streams(pub Vec<usize>);

/// A CSR matrix: its shape, row offsets and columns by address and width in bytes, the address of the values, and their
/// number.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
#[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "no device takes it"))]
pub struct GpuMatrix {
    shape: (usize, usize),
    row_offsets: (u64, usize),
    columns: (u64, usize),
    values: u64,
    entries: usize,
}

#[cfg(feature = "cuda")]
mod on_cuda {
    use std::ptr::without_provenance_mut;

    use host::Error;
    use host::executor::{Cuda, DeviceCsr, DeviceIndices, Executor};

    use super::{GpuArray, GpuMatrix, Streams};
    use crate::csr::planned_in_memory;
    use crate::device::gpu;
    use crate::failure::Failure;
    use crate::numbers::Number;
    use crate::options::Wishes;
    use crate::plan::{AnyPlan, Form, Plan, apply_form};
    use crate::vectors::on_gpu::Array;

    /// Does work in the order of streams.
    ///
    /// # Safety
    /// The streams must exist.
    unsafe fn in_order(
        gpu: &Cuda,
        streams: &[usize],
        work: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Some((&first, rest)) = streams.split_first() else { return work() };
        // SAFETY: the caller's promise.
        unsafe { gpu.in_order_of(without_provenance_mut(first), || in_order(gpu, rest, work)) }
    }

    impl Streams {
        /// Does work in the order of the streams.
        ///
        /// # Safety
        /// The streams must exist.
        pub unsafe fn order<R>(&self, gpu: &Cuda, work: impl FnOnce() -> Result<R, Failure>) -> Result<R, Failure> {
            let (mut work, mut done) = (Some(work), None);
            let mut once = || {
                done = work.take().map(|work| work());
                Ok(())
            };
            // SAFETY: the caller's promise.
            unsafe { in_order(gpu, &self.0, &mut once)? };
            if self.0.is_empty() {
                // Even if the work failed half way.
                gpu.synchronize()?;
            }
            done.unwrap_or_else(|| Err(Failure::runtime("a bug in warp-spmv: nothing was done")))
        }
    }

    /// # Safety
    /// The arrays must exist until the work queued on the streams is done, and be of this type; y must overlap no other. The
    /// streams must exist.
    pub unsafe fn multiply<T: Number>(
        plan: &mut AnyPlan<T>,
        form: Form,
        factors: [T; 2],
        [x, y]: [GpuArray; 2],
        streams: &Streams,
    ) -> Result<(), Failure> {
        let AnyPlan::Cuda(plan) = plan else { return Err(super::not_on_gpu()) };
        let gpu = plan.executor().clone();
        // SAFETY: the caller's promise.
        unsafe {
            let (x, mut y) = (Array::new(x).whole(&gpu)?, Array::new(y).whole(&gpu)?);
            streams.order(&gpu, || Ok(apply_form(plan, form, factors[0], &x, factors[1], &mut y)?))
        }
    }

    /// # Safety
    /// The array must exist until the work queued on the streams is done, and be of this type. The streams must exist.
    pub unsafe fn update<T: Number>(plan: &mut AnyPlan<T>, values: GpuArray, streams: &Streams) -> Result<(), Failure> {
        let AnyPlan::Cuda(plan) = plan else { return Err(super::not_on_gpu()) };
        let gpu = plan.executor().clone();
        // SAFETY: the caller's promise.
        unsafe {
            let values = Array::new(values).whole(&gpu)?;
            streams.order(&gpu, || Ok(plan.update_values(&values)?))
        }
    }

    /// # Safety
    /// The arrays must exist as long as the plan, and be of this type. The streams must exist.
    pub unsafe fn plan<T: Number>(
        number: u32,
        matrix: &GpuMatrix,
        wishes: &Wishes,
        streams: &Streams,
    ) -> Result<Plan, Failure> {
        let gpu = gpu(number)?;
        let indices = |(address, width)| match width {
            4 => Ok(DeviceIndices::Narrow(address)),
            8 => Ok(DeviceIndices::Wide(address)),
            other => Err(Failure::value(format!("indices of {other} bytes, expected 4 or 8"))),
        };
        let described = DeviceCsr {
            rows: matrix.shape.0,
            columns: matrix.shape.1,
            entries: matrix.entries,
            row_offsets: indices(matrix.row_offsets)?,
            column_indices: indices(matrix.columns)?,
            values: matrix.values,
        };
        // SAFETY: the caller's promise.
        let plan = unsafe { streams.order(&gpu, || planned_in_memory(&gpu, gpu.borrow_csr::<T>(&described)?, wishes)) };
        // If the plan does not keep the arrays, their owner may free them after this returns.
        gpu.synchronize()?;
        let plan = plan?;
        Ok(Plan::new(&format!("cuda:{number}"), wishes.reproducible, AnyPlan::Cuda(plan)))
    }
}

/// The same without CUDA.
#[cfg(not(feature = "cuda"))]
mod on_cuda {
    use super::{GpuArray, GpuMatrix, Streams};
    use crate::device::AnyExecutor;
    use crate::failure::Failure;
    use crate::numbers::Number;
    use crate::options::Wishes;
    use crate::plan::{AnyPlan, Form, Plan};

    pub unsafe fn multiply<T: Number>(
        _: &mut AnyPlan<T>,
        _: Form,
        _: [T; 2],
        _: [GpuArray; 2],
        _: &Streams,
    ) -> Result<(), Failure> {
        Err(super::not_on_gpu())
    }

    pub unsafe fn update<T: Number>(_: &mut AnyPlan<T>, _: GpuArray, _: &Streams) -> Result<(), Failure> {
        Err(super::not_on_gpu())
    }

    pub unsafe fn plan<T: Number>(number: u32, _: &GpuMatrix, _: &Wishes, _: &Streams) -> Result<Plan, Failure> {
        AnyExecutor::new(&format!("cuda:{number}")).and(Err(super::not_on_gpu()))
    }
}

/// The error for arrays of a GPU, if the matrix is not on one.
pub fn not_on_gpu() -> Failure {
    Failure::number_type("the matrix is not on a GPU")
}

/// y ← α A x + β y for arrays on the plan's GPU, in the order of streams. For several vectors, `columns` is their number and
/// whether their rows are contiguous.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "one call takes less time than several")]
pub fn gpu_multiply(
    py: Python<'_>,
    plan: &Bound<'_, Plan>,
    columns: Option<(usize, bool)>,
    alpha: (f64, f64),
    x: GpuArray,
    beta: (f64, f64),
    y: GpuArray,
    streams: Streams,
) -> Result<(), Failure> {
    let (shared, form) = (plan.get(), Form::new(columns));
    with_type!(shared.number_type(), T => released(py, || shared.with_plan::<T, _>(|plan| {
        let factors = [alpha, beta].map(|(re, im)| T::from_parts(re, im));
        // SAFETY: Python's objects, which the caller holds, keep arrays and streams alive during the call; later frees and
        // changes of the arrays are queued on the streams.
        unsafe { on_cuda::multiply(plan, form, factors, [x, y], &streams) }
    })))
}

/// Gives the matrix of a plan new values that are on its GPU.
#[pyfunction]
pub fn gpu_update_values(
    py: Python<'_>,
    plan: &Bound<'_, Plan>,
    values: GpuArray,
    streams: Streams,
) -> Result<(), Failure> {
    let shared = plan.get();
    with_type!(shared.number_type(), T => released(py, || shared.update::<T>(|plan| {
        // SAFETY: as for a product.
        unsafe { on_cuda::update(plan, values, &streams) }
    })))
}

/// Creates a plan of a matrix whose arrays are on a GPU; in CSR and COO it uses them in place, and the caller keeps them
/// alive.
#[pyfunction]
pub fn gpu_plan(
    py: Python<'_>,
    number: u32,
    matrix: GpuMatrix,
    dtype: &str,
    wishes: Wishes,
    streams: Streams,
) -> Result<Plan, Failure> {
    let number_type = dtype.parse::<NumberType>()?;
    released(py, || {
        wishes.format()?;
        // SAFETY: Python's objects, which the caller keeps with the plan, keep the arrays alive, and the streams during
        // the call.
        with_type!(number_type, T => unsafe { on_cuda::plan::<T>(number, &matrix, &wishes, &streams) })
    })
}
