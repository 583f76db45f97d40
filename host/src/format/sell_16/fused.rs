//! SELL-16 with an epilogue.

use cuda_std::launch::{Call, Launch};
use gpu_kernels::fused::sell_16::Sell16Fused;

use super::ROWS as SLICE_ROWS;
use crate::device::Device;
use crate::error::Error;
use crate::format::Sell16;
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::{Fused, FusedArguments, Vectors};

pub(crate) fn sell_16<T: Scalar, M: Memory>(
    matrix: &Sell16<T, M>,
    fused: &mut Fused<'_, T, M>,
    device: &Device,
) -> Result<Launch, Error> {
    let lanes = matrix.rows().div_ceil(SLICE_ROWS) * SLICE_ROWS / 2;
    // One warp per slice would give more blocks than the workspace has room for sums.
    fused.launch(device.uneven_grid(lanes as u64), |arguments: FusedArguments<T>| {
        let FusedArguments { vectors: Vectors { alpha, x, beta, y }, gamma, z, sums, w, partial_sums } = arguments;
        Call::new(Sell16Fused {
            rows: matrix.rows() as u32,
            slice_begins: matrix.slice_begins().global(),
            bases: matrix.bases().global(),
            column_offsets: matrix.column_offsets().global(),
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
