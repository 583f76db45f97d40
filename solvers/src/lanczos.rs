//! Approximate bounds of the eigenvalues of a symmetric or Hermitian matrix.

use host::error::Error;
use host::executor::Executor;
use host::memory::reserve;
use host::real::{Real, Scalar};

use super::operator::{Multiple, Operator, Product, check_square, place_of_part};
use super::range::{Ranger, Scale};
use crate::dense::{Dot, FIRST_SLOT, LanczosUpdate, ONE, PseudoRandom, Scaled, Space, Step, ZERO};

/// An interval that contains eigenvalues.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpectralBounds {
    /// The lower end.
    pub smallest: f64,
    /// The upper end.
    pub largest: f64,
}

const SQUARE: u32 = FIRST_SLOT;
const GAMMA: u32 = SQUARE + 1;
const OLD_GAMMA: u32 = SQUARE + 2;
const DELTA: u32 = SQUARE + 3;
const LANCZOS: [u32; 3] = [SQUARE + 4, SQUARE + 5, SQUARE + 6];
const SLOTS: u32 = SQUARE + 7;

/// Returns steps that compute the coefficients of the three-term recurrence v ← A z / γ − (δ / γ) v − (γ / old γ) old v.
pub(super) fn coefficients([a, b, c]: [u32; 3], delta: u32, gamma: u32, old_gamma: u32) -> [Step; 5] {
    [
        Step::divide(a, ONE, gamma),
        Step::divide(b, delta, gamma),
        Step::subtract(b, ZERO, b),
        Step::divide_or_zero(c, gamma, old_gamma),
        Step::subtract(c, ZERO, c),
    ]
}

impl SpectralBounds {
    /// Estimates the spectrum of M A, for a symmetric or Hermitian A and a positive definite M, or of A without M, by
    /// `steps` steps of Lanczos' recurrence from a fixed vector: at least 1, at most the number of rows.
    ///
    /// The upper end is the largest Ritz value plus the length of the last Lanczos vector, as a rule a bound (Zhou & Li
    /// 2011, §2). The lower end is the smallest Ritz value, which exceeds the smallest eigenvalue: after 10 to 20 steps it
    /// is good enough for [`Chebyshev`](super::Chebyshev) to converge. A step takes a product with A and one with M, and
    /// blocks until they have finished.
    ///
    /// # Errors
    /// When A is not square, M does not fit it or is not positive definite, a number is not finite, memory runs out, or
    /// the device fails.
    pub fn estimate<T: Scalar, E: Executor>(
        executor: &E,
        operator: &mut dyn Operator<T, E>,
        mut preconditioner: Option<&mut dyn Operator<T, E>>,
        steps: usize,
    ) -> Result<Self, Error> {
        let rows = check_square(operator, preconditioner.as_deref())?;
        let (first, all_rows) = place_of_part(operator);
        let with = preconditioner.as_mut().map(|preconditioner| &mut **preconditioner as _);
        let scale = Self::scale_for(executor, operator, with)?;
        let operator = &mut Multiple::new(T::from_f64(scale.factor), operator);
        let mut space = Space::new(executor, SLOTS, 1)?.across(operator.ranks())?;
        let length = space.program(&[Step::copy(OLD_GAMMA, GAMMA), Step::square_root(GAMMA, SQUARE)])?;
        let mut recurrence = vec![Step::divide(DELTA, DELTA, SQUARE)];
        recurrence.extend(coefficients(LANCZOS, DELTA, GAMMA, OLD_GAMMA));
        let recurrence = space.program(&recurrence)?;
        let (mut v, mut old_v, mut q, mut z) = (
            executor.run::<PseudoRandom<T>>((first, rows))?,
            executor.zeros(rows)?,
            executor.zeros(rows)?,
            executor.zeros(rows)?,
        );
        let (mut diagonal, mut lengths, mut reached) = (Vec::new(), Vec::new(), 0.0f64);
        loop {
            match &mut preconditioner {
                Some(preconditioner) => preconditioner.apply(T::ONE, &v, T::ZERO, &mut z)?,
                None => space.pass(Scaled, [ONE], [&v], [&mut z])?,
            }
            space.pass(Dot, [], [&v, &z], [])?;
            space.finish(SQUARE, &length)?;
            space.product(&mut *operator, &z, &mut q, &z, false)?;
            space.finish(DELTA, &recurrence)?;
            let scalars = space.scalars()?;
            let (gamma, delta) = (scalars[GAMMA as usize], scalars[DELTA as usize]);
            reserve(&mut lengths, 1)?;
            lengths.push(gamma);
            // If the vector is 0 or nearly 0, the spectrum of the reached subspace is known.
            let ends = gamma <= reached * T::Real::UNIT_ROUNDOFF || diagonal.len() == steps.clamp(1, all_rows.max(1));
            if !gamma.is_finite() || !(ends || delta.is_finite()) {
                let value = format!("{gamma} after {} steps", diagonal.len());
                let expected = "a finite number, of finite matrices and a positive definite preconditioner";
                return Err(Error::Setting { what: "the length of a Lanczos vector", value, expected });
            }
            if ends {
                break;
            }
            reserve(&mut diagonal, 1)?;
            diagonal.push(delta);
            reached = reached.max(delta.abs());
            space.pass(LanczosUpdate, LANCZOS, [&q], [&mut old_v, &mut v])?;
        }
        if diagonal.is_empty() {
            return Ok(Self { smallest: 0.0, largest: 0.0 });
        }
        let rest = *lengths.last().unwrap_or(&0.0);
        let tridiagonal = Tridiagonal { diagonal: &diagonal, beside: &lengths };
        let [smallest, largest] = tridiagonal.extreme_eigenvalues();
        Ok(Self { smallest: smallest * scale.inverse, largest: (largest + rest) * scale.inverse })
    }

