//! Vectors of two precisions.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::{Global, GlobalMut, GpuFloat, GpuScalar, kernel};

/// y ← α x + β y, computed in 64 bits and rounded to y's precision at the end; with β = 0, y is overwritten and never
/// read.
///
/// # Safety
/// `x` and `y` have `count` elements.
#[kernel(X: reals, Y: reals)]
pub unsafe fn mixed_axpby<X: GpuFloat, Y: GpuFloat>(
    /// Number of elements.
    count: u64,
    /// The factor of x.
    alpha: f64,
    /// The vector to add.
    x: Global<X>,
    /// The factor of y.
    beta: f64,
    /// The result.
    y: GlobalMut<Y>,
) {
    let mut place = u64::from(index_1d());
    while place < count {
        let product = alpha * x.load_streaming(place).widen();
        let sum = if beta == 0.0 { product } else { GpuScalar::mul_add(beta, y.load(place).widen(), product) };
        y.store(place, Y::narrow(sum));
        place += u64::from(grid_threads());
    }
}
