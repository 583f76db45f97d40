//! Complex numbers of two 32-bit parts.

use num_complex::Complex;

use crate::float::GpuScalar;
use crate::global::Scalar;
use crate::plain::Plain;
use crate::shared::SharedValue;
use crate::warp::WarpShuffleValue;
use crate::{EntryName, backend};

type Complex32 = Complex<f32>;

/// The number whose parts have these bits.
#[inline(always)]
fn of_bits(bits: u64) -> Complex32 {
    let [a, b, c, d, e, f, g, h] = bits.to_ne_bytes();
    Complex { re: f32::from_ne_bytes([a, b, c, d]), im: f32::from_ne_bytes([e, f, g, h]) }
}

/// The bits of both parts.
#[inline(always)]
fn bits_of(number: Complex32) -> u64 {
    let ([a, b, c, d], [e, f, g, h]) = (number.re.to_ne_bytes(), number.im.to_ne_bytes());
    u64::from_ne_bytes([a, b, c, d, e, f, g, h])
}

// SAFETY: two numbers of 32 bits, with repr(C).
unsafe impl Plain for Complex32 {}

// SAFETY: no other type has this name.
unsafe impl EntryName for Complex32 {
    const ENTRY_NAME: &'static str = "c32";
}

impl Scalar for Complex32 {
    #[inline(always)]
    unsafe fn read(address: *const Self) -> Self {
        // SAFETY: the caller's promise.
        of_bits(unsafe { backend::read_64(address.cast()) })
    }

    #[inline(always)]
    unsafe fn read_streaming(address: *const Self) -> Self {
        // SAFETY: the caller's promise.
        of_bits(unsafe { backend::read_streaming_64(address.cast()) })
    }

    #[inline(always)]
    unsafe fn read_streaming_2(address: *const Self) -> [Self; 2] {
        // SAFETY: the caller's promise.
        unsafe { backend::read_streaming_2x64(address.cast()) }.map(of_bits)
    }

    #[inline(always)]
    unsafe fn read_streaming_4(address: *const Self) -> [Self; 4] {
        // SAFETY: the caller's promise.
        unsafe { backend::read_streaming_4x64(address.cast()) }.map(of_bits)
    }

    #[inline(always)]
    unsafe fn read_streaming_apart(address: *const Self, step: u64, count: u32, absent: Self) -> [Self; 4] {
        // SAFETY: the caller's promise.
        unsafe { backend::read_streaming_apart_64(address.cast(), step, count, bits_of(absent)) }.map(of_bits)
    }
}

impl SharedValue for Complex32 {
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn read(offset: u32) -> Self {
        // SAFETY: the caller's promise.
        of_bits(unsafe { backend::shared_read_64(offset) })
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn write(offset: u32, value: Self) {
        // SAFETY: the caller's promise.
        unsafe { backend::shared_write_64(offset, bits_of(value)) }
    }
}

impl WarpShuffleValue for Complex32 {
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn shuffle<M: backend::ShuffleMode>(mask: u32, value: Self, operand: u32, width: u32) -> Self {
        // SAFETY: the caller's promise.
        of_bits(unsafe { backend::shuffle_64::<M>(mask, bits_of(value), operand, width) })
    }
}

impl GpuScalar for Complex32 {
    const ZERO: Self = Complex { re: 0.0, im: 0.0 };
    const ONE: Self = Complex { re: 1.0, im: 0.0 };

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        let fused = <f32 as GpuScalar>::mul_add;
        let re = fused(self.re, factor.re, fused(-self.im, factor.im, addend.re));
        let im = fused(self.re, factor.im, fused(self.im, factor.re, addend.im));
        Complex { re, im }
    }

    #[inline(always)]
    unsafe fn atomic_add(place: *mut Self, value: Self) -> Self {
        let part = place.cast::<f32>();
        // SAFETY: the caller's promise, for both parts.
        unsafe { Complex { re: f32::atomic_add(part, value.re), im: f32::atomic_add(part.add(1), value.im) } }
    }
}
