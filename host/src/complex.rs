//! Complex numbers of two 32-bit parts.

use num_complex::Complex;

use crate::accumulator::Accumulator;
use crate::memory::{Element, ElementType};
use crate::real::{ExactSum, Scalar};

impl Element for Complex<f32> {
    const TYPE: ElementType = ElementType::Complex64;
}

impl Scalar for Complex<f32> {
    const NAME: &'static str = "complex64";
    type Real = f32;
    type Sum = ComplexSum;
}

/// A sum of products in twice the working precision, part by part.
#[derive(Clone, Copy, Default)]
pub struct ComplexSum {
    re: Accumulator,
    im: Accumulator,
}

impl ExactSum<Complex<f32>> for ComplexSum {
    fn add(&mut self, a: Complex<f32>, b: Complex<f32>) {
        let [a_re, a_im, b_re, b_im] = [a.re, a.im, b.re, b.im].map(f64::from);
        self.re.add_product(a_re, b_re);
        self.re.add_product(-a_im, b_im);
        self.im.add_product(a_re, b_im);
        self.im.add_product(a_im, b_re);
    }

    fn combined(self, alpha: Complex<f32>, beta: Complex<f32>, y: Complex<f32>) -> Complex<f32> {
        let value = |sum: Accumulator| sum.combine(1.0, 0.0, 0.0).value();
        let wide = |number: Complex<f32>| Complex::new(f64::from(number.re), f64::from(number.im));
        let mut result = wide(alpha) * Complex::new(value(self.re), value(self.im));
        if beta != Complex::new(0.0, 0.0) {
            result += wide(beta) * wide(y);
        }
        Complex::new(result.re as f32, result.im as f32)
    }
}
