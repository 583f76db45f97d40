//! Plans: matrices that are ready to be multiplied.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

#[cfg(feature = "cuda")]
use host::executor::Cuda;
use host::executor::{Cpu, Executor};
use host::format::Matrix;
use host::{Error, Layout, Multivector, Vector};
use pyo3::prelude::*;
use solvers::MethodName;

use crate::arrays::{Input, Output};
use crate::csr::Csr;
use crate::eigen::{self, EigenReport};
use crate::failure::Failure;
use crate::numbers::{Family, Number, NumberType, Typed, with_real_type, with_type, with_typed};
use crate::options::Stopping;
use crate::progress::Listener;
use crate::scope::released;
use crate::solve::{self, BLOCK_CG, Report, Request};

/// A plan on any executor.
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

/// Plans.
struct Plans;

impl Family for Plans {
    type Of<T: Number> = AnyPlan<T>;
}

/// An executor, and how a vector of its memory gets back to an array.
trait Device: Executor {
    fn read_back<T: Number>(&self, vector: &Vector<T, Self>, to: &mut [T]) -> Result<(), Error>;
}

impl Device for Cpu {
    fn read_back<T: Number>(&self, vector: &Vec<T>, to: &mut [T]) -> Result<(), Error> {
        to.copy_from_slice(vector);
        Ok(())
    }
}

#[cfg(feature = "cuda")]
impl Device for Cuda {
    fn read_back<T: Number>(&self, vector: &Vector<T, Self>, to: &mut [T]) -> Result<(), Error> {
        to.copy_from_slice(&self.download(vector)?);
        Ok(())
    }
}

