//! Two numbers side by side, which a lane loads and stores in one access of up to 16 bytes.

use crate::float::GpuScalar;
use crate::global::Scalar;
use crate::plain::Plain;
use crate::shared::SharedValue;
use crate::warp::WarpShuffleValue;
use crate::{EntryName, backend};

/// A lane's elements of several vectors: one of a single vector, or two of neighbouring ones. All are multiplied by the
/// same numbers.
pub trait Elements: Scalar + SharedValue + WarpShuffleValue + EntryName {
    /// The type of each element.
    type Number: GpuScalar;

    /// Number of elements.
    const COUNT: u32;

    /// Zero for each element.
    const ZEROS: Self;

    /// The element-wise sum.
    fn plus(self, other: Self) -> Self;

    /// `factor * self`.
    fn times(self, factor: Self::Number) -> Self;

    /// `factor * self + addend`; for real numbers, rounded once.
    fn times_plus(self, factor: Self::Number, addend: Self) -> Self;
}

impl<T: GpuScalar> Elements for T {
    type Number = T;

    const COUNT: u32 = 1;
    const ZEROS: T = T::ZERO;

    #[inline(always)]
    fn plus(self, other: T) -> T {
        self + other
    }

    #[inline(always)]
    fn times(self, factor: T) -> T {
        factor * self
    }

    #[inline(always)]
    fn times_plus(self, factor: T, addend: T) -> T {
        factor.mul_add(self, addend)
    }
}

/// Two numbers side by side in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Pair<T>(pub [T; 2]);

impl<T: GpuScalar> Elements for Pair<T> {
    type Number = T;

    const COUNT: u32 = 2;
    const ZEROS: Self = Self([T::ZERO; 2]);

    #[inline(always)]
    fn plus(self, Self([a, b]): Self) -> Self {
        Self([self.0[0] + a, self.0[1] + b])
    }

    #[inline(always)]
    fn times(self, factor: T) -> Self {
        Self(self.0.map(|number| factor * number))
    }

    #[inline(always)]
    fn times_plus(self, factor: T, Self([a, b]): Self) -> Self {
        Self([factor.mul_add(self.0[0], a), factor.mul_add(self.0[1], b)])
    }
}

// SAFETY: a type's pair has a name that no other type and no other pair has.
unsafe impl<T: GpuScalar> EntryName for Pair<T> {
    const ENTRY_NAME: &'static str = T::PAIR_NAME;
}

// SAFETY: two numbers of the same size, with repr(C).
unsafe impl<T: GpuScalar> Plain for Pair<T> {}

impl<T: GpuScalar> Scalar for Pair<T> {
    #[inline(always)]
    unsafe fn read(address: *const Self) -> Self {
        // SAFETY: the caller's promise, for both; a pair is aligned as a whole.
        Self(unsafe { T::read_2(address.cast()) })
    }

    #[inline(always)]
    unsafe fn read_streaming(address: *const Self) -> Self {
        // SAFETY: as for `read`.
        Self(unsafe { T::read_streaming_2(address.cast()) })
    }

    #[inline(always)]
    unsafe fn read_streaming_2(address: *const Self) -> [Self; 2] {
        // SAFETY: as for `read`, for both pairs.
        [0, 1].map(|pair| unsafe { Self::read_streaming(address.add(pair)) })
    }

    #[inline(always)]
    unsafe fn read_streaming_4(address: *const Self) -> [Self; 4] {
        // SAFETY: as for `read`, for all pairs.
        [0, 1, 2, 3].map(|pair| unsafe { Self::read_streaming(address.add(pair)) })
    }

    #[inline(always)]
    unsafe fn read_streaming_apart(address: *const Self, step: u64, count: u32, absent: Self) -> [Self; 4] {
        let pair = |number: u32| {
            // SAFETY: as for `read`, for those that are read.
            let read = || unsafe { Self::read_streaming(address.add((u64::from(number) * step) as usize)) };
            if number < count { read() } else { absent }
        };
        [pair(0), pair(1), pair(2), pair(3)]
    }

    #[inline(always)]
    unsafe fn load(address: *const Self) -> Self {
        // SAFETY: as for `read`.
        Self(unsafe { T::load_2(address.cast()) })
    }

    #[inline(always)]
    unsafe fn store(address: *mut Self, value: Self) {
        // SAFETY: as for `read`.
        unsafe { T::store_2(address.cast(), value.0) }
    }
}

impl<T: GpuScalar> SharedValue for Pair<T> {
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn read(offset: u32) -> Self {
        // SAFETY: the caller's promise, for both.
        unsafe { Self([<T as SharedValue>::read(offset), <T as SharedValue>::read(offset + size_of::<T>() as u32)]) }
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn write(offset: u32, Self([a, b]): Self) {
        // SAFETY: the caller's promise, for both.
        unsafe {
            <T as SharedValue>::write(offset, a);
            <T as SharedValue>::write(offset + size_of::<T>() as u32, b);
        }
    }
}

impl<T: GpuScalar> WarpShuffleValue for Pair<T> {
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn shuffle<M: backend::ShuffleMode>(mask: u32, Self([a, b]): Self, operand: u32, width: u32) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self([T::shuffle::<M>(mask, a, operand, width), T::shuffle::<M>(mask, b, operand, width)]) }
    }
}
