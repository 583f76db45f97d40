//! Floating-point numbers.

use core::ops::{Add, Mul, Neg, Sub};

use crate::global::Scalar;
use crate::shared::SharedValue;
use crate::warp::WarpShuffleValue;
use crate::{EntryName, backend};

/// A number type that kernels add and multiply: real or complex.
pub trait GpuScalar:
    Scalar
    + SharedValue
    + WarpShuffleValue
    + EntryName
    + Default
    + PartialEq
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
{
    /// The number 0.
    const ZERO: Self;
    /// The number 1.
    const ONE: Self;

    /// Whether the type has an imaginary part.
    const HAS_IMAGINARY_PART: bool;

    /// The [`EntryName`] of a pair of these numbers, which no other type has.
    #[doc(hidden)]
    const PAIR_NAME: &'static str;

    /// `self * factor + addend`; for real numbers, rounded once.
    fn mul_add(self, factor: Self, addend: Self) -> Self;

    /// The complex conjugate; a real number itself.
    fn conjugate(self) -> Self;

    /// The real and the imaginary part, in 64 bits.
    fn wide_parts(self) -> [f64; 2];

    /// The nearest number with these real and imaginary parts; a real type ignores the latter.
    fn from_wide_parts(parts: [f64; 2]) -> Self;

    /// The bits as one number; those of an imaginary part are the upper ones.
    fn bits(self) -> u128;

    /// Atomically adds to a number in global memory; for complex numbers, to each part separately.
    ///
    /// # Safety
    /// `place` points into an array in global memory.
    #[doc(hidden)]
    unsafe fn atomic_add(place: *mut Self, value: Self) -> Self;
}

/// A floating-point type that kernels compute with: `f32` or `f64`.
pub trait GpuFloat: GpuScalar + PartialOrd {
    /// The same number in 64 bits.
    fn widen(self) -> f64;

    /// The nearest number of this type.
    fn narrow(value: f64) -> Self;
}

macro_rules! gpu_float {
    ($type:ident, $pair:literal, $fused:ident, $atomic:ident) => {
        impl GpuScalar for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const HAS_IMAGINARY_PART: bool = false;
            const PAIR_NAME: &'static str = $pair;

            #[inline(always)]
            fn mul_add(self, factor: Self, addend: Self) -> Self {
                backend::$fused(self, factor, addend)
            }

            #[inline(always)]
            fn conjugate(self) -> Self {
                self
            }

            #[inline(always)]
            fn wide_parts(self) -> [f64; 2] {
                [self.into(), 0.0]
            }

            #[inline(always)]
            fn from_wide_parts([value, _]: [f64; 2]) -> Self {
                value as $type
            }

            #[inline(always)]
            fn bits(self) -> u128 {
                self.to_bits().into()
            }

            #[inline(always)]
            unsafe fn atomic_add(place: *mut Self, value: Self) -> Self {
                // SAFETY: the caller's promise.
                unsafe { backend::$atomic(place, value) }
            }
        }

        impl GpuFloat for $type {
            #[inline(always)]
            fn widen(self) -> f64 {
                self as f64
            }

            #[inline(always)]
            fn narrow(value: f64) -> Self {
                value as $type
            }
        }
    };
}

gpu_float!(f32, "f32x2", fused_f32, atomic_add_f32);
gpu_float!(f64, "f64x2", fused_f64, atomic_add_f64);

/// The square root, rounded once; NaN for a negative number.
#[inline(always)]
pub fn square_root(value: f64) -> f64 {
    backend::square_root(value)
}