    /// Returns the scaling of A that brings the squares of products M A v into range.
    fn scale_for<T: Scalar, E: Executor>(
        executor: &E,
        operator: &mut dyn Operator<T, E>,
        preconditioner: Option<&mut dyn Operator<T, E>>,
    ) -> Result<Scale, Error> {
        let vector = executor.run::<PseudoRandom<T>>((place_of_part(operator).0, operator.rows()))?;
        let mut ranger = Ranger::new(executor, operator.ranks())?;
        let exponent = match preconditioner {
            None => ranger.exponent_for(operator, &vector)?,
            Some(preconditioner) => {
                let mut both = Product::new(executor, operator, preconditioner)?;
                ranger.exponent_for(&mut both, &vector)?
            }
        };
        Ok(Scale::new(exponent))
    }
}

/// A symmetric tridiagonal matrix with at least one row.
struct Tridiagonal<'a> {
    diagonal: &'a [f64],
    /// Each row's coupling to the previous one. The first element and those past the last row are ignored.
    beside: &'a [f64],
}

impl Tridiagonal<'_> {
    /// Returns the smallest and the largest eigenvalue, as exact as the larger magnitude of the two allows, by bisection
    /// (Golub & Van Loan 2013, §8.4) in O(rows). A dense matrix would take far more memory than the recurrence's vectors.
    fn extreme_eigenvalues(&self) -> [f64; 2] {
        let (mut least, mut most, mut largest_square) = (f64::INFINITY, f64::NEG_INFINITY, 1.0f64);
        for (row, element) in self.diagonal.iter().enumerate() {
            let before = self.before(row).abs();
            // Radius of Gershgorin's circle.
            let radius = before + self.before(row + 1).abs();
            (least, most) = (least.min(element - radius), most.max(element + radius));
            largest_square = largest_square.max(before * before);
        }
        let (least, most) = (least.max(f64::MIN), most.min(f64::MAX));
        let enough = f64::EPSILON / 2.0 * least.abs().max(most.abs());
        // Far below the rounding error of a pivot, and no square divided by it overflows.
        let smallest_pivot = f64::MIN_POSITIVE * largest_square;
        [1, self.diagonal.len()].map(|number| {
            let (mut low, mut high) = (least, most);
            loop {
                let middle = low.midpoint(high);
                if high - low <= enough || middle <= low || middle >= high {
                    return middle;
                }
                let beyond = self.eigenvalues_below(middle, smallest_pivot) >= number;
                if beyond { high = middle } else { low = middle }
            }
        })
    }

    /// Returns the coupling of a row to the previous one; 0 if there is none.
    fn before(&self, row: usize) -> f64 {
        if (1..self.diagonal.len()).contains(&row) { self.beside[row] } else { 0.0 }
    }

    /// Returns the number of eigenvalues below x: the number of negative pivots of T − x I (Sylvester's law of inertia).
    fn eigenvalues_below(&self, x: f64, smallest_pivot: f64) -> usize {
        let (mut pivot, mut negative) = (1.0f64, 0);
        for (row, element) in self.diagonal.iter().enumerate() {
            let before = self.before(row);
            pivot = element - x - before * before / pivot;
            if pivot.abs() < smallest_pivot {
                pivot = -smallest_pivot;
            }
            negative += usize::from(pivot < 0.0);
        }
        negative
    }
}

