//! CSR times several vectors at once.

use cuda_std::launch::Launch;
use gpu_kernels::multivector::csr::CsrMultivector;

use super::balanced::with_offsets;
use crate::device::Device;
use crate::format::Csr;
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::HostOperands;
use crate::spmv::multivector::{Arguments, ROWS_AT_ONCE, multiply_rows};

/// The launch of one tile of Y ← α A X + β Y.
pub(super) fn launch<T: Scalar, M: Memory>(matrix: &Csr<T, M>, arguments: Arguments<T>, device: &Device) -> Launch {
    let Arguments { rows, tile, alpha, x, beta, y } = arguments;
    let call = with_offsets!(matrix, offsets => CsrMultivector {
        rows,
        tile,
        row_offsets: offsets.global(),
        column_indices: matrix.column_indices().global(),
        values: matrix.values().global(),
        alpha,
        x,
        beta,
        y,
    });
    Launch { grid: device.grid(u64::from(rows) * u64::from(tile.lanes)), call }
}

/// Multiplies with several vectors in row-major layout on the CPU, in parallel.
pub(super) fn multiply_on_cpu<T: Scalar>(matrix: &Csr<T>, vectors: usize, operands: HostOperands<'_, T>) {
    multiply_rows(vectors, operands, ROWS_AT_ONCE, |row| (row, matrix.row(row)));
}
