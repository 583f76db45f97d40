//! The number types of matrices and vectors.

use std::fmt::{Debug, Display};

use cuda_std::GpuFloat;
use gpu_kernels::absent::Absent;

use crate::accumulator::Accumulator;
use crate::memory::Element;

/// A number type that matrices and vectors hold: real or complex. What it is as text is the business of files, and which
/// kernels are compiled for it that of the kernels.
pub trait Scalar: Element + Absent + Debug + Display {
    /// The name, such as "float64".
    const NAME: &'static str;

    /// The type of its real and imaginary part.
    type Real: Real;

    /// A sum of products in twice the working precision.
    type Sum: ExactSum<Self>;
}

/// A sum of products in twice the working precision.
pub trait ExactSum<T>: Copy + Default {
    /// Adds `a * b`.
    fn add(&mut self, a: T, b: T);

    /// α times the sum + β y, rounded once; with β = 0, `y` is not looked at.
    fn combined(self, alpha: T, beta: T, y: T) -> T;
}

impl<T: Real> ExactSum<T> for Accumulator {
    fn add(&mut self, a: T, b: T) {
        self.add_product(a.to_f64(), b.to_f64());
    }

    fn combined(self, alpha: T, beta: T, y: T) -> T {
        T::from_f64(self.combine(alpha.to_f64(), beta.to_f64(), y.to_f64()).value())
    }
}

/// A real number type that matrices and vectors hold: `f32` or `f64`.
pub trait Real: Scalar<Real = Self, Sum = Accumulator> + GpuFloat {
    /// Half the distance from 1 to the next larger number: the largest relative error of one rounding.
    const UNIT_ROUNDOFF: f64;
    /// The smallest positive number.
    const SMALLEST_SUBNORMAL: f64;
    /// What an addition of a GPU's atomic units may lose: in `f32` they take subnormal numbers for 0 (PTX ISA, `atom`).
    const ATOMIC_UNDERFLOW: f64;
    /// The largest finite number.
    const LARGEST: f64;

    /// The nearest number of this type.
    fn from_f64(value: f64) -> Self;
    /// The same number as `f64`, exactly.
    fn to_f64(self) -> f64;
}

impl Scalar for f32 {
    const NAME: &'static str = "float32";
    type Real = Self;
    type Sum = Accumulator;
}

impl Real for f32 {
    const UNIT_ROUNDOFF: f64 = f32::EPSILON as f64 / 2.0;
    const SMALLEST_SUBNORMAL: f64 = f32::from_bits(1) as f64;
    const ATOMIC_UNDERFLOW: f64 = f32::MIN_POSITIVE as f64;
    const LARGEST: f64 = f32::MAX as f64;

    fn from_f64(value: f64) -> Self {
        value as f32
    }

    fn to_f64(self) -> f64 {
        self.into()
    }
}

impl Scalar for f64 {
    const NAME: &'static str = "float64";
    type Real = Self;
    type Sum = Accumulator;
}

impl Real for f64 {
    const UNIT_ROUNDOFF: f64 = f64::EPSILON / 2.0;
    const SMALLEST_SUBNORMAL: f64 = f64::from_bits(1);
    const ATOMIC_UNDERFLOW: f64 = Self::SMALLEST_SUBNORMAL;
    const LARGEST: f64 = f64::MAX;

    fn from_f64(value: f64) -> Self {
        value
    }

    fn to_f64(self) -> f64 {
        self
    }
}
