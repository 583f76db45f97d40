//! BCSR: several lanes per block row.

use cuda_std::launch::{Call, Launch};
use gpu_kernels::bcsr;

use crate::device::Device;
use crate::format::narrow::{StoredAs, Values};
use crate::format::{Bcsr, BlockSize, BlockVisitor};
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::Vectors;

/// Possible numbers of lanes per block row.
pub const LANES: &[u32] = &[2, 8, 32];

/// Returns the lanes per block row for `block_rows` block rows with `blocks` blocks in total.
pub fn lanes_for(blocks: usize, block_rows: usize) -> u32 {
    match blocks / block_rows.max(1) {
        0..8 => 2,
        8..128 => 8,
        _ => 32,
    }
}

pub(crate) fn bcsr<V: StoredAs<T>, T: Scalar, M: Memory>(
    matrix: &Bcsr<T, M>,
    values: Values<V, T>,
    vectors: Vectors<T>,
    device: &Device,
) -> Launch {
    let lanes = lanes_for(matrix.blocks(), matrix.block_rows());
    let grid = device.uneven_grid(matrix.block_rows() as u64 * u64::from(lanes));
    Launch { grid, call: matrix.block_size().visit(Launcher { matrix, values, vectors, lanes }) }
}

/// Returns the kernel's entry point for blocks of this size, this number of lanes, and values of `value_bytes`.
pub fn entry(size: BlockSize, lanes: u32, value_bytes: usize) -> String {
    format!("bcsr_f{}_{}{}_{lanes}", 8 * value_bytes, size.rows(), size.columns())
}

struct Launcher<'a, V, T: Scalar, M: Memory> {
    matrix: &'a Bcsr<T, M>,
    values: Values<V, T>,
    vectors: Vectors<T>,
    lanes: u32,
}

impl<V: StoredAs<T>, T: Scalar, M: Memory> Launcher<'_, V, T, M> {
    fn kernel<const SIZE: u32, const LANES: u32>(self) -> Call {
        let Self { matrix, values: Values { stored, table }, vectors, .. } = self;
        Call::new(bcsr::Bcsr::<V, T, SIZE, LANES> {
            rows: matrix.rows() as u32,
            last_column: matrix.columns().saturating_sub(1) as u32,
            block_offsets: matrix.block_offsets().global(),
            first_columns: matrix.first_columns().global(),
            values: stored,
            table,
            alpha: vectors.alpha,
            x: vectors.x,
            beta: vectors.beta,
            y: vectors.y,
        })
    }
}

impl<V: StoredAs<T>, T: Scalar, M: Memory> BlockVisitor for Launcher<'_, V, T, M> {
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
    use crate::executor::{Emulated, Executor};
    use crate::format::{Csr, FillLimit};
    use crate::real::Real;

    fn check_entries<T: Real>() {
        // A row of 1, 8 and 128 blocks of each size, for all numbers of lanes.
        for (blocks, lanes) in [(1, 2), (8, 8), (128, 32)] {
            for &size in BlockSize::ALL.iter().take(if cfg!(miri) { 2 } else { usize::MAX }) {
                let columns: Vec<u32> = (0..blocks).map(|block| block * size.columns() as u32).collect();
                let values = vec![T::ONE; columns.len()];
                let width = columns.len() * size.columns();
                let matrix = Csr::try_new(1, width, vec![0u32, blocks], columns, values).unwrap();
                let limit = FillLimit { times_csr: f64::INFINITY };
                let matrix = Bcsr::try_from_csr(&matrix, size, limit).unwrap();
                let values = Values::as_they_are(matrix.values().global());
                let launch = bcsr(&matrix, values, Vectors::nothing(), Emulated::new(1).device());
                assert_eq!(launch.call.entry().to_string(), entry(size, lanes, size_of::<T>()));
            }
        }
    }

    #[test]
    fn the_entry_point_is_that_of_the_launch() {
        check_entries::<f32>();
        check_entries::<f64>();
    }

    #[test]
    fn lanes_follow_the_mean_number_of_blocks() {
        for (blocks, block_rows, lanes) in
            [(0, 0, 2), (0, 9, 2), (79, 10, 2), (80, 10, 8), (1279, 10, 8), (1280, 10, 32), (1 << 40, 1, 32)]
        {
            assert_eq!(lanes_for(blocks, block_rows), lanes, "{blocks} blocks in {block_rows} block rows");
        }
    }
}
