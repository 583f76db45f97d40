//! ELL: one thread a row.

use cuda_std::launch::Launch;
use gpu_kernels::ell::{self, PADDING};
use rayon::prelude::*;

use super::{Device, Operands, update};
use crate::format::Ell;
use crate::memory::{Buffer, HostMemory, Memory};
use crate::real::Real;

/// Rows that a CPU thread takes at a time: their sums stay in the L1 cache while it goes from place to place.
const ROWS_AT_ONCE: usize = 1024;

pub(super) fn ell<T: Real, M: Memory>(matrix: &Ell<T, M>, operands: Operands<'_, T, M>, device: &Device) -> Launch {
    let kernel = ell::Ell {
        rows: matrix.rows() as u32,
        stride: matrix.stride() as u32,
        width: matrix.width() as u32,
        column_indices: matrix.column_indices().global(),
        values: matrix.values().global(),
        alpha: operands.alpha,
        x: operands.x.global(),
        beta: operands.beta,
        y: operands.y.global_mut(),
    };
    Launch { grid: device.grid(matrix.rows() as u64), kernel: Box::new(kernel) }
}

pub(super) fn multiply_on_cpu<T: Real>(matrix: &Ell<T>, operands: Operands<'_, T, HostMemory>) {
    let Operands { alpha, x, beta, y } = operands;
    y.par_chunks_mut(ROWS_AT_ONCE).enumerate().for_each(|(chunk, y)| {
        let mut sums = [T::ZERO; ROWS_AT_ONCE];
        for place in 0..matrix.width() {
            let first = place * matrix.stride() + chunk * ROWS_AT_ONCE;
            let places = first..first + y.len();
            let columns = &matrix.column_indices()[places.clone()];
            let values = &matrix.values()[places];
            for ((sum, &column), &value) in sums.iter_mut().zip(columns).zip(values) {
                if column != PADDING {
                    *sum = *sum + value * x[column as usize];
                }
            }
        }
        for (y, &sum) in y.iter_mut().zip(&sums) {
            update(y, alpha, sum, beta);
        }
    });
}
