//! BCSR: several lanes a block row.

use cuda_std::launch::{Call, Launch};
use gpu_kernels::bcsr;

use crate::device::Device;
use crate::format::{Bcsr, BlockVisitor};
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::Vectors;

/// Lanes for a block row, when block rows have so many blocks in the mean.
pub(crate) fn lanes_for(blocks: usize, block_rows: usize) -> u32 {
    match blocks / block_rows.max(1) {
        0..8 => 2,
        8..128 => 8,
        _ => 32,
    }
}

pub(crate) fn bcsr<T: Scalar, M: Memory>(matrix: &Bcsr<T, M>, vectors: Vectors<T>, device: &Device) -> Launch {
    let lanes = lanes_for(matrix.blocks(), matrix.block_rows());
    let grid = device.uneven_grid(matrix.block_rows() as u64 * u64::from(lanes));
    Launch { grid, call: matrix.block_size().visit(Launcher { matrix, vectors, lanes }) }
}

struct Launcher<'a, T: Scalar, M: Memory> {
    matrix: &'a Bcsr<T, M>,
    vectors: Vectors<T>,
    lanes: u32,
}

impl<T: Scalar, M: Memory> Launcher<'_, T, M> {
    fn kernel<const SIZE: u32, const LANES: u32>(self) -> Call {
        let Self { matrix, vectors, .. } = self;
        Call::new(bcsr::Bcsr::<T, SIZE, LANES> {
            rows: matrix.rows() as u32,
            last_column: matrix.columns().saturating_sub(1) as u32,
            block_offsets: matrix.block_offsets().global(),
            first_columns: matrix.first_columns().global(),
            values: matrix.values().global(),
            alpha: vectors.alpha,
            x: vectors.x,
            beta: vectors.beta,
            y: vectors.y,
        })
    }
}

impl<T: Scalar, M: Memory> BlockVisitor for Launcher<'_, T, M> {
    type Output = Call;

    fn visit<const SIZE: u32, const R: usize, const C: usize>(self) -> Call {
        match self.lanes {
            2 => self.kernel::<SIZE, 2>(),
            8 => self.kernel::<SIZE, 8>(),
            _ => self.kernel::<SIZE, 32>(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_follow_the_mean_number_of_blocks() {
        for (blocks, block_rows, lanes) in
            [(0, 0, 2), (0, 9, 2), (79, 10, 2), (80, 10, 8), (1279, 10, 8), (1280, 10, 32), (1 << 40, 1, 32)]
        {
            assert_eq!(lanes_for(blocks, block_rows), lanes, "{blocks} blocks in {block_rows} block rows");
        }
    }
}
