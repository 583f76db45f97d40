//! SELL-16 with an epilogue.

use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use super::Epilogue;
use crate::sell_16::Places;
use crate::values::Values;

/// [`sell_16`](fn@crate::sell_16::sell_16) with an epilogue on each element of y.
///
/// # Safety
/// As for [`sell_16`](fn@crate::sell_16::sell_16). `z` has an element for each row unless γ is 0, and `w` if there are
/// sums. Blocks are made of whole warps, with 8 bytes of shared memory per warp and sum; `partial_sums` has an element
/// for each block and sum.
#[kernel(T: reals)]
pub unsafe fn sell_16_fused<T: GpuScalar>(
    /// Number of rows.
    rows: u32,
    /// Total width of all slices before each one; slices + 1 numbers.
    slice_begins: Global<u64>,
    /// The smallest column among the entries of each column of slots.
    bases: Global<u32>,
    /// Two offsets from the base per lane of each column of slots: the lower half for its first row.
    column_offsets: Global<u32>,
    /// Two values per lane of each column of slots.
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
    let places = Places { bases, column_offsets, values: Values::as_they_are(values), x };
    places.multiply(rows, slice_begins, |row, sum| epilogue.write(row, sum));
    epilogue.finish();
}
