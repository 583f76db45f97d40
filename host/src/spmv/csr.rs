//! CSR: one thread or several lanes a row.

use cuda_std::launch::{Kernel, Launch};
use cuda_std::{Global, GlobalMut};
use gpu_kernels::Offset;
use gpu_kernels::csr::{CsrScalar, CsrVector};
use rayon::prelude::*;

use super::{Device, HostOperands, Operands, update};
use crate::format::{Csr, Lanes, Offsets};
use crate::memory::{Buffer, Memory};
use crate::real::Real;

/// Rows that a CPU thread takes at a time.
const ROWS_AT_ONCE: usize = 1024;

pub(super) fn scalar<T: Real, M: Memory>(matrix: &Csr<T, M>, operands: Operands<'_, T, M>, device: &Device) -> Launch {
    fn kernel<T: Real, O: Offset>(row_offsets: Global<O>, arguments: Arguments<T>) -> Box<dyn Kernel> {
        let Arguments { rows, column_indices, values, alpha, x, beta, y } = arguments;
        Box::new(CsrScalar { rows, row_offsets, column_indices, values, alpha, x, beta, y })
    }
    let grid = device.grid(matrix.rows() as u64);
    let arguments = Arguments::new(matrix, operands);
    let kernel = match matrix.row_offsets() {
        Offsets::Narrow(offsets) => kernel(offsets.global(), arguments),
        Offsets::Wide(offsets) => kernel(offsets.global(), arguments),
    };
    Launch { grid, kernel }
}

pub(super) fn vector<T: Real, M: Memory>(
    matrix: &Csr<T, M>,
    lanes: Lanes,
    operands: Operands<'_, T, M>,
    device: &Device,
) -> Launch {
    fn kernel<T: Real, O: Offset, const LANES: u32>(
        row_offsets: Global<O>,
        arguments: Arguments<T>,
    ) -> Box<dyn Kernel> {
        let Arguments { rows, column_indices, values, alpha, x, beta, y } = arguments;
        Box::new(CsrVector::<T, O, LANES> { rows, row_offsets, column_indices, values, alpha, x, beta, y })
    }
    fn with_lanes<T: Real, O: Offset>(lanes: u32, offsets: Global<O>, arguments: Arguments<T>) -> Box<dyn Kernel> {
        match lanes {
            2 => kernel::<T, O, 2>(offsets, arguments),
            4 => kernel::<T, O, 4>(offsets, arguments),
            8 => kernel::<T, O, 8>(offsets, arguments),
            16 => kernel::<T, O, 16>(offsets, arguments),
            _ => kernel::<T, O, 32>(offsets, arguments),
        }
    }
    let lanes = lanes.count().unwrap_or_else(|| lanes_for(matrix.rows(), matrix.nnz()));
    let grid = device.grid(matrix.rows() as u64 * u64::from(lanes));
    let arguments = Arguments::new(matrix, operands);
    let kernel = match matrix.row_offsets() {
        Offsets::Narrow(offsets) => with_lanes(lanes, offsets.global(), arguments),
        Offsets::Wide(offsets) => with_lanes(lanes, offsets.global(), arguments),
    };
    Launch { grid, kernel }
}

/// What both kernels take, but for the row offsets.
struct Arguments<T> {
    rows: u32,
    column_indices: Global<u32>,
    values: Global<T>,
    alpha: T,
    x: Global<T>,
    beta: T,
    y: GlobalMut<T>,
}

impl<T: Real> Arguments<T> {
    fn new<M: Memory>(matrix: &Csr<T, M>, operands: Operands<'_, T, M>) -> Self {
        Self {
            rows: matrix.rows() as u32,
            column_indices: matrix.column_indices().global(),
            values: matrix.values().global(),
            alpha: operands.alpha,
            x: operands.x.global(),
            beta: operands.beta,
            y: operands.y.global_mut(),
        }
    }
}

impl Lanes {
    /// The number of lanes, unless it is to be chosen.
    pub(crate) fn count(self) -> Option<u32> {
        match self {
            Self::Automatic => None,
            Self::L2 => Some(2),
            Self::L4 => Some(4),
            Self::L8 => Some(8),
            Self::L16 => Some(16),
            Self::L32 => Some(32),
        }
    }
}

/// The number of lanes a row that [`Lanes::Automatic`] stands for: about one lane for every six entries of the
/// mean row, which measured best on an H200 for stencils and bands.
pub fn lanes_for(rows: usize, nnz: usize) -> u32 {
    let mean = nnz / rows.max(1);
    (mean / 6).clamp(2, 32).next_power_of_two() as u32
}

pub(super) fn longest_chain(lanes: Lanes, length: usize) -> usize {
    match lanes.count() {
        // The CPU has one chain of four sums, so that is the least that can be promised.
        Some(lanes) => length.div_ceil(lanes.min(4) as usize) + lanes.ilog2() as usize + 2,
        None => length.div_ceil(2) + 7,
    }
    .min(length)
}

pub(super) fn multiply_on_cpu<T: Real>(matrix: &Csr<T>, operands: HostOperands<'_, T>) {
    fn rows<T: Real, O: Copy + Sync>(
        matrix: &Csr<T>,
        offsets: &[O],
        widen: impl Fn(O) -> usize + Sync,
        operands: HostOperands<'_, T>,
    ) {
        let HostOperands { alpha, x, beta, y } = operands;
        y.par_chunks_mut(ROWS_AT_ONCE).zip(offsets.par_chunks(ROWS_AT_ONCE)).enumerate().for_each(
            |(chunk, (y, begins))| {
                let ends = &offsets[chunk * ROWS_AT_ONCE + 1..];
                for ((y, &begin), &end) in y.iter_mut().zip(begins).zip(ends) {
                    let range = widen(begin)..widen(end);
                    let sum = dot(&matrix.column_indices()[range.clone()], &matrix.values()[range], x);
                    update(y, alpha, sum, beta);
                }
            },
        );
    }
    match matrix.row_offsets() {
        Offsets::Narrow(offsets) => rows(matrix, offsets, |offset| offset as usize, operands),
        Offsets::Wide(offsets) => rows(matrix, offsets, |offset| offset as usize, operands),
    }
}

/// The product of a row with x, in four sums that do not wait for each other.
#[inline]
fn dot<T: Real>(columns: &[u32], values: &[T], x: &[T]) -> T {
    let mut sums = [T::ZERO; 4];
    let (fours, rest) = columns.as_chunks::<4>();
    let (value_fours, value_rest) = values.as_chunks::<4>();
    for (columns, values) in fours.iter().zip(value_fours) {
        for lane in 0..4 {
            sums[lane] = sums[lane] + values[lane] * x[columns[lane] as usize];
        }
    }
    for (&column, &value) in rest.iter().zip(value_rest) {
        sums[0] = sums[0] + value * x[column as usize];
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_follow_the_mean_row_length() {
        for (rows, nnz, lanes) in [
            (0, 0, 2),
            (10, 0, 2),
            (10, 30, 2),
            (10, 179, 2),
            (10, 180, 4),
            (10, 270, 4),
            (1, 1 << 40, 32),
            (10, 1920, 32),
        ] {
            assert_eq!(lanes_for(rows, nnz), lanes, "{rows} rows, {nnz} entries");
        }
    }

    #[test]
    fn a_chain_is_never_longer_than_the_row() {
        for lanes in [Lanes::Automatic, Lanes::L2, Lanes::L32] {
            for length in 0..100 {
                assert!(longest_chain(lanes, length) <= length);
            }
        }
        assert_eq!(longest_chain(Lanes::L32, 1000), 250 + 5 + 2);
    }
}
