//! The number types of matrices and vectors.

use std::fmt::{Debug, Display};

use cuda_std::GpuFloat;
use gpu_kernels::absent::Absent;

use crate::accumulator::{Accumulator, Exact};
use crate::format::narrow::Narrowed;
use crate::memory::Element;

/// A number type of matrices and vectors: real or complex. Its text form is defined by the files crate, and the kernels
/// compiled for it by the kernels crate.
pub trait Scalar: Element + Absent + Debug + Display + Narrowed {
    /// The name, such as "float64".
    const NAME: &'static str;

    /// Whether it has an imaginary part.
    const COMPLEX: bool;

    /// The type of its real and imaginary part.
    type Real: Real;

    /// The same kind of number with 64-bit parts.
    type Wide: Scalar<Real = f64, Wide = Self::Wide>;

    /// An element of a product in twice the working precision.
    type Exact: ExactElement<Self>;

    /// A sum of products in twice the working precision.
    type Sum: ExactSum<Self>;

    /// Number of parts: 2 for a complex number.
    const PARTS: usize = if Self::COMPLEX { 2 } else { 1 };

    /// The nearest number of this type.
    fn from_f64(value: f64) -> Self {
        Self::from_parts(value, 0.0)
    }

    /// The nearest number of this type; a real type ignores the imaginary part.
    fn from_parts(re: f64, im: f64) -> Self;

    /// The real and the imaginary part, exactly; the latter is 0 for a real number.
    fn parts(self) -> [f64; 2];

    /// The same number with 64-bit parts, exactly.
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

/// The parts of numbers, in order: for complex numbers, the real part first.
pub fn parts_of<T: Scalar>(numbers: &[T]) -> &[T::Real] {
    bytemuck::cast_slice(numbers)
}

/// [`parts_of`] numbers, for writing.
pub fn parts_of_mut<T: Scalar>(numbers: &mut [T]) -> &mut [T::Real] {
    bytemuck::cast_slice_mut(numbers)
}

/// [`parts_of`] numbers in an owned vector, without a copy.
pub fn into_parts<T: Scalar>(numbers: Vec<T>) -> Vec<T::Real> {
    bytemuck::allocation::cast_vec(numbers)
}

/// A sum of products in twice the working precision.
pub trait ExactSum<T: Scalar>: Copy + Default + Send + Sync {
    /// Adds `a * b`.
    fn add(&mut self, a: T, b: T);

    /// α times the sum + β y; with β = 0, `y` is not read.
    fn combined(self, alpha: T, beta: T, y: T) -> T::Exact;
}

/// An element of a product in twice the working precision, with the terms of its error bound.
pub trait ExactElement<T>: Copy + Debug + Send + Sync {
    /// The nearest number of the type.
    fn rounded(&self) -> T;

    /// Its parts, each paired with that of a computed number: one for a real number, two for a complex one.
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

/// A real number type of matrices and vectors: `f32` or `f64`.
pub trait Real: Scalar<Real = Self, Sum = Accumulator, Exact = Exact> + GpuFloat {
    /// Half the distance from 1 to the next larger number: the largest relative error of one rounding.
    const UNIT_ROUNDOFF: f64;
    /// The smallest positive number.
    const SMALLEST_SUBNORMAL: f64;
    /// The possible loss in an addition by a GPU's atomic units: in `f32` they flush subnormal numbers to 0 (PTX ISA,
    /// `atom`).
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
