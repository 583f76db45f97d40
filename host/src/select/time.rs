//! The time of a kernel, from the amounts of its work and the device's time per unit of each.

use super::work::{TERMS, Terms};

/// The resources of a GPU that kernels use concurrently, each with its indices in [`TERMS`]: the memory, the path of x
/// to the multiprocessors, instruction issue, and threads that wait for themselves. The launch precedes all of them.
const RESOURCES: [&[usize]; 4] = [&[1, 2], &[3], &[4, 5], &[6, 7]];

/// How far the busiest resource hides the others, as the p of a p-norm: with 1 all times add up, with infinity only the
/// longest counts.
const SHARPNESS: i32 = 3;

/// The smallest time that is distinguished from zero.
const LEAST: f64 = 1e-30;

/// Seconds of work with these terms, at these seconds per unit of each.
pub fn seconds(rates: &Terms, terms: &Terms) -> f64 {
    Busy::new(rates, terms).total
}

/// The logarithm of [`seconds`], and its derivatives by the logarithm of each rate.
pub fn log_seconds(rates: &Terms, terms: &Terms) -> (f64, Terms) {
    let Busy { each, resources, together, total } = Busy::new(rates, terms);
    let mut slopes = [0.0; TERMS.len()];
    slopes[0] = each[0] / total;
    if together > 0.0 {
        for (places, resource) in RESOURCES.iter().zip(resources) {
            let share = (resource / together).powi(SHARPNESS - 1) / total;
            places.iter().for_each(|&place| slopes[place] = each[place] * share);
        }
    }
    (total.ln(), slopes)
}

struct Busy {
    /// Seconds of each term on its own.
    each: Terms,
    /// Seconds of each resource.
    resources: [f64; RESOURCES.len()],
    /// Seconds of all resources together, which overlap.
    together: f64,
    total: f64,
}

impl Busy {
    fn new(rates: &Terms, terms: &Terms) -> Self {
        let each: Terms = std::array::from_fn(|place| rates[place] * terms[place]);
        let resources = RESOURCES.map(|places| places.iter().map(|&place| each[place]).sum::<f64>());
        let longest = resources.into_iter().fold(0.0, f64::max);
        let together = if longest > 0.0 {
            // Divided by the longest, so that no power underflows.
            let sum: f64 = resources.iter().map(|resource| (resource / longest).powi(SHARPNESS)).sum();
            longest * sum.powf(1.0 / f64::from(SHARPNESS))
        } else {
            0.0
        };
        Self { each, resources, together, total: (each[0] + together).max(LEAST) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: Terms = [3e-6, 2e-13, 5e-13, 1e-13, 4e-13, 2e-12, 1e-8, 2e-8];
    const WORK: Terms = [2.0, 3e8, 1e7, 4e8, 2e8, 1e6, 30.0, 20.0];

    #[test]
    fn the_busiest_resource_hides_the_others() {
        let alone = |place: usize| {
            let mut terms = [0.0; TERMS.len()];
            terms[place] = WORK[place];
            seconds(&RATES, &terms)
        };
        let sum: f64 = (0..TERMS.len()).map(alone).sum();
        let longest = alone(1) + alone(2);
        let all = seconds(&RATES, &WORK);
        assert!(all > longest + alone(0) && all < sum, "{all} of {sum}");
        // Two that use the same resource take turns, as does the launch that comes before.
        let mut terms = [0.0; TERMS.len()];
        (terms[0], terms[1], terms[2]) = (WORK[0], WORK[1], WORK[2]);
        assert!((seconds(&RATES, &terms) / (alone(0) + longest) - 1.0).abs() < 1e-12);
        assert_eq!(seconds(&RATES, &[0.0; TERMS.len()]), LEAST);
    }

    #[test]
    fn slopes_are_those_of_small_steps() {
        let (log, slopes) = log_seconds(&RATES, &WORK);
        assert!((log - seconds(&RATES, &WORK).ln()).abs() < 1e-12);
        for place in 0..TERMS.len() {
            let step = 1e-6f64;
            let mut rates = RATES;
            rates[place] *= step.exp();
            let measured = (seconds(&rates, &WORK).ln() - log) / step;
            assert!((measured - slopes[place]).abs() < 1e-5, "{}: {measured}, {}", TERMS[place], slopes[place]);
        }
    }
}
