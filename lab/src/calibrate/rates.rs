//! Rates that explain measured times.

use host::select::time::log_seconds;
use host::select::{TERMS, Terms};
use nalgebra::{SMatrix, SVector};

/// Number of rates.
const N: usize = TERMS.len();

/// Above this logarithm of predicted over measured, an error counts by its size instead of its square, so that a single
/// unusual matrix does not outweigh several others.
const LARGE_ERROR: f64 = 0.3;

/// Largest number of rounds.
const ROUNDS: usize = 100;

/// A relative decrease of the sum that is small enough to stop.
const SMALL: f64 = 1e-7;

/// The largest change of the logarithm of a rate in a round.
const LARGEST_STEP: f64 = 2.0;

/// A measured time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timed {
    /// The work.
    pub terms: Terms,
    /// Seconds; more than 0.
    pub seconds: f64,
    /// The weight.
    pub weight: f64,
}

/// Returns the rates that minimize the sum of the errors' contributions, by damped Gauss-Newton steps (Levenberg and
/// Marquardt). An error is the logarithm of predicted over measured time, or of a rate over its expected value, which
/// counts `strength` times. Rates that the samples do not determine thus keep their expected values. O(rounds · samples ·
/// N²).
pub(super) fn fit(samples: &[Timed], expected: &Terms, strength: f64) -> Terms {
    let expected = expected.map(|rate| rate.max(f64::MIN_POSITIVE).ln());
    let mut rates = expected;
    let mut state = State::new(samples, &rates, &expected, strength);
    let mut damping = 1e-2;
    for _ in 0..ROUNDS {
        let (next, better) = loop {
            let step = state.step(damping);
            let next: Terms =
                std::array::from_fn(|place| rates[place] + step[place].clamp(-LARGEST_STEP, LARGEST_STEP));
            let better = State::new(samples, &next, &expected, strength);
            if better.sum <= state.sum {
                break (next, better);
            }
            damping *= 4.0;
            if damping > 1e8 {
                return rates.map(f64::exp);
            }
        };
        let decrease = state.sum - better.sum;
        (rates, state, damping) = (next, better, (damping / 5.0).max(1e-9));
        if decrease <= SMALL * state.sum {
            break;
        }
    }
    rates.map(f64::exp)
}

/// The sum at some rates, and its derivatives.
struct State {
    sum: f64,
    curvature: [[f64; N]; N],
    slope: Terms,
}

impl State {
    /// Computes the state at the given logarithms of rates.
    fn new(samples: &[Timed], rates: &Terms, expected: &Terms, strength: f64) -> Self {
        let mut state = Self { sum: 0.0, curvature: [[0.0; N]; N], slope: [0.0; N] };
        let logarithms = rates;
        let rates = rates.map(f64::exp);
        for &Timed { terms, seconds, weight } in samples {
            let (log, slopes) = log_seconds(&rates, &terms);
            let error = log - seconds.ln();
            let size = error.abs();
            let counts = if size <= LARGE_ERROR { size * size } else { LARGE_ERROR * (2.0 * size - LARGE_ERROR) };
            state.sum += weight * counts;
            let weight = weight * (LARGE_ERROR / size).min(1.0);
            for (left, row) in slopes.iter().zip(&mut state.curvature) {
                row.iter_mut().zip(&slopes).for_each(|(sum, right)| *sum += weight * left * right);
            }
            state.slope.iter_mut().zip(&slopes).for_each(|(sum, slope)| *sum += weight * error * slope);
        }
        for place in 0..N {
            let error = logarithms[place] - expected[place];
            state.sum += strength * error * error;
            state.curvature[place][place] += strength;
            state.slope[place] += strength * error;
        }
        state
    }

    /// Returns the step to the minimum of the local parabola, limited in size.
    fn step(&self, damping: f64) -> Terms {
        let mut system = self.curvature;
        for (place, row) in system.iter_mut().enumerate() {
            row[place] += damping * (row[place] + 1e-6);
        }
        let system = SMatrix::<f64, N, N>::from(system);
        let step = system.lu().solve(&-SVector::from(self.slope));
        // A NaN step improves nothing.
        step.map_or([f64::NAN; N], Into::into)
    }
}

#[cfg(test)]
mod tests {
    use host::select::time::seconds;

    use super::*;

    const EXPECTED: Terms = [4e-6, 3e-13, 3e-13, 1.5e-13, 1e-13, 1e-12, 5e-9, 5e-9];
    const TRUTH: Terms = [2e-6, 2e-13, 9e-13, 1e-13, 3e-13, 5e-12, 2e-8, 1e-8];

    /// Work of all kinds and sizes.
    fn samples() -> Vec<Timed> {
        let mut samples = Vec::new();
        for size in 0..6 {
            for kind in 1..N {
                let mut terms = [1.0, 1e5, 1e4, 1e5, 1e4, 1e3, 3.0, 4.0];
                terms[kind] *= 30.0;
                terms[1..].iter_mut().for_each(|term| *term *= 10f64.powi(size));
                samples.push(Timed { terms, seconds: seconds(&TRUTH, &terms), weight: 1.0 });
            }
        }
        samples
    }

    #[test]
    fn finds_the_rates_that_made_the_times() {
        let found = fit(&samples(), &EXPECTED, 1e-6);
        for ((found, truth), name) in found.into_iter().zip(TRUTH).zip(TERMS) {
            assert!((found / truth - 1.0).abs() < 0.02, "{name}: {found} is not {truth}");
        }
    }

    #[test]
    fn a_wild_time_does_not_spoil_the_others() {
        let mut samples = samples();
        samples[20].seconds *= 50.0;
        let found = fit(&samples, &EXPECTED, 1e-6);
        let errors = samples.iter().map(|sample| (seconds(&found, &sample.terms) / sample.seconds).ln().abs());
        assert!(errors.filter(|&error| error > 0.2).count() <= 2, "{found:?}");
    }

    #[test]
    fn what_nothing_is_known_of_is_as_expected() {
        let rates = fit(&[], &EXPECTED, 1.0);
        assert!(rates.iter().zip(EXPECTED).all(|(rate, expected)| (rate / expected - 1.0).abs() < 1e-9));
        // Launches alone do not determine the rates of bytes.
        let launches = [Timed { terms: [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], seconds: 8e-6, weight: 100.0 }];
        let rates = fit(&launches, &EXPECTED, 0.01);
        assert!((rates[0] / 8e-6 - 1.0).abs() < 1e-3, "{rates:?}");
        assert!(rates[1..].iter().zip(&EXPECTED[1..]).all(|(rate, expected)| (rate / expected - 1.0).abs() < 1e-9));
    }
}