#[cfg(test)]
mod tests {
    use host::executor::Cpu;
    use nalgebra::DMatrix;

    use super::*;

    #[test]
    fn the_ends_of_the_spectrum_are_those_of_all_eigenvalues() {
        let numbers = Cpu::new().run::<PseudoRandom<f64>>((0, 60)).unwrap();
        for rows in [1, 2, 3, 7, 30] {
            for (scale, of_diagonal, of_beside) in [
                (1.0, 1.0, 1.0),
                (1e-100, 1.0, 1.0),
                (1e120, 1.0, 1.0),
                (1.0, 0.0, 1.0),
                (1.0, 1.0, 0.0),
                (1.0, 0.0, 0.0),
            ] {
                let diagonal: Vec<f64> = numbers[..rows].iter().map(|number| number * of_diagonal * scale).collect();
                let mut beside: Vec<f64> = numbers[30..].iter().map(|number| number * of_beside * scale).collect();
                // Two decoupled matrices.
                beside[rows / 2] *= if rows == 7 { 0.0 } else { 1.0 };
                let matrix = DMatrix::from_fn(rows, rows, |row, column| match row.abs_diff(column) {
                    0 => diagonal[row],
                    1 => beside[row.max(column)],
                    _ => 0.0,
                });
                let values = matrix.symmetric_eigenvalues();
                let tridiagonal = Tridiagonal { diagonal: &diagonal, beside: &beside };
                let [smallest, largest] = tridiagonal.extreme_eigenvalues();
                let near = |value: f64, expected: f64| (value - expected).abs() <= 1e-13 * values.amax();
                assert!(near(smallest, values.min()) && near(largest, values.max()), "{rows}, {scale:e}: {values}");
            }
        }
    }

    #[test]
    fn a_spectrum_at_the_end_of_the_range_is_no_endless_search() {
        let (large, zero) = ([f64::MAX, f64::MIN, f64::MAX], [0.0; 4]);
        let of = |diagonal: &[f64], beside: &[f64]| Tridiagonal { diagonal, beside }.extreme_eigenvalues();
        let [smallest, largest] = of(&large, &zero);
        assert!(smallest < 0.99 * f64::MIN && largest > 0.99 * f64::MAX, "{smallest:e}, {largest:e}");
        assert_eq!(of(&[f64::from_bits(1)], &zero), [f64::from_bits(1); 2]);
        assert!(of(&large, &[1e150; 4]).iter().all(|value| value.is_finite()));
    }
}
