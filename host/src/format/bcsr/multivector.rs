//! BCSR times several vectors at once.

use cuda_std::launch::{Call, Launch};
use gpu_kernels::multivector::bcsr::BcsrMultivector;

use crate::device::Device;
use crate::format::{Bcsr, BlockVisitor};
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::HostOperands;
use crate::spmv::multivector::{Arguments, ROWS_AT_ONCE, multiply_rows};

/// Returns the launch for one tile of Y ← α A X + β Y.
pub(super) fn launch<T: Scalar, M: Memory>(matrix: &Bcsr<T, M>, arguments: Arguments<T>, device: &Device) -> Launch {
    struct Launcher<'a, T: Scalar, M: Memory>(&'a Bcsr<T, M>, Arguments<T>);

    impl<T: Scalar, M: Memory> BlockVisitor for Launcher<'_, T, M> {
        type Output = Call;

        fn visit<const SIZE: u32, const R: usize, const C: usize>(self) -> Call {
            let Self(matrix, Arguments { rows, tile, alpha, x, beta, y }) = self;
            Call::new(BcsrMultivector::<T, SIZE> {
                rows,
                tile,
                last_column: matrix.columns().saturating_sub(1) as u32,
                block_offsets: matrix.block_offsets().global(),
                first_columns: matrix.first_columns().global(),
                values: matrix.values().global(),
                alpha,
                x,
                beta,
                y,
            })
        }
    }
    let grid = device.grid(matrix.block_rows() as u64 * u64::from(arguments.tile.lanes));
    Launch { grid, call: matrix.block_size().visit(Launcher(matrix, arguments)) }
}

/// Multiplies with several vectors in row-major layout on the CPU, in parallel.
pub(super) fn multiply_on_cpu<T: Scalar>(matrix: &Bcsr<T>, vectors: usize, operands: HostOperands<'_, T>) {
    multiply_rows(vectors, operands, ROWS_AT_ONCE, |row| (row, matrix.row(row)));
}
