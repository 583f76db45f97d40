//! Four numbers side by side. Numbers of 32 bits are loaded in one access of 16 bytes.

use core::mem::transmute_copy;

use crate::float::GpuScalar;
use crate::global::Scalar;
use crate::pair::Elements;
use crate::plain::Plain;
use crate::shared::SharedValue;
use crate::warp::WarpShuffleValue;
use crate::{EntryName, backend};

/// Four numbers side by side in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Quad<T>(pub [T; 4]);

impl<T: GpuScalar> Quad<T> {
    /// Whether the numbers are those of two words of 64 bits.
    const IS_TWO_WORDS: bool = size_of::<Self>() == size_of::<[u64; 2]>();

    /// The numbers with the bits of two words.
    ///
    /// # Safety
    /// [`IS_TWO_WORDS`](Self::IS_TWO_WORDS).
    #[inline(always)]
    unsafe fn of_words(words: [u64; 2]) -> Self {
        // SAFETY: the sizes are the same, by the caller's promise, and any bits are numbers.
        unsafe { transmute_copy(&words) }
    }

    /// The bits of the numbers as two words.
    ///
    /// # Safety
    /// [`IS_TWO_WORDS`](Self::IS_TWO_WORDS).
    #[inline(always)]
    unsafe fn words(self) -> [u64; 2] {
        // SAFETY: the sizes are the same, by the caller's promise, and numbers have no padding.
        unsafe { transmute_copy(&self) }
    }
}

impl<T: GpuScalar> Elements for Quad<T> {
    type Number = T;

    const COUNT: u32 = 4;
    const ZEROS: Self = Self([T::ZERO; 4]);

    #[inline(always)]
    fn plus(self, Self([a, b, c, d]): Self) -> Self {
        let Self([own_a, own_b, own_c, own_d]) = self;
        Self([own_a + a, own_b + b, own_c + c, own_d + d])
    }

    #[inline(always)]
    fn times(self, factor: T) -> Self {
        Self(self.0.map(|number| factor * number))
    }

    #[inline(always)]
    fn times_plus(self, factor: T, Self([a, b, c, d]): Self) -> Self {
        let Self([own_a, own_b, own_c, own_d]) = self;
        Self([factor.mul_add(own_a, a), factor.mul_add(own_b, b), factor.mul_add(own_c, c), factor.mul_add(own_d, d)])
    }

    #[inline(always)]
    fn each(self, mut work: impl FnMut(u32, T)) {
        let Self([a, b, c, d]) = self;
        work(0, a);
        work(1, b);
        work(2, c);
        work(3, d);
    }
}

// SAFETY: four of a type have a name that no other type has.
unsafe impl<T: GpuScalar> EntryName for Quad<T> {
    const ENTRY_NAME: &'static str = T::QUAD_NAME;
}

// SAFETY: four numbers of the same size, with repr(C).
unsafe impl<T: GpuScalar> Plain for Quad<T> {}

impl<T: GpuScalar> Scalar for Quad<T> {
    #[inline(always)]
    unsafe fn read(address: *const Self) -> Self {
        // SAFETY: the caller's promise, for all four; they are aligned as a whole.
        unsafe {
            if Self::IS_TWO_WORDS {
                Self::of_words(<u64 as Scalar>::read_2(address.cast()))
            } else {
                let first = address.cast::<T>();
                let ([a, b], [c, d]) = (T::read_2(first), T::read_2(first.add(2)));
                Self([a, b, c, d])
            }
        }
    }

    #[inline(always)]
    unsafe fn read_streaming(address: *const Self) -> Self {
        // SAFETY: as for `read`.
        unsafe {
            let first = address.cast::<T>();
            let ([a, b], [c, d]) = (T::read_streaming_2(first), T::read_streaming_2(first.add(2)));
            Self([a, b, c, d])
        }
    }

    #[inline(always)]
    unsafe fn read_streaming_2(address: *const Self) -> [Self; 2] {
        // SAFETY: as for `read`, for both.
        [0, 1].map(|quad| unsafe { Self::read_streaming(address.add(quad)) })
    }

    #[inline(always)]
    unsafe fn read_streaming_4(address: *const Self) -> [Self; 4] {
        // SAFETY: as for `read`, for each.
        [0, 1, 2, 3].map(|quad| unsafe { Self::read_streaming(address.add(quad)) })
    }

    #[inline(always)]
    unsafe fn read_streaming_apart(address: *const Self, step: u64, count: u32, absent: Self) -> [Self; 4] {
        let quad = |number: u32| {
            // SAFETY: as for `read`, for those that are read.
            let read = || unsafe { Self::read_streaming(address.add((u64::from(number) * step) as usize)) };
            if number < count { read() } else { absent }
        };
        [quad(0), quad(1), quad(2), quad(3)]
    }
}

impl<T: GpuScalar> SharedValue for Quad<T> {
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn read(offset: u32) -> Self {
        // SAFETY: the caller's promise, for all four; they are aligned as a whole.
        unsafe {
            if Self::IS_TWO_WORDS {
                Self::of_words(<u64 as SharedValue>::read_shared_2(offset))
            } else {
                let ([a, b], [c, d]) = (T::read_shared_2(offset), T::read_shared_2(offset + 2 * size_of::<T>() as u32));
                Self([a, b, c, d])
            }
        }
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn write(offset: u32, value: Self) {
        // SAFETY: as for `read`.
        unsafe {
            if Self::IS_TWO_WORDS {
                <u64 as SharedValue>::write_shared_2(offset, value.words());
            } else {
                let Self([a, b, c, d]) = value;
                T::write_shared_2(offset, [a, b]);
                T::write_shared_2(offset + 2 * size_of::<T>() as u32, [c, d]);
            }
        }
    }
}

impl<T: GpuScalar> WarpShuffleValue for Quad<T> {
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn shuffle<M: backend::ShuffleMode>(mask: u32, Self([a, b, c, d]): Self, operand: u32, width: u32) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            Self([
                T::shuffle::<M>(mask, a, operand, width),
                T::shuffle::<M>(mask, b, operand, width),
                T::shuffle::<M>(mask, c, operand, width),
                T::shuffle::<M>(mask, d, operand, width),
            ])
        }
    }
}
