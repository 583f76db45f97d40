//! One row after the other, in twice the working precision: slow, plain, and what the others are held to.

use super::{Executor, host_memory};
use crate::error::Error;
use crate::format::{Format, Matrix};
use crate::memory::{Element, HostMemory};
use crate::real::Real;
use crate::spmv::{Device, Operands, Tuning, Workspace};
use crate::verify::Accumulator;

/// The sequential, compensated executor.
pub struct Reference {
    device: Device,
}

impl Reference {
    /// The executor; there is nothing to set.
    pub fn new() -> Self {
        let name = "one thread, compensated".into();
        Self { device: Device { name, multiprocessors: 1, threads_per_multiprocessor: 1, tuning: Tuning::default() } }
    }
}

impl Default for Reference {
    fn default() -> Self {
        Self::new()
    }
}

impl Executor for Reference {
    host_memory!();

    fn multiply<T: Real>(
        &self,
        matrix: &Matrix<T>,
        _format: Format,
        operands: Operands<'_, T, HostMemory>,
        _workspace: &mut Workspace<T, HostMemory>,
    ) -> Result<(), Error> {
        operands.check(matrix.rows(), matrix.columns())?;
        let Operands { alpha, x, beta, y } = operands;
        let mut rows = vec![Accumulator::default(); y.len()];
        matrix.for_each_entry(|row, column, value| {
            rows[row].add_product(value.to_f64(), x[column as usize].to_f64());
        });
        for (y, row) in y.iter_mut().zip(rows) {
            *y = T::from_f64(row.combine(alpha.to_f64(), beta.to_f64(), y.to_f64()).value());
        }
        Ok(())
    }
}
