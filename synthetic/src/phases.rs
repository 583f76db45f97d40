//! Phases for the values of real matrices.

use std::f64::consts::PI;

use host::format::Csr;
use host::real::Scalar;

use crate::draw::{mix, unit};

/// Multiplies each entry off the diagonal by a number of magnitude 1 whose angle depends only on the row and column, and is
/// the negative of that of the transposed entry: a symmetric matrix becomes Hermitian. The matrix has the rows from
/// `first_row` on. O(nnz)
pub(crate) fn turn<T: Scalar>(matrix: &mut Csr<T>, first_row: usize) {
    for row in 0..matrix.rows() {
        for entry in matrix.range(row) {
            let column = matrix.column_indices()[entry] as usize;
            let [re, im] = factor(first_row + row, column);
            let [value, _] = matrix.values()[entry].parts();
            matrix.values_mut()[entry] = T::from_parts(value * re, value * im);
        }
    }
}

fn factor(row: usize, column: usize) -> [f64; 2] {
    if row == column {
        return [1.0, 0.0];
    }
    let angle = PI * (2.0 * unit(mix(0, row.min(column) as u64, row.max(column) as u64)) - 1.0);
    [angle.cos(), if row < column { angle.sin() } else { -angle.sin() }]
}
