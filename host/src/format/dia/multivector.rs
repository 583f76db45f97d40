//! DIA times several vectors at once.

use cuda_std::launch::Launch;
use gpu_kernels::multivector::dia::DiaMultivector;

use crate::device::Device;
use crate::format::Dia;
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::HostOperands;
use crate::spmv::multivector::{Arguments, ROWS_AT_ONCE, multiply_rows};

/// Returns the launch for one tile of Y ← α A X + β Y.
pub(super) fn launch<T: Scalar, M: Memory>(matrix: &Dia<T, M>, arguments: Arguments<T>, device: &Device) -> Launch {
    let Arguments { rows, tile, alpha, x, beta, y } = arguments;
    let kernel = DiaMultivector {
        rows,
        tile,
        columns: matrix.columns() as u32,
        stride: matrix.stride() as u32,
        diagonals: matrix.diagonals() as u32,
        offsets: matrix.offsets().global(),
        values: matrix.values().global(),
        alpha,
        x,
        beta,
        y,
    };
    Launch::new(device.grid(u64::from(rows) * u64::from(tile.lanes)), kernel)
}

/// Multiplies with several vectors in row-major layout on the CPU, in parallel.
pub(super) fn multiply_on_cpu<T: Scalar>(matrix: &Dia<T>, vectors: usize, operands: HostOperands<'_, T>) {
    multiply_rows(vectors, operands, ROWS_AT_ONCE, |row| (row, matrix.row(row)));
}
