//! DIA with an epilogue.

use cuda_std::launch::{Call, Grid, Launch};
use gpu_kernels::dia::{OFFSETS_AT_ONCE, ROWS};
use gpu_kernels::fused::dia::DiaFused;

use crate::device::Device;
use crate::error::Error;
use crate::format::Dia;
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::{Fused, FusedArguments, Vectors};

pub(crate) fn dia<T: Scalar, M: Memory>(
    matrix: &Dia<T, M>,
    fused: &mut Fused<'_, T, M>,
    device: &Device,
) -> Result<Launch, Error> {
    let diagonals = matrix.diagonals() as u32;
    let shared_bytes = diagonals.min(OFFSETS_AT_ONCE) * size_of::<i32>() as u32;
    let grid = Grid { shared_bytes, ..device.uneven_grid(matrix.rows().div_ceil(ROWS) as u64) };
    fused.launch(grid, |arguments: FusedArguments<T>| {
        let FusedArguments { vectors: Vectors { alpha, x, beta, y }, gamma, z, sums, w, partial_sums } = arguments;
        Call::new(DiaFused {
            rows: matrix.rows() as u32,
            columns: matrix.columns() as u32,
            stride: matrix.stride() as u32,
            diagonals,
            offsets: matrix.offsets().global(),
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
    })
}
