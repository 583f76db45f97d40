//! ELL with an epilogue, for matrices of few rows: with many rows, the registers that it takes cost more than a pass.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use super::Epilogue;
use crate::ell::sum_of_places;
use crate::values::Values;

/// [`ell`](fn@crate::ell::ell) with an epilogue on each element of y.
///
/// # Safety
/// As for [`ell`](fn@crate::ell::ell). `z` has an element for each row unless γ is 0, and `w` if there are sums. Blocks
/// are made of whole warps, with 8 bytes of shared memory per warp and sum; `partial_sums` has an element for each
/// block and sum.
#[kernel(T: reals)]
pub unsafe fn ell_fused<T: GpuScalar>(
    /// Number of rows.
    rows: u32,
    /// Slots from one entry of a row to the next.
    stride: u32,
    /// Entries of the longest row.
    width: u32,
    /// The column of each entry, or [`PADDING`](crate::ell::PADDING).
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// The factor of A x.
    alpha: T,
    /// The vector to multiply.
    x: Global<T>,
    /// The factor of y.
    beta: T,
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
    let mut epilogue = Epilogue::new(alpha, beta, y, gamma, z, sums, w, partial_sums);
    let values = Values::as_they_are(values);
    let mut row = index_1d();
    while row < rows {
        let element = |column| x.load(column);
        let sum = sum_of_places::<T, T, 4>(row.into(), stride.into(), width, column_indices, values, element);
        epilogue.write(row, sum);
        row += grid_threads();
    }
    epilogue.finish();
}
