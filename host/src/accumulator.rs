//! Sums of products in twice the working precision, and norms.

/// A sum of products in twice the working precision (an unevaluated sum of two `f64`), with the terms of its error
/// bound.
#[derive(Clone, Copy, Debug, Default)]
pub struct Accumulator {
    pub(crate) high: f64,
    pub(crate) low: f64,
    /// The sum of the terms' magnitudes, without terms that have an infinite or NaN factor.
    pub(crate) magnitude: f64,
    pub(crate) terms: usize,
    /// Whether a factor was infinite or NaN.
    pub(crate) special: bool,
}

impl Accumulator {
    /// Adds `a * b`; the product is exact except for underflow, and the sum is compensated.
    pub fn add_product(&mut self, a: f64, b: f64) {
        let product = a * b;
        let product_error = f64::mul_add(a, b, -product);
        let sum = self.high + product;
        let part = sum - self.high;
        let sum_error = (self.high - (sum - part)) + (product - part);
        self.high = sum;
        // Infinities and NaNs live in `high` alone; their errors are NaN and mean nothing.
        let error = sum_error + product_error;
        if error.is_finite() {
            self.low += error;
        }
        self.terms += 1;
        if a.is_finite() && b.is_finite() {
            self.magnitude += product.abs();
        } else {
            self.special = true;
        }
    }

    /// α times this sum + β y; with β = 0, `y` is not read.
    pub fn combine(self, alpha: f64, beta: f64, y: f64) -> Exact {
        Exact::combined(&[(alpha, self)], &[(beta, y)][..usize::from(beta != 0.0)])
    }
}

/// An element of α A x + β y, or a part of a complex one, with the sum of its terms' magnitudes.
#[derive(Clone, Copy, Debug)]
pub struct Exact {
    pub(crate) sum: Accumulator,
    /// The sum of the terms' magnitudes, before or after multiplication by α, whichever is larger.
    pub(crate) largest: f64,
    /// |α|; for a complex number, the sum of the magnitudes of its parts.
    pub(crate) alpha: f64,
    /// Real products, and therefore additions, per entry of the row: 2 in a part of a complex element.
    pub(crate) products: usize,
}

impl Exact {
    /// The sum of `sums`, each times its factor, and of `products`. The sums are of the same row: one for a real element,
    /// two for a part of a complex one.
    pub(crate) fn combined(sums: &[(f64, Accumulator)], products: &[(f64, f64)]) -> Self {
        let mut total = Accumulator::default();
        let (mut magnitude, mut largest, mut scale, mut special) = (0.0, 0f64, 0.0, false);
        for (alpha, sum) in sums {
            total.add_product(*alpha, sum.high);
            if sum.high.is_finite() {
                total.add_product(*alpha, sum.low);
            }
            // Also for terms that overflow.
            magnitude += if *alpha == 0.0 { 0.0 } else { alpha.abs() * sum.magnitude };
            largest = largest.max(sum.magnitude);
            scale += alpha.abs();
            special |= sum.special || !alpha.is_finite();
        }
        for &(beta, y) in products {
            total.add_product(beta, y);
            if beta.is_finite() && y.is_finite() {
                magnitude += (beta * y).abs();
            } else {
                special = true;
            }
        }
        let terms = sums.first().map_or(0, |(_, sum)| sum.terms / sums.len());
        let sum = Accumulator { magnitude, terms, special, ..total };
        Self { sum, largest: magnitude.max(largest), alpha: scale, products: sums.len() }
    }

    /// The absolute error of `computed`.
    pub(crate) fn distance(&self, computed: f64) -> f64 {
        ((computed - self.sum.high) - self.sum.low).abs()
    }

    /// The element, rounded to `f64`.
    pub fn value(&self) -> f64 {
        if self.sum.high.is_finite() { self.sum.high + self.sum.low } else { self.sum.high }
    }
}

/// A Euclidean norm, accumulated number by number. Squares neither underflow nor overflow: each number is divided by
/// the largest so far before it is squared (as in reference BLAS, `nrm2`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Norm {
    largest: f64,
    squares: f64,
}

impl Norm {
    /// Adds a number.
    pub fn add(&mut self, value: f64) {
        self.join(Self { largest: value.abs(), squares: f64::from(value != 0.0) });
    }

    /// Adds the numbers behind another norm.
    pub fn join(&mut self, other: Self) {
        let (mut large, mut small) = (*self, other);
        if small.largest > large.largest {
            (large, small) = (small, large);
        }
        let ratio = if small.largest == large.largest { 1.0 } else { small.largest / large.largest };
        *self = Self { largest: large.largest, squares: large.squares + small.squares * ratio * ratio };
    }

    /// The norm.
    pub fn value(&self) -> f64 {
        self.over(&Self { largest: 1.0, squares: 1.0 })
    }

    /// This norm divided by another one; 0 if this one is 0.
    pub fn over(&self, other: &Self) -> f64 {
        if self.largest == 0.0 {
            return 0.0;
        }
        self.largest / other.largest * (self.squares / other.squares).sqrt()
    }
}

impl FromIterator<f64> for Norm {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut norm = Self::default();
        values.into_iter().for_each(|value| norm.add(value));
        norm
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn norms_are_those_of_numbers_of_any_size() {
        for scale in [1.0, 1e-320, 1e-170, 1e-162, 1e160, 3e307] {
            for (values, expected) in [
                (&[][..], 0.0),
                (&[0.0, -0.0], 0.0),
                (&[3.0, -4.0], 5.0),
                (&[0.0, 1.0, 1.0, 0.0, 1.0, 1.0], 2.0),
                (&[1e-200, 2.0, 1e-200], 2.0),
            ] {
                let norm: Norm = values.iter().map(|value| value * scale).collect();
                // Subnormal numbers have few digits.
                let error = (norm.value() / (expected * scale) - 1.0).abs();
                assert!(expected == 0.0 && norm.value() == 0.0 || error < 1e-3, "{values:?} · {scale}: {norm:?}");
                let half = values.len() / 2;
                let mut parts: Norm = values[..half].iter().map(|value| value * scale).collect();
                parts.join(values[half..].iter().map(|value| value * scale).collect());
                assert!((parts.value() - norm.value()).abs() <= 1e-15 * norm.value(), "{parts:?}, {norm:?}");
                assert_eq!(norm.over(&norm), f64::from(expected != 0.0));
            }
        }
        let norm = |values: &[f64]| values.iter().copied().collect::<Norm>().value();
        assert_eq!(norm(&[1.0, f64::INFINITY, -f64::INFINITY, 2.0]), f64::INFINITY);
        assert!(norm(&[1.0, f64::NAN, 2.0]).is_nan() && norm(&[f64::NAN, f64::INFINITY]).is_nan());
        // The norm overflows, though no number does.
        assert_eq!(norm(&[f64::MAX; 4]), f64::INFINITY);
        let large: Norm = [f64::MAX; 4].into_iter().collect();
        assert_eq!(large.over(&[f64::MAX].into_iter().collect()), 2.0);
    }
}
