//! BELLPACK: one thread per block row.

use cuda_std::launch::{Call, Launch};
use gpu_kernels::bellpack;
use gpu_kernels::ell::PADDING;

use crate::device::Device;
use crate::error::Error;
use crate::format::narrow::{StoredAs, Values};
use crate::format::{Bellpack, BlockSize, BlockVisitor};
use crate::memory::{Buffer, Memory, filled};
use crate::parallel;
use crate::real::Scalar;
use crate::spmv::block::{GROUP, add_group, values_per_word};
use crate::spmv::lanes::each_lane;
use crate::spmv::{HostOperands, Vectors, update};

pub(crate) fn bellpack<V: StoredAs<T>, T: Scalar, M: Memory>(
    matrix: &Bellpack<T, M>,
    values: Values<V, T>,
    vectors: Vectors<T>,
    device: &Device,
) -> Launch {
    let grid = device.uneven_grid(matrix.block_rows().len() as u64);
    Launch { grid, call: matrix.block_size().visit(Launcher { matrix, values, vectors }) }
}

/// Returns the kernel's entry point for blocks of this size, and values of `value_bytes`.
pub fn entry(size: BlockSize, value_bytes: usize) -> String {
    format!("bellpack_f{}_{}{}", 8 * value_bytes, size.rows(), size.columns())
}

struct Launcher<'a, V, T: Scalar, M: Memory> {
    matrix: &'a Bellpack<T, M>,
    values: Values<V, T>,
    vectors: Vectors<T>,
}

impl<V: StoredAs<T>, T: Scalar, M: Memory> BlockVisitor for Launcher<'_, V, T, M> {
    type Output = Call;

    fn visit<const SIZE: u32, const R: usize, const C: usize>(self) -> Call {
        let Self { matrix, values: Values { stored, table }, vectors } = self;
        Call::new(bellpack::Bellpack::<V, T, SIZE> {
            rows: matrix.rows() as u32,
            last_column: matrix.columns().saturating_sub(1) as u32,
            partition_rows: matrix.partition_rows() as u32,
            partition_offsets: matrix.partition_offsets().global(),
            block_rows: matrix.block_rows().global(),
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

/// Multiplies with `values` in the slots of the matrix.
pub(crate) fn multiply_on_cpu<T: Scalar>(
    matrix: &Bellpack<T>,
    values: &[T],
    operands: HostOperands<'_, T>,
) -> Result<(), Error> {
    matrix.block_size().visit(Multiplication { matrix, values, operands })
}

struct Multiplication<'a, T: Scalar> {
    matrix: &'a Bellpack<T>,
    values: &'a [T],
    operands: HostOperands<'a, T>,
}

impl<T: Scalar> BlockVisitor for Multiplication<'_, T> {
    type Output = Result<(), Error>;

    fn visit<const SIZE: u32, const R: usize, const C: usize>(self) -> Result<(), Error> {
        let Self { matrix, values, operands: HostOperands { alpha, x, beta, y } } = self;
        let block_rows = matrix.block_rows();
        let mut sums = filled(block_rows.len(), [T::ZERO; R])?;
        parallel::chunks_mut(&mut sums, matrix.partition_rows(), 1, &|(partition, sums)| {
            let lanes = sums.len();
            for (group, sums) in sums.chunks_mut(GROUP).enumerate() {
                let mut group_sums = [[T::ZERO; GROUP]; R];
                let first_lane = group * GROUP;
                let in_group = first_lane..first_lane + sums.len();
                let word_length = const { values_per_word::<T, R, C>() };
                for (first_columns, values) in matrix.steps(partition, values) {
                    let first_columns = &first_columns[in_group.clone()];
                    // The first block row is the longest.
                    if first_columns[0] == PADDING {
                        break;
                    }
                    let words = values
                        .chunks_exact(lanes * word_length)
                        .map(|words| &words[in_group.start * word_length..in_group.end * word_length]);
                    add_group::<T, R, C>(&mut group_sums, first_columns, words, x);
                }
                for (lane, sums) in sums.iter_mut().enumerate() {
                    *sums = each_lane(|row| group_sums[row][lane]);
                }
            }
        });
        // Scatters the sums back to the original block rows.
        for (&block_row, sums) in block_rows.iter().zip(&sums) {
            for (y, &sum) in y[block_row as usize * R..].iter_mut().zip(sums) {
                update(y, alpha, sum, beta);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::{Emulated, Executor};
    use crate::format::{Csr, FillLimit, PartitionRows};
    use crate::real::Real;

    fn check<T: Real>() {
        let matrix = Csr::<T>::try_from_triplets(1, 1, &[0], &[0], &[T::ONE]).unwrap();
        for &size in BlockSize::ALL.iter().take(if cfg!(miri) { 2 } else { usize::MAX }) {
            let bellpack =
                Bellpack::try_from_csr(&matrix, size, PartitionRows::default(), FillLimit { times_csr: f64::INFINITY });
            let bellpack = bellpack.unwrap();
            let values = Values::as_they_are(bellpack.values().global());
            let launch = super::bellpack(&bellpack, values, Vectors::nothing(), Emulated::new(1).device());
            assert_eq!(launch.call.entry().to_string(), entry(size, size_of::<T>()));
        }
    }

    #[test]
    fn the_entry_point_is_that_of_the_launch() {
        check::<f32>();
        check::<f64>();
    }
}
