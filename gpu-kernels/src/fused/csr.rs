//! CSR with an epilogue, for matrices of less than 2^32 entries.

use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use super::Epilogue;
use crate::csr::multiply_by_lanes;
use crate::values::Values;

/// [`csr_vector`](crate::csr::csr_vector) with an epilogue on each element of y.
///
/// # Safety
/// As for [`csr_vector`](crate::csr::csr_vector). `z` has an element for each row unless γ is 0, and `w` if there are
/// sums. Blocks are made of whole warps, with 8 bytes of shared memory per warp and sum; `partial_sums` has an element
/// for each block and sum.
#[kernel(T: reals, LANES: [2, 4, 8, 16, 32])]
pub unsafe fn csr_fused<T: GpuScalar, const LANES: u32>(
    /// Number of rows.
    rows: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<u32>,
    /// The column of each entry.
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
    multiply_by_lanes::<T, T, u32, LANES>(rows, row_offsets, column_indices, values, x, |row, sum| {
        epilogue.write(row, sum);
    });
    epilogue.finish();
}
