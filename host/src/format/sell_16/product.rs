//! SELL-16: one warp per slice.

use cuda_std::launch::Launch;
use gpu_kernels::sell_16::{self, NO_ENTRY};

use super::ROWS as SLICE_ROWS;
use crate::device::Device;
use crate::format::Sell16;
use crate::format::narrow::{HostValues, StoredAs, Values};
use crate::memory::{Buffer, Memory};
use crate::parallel;
use crate::real::Scalar;
use crate::spmv::{HostOperands, Vectors, update};

/// Rows whose sums and values are adjacent.
const LANES: usize = SLICE_ROWS / 2;

/// Least number of slices per CPU task.
const SLICES_AT_ONCE: usize = 16;

pub(crate) fn sell_16<V: StoredAs<T>, T: Scalar, M: Memory>(
    matrix: &Sell16<T, M>,
    values: Values<V, T>,
    vectors: Vectors<T>,
    device: &Device,
) -> Launch {
    let kernel = sell_16::Sell16 {
        rows: matrix.rows() as u32,
        slice_begins: matrix.slice_begins().global(),
        bases: matrix.bases().global(),
        column_offsets: matrix.column_offsets().global(),
        values: values.stored,
        table: values.table,
        alpha: vectors.alpha,
        x: vectors.x,
        beta: vectors.beta,
        y: vectors.y,
    };
    let lanes = matrix.rows().div_ceil(SLICE_ROWS) * LANES;
    // One warp per slice: persistent warps would end at different times, and those of the last blocks alone.
    Launch::new(device.grid_of(lanes as u64), kernel)
}

pub(crate) fn multiply_on_cpu<V: StoredAs<T>, T: Scalar>(
    matrix: &Sell16<T>,
    values: HostValues<'_, V, T>,
    operands: HostOperands<'_, T>,
) {
    let HostOperands { alpha, x, beta, y } = operands;
    parallel::chunks_mut(y, SLICE_ROWS, SLICES_AT_ONCE, &|(slice, y)| {
        let mut sums = [[T::ZERO; 2]; LANES];
        for place in matrix.places_of(slice) {
            let base = matrix.bases()[place] as usize;
            let words = &matrix.column_offsets()[place * LANES..][..LANES];
            let stored = &values.stored[place * SLICE_ROWS..][..SLICE_ROWS];
            for lane in 0..LANES {
                for half in 0..2 {
                    let offset = words[lane] >> (16 * half) & NO_ENTRY;
                    if offset != NO_ENTRY {
                        let sum = &mut sums[lane][half];
                        *sum = *sum + values.widen(stored[2 * lane + half]) * x[base + offset as usize];
                    }
                }
            }
        }
        for (row, y) in y.iter_mut().enumerate() {
            update(y, alpha, sums[row % LANES][row / LANES], beta);
        }
    });
}
