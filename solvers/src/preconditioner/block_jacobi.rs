//! The inverses of dense blocks on the diagonal.

use std::sync::{Mutex, PoisonError};

use host::error::Error;
use host::executor::Executor;
use host::format::Csr;
use host::memory::zeros;
use host::parallel;
use host::plan::Vector;
use host::real::Real;

use super::recipe::{Inverse, Recipe};
use crate::dense::{BlockDiagonal, BlockDiagonalOperands, BlockDiagonalProduct, Space};

struct BlockJacobi<T: Real, E: Executor>(BlockDiagonal<T, E::Memory>);

/// Inverts the blocks on the host, in parallel, in 64 bits: O(nnz + rows · size²), and `size` values for each row.
pub(super) fn recipe<T: Real, E: Executor>(executor: &E, matrix: &Csr<T>, size: usize) -> Result<Recipe<T, E>, Error> {
    let blocks = BlockDiagonal::new(executor, matrix.rows(), size, inverses(matrix, size)?)?;
    Ok(Recipe { inverse: Box::new(BlockJacobi(blocks)), symmetric: false, scalars: vec![] })
}

/// The inverse blocks, one after the other.
fn inverses<T: Real>(matrix: &Csr<T>, size: usize) -> Result<Vec<T>, Error> {
    let blocks = matrix.rows().div_ceil(size);
    let bytes = blocks as u128 * (size * size * size_of::<T>()) as u128;
    let places = blocks.checked_mul(size * size).ok_or(Error::OutOfMemory { what: "the inverse blocks", bytes })?;
    let mut values = zeros::<T>(places)?;
    // The error of the first block that has one, whatever thread finds its own first.
    let failed: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    parallel::chunks_mut(&mut values, size * size, 1, &|(block, values)| {
        if let Err(error) = inverse_of_block(matrix, block * size, size, values) {
            let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
            if failed.as_ref().is_none_or(|&(other, _)| block < other) {
                *failed = Some((block, error));
            }
        }
    });
    if let Some((_, error)) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    Ok(values)
}

/// Inverts the block of up to `size` rows from `first` on, column by column into `values`: Gauss and Jordan's method with
/// the largest pivot of each column.
fn inverse_of_block<T: Real>(matrix: &Csr<T>, first: usize, size: usize, values: &mut [T]) -> Result<(), Error> {
    let rows = size.min(matrix.rows() - first);
    // Row by row: the block, and the inverse that comes of the unit matrix.
    let mut left = vec![vec![0.0; rows]; rows];
    let mut right = vec![vec![0.0; rows]; rows];
    for row in 0..rows {
        right[row][row] = 1.0;
        for (column, value) in matrix.row(first + row) {
            if let Some(sum) = left[row].get_mut((column as usize).wrapping_sub(first)) {
                *sum += value.to_f64();
            }
        }
    }
    for column in 0..rows {
        let magnitude = |row: &usize| left[*row][column].abs();
        let largest = (column..rows).max_by(|a, b| magnitude(a).total_cmp(&magnitude(b))).unwrap_or(column);
        left.swap(column, largest);
        right.swap(column, largest);
        let pivot = left[column][column];
        if !(pivot.is_finite() && (1.0 / pivot).is_finite()) {
            let expected = "a finite number other than 0, as its block must have an inverse";
            return Err(Error::Pivot { operation: "block Jacobi", row: first + column, pivot, expected });
        }
        for row in [&mut left, &mut right] {
            row[column].iter_mut().for_each(|value| *value /= pivot);
        }
        for row in (0..rows).filter(|&row| row != column) {
            let factor = left[row][column];
            for matrix in [&mut left, &mut right] {
                let (pivot_row, row) = two_rows(matrix, column, row);
                row.iter_mut().zip(pivot_row).for_each(|(value, pivot_value)| *value -= factor * pivot_value);
            }
        }
    }
    for (row, inverse) in right.iter().enumerate() {
        for (column, &value) in inverse.iter().enumerate() {
            values[column * size + row] = T::from_f64(value);
        }
    }
    Ok(())
}

/// One row to read and another one to change.
fn two_rows(matrix: &mut [Vec<f64>], read: usize, changed: usize) -> (&[f64], &mut [f64]) {
    let (before, from) = matrix.split_at_mut(read.max(changed));
    let (lower, upper) = (&mut before[read.min(changed)], &mut from[0]);
    if read < changed { (lower, upper) } else { (upper, lower) }
}

impl<T: Real, E: Executor> Inverse<T, E> for BlockJacobi<T, E> {
    fn apply(&mut self, space: &mut Space<E>, r: &Vector<T, E>, z: &mut Vector<T, E>) -> Result<(), Error> {
        space.executor().run::<BlockDiagonalProduct<T>>(BlockDiagonalOperands { matrix: &self.0, x: r, y: z })
    }

    fn update(&mut self, space: &mut Space<E>, matrix: &mut Csr<T>) -> Result<(), Error> {
        let inverses = inverses(matrix, self.0.size())?;
        self.0.update_values(space.executor(), inverses)
    }
}
