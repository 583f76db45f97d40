//! Where the eigenvalues of a symmetric matrix are, about.

use host::error::Error;
use host::executor::Executor;
use host::real::Real;
use nalgebra::DMatrix;

use super::operator::{Multiple, Operator, Product, check_square};
use super::range::{Ranger, power_of_two};
use crate::dense::{Dot, FIRST_SLOT, LanczosUpdate, ONE, Scaled, Space, Step, ZERO};

/// An interval with eigenvalues in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpectralBounds {
    /// Its lower end.
    pub smallest: f64,
    /// Its upper end.
    pub largest: f64,
}

const SQUARE: u32 = FIRST_SLOT;
const GAMMA: u32 = SQUARE + 1;
const OLD_GAMMA: u32 = SQUARE + 2;
const DELTA: u32 = SQUARE + 3;
const LANCZOS: [u32; 3] = [SQUARE + 4, SQUARE + 5, SQUARE + 6];
const SLOTS: u32 = SQUARE + 7;

/// Steps to the coefficients of the three-term recurrence v ← A z / γ − (δ / γ) v − (γ / old γ) old v.
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
    /// Estimates the spectrum of M A, for a symmetric A and a positive definite M, or of A if there is no M, by so many
    /// steps of Lanczos' recurrence from a vector that is always the same.
    ///
    /// The upper end is the largest Ritz value plus the length of the last Lanczos vector, as a rule a bound (Zhou & Li
    /// 2011, §2). The lower end is the smallest Ritz value, which is more than the smallest eigenvalue: after 10 to 20
    /// steps it is good enough for [`Chebyshev`](super::Chebyshev) to converge. A step takes a product with A and one with
    /// M, and waits.
    ///
    /// # Errors
    /// When A is not square, M does not fit it or is not positive definite, a number is not finite, memory runs out, or
    /// the device fails.
    pub fn estimate<T: Real, E: Executor>(
        executor: &E,
        operator: &mut dyn Operator<T, E>,
        mut preconditioner: Option<&mut dyn Operator<T, E>>,
        steps: usize,
    ) -> Result<Self, Error> {
        let rows = check_square(operator, preconditioner.as_deref())?;
        let with = preconditioner.as_mut().map(|preconditioner| &mut **preconditioner as _);
        let (factor, back) = Self::factor_for(executor, operator, with)?;
        let operator = &mut Multiple::new(T::from_f64(factor), operator);
        let mut space = Space::new(executor, SLOTS, 1)?;
        let length = space.program(&[Step::copy(OLD_GAMMA, GAMMA), Step::square_root(GAMMA, SQUARE)])?;
        let mut recurrence = vec![Step::divide(DELTA, DELTA, SQUARE)];
        recurrence.extend(coefficients(LANCZOS, DELTA, GAMMA, OLD_GAMMA));
        let recurrence = space.program(&recurrence)?;
        let (mut v, mut old_v, mut q, mut z) = (
            executor.upload(pseudo_random(rows))?,
            executor.zeros(rows)?,
            executor.zeros(rows)?,
            executor.zeros(rows)?,
        );
        let (mut diagonal, mut lengths) = (Vec::new(), Vec::new());
        loop {
            match &mut preconditioner {
                Some(preconditioner) => preconditioner.apply(T::ONE, &v, T::ZERO, &mut z)?,
                None => space.pass(Scaled, [ONE], [&v], [&mut z])?,
            }
            space.pass(Dot, [], [&v, &z], [])?;
            space.finish(SQUARE, &length)?;
            operator.apply(T::ONE, &z, T::ZERO, &mut q)?;
            space.pass(Dot, [], [&q, &z], [])?;
            space.finish(DELTA, &recurrence)?;
            let scalars = space.scalars()?;
            let (gamma, delta) = (scalars[GAMMA as usize], scalars[DELTA as usize]);
            lengths.push(gamma);
            // If the vector is 0, or as good as, then the spectrum of what was reached is known.
            let reached = diagonal.iter().fold(0.0, |largest: f64, value: &f64| largest.max(value.abs()));
            let ends = gamma <= reached * T::UNIT_ROUNDOFF || diagonal.len() == steps.clamp(1, rows.max(1));
            if !gamma.is_finite() || !(ends || delta.is_finite()) {
                let value = format!("{gamma} after {} steps", diagonal.len());
                let expected = "a finite number, of finite matrices and a positive definite preconditioner";
                return Err(Error::Setting { what: "the length of a Lanczos vector", value, expected });
            }
            if ends {
                break;
            }
            diagonal.push(delta);
            space.pass(LanczosUpdate, LANCZOS, [&q], [&mut old_v, &mut v])?;
        }
        if diagonal.is_empty() {
            return Ok(Self { smallest: 0.0, largest: 0.0 });
        }
        let rest = *lengths.last().unwrap_or(&0.0);
        let tridiagonal = DMatrix::from_fn(diagonal.len(), diagonal.len(), |row, column| match row.abs_diff(column) {
            0 => diagonal[row],
            1 => lengths[row.max(column)],
            _ => 0.0,
        });
        let values = tridiagonal.symmetric_eigenvalues();
        Ok(Self { smallest: values.min() * back, largest: (values.max() + rest) * back })
    }

    /// The factor of A with which squares of what M A makes of vectors are numbers, and one over it.
    fn factor_for<T: Real, E: Executor>(
        executor: &E,
        operator: &mut dyn Operator<T, E>,
        preconditioner: Option<&mut dyn Operator<T, E>>,
    ) -> Result<(f64, f64), Error> {
        let vector = executor.upload(pseudo_random(operator.rows()))?;
        let mut ranger = Ranger::new(executor)?;
        let exponent = match preconditioner {
            None => ranger.exponent_for(operator, &vector)?,
            Some(preconditioner) => {
                let mut both = Product::new(executor, operator, preconditioner)?;
                ranger.exponent_for(&mut both, &vector)?
            }
        };
        Ok((power_of_two(exponent), power_of_two(-exponent)))
    }
}

/// Numbers from −1 to 1, always the same (splitmix64: Steele, Lea & Flood 2014, §5).
pub(super) fn pseudo_random<T: Real>(length: usize) -> Vec<T> {
    let number = |place: usize| {
        let mut bits = (place as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        T::from_f64(((bits ^ bits >> 31) >> 11) as f64 / (1u64 << 52) as f64 - 1.0)
    };
    (0..length).map(number).collect()
}
