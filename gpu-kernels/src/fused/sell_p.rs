//! SELL-P with an epilogue, for matrices of few rows: with many rows, the registers that it takes cost more than a
//! pass.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use super::Epilogue;
use crate::sell_p::sum_of_row;
use crate::values::Values;

/// [`sell_p`](fn@crate::sell_p::sell_p) with an epilogue on each element of y.
///
/// # Safety
/// As for [`sell_p`](fn@crate::sell_p::sell_p). `z` has an element for each row unless γ is 0, and `w` if there are
/// sums. Blocks are made of whole warps, with 8 bytes of shared memory per warp and sum; `partial_sums` has an element
/// for each block and sum.
#[kernel(T: reals)]
pub unsafe fn sell_p_fused<T: GpuScalar>(
    /// Number of rows.
    rows: u32,
    /// Rows of a slice.
    slice_size: u32,
    /// Total width of all slices before each one; slices + 1 numbers.
    slice_begins: Global<u64>,
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
        let sum = sum_of_row::<T, T, 4>(row, slice_size, slice_begins, column_indices, values, element);
        epilogue.write(row, sum);
        row += grid_threads();
    }
    epilogue.finish();
}

/// [`sell_p_sorted`](crate::sell_p::sell_p_sorted) with an epilogue on each element of y.
///
/// # Safety
/// As for [`sell_p_sorted`](crate::sell_p::sell_p_sorted). `z` has an element for each row unless γ is 0, and `w` if
/// there are sums. Blocks are made of whole warps, with 8 bytes of shared memory per warp and sum; `partial_sums` has
/// an element for each block and sum.
#[kernel(T: reals)]
pub unsafe fn sell_p_sorted_fused<T: GpuScalar>(
    /// Number of rows.
    rows: u32,
    /// Rows of a slice.
    slice_size: u32,
    /// Total width of all slices before each one; slices + 1 numbers.
    slice_begins: Global<u64>,
    /// The row at each position.
    row_indices: Global<u32>,
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
    let mut position = index_1d();
    while position < rows {
        let row = row_indices.load_streaming(position);
        let element = |column| x.load(column);
        let sum = sum_of_row::<T, T, 4>(position, slice_size, slice_begins, column_indices, values, element);
        epilogue.write(row, sum);
        position += grid_threads();
    }
    epilogue.finish();
}
