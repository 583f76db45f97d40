//! Complex numbers of two 32-bit or two 64-bit parts. Each is loaded and stored in one access, of 8 or 16 bytes.

pub use num_complex::Complex;

use crate::float::GpuScalar;
use crate::global::Scalar;
use crate::plain::Plain;
use crate::shared::SharedValue;
use crate::warp::WarpShuffleValue;
use crate::{EntryName, backend};

/// The bits of a number's parts, in memory order.
trait Parts {
    type Bits;

    fn of_parts(parts: [Self::Bits; 2]) -> Self;
    fn parts(self) -> [Self::Bits; 2];
}

// SAFETY: no other type has this name.
unsafe impl EntryName for Complex<f32> {
    const ENTRY_NAME: &'static str = "c32";
}

// SAFETY: no other type has this name.
unsafe impl EntryName for Complex<f64> {
    const ENTRY_NAME: &'static str = "c64";
}

macro_rules! complex {
    (
        $part:ident, $pair:literal, $bits:ident, $read:ident, $streaming:ident, $two:ident, $four:ident, $apart:ident, $load:ident, $store:ident,
        $shared_read:ident, $shared_write:ident, $shuffle:ident
    ) => {
        // SAFETY: two numbers of 32 or 64 bits, with repr(C).
        unsafe impl Plain for Complex<$part> {}

        impl Parts for Complex<$part> {
            type Bits = $bits;

            #[inline(always)]
            fn of_parts([re, im]: [$bits; 2]) -> Self {
                Self { re: $part::from_bits(re), im: $part::from_bits(im) }
            }

            #[inline(always)]
            fn parts(self) -> [$bits; 2] {
                [self.re.to_bits(), self.im.to_bits()]
            }
        }

        impl Scalar for Complex<$part> {
            #[inline(always)]
            unsafe fn read(address: *const Self) -> Self {
                // SAFETY: the caller's promise.
                Self::of_parts(unsafe { backend::$read(address.cast()) })
            }

            #[inline(always)]
            unsafe fn read_streaming(address: *const Self) -> Self {
                // SAFETY: the caller's promise.
                Self::of_parts(unsafe { backend::$streaming(address.cast()) })
            }

            #[inline(always)]
            unsafe fn read_streaming_2(address: *const Self) -> [Self; 2] {
                // SAFETY: the caller's promise.
                unsafe { backend::$two(address.cast()) }.map(Self::of_parts)
            }

            #[inline(always)]
            unsafe fn read_streaming_4(address: *const Self) -> [Self; 4] {
                // SAFETY: the caller's promise.
                unsafe { backend::$four(address.cast()) }.map(Self::of_parts)
            }

            #[inline(always)]
            unsafe fn read_streaming_apart(address: *const Self, step: u64, count: u32, absent: Self) -> [Self; 4] {
                // SAFETY: the caller's promise.
                unsafe { backend::$apart(address.cast(), step, count, absent.parts()) }.map(Self::of_parts)
            }

            #[inline(always)]
            unsafe fn load(address: *const Self) -> Self {
                // SAFETY: the caller's promise.
                Self::of_parts(unsafe { backend::$load(address.cast()) })
            }

            #[inline(always)]
            unsafe fn store(address: *mut Self, value: Self) {
                // SAFETY: the caller's promise.
                unsafe { backend::$store(address.cast(), value.parts()) }
            }
        }

        impl SharedValue for Complex<$part> {
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            unsafe fn read(offset: u32) -> Self {
                // SAFETY: the caller's promise.
                Self::of_parts(unsafe { backend::$shared_read(offset) })
            }

            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            unsafe fn write(offset: u32, value: Self) {
                // SAFETY: the caller's promise.
                unsafe { backend::$shared_write(offset, value.parts()) }
            }
        }

        impl WarpShuffleValue for Complex<$part> {
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            unsafe fn shuffle<M: backend::ShuffleMode>(mask: u32, value: Self, operand: u32, width: u32) -> Self {
                // SAFETY: the caller's promise.
                Self::of_parts(unsafe { backend::$shuffle::<M>(mask, value.parts(), operand, width) })
            }
        }

        impl GpuScalar for Complex<$part> {
            const ZERO: Self = Self { re: 0.0, im: 0.0 };
            const ONE: Self = Self { re: 1.0, im: 0.0 };
            const HAS_IMAGINARY_PART: bool = true;
            const PAIR_NAME: &'static str = $pair;

            #[inline(always)]
            fn mul_add(self, factor: Self, addend: Self) -> Self {
                let fused = <$part as GpuScalar>::mul_add;
                let re = fused(self.re, factor.re, fused(-self.im, factor.im, addend.re));
                let im = fused(self.re, factor.im, fused(self.im, factor.re, addend.im));
                Self { re, im }
            }

            #[inline(always)]
            fn conjugate(self) -> Self {
                Self { re: self.re, im: -self.im }
            }

            #[inline(always)]
            fn wide_parts(self) -> [f64; 2] {
                [self.re.into(), self.im.into()]
            }

            #[inline(always)]
            fn from_wide_parts([re, im]: [f64; 2]) -> Self {
                Self { re: re as $part, im: im as $part }
            }

            #[inline(always)]
            fn bits(self) -> u128 {
                self.im.bits() << (8 * size_of::<$part>()) | self.re.bits()
            }

            #[inline(always)]
            unsafe fn atomic_add(place: *mut Self, value: Self) -> Self {
                let part = place.cast::<$part>();
                // SAFETY: the caller's promise, for both parts.
                unsafe { Self { re: $part::atomic_add(part, value.re), im: $part::atomic_add(part.add(1), value.im) } }
            }
        }
    };
}

complex!(
    f32,
    "c32x2",
    u32,
    read_pair_32,
    read_streaming_pair_32,
    read_streaming_2_pairs_32,
    read_streaming_4_pairs_32,
    read_streaming_pairs_apart_32,
    load_pair_32,
    store_pair_32,
    shared_read_pair_32,
    shared_write_pair_32,
    shuffle_pair_32
);
complex!(
    f64,
    "c64x2",
    u64,
    read_pair_64,
    read_streaming_pair_64,
    read_streaming_2_pairs_64,
    read_streaming_4_pairs_64,
    read_streaming_pairs_apart_64,
    load_pair_64,
    store_pair_64,
    shared_read_pair_64,
    shared_write_pair_64,
    shuffle_pair_64
);
