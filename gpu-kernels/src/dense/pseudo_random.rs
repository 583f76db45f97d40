//! Vectors of pseudo-random numbers.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::{GlobalMut, GpuFloat, kernel};

/// The number at index `place` of a fixed sequence of pseudo-random numbers from −1 to 1 (splitmix64: Steele, Lea &
/// Flood 2014, §5).
#[inline(always)]
pub fn pseudo_random_number(place: u64) -> f64 {
    let mut bits = place.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ bits >> 31) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// Writes consecutive pseudo-random numbers.
///
/// # Safety
/// `numbers` has `count` elements.
#[kernel(T: reals)]
pub unsafe fn pseudo_random<T: GpuFloat>(
    /// Number of elements.
    count: u64,
    /// Index of the first number in the sequence.
    first: u64,
    /// The numbers.
    numbers: GlobalMut<T>,
) {
    let mut place = u64::from(index_1d());
    while place < count {
        numbers.store(place, T::narrow(pseudo_random_number(first.wrapping_add(place))));
        place += u64::from(grid_threads());
    }
}
