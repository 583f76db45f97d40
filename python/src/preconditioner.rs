//! Preconditioners: given by name, created in advance, or a function of the user's.

use host::error::check_length;
#[cfg(feature = "cuda")]
use host::executor::Cuda;
use host::executor::{Cpu, Executor};
use host::{Error, Plan as HostPlan, Scalar, Vector};
use numpy::PyArray1;
use pyo3::prelude::*;
use solvers::Operator;
use solvers::multigrid::{Multigrid, NearNullSpace};
use solvers::preconditioner::{Preconditioner as Inverse, PreconditionerName, PreconditionerOptions};

use crate::arrays::{Input, Output};
use crate::device::Device;
use crate::failure::Failure;
use crate::numbers::{Family, Number, NumberType, with_type};
use crate::plan::{AnyPlan, Plan, csr_of, on_any, with_vectors};
use crate::scope::released;
use crate::shared::Shared;

/// A preconditioner on any executor.
#[cfg_attr(
    feature = "cuda",
    allow(clippy::large_enum_variant, reason = "each preconditioner has one, which is never moved")
)]
pub enum AnyInverse<T: Number> {
    Cpu(Inverse<T, Cpu>),
    #[cfg(feature = "cuda")]
    Cuda(Inverse<T, Cuda>),
}

/// The value of an expression for a preconditioner on any executor.
macro_rules! on_any_inverse {
    ($any:expr, $inverse:ident => $result:expr) => {
        match $any {
            AnyInverse::Cpu($inverse) => $result,
            #[cfg(feature = "cuda")]
            AnyInverse::Cuda($inverse) => $result,
        }
    };
}

/// Preconditioners.
struct Inverses;

impl Family for Inverses {
    type Of<T: Number> = AnyInverse<T>;
}

/// The near-null space represented on the coarse levels of multigrid; constants by default.
enum Represented<T> {
    Constants,
    Vectors(NearNullSpace<T>),
    /// Rigid body modes of nodes with this number of unknowns each.
    RigidBodyModes(NearNullSpace<T>, u32),
}

impl<T: Number> Represented<T> {
    fn new(
        near_null_space: Option<&Bound<'_, PyAny>>,
        coordinates: Option<&Bound<'_, PyAny>>,
    ) -> Result<Self, Failure> {
        if let Some(array) = near_null_space {
            let array = Input::<T>::new(array)?;
            let length = |dimension: usize| array.shape().get(dimension).copied().unwrap_or(1);
            let (rows, vectors) = (length(0), length(1));
            return Ok(Self::Vectors(NearNullSpace::new(rows, vectors, array.elements()?)?));
        }
        let Some(array) = coordinates else { return Ok(Self::Constants) };
        let array = Input::<f64>::new(array)?;
        let dimensions = array.shape().get(1).copied().unwrap_or(1);
        let modes = NearNullSpace::rigid_body_modes(dimensions, array.elements()?)?;
        Ok(Self::RigidBodyModes(modes, dimensions as u32))
    }
}

/// Creates the preconditioner of a plan's matrix.
fn made<T: Number, E: Executor>(
    plan: &HostPlan<T, E>,
    name: PreconditionerName,
    represented: Represented<T>,
    updates: bool,
) -> Result<Inverse<T, E>, Failure> {
    let options = PreconditionerOptions { updates, ..PreconditionerOptions::default() };
    let (executor, matrix) = (plan.executor(), csr_of(plan)?);
    let amg = |what: &str| match name {
        PreconditionerName::Amg(multigrid) => Ok(multigrid),
        other => Err(Failure::value(format!("{what} requires the preconditioner amg, found {other}"))),
    };
    Ok(match represented {
        Represented::Constants => Inverse::with_options(executor, &matrix, name, options)?,
        Represented::Vectors(vectors) => {
            Inverse::multigrid(executor, &matrix, amg("near_null_space")?, vectors, options)?
        }
        Represented::RigidBodyModes(modes, node) => {
            let multigrid = Multigrid { node, ..amg("coordinates")? };
            Inverse::multigrid(executor, &matrix, multigrid, modes, options)?
        }
    })
}

/// An approximation of the inverse of a plan's matrix, on its device.
#[pyclass(frozen, module = "warp_spmv._native")]
pub struct Preconditioner {
    inverse: Shared<Inverses>,
    number_type: NumberType,
    #[pyo3(get)]
    name: String,
}

