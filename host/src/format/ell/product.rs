//! ELL: one thread per row, or several.

use cuda_std::launch::{Call, Grid, Launch};
use cuda_std::warp::WARP_LANES;
use gpu_kernels::ell::{self, EllSubwarp, PADDING};

use crate::device::Device;
use crate::format::Ell;
use crate::format::narrow::{HostValues, StoredAs, Values};
use crate::memory::{Buffer, Memory};
use crate::parallel;
use crate::real::Scalar;
use crate::spmv::{HostOperands, Vectors, update};

/// Rows per CPU task: their sums stay in the L1 cache while it goes from slot to slot.
const ROWS_AT_ONCE: usize = 1024;

/// Largest number of threads per block on any GPU, and thus per row.
const LARGEST_BLOCK: u32 = 1024;

/// Fewest rows per block, if possible: their four-byte indices fill a sector of 32 bytes.
const ROWS_OF_A_SECTOR: u32 = 8;

pub(crate) fn ell<V: StoredAs<T>, T: Scalar, M: Memory>(
    matrix: &Ell<T, M>,
    values: Values<V, T>,
    vectors: Vectors<T>,
    device: &Device,
) -> Launch {
    let (rows, stride, width) = (matrix.rows() as u32, matrix.stride() as u32, matrix.width() as u32);
    let column_indices = matrix.column_indices().global();
    let Values { stored: values, table } = values;
    let Vectors { alpha, x, beta, y } = vectors;
    let call = with_batches!(matrix.rows(), device, BATCHES => {
        Call::new(ell::Ell::<V, T, BATCHES> { rows, stride, width, column_indices, values, table, alpha, x, beta, y })
    });
    Launch { grid: device.grid_of_blocks(matrix.rows() as u64, device.block_for_rows(matrix.rows())), call }
}

/// Makes the same kernel for the number of batches of slots that suits the number of rows.
macro_rules! with_batches {
    ($rows:expr, $device:expr, $batches:ident => $call:expr) => {
        if $device.has_few_rows($rows) {
            const $batches: usize = 4;
            $call
        } else {
            const $batches: usize = 1;
            $call
        }
    };
}
pub(crate) use with_batches;

pub(crate) fn subwarp<V: StoredAs<T>, T: Scalar, M: Memory>(
    matrix: &Ell<T, M>,
    values: Values<V, T>,
    vectors: Vectors<T>,
    device: &Device,
) -> Launch {
    let warps = device.resident_threads() / u64::from(WARP_LANES);
    let threads_per_row = threads_per_row(matrix.rows(), matrix.width(), warps);
    if threads_per_row == 1 {
        return ell(matrix, values, vectors, device);
    }
    let threads_per_block = block_of_rows(threads_per_row, device.tuning.threads_per_block());
    let kernel = EllSubwarp {
        rows: matrix.rows() as u32,
        threads_per_row,
        stride: matrix.stride() as u32,
        width: matrix.width() as u32,
        column_indices: matrix.column_indices().global(),
        values: values.stored,
        table: values.table,
        alpha: vectors.alpha,
        x: vectors.x,
        beta: vectors.beta,
        y: vectors.y,
    };
    let threads = matrix.rows() as u64 * u64::from(threads_per_row);
    let shared_bytes = threads_per_block * size_of::<T>() as u32;
    let grid = Grid { shared_bytes, ..device.grid_of_blocks(threads, threads_per_block) };
    Launch::new(grid, kernel)
}

/// Returns the number of threads that share a row (Anzt et al. 2020, Alg. 4): one in a matrix with far more rows than
/// slots per row; otherwise one per slot of a row, up to a warp; beyond that several warps, as long as rows have work
/// and the GPU has warps for them. A block can hold that many threads.
pub(crate) fn threads_per_row(rows: usize, width: usize, warps: u64) -> u32 {
    if width as u128 * 100 <= rows as u128 {
        return 1;
    }
    // At most a warp, so this does not wrap.
    let subwarp = width.min(WARP_LANES as usize).next_power_of_two() as u32;
    if subwarp < WARP_LANES {
        return subwarp;
    }
    let warps_of_work = width as u64 / u64::from(WARP_LANES);
    let warps_per_row = warps_of_work.min(warps / rows.max(1) as u64).clamp(1, (LARGEST_BLOCK / WARP_LANES).into());
    WARP_LANES * warps_per_row as u32
}

/// Returns the threads per block with whole warps and whole rows: about `wanted`, but enough rows for whole sectors.
fn block_of_rows(threads_per_row: u32, wanted: u32) -> u32 {
    let enough = ROWS_OF_A_SECTOR.min(LARGEST_BLOCK / threads_per_row);
    // Whole warps: either each row has whole warps, or the number of rows is a multiple of 8 and a row has at least 4
    // threads, or the block has `wanted` threads.
    (wanted / threads_per_row).max(enough) * threads_per_row
}

pub(crate) fn multiply_on_cpu<V: StoredAs<T>, T: Scalar>(
    matrix: &Ell<T>,
    values: HostValues<'_, V, T>,
    operands: HostOperands<'_, T>,
) {
    let HostOperands { alpha, x, beta, y } = operands;
    parallel::chunks_mut(y, ROWS_AT_ONCE, 1, &|(chunk, y)| {
        let mut sums = [T::ZERO; ROWS_AT_ONCE];
        for place in 0..matrix.width() {
            let first = place * matrix.stride() + chunk * ROWS_AT_ONCE;
            let places = first..first + y.len();
            let columns = &matrix.column_indices()[places.clone()];
            for ((sum, &column), &value) in sums.iter_mut().zip(columns).zip(&values.stored[places]) {
                if column != PADDING {
                    *sum = *sum + values.widen(value) * x[column as usize];
                }
            }
        }
        for (y, &sum) in y.iter_mut().zip(&sums) {
            update(y, alpha, sum, beta);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_a_row_follow_its_length() {
        let h200 = 132 * 64;
        for (rows, width, threads) in [
            (0, 0, 1),
            (5, 0, 1),
            (5, 1, 1),
            (100, 1, 1),
            (199, 2, 2),
            (200, 2, 1),
            (299, 3, 4),
            (600, 16, 16),
            (600, 17, 32),
            // Several warps per row, limited by the work per row and by the available warps.
            (600, 64, 64),
            (600, 10_000, 14 * 32),
            (1000, 10_000, 8 * 32),
            (100_000, 10_000, 32),
            (3199, 32, 32),
            (3200, 32, 1),
            // A block has 32 warps.
            (1, 1 << 40, 1024),
        ] {
            assert_eq!(threads_per_row(rows, width, h200), threads, "{rows} rows of {width}");
        }
    }

    #[test]
    fn blocks_have_whole_warps_and_whole_rows() {
        for wanted in (32..=1024).step_by(32) {
            for threads_per_row in [2, 4, 8, 16].into_iter().chain((32..=1024).step_by(32)) {
                let block = block_of_rows(threads_per_row, wanted);
                assert!(block.is_multiple_of(32) && block.is_multiple_of(threads_per_row), "{threads_per_row}");
                assert!((1..=1024).contains(&block), "{threads_per_row}, {wanted}");
            }
        }
        assert_eq!(block_of_rows(96, 256), 768);
        assert_eq!(block_of_rows(1024, 256), 1024);
        assert_eq!(block_of_rows(2, 256), 256);
    }
}
