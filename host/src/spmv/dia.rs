//! DIA: a thread for a few rows.

use cuda_std::launch::{Grid, Launch};
use gpu_kernels::dia::{self, OFFSETS_AT_ONCE, ROWS};
use rayon::prelude::*;

use super::{Device, HostOperands, Operands, update};
use crate::format::Dia;
use crate::memory::{Buffer, Memory};
use crate::real::Real;

/// Rows that a CPU thread takes at a time: few enough for their sums to stay in a cache while it goes from diagonal to
/// diagonal, and enough for each diagonal to be read in long runs.
const ROWS_AT_ONCE: usize = 4096;

pub(super) fn dia<T: Real, M: Memory>(matrix: &Dia<T, M>, operands: Operands<'_, T, M>, device: &Device) -> Launch {
    let diagonals = matrix.diagonals() as u32;
    let kernel = dia::Dia {
        rows: matrix.rows() as u32,
        columns: matrix.columns() as u32,
        stride: matrix.stride() as u32,
        diagonals,
        offsets: matrix.offsets().global(),
        values: matrix.values().global(),
        alpha: operands.alpha,
        x: operands.x.global(),
        beta: operands.beta,
        y: operands.y.global_mut(),
    };
    let shared_bytes = diagonals.min(OFFSETS_AT_ONCE) * size_of::<i32>() as u32;
    let grid = Grid { shared_bytes, ..device.uneven_grid(matrix.rows().div_ceil(ROWS) as u64) };
    Launch { grid, kernel: Box::new(kernel) }
}

pub(super) fn multiply_on_cpu<T: Real>(matrix: &Dia<T>, operands: HostOperands<'_, T>) {
    let HostOperands { alpha, x, beta, y } = operands;
    y.par_chunks_mut(ROWS_AT_ONCE).enumerate().for_each(|(chunk, y)| {
        let mut sums = [T::ZERO; ROWS_AT_ONCE];
        let first_row = chunk * ROWS_AT_ONCE;
        for (diagonal, &offset) in matrix.offsets().iter().enumerate() {
            // The rows of this chunk in which the diagonal is inside the matrix.
            let offset = offset as isize;
            let inside = |column: usize| (column as isize - offset - first_row as isize).clamp(0, y.len() as isize);
            let (begin, end) = (inside(0) as usize, inside(matrix.columns()) as usize);
            if begin == end {
                continue;
            }
            let place = diagonal * matrix.stride() + first_row;
            let values = &matrix.values()[place + begin..place + end];
            let elements = &x[(first_row + begin).wrapping_add_signed(offset)..];
            for ((sum, &value), &element) in sums[begin..end].iter_mut().zip(values).zip(elements) {
                *sum = if value.is_absent() { *sum } else { *sum + value * element };
            }
        }
        for (y, &sum) in y.iter_mut().zip(&sums) {
            update(y, alpha, sum, beta);
        }
    });
}
