//! Elements of a vector, gathered side by side.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

/// Copies elements of x to consecutive positions: those that other ranks need.
///
/// # Safety
/// `elements` and `gathered` have `count` elements; each of `elements` is less than the length of `x`.
#[kernel(T: scalars)]
pub unsafe fn gather<T: GpuScalar>(
    /// Number of elements.
    count: u64,
    /// Indices of the elements of x.
    elements: Global<u32>,
    /// The vector.
    x: Global<T>,
    /// The gathered elements.
    gathered: GlobalMut<T>,
) {
    let mut place = u64::from(index_1d());
    while place < count {
        gathered.store(place, x.load(elements.load_streaming(place)));
        place += u64::from(grid_threads());
    }
}
