//! Products with an epilogue on each element of y while it is in a register: y ← α A x + β y + γ z, and the sums w · y
//! and y · y of the new y, which conjugate gradients and BiCGSTAB need next. This saves a pass over the vectors and a
//! launch.
//!
//! These kernels are for formats that write each row once and hold real values as wide as they are computed with. The
//! sums are accumulated in 64 bits, and the blocks write partial sums as [vector passes](crate::dense::passes) do.
//! [`fused_elements`](elements::fused_elements) does the same to a y that another kernel has written.

pub mod added;
pub mod bellpack;
pub mod csr;
pub mod dia;
pub mod elements;
pub mod ell;
pub mod sell_16;
pub mod sell_p;

use cuda_std::thread::{block_idx_x, grid_dim_x, sync_threads};
use cuda_std::{Global, GlobalMut, GpuScalar, Index};

use crate::block_sums::{put_sum_of_warp, store_sums_of_block};

/// Largest number of sums of a product.
pub const MOST_SUMS: u32 = 2;

/// The operation on the rows of a thread, and its parts of the sums.
struct Epilogue<T> {
    alpha: T,
    beta: T,
    y: GlobalMut<T>,
    gamma: T,
    z: Global<T>,
    sums: u32,
    w: Global<T>,
    partial_sums: GlobalMut<f64>,
    /// This thread's part of w · y.
    dot: f64,
    /// This thread's part of y · y.
    square: f64,
}

impl<T: GpuScalar> Epilogue<T> {
    /// The vectors and factors, as kernel parameters.
    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "they are the parameters of every fused kernel")]
    fn new(
        alpha: T,
        beta: T,
        y: GlobalMut<T>,
        gamma: T,
        z: Global<T>,
        sums: u32,
        w: Global<T>,
        partial_sums: GlobalMut<f64>,
    ) -> Self {
        Self { alpha, beta, y, gamma, z, sums, w, partial_sums, dot: 0.0, square: 0.0 }
    }

    /// y\[place\] ← α sum + β y\[place\] + γ z\[place\]. Vectors with a factor of 0 are not read.
    ///
    /// # Safety
    /// `place` is inside `y`, `z` if γ is not 0, and `w` if there are sums; no other thread touches that element of y.
    #[inline(always)]
    unsafe fn write(&mut self, place: impl Index, sum: T) {
        let mut new = self.alpha * sum;
        if self.beta != T::ZERO {
            new = self.beta.mul_add(self.y.load(place), new);
        }
        if self.gamma != T::ZERO {
            new = self.gamma.mul_add(self.z.load(place), new);
        }
        self.y.store(place, new);
        if self.sums > 0 {
            let [new, _] = new.wide_parts();
            let [other, _] = self.w.load(place).wide_parts();
            self.dot = GpuScalar::mul_add(other, new, self.dot);
            self.square = GpuScalar::mul_add(new, new, self.square);
        }
    }

    /// Writes the block's sums.
    ///
    /// # Safety
    /// All threads of the block call it and have finished other uses of its shared memory, of which it has 8 bytes per
    /// warp and sum; blocks are made of whole warps; `partial_sums` has an element for each block and sum.
    #[inline(always)]
    unsafe fn finish(self) {
        if self.sums == 0 {
            return;
        }
        // The product may have used the same memory.
        sync_threads();
        put_sum_of_warp(0, self.dot);
        if self.sums > 1 {
            put_sum_of_warp(1, self.square);
        }
        sync_threads();
        store_sums_of_block(self.sums, self.partial_sums, |sum| {
            Some(u64::from(sum) * u64::from(grid_dim_x()) + u64::from(block_idx_x()))
        });
    }
}
