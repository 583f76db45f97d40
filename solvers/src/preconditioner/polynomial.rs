//! Polynomials of the matrix scaled by its diagonal, B = D⁻¹ A: M = p(B) D⁻¹ (Saad 2003, §12.3).
//!
//! Both take `degree` + 1 steps of a method for B z = D⁻¹ r from z = 0. Each corrects z by d ← a w + b d, where w is the
//! current residual; only the factors a and b differ.

use host::error::Error;
use host::executor::Executor;
use host::format::Csr;
use host::memory::copy;
use host::plan::{Plan, Vector};
use host::real::Scalar;

use super::diagonal::Diagonal;
use super::recipe::{Inverse, PreconditionerOptions, Recipe, inverse_diagonal, plan_of};
use super::spectrum::SpectralBound;
use crate::dense::{Correction, FIRST_SLOT, ScaledTwice, Space};

/// The step of Neumann's series times the largest eigenvalue λ of B: I − 1.5/λ B has its eigenvalues in [−0.5, 1) if those
/// of B are in (0, λ], and M stays definite even if the largest exceeds the bound by a third.
const NEUMANN_STEP: f64 = 1.5;

/// Ratio of the ends of the interval on which Chebyshev's polynomial is small.
const INTERVAL_RATIO: f64 = 30.0;

struct Polynomial<T: Scalar, E: Executor> {
    inverse_diagonal: Diagonal<T, E>,
    /// B.
    scaled: Plan<T, E>,
    /// Products with B.
    degree: u32,
    /// The residual.
    w: Vector<T, E>,
    /// The direction.
    d: Vector<T, E>,
    kind: Kind,
    bound: SpectralBound,
}

/// The kind of polynomial.
#[derive(Clone, Copy)]
enum Kind {
    Neumann,
    Chebyshev,
}

impl Kind {
    fn operation(self) -> &'static str {
        match self {
            Self::Neumann => "Neumann polynomial",
            Self::Chebyshev => "Chebyshev polynomial",
        }
    }

    /// Returns a and b of each step, from a bound of the eigenvalues.
    fn factors(self, degree: u32, largest: f64) -> Vec<f64> {
        match self {
            Self::Neumann => neumann_factors(degree, largest),
            Self::Chebyshev => chebyshev_factors(degree, largest),
        }
    }
}

pub(super) fn neumann<T: Scalar, E: Executor>(
    executor: &E,
    matrix: &Csr<T>,
    degree: u32,
    options: PreconditionerOptions,
) -> Result<Recipe<T, E>, Error> {
    recipe(executor, matrix, Kind::Neumann, degree, options)
}

/// All steps have the same factors: a = 1.5/λ, b = 0.
fn neumann_factors(degree: u32, largest: f64) -> Vec<f64> {
    [NEUMANN_STEP / largest, 0.0].repeat(degree as usize + 1)
}

pub(super) fn chebyshev<T: Scalar, E: Executor>(
    executor: &E,
    matrix: &Csr<T>,
    degree: u32,
    options: PreconditionerOptions,
) -> Result<Recipe<T, E>, Error> {
    recipe(executor, matrix, Kind::Chebyshev, degree, options)
}

/// Returns the factors of Chebyshev's iteration (Saad 2003, algorithm 12.1) for the interval from λ / 30 to λ.
fn chebyshev_factors(degree: u32, largest: f64) -> Vec<f64> {
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
}

/// O(nnz) per step of the bound; takes the matrix in its format, and 3 vectors.
fn recipe<T: Scalar, E: Executor>(
    executor: &E,
    matrix: &Csr<T>,
    kind: Kind,
    degree: u32,
    options: PreconditionerOptions,
) -> Result<Recipe<T, E>, Error> {
    let inverse_diagonal = inverse_diagonal(kind.operation(), matrix)?;
    let mut scaled = matrix.try_clone()?;
    scale_rows(&mut scaled, &inverse_diagonal);
    let largest = options.bound.largest_eigenvalue(&scaled)?;
    let polynomial = Polynomial {
        inverse_diagonal: Diagonal::new(executor, inverse_diagonal, options.updates)?,
        degree,
        w: executor.zeros(scaled.rows())?,
        d: executor.zeros(scaled.rows())?,
        scaled: plan_of(executor, scaled, options)?,
        kind,
        bound: options.bound,
    };
    Ok(Recipe { inverse: Box::new(polynomial), symmetric: false, scalars: kind.factors(degree, largest) })
}

/// Multiplies each row by its own factor.
pub(crate) fn scale_rows<T: Scalar>(matrix: &mut Csr<T>, factors: &[T]) {
    for (row, &factor) in factors.iter().enumerate() {
        let range = matrix.range(row);
        matrix.values_mut()[range].iter_mut().for_each(|value| *value = factor * *value);
    }
}

impl<T: Scalar, E: Executor> Inverse<T, E> for Polynomial<T, E> {
    fn apply(&mut self, space: &mut Space<E>, r: &Vector<T, E>, z: &mut Vector<T, E>) -> Result<(), Error> {
        let Self { inverse_diagonal, scaled, degree, w, d, .. } = self;
        inverse_diagonal.apply(space, r, w)?;
        space.pass(ScaledTwice, [FIRST_SLOT], [w], [d, z])?;
        for step in 1..=*degree {
            scaled.apply(-T::ONE, d, T::ONE, w)?;
            let a = FIRST_SLOT + 2 * step;
            space.pass(Correction, [a, a + 1], [w], [d, z])?;
        }
        Ok(())
    }

    fn update(&mut self, space: &mut Space<E>, matrix: &mut Csr<T>) -> Result<(), Error> {
        let executor = space.executor().clone();
        let inverse_diagonal = inverse_diagonal(self.kind.operation(), matrix)?;
        scale_rows(matrix, &inverse_diagonal);
        let factors = self.kind.factors(self.degree, self.bound.largest_eigenvalue(matrix)?);
        let inverse_diagonal = self.inverse_diagonal.new_values(&executor, inverse_diagonal)?;
        let values = executor.upload(copy(matrix.values())?)?;
        let scaled = self.scaled.new_values(&values)?;
        space.set(&(FIRST_SLOT..).zip(factors).collect::<Vec<_>>())?;
        self.inverse_diagonal.take_values(&executor, inverse_diagonal)?;
        self.scaled.take_values(&values, scaled)
    }
}
