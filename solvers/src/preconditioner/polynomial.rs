//! Polynomials of the matrix scaled by its diagonal, B = D⁻¹ A: M = p(B) D⁻¹ (Saad 2003, §12.3).
//!
//! Both are so many steps of a method for B z = D⁻¹ r from z = 0: each corrects z by d ← a w + b d, where w is what is left
//! of the residual, and only the factors a and b differ.

use host::error::Error;
use host::executor::Executor;
use host::format::Csr;
use host::plan::{Plan, Vector};
use host::real::Real;

use super::recipe::{Inverse, PreconditionerOptions, Recipe, inverse_diagonal, plan_of};
use crate::dense::{Correction, FIRST_SLOT, Multiplied, ONE, ScaledTwice, Space};

/// The step of Neumann's series over that of the largest eigenvalue λ of B: I − 1.5/λ B has its eigenvalues in [−0.5, 1) if
/// those of B are in (0, λ], and M stays definite even if the largest is a third beyond the bound.
const NEUMANN_STEP: f64 = 1.5;

/// The largest over the smallest eigenvalue of the interval on which Chebyshev's polynomial is small.
const INTERVAL_RATIO: f64 = 30.0;

struct Polynomial<T: Real, E: Executor> {
    inverse_diagonal: Vector<T, E>,
    /// B.
    scaled: Plan<T, E>,
    /// Products with B.
    degree: u32,
    /// The residual.
    w: Vector<T, E>,
    /// The direction.
    d: Vector<T, E>,
}

/// The factors of all steps are the same: a = 1.5/λ, b = 0.
pub(super) fn neumann<T: Real, E: Executor>(
    executor: &E,
    matrix: &Csr<T>,
    degree: u32,
    options: PreconditionerOptions,
) -> Result<Recipe<T, E>, Error> {
    recipe(executor, matrix, "Neumann polynomial", degree, options, |largest| {
        [NEUMANN_STEP / largest, 0.0].repeat(degree as usize + 1)
    })
}

/// The factors of Chebyshev's iteration (Saad 2003, algorithm 12.1) for the interval from λ / 30 to λ.
pub(super) fn chebyshev<T: Real, E: Executor>(
    executor: &E,
    matrix: &Csr<T>,
    degree: u32,
    options: PreconditionerOptions,
) -> Result<Recipe<T, E>, Error> {
    recipe(executor, matrix, "Chebyshev polynomial", degree, options, |largest| {
        let smallest = largest / INTERVAL_RATIO;
        let (center, half_width) = ((largest + smallest) / 2.0, (largest - smallest) / 2.0);
        let mut factors = vec![1.0 / center, 0.0];
        let mut rho = half_width / center;
        for _ in 0..degree {
            let next = 1.0 / (2.0 * center / half_width - rho);
            factors.extend([2.0 * next / half_width, next * rho]);
            rho = next;
        }
        factors
    })
}

/// O(nnz) for each of the bound's steps; the matrix in its format, and 3 vectors. `factors` makes a and b of each step from
/// a bound of the eigenvalues.
fn recipe<T: Real, E: Executor>(
    executor: &E,
    matrix: &Csr<T>,
    operation: &'static str,
    degree: u32,
    options: PreconditionerOptions,
    factors: impl FnOnce(f64) -> Vec<f64>,
) -> Result<Recipe<T, E>, Error> {
    let inverse_diagonal = inverse_diagonal(operation, matrix)?;
    let scaled = scaled_rows(matrix.try_clone()?, &inverse_diagonal)?;
    let largest = options.bound.largest_eigenvalue(&scaled)?;
    let polynomial = Polynomial {
        inverse_diagonal: executor.upload(inverse_diagonal)?,
        degree,
        w: executor.zeros(scaled.rows())?,
        d: executor.zeros(scaled.rows())?,
        scaled: plan_of(executor, scaled, options.format)?,
    };
    Ok(Recipe { inverse: Box::new(polynomial), symmetric: false, scalars: factors(largest) })
}

/// A matrix with each row times a number of its own.
pub(super) fn scaled_rows<T: Real>(matrix: Csr<T>, factors: &[T]) -> Result<Csr<T>, Error> {
    let (rows, columns) = (matrix.rows(), matrix.columns());
    let (offsets, column_indices, mut values) = matrix.into_parts();
    for (row, &factor) in factors.iter().enumerate() {
        let range = offsets.get(row)..offsets.get(row + 1);
        values[range].iter_mut().for_each(|value| *value = factor * *value);
    }
    Csr::try_new(rows, columns, offsets, column_indices, values)
}

impl<T: Real, E: Executor> Inverse<T, E> for Polynomial<T, E> {
    fn apply(&mut self, space: &mut Space<E>, r: &Vector<T, E>, z: &mut Vector<T, E>) -> Result<(), Error> {
        let Self { inverse_diagonal, scaled, degree, w, d } = self;
        space.pass(Multiplied, [ONE], [inverse_diagonal, r], [w])?;
        space.pass(ScaledTwice, [FIRST_SLOT], [w], [d, z])?;
        for step in 1..=*degree {
            scaled.apply(-T::ONE, d, T::ONE, w)?;
            let a = FIRST_SLOT + 2 * step;
            space.pass(Correction, [a, a + 1], [w], [d, z])?;
        }
        Ok(())
    }
}
