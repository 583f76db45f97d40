//! Products in twice the working precision, entry by entry, in any format.

use super::transposed::Transposition;
use super::{HostOperands, MultivectorOperands};
use crate::error::Error;
use crate::format::Matrix;
use crate::memory::{HostMemory, collect, filled};
use crate::real::{ExactElement, ExactSum, Scalar};

/// y ← α A x + β y.
pub(crate) fn multiply<T: Scalar>(matrix: &Matrix<T>, operands: HostOperands<'_, T>) -> Result<(), Error> {
    operands.check(matrix.rows(), matrix.columns())?;
    multiply_entries(operands, |add| matrix.for_each_entry(|row, column, value| add(row, column as usize, value)))
}

/// Y ← α A X + β Y for several vectors.
pub(crate) fn multiply_multivector<T: Scalar>(
    matrix: &Matrix<T>,
    operands: MultivectorOperands<'_, T, HostMemory>,
) -> Result<(), Error> {
    operands.check(matrix.rows(), matrix.columns())?;
    let MultivectorOperands { shape, alpha, x, beta, y } = operands;
    // The number of vectors without elements is not bounded by memory.
    if y.is_empty() {
        return Ok(());
    }
    for vector in 0..shape.vectors {
        let x = (0..matrix.columns()).map(|column| x[shape.place(matrix.columns(), column, vector)]);
        let result = (0..matrix.rows()).map(|row| y[shape.place(matrix.rows(), row, vector)]);
        let (x, mut result) = (collect(x)?, collect(result)?);
        multiply(matrix, HostOperands { alpha, x: &x, beta, y: &mut result })?;
        for (row, result) in result.into_iter().enumerate() {
            y[shape.place(matrix.rows(), row, vector)] = result;
        }
    }
    Ok(())
}

/// y ← α Aᵀ x + β y, or the same with Aᴴ.
pub(crate) fn multiply_transposed<T: Scalar>(
    matrix: &Matrix<T>,
    transposition: Transposition,
    operands: HostOperands<'_, T>,
) -> Result<(), Error> {
    operands.check(matrix.columns(), matrix.rows())?;
    multiply_entries(operands, |add| {
        matrix.for_each_entry(|row, column, value| add(column as usize, row, transposition.of(value)))
    })
}

/// y ← α A x + β y for the matrix whose entries `for_each` passes on, as row, column and value.
fn multiply_entries<T: Scalar>(
    operands: HostOperands<'_, T>,
    for_each: impl FnOnce(&mut dyn FnMut(usize, usize, T)) -> Result<(), Error>,
) -> Result<(), Error> {
    let HostOperands { alpha, x, beta, y } = operands;
    let mut rows = filled(y.len(), T::Sum::default())?;
    for_each(&mut |row, column, value| rows[row].add(value, x[column]))?;
    for (y, row) in y.iter_mut().zip(rows) {
        *y = row.combined(alpha, beta, *y).rounded();
    }
    Ok(())
}
