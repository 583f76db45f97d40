//! SELL-P with an epilogue.

use cuda_std::launch::{Call, Launch};
use gpu_kernels::fused::sell_p::{SellPFused, SellPSortedFused};

use crate::device::Device;
use crate::error::Error;
use crate::format::SellP;
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::{Fused, FusedArguments, Vectors};

pub(crate) fn sell_p<T: Scalar, M: Memory>(
    matrix: &SellP<T, M>,
    fused: &mut Fused<'_, T, M>,
    device: &Device,
) -> Result<Launch, Error> {
    let (rows, slice_size) = (matrix.rows() as u32, matrix.slicing().slice_size);
    let slice_begins = matrix.slice_begins().global();
    let (column_indices, values) = (matrix.column_indices().global(), matrix.values().global());
    let (work, sorted) = (matrix.rows() as u64, !matrix.row_indices().is_empty());
    let grid = if sorted { device.uneven_grid(work) } else { device.grid(work) };
    fused.launch(grid, |arguments: FusedArguments<T>| {
        let FusedArguments { vectors: Vectors { alpha, x, beta, y }, gamma, z, sums, w, partial_sums } = arguments;
        if sorted {
            let row_indices = matrix.row_indices().global();
            Call::new(SellPSortedFused {
                rows,
                slice_size,
                slice_begins,
                row_indices,
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
        } else {
            Call::new(SellPFused {
                rows,
                slice_size,
                slice_begins,
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
    })
}
