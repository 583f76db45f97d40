//! Operations on dense vectors that SpMV needs.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::{Elements, Global, GlobalMut, GpuScalar, Index, kernel};

/// y ← β y; with β = 0, y is overwritten and never read.
///
/// # Safety
/// `y` has `count` elements.
#[kernel(T: scalars)]
pub unsafe fn scale<T: GpuScalar>(
    /// Number of elements.
    count: u64,
    /// The factor.
    beta: T,
    /// The vector.
    y: GlobalMut<T>,
) {
    let mut place = u64::from(index_1d());
    while place < count {
        y.store(place, if beta == T::ZERO { T::ZERO } else { beta * y.load(place) });
        place += u64::from(grid_threads());
    }
}

/// Adds α times a term to some elements of y.
///
/// # Safety
/// `elements` and `terms` have `count` elements; those of `elements` are all different, and inside `y`.
#[kernel(T: scalars)]
pub unsafe fn add_to_elements<T: GpuScalar>(
    /// Number of terms.
    count: u64,
    /// Index in y of each term.
    elements: Global<u32>,
    /// The factor.
    alpha: T,
    /// The terms.
    terms: Global<T>,
    /// The vector.
    y: GlobalMut<T>,
) {
    let mut number = u64::from(index_1d());
    while number < count {
        add(y, elements.load_streaming(number), alpha, terms.load_streaming(number));
        number += u64::from(grid_threads());
    }
}

/// y\[place\] ← α sum + β y\[place\]; with β = 0, y is not read.
///
/// # Safety
/// `place` is inside `y`, and no other thread accesses that element.
#[inline(always)]
pub(crate) unsafe fn update<T: Elements>(
    y: GlobalMut<T>,
    place: impl Index,
    alpha: T::Number,
    sum: T,
    beta: T::Number,
) {
    let new = sum.times(alpha);
    y.store(place, if beta == T::Number::ZERO { new } else { y.load(place).times_plus(beta, new) });
}

/// y\[place\] ← y\[place\] + α sum.
///
/// # Safety
/// `place` is inside `y`, and no other thread accesses that element.
#[inline(always)]
pub(crate) unsafe fn add<T: Elements>(y: GlobalMut<T>, place: impl Index, alpha: T::Number, sum: T) {
    y.store(place, sum.times_plus(alpha, y.load(place)));
}
