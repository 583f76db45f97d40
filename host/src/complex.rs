//! Complex numbers of two 32-bit or two 64-bit parts.

pub use cuda_std::Complex;

use crate::accumulator::{Accumulator, Exact};
use crate::memory::{Element, ElementType};
use crate::real::{ExactElement, ExactSum, Real, Scalar};

macro_rules! complex {
    ($part:ident, $element:ident, $name:literal) => {
        impl Element for Complex<$part> {
            const TYPE: ElementType = ElementType::$element;
        }

        impl Scalar for Complex<$part> {
            const NAME: &'static str = $name;
            const COMPLEX: bool = true;
            type Real = $part;
            type Wide = Complex<f64>;
            type Exact = Complex<Exact>;
            type Sum = ComplexSum;

            fn from_parts(re: f64, im: f64) -> Self {
                Self::new($part::from_f64(re), $part::from_f64(im))
            }

            fn parts(self) -> [f64; 2] {
                [self.re, self.im].map(Real::to_f64)
            }
        }
    };
}

complex!(f32, Complex64, "complex64");
complex!(f64, Complex128, "complex128");

/// A sum of products in twice the working precision, part by part.
#[derive(Clone, Copy, Default)]
pub struct ComplexSum {
    re: Accumulator,
    im: Accumulator,
}

impl<P: Real> ExactSum<Complex<P>> for ComplexSum
where
    Complex<P>: Scalar<Real = P, Exact = Complex<Exact>>,
{
    fn add(&mut self, a: Complex<P>, b: Complex<P>) {
        let ([a_re, a_im], [b_re, b_im]) = (a.parts(), b.parts());
        self.re.add_product(a_re, b_re);
        self.re.add_product(-a_im, b_im);
        self.im.add_product(a_re, b_im);
        self.im.add_product(a_im, b_re);
    }

    fn combined(self, alpha: Complex<P>, beta: Complex<P>, y: Complex<P>) -> Complex<Exact> {
        let ([alpha_re, alpha_im], [beta_re, beta_im], [y_re, y_im]) = (alpha.parts(), beta.parts(), y.parts());
        let (re, im) = ([(beta_re, y_re), (-beta_im, y_im)], [(beta_re, y_im), (beta_im, y_re)]);
        let of_y = if [beta_re, beta_im] == [0.0; 2] { 0 } else { 2 };
        Complex {
            re: Exact::combined(&[(alpha_re, self.re), (-alpha_im, self.im)], &re[..of_y]),
            im: Exact::combined(&[(alpha_re, self.im), (alpha_im, self.re)], &im[..of_y]),
        }
    }
}

impl<P: Real> ExactElement<Complex<P>> for Complex<Exact>
where
    Complex<P>: Scalar<Real = P>,
{
    fn rounded(&self) -> Complex<P> {
        Complex::from_parts(self.re.value(), self.im.value())
    }

    fn beside(&self, computed: Complex<P>) -> impl Iterator<Item = (Exact, f64)> {
        let [re, im] = computed.parts();
        [(self.re, re), (self.im, im)].into_iter()
    }
}
