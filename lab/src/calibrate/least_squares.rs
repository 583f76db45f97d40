//! Least squares with non-negative coefficients.

/// Largest number of rounds of coordinate descent.
const ROUNDS: usize = 5000;

/// A change of all coefficients, scaled to the size of their columns, that is small enough to stop.
const SMALL: f64 = 1e-12;

/// Returns the coefficients w ≥ 0 that minimize Σ (w · row - 1)². With rows divided by their targets, this is the sum of
/// squared relative errors.
pub(super) fn fit<const N: usize>(rows: &[[f64; N]]) -> [f64; N] {
    fit_to(rows.iter().map(|row| (row, 1.0)))
}

/// Returns the coefficients w ≥ 0 that minimize Σ (w · row - target)², by coordinate descent on the normal equations.
/// O(rows · N² + rounds · N²).
pub(crate) fn fit_to<'a, const N: usize>(rows: impl Iterator<Item = (&'a [f64; N], f64)> + Clone) -> [f64; N] {
    // Columns differ by many orders of magnitude.
    let scale: [f64; N] = std::array::from_fn(|column| {
        rows.clone().map(|(row, _)| row[column].powi(2)).sum::<f64>().sqrt().max(f64::MIN_POSITIVE)
    });
    let mut products = [[0.0; N]; N];
    let mut targets = [0.0; N];
    for (row, wanted) in rows {
        let scaled: [f64; N] = std::array::from_fn(|column| row[column] / scale[column]);
        for ((left, target), products) in scaled.iter().zip(&mut targets).zip(&mut products) {
            *target += left * wanted;
            products.iter_mut().zip(&scaled).for_each(|(product, right)| *product += left * right);
        }
    }
    let mut weights = [0.0f64; N];
    for _ in 0..ROUNDS {
        let mut change = 0.0f64;
        for column in 0..N {
            if products[column][column] == 0.0 {
                continue;
            }
            let reached: f64 = products[column].iter().zip(&weights).map(|(product, weight)| product * weight).sum();
            let better = (weights[column] + (targets[column] - reached) / products[column][column]).max(0.0);
            change = change.max((better - weights[column]).abs());
            weights[column] = better;
        }
        if change < SMALL {
            break;
        }
    }
    std::array::from_fn(|column| weights[column] / scale[column])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_coefficients_that_made_the_data() {
        let truth = [2e-6, 3e-13, 0.0];
        let mut rows = Vec::new();
        for bytes in [1e4, 1e6, 1e8] {
            for steps in [1.0, 7.0, 300.0] {
                let seconds = truth[0] + truth[1] * bytes + truth[2] * steps;
                rows.push([1.0, bytes, steps].map(|term| term / seconds));
            }
        }
        for (found, truth) in fit(&rows).into_iter().zip(truth) {
            assert!((found - truth).abs() <= 1e-6 * truth.max(1e-9), "{found} is not {truth}");
        }
    }

    #[test]
    fn what_would_be_negative_is_zero() {
        // The best fit of 1 = w0 + w1 x has a negative w1 here.
        let [constant, slope] = fit(&[[0.5, 2.0], [1.0, 1.0], [1.0, 0.0]].map(|[a, b]| [a, b]));
        assert!(constant > 0.0 && slope >= 0.0, "{constant}, {slope}");
        let [constant, slope] = fit(&[[1.0, 0.0], [2.0, 4.0]]);
        assert_eq!(slope, 0.0);
        assert!((constant - 0.6).abs() < 1e-9);
        assert_eq!(fit::<2>(&[]), [0.0; 2]);
    }
}
