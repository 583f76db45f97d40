//! The epilogue of a product, for a y that was written by a kernel without one.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use super::Epilogue;

/// y ← y + γ z, and the sums w · y and y · y of the new y.
///
/// # Safety
/// `y` has `length` elements, as has `z` unless γ is 0, and `w` if there are sums; blocks are made of whole warps, with
/// 8 bytes of shared memory per warp and sum; `partial_sums` has an element for each block and sum.
#[kernel(T: reals)]
pub unsafe fn fused_elements<T: GpuScalar>(
    /// Number of elements.
    length: u32,
    /// The result.
    y: GlobalMut<T>,
    /// The factor of z.
    gamma: T,
    /// The vector z; not read if γ is 0.
    z: Global<T>,
    /// Number of sums: none, w · y, or w · y and y · y.
    sums: u32,
    /// The vector w; not read if there are no sums.
    w: Global<T>,
    /// Partial sums of the blocks: those of the first sum first.
    partial_sums: GlobalMut<f64>,
) {
    let mut epilogue = Epilogue::new(T::ONE, T::ZERO, y, gamma, z, sums, w, partial_sums);
    let mut place = index_1d();
    while place < length {
        epilogue.write(place, y.load(place));
        place += grid_threads();
    }
    epilogue.finish();
}
