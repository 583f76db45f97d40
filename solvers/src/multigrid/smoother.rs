//! Smoothers: their factors, and their steps on an executor.

use host::error::Error;
use host::executor::Executor;
use host::plan::Vector;
use host::real::Scalar;

use super::options::Smoother;
use crate::dense::{
    Axpby, Correction, ONE, Scaled, ScaledTwice, SmoothAfterCoarse, SmoothFirst, SmoothNext, Space, ZERO,
};
use crate::preconditioner::Diagonal;

impl Smoother {
    /// Returns a and b of each step: d ← a D⁻¹ r + b d, and then x ← x + d, for the residual r and the largest eigenvalue
    /// of D⁻¹ A.
    pub(super) fn factors(self, largest: f64) -> Vec<[f64; 2]> {
        let factors = |step: u32| match self {
            // Lottes 2022, algorithm 2: d does not occur in the first step.
            Self::Chebyshev(_) => {
                let k = f64::from(step);
                [(8.0 * k - 4.0) / ((2.0 * k + 1.0) * largest), (2.0 * k - 3.0) / (2.0 * k + 1.0)]
            }
            Self::Jacobi(_) => [4.0 / (3.0 * largest), 0.0],
            Self::L1Jacobi(_) => [1.0, 0.0],
        };
        (1..=self.steps()).map(factors).collect()
    }
}

/// A smoother, and its slots.
pub(super) struct Smoothing<T: Scalar, E: Executor> {
    pub(super) inverse_diagonal: Diagonal<T, E>,
    /// D⁻¹ r, for complex matrices.
    pub(super) scaled: Option<Vector<T, E>>,
    /// The slot of the first step's a; b is in the next one, and the other steps follow.
    pub(super) slots: u32,
    pub(super) steps: u32,
}

/// The situation before the first step of a smoother.
pub(super) enum Start {
    /// x is 0.
    Zero,
    /// x is a guess, and the residual has been computed.
    Guess,
    /// The step is the correction of a coarser level, not yet added to x.
    Correction,
}

impl<T: Scalar, E: Executor> Smoothing<T, E> {
    /// The first step. From x = 0, the residual is b, which is copied to `residual`.
    pub(super) fn first(
        &mut self,
        space: &mut Space<E>,
        start: Start,
        b: &Vector<T, E>,
        [residual, step, x]: [&mut Vector<T, E>; 3],
    ) -> Result<(), Error> {
        let a = self.slots;
        let Self { inverse_diagonal, scaled, .. } = self;
        match (inverse_diagonal, scaled, start) {
            (Diagonal::Vector(s), _, Start::Zero) => space.pass(SmoothFirst, [a], [b, &*s], [step, x, residual]),
            (Diagonal::Vector(s), _, Start::Guess) => space.pass(SmoothNext, [a, ZERO], [&*residual, &*s], [step, x]),
            (Diagonal::Vector(s), _, Start::Correction) => {
                space.pass(SmoothAfterCoarse, [a], [&*residual, &*s], [step, x])
            }
            (diagonal, Some(scaled), Start::Zero) => {
                diagonal.apply(space, b, scaled)?;
                space.pass(ScaledTwice, [a], [&*scaled], [step, x])?;
                space.pass(Scaled, [ONE], [b], [residual])
            }
            (diagonal, Some(scaled), start) => {
                if matches!(start, Start::Correction) {
                    space.pass(Axpby, [ONE, ONE], [&*step], [x])?;
                }
                diagonal.apply(space, residual, scaled)?;
                space.pass(Correction, [a, ZERO], [&*scaled], [step, x])
            }
            (Diagonal::Matrix(_), None, _) => Err(Error::Operator { operation: "room for a scaled residual" }),
        }
    }

    /// Step `number` of the following ones, starting at 1.
    pub(super) fn next(
        &mut self,
        space: &mut Space<E>,
        number: u32,
        residual: &Vector<T, E>,
        [step, x]: [&mut Vector<T, E>; 2],
    ) -> Result<(), Error> {
        let a = self.slots + 2 * number;
        match (&mut self.inverse_diagonal, &mut self.scaled) {
            (Diagonal::Vector(s), _) => space.pass(SmoothNext, [a, a + 1], [residual, &*s], [step, x]),
            (diagonal, Some(scaled)) => {
                diagonal.apply(space, residual, scaled)?;
                space.pass(Correction, [a, a + 1], [&*scaled], [step, x])
            }
            (Diagonal::Matrix(_), None) => Err(Error::Operator { operation: "room for a scaled residual" }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The factor by which the steps reduce the error in an eigenvector.
    fn left(smoother: Smoother, eigenvalue: f64, largest: f64) -> f64 {
        let (mut error, mut d) = (1.0, 0.0);
        for (step, [a, b]) in smoother.factors(largest).into_iter().enumerate() {
            d = a * eigenvalue * error + if step > 0 { b * d } else { 0.0 };
            error -= d;
        }
        error
    }

    #[test]
    fn chebyshev_is_the_polynomial_of_the_fourth_kind() {
        // W_k(cos t) = sin((k + 1/2) t) / sin(t / 2), and the error is W_k(1 - 2 λ) / (2 k + 1).
        for degree in [1, 2, 3, 7] {
            for place in 1..=20 {
                let eigenvalue = f64::from(place) / 20.0;
                let t = (1.0 - 2.0 * eigenvalue).acos();
                let k = f64::from(degree);
                let expected = ((k + 0.5) * t).sin() / (t / 2.0).sin() / (2.0 * k + 1.0);
                let left = left(Smoother::Chebyshev(degree), 3.0 * eigenvalue, 3.0);
                assert!((left - expected).abs() < 1e-13, "degree {degree} at {eigenvalue}: {left} and not {expected}");
            }
        }
    }

    #[test]
    fn jacobi_halves_the_larger_half() {
        for place in 10..=20 {
            let share = f64::from(place) / 20.0;
            assert!(left(Smoother::Jacobi(1), 5.0 * share, 5.0).abs() <= 1.0 / 3.0 + 1e-12);
            assert!((left(Smoother::L1Jacobi(2), share, 1.0) - (1.0 - share) * (1.0 - share)).abs() < 1e-15);
        }
    }
}
