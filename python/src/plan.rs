//! Plans: matrices ready for multiplication.

use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(feature = "cuda")]
use host::executor::Cuda;
use host::executor::{Cpu, Executor};
use host::format::Matrix;
use host::{Error, Layout, Multivector, Vector};
use pyo3::prelude::*;

use crate::arrays::{Input, Output};
use crate::csr::Csr;
use crate::device::Device;
use crate::eigen::{self, EigenReport};
use crate::failure::Failure;
use crate::numbers::{Family, Number, NumberType, with_real_type, with_type, with_typed};
use crate::options::Stopping;
use crate::preconditioner::Given;
use crate::progress::Listener;
use crate::scope::released;
use crate::shared::Shared;
use crate::solve::{self, Report, Request};

/// A plan on any executor.
#[cfg_attr(feature = "cuda", allow(clippy::large_enum_variant, reason = "each matrix has one, which is never moved"))]
pub enum AnyPlan<T: Number> {
    Cpu(host::Plan<T, Cpu>),
    #[cfg(feature = "cuda")]
    Cuda(host::Plan<T, Cuda>),
}

/// The value of an expression for a plan on any executor.
macro_rules! on_any {
    ($any:expr, $plan:ident => $result:expr) => {
        match $any {
            AnyPlan::Cpu($plan) => $result,
            #[cfg(feature = "cuda")]
            AnyPlan::Cuda($plan) => $result,
        }
    };
}
pub(crate) use on_any;

/// Plans.
struct Plans;

impl Family for Plans {
    type Of<T: Number> = AnyPlan<T>;
}

/// y ← α A x + β y with vectors in arrays: `product` receives them in the executor's memory.
pub fn with_vectors<T: Number, D: Device>(
    device: &D,
    x: &[T],
    beta: T,
    y: &mut [T],
    product: impl FnOnce(&Vector<T, D>, &mut Vector<T, D>) -> Result<(), Error>,
) -> Result<(), Error> {
    let x = device.upload(host::memory::copy(x)?)?;
    // With β = 0, y is not read.
    let mut result = if beta == T::ZERO { device.zeros(y.len())? } else { device.upload(host::memory::copy(y)?)? };
    product(&x, &mut result)?;
    device.read_back(&result, y)
}

/// The form of a product.
#[derive(Clone, Copy)]
pub enum Form {
    Plain,
    Transposed { conjugate: bool },
    Columns(Multivector),
}

impl Form {
    /// The form for a number of vectors and whether their rows are contiguous, if there are several.
    pub fn new(columns: Option<(usize, bool)>) -> Self {
        columns.map_or(Self::Plain, |(vectors, rows_first)| Self::columns(vectors, rows_first))
    }

    fn columns(vectors: usize, rows_first: bool) -> Self {
        let layout = if rows_first { Layout::RowMajor } else { Layout::ColumnMajor };
        Self::Columns(Multivector { vectors, layout })
    }
}

/// y ← α A x + β y in one of these forms.
pub fn apply_form<T: Number, E: Executor>(
    plan: &mut host::Plan<T, E>,
    form: Form,
    alpha: T,
    x: &Vector<T, E>,
    beta: T,
    y: &mut Vector<T, E>,
) -> Result<(), Error> {
    match form {
        Form::Plain => plan.apply(alpha, x, beta, y),
        Form::Transposed { conjugate: false } => plan.apply_transposed(alpha, x, beta, y),
        Form::Transposed { conjugate: true } => plan.apply_conjugate_transposed(alpha, x, beta, y),
        Form::Columns(shape) => plan.apply_multivector(shape, alpha, x, beta, y),
    }
}

impl<T: Number> AnyPlan<T> {
    fn apply(&mut self, form: Form, alpha: T, x: &[T], beta: T, y: &mut [T]) -> Result<(), Error> {
        match (form, self) {
            (Form::Plain, Self::Cpu(plan)) => plan.apply_slices(alpha, x, beta, y),
            (form, any) => on_any!(any, plan => {
                let device = plan.executor().clone();
                with_vectors(&device, x, beta, y, |x, y| apply_form(plan, form, alpha, x, beta, y))
            }),
        }
    }

    fn update(&mut self, values: &[T]) -> Result<(), Error> {
        on_any!(self, plan => {
            let values = plan.executor().upload(host::memory::copy(values)?)?;
            plan.update_values(&values)
        })
    }

    fn bytes(&self) -> u64 {
        let bytes = on_any!(self, plan => plan.matrix().bytes() + plan.update_bytes());
        bytes.try_into().unwrap_or(u64::MAX)
    }
}

/// A copy of a plan's matrix.
pub fn csr_of<T: Number, E: Executor>(plan: &host::Plan<T, E>) -> Result<host::Csr<T>, Error> {
    plan.matrix().to_host(plan.executor())?.into_csr()
}

