//! CMRS: one warp per strip of rows, with partial sums in shared memory.

use cuda_std::Global;
use cuda_std::launch::{Call, Grid, Launch};
use gpu_kernels::Offset;
use gpu_kernels::cmrs::{self, LARGEST_HEIGHT, column_of, row_in_strip};

use crate::device::{ALWAYS_SHARED_BYTES, Device, WARP_LANES};
use crate::format::{Cmrs, Offsets};
use crate::memory::{Buffer, Memory};
use crate::parallel;
use crate::real::Scalar;
use crate::spmv::{HostOperands, Vectors, update};

/// Mean row length from which strips are read from cache line boundaries (§6.3).
const ALIGNED_FROM_MEAN: usize = 32;

/// Least number of strips per CPU task.
pub(crate) const STRIPS_AT_ONCE: usize = 64;

/// Returns a grid for work of unequal length, with a warp per piece and `bytes_per_warp` bytes of shared memory per
/// warp: blocks are small, or the largest that [`ALWAYS_SHARED_BYTES`] allows.
pub(crate) fn grid_of_warps(device: &Device, work: usize, bytes_per_warp: usize) -> Grid {
    let usual = device.small_block() as usize / WARP_LANES;
    let warps = usual.min(ALWAYS_SHARED_BYTES as usize / bytes_per_warp);
    let grid = device.uneven_grid_of_blocks((work * WARP_LANES) as u64, (warps * WARP_LANES) as u32);
    Grid { shared_bytes: (warps * bytes_per_warp) as u32, ..grid }
}

pub(crate) fn cmrs<T: Scalar, M: Memory>(matrix: &Cmrs<T, M>, vectors: Vectors<T>, device: &Device) -> Launch {
    fn with_lanes<T: Scalar, O: Offset, M: Memory, const LANES: u32>(
        strip_offsets: Global<O>,
        matrix: &Cmrs<T, M>,
        vectors: Vectors<T>,
    ) -> Call {
        let aligned = matrix.nnz() >= ALIGNED_FROM_MEAN * matrix.rows();
        Call::new(cmrs::Cmrs::<T, O, LANES> {
            rows: matrix.rows() as u32,
            height: matrix.height() as u32,
            alignment: if aligned { WARP_LANES as u32 } else { 1 },
            strip_offsets,
            words: matrix.words().global(),
            values: matrix.values().global(),
            alpha: vectors.alpha,
            x: vectors.x,
            beta: vectors.beta,
            y: vectors.y,
        })
    }
    fn kernel<T: Scalar, O: Offset, M: Memory>(
        strip_offsets: Global<O>,
        matrix: &Cmrs<T, M>,
        vectors: Vectors<T>,
    ) -> Call {
        match matrix.height() {
            ..=2 => with_lanes::<T, O, M, 16>(strip_offsets, matrix, vectors),
            3..=4 => with_lanes::<T, O, M, 8>(strip_offsets, matrix, vectors),
            5..=8 => with_lanes::<T, O, M, 4>(strip_offsets, matrix, vectors),
            _ => with_lanes::<T, O, M, 2>(strip_offsets, matrix, vectors),
        }
    }
    let strips = matrix.rows().div_ceil(matrix.height());
    let grid = grid_of_warps(device, strips, matrix.height() * WARP_LANES * size_of::<T>());
    let call = match matrix.strip_offsets() {
        Offsets::Narrow(offsets) => kernel(offsets.global(), matrix, vectors),
        Offsets::Wide(offsets) => kernel(offsets.global(), matrix, vectors),
    };
    Launch { grid, call }
}

pub(crate) fn multiply_on_cpu<T: Scalar>(matrix: &Cmrs<T>, operands: HostOperands<'_, T>) {
    let HostOperands { alpha, x, beta, y } = operands;
    parallel::chunks_mut(y, matrix.height(), STRIPS_AT_ONCE, &|(strip, y)| {
        let range = matrix.strip_offsets().get(strip)..matrix.strip_offsets().get(strip + 1);
        let mut sums = [T::ZERO; LARGEST_HEIGHT as usize];
        for (&word, &value) in matrix.words()[range.clone()].iter().zip(&matrix.values()[range]) {
            let sum = &mut sums[row_in_strip(word) as usize];
            *sum = *sum + value * x[column_of(word) as usize];
        }
        for (y, &sum) in y.iter_mut().zip(&sums) {
            update(y, alpha, sum, beta);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Tuning;

    fn device(threads_per_block: u32) -> Device {
        let tuning = Tuning::new(threads_per_block, 1).unwrap();
        Device {
            name: String::new(),
            cache_bytes: None,
            multiprocessors: 100,
            threads_per_multiprocessor: 2048,
            shared_bytes: None,
            tuning,
        }
    }

    #[test]
    fn blocks_fit_the_shared_memory() {
        for (threads_per_block, height, width, expected) in
            [(256, 16, 8, 128), (1024, 16, 8, 384), (1024, 16, 4, 512), (1024, 32, 4, 384), (32, 16, 8, 32)]
        {
            let grid = grid_of_warps(&device(threads_per_block), 1_000_000, height * 32 * width);
            assert_eq!(grid.threads_per_block, expected);
            assert_eq!(grid.shared_bytes as usize, height * width * expected as usize);
            assert_eq!(grid.blocks, (16 * 2048u32 * 100).div_ceil(expected));
        }
        assert_eq!(grid_of_warps(&device(256), 0, 1024).blocks, 0);
        assert_eq!(grid_of_warps(&device(256), 9, 1024).blocks, 3);
    }
}
