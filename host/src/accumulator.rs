//! Sums of products in twice the working precision.

/// A sum of products in twice the working precision (an unevaluated sum of two `f64`), with what the error
/// bound needs to know.
#[derive(Clone, Copy, Debug, Default)]
pub struct Accumulator {
    pub(crate) high: f64,
    pub(crate) low: f64,
    /// The sum of the terms' magnitudes, but for those that have an infinite or NaN factor.
    pub(crate) magnitude: f64,
    pub(crate) terms: usize,
    /// Whether a factor was infinite or NaN.
    pub(crate) special: bool,
}

impl Accumulator {
    /// Adds `a * b`; the product is exact but for underflow, the sum compensated.
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

    /// α times this sum + β y, where with β = 0 `y` is not looked at.
    pub fn combine(self, alpha: f64, beta: f64, y: f64) -> Exact {
        let mut sum = Self::default();
        sum.add_product(alpha, self.high);
        if self.high.is_finite() {
            sum.add_product(alpha, self.low);
        }
        // Also where the terms are beyond all numbers.
        let mut magnitude = if alpha == 0.0 { 0.0 } else { alpha.abs() * self.magnitude };
        let mut special = self.special || !alpha.is_finite();
        if beta != 0.0 {
            sum.add_product(beta, y);
            if beta.is_finite() && y.is_finite() {
                magnitude += (beta * y).abs();
            } else {
                special = true;
            }
        }
        let largest = magnitude.max(self.magnitude);
        Exact { sum: Self { magnitude, terms: self.terms, special, ..sum }, largest, alpha: alpha.abs() }
    }
}

/// What an element of α A x + β y is, and how large its terms are together.
#[derive(Clone, Copy, Debug)]
pub struct Exact {
    pub(crate) sum: Accumulator,
    /// The terms together, before or after they are multiplied with α, whichever is more.
    pub(crate) largest: f64,
    /// |α|
    pub(crate) alpha: f64,
}

impl Exact {
    /// How far `computed` is off.
    pub(crate) fn distance(&self, computed: f64) -> f64 {
        ((computed - self.sum.high) - self.sum.low).abs()
    }

    /// The element, rounded to `f64`.
    pub fn value(&self) -> f64 {
        if self.sum.high.is_finite() { self.sum.high + self.sum.low } else { self.sum.high }
    }
}
