//! The factors of the smoothers' steps.

use super::options::Smoother;

impl Smoother {
    /// a and b of each step: d ← a D⁻¹ r + b d, and then x ← x + d, for the residual r and the largest eigenvalue of D⁻¹ A.
    pub(super) fn factors(self, largest: f64) -> Vec<[f64; 2]> {
        let factors = |step: u32| match self {
            // Lottes 2022, algorithm 2: d has no part in the first step.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What the steps leave of the error in an eigenvector.
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
            assert!((left(Smoother::L1Jacobi(2), share, 1.0) - (1.0 - share).powi(2)).abs() < 1e-15);
        }
    }
}
