//! BELLPACK with an epilogue.

use cuda_std::launch::{Call, Launch};
use gpu_kernels::fused::bellpack::BellpackFused;

use crate::device::Device;
use crate::error::Error;
use crate::format::{Bellpack, BlockVisitor};
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::{Fused, FusedArguments, Vectors};

pub(crate) fn bellpack<T: Scalar, M: Memory>(
    matrix: &Bellpack<T, M>,
    fused: &mut Fused<'_, T, M>,
    device: &Device,
) -> Result<Launch, Error> {
    let grid = device.uneven_grid(matrix.block_rows().len() as u64);
    fused.launch(grid, |arguments| matrix.block_size().visit(Launcher { matrix, arguments }))
}

struct Launcher<'a, T: Scalar, M: Memory> {
    matrix: &'a Bellpack<T, M>,
    arguments: FusedArguments<T>,
}

impl<T: Scalar, M: Memory> BlockVisitor for Launcher<'_, T, M> {
    type Output = Call;

    fn visit<const SIZE: u32, const R: usize, const C: usize>(self) -> Call {
        let Self { matrix, arguments } = self;
        let FusedArguments { vectors: Vectors { alpha, x, beta, y }, gamma, z, sums, w, partial_sums } = arguments;
        Call::new(BellpackFused::<T, SIZE> {
            rows: matrix.rows() as u32,
            last_column: matrix.columns().saturating_sub(1) as u32,
            partition_rows: matrix.partition_rows() as u32,
            partition_offsets: matrix.partition_offsets().global(),
            block_rows: matrix.block_rows().global(),
            first_columns: matrix.first_columns().global(),
            values: matrix.values().global(),
            alpha,
            x,
            beta,
            y,
            gamma,
            z,
            sums,
            w,
            partial_sums,
        })
    }
}
