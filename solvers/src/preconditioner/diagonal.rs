//! Products with a diagonal matrix.

use host::error::Error;
use host::executor::Executor;
use host::format::{Csr, Format, Offsets};
use host::memory::{Buffer, collect, filled};
use host::plan::{NewValues, Plan, PlanOptions, Vector};
use host::real::Scalar;

use crate::dense::{Multiplied, ONE, Space};

/// A diagonal matrix in the memory of an executor.
pub(crate) enum Diagonal<T: Scalar, E: Executor> {
    /// For real numbers.
    Vector(Vector<T, E>),
    /// For complex numbers, which passes over parts cannot multiply.
    Matrix(Box<Plan<T, E>>),
}

impl<T: Scalar, E: Executor> Diagonal<T, E> {
    pub(crate) fn new(executor: &E, elements: Vec<T>, updates: bool) -> Result<Self, Error> {
        Ok(match T::COMPLEX {
            true => Self::Matrix(Box::new(plan(executor, elements, updates)?)),
            false => Self::Vector(executor.upload(elements)?),
        })
    }

    /// Takes elements that are in the executor's memory.
    ///
    /// # Errors
    /// When memory runs out, or the device fails.
    pub(crate) fn in_memory(executor: &E, elements: Vector<T, E>) -> Result<Self, Error> {
        if !T::COMPLEX {
            return Ok(Self::Vector(elements));
        }
        let matrix = identity::<T>(elements.len())?.upload(executor)?.with_values(|_| Ok(elements))?;
        Ok(Self::Matrix(Box::new(Plan::in_memory(executor, matrix, Format::Dia, PlanOptions::default())?)))
    }

    /// z ← D r
    pub(crate) fn apply(&mut self, space: &mut Space<E>, r: &Vector<T, E>, z: &mut Vector<T, E>) -> Result<(), Error> {
        match self {
            Self::Vector(elements) => space.pass(Multiplied, [ONE], [&*elements, r], [z]),
            Self::Matrix(plan) => plan.apply(T::ONE, r, T::ZERO, z),
        }
    }

    /// Prepares new elements without changing the matrix.
    ///
    /// # Errors
    /// When the number of elements differs, memory runs out, or a complex matrix was not made for updates.
    pub(super) fn new_values(&self, executor: &E, elements: Vec<T>) -> Result<NewDiagonal<T, E>, Error> {
        let elements = executor.upload(elements)?;
        let of_plan = match self {
            Self::Vector(_) => None,
            Self::Matrix(plan) => Some(plan.new_values(&elements)?),
        };
        Ok(NewDiagonal { elements, of_plan })
    }

    /// Replaces the elements; fails only if the device does.
    pub(super) fn take_values(&mut self, executor: &E, new: NewDiagonal<T, E>) -> Result<(), Error> {
        match (self, new.of_plan) {
            (Self::Vector(elements), _) => executor.copy(&new.elements, elements),
            (Self::Matrix(plan), Some(of_plan)) => plan.take_values(&new.elements, of_plan),
            (Self::Matrix(plan), None) => plan.update_values(&new.elements),
        }
    }
}

/// New elements of a diagonal matrix, and the new values of its plan.
pub(super) struct NewDiagonal<T: Scalar, E: Executor> {
    elements: Vector<T, E>,
    of_plan: Option<NewValues<T, E>>,
}

/// Returns a plan of the diagonal matrix with these elements.
pub(super) fn plan<T: Scalar, E: Executor>(executor: &E, elements: Vec<T>, updates: bool) -> Result<Plan<T, E>, Error> {
    let matrix = identity::<T>(elements.len())?.with_values(|_| Ok(elements))?;
    Plan::with_options(executor, matrix, Format::Dia, PlanOptions { updates, ..PlanOptions::default() })
}

/// Returns the identity matrix.
fn identity<T: Scalar>(rows: usize) -> Result<Csr<T>, Error> {
    let columns = collect((0..rows).map(|row| row as u32))?;
    let offsets = Offsets::from_lengths((0..rows).map(|_| 1))?;
    Csr::try_new(rows, rows, offsets, columns, filled(rows, T::ONE)?)
}
