//! The largest eigenvalue of a level's matrix scaled by its diagonal.

use host::error::Error;
use host::executor::Executor;
use host::plan::{Plan, Vector};
use host::real::Scalar;
use nalgebra::DMatrix;

use crate::dense::{Dot, FIRST_SLOT, LanczosUpdate, Program, PseudoRandom, Scaled, Space};
use crate::preconditioner::Diagonal;

/// Steps of Lanczos' method.
const STEPS: usize = 12;

/// Factor of the largest Ritz value, which is a lower estimate.
const SAFETY: f64 = 1.05;

/// Steps of the power method, and the factor of the growth in the last one.
const POWER_STEPS: u32 = 20;
const SAFETY_OF_POWER: f64 = 1.1;

/// If products differ from their mirror images by more than this share, the matrix is not Hermitian.
const HERMITIAN: f64 = 1e-6;

/// A vector this much smaller than the size of the matrix is only rounding error.
const EXHAUSTED: f64 = 1e-10;

const SQUARE: u32 = FIRST_SLOT;
const PRODUCT: u32 = FIRST_SLOT + 1;
const MIRROR: u32 = FIRST_SLOT + 2;
const FACTORS: [u32; 3] = [FIRST_SLOT + 3, FIRST_SLOT + 4, FIRST_SLOT + 5];
const SLOTS: u32 = FIRST_SLOT + 6;

/// Returns the largest magnitude of an eigenvalue of D⁻¹ A, at most Gershgorin's `bound`: by a few steps of Lanczos' method
/// in the inner product of D; by the power method if A is not Hermitian, D is not `positive`, or they are complex. O(nnz)
/// per step; takes 5 vectors.
///
/// # Errors
/// When it is not a finite number greater than 0, memory runs out, or the device fails.
pub(super) fn largest_eigenvalue<W: Scalar<Real = f64, Wide = W>, E: Executor>(
    matrix: &mut Plan<W, E>,
    inverse_diagonal: &mut Diagonal<W, E>,
    bound: f64,
    positive: bool,
) -> Result<f64, Error> {
    // A matrix of zeros.
    if bound == 0.0 {
        return Ok(1.0);
    }
    if !bound.is_finite() {
        let what = "the bound of the eigenvalues of the matrix scaled by its diagonal";
        return Err(Error::Setting { what, value: bound.to_string(), expected: "a finite number greater than 0" });
    }
    let mut steps = Steps::new(matrix, inverse_diagonal)?;
    if positive
        && !W::COMPLEX
        && let Some(ritz) = steps.lanczos()?
        && ritz > 0.0
    {
        return Ok(bound.min(SAFETY * ritz));
    }
    let growth = steps.power_method()?;
    // Written so that a NaN is rejected.
    Ok(if growth > 0.0 { bound.min(SAFETY_OF_POWER * growth) } else { bound })
}

/// State of both methods.
struct Steps<'a, W: Scalar, E: Executor> {
    matrix: &'a mut Plan<W, E>,
    inverse_diagonal: &'a mut Diagonal<W, E>,
    space: Space<E>,
    nothing: Program<E::Memory>,
    v: Vector<W, E>,
    /// D⁻¹ v
    z: Vector<W, E>,
    /// A z
    q: Vector<W, E>,
}

impl<'a, W: Scalar<Real = f64>, E: Executor> Steps<'a, W, E> {
    fn new(matrix: &'a mut Plan<W, E>, inverse_diagonal: &'a mut Diagonal<W, E>) -> Result<Self, Error> {
        let (executor, rows) = (matrix.executor().clone(), matrix.matrix().rows());
        let space = Space::new(&executor, SLOTS, 1)?;
        let [v, z, q] = [executor.zeros(rows)?, executor.zeros(rows)?, executor.zeros(rows)?];
        Ok(Self { matrix, inverse_diagonal, nothing: space.program(&[])?, space, v, z, q })
    }

    /// Starts with an irregular vector, to which no eigenvector is likely to be orthogonal.
    fn start(&mut self) -> Result<(), Error> {
        self.v = self.matrix.executor().run::<PseudoRandom<W>>((0, self.matrix.matrix().rows()))?;
        Ok(())
    }

    /// z ← D⁻¹ v, q ← A z
    fn multiply(&mut self) -> Result<(), Error> {
        self.inverse_diagonal.apply(&mut self.space, &self.v, &mut self.z)?;
        self.matrix.apply(W::ONE, &self.z, W::ZERO, &mut self.q)
    }

