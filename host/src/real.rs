//! The number types of a matrix.

use crate::memory::Element;

/// A real number type that matrices and vectors hold: `f32` or `f64`.
pub trait Real: Element + gpu_kernels::absent::Absent + std::fmt::Display + std::fmt::Debug {
    /// "float32" or "float64".
    const PRECISION: &'static str;
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

impl Real for f32 {
    const PRECISION: &'static str = "float32";
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

impl Real for f64 {
    const PRECISION: &'static str = "float64";
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
