//! Two triangular factors: M = U⁻¹ L⁻¹.

use cuda_std::GpuScalar;
use host::error::Error;
use host::executor::Executor;
use host::format::{Csr, Offsets};
use host::memory::{collect, filled, with_capacity, zeros};
use host::parallel;
use host::plan::Vector;
use host::real::Scalar;

use super::diagonal::{Diagonal, NewDiagonal};
use super::name::TriangularSolver;
use super::polynomial::scale_rows;
use super::recipe::{Inverse, PreconditionerOptions, not_updatable};
use super::sweeps::Sweeps;
use crate::dense::Space;
use crate::levels::Side;
use crate::triangular::{Triangular, TriangularOperands, TriangularSolve, TriangularValues};

/// A triangular factor on the host.
pub(super) struct Factor<'a, T: Scalar> {
    pub(super) side: Side,
    /// The off-diagonal entries, in 64 bits.
    pub(super) beside_diagonal: &'a Csr<T::Wide>,
    /// One over the diagonal.
    pub(super) inverse_diagonal: Vec<T>,
    /// The vector element of each row, if they differ; not with sweeps.
    pub(super) elements: Option<&'a [u32]>,
}

/// A factorisation of matrices of one pattern, whose analysis is done once.
pub(super) trait Factorization<T: Scalar>: Send {
    /// Computes L and U of a matrix.
    fn factorize(&mut self, matrix: &Csr<T>) -> Result<[Factor<'_, T>; 2], Error>;
}

/// Returns the factors of a matrix with their solver. Takes the factors and 1 vector, with sweeps 5. For complex numbers
/// solved by levels, takes the factors twice, and 1 more vector per factor whose diagonal is not real.
pub(super) fn inverse<T: Scalar, E: Executor>(
    executor: &E,
    matrix: &Csr<T>,
    mut factorization: impl Factorization<T> + 'static,
    solver: TriangularSolver,
    options: PreconditionerOptions,
) -> Result<Box<dyn Inverse<T, E> + Send>, Error> {
    let [lower, upper] = factorization.factorize(matrix)?;
    let between = executor.zeros(matrix.rows())?;
    match solver {
        TriangularSolver::Levels | TriangularSolver::Colours => {
            let place = |factor: Factor<'_, T>| Levels::new(executor, factor, options.updates);
            let (lower, upper) = (place(lower)?, place(upper)?);
            Ok(Box::new(Factors { lower, upper, between, factorization: kept(factorization, options) }))
        }
        TriangularSolver::Sweeps(sweeps) => {
            let place = |factor: Factor<'_, T>| Sweeps::new(executor, factor, sweeps, options);
            let (lower, upper) = (place(lower)?, place(upper)?);
            Ok(Box::new(Factors { lower, upper, between, factorization: kept(factorization, options) }))
        }
    }
}

/// Returns the factorisation, if it will be repeated.
fn kept<T: Scalar>(
    factorization: impl Factorization<T> + 'static,
    options: PreconditionerOptions,
) -> Option<Box<dyn Factorization<T>>> {
    options.updates.then(|| Box::new(factorization) as Box<dyn Factorization<T>>)
}

/// L and U, and L⁻¹ r.
struct Factors<T, F, V> {
    lower: F,
    upper: F,
    between: V,
    /// For updates.
    factorization: Option<Box<dyn Factorization<T>>>,
}

/// Solves with a factor.
pub(super) trait FactorSolver<T: Scalar, E: Executor> {
    /// Prepared values of another factor of the same pattern.
    type New;

    /// z ← F⁻¹ r.
    fn solve(&mut self, space: &mut Space<E>, r: &Vector<T, E>, z: &mut Vector<T, E>) -> Result<(), Error>;

    /// Prepares the values of another factor of the same pattern, without changing this one.
    fn new_values(&self, executor: &E, factor: Factor<'_, T>) -> Result<Self::New, Error>;

    /// Replaces the values; fails only if the device does.
    fn take_values(&mut self, executor: &E, new: Self::New) -> Result<(), Error>;
}

impl<T: Scalar, E: Executor, F: FactorSolver<T, E>> Inverse<T, E> for Factors<T, F, Vector<T, E>> {
    fn apply(&mut self, space: &mut Space<E>, r: &Vector<T, E>, z: &mut Vector<T, E>) -> Result<(), Error> {
        self.lower.solve(space, r, &mut self.between)?;
        self.upper.solve(space, &self.between, z)
    }

