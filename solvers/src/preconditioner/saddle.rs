//! A block-diagonal preconditioner for saddle points (Benzi, Golub & Liesen 2005, §10.1.1).
//!
//! A symmetric matrix with the blocks A, B and, on the lower right, −C, where A is positive definite and C is 0 or positive
//! semidefinite, has the Schur complement −(C + B A⁻¹ Bᵀ). Preconditioning by the inverses of A and of C + B A⁻¹ Bᵀ on the
//! diagonal clusters the eigenvalues in three small intervals. Here multigrid approximates the first inverse, and the
//! diagonal of C + B D⁻¹ Bᵀ the second one's matrix, where D is the diagonal of A: for the Stokes equations that diagonal
//! is the mass of the pressure, up to a factor. Because D⁻¹ is small where A⁻¹ is large, the diagonal is multiplied by [a
//! factor](SCHUR_FACTOR).

use host::error::Error;
use host::executor::Executor;
use host::format::{Csr, Offsets};
use host::memory::{collect, filled, with_capacity, zeros};
use host::plan::{Plan, Vector};
use host::real::Scalar;

use super::diagonal::Diagonal;
use super::recipe::{Inverse, PreconditionerOptions, Recipe, diagonal_element, inverse_of, plan_of, shown};
use crate::dense::Space;
use crate::multigrid::{Amg, Multigrid, MultigridReport};

/// The two blocks of rows, and the approximate inverses of both.
struct Saddle<T: Scalar, E: Executor> {
    multigrid: Multigrid,
    options: PreconditionerOptions,
    first: Amg<T, E>,
    /// The inverse of the second block's diagonal, with 0 for the rows of the first.
    second: Diagonal<T, E>,
    /// Selection of the rows of the first block, and its transpose.
    restriction: Plan<T, E>,
    prolongation: Plan<T, E>,
    /// The input and output of multigrid.
    r: Vector<T, E>,
    z: Vector<T, E>,
}

/// Rows with a positive diagonal element form the first block, all others the second. O(nnz), besides multigrid; on the
/// executor, two vectors of the first block, and two matrices with one entry per row of it.
pub(super) fn recipe<T: Scalar, E: Executor>(
    executor: &E,
    matrix: &Csr<T>,
    multigrid: Multigrid,
    options: PreconditionerOptions,
) -> Result<Recipe<T, E>, Error> {
    let inverse = Box::new(Saddle::new(executor, matrix, multigrid, options)?);
    Ok(Recipe { inverse, symmetric: false, scalars: vec![] })
}

impl<T: Scalar, E: Executor> Saddle<T, E> {
    fn new(executor: &E, matrix: &Csr<T>, multigrid: Multigrid, options: PreconditionerOptions) -> Result<Self, Error> {
        let rows = matrix.rows();
        let diagonal = collect((0..rows).map(|row| diagonal_element(matrix, row)))?;
        // The index of each row within the first block.
        let mut numbers = filled(rows, SECOND)?;
        let mut count = 0;
        for (number, diagonal) in numbers.iter_mut().zip(&diagonal) {
            if diagonal.parts()[0] > 0.0 {
                *number = count;
                count += 1;
            }
        }
        let block = first_block(matrix, &numbers, count as usize)?;
        let second = second_diagonal(matrix, &numbers, &diagonal)?;
        let restriction = selection(&numbers, count as usize)?;
        let prolongation = restriction.transposed()?;
        Ok(Self {
            multigrid,
            options,
            first: Amg::with_constants(executor, &block, multigrid, options)?,
            second: Diagonal::new(executor, second, false)?,
            restriction: plan_of(executor, restriction, options)?,
            prolongation: plan_of(executor, prolongation, options)?,
            r: executor.zeros(count as usize)?,
            z: executor.zeros(count as usize)?,
        })
    }
}

/// The factor of the diagonal of C + B D⁻¹ Bᴴ. For the Stokes equations in Taylor-Hood elements, factors 1, 2, 4, 8 and 16
/// take 151, 140, 133, 126 and 121 iterations of MINRES; for mixed Poisson problems in Raviart-Thomas elements, 369 with 1,
/// 392 with 4 and 453 with 16.
const SCHUR_FACTOR: f64 = 4.0;

/// Marks a row of the second block.
const SECOND: u32 = u32::MAX;