/// A matrix on a device, ready for multiplication. Calls from several threads wait for each other.
#[pyclass(frozen, module = "warp_spmv._native")]
pub struct Plan {
    plan: Shared<Plans>,
    number_type: NumberType,
    /// Total number of bytes that the plan keeps. It may change with the values.
    bytes: AtomicU64,
    on_gpu: bool,
    /// Whether the transpose can be multiplied with the same bits every time.
    transposes: bool,
    /// Whether several vectors can be multiplied at once.
    multiplies_columns: bool,
    #[pyo3(get)]
    device: String,
    #[pyo3(get)]
    shape: (usize, usize),
    #[pyo3(get)]
    nnz: usize,
    #[pyo3(get)]
    format: String,
    /// The type that its values are stored in, if that is narrower.
    #[pyo3(get)]
    narrow_type: Option<&'static str>,
    /// Why the format was chosen, for a plan that chose it.
    #[pyo3(get)]
    explanation: Option<String>,
}

impl Plan {
    pub fn new<T: Number>(device: &str, reproducible: bool, plan: AnyPlan<T>) -> Self {
        let bytes = plan.bytes().into();
        let on_gpu = !matches!(plan, AnyPlan::Cpu(_));
        let (shape, nnz, format, narrow_type, explanation) = on_any!(&plan, plan => (
            (plan.matrix().rows(), plan.matrix().columns()),
            plan.matrix().nnz(),
            plan.format(),
            match plan.matrix() {
                Matrix::Narrow(narrow) => Some(narrow.narrow_type().name()),
                _ => None,
            },
            plan.explain().map(ToString::to_string),
        ));
        Self {
            plan: Shared::new::<T>("matrix", plan),
            number_type: T::NUMBER_TYPE,
            bytes,
            on_gpu,
            // A GPU would add in any order, which a plan that must be reproducible refuses.
            transposes: format.multiplies_transposed() && !on_gpu && !reproducible && narrow_type.is_none(),
            multiplies_columns: format.multiplies_multivectors() && narrow_type.is_none(),
            device: device.to_owned(),
            shape,
            nnz,
            format: format.to_string(),
            narrow_type,
            explanation,
        }
    }

    fn product<T: Number>(
        &self,
        py: Python<'_>,
        form: impl FnOnce(&Input<'_, T>, &Output<'_, T>) -> Form,
        factors: [(f64, f64); 2],
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
    ) -> Result<(), Failure> {
        let (x, mut y) = (Input::<T>::new(x)?, Output::<T>::new(y)?);
        let form = form(&x, &y);
        let [alpha, beta] = factors.map(|(re, im)| T::from_parts(re, im));
        let (x, y) = (x.elements()?, y.elements()?);
        released(py, || self.with_plan::<T, _>(|plan| Ok(plan.apply(form, alpha, x, beta, y)?)))
    }