/// y ← α A x + β y with vectors in arrays: `product` gets them in the executor's memory.
fn with_vectors<T: Number, D: Device>(
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

/// How a matrix is multiplied.
#[derive(Clone, Copy)]
pub enum Form {
    Plain,
    Transposed { conjugate: bool },
    Columns(Multivector),
}

impl Form {
    /// Of the number of vectors, and whether their rows come first, where there are several.
    pub fn new(columns: Option<(usize, bool)>) -> Self {
        columns.map_or(Self::Plain, |(vectors, rows_first)| Self::columns(vectors, rows_first))
    }

    fn columns(vectors: usize, rows_first: bool) -> Self {
        let layout = if rows_first { Layout::RowMajor } else { Layout::ColumnMajor };
        Self::Columns(Multivector { vectors, layout })
    }
}

/// y ← α A x + β y in one of these ways.
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

/// A matrix on a device, ready to be multiplied. Calls from several threads wait for each other.
#[pyclass(frozen, module = "warp_spmv._native")]
pub struct Plan {
    plan: Mutex<Typed<Plans>>,
    /// The thread that is solving, and so may call the user's function.
    solving: Mutex<Option<ThreadId>>,
    number_type: NumberType,
    /// Bytes of all that the plan keeps. They may change with the values.
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
    /// What its values are stored in, where that is narrower.
    #[pyo3(get)]
    narrow_type: Option<&'static str>,
    /// Why the format was chosen, where it was.
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
            plan: Mutex::new(T::typed(plan)),
            solving: Mutex::new(None),
            number_type: T::NUMBER_TYPE,
            bytes,
            on_gpu,
            // A GPU would add in any order, and a plan that must be reproducible refuses to.
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

    /// The plan, which other threads wait for.
    fn lock(&self) -> Result<MutexGuard<'_, Typed<Plans>>, Failure> {
        if *self.solver() == Some(thread::current().id()) {
            return Err(Failure::runtime("a callback cannot multiply with the matrix that is being solved with"));
        }
        self.plan.lock().map_err(|_| Failure::runtime("a fault of warp-spmv has left this matrix broken"))
    }

    fn solver(&self) -> MutexGuard<'_, Option<ThreadId>> {
        self.solving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the plan that may call the user's function.
    fn solving<R>(&self, work: impl FnOnce(&mut Typed<Plans>) -> Result<R, Failure>) -> Result<R, Failure> {
        let mut plan = self.lock()?;
        *self.solver() = Some(thread::current().id());
        let result = work(&mut plan);
        *self.solver() = None;
        result
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

    /// Does something with the plan, which other threads wait for.
    pub fn with_plan<T: Number, R>(
        &self,
        work: impl FnOnce(&mut AnyPlan<T>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let mut plan = self.lock()?;
        work(T::of(&mut plan).ok_or_else(wrong_type::<T>)?)
    }

    /// The same with what changes how many bytes it keeps.
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
}

fn wrong_type<T: Number>() -> Failure {
    Failure::runtime(format!("the matrix has no numbers of type {}", T::NAME))
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

    /// y ← α Aᵀ x + β y, or of the conjugate.
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

    /// Y ← α A X + β Y for arrays of a vector in each column, both with the rows first or both with the columns first.
    fn apply_columns(
        &self,
        py: Python<'_>,
        alpha: (f64, f64),
        x: &Bound<'_, PyAny>,
        beta: (f64, f64),
        y: &Bound<'_, PyAny>,
    ) -> Result<(), Failure> {
        let vectors = |shape: &[usize]| shape.get(1).copied().unwrap_or(1);
        with_type!(self.number_type, T => {
            let form = |x: &Input<'_, T>, y: &Output<'_, T>| {
                Form::columns(vectors(x.shape()), x.rows_first() && y.rows_first())
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

    /// A copy of the matrix.
    fn to_csr(&self, py: Python<'_>) -> Result<Csr, Failure> {
        released(py, || {
            let plan = self.lock()?;
            with_typed!(&*plan, any => Ok(Csr::new(on_any!(any, plan => csr_of(plan))?)))
        })
    }

    /// Solves A x = b from x on, which gets the last iterate, for each column of b, or for all of them together.
    #[pyo3(signature = (b, x, method, preconditioner, stopping, callback))]
    #[allow(clippy::too_many_arguments, reason = "Python's are named")]
    fn solve(
        &self,
        py: Python<'_>,
        b: &Bound<'_, PyAny>,
        x: &Bound<'_, PyAny>,
        method: &str,
        preconditioner: Option<&str>,
        stopping: Stopping,
        callback: Option<Py<PyAny>>,
    ) -> Result<Vec<Report>, Failure> {
        let request = Request::new(preconditioner, stopping, self.on_gpu)?;
        let mut listener = Listener::new(callback);
        if method == BLOCK_CG {
            return with_real_type!(self.number_type, "block-cg", T => {
                let (b, mut x) = (Input::<T>::new(b)?, Output::<T>::new(x)?);
                let columns = x.shape().get(1).copied().unwrap_or(1);
                let (b, x) = (b.elements()?, x.elements()?);
                released(py, || self.solving(|plan| {
                    let plan = T::of(plan).ok_or_else(wrong_type::<T>)?;
                    on_any!(plan, plan => solve::solve_together(plan, &request, columns, b, x, &mut listener))
                }))
            });
        }
        let method: MethodName = method.parse()?;
        with_type!(self.number_type, T => {
            let (b, mut x) = (Input::<T>::new(b)?, Output::<T>::new(x)?);
            let columns = x.shape().get(1).copied().unwrap_or(1);
            let (b, x) = (b.elements()?, x.elements()?);
            released(py, || self.solving(|plan| {
                let plan = T::of(plan).ok_or_else(wrong_type::<T>)?;
                on_any!(plan, plan => solve::solve(plan, (method, &request), columns, b, x, &mut listener))
            }))
        })
    }

    /// Eigenpairs at an end of the spectrum. X, with the columns first, has vectors to begin with, and gets the
    /// eigenvectors.
    #[pyo3(signature = (x, smallest, preconditioner, stopping, callback))]
    fn eigenpairs(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        smallest: bool,
        preconditioner: Option<&str>,
        stopping: Stopping,
        callback: Option<Py<PyAny>>,
    ) -> Result<EigenReport, Failure> {
        let request = eigen::Request::new(smallest, preconditioner, stopping, self.on_gpu)?;
        let mut listener = Listener::new(callback);
        with_type!(self.number_type, T => {
            let mut x = Output::<T>::new(x)?;
            let columns = x.shape().get(1).copied().unwrap_or(1);
            let x = x.elements()?;
            released(py, || self.solving(|plan| {
                let plan = T::of(plan).ok_or_else(wrong_type::<T>)?;
                on_any!(plan, plan => eigen::eigenpairs(plan, &request, columns, x, &mut listener))
            }))
        })
    }

    /// Estimates both ends of the spectrum by `steps` steps of Lanczos' recurrence.
    fn spectral_bounds(&self, py: Python<'_>, steps: usize) -> Result<(f64, f64), Failure> {
        with_type!(self.number_type, T => {
            released(py, || {
                let mut plan = self.lock()?;
                let plan = T::of(&mut plan).ok_or_else(wrong_type::<T>)?;
                on_any!(plan, plan => eigen::bounds(plan, steps))
            })
        })
    }
}
