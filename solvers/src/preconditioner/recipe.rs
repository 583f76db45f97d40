//! What every preconditioner is made of.

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

/// What a preconditioner takes besides its name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PreconditionerOptions {
    /// The format of the matrices that polynomials, sweeps and multigrid multiply with. Unless it is given, CSR, because a
    /// preconditioner is then the same for any number of threads; multigrid takes [`Format::Auto`] on a GPU. That is the
    /// format that is predicted to be the fastest on the device, and so on these threads: none is tried, and no file of the
    /// user's is read.
    pub format: Option<Format>,
    /// How these matrices store their values. M is an approximation, so that values of half the bytes hardly make it a worse
    /// one; they make it faster in formats whose time is the memory's, which that of CSR on a GPU is not.
    pub values: ValueStorage,
    /// How the polynomials find the largest eigenvalue.
    pub bound: SpectralBound,
    /// Added to each diagonal element before a factorisation, with its sign, as a multiple of the largest magnitude in its
    /// row: where it is at least the diagonal element of most rows, Manteuffel's shift (1980). At least 0.
    pub diagonal_shift: f64,
    /// Whether [`Preconditioner::update_values`](super::Preconditioner::update_values) will be called: the host then keeps the
    /// matrix, of factorisations also the factors in 64 bits, and plans keep what
    /// [they need](host::PlanOptions::updates). Not for [narrow values](Self::values).
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

/// What a preconditioner does.
pub(crate) trait Inverse<T: Scalar, E: Executor> {
    /// z ← M r. The space has the scalars of the [`Recipe`].
    fn apply(&mut self, space: &mut Space<E>, r: &Vector<T, E>, z: &mut Vector<T, E>) -> Result<(), Error>;

    /// Takes the numbers of a matrix of the same pattern, whose values may be changed meanwhile: what follows from the pattern
    /// alone stays. On an error nothing is changed, unless the device fails.
    fn update(&mut self, space: &mut Space<E>, matrix: &mut Csr<T>) -> Result<(), Error>;

    /// [`Operator::iterations_between_looks`](crate::Operator::iterations_between_looks).
    fn iterations_between_looks(&self) -> Option<u32> {
        None
    }

    /// The levels, if it has some.
    fn report(&self) -> Option<&MultigridReport> {
        None
    }
}

/// What a file of this folder makes of a matrix.
pub(crate) struct Recipe<T: Scalar, E: Executor> {
    pub inverse: Box<dyn Inverse<T, E> + Send>,
    /// Whether M is symmetric whatever A is.
    pub symmetric: bool,
    /// Scalars, from [`FIRST_SLOT`](crate::dense::FIRST_SLOT) on.
    pub scalars: Vec<f64>,
}

/// A plan of a matrix that a preconditioner multiplies with.
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

/// [`plan_of`] a matrix that is in the executor's memory. Where a format is to be chosen, `same` is looked at, the same matrix
/// on the host, or if there is none a copy of the pattern.
///
/// # Errors
/// As for [`plan_of`].
pub(crate) fn plan_in_memory<T: Scalar, E: Executor>(
    executor: &E,
    matrix: Csr<T, E::Memory>,
    same: Option<&Csr<T>>,
    options: PreconditionerOptions,
) -> Result<Plan<T, E>, Error> {
    let PreconditionerOptions { updates, values, .. } = options;
    match (options.format.unwrap_or(Format::CSR_TILED), same) {
        (Format::Auto, Some(same)) => {
            let (analysis, selection) = (Analysis::new(same)?, selection(options));
            let choice = choose(&analysis, executor.device(), &selection)?;
            Plan::from_choice(executor, matrix, &analysis, choice, &selection)
        }
        (Format::Auto, None) => Plan::automatic_in_memory(executor, matrix, &selection(options)),
        (format, _) => {
            Plan::in_memory(executor, matrix, format, PlanOptions { updates, values, ..PlanOptions::default() })
        }
    }
}

/// How a format is chosen: none is tried, and no file is read.
fn selection(PreconditionerOptions { updates, values, .. }: PreconditionerOptions) -> Selection {
    Selection { measure: Measure::Never, store: None, updates, values, ..Selection::default() }
}

/// One over each diagonal element; entries that are stored more than once add up.
///
/// # Errors
/// When there is none in a row, or it is 0 or not finite, or one over it is not finite, and when memory runs out.
pub(super) fn inverse_diagonal<T: Scalar>(operation: &'static str, matrix: &Csr<T>) -> Result<Vec<T>, Error> {
    let mut inverse = with_capacity(matrix.rows())?;
    for row in 0..matrix.rows() {
        inverse.push(reciprocal(operation, row, diagonal_element(matrix, row))?);
    }
    Ok(inverse)
}

/// The diagonal element of a row; entries that are stored more than once add up.
pub(super) fn diagonal_element<T: Scalar>(matrix: &Csr<T>, row: usize) -> T::Wide {
    let on_diagonal = matrix.row(row).filter(|&(column, _)| column as usize == row);
    on_diagonal.fold(T::Wide::ZERO, |sum, (_, value)| sum + value.to_wide())
}

/// One over a pivot.
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

/// A pivot as an error tells it: of a complex one the magnitude.
pub(crate) fn shown<W: Scalar>(pivot: W) -> f64 {
    if W::COMPLEX { pivot.magnitude() } else { pivot.parts()[0] }
}

/// That a preconditioner was not made for new values.
pub(super) fn not_updatable() -> Error {
    let expected = "true for a preconditioner that gets new values";
    Error::Setting { what: "`updates` in the options", value: false.to_string(), expected }
}
