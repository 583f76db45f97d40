//! Elements of a vector, side by side, and elements at their places.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use crate::absent::Absent;

/// Copies some elements of x to where they lie in this order: what other ranks need of it.
///
/// # Safety
/// `elements` and `gathered` have `count` elements; each of `elements` is less than the length of `x`.
#[kernel(T: scalars)]
pub unsafe fn gather<T: GpuScalar>(
    /// Number of elements.
    count: u64,
    /// Which elements of x.
    elements: Global<u32>,
    /// The vector.
    x: Global<T>,
    /// The elements.
    gathered: GlobalMut<T>,
) {
    let mut place = u64::from(index_1d());
    while place < count {
        gathered.store(place, x.load(elements.load_streaming(place)));
        place += u64::from(grid_threads());
    }
}

/// Copies each number to its place: new values of a matrix to where its format has them.
///
/// # Safety
/// `places` and `from` have `count` elements; the places are inside `to`, and no two of them are the same.
#[kernel(T: scalars)]
pub unsafe fn scatter<T: Absent>(
    /// How many numbers.
    count: u64,
    /// The place of each.
    places: Global<u32>,
    /// The numbers.
    from: Global<T>,
    /// Whether the mark of a place without an entry must not be among them: 1, or 0.
    marks_absence: u32,
    /// Where they go.
    to: GlobalMut<T>,
) {
    let mut number = u64::from(index_1d());
    while number < count {
        let value = from.load_streaming(number);
        to.store(places.load_streaming(number), if marks_absence != 0 { value.present() } else { value });
        number += u64::from(grid_threads());
    }
}