    fn update(&mut self, space: &mut Space<E>, matrix: &mut Csr<T>) -> Result<(), Error> {
        let Some(factorization) = &mut self.factorization else { return Err(not_updatable()) };
        let executor = space.executor();
        let [lower, upper] = factorization.factorize(matrix)?;
        let (lower, upper) = (self.lower.new_values(executor, lower)?, self.upper.new_values(executor, upper)?);
        self.lower.take_values(executor, lower)?;
        self.upper.take_values(executor, upper)
    }
}

/// A factor D (I + N), solved level by level, by its real and imaginary parts.
struct Levels<T: Scalar, E: Executor> {
    /// D⁻¹ and D⁻¹ b, if D is not real.
    scaling: Option<(Diagonal<T, E>, Vector<T, E>)>,
    /// The factor, or I + N.
    triangular: Triangular<T::Real, E::Memory>,
}

impl<T: Scalar, E: Executor> Levels<T, E> {
    fn new(executor: &E, factor: Factor<'_, T>, updates: bool) -> Result<Self, Error> {
        let (side, rows, elements) = (factor.side, factor.inverse_diagonal.len(), factor.elements);
        if let Some(real) = real(&factor.inverse_diagonal)? {
            let triangular = Triangular::new(executor, side, &factor.beside_diagonal.cast::<T>()?, &real, elements)?;
            return Ok(Self { scaling: None, triangular });
        }
        let triangular = Triangular::new(executor, side, &scaled(&factor)?, &filled(rows, T::Real::ONE)?, elements)?;
        let diagonal = Diagonal::new(executor, in_order_of_vectors(factor)?, updates)?;
        Ok(Self { scaling: Some((diagonal, executor.zeros(rows)?)), triangular })
    }
}

/// Returns the real parts of numbers; `None` if any is not real.
fn real<T: Scalar>(numbers: &[T]) -> Result<Option<Vec<T::Real>>, Error> {
    if numbers.iter().any(|number| number.parts()[1] != 0.0) {
        return Ok(None);
    }
    collect(numbers.iter().map(|number| T::Real::from_f64(number.parts()[0]))).map(Some)
}

/// Returns one over the diagonal, in vector order.
fn in_order_of_vectors<T: Scalar>(factor: Factor<'_, T>) -> Result<Vec<T>, Error> {
    let Some(elements) = factor.elements else { return Ok(factor.inverse_diagonal) };
    let mut ordered = zeros(elements.len())?;
    elements.iter().zip(factor.inverse_diagonal).for_each(|(&element, inverse)| ordered[element as usize] = inverse);
    Ok(ordered)
}

/// Returns the off-diagonal entries of a factor, divided by the diagonal elements of their rows.
pub(super) fn scaled<T: Scalar>(factor: &Factor<'_, T>) -> Result<Csr<T>, Error> {
    let mut scaled = factor.beside_diagonal.cast()?;
    scale_rows(&mut scaled, &factor.inverse_diagonal);
    Ok(scaled)
}

/// The new values of [`Levels`].
enum NewLevels<T: Scalar, E: Executor> {
    Values {
        diagonal: Option<NewDiagonal<T, E>>,
        triangular: TriangularValues<T::Real, E::Memory>,
    },
    /// If only one of the old and the new diagonal is real.
    Whole(Box<Levels<T, E>>),
}

impl<T: Scalar, E: Executor> FactorSolver<T, E> for Levels<T, E> {
    type New = NewLevels<T, E>;

    fn solve(&mut self, space: &mut Space<E>, r: &Vector<T, E>, z: &mut Vector<T, E>) -> Result<(), Error> {
        let b = match &mut self.scaling {
            Some((diagonal, scaled)) => {
                diagonal.apply(space, r, scaled)?;
                &*scaled
            }
            None => r,
        };
        let matrix = &self.triangular;
        space.executor().run::<TriangularSolve<T>>(TriangularOperands { matrix, b, x: z })
    }

    fn new_values(&self, executor: &E, factor: Factor<'_, T>) -> Result<Self::New, Error> {
        match (&self.scaling, real(&factor.inverse_diagonal)?) {
            (None, Some(real)) => {
                let triangular = self.triangular.new_values(executor, factor.beside_diagonal, &real)?;
                Ok(NewLevels::Values { diagonal: None, triangular })
            }
            (Some((diagonal, _)), None) => {
                let ones = filled(factor.inverse_diagonal.len(), T::Real::ONE)?;
                let triangular = self.triangular.new_values(executor, &scaled(&factor)?, &ones)?;
                let diagonal = Some(diagonal.new_values(executor, in_order_of_vectors(factor)?)?);
                Ok(NewLevels::Values { diagonal, triangular })
            }
            _ => Ok(NewLevels::Whole(Box::new(Self::new(executor, factor, true)?))),
        }
    }

