//! CMRS times several vectors at once, padded or not.

use cuda_std::Global;
use cuda_std::launch::{Call, Grid, Launch};
use gpu_kernels::Offset;
use gpu_kernels::cmrs::{LARGEST_HEIGHT, column_of, row_in_strip};
use gpu_kernels::multivector::Tile;
use gpu_kernels::multivector::cmrs::CmrsMultivector;

use super::product::{STRIPS_AT_ONCE, grid_of_warps};
use crate::device::{Device, WARP_LANES};
use crate::format::Offsets;
use crate::memory::{Buffer, Memory};
use crate::parallel;
use crate::real::Scalar;
use crate::spmv::multivector::{Arguments, LARGEST_TILE};
use crate::spmv::{HostOperands, update};

/// Strips of rows with or without padding.
pub(crate) struct Strips<'a, T: Scalar, M: Memory> {
    /// Rows per strip.
    pub height: usize,
    /// Whether there are slots without an entry.
    pub padded: bool,
    /// Offset of each strip.
    pub offsets: &'a Offsets<M>,
    /// Column and row in the strip of each entry.
    pub words: &'a M::Buffer<u32>,
    /// Value of each entry.
    pub values: &'a M::Buffer<T>,
}

/// Returns the launch for one tile of Y ← α A X + β Y.
pub(crate) fn launch<T: Scalar, M: Memory>(
    strips: Strips<'_, T, M>,
    arguments: Arguments<T>,
    device: &Device,
) -> Launch {
    fn kernel<T: Scalar, O: Offset, M: Memory>(
        strip_offsets: Global<O>,
        strips: Strips<'_, T, M>,
        arguments: Arguments<T>,
    ) -> Call {
        let Arguments { rows, tile, alpha, x, beta, y } = arguments;
        Call::new(CmrsMultivector {
            rows,
            tile,
            height: strips.height as u32,
            padded: strips.padded.into(),
            strip_offsets,
            words: strips.words.global(),
            values: strips.values.global(),
            alpha,
            x,
            beta,
            y,
        })
    }
    let grid = grid::<T>(arguments.rows as usize, strips.height, arguments.tile, device);
    let call = match strips.offsets {
        Offsets::Narrow(offsets) => kernel(offsets.global(), strips, arguments),
        Offsets::Wide(offsets) => kernel(offsets.global(), strips, arguments),
    };
    Launch { grid, call }
}

/// Returns a grid with a group of lanes per strip, and partial sums per thread.
fn grid<T>(rows: usize, height: usize, tile: Tile, device: &Device) -> Grid {
    let threads = rows.div_ceil(height) * tile.lanes as usize;
    grid_of_warps(device, threads.div_ceil(WARP_LANES), height * WARP_LANES * size_of::<T>())
}

/// Multiplies with several vectors in row-major layout on the CPU, in parallel: `entries` returns a strip's words and
/// values.
pub(crate) fn multiply_on_cpu<T: Scalar, I: Iterator<Item = (u32, T)>>(
    height: usize,
    vectors: usize,
    operands: HostOperands<'_, T>,
    entries: impl Fn(usize) -> I + Sync,
) {
    let HostOperands { alpha, x, beta, y } = operands;
    parallel::chunks_mut(y, height * vectors, STRIPS_AT_ONCE, &|(strip, y)| {
        for first in (0..vectors).step_by(LARGEST_TILE) {
            let tile = first..vectors.min(first + LARGEST_TILE);
            let mut sums = [[T::ZERO; LARGEST_TILE]; LARGEST_HEIGHT as usize];
            for (word, value) in entries(strip) {
                let x = &x[column_of(word) as usize * vectors..][tile.clone()];
                for (sum, &x) in sums[row_in_strip(word) as usize].iter_mut().zip(x) {
                    *sum = *sum + value * x;
                }
            }
            for (y, sums) in y.chunks_mut(vectors).zip(&sums) {
                for (y, &sum) in y[tile.clone()].iter_mut().zip(sums) {
                    update(y, alpha, sum, beta);
                }
            }
        }
    });
}