    /// Does `work` with the plan, in exclusive use: other threads wait.
    pub fn with_plan<T: Number, R>(
        &self,
        work: impl FnOnce(&mut AnyPlan<T>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        self.plan.with(work)
    }

    /// As [`with_plan`](Self::with_plan), for work that may call the user's function.
    pub fn solving<T: Number, R>(
        &self,
        work: impl FnOnce(&mut AnyPlan<T>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        self.plan.solving(work)
    }

    /// As [`with_plan`](Self::with_plan), for work that may change the number of bytes kept.
    pub fn update<T: Number>(&self, work: impl FnOnce(&mut AnyPlan<T>) -> Result<(), Failure>) -> Result<(), Failure> {
        self.with_plan::<T, _>(|plan| {
            work(plan)?;
            self.bytes.store(plan.bytes(), Ordering::Relaxed);
            Ok(())
        })
    }

    pub fn number_type(&self) -> NumberType {
        self.number_type
    }

    /// The stopping criteria of a solver.
    pub fn options(&self, stopping: &Stopping) -> Result<solvers::Options, Failure> {
        stopping.options(self.on_gpu)
    }
}

#[pymethods]
impl Plan {
    #[getter]
    fn dtype(&self) -> &'static str {
        self.number_type.name()
    }

    #[getter]
    fn nbytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    #[getter]
    fn transposes(&self) -> bool {
        self.transposes
    }

    #[getter]
    fn multiplies_columns(&self) -> bool {
        self.multiplies_columns
    }

    /// y ← α A x + β y.
    fn apply(
        &self,
        py: Python<'_>,
        alpha: (f64, f64),
        x: &Bound<'_, PyAny>,
        beta: (f64, f64),
        y: &Bound<'_, PyAny>,
    ) -> Result<(), Failure> {
        with_type!(self.number_type, T => self.product::<T>(py, |_, _| Form::Plain, [alpha, beta], x, y))
    }

    /// y ← α Aᵀ x + β y, or the same with the conjugate.
    fn apply_transposed(
        &self,
        py: Python<'_>,
        conjugate: bool,
        alpha: (f64, f64),
        x: &Bound<'_, PyAny>,
        beta: (f64, f64),
        y: &Bound<'_, PyAny>,
    ) -> Result<(), Failure> {
        let form = Form::Transposed { conjugate };
        with_type!(self.number_type, T => self.product::<T>(py, |_, _| form, [alpha, beta], x, y))
    }

    /// Y ← α A X + β Y for arrays with a vector per column, either both row-major or both column-major.
    fn apply_columns(
        &self,
        py: Python<'_>,
        alpha: (f64, f64),
        x: &Bound<'_, PyAny>,
        beta: (f64, f64),
        y: &Bound<'_, PyAny>,
    ) -> Result<(), Failure> {
        with_type!(self.number_type, T => {
            let form = |x: &Input<'_, T>, y: &Output<'_, T>| {
                Form::columns(y.columns(), x.rows_first() && y.rows_first())
            };
            self.product::<T>(py, form, [alpha, beta], x, y)
        })
    }

    /// Gives the matrix new values.
    fn update_values(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> Result<(), Failure> {
        with_type!(self.number_type, T => {
            let values = Input::<T>::new(values)?;
            let values = values.elements()?;
            released(py, || self.update::<T>(|plan| Ok(plan.update(values)?)))
        })
    }

    /// Copies the matrix.
    fn to_csr(&self, py: Python<'_>) -> Result<Csr, Failure> {
        released(py, || {
            let plan = self.plan.lock()?;
            with_typed!(&*plan, any => Ok(Csr::new(on_any!(any, plan => csr_of(plan))?)))
        })
    }

    /// Solves A x = b, starting from x, which receives the last iterate, for each column of b, or for all columns
    /// together.
    #[pyo3(signature = (b, x, method, preconditioner, stopping, callback))]
    #[allow(clippy::too_many_arguments, reason = "Python's are named")]
    fn solve(
        &self,
        py: Python<'_>,
        b: &Bound<'_, PyAny>,
        x: &Bound<'_, PyAny>,
        method: &str,
        preconditioner: Option<Given>,
        stopping: Stopping,
        callback: Option<Py<PyAny>>,
    ) -> Result<Vec<Report>, Failure> {
        let request = Request::new(method, preconditioner, self.options(&stopping)?)?;
        let mut listener = Listener::new(callback);
        if request.together() {
            return with_real_type!(self.number_type, "block-cg", T => {
                let (b, mut x) = (Input::<T>::new(b)?, Output::<T>::new(x)?);
                let columns = x.columns();
                let (b, mut x) = (b.elements()?, x.elements()?);
                released(py, || self.solving::<T, _>(|plan| {
                    on_any!(plan, plan => solve::solve_together(plan, &request, columns, &b, &mut x, &mut listener))
                }))
            });
        }
        with_type!(self.number_type, T => {
            let (b, mut x) = (Input::<T>::new(b)?, Output::<T>::new(x)?);
            let columns = x.columns();
            let (b, mut x) = (b.elements()?, x.elements()?);
            released(py, || self.solving::<T, _>(|plan| {
                on_any!(plan, plan => solve::solve(plan, &request, columns, &b, &mut x, &mut listener))
            }))
        })
    }

    /// Computes eigenpairs at one end of the spectrum, with ascending eigenvalues. X, in column-major order, holds the
    /// initial vectors and receives the eigenvectors.
    #[pyo3(signature = (x, smallest, preconditioner, stopping, callback))]
    fn eigenpairs(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        smallest: bool,
        preconditioner: Option<Given>,
        stopping: Stopping,
        callback: Option<Py<PyAny>>,
    ) -> Result<EigenReport, Failure> {
        let request = eigen::Request::new(smallest, preconditioner, self.options(&stopping)?)?;
        let mut listener = Listener::new(callback);
        with_type!(self.number_type, T => {
            let mut x = Output::<T>::new(x)?;
            let columns = x.columns();
            let mut x = x.elements()?;
            released(py, || self.solving::<T, _>(|plan| {
                on_any!(plan, plan => eigen::eigenpairs(plan, &request, columns, &mut x, &mut listener))
            }))
        })
    }

    /// Estimates both ends of the spectrum by `steps` steps of the Lanczos recurrence.
    fn spectral_bounds(&self, py: Python<'_>, steps: usize) -> Result<(f64, f64), Failure> {
        with_type!(self.number_type, T => released(py, || self.with_plan::<T, _>(|plan| {
            on_any!(plan, plan => eigen::bounds(plan, steps))
        })))
    }
}