    fn take_values(&mut self, executor: &E, new: Self::New) -> Result<(), Error> {
        match new {
            NewLevels::Whole(levels) => *self = *levels,
            NewLevels::Values { diagonal: new, triangular } => {
                self.triangular.take_values(executor, triangular)?;
                if let (Some((diagonal, _)), Some(new)) = (&mut self.scaling, new) {
                    diagonal.take_values(executor, new)?;
                }
            }
        }
        Ok(())
    }
}

/// A matrix with sorted rows without duplicate entries, and the sources of its values.
pub(super) struct Sorted<T: Scalar> {
    matrix: Csr<T>,
    /// The source entries, in the matrix's order, and whether each is added to the previous one.
    sources: Vec<(usize, bool)>,
}

impl<T: Scalar> Sorted<T> {
    /// Returns `None` if the matrix already is in this form.
    pub(super) fn of(matrix: &Csr<T>) -> Result<Option<Self>, Error> {
        let ascends = |row| matrix.column_indices()[matrix.range(row)].is_sorted_by(|left, right| left < right);
        if (0..matrix.rows()).all(ascends) {
            return Ok(None);
        }
        let mut numbers = matrix.cast::<f64>()?;
        numbers.values_mut().iter_mut().enumerate().for_each(|(entry, number)| *number = entry as f64);
        numbers.sort_rows()?;
        let mut sources = with_capacity(matrix.nnz())?;
        for row in 0..matrix.rows() {
            let mut before = None;
            for (column, number) in numbers.row(row) {
                sources.push((number as usize, before.replace(column) == Some(column)));
            }
        }
        numbers.sum_duplicates()?;
        Ok(Some(Self { matrix: numbers.cast()?, sources }))
    }

    /// Returns the pattern; the values may be of any matrix.
    pub(super) fn pattern(&self) -> &Csr<T> {
        &self.matrix
    }

    /// Returns the sorted matrix for the values of an original one.
    pub(super) fn with_values(&mut self, values: &[T]) -> &Csr<T> {
        let sums = self.matrix.values_mut();
        let mut end = 0;
        for &(source, adds) in &self.sources {
            if adds {
                sums[end - 1] = sums[end - 1] + values[source];
            } else {
                sums[end] = values[source];
                end += 1;
            }
        }
        &self.matrix
    }
}

/// Marks a column without an entry in a row.
pub(super) const NOWHERE: usize = usize::MAX;

/// Returns [`NOWHERE`] for each column.
pub(super) fn nowhere(columns: usize) -> Result<Vec<usize>, Error> {
    parallel::map(columns, ROWS_AT_ONCE, &|_| NOWHERE)
}

/// Returns numbers rounded to the precision of the matrix.
pub(super) fn rounded<T: Scalar>(numbers: &[T::Wide]) -> Result<Vec<T>, Error> {
    parallel::map(numbers.len(), ROWS_AT_ONCE, &|row| T::from_wide(numbers[row]))
}

/// Rows that a thread takes at a time.
const ROWS_AT_ONCE: usize = 4096;

/// Returns the entries on one side of the diagonal, in 64 bits.
pub(super) fn beside_diagonal<T: Scalar>(matrix: &Csr<T>, side: Side) -> Result<Csr<T::Wide>, Error> {
    let entries = |row: usize| matrix.row(row).filter(move |&(column, _)| side.contains(row, column as usize));
    let offsets = Offsets::from_lengths((0..matrix.rows()).map(|row| entries(row).count()))?;
    let stored = offsets.get(matrix.rows());
    let (mut columns, mut values) = (zeros(stored)?, zeros(stored)?);
    let places = columns.iter_mut().zip(&mut values);
    for ((to_column, to_value), (column, value)) in places.zip((0..matrix.rows()).flat_map(entries)) {
        (*to_column, *to_value) = (column, value.to_wide());
    }
    Csr::try_new(matrix.rows(), matrix.columns(), offsets, columns, values)
}

/// Copies the values on one side of a matrix's diagonal to `to`.
pub(super) fn take_beside_diagonal<T: Scalar>(matrix: &Csr<T>, side: Side, to: &mut Csr<T::Wide>) {
    let entries = |row: usize| matrix.row(row).filter(move |&(column, _)| side.contains(row, column as usize));
    let values = (0..matrix.rows()).flat_map(entries);
    to.values_mut().iter_mut().zip(values).for_each(|(to, (_, value))| *to = value.to_wide());
}

/// Returns the diagonal element of a row, shifted in its own direction, from the row's entries.
pub(super) fn shifted_diagonal<T: Scalar>(
    options: PreconditionerOptions,
    row: usize,
    entries: impl Iterator<Item = (u32, T)>,
) -> T::Wide {
    let (mut diagonal, mut largest) = (T::Wide::ZERO, 0.0);
    for (column, value) in entries {
        largest = f64::max(largest, value.magnitude());
        if column as usize == row {
            diagonal = diagonal + value.to_wide();
        }
    }
    let (shift, [re, im], magnitude) = (options.diagonal_shift * largest, diagonal.parts(), diagonal.magnitude());
    // Of length 1; for 0 it is 1.
    let [sign_re, sign_im] =
        if im == 0.0 { [if re < 0.0 { -1.0 } else { 1.0 }, 0.0] } else { [re / magnitude, im / magnitude] };
    diagonal + T::Wide::from_parts(shift * sign_re, shift * sign_im)
}
