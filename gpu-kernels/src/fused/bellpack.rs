//! BELLPACK with an epilogue.

use cuda_std::{Global, GlobalMut, kernel};

use super::Epilogue;
use crate::absent::Absent;
use crate::bellpack::BlockRows;
use crate::values::Values;

/// [`bellpack`](fn@crate::bellpack::bellpack) with an epilogue on each element of y.
///
/// # Safety
/// As for [`bellpack`](fn@crate::bellpack::bellpack). `z` has an element for each row unless γ is 0, and `w` if there
/// are sums. Blocks are made of whole warps, with 8 bytes of shared memory per warp and sum; `partial_sums` has an
/// element for each block and sum.
#[kernel(T: reals, SIZE: [12, 22, 23, 32, 33, 34, 44, 55, 66, 77, 88])]
pub unsafe fn bellpack_fused<T: Absent, const SIZE: u32>(
    /// Number of rows.
    rows: u32,
    /// The last column.
    last_column: u32,
    /// Block rows of each partition but the last.
    partition_rows: u32,
    /// Offset of each partition, in blocks of one of its block rows; partitions + 1 offsets.
    partition_offsets: Global<u32>,
    /// The block row at each stored position.
    block_rows: Global<u32>,
    /// The first column of each block, or [`PADDING`](crate::ell::PADDING).
    first_columns: Global<u32>,
    /// The words of the blocks, interleaved over the block rows of a partition.
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
    let matrix = BlockRows::<T, T, SIZE> {
        rows,
        last_column,
        partition_rows,
        partition_offsets,
        block_rows,
        first_columns,
        values: Values::as_they_are(values),
    };
    matrix.multiply(x, |row, sum| epilogue.write(row, sum));
    epilogue.finish();
}
