//! What SpMV needs of dense vectors.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::{GlobalMut, GpuFloat, kernel};

/// y ← β y; with β = 0, y is overwritten and never read.
///
/// # Safety
/// `y` has `rows` elements.
#[kernel(T: [f32, f64])]
pub unsafe fn scale<T: GpuFloat>(
    /// Number of elements.
    rows: u32,
    /// The factor.
    beta: T,
    /// The vector.
    y: GlobalMut<T>,
) {
    let mut row = index_1d();
    while row < rows {
        y.store(row, if beta == T::ZERO { T::ZERO } else { beta * y.load(row) });
        row += grid_threads();
    }
}

/// y\[row\] ← α sum + β y\[row\]; with β = 0, y is not read.
///
/// # Safety
/// `row` is inside `y`, and no other thread touches that element.
#[inline(always)]
pub(crate) unsafe fn update<T: GpuFloat>(y: GlobalMut<T>, row: u32, alpha: T, sum: T, beta: T) {
    let new = alpha * sum;
    y.store(row, if beta == T::ZERO { new } else { beta.mul_add(y.load(row), new) });
}

/// y\[row\] ← y\[row\] + α sum.
///
/// # Safety
/// `row` is inside `y`, and no other thread touches that element.
#[inline(always)]
pub(crate) unsafe fn add<T: GpuFloat>(y: GlobalMut<T>, row: u32, alpha: T, sum: T) {
    y.store(row, alpha.mul_add(sum, y.load(row)));
}
