//! CSR with an epilogue.

use cuda_std::Global;
use cuda_std::launch::{Call, Launch};
use gpu_kernels::fused::csr::CsrFused;

use super::lanes::Lanes;
use crate::device::Device;
use crate::error::Error;
use crate::format::Csr;
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::{Fused, FusedArguments, Vectors};

/// Returns whether the rows are few enough that the saved launch outweighs the extra work of the lane that writes a
/// row, while the other lanes wait.
pub(crate) fn pays<T: Scalar, M: Memory>(matrix: &Csr<T, M>, lanes: Lanes, device: &Device) -> bool {
    let lanes = lanes.for_matrix(matrix.rows(), matrix.nnz());
    device.has_few_rows(matrix.rows().saturating_mul(lanes as usize))
}

/// Returns the launch, given the row offsets of the matrix.
pub(crate) fn vector<T: Scalar, M: Memory>(
    matrix: &Csr<T, M>,
    row_offsets: Global<u32>,
    lanes: Lanes,
    fused: &mut Fused<'_, T, M>,
    device: &Device,
) -> Result<Launch, Error> {
    let lanes = lanes.for_matrix(matrix.rows(), matrix.nnz());
    let grid = device.uneven_grid(matrix.rows() as u64 * u64::from(lanes));
    fused.launch(grid, |arguments| match lanes {
        2 => call::<T, M, 2>(matrix, row_offsets, arguments),
        4 => call::<T, M, 4>(matrix, row_offsets, arguments),
        8 => call::<T, M, 8>(matrix, row_offsets, arguments),
        16 => call::<T, M, 16>(matrix, row_offsets, arguments),
        _ => call::<T, M, 32>(matrix, row_offsets, arguments),
    })
}

fn call<T: Scalar, M: Memory, const LANES: u32>(
    matrix: &Csr<T, M>,
    row_offsets: Global<u32>,
    arguments: FusedArguments<T>,
) -> Call {
    let FusedArguments { vectors: Vectors { alpha, x, beta, y }, gamma, z, sums, w, partial_sums } = arguments;
    let rows = matrix.rows() as u32;
    let (column_indices, values) = (matrix.column_indices().global(), matrix.values().global());
    Call::new(CsrFused::<T, LANES> {
        rows,
        row_offsets,
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
}
