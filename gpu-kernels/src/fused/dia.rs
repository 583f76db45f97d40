//! DIA with an epilogue.

use cuda_std::{Global, GlobalMut, kernel};

use super::Epilogue;
use crate::absent::Absent;
use crate::dia::Diagonals;
use crate::values::Values;

/// [`dia`](fn@crate::dia::dia) with an epilogue on each element of y.
///
/// # Safety
/// As for [`dia`](fn@crate::dia::dia). `z` has an element for each row unless γ is 0, and `w` if there are sums. Blocks
/// are made of whole warps, with 8 bytes of shared memory per warp and sum; `partial_sums` has an element for each
/// block and sum.
#[kernel(T: reals)]
pub unsafe fn dia_fused<T: Absent>(
    /// Number of rows.
    rows: u32,
    /// Number of columns.
    columns: u32,
    /// Slots from one diagonal to the next.
    stride: u32,
    /// Number of diagonals.
    diagonals: u32,
    /// Column minus row of each diagonal.
    offsets: Global<i32>,
    /// The value of each slot, or [`Absent::ABSENT`].
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
    let matrix = Diagonals { rows, columns, stride, diagonals, offsets, values: Values::as_they_are(values) };
    matrix.multiply(x, |row, sum| epilogue.write(row, sum));
    epilogue.finish();
}