/// The unknowns and entries of a level of multigrid and, for the last one, the method that solves it.
type Level = (usize, usize, Option<&'static str>);

impl Preconditioner {
    pub fn number_type(&self) -> NumberType {
        self.number_type
    }

    /// Does `work` with the preconditioner, in exclusive use: other threads wait.
    pub fn with<T: Number, R>(
        &self,
        work: impl FnOnce(&mut AnyInverse<T>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        self.inverse.with(work)
    }
}

#[pymethods]
impl Preconditioner {
    /// Creates a preconditioner; with `updates` it keeps the data needed for new values.
    #[new]
    #[pyo3(signature = (plan, name, near_null_space, coordinates, updates))]
    fn new(
        py: Python<'_>,
        plan: &Bound<'_, Plan>,
        name: &str,
        near_null_space: Option<&Bound<'_, PyAny>>,
        coordinates: Option<&Bound<'_, PyAny>>,
        updates: bool,
    ) -> Result<Self, Failure> {
        let (shared, name) = (plan.get(), name.parse::<PreconditionerName>()?);
        let number_type = shared.number_type();
        let inverse = with_type!(number_type, T => {
            let represented = Represented::<T>::new(near_null_space, coordinates)?;
            released(py, || shared.with_plan::<T, _>(|plan| {
                let inverse = match plan {
                    AnyPlan::Cpu(plan) => AnyInverse::Cpu(made(plan, name, represented, updates)?),
                    #[cfg(feature = "cuda")]
                    AnyPlan::Cuda(plan) => AnyInverse::Cuda(made(plan, name, represented, updates)?),
                };
                Ok(Shared::new::<T>("preconditioner", inverse))
            }))
        })?;
        Ok(Self { inverse, number_type, name: name.to_string() })
    }

    /// Returns the levels of multigrid; none for other preconditioners.
    fn levels(&self, py: Python<'_>) -> Result<Vec<Level>, Failure> {
        with_type!(self.number_type(), T => released(py, || self.with::<T, _>(|any| {
            let report = on_any_inverse!(any, inverse => inverse.multigrid_report());
            let levels = report.map_or(&[][..], |report| &report.levels);
            Ok(levels.iter().map(|level| (level.rows, level.nnz, level.coarsest)).collect())
        })))
    }

    /// Takes the current values of a matrix with the same pattern.
    fn refresh(&self, py: Python<'_>, plan: &Bound<'_, Plan>) -> Result<(), Failure> {
        let shared = plan.get();
        with_type!(self.number_type(), T => released(py, || {
            let matrix = shared.with_plan::<T, _>(|plan| Ok(on_any!(plan, plan => csr_of(plan))?))?;
            self.with::<T, _>(|any| Ok(on_any_inverse!(any, inverse => inverse.update_values(matrix.values()))?))
        }))
    }

    /// y ← α M x + β y.
    fn apply(
        &self,
        py: Python<'_>,
        alpha: (f64, f64),
        x: &Bound<'_, PyAny>,
        beta: (f64, f64),
        y: &Bound<'_, PyAny>,
    ) -> Result<(), Failure> {
        with_type!(self.number_type(), T => {
            let (x, mut y) = (Input::<T>::new(x)?, Output::<T>::new(y)?);
            let (x, y) = (x.elements()?, y.elements()?);
            let [alpha, beta] = [alpha, beta].map(|(re, im)| T::from_parts(re, im));
            released(py, || self.with::<T, _>(|any| on_any_inverse!(any, inverse => {
                let device = inverse.executor().clone();
                Ok(with_vectors(&device, x, beta, y, |x, y| inverse.apply(alpha, x, beta, y))?)
            })))
        })
    }
}

/// A preconditioner as passed by the user.
#[derive(FromPyObject)]
pub enum Given {
    Name(String),
    Made(Py<Preconditioner>),
    Function(Py<PyAny>),
}

/// The preconditioner of a solver.
pub enum Preconditioning {
    Nothing,
    Name(PreconditionerName),
    Made(Py<Preconditioner>),
    Function(Py<PyAny>),
}

impl Preconditioning {
    pub fn new(given: Option<Given>) -> Result<Self, Failure> {
        Ok(match given {
            None => Self::Nothing,
            Some(Given::Name(name)) => Self::Name(name.parse()?),
            Some(Given::Made(made)) => Self::Made(made),
            Some(Given::Function(function)) => Self::Function(function),
        })
    }

    pub fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    /// Does `work` with a plan and the preconditioner.
    pub fn with<T: Number, D: Device, R>(
        &self,
        plan: &mut HostPlan<T, D>,
        work: impl FnOnce(&mut HostPlan<T, D>, Option<&mut dyn Operator<T, D>>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        match self {
            Self::Nothing => work(plan, None),
            Self::Name(name) => {
                let mut inverse = made(plan, *name, Represented::Constants, false)?;
                work(plan, Some(&mut inverse))
            }
            Self::Made(made) => made.get().inverse.solving::<T, _>(|any| {
                let elsewhere = || Failure::value("the preconditioner is on another device than the matrix");
                work(plan, Some(D::inverse(any).ok_or_else(elsewhere)?))
            }),
            Self::Function(function) => {
                let (executor, rows) = (plan.executor().clone(), plan.matrix().rows());
                work(plan, Some(&mut Function { function, executor, rows }))
            }
        }
    }
}

/// z = M r by a function of the user's, which takes and returns NumPy arrays.
struct Function<'a, E> {
    function: &'a Py<PyAny>,
    executor: E,
    rows: usize,
}

impl<T: Number, E: Executor> Operator<T, E> for Function<'_, E> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.rows
    }

    fn apply(&mut self, alpha: T, x: &Vector<T, E>, beta: T, y: &mut Vector<T, E>) -> Result<(), Error> {
        let r = self.executor.download(x)?;
        let called = Python::attach(|py| -> Result<Vec<T>, Failure> {
            let z = self.function.bind(py).call1((PyArray1::from_vec(py, r),))?;
            Ok(host::memory::copy(Input::<T>::new(&z)?.elements()?)?)
        });
        let mut z = called.map_err(|failure| Error::Operation(Box::new(PyErr::from(failure))))?;
        check_length("the preconditioner's result", z.len(), self.rows)?;
        if beta != T::ZERO {
            let old = self.executor.download(y)?;
            z.iter_mut().zip(old).for_each(|(z, old)| *z = alpha * *z + beta * old);
        } else if alpha != T::ONE {
            z.iter_mut().for_each(|z| *z = alpha * *z);
        }
        self.executor.copy(&self.executor.upload(z)?, y)
    }
}
