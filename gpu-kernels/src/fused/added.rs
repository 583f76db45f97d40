//! Terms that are added to some elements of a product after its sums were taken.

use cuda_std::thread::{block_idx_x, grid_threads, index_1d, sync_threads};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use crate::block_sums::{put_sum_of_warp, store_sums_of_block};

/// Adds α times a term to some elements of y, and computes what that adds to w · y.
///
/// # Safety
/// `elements` and `terms` have `count` elements; those of `elements` are all different, and inside `y` and `w`. Blocks
/// are made of whole warps, with 8 bytes of shared memory per warp; `partial_sums` has an element for each block.
#[kernel(T: reals)]
pub unsafe fn fused_add_to_elements<T: GpuScalar>(
    /// Number of terms.
    count: u64,
    /// Index in y of each term.
    elements: Global<u32>,
    /// The factor.
    alpha: T,
    /// The terms.
    terms: Global<T>,
    /// The result.
    y: GlobalMut<T>,
    /// The vector w.
    w: Global<T>,
    /// Partial sum of each block.
    partial_sums: GlobalMut<f64>,
) {
    let mut sum = 0.0;
    let mut number = u64::from(index_1d());
    while number < count {
        let element = elements.load_streaming(number);
        let old = y.load(element);
        let new = alpha.mul_add(terms.load_streaming(number), old);
        y.store(element, new);
        // In float32, the rounding of the element is part of the difference.
        let ([new, _], [old, _], [other, _]) = (new.wide_parts(), old.wide_parts(), w.load(element).wide_parts());
        sum = GpuScalar::mul_add(other, new - old, sum);
        number += u64::from(grid_threads());
    }
    put_sum_of_warp(0, sum);
    sync_threads();
    store_sums_of_block(1, partial_sums, |_| Some(u64::from(block_idx_x())));
}
