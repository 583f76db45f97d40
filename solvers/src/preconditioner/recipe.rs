//! What every preconditioner is made of.

use host::error::Error;
use host::executor::Executor;
use host::format::{Csr, Format};
use host::memory::with_capacity;
use host::plan::{Plan, PlanOptions, Vector};
use host::real::Real;
use host::select::{Measure, Selection};

use super::spectrum::SpectralBound;
use crate::dense::Space;

/// What a preconditioner takes besides its name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PreconditionerOptions {
    /// The format of the matrices that polynomials and sweeps multiply with. The default is CSR, because a preconditioner is
    /// the same for any number of threads. [`Format::Auto`] is the one that is predicted to be the fastest on the device, and
    /// so on these threads: none is tried, and no file of the user's is read.
    pub format: Format,
    /// How the polynomials find the largest eigenvalue.
    pub bound: SpectralBound,
    /// Added to each diagonal element before a factorisation, with its sign, as a multiple of the largest magnitude in its
    /// row: where it is at least the diagonal element of most rows, Manteuffel's shift (1980). At least 0.
    pub diagonal_shift: f64,
    /// Whether [`Preconditioner::update_values`](super::Preconditioner::update_values) will be called: the host then keeps the
    /// matrix, of factorisations also the factors in 64 bits, and plans keep what
    /// [they need](host::PlanOptions::updates).
    pub updates: bool,
}

impl Default for PreconditionerOptions {
    fn default() -> Self {
        Self { format: Format::CSR_TILED, bound: SpectralBound::default(), diagonal_shift: 0.0, updates: false }
    }
}

/// What a preconditioner does.
pub(super) trait Inverse<T: Real, E: Executor> {
    /// z ← M r. The space has the scalars of the [`Recipe`].
    fn apply(&mut self, space: &mut Space<E>, r: &Vector<T, E>, z: &mut Vector<T, E>) -> Result<(), Error>;

    /// Takes the numbers of a matrix of the same pattern, whose values may be changed meanwhile: what follows from the pattern
    /// alone stays. On an error nothing is changed, unless the device fails.
    fn update(&mut self, space: &mut Space<E>, matrix: &mut Csr<T>) -> Result<(), Error>;
}

/// What a file of this folder makes of a matrix.
pub(super) struct Recipe<T: Real, E: Executor> {
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
pub(super) fn plan_of<T: Real, E: Executor>(
    executor: &E,
    matrix: Csr<T>,
    options: PreconditionerOptions,
) -> Result<Plan<T, E>, Error> {
    let updates = options.updates;
    match options.format {
        Format::Auto => {
            let selection = Selection { measure: Measure::Never, store: None, updates, ..Selection::default() };
            Plan::automatic(executor, matrix, &selection)
        }
        format => Plan::with_options(executor, matrix, format, PlanOptions { updates, ..PlanOptions::default() }),
    }
}

/// One over each diagonal element; entries that are stored more than once add up.
///
/// # Errors
/// When there is none in a row, or it is 0 or not finite, or one over it is not finite, and when memory runs out.
pub(super) fn inverse_diagonal<T: Real>(operation: &'static str, matrix: &Csr<T>) -> Result<Vec<T>, Error> {
    let mut inverse = with_capacity(matrix.rows())?;
    for row in 0..matrix.rows() {
        let on_diagonal = matrix.row(row).filter(|&(column, _)| column as usize == row);
        // Not from -0, which an empty sum is.
        let pivot = on_diagonal.fold(0.0, |sum, (_, value)| sum + value.to_f64());
        inverse.push(reciprocal(operation, row, pivot)?);
    }
    Ok(inverse)
}

/// One over a pivot.
///
/// # Errors
/// When the pivot is 0 or not finite, or one over it is not finite.
pub(super) fn reciprocal<T: Real>(operation: &'static str, row: usize, pivot: f64) -> Result<T, Error> {
    let inverse = T::from_f64(1.0 / pivot);
    if pivot.is_finite() && inverse.to_f64().is_finite() {
        return Ok(inverse);
    }
    Err(Error::Pivot { operation, row, pivot, expected: "a finite number other than 0" })
}

/// That a preconditioner was not made for new values.
pub(super) fn not_updatable() -> Error {
    let expected = "true for a preconditioner that gets new values";
    Error::Setting { what: "`updates` in the options", value: false.to_string(), expected }
}