/// Returns the rows and columns of the first block.
fn first_block<T: Scalar>(matrix: &Csr<T>, numbers: &[u32], count: usize) -> Result<Csr<T>, Error> {
    let rows = || (0..matrix.rows()).filter(|&row| numbers[row] != SECOND);
    let inside = |row: usize| matrix.row(row).filter(|&(column, _)| numbers[column as usize] != SECOND);
    let mut lengths = with_capacity(count)?;
    lengths.extend(rows().map(|row| inside(row).count()));
    let offsets = Offsets::from_lengths(lengths.iter().copied())?;
    let (mut columns, mut values) = (with_capacity(offsets.get(count))?, with_capacity(offsets.get(count))?);
    for (column, value) in rows().flat_map(inside) {
        columns.push(numbers[column as usize]);
        values.push(value);
    }
    Csr::try_new(count, count, offsets, columns, values)
}

/// Returns one over the product of the factor and the diagonal of C + B D⁻¹ Bᴴ for the rows of the second block, and 0 for
/// those of the first.
fn second_diagonal<T: Scalar>(matrix: &Csr<T>, numbers: &[u32], diagonal: &[T::Wide]) -> Result<Vec<T>, Error> {
    let mut inverses = zeros::<T>(matrix.rows())?;
    for row in (0..matrix.rows()).filter(|&row| numbers[row] == SECOND) {
        let to_first = matrix.row(row).filter(|&(column, _)| numbers[column as usize] != SECOND);
        let square = |(column, value): (u32, T)| {
            let magnitude = value.magnitude();
            magnitude * magnitude / diagonal[column as usize].parts()[0]
        };
        let pivot = SCHUR_FACTOR * (diagonal[row].magnitude() + to_first.map(square).sum::<f64>());
        let inverse = T::from_wide(inverse_of(T::Wide::from_f64(pivot)));
        if !(pivot.is_finite() && inverse.is_finite()) {
            let pivot = shown(T::Wide::from_f64(pivot));
            let expected = "a finite number other than 0: every row of the second block has entries in the first";
            return Err(Error::Pivot { operation: "saddle point", row, pivot, expected });
        }
        inverses[row] = inverse;
    }
    Ok(inverses)
}

/// Returns the matrix that selects the rows of the first block.
fn selection<T: Scalar>(numbers: &[u32], count: usize) -> Result<Csr<T>, Error> {
    let mut columns = with_capacity(count)?;
    columns.extend((0..numbers.len() as u32).filter(|&row| numbers[row as usize] != SECOND));
    let offsets = Offsets::from_lengths((0..count).map(|_| 1))?;
    Csr::try_new(count, numbers.len(), offsets, columns, filled(count, T::ONE)?)
}

impl<T: Scalar, E: Executor> Inverse<T, E> for Saddle<T, E> {
    fn apply(&mut self, space: &mut Space<E>, r: &Vector<T, E>, z: &mut Vector<T, E>) -> Result<(), Error> {
        self.restriction.apply(T::ONE, r, T::ZERO, &mut self.r)?;
        self.first.apply(space, &self.r, &mut self.z)?;
        self.second.apply(space, r, z)?;
        self.prolongation.apply(T::ONE, &self.z, T::ONE, z)
    }

    fn update(&mut self, space: &mut Space<E>, matrix: &mut Csr<T>) -> Result<(), Error> {
        *self = Self::new(space.executor(), matrix, self.multigrid, self.options)?;
        Ok(())
    }

    fn iterations_between_looks(&self) -> Option<u32> {
        Inverse::<T, E>::iterations_between_looks(&self.first)
    }

    fn report(&self) -> Option<&MultigridReport> {
        self.first.report()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_by_the_diagonal() {
        // Rows 0 and 3 form the first block.
        let (rows, columns) = ([0, 0, 0, 1, 2, 2, 3, 3], [0, 1, 3, 0, 2, 3, 0, 3]);
        let values = [4.0, 2.0, 1.0, 2.0, -0.5, 3.0, 1.0, 2.0];
        let matrix = Csr::try_from_triplets(4, 4, &rows, &columns, &values).unwrap();
        let numbers = [0, SECOND, SECOND, 1];
        let block = first_block(&matrix, &numbers, 2).unwrap();
        assert_eq!(block, Csr::try_from_triplets(2, 2, &[0, 0, 1, 1], &[0, 1, 0, 1], &[4.0, 1.0, 1.0, 2.0]).unwrap());
        let inverses = second_diagonal(&matrix, &numbers, &[4.0, 0.0, -0.5, 2.0]).unwrap();
        let expected = [0.0, 1.0, 1.0 / 5.0, 0.0].map(|inverse: f64| inverse / SCHUR_FACTOR);
        assert!(inverses.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-15));
        let selection = selection::<f64>(&numbers, 2).unwrap();
        assert!(selection.row(0).eq([(0, 1.0)]) && selection.row(1).eq([(3, 1.0)]));
    }
}
