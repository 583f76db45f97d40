//! One row after the other, in twice the working precision: slow, plain, and what the others are held to.

use super::{Executor, dense_on_host, host_memory};
use crate::dense;
use crate::error::Error;
use crate::format::{Csr, FillLimit, Format, Matrix};
use crate::memory::{Element, HostMemory};
use crate::real::Real;
use crate::spmv::{Device, MultivectorOperands, Operands, Tuning, Workspace};
use crate::verify::Accumulator;

/// The sequential, compensated executor.
pub struct Reference {
    device: Device,
}

impl Reference {
    /// The executor; there is nothing to set.
    pub fn new() -> Self {
        let name = "one thread, compensated".into();
        Self {
            device: Device {
                name,
                cache_bytes: None,
                multiprocessors: 1,
                threads_per_multiprocessor: 1,
                shared_bytes: None,
                tuning: Tuning::default(),
            },
        }
    }
}

impl Default for Reference {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: arrays are vectors, moved and cloned; matrices are converted by their own methods.
unsafe impl Executor for Reference {
    host_memory!();
    dense_on_host!(Compensated);

    fn multiply<T: Real>(
        &self,
        matrix: &Matrix<T>,
        _format: Format,
        operands: Operands<'_, T, HostMemory>,
        _workspace: &mut Workspace<T, HostMemory>,
    ) -> Result<(), Error> {
        operands.check(matrix.rows(), matrix.columns())?;
        multiply(operands, |add| {
            matrix.for_each_entry(|row, column, value| add(row, column as usize, value));
        });
        Ok(())
    }

    fn multiply_multivector<T: Real>(
        &self,
        matrix: &Matrix<T>,
        format: Format,
        operands: MultivectorOperands<'_, T, HostMemory>,
        workspace: &mut Workspace<T, HostMemory>,
    ) -> Result<(), Error> {
        operands.check(matrix.rows(), matrix.columns())?;
        let MultivectorOperands { shape, alpha, x, beta, y } = operands;
        for vector in 0..shape.vectors {
            let x = (0..matrix.columns()).map(|column| x[shape.place(matrix.columns(), column, vector)]).collect();
            let mut result = (0..matrix.rows()).map(|row| y[shape.place(matrix.rows(), row, vector)]).collect();
            self.multiply(matrix, format, Operands { alpha, x: &x, beta, y: &mut result }, workspace)?;
            for (row, result) in result.into_iter().enumerate() {
                y[shape.place(matrix.rows(), row, vector)] = result;
            }
        }
        Ok(())
    }

    fn multiply_transposed<T: Real>(
        &self,
        matrix: &Matrix<T>,
        _format: Format,
        operands: Operands<'_, T, HostMemory>,
    ) -> Result<(), Error> {
        operands.check(matrix.columns(), matrix.rows())?;
        multiply(operands, |add| {
            matrix.for_each_entry(|row, column, value| add(column as usize, row, value));
        });
        Ok(())
    }

    fn convert<T: Real>(&self, matrix: Csr<T>, format: Format, limit: FillLimit) -> Result<Matrix<T>, Error> {
        Matrix::try_from_csr(matrix, format, limit)
    }

    fn to_csr<T: Real>(&self, matrix: Matrix<T>) -> Result<Csr<T>, Error> {
        Ok(matrix.into_csr())
    }
}

/// y ← α A x + β y for the matrix whose entries `for_each` hands over, as row, column and value.
fn multiply<T: Real>(operands: Operands<'_, T, HostMemory>, for_each: impl FnOnce(&mut dyn FnMut(usize, usize, T))) {
    let Operands { alpha, x, beta, y } = operands;
    let mut rows = vec![Accumulator::default(); y.len()];
    for_each(&mut |row, column, value| rows[row].add_product(value.to_f64(), x[column].to_f64()));
    for (y, row) in y.iter_mut().zip(rows) {
        *y = T::from_f64(row.combine(alpha.to_f64(), beta.to_f64(), y.to_f64()).value());
    }
}
