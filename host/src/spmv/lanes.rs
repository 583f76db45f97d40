//! Four numbers at a time on the CPU, where the compiler does not vectorize by itself.

use super::on_cpu::is_padding;
use crate::real::Scalar;

/// Numbers processed together.
pub(crate) const LANES: usize = 4;

/// An array of the results of `element` for each lane. `std::array::from_fn` does the same through calls that are inlined
/// only if the linker optimises; without that, the loops here would call a function per number.
#[inline(always)]
pub(crate) fn each_lane<T: Copy + Default, const N: usize>(mut element: impl FnMut(usize) -> T) -> [T; N] {
    let mut lanes = [T::default(); N];
    for (number, lane) in lanes.iter_mut().enumerate() {
        *lane = element(number);
    }
    lanes
}

/// Four numbers. All methods must always be inlined, into functions that are compiled for their instructions.
pub(crate) trait Lanes<T: Scalar>: Copy {
    /// Packs these numbers.
    fn new(numbers: [T; LANES]) -> Self;

    /// The numbers.
    fn numbers(self) -> [T; LANES];

    /// The numbers whose bits are set in either.
    fn or(self, other: Self) -> Self;

    /// Adds to these sums, which are not -0, the products of the values that are entries.
    fn add_present(self, values: Self, elements: Self) -> Self;
}

/// On any processor.
impl<T: Scalar> Lanes<T> for [T; LANES] {
    #[inline(always)]
    fn new(numbers: [T; LANES]) -> Self {
        numbers
    }

    #[inline(always)]
    fn numbers(self) -> [T; LANES] {
        self
    }

    #[inline(always)]
    fn or(mut self, other: Self) -> Self {
        let (bytes, others) = (bytemuck::bytes_of_mut(&mut self), bytemuck::bytes_of(&other));
        bytes.iter_mut().zip(others).for_each(|(byte, other)| *byte |= other);
        self
    }

    #[inline(always)]
    fn add_present(self, values: Self, elements: Self) -> Self {
        let sum = |lane: usize| self[lane] + values[lane] * elements[lane];
        each_lane(|lane| if is_padding(values[lane]) { self[lane] } else { sum(lane) })
    }
}

#[cfg(target_arch = "x86_64")]
mod with_avx2 {
    use std::arch::x86_64::*;

    use super::{LANES, Lanes};
    use crate::real::Scalar;

    macro_rules! lanes {
        ($Lanes:ty, $or:ident, $add:ident, $multiply:ident, $and_not:ident, $equal:ident, $all:expr) => {
            /// For processors with AVX2, and numbers of the right size.
            impl<T: Scalar> Lanes<T> for $Lanes {
                #[inline(always)]
                fn new(numbers: [T; LANES]) -> Self {
                    bytemuck::cast(numbers)
                }

                #[inline(always)]
                fn numbers(self) -> [T; LANES] {
                    bytemuck::cast(self)
                }

                #[inline(always)]
                fn or(self, other: Self) -> Self {
                    // SAFETY: only functions for AVX2 have this type.
                    unsafe { $or(self, other) }
                }

                #[inline(always)]
                fn add_present(self, values: Self, elements: Self) -> Self {
                    // SAFETY: only functions for AVX2 have this type.
                    unsafe {
                        let padding = bytemuck::cast($equal(bytemuck::cast(values), $all));
                        $add(self, $and_not(padding, $multiply(values, elements)))
                    }
                }
            }
        };
    }

    lanes!(
        __m256d,
        _mm256_or_pd,
        _mm256_add_pd,
        _mm256_mul_pd,
        _mm256_andnot_pd,
        _mm256_cmpeq_epi64,
        _mm256_set1_epi64x(-1)
    );
    lanes!(__m128, _mm_or_ps, _mm_add_ps, _mm_mul_ps, _mm_andnot_ps, _mm_cmpeq_epi32, _mm_set1_epi32(-1));
}
