//! Padded CMRS: one warp per strip of rows, with fewer partial sums in shared memory.

use cuda_std::Global;
use cuda_std::launch::{Call, Launch};
use gpu_kernels::Offset;
use gpu_kernels::cmrs::{self, BUFFERS, PADDED_HEIGHT, PADDING, column_of, row_in_strip};

use crate::device::Device;
use crate::format::cmrs::product::{STRIPS_AT_ONCE, grid_of_warps};
use crate::format::{CmrsPadded, Offsets};
use crate::memory::{Buffer, Memory};
use crate::parallel;
use crate::real::Scalar;
use crate::spmv::{HostOperands, Vectors, update};

pub(crate) fn padded<T: Scalar, M: Memory>(matrix: &CmrsPadded<T, M>, vectors: Vectors<T>, device: &Device) -> Launch {
    fn kernel<T: Scalar, O: Offset, M: Memory>(
        strip_offsets: Global<O>,
        matrix: &CmrsPadded<T, M>,
        vectors: Vectors<T>,
    ) -> Call {
        Call::new(cmrs::CmrsPadded {
            rows: matrix.rows() as u32,
            strip_offsets,
            words: matrix.words().global(),
            values: matrix.values().global(),
            alpha: vectors.alpha,
            x: vectors.x,
            beta: vectors.beta,
            y: vectors.y,
        })
    }
    let strips = matrix.rows().div_ceil(PADDED_HEIGHT as usize);
    let grid = grid_of_warps(device, strips, (PADDED_HEIGHT * BUFFERS) as usize * size_of::<T>());
    let call = match matrix.strip_offsets() {
        Offsets::Narrow(offsets) => kernel(offsets.global(), matrix, vectors),
        Offsets::Wide(offsets) => kernel(offsets.global(), matrix, vectors),
    };
    Launch { grid, call }
}

/// Returns the longest chain: a row's entries are spread evenly over its partial sums; then each lane adds four of
/// them, and the sums of two lanes are added.
pub(crate) fn longest_padded_chain(length: usize) -> usize {
    (length.div_ceil(BUFFERS as usize) + 4).min(length)
}

pub(crate) fn multiply_padded_on_cpu<T: Scalar>(matrix: &CmrsPadded<T>, operands: HostOperands<'_, T>) {
    let HostOperands { alpha, x, beta, y } = operands;
    parallel::chunks_mut(y, PADDED_HEIGHT as usize, STRIPS_AT_ONCE, &|(strip, y)| {
        let range = matrix.strip_offsets().get(strip)..matrix.strip_offsets().get(strip + 1);
        let mut sums = [[T::ZERO; BUFFERS as usize]; PADDED_HEIGHT as usize];
        let values = &matrix.values()[range.clone()];
        for (place, &word) in matrix.words()[range].iter().enumerate() {
            if word != PADDING {
                let sum = &mut sums[row_in_strip(word) as usize][place % BUFFERS as usize];
                *sum = *sum + values[place] * x[column_of(word) as usize];
            }
        }
        for (row, y) in y.iter_mut().enumerate() {
            let [a, b, c, d, e, f, g, h] = sums[row];
            update(y, alpha, ((a + b) + (c + d)) + ((e + f) + (g + h)), beta);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_shared_out_evenly() {
        for (length, chain) in [(0, 0), (1, 1), (5, 5), (8, 5), (16, 6), (100, 17)] {
            assert_eq!(longest_padded_chain(length), chain);
        }
    }
}
