//! ELL with an epilogue.

use cuda_std::launch::{Call, Launch};
use gpu_kernels::fused::ell::EllFused;

use crate::device::Device;
use crate::error::Error;
use crate::format::Ell;
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::{Fused, FusedArguments, Vectors};

pub(crate) fn ell<T: Scalar, M: Memory>(
    matrix: &Ell<T, M>,
    fused: &mut Fused<'_, T, M>,
    device: &Device,
) -> Result<Launch, Error> {
    let (rows, stride, width) = (matrix.rows() as u32, matrix.stride() as u32, matrix.width() as u32);
    let (column_indices, values) = (matrix.column_indices().global(), matrix.values().global());
    fused.launch(device.grid(matrix.rows() as u64), |arguments: FusedArguments<T>| {
        let FusedArguments { vectors: Vectors { alpha, x, beta, y }, gamma, z, sums, w, partial_sums } = arguments;
        Call::new(EllFused {
            rows,
            stride,
            width,
            column_indices,
            values,
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
