//! SELL-P times several vectors at once.

use cuda_std::launch::Launch;
use gpu_kernels::multivector::sell_p::SellPMultivector;

use crate::device::Device;
use crate::format::SellP;
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::HostOperands;
use crate::spmv::multivector::{Arguments, ROWS_AT_ONCE, multiply_rows};

/// Returns the launch for one tile of Y ← α A X + β Y.
pub(super) fn launch<T: Scalar, M: Memory>(matrix: &SellP<T, M>, arguments: Arguments<T>, device: &Device) -> Launch {
    let Arguments { rows, tile, alpha, x, beta, y } = arguments;
    let kernel = SellPMultivector {
        rows,
        tile,
        slice_size: matrix.slicing().slice_size,
        slice_begins: matrix.slice_begins().global(),
        sorted_rows: matrix.row_indices().len() as u32,
        row_indices: matrix.row_indices().global(),
        column_indices: matrix.column_indices().global(),
        values: matrix.values().global(),
        alpha,
        x,
        beta,
        y,
    };
    Launch::new(device.grid(u64::from(rows) * u64::from(tile.lanes)), kernel)
}

/// Multiplies with several vectors in row-major layout on the CPU, in parallel.
pub(super) fn multiply_on_cpu<T: Scalar>(matrix: &SellP<T>, vectors: usize, operands: HostOperands<'_, T>) {
    // Whole windows of sorted rows, so their results lie within one part of Y.
    let rows_at_once = ROWS_AT_ONCE.next_multiple_of(matrix.slicing().sigma as usize);
    multiply_rows(vectors, operands, rows_at_once, |position| (matrix.row_at(position), matrix.entries_at(position)));
}
