//! Shared parts of the preconditioners.

use cuda_std::GpuScalar;
pub(crate) use gpu_kernels::multigrid::numbers::inverse_of;
use host::error::Error;
use host::executor::Executor;
use host::format::{Csr, Format, ValueStorage};
use host::memory::with_capacity;
use host::plan::{Plan, PlanOptions, Vector};
use host::real::Scalar;
use host::select::{Analysis, Measure, Selection, choose};

use super::spectrum::SpectralBound;
use crate::dense::Space;
use crate::multigrid::MultigridReport;

/// The options of a preconditioner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PreconditionerOptions {
    /// The format of the matrices that polynomials, sweeps and multigrid multiply with. By default CSR, which makes the
    /// preconditioner independent of the number of threads; multigrid uses [`Format::Auto`] on a GPU: the format predicted
    /// to be fastest on the device, or on the current number of CPU threads. None is measured, and no user file is read;
    /// multigrid does not consider clustered formats on a GPU, whose analysis takes the whole pattern on the host.
    pub format: Option<Format>,
    /// How these matrices store their values. M is an approximation that values of half the bytes hardly make worse. They
    /// speed up memory-bound formats, which CSR on a GPU is not.
    pub values: ValueStorage,
    /// The method by which polynomials bound the largest eigenvalue.
    pub bound: SpectralBound,
    /// Added to each diagonal element before a factorisation, with its sign, as a multiple of the largest magnitude in its
    /// row; if that is the diagonal element in most rows, this is Manteuffel's shift (1980). At least 0.
    pub diagonal_shift: f64,
    /// Whether [`Preconditioner::update_values`](super::Preconditioner::update_values) will be called. The host then keeps
    /// the matrix, for factorisations also the factors in 64 bits, and plans keep what [they
    /// need](host::PlanOptions::updates). Not for [narrow values](Self::values).
    pub updates: bool,
}

impl Default for PreconditionerOptions {
    fn default() -> Self {
        Self {
            format: None,
            values: ValueStorage::Full,
            bound: SpectralBound::default(),
            diagonal_shift: 0.0,
            updates: false,
        }
    }
}

/// An approximate inverse.
pub(crate) trait Inverse<T: Scalar, E: Executor> {
    /// z ← M r. The space has the scalars of the [`Recipe`].
    fn apply(&mut self, space: &mut Space<E>, r: &Vector<T, E>, z: &mut Vector<T, E>) -> Result<(), Error>;

    /// Updates the numbers for a matrix of the same pattern, whose values may be modified on the way; the analysis of the
    /// pattern is kept. On an error nothing is changed, unless the device fails.
    fn update(&mut self, space: &mut Space<E>, matrix: &mut Csr<T>) -> Result<(), Error>;

    /// [`Operator::iterations_between_looks`](crate::Operator::iterations_between_looks).
    fn iterations_between_looks(&self) -> Option<u32> {
        None
    }

    /// Returns the report of multigrid, if there is one.
    fn report(&self) -> Option<&MultigridReport> {
        None
    }
}

/// The product of a module of this folder.
pub(crate) struct Recipe<T: Scalar, E: Executor> {
    pub inverse: Box<dyn Inverse<T, E> + Send>,
    /// Whether M is symmetric whatever A is.
    pub symmetric: bool,
    /// Scalars, starting at [`FIRST_SLOT`](crate::dense::FIRST_SLOT).
    pub scalars: Vec<f64>,
}

/// Returns a plan of a matrix that a preconditioner multiplies with.
///
/// # Errors
/// When it does not fit the format, no format can be chosen, memory runs out, or the device fails.
pub(crate) fn plan_of<T: Scalar, E: Executor>(
    executor: &E,
    matrix: Csr<T>,
    options: PreconditionerOptions,
) -> Result<Plan<T, E>, Error> {
    let PreconditionerOptions { updates, values, .. } = options;
    match options.format.unwrap_or(Format::CSR_TILED) {
        Format::Auto => Plan::automatic(executor, matrix, &selection(options)),
        format => {
            Plan::with_options(executor, matrix, format, PlanOptions { updates, values, ..PlanOptions::default() })
        }
    }
}

/// [`plan_of`] for a matrix in the executor's memory. On a GPU, it is analysed there without its
/// [clusters](Analysis::clusters), and the host receives samples of the pattern.
///
/// # Errors
/// As for [`plan_of`].
pub(crate) fn plan_in_memory<T: Scalar, E: Executor>(
    executor: &E,
    matrix: Csr<T, E::Memory>,
    options: PreconditionerOptions,
) -> Result<Plan<T, E>, Error> {
    let PreconditionerOptions { updates, values, .. } = options;
    match (options.format.unwrap_or(Format::CSR_TILED), values) {
        (Format::Auto, ValueStorage::Full | ValueStorage::Rounded(_)) => {
            let (analysis, selection) = (Analysis::in_memory(executor, &matrix)?, selection(options));
            let choice = choose(&analysis, executor.device(), &selection)?;
            Plan::from_choice(executor, matrix, &analysis, choice, &selection)
        }
        // The values must be looked at, too.
        (Format::Auto, _) => Plan::automatic_in_memory(executor, matrix, &selection(options)),
        (format, _) => {
            Plan::in_memory(executor, matrix, format, PlanOptions { updates, values, ..PlanOptions::default() })
        }
    }
}

/// Returns the choice of a format: without measuring, and without reading a file.
fn selection(PreconditionerOptions { updates, values, .. }: PreconditionerOptions) -> Selection {
    Selection { measure: Measure::Never, store: None, updates, values, ..Selection::default() }
}

/// Returns one over each diagonal element; duplicate entries add up.
///
/// # Errors
/// When a diagonal element is missing, 0 or not finite, or its inverse is not finite, and when memory runs out.
pub(super) fn inverse_diagonal<T: Scalar>(operation: &'static str, matrix: &Csr<T>) -> Result<Vec<T>, Error> {
    let mut inverse = with_capacity(matrix.rows())?;
    for row in 0..matrix.rows() {
        inverse.push(reciprocal(operation, row, diagonal_element(matrix, row))?);
    }
    Ok(inverse)
}

/// Returns the diagonal element of a row; duplicate entries add up.
pub(super) fn diagonal_element<T: Scalar>(matrix: &Csr<T>, row: usize) -> T::Wide {
    let on_diagonal = matrix.row(row).filter(|&(column, _)| column as usize == row);
    on_diagonal.fold(T::Wide::ZERO, |sum, (_, value)| sum + value.to_wide())
}

/// Returns one over a pivot.
///
/// # Errors
/// When the pivot is 0 or not finite, or one over it is not finite.
pub(super) fn reciprocal<T: Scalar>(operation: &'static str, row: usize, pivot: T::Wide) -> Result<T, Error> {
    let inverse = T::from_wide(inverse_of(pivot));
    if pivot.is_finite() && inverse.is_finite() {
        return Ok(inverse);
    }
    Err(Error::Pivot { operation, row, pivot: shown(pivot), expected: "a finite number other than 0" })
}

/// Returns a pivot as shown in an error: for complex ones, the magnitude.
pub(crate) fn shown<W: Scalar>(pivot: W) -> f64 {
    if W::COMPLEX { pivot.magnitude() } else { pivot.parts()[0] }
}

/// Returns the error for a preconditioner that was not made for updates.
pub(super) fn not_updatable() -> Error {
    let expected = "true for a preconditioner whose values are updated";
    Error::Setting { what: "`updates` in the options", value: false.to_string(), expected }
}
