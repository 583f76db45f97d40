//! The inverses of dense diagonal blocks.

use std::sync::{Mutex, PoisonError};

use cuda_std::GpuScalar;
use host::error::Error;
use host::executor::Executor;
use host::format::{Csr, Offsets};
use host::memory::{with_capacity, zeros};
use host::parallel;
use host::plan::{Plan, Vector};
use host::real::{Scalar, into_parts};

use super::recipe::{Inverse, PreconditionerOptions, Recipe, inverse_of, plan_of, shown};
use crate::dense::{BlockDiagonal, BlockDiagonalOperands, BlockDiagonalProduct, Space};

enum BlockJacobi<T: Scalar, E: Executor> {
    Dense(BlockDiagonal<T::Real, E::Memory>),
    /// For complex numbers.
    Sparse {
        size: usize,
        plan: Box<Plan<T, E>>,
    },
}

/// Inverts the blocks on the host, in parallel, in 64 bits: O(nnz + rows · size²), and `size` values per row; for complex
/// numbers, a matrix with that many entries.
pub(super) fn recipe<T: Scalar, E: Executor>(
    executor: &E,
    matrix: &Csr<T>,
    size: usize,
    options: PreconditionerOptions,
) -> Result<Recipe<T, E>, Error> {
    let (rows, blocks) = (matrix.rows(), inverses(matrix, size)?);
    let inverse = match T::COMPLEX {
        true => {
            let plan = Box::new(plan_of(executor, sparse(rows, size, &blocks)?, options)?);
            BlockJacobi::Sparse { size, plan }
        }
        false => BlockJacobi::Dense(BlockDiagonal::new(executor, rows, size, into_parts(blocks))?),
    };
    Ok(Recipe { inverse: Box::new(inverse), symmetric: false, scalars: vec![] })
}

/// Returns the inverse blocks, stored consecutively.
fn inverses<T: Scalar>(matrix: &Csr<T>, size: usize) -> Result<Vec<T>, Error> {
    let blocks = matrix.rows().div_ceil(size);
    let bytes = blocks as u128 * (size * size * size_of::<T>()) as u128;
    let places = blocks.checked_mul(size * size).ok_or(Error::OutOfMemory { what: "the inverse blocks", bytes })?;
    let mut values = zeros::<T>(places)?;
    // The error of the first failing block, independent of the order in which threads find errors.
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

/// Returns the block-diagonal matrix of these blocks.
fn sparse<T: Scalar>(rows: usize, size: usize, blocks: &[T]) -> Result<Csr<T>, Error> {
    let length = |row: usize| size.min(rows - row / size * size);
    let offsets = Offsets::from_lengths((0..rows).map(length))?;
    let stored = offsets.get(rows);
    let (mut columns, mut values) = (with_capacity(stored)?, with_capacity(stored)?);
    for row in 0..rows {
        let first = row / size * size;
        for column in 0..length(row) {
            columns.push((first + column) as u32);
            values.push(blocks[(first + column) * size + row % size]);
        }
    }
    Csr::try_new(rows, rows, offsets, columns, values)
}

/// Inverts the block of up to `size` rows starting at `first` into `values`, by columns: Gauss-Jordan elimination with the
/// largest pivot of each column.
fn inverse_of_block<T: Scalar>(matrix: &Csr<T>, first: usize, size: usize, values: &mut [T]) -> Result<(), Error> {
    let rows = size.min(matrix.rows() - first);
    // By rows: the block, and the unit matrix that becomes the inverse.
    let mut left = vec![vec![T::Wide::ZERO; rows]; rows];
    let mut right = vec![vec![T::Wide::ZERO; rows]; rows];
    for row in 0..rows {
        right[row][row] = T::Wide::ONE;
        for (column, value) in matrix.row(first + row) {
            if let Some(sum) = left[row].get_mut((column as usize).wrapping_sub(first)) {
                *sum = *sum + value.to_wide();
            }
        }
    }
    for column in 0..rows {
        let magnitude = |row: &usize| left[*row][column].magnitude();
        let largest = (column..rows).max_by(|a, b| magnitude(a).total_cmp(&magnitude(b))).unwrap_or(column);
        left.swap(column, largest);
        right.swap(column, largest);
        let pivot = left[column][column];
        if !(pivot.is_finite() && inverse_of(pivot).is_finite()) {
            let expected = "a finite number other than 0, because its block must be invertible";
            let pivot = shown(pivot);
            return Err(Error::Pivot { operation: "block Jacobi", row: first + column, pivot, expected });
        }
        for row in [&mut left, &mut right] {
            row[column].iter_mut().for_each(|value| *value = quotient(*value, pivot));
        }
        for row in (0..rows).filter(|&row| row != column) {
            let factor = left[row][column];
            for matrix in [&mut left, &mut right] {
                let (pivot_row, row) = two_rows(matrix, column, row);
                row.iter_mut().zip(pivot_row).for_each(|(value, pivot_value)| *value = *value - factor * *pivot_value);
            }
        }
    }
    for (row, inverse) in right.iter().enumerate() {
        for (column, &value) in inverse.iter().enumerate() {
            values[column * size + row] = T::from_wide(value);
        }
    }
    Ok(())
}

fn quotient<W: Scalar<Real = f64>>(number: W, divisor: W) -> W {
    if W::COMPLEX { number * inverse_of(divisor) } else { W::from_f64(number.parts()[0] / divisor.parts()[0]) }
}

/// Returns one row for reading and another one for writing.
fn two_rows<W>(matrix: &mut [Vec<W>], read: usize, changed: usize) -> (&[W], &mut [W]) {
    let (before, from) = matrix.split_at_mut(read.max(changed));
    let (lower, upper) = (&mut before[read.min(changed)], &mut from[0]);
    if read < changed { (lower, upper) } else { (upper, lower) }
}

impl<T: Scalar, E: Executor> Inverse<T, E> for BlockJacobi<T, E> {
    fn apply(&mut self, space: &mut Space<E>, r: &Vector<T, E>, z: &mut Vector<T, E>) -> Result<(), Error> {
        match self {
            Self::Dense(matrix) => {
                space.executor().run::<BlockDiagonalProduct<T>>(BlockDiagonalOperands { matrix, x: r, y: z })
            }
            Self::Sparse { plan, .. } => plan.apply(T::ONE, r, T::ZERO, z),
        }
    }

    fn update(&mut self, space: &mut Space<E>, matrix: &mut Csr<T>) -> Result<(), Error> {
        let executor = space.executor();
        match self {
            Self::Dense(blocks) => {
                let inverses = inverses(matrix, blocks.size())?;
                blocks.update_values(executor, into_parts(inverses))
            }
            Self::Sparse { size, plan } => {
                let inverses = sparse(matrix.rows(), *size, &inverses(matrix, *size)?)?;
                let (_, _, values) = inverses.into_parts();
                plan.update_values(&executor.upload(values)?)
            }
        }
    }
}
