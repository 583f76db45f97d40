//! The number types of matrices and vectors.

use std::fmt::{Debug, Display};

use cuda_std::GpuFloat;
use gpu_kernels::absent::Absent;

use crate::accumulator::{Accumulator, Exact};
use crate::format::narrow::Narrowed;
use crate::memory::Element;

/// A number type that matrices and vectors hold: real or complex. What it is as text is the business of files, and which
/// kernels are compiled for it that of the kernels.
pub trait Scalar: Element + Absent + Debug + Display + Narrowed {
    /// The name, such as "float64".
    const NAME: &'static str;

    /// Whether it has an imaginary part.
    const COMPLEX: bool;

    /// The type of its real and imaginary part.
    type Real: Real;

    /// The same kind of number with parts of 64 bits.
    type Wide: Scalar<Real = f64, Wide = Self::Wide>;

    /// An element of a product in twice the working precision.
    type Exact: ExactElement<Self>;

    /// A sum of products in twice the working precision.
    type Sum: ExactSum<Self>;

    /// Number of parts: 2 of a complex number.
    const PARTS: usize = if Self::COMPLEX { 2 } else { 1 };

    /// The nearest number of this type.
    fn from_f64(value: f64) -> Self {
        Self::from_parts(value, 0.0)
    }

    /// The nearest number of this type; a real one has no imaginary part.
    fn from_parts(re: f64, im: f64) -> Self;

    /// Its real and its imaginary part, exactly; that of a real number is 0.
    fn parts(self) -> [f64; 2];

    /// The same number with parts of 64 bits, exactly.
    fn to_wide(self) -> Self::Wide {
        let [re, im] = self.parts();
        Self::Wide::from_parts(re, im)
    }

    /// The nearest number of this type.
    fn from_wide(value: Self::Wide) -> Self {
        let [re, im] = value.parts();
        Self::from_parts(re, im)
    }

    /// |z|.
    fn magnitude(self) -> f64 {
        let [re, im] = self.parts();
        if Self::COMPLEX { re.hypot(im) } else { re.abs() }
    }

    /// Whether all parts are finite.
    fn is_finite(self) -> bool {
        self.parts().into_iter().all(f64::is_finite)
    }
}

/// The parts of numbers, one after the other: of a complex number the real part first.
pub fn parts_of<T: Scalar>(numbers: &[T]) -> &[T::Real] {
    bytemuck::cast_slice(numbers)
}

/// [`parts_of`] numbers, to write to.
pub fn parts_of_mut<T: Scalar>(numbers: &mut [T]) -> &mut [T::Real] {
    bytemuck::cast_slice_mut(numbers)
}

/// [`parts_of`] numbers in a vector of their own, which they give up.
pub fn into_parts<T: Scalar>(numbers: Vec<T>) -> Vec<T::Real> {
    bytemuck::allocation::cast_vec(numbers)
}

/// A sum of products in twice the working precision.
pub trait ExactSum<T: Scalar>: Copy + Default + Send + Sync {
    /// Adds `a * b`.
    fn add(&mut self, a: T, b: T);

    /// α times the sum + β y; with β = 0, `y` is not looked at.
    fn combined(self, alpha: T, beta: T, y: T) -> T::Exact;
}

/// An element of a product in twice the working precision, with what its error bound needs to know.
pub trait ExactElement<T>: Copy + Debug + Send + Sync {
    /// The nearest number of the type.
    fn rounded(&self) -> T;

    /// Its parts, and those of a computed number beside them: one of a real number, two of a complex one.
    fn beside(&self, computed: T) -> impl Iterator<Item = (Exact, f64)>;
}

impl<T: Real> ExactSum<T> for Accumulator {
    fn add(&mut self, a: T, b: T) {
        self.add_product(a.to_f64(), b.to_f64());
    }

    fn combined(self, alpha: T, beta: T, y: T) -> Exact {
        self.combine(alpha.to_f64(), beta.to_f64(), y.to_f64())
    }
}

impl<T: Real> ExactElement<T> for Exact {
    fn rounded(&self) -> T {
        T::from_f64(self.value())
    }

    fn beside(&self, computed: T) -> impl Iterator<Item = (Exact, f64)> {
        [(*self, computed.to_f64())].into_iter()
    }
}

/// A real number type that matrices and vectors hold: `f32` or `f64`.
pub trait Real: Scalar<Real = Self, Sum = Accumulator, Exact = Exact> + GpuFloat {
    /// Half the distance from 1 to the next larger number: the largest relative error of one rounding.
    const UNIT_ROUNDOFF: f64;
    /// The smallest positive number.
    const SMALLEST_SUBNORMAL: f64;
    /// What an addition of a GPU's atomic units may lose: in `f32` they take subnormal numbers for 0 (PTX ISA, `atom`).
    const ATOMIC_UNDERFLOW: f64;
    /// The largest finite number.
    const LARGEST: f64;

    /// The same number as `f64`, exactly.
    fn to_f64(self) -> f64;
}

impl Scalar for f32 {
    const NAME: &'static str = "float32";
    const COMPLEX: bool = false;
    type Real = Self;
    type Wide = f64;
    type Exact = Exact;
    type Sum = Accumulator;

    fn from_parts(re: f64, _: f64) -> Self {
        re as f32
    }

    fn parts(self) -> [f64; 2] {
        [self.to_f64(), 0.0]
    }
}

impl Real for f32 {
    const UNIT_ROUNDOFF: f64 = f32::EPSILON as f64 / 2.0;
    const SMALLEST_SUBNORMAL: f64 = f32::from_bits(1) as f64;
    const ATOMIC_UNDERFLOW: f64 = f32::MIN_POSITIVE as f64;
    const LARGEST: f64 = f32::MAX as f64;

    fn to_f64(self) -> f64 {
        self.into()
    }
}

impl Scalar for f64 {
    const NAME: &'static str = "float64";
    const COMPLEX: bool = false;
    type Real = Self;
    type Wide = Self;
    type Exact = Exact;
    type Sum = Accumulator;

    fn from_parts(re: f64, _: f64) -> Self {
        re
    }

    fn parts(self) -> [f64; 2] {
        [self.to_f64(), 0.0]
    }
}

impl Real for f64 {
    const UNIT_ROUNDOFF: f64 = f64::EPSILON / 2.0;
    const SMALLEST_SUBNORMAL: f64 = f64::from_bits(1);
    const ATOMIC_UNDERFLOW: f64 = Self::SMALLEST_SUBNORMAL;
    const LARGEST: f64 = f64::MAX;

    fn to_f64(self) -> f64 {
        self
    }
}
