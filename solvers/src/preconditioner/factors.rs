//! Two triangular factors: M = U⁻¹ L⁻¹.

use host::error::Error;
use host::executor::Executor;
use host::format::{Csr, Offsets};
use host::memory::zeros;
use host::parallel;
use host::plan::{Plan, Vector};
use host::real::Real;

use super::name::TriangularSolver;
use super::polynomial::scaled_rows;
use super::recipe::{Inverse, PreconditionerOptions, plan_of};
use crate::dense::{Combined, Multiplied, ONE, Scaled, Space};
use crate::triangular::{Side, Triangular, TriangularOperands, TriangularSolve};

/// A triangular factor on the host.
pub(super) struct Factor<T: Real> {
    pub(super) side: Side,
    /// The entries beside the diagonal.
    pub(super) beside_diagonal: Csr<T>,
    /// One over the diagonal.
    pub(super) inverse_diagonal: Vec<T>,
}

/// The factors where they are solved with. Takes the factors, and 1 vector, with sweeps 5.
pub(super) fn inverse<T: Real, E: Executor>(
    executor: &E,
    lower: Factor<T>,
    upper: Factor<T>,
    solver: TriangularSolver,
    options: PreconditionerOptions,
) -> Result<Box<dyn Inverse<T, E> + Send>, Error> {
    let between = executor.zeros(lower.inverse_diagonal.len())?;
    Ok(match solver {
        TriangularSolver::Levels => {
            let place = |Factor { side, beside_diagonal, inverse_diagonal }: Factor<T>| {
                Triangular::new(executor, side, &beside_diagonal, &inverse_diagonal)
            };
            Box::new(Factors { lower: place(lower)?, upper: place(upper)?, between })
        }
        TriangularSolver::Sweeps(sweeps) => {
            let place = |factor: Factor<T>| Sweeps::new(executor, factor, sweeps, options);
            Box::new(Factors { lower: place(lower)?, upper: place(upper)?, between })
        }
    })
}

/// L and U, and L⁻¹ r.
struct Factors<F, V> {
    lower: F,
    upper: F,
    between: V,
}

impl<T: Real, E: Executor, F: Inverse<T, E>> Inverse<T, E> for Factors<F, Vector<T, E>> {
    fn apply(&mut self, space: &mut Space<E>, r: &Vector<T, E>, z: &mut Vector<T, E>) -> Result<(), Error> {
        self.lower.apply(space, r, &mut self.between)?;
        self.upper.apply(space, &self.between, z)
    }
}

impl<T: Real, E: Executor> Inverse<T, E> for Triangular<T, E::Memory> {
    fn apply(&mut self, space: &mut Space<E>, r: &Vector<T, E>, z: &mut Vector<T, E>) -> Result<(), Error> {
        space.executor().run::<TriangularSolve<T>>(TriangularOperands { matrix: self, b: r, x: z })
    }
}

/// A factor D + N that is solved with by Jacobi's method: x ← D⁻¹ b − D⁻¹ N x, from x = D⁻¹ b on.
struct Sweeps<T: Real, E: Executor> {
    sweeps: u32,
    inverse_diagonal: Vector<T, E>,
    /// D⁻¹ N.
    scaled: Plan<T, E>,
    /// D⁻¹ b.
    begin: Vector<T, E>,
    /// −D⁻¹ N x.
    product: Vector<T, E>,
}

impl<T: Real, E: Executor> Sweeps<T, E> {
    fn new(executor: &E, factor: Factor<T>, sweeps: u32, options: PreconditionerOptions) -> Result<Self, Error> {
        let scaled = scaled_rows(factor.beside_diagonal, &factor.inverse_diagonal)?;
        Ok(Self {
            sweeps,
            begin: executor.zeros(scaled.rows())?,
            product: executor.zeros(scaled.rows())?,
            inverse_diagonal: executor.upload(factor.inverse_diagonal)?,
            scaled: plan_of(executor, scaled, options.format)?,
        })
    }
}

impl<T: Real, E: Executor> Inverse<T, E> for Sweeps<T, E> {
    fn apply(&mut self, space: &mut Space<E>, r: &Vector<T, E>, z: &mut Vector<T, E>) -> Result<(), Error> {
        let Self { sweeps, inverse_diagonal, scaled, begin, product } = self;
        space.pass(Multiplied, [ONE], [inverse_diagonal, r], [begin])?;
        space.pass(Scaled, [ONE], [begin], [z])?;
        for _ in 0..*sweeps {
            scaled.apply(-T::ONE, z, T::ZERO, product)?;
            space.pass(Combined, [ONE, ONE], [begin, product], [z])?;
        }
        Ok(())
    }
}

/// No place among the entries of a row.
pub(super) const NOWHERE: usize = usize::MAX;

/// [`NOWHERE`] for each column.
pub(super) fn nowhere(columns: usize) -> Result<Vec<usize>, Error> {
    parallel::map(columns, ROWS_AT_ONCE, &|_| NOWHERE)
}

/// Numbers of the precision of the matrix.
pub(super) fn rounded<T: Real>(numbers: &[f64]) -> Result<Vec<T>, Error> {
    parallel::map(numbers.len(), ROWS_AT_ONCE, &|row| T::from_f64(numbers[row]))
}

/// Rows that a thread takes at a time.
const ROWS_AT_ONCE: usize = 4096;

/// The entries on one side of the diagonal, in 64 bits.
pub(super) fn beside_diagonal<T: Real>(matrix: &Csr<T>, side: Side) -> Result<Csr<f64>, Error> {
    let entries = |row: usize| matrix.row(row).filter(move |&(column, _)| side.contains(row, column as usize));
    let offsets = Offsets::from_lengths((0..matrix.rows()).map(|row| entries(row).count()))?;
    let stored = offsets.get(matrix.rows());
    let (mut columns, mut values) = (zeros(stored)?, zeros(stored)?);
    let places = columns.iter_mut().zip(&mut values);
    for ((to_column, to_value), (column, value)) in places.zip((0..matrix.rows()).flat_map(entries)) {
        (*to_column, *to_value) = (column, value.to_f64());
    }
    Csr::try_new(matrix.rows(), matrix.columns(), offsets, columns, values)
}

/// The diagonal element of a row with its shift, from the row's entries.
pub(super) fn shifted_diagonal<T: Real>(
    options: PreconditionerOptions,
    row: usize,
    entries: impl Iterator<Item = (u32, T)>,
) -> f64 {
    let (mut diagonal, mut largest) = (0.0, 0.0);
    for (column, value) in entries {
        let value = value.to_f64();
        largest = f64::max(largest, value.abs());
        if column as usize == row {
            diagonal += value;
        }
    }
    let shift = options.diagonal_shift * largest;
    if diagonal < 0.0 { diagonal - shift } else { diagonal + shift }
}