    /// Returns the largest Ritz value; `None` if the matrix is not Hermitian.
    fn lanczos(&mut self) -> Result<Option<f64>, Error> {
        self.start()?;
        let (executor, rows) = (self.matrix.executor().clone(), self.matrix.matrix().rows());
        let [mut old_v, mut old_z] = [executor.zeros(rows)?, executor.zeros(rows)?];
        let (mut projected, mut steps) = (DMatrix::<f64>::zeros(STEPS, STEPS), 0);
        let (mut old_gamma, mut size) = (1.0, 0.0);
        while steps < STEPS {
            self.multiply()?;
            let Self { space, nothing, v, z, q, .. } = self;
            for (slot, x, y) in [(SQUARE, &*v, &*z), (PRODUCT, &*z, &*q), (MIRROR, &old_z, &*q)] {
                space.pass(Dot, [], [x, y], [])?;
                space.finish(slot, nothing)?;
            }
            let scalars = space.scalars()?;
            let [square, product, mirror] = [SQUARE, PRODUCT, MIRROR].map(|slot| scalars[slot as usize]);
            // The vectors are γ times those of an orthonormal basis.
            let gamma = square.sqrt();
            // Once the space is exhausted, only rounding errors remain. A NaN ends the loop, too.
            let goes_on = gamma > EXHAUSTED * size;
            if !goes_on {
                break;
            }
            let alpha = product / square;
            size = alpha.abs() + if steps > 0 { gamma } else { 0.0 };
            if steps > 0 {
                let is_hermitian = (mirror / (old_gamma * gamma) - gamma).abs() <= HERMITIAN * size;
                if !is_hermitian {
                    return Ok(None);
                }
                (projected[(steps, steps - 1)], projected[(steps - 1, steps)]) = (gamma, gamma);
            }
            projected[(steps, steps)] = alpha;
            steps += 1;
            let factors = [1.0 / gamma, -alpha / gamma, -gamma / old_gamma];
            space.set(&[0, 1, 2].map(|number| (FACTORS[number], factors[number])))?;
            space.pass(LanczosUpdate, FACTORS, [&*q], [&mut old_v, v])?;
            std::mem::swap(z, &mut old_z);
            old_gamma = gamma;
        }
        let projected = projected.view((0, 0), (steps, steps)).into_owned();
        Ok(projected.symmetric_eigenvalues().iter().copied().reduce(f64::max))
    }

    /// Returns the growth of the vector in the last step; 0 if the vector has become 0.
    fn power_method(&mut self) -> Result<f64, Error> {
        self.start()?;
        let mut growth = 0.0;
        for step in 0..=POWER_STEPS {
            let Self { space, nothing, v, .. } = self;
            space.pass(Dot, [], [&*v, &*v], [])?;
            space.finish(SQUARE, nothing)?;
            let norm = space.scalars()?[SQUARE as usize].sqrt();
            if step > 0 {
                growth = norm;
            }
            let is_something = norm > 0.0;
            if !is_something {
                return Ok(0.0);
            }
            // The product is followed by the next norm.
            if step < POWER_STEPS {
                space.set(&[(FACTORS[0], 1.0 / norm)])?;
                space.pass(Scaled, [FACTORS[0]], [&*v], [&mut self.q])?;
                self.matrix.apply(W::ONE, &self.q, W::ZERO, &mut self.z)?;
                self.inverse_diagonal.apply(&mut self.space, &self.z, &mut self.v)?;
            }
        }
        Ok(growth)
    }
}

#[cfg(test)]
mod tests {
    use host::executor::{Cpu, Emulated};
    use host::format::{Csr, Format};

    use super::super::diagonal::{Divisor, InvertDiagonal};
    use super::*;

    fn chain(rows: usize, before: f64, after: f64, on_diagonal: f64) -> Csr<f64> {
        let (mut row_indices, mut columns, mut values) = (vec![], vec![], vec![]);
        for row in 0..rows {
            let neighbours =
                [(row > 0, row.wrapping_sub(1), before), (true, row, on_diagonal), (row + 1 < rows, row + 1, after)];
            for (_, column, value) in neighbours.into_iter().filter(|(is, ..)| *is) {
                row_indices.push(row as u32);
                columns.push(column as u32);
                values.push(value);
            }
        }
        Csr::try_from_triplets(rows, rows, &row_indices, &columns, &values).unwrap()
    }

    fn found<E: Executor>(executor: &E, matrix: Csr<f64>) -> Result<f64, Error> {
        let matrix = matrix.upload(executor)?;
        let inverse = executor.run::<InvertDiagonal<f64>>((&matrix, Divisor::Diagonal))?;
        let mut plan = Plan::in_memory(executor, matrix, Format::CSR_VECTOR, Default::default())?;
        largest_eigenvalue(&mut plan, &mut Diagonal::Vector(inverse.elements), inverse.bound, inverse.positive)
    }

    fn check<E: Executor>(executor: &E, most_rows: usize) {
        // 1 + cos(π / (rows + 1)).
        for rows in [1, 2, 5, 50, most_rows] {
            let exact = 1.0 + (std::f64::consts::PI / (rows + 1) as f64).cos();
            let found = found(executor, chain(rows, -1.0, -1.0, 2.0)).unwrap();
            assert!((0.99 * exact..=1.05 * exact + 1e-12).contains(&found), "{rows} rows: {found}, {exact}");
        }
        // Not symmetric: 1 + √(1.4 · 0.6) cos(π / (rows + 1)).
        let unsymmetric = found(executor, chain(60, -1.4, -0.6, 2.0)).unwrap();
        assert!((1.7..2.1).contains(&unsymmetric), "{unsymmetric}");
        assert_eq!(found(executor, chain(3, 0.0, 0.0, 0.0)).unwrap(), 1.0);
        // A single eigenvalue.
        assert_eq!(found(executor, chain(30, 0.0, 0.0, 4.0)).unwrap(), 1.0);
        // A negative definite one.
        let negative = found(executor, chain(40, -1.0, -1.0, -2.0)).unwrap();
        assert!((1.7..=2.0).contains(&negative), "{negative}");
        assert!(found(executor, chain(3, f64::NAN, 1.0, 2.0)).is_err());
    }

    #[test]
    fn the_largest_eigenvalue_is_hardly_missed() {
        check(&Cpu::new(), if cfg!(miri) { 60 } else { 5000 });
        // Miri has no lanes.
        if !cfg!(miri) {
            check(&Emulated::new(1), 300);
        }
    }
}
