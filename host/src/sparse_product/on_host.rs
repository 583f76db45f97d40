//! Products on the CPU, row by row (Gustavson 1978): first the columns of each row, then the sums, in an array with an
//! element per column.

use super::column_set::{ColumnSet, bits};
use super::not_in_pattern;
use super::pool::Pool;
use crate::error::Error;
use crate::format::{Csr, Offsets, parallel_rows};
use crate::memory::{reserve, with_capacity, zeros};
use crate::parallel;
use crate::real::Scalar;

/// Rows that a thread takes at a time.
const ROWS_AT_ONCE: usize = 256;

/// C = A B. Each thread takes memory for a number and a little more than a bit per column; the columns of C temporarily
/// exist twice.
pub(super) fn multiply<T: Scalar>(left: &Csr<T>, right: &Csr<T>) -> Result<Csr<T>, Error> {
    let patterns = patterns(left, right)?;
    let length = |row: usize| patterns[row / ROWS_AT_ONCE].lengths[row % ROWS_AT_ONCE] as usize;
    let offsets = Offsets::from_lengths((0..left.rows()).map(length))?;
    let stored = offsets.get(left.rows());
    let (mut column_indices, mut values) = (zeros(stored)?, zeros(stored)?);
    let pool = Pool::new()?;
    parallel_rows(&offsets, ROWS_AT_ONCE, &mut column_indices, &mut values, &|rows, columns, values| {
        columns.copy_from_slice(&patterns[rows.start / ROWS_AT_ONCE].columns);
        pool.with(
            || zeros(right.columns()),
            |sums| {
                let base = offsets.get(rows.start);
                for row in rows {
                    let range = offsets.get(row) - base..offsets.get(row + 1) - base;
                    add_up(left, right, row, sums, &columns[range.clone()], &mut values[range]);
                }
                Ok(())
            },
        )
    })?;
    Ok(Csr::from_valid(left.rows(), right.columns(), offsets, column_indices, values))
}

/// Maximum number of bytes that [`multiply`] needs besides the matrices and another copy of the columns of C: a length
/// per row; a number, a bit and a little more per column and thread.
pub(super) fn workspace_bytes<T>(rows: usize, columns: usize) -> u64 {
    let bits = columns.div_ceil(64) + columns.div_ceil(64 * 64) + columns.div_ceil(64 * 64 * 64);
    let of_thread = columns as u64 * size_of::<T>() as u64 + 8 * bits as u64;
    let of_rows = rows.div_ceil(ROWS_AT_ONCE) * size_of::<Pattern>() + 4 * rows;
    (parallel::threads() as u64 + 1) * of_thread + of_rows as u64
}

/// The columns of some rows of a product.
#[derive(Default)]
struct Pattern {
    lengths: Vec<u32>,
    /// The columns of each row are in ascending order.
    columns: Vec<u32>,
}

/// The columns of each [`ROWS_AT_ONCE`] rows of the product.
fn patterns<T: Scalar>(left: &Csr<T>, right: &Csr<T>) -> Result<Vec<Pattern>, Error> {
    let count = left.rows().div_ceil(ROWS_AT_ONCE);
    let mut patterns = with_capacity(count)?;
    patterns.resize_with(count, Pattern::default);
    let pool = Pool::new()?;
    parallel::try_chunks_mut(&mut patterns, 1, &|(chunk, pattern)| {
        let Pattern { lengths, columns } = &mut pattern[0];
        let rows = chunk * ROWS_AT_ONCE..left.rows().min((chunk + 1) * ROWS_AT_ONCE);
        *lengths = with_capacity(rows.len())?;
        pool.with(
            || ColumnSet::new(right.columns()),
            |set| {
                for row in rows {
                    let mut length = 0;
                    for &inner in &left.column_indices()[left.range(row)] {
                        for &column in &right.column_indices()[right.range(inner as usize)] {
                            length += usize::from(set.insert(column));
                        }
                    }
                    reserve(columns, length)?;
                    set.drain(|first, word| columns.extend(bits(word).map(|bit| first + bit as u32)));
                    // There are fewer than 2^31 columns.
                    lengths.push(length as u32);
                }
                Ok(())
            },
        )
    })?;
    Ok(patterns)
}

/// Adds up the products of a row. `columns` must contain the columns of all products; `sums` has an element per column of
/// the right matrix, with any content.
#[inline]
fn add_up<T: Scalar>(left: &Csr<T>, right: &Csr<T>, row: usize, sums: &mut [T], columns: &[u32], values: &mut [T]) {
    for &column in columns {
        // The only number that leaves every other number unchanged when added to it.
        sums[column as usize] = T::from_parts(-0.0, -0.0);
    }
    for (inner, factor) in left.row(row) {
        for (column, value) in right.row(inner as usize) {
            let sum = &mut sums[column as usize];
            *sum = *sum + factor * value;
        }
    }
    for (value, &column) in values.iter_mut().zip(columns) {
        *value = sums[column as usize];
    }
}

/// Computes the values of a product with a known pattern.
///
/// # Errors
/// When there is a product where the pattern has no entry, or memory runs out; the values are then unspecified.
pub(super) fn compute<T: Scalar>(left: &Csr<T>, right: &Csr<T>, product: &mut Csr<T>) -> Result<(), Error> {
    let Csr { row_offsets, column_indices, values, .. } = product;
    let pool = Pool::new()?;
    let stored = values.len();
    let make = || Ok((ColumnSet::new(right.columns())?, zeros(right.columns())?));
    parallel_rows(row_offsets, ROWS_AT_ONCE, values, &mut vec![(); stored], &|rows, values, _| {
        let base = row_offsets.get(rows.start);
        pool.with(make, |(set, sums)| {
            for row in rows {
                let range = row_offsets.get(row)..row_offsets.get(row + 1);
                let columns = &column_indices[range.clone()];
                if !has_all(left, right, row, set, columns) {
                    return Err(not_in_pattern());
                }
                add_up(left, right, row, sums, columns, &mut values[range.start - base..range.end - base]);
            }
            Ok(())
        })
    })
}

/// Whether the columns of all products of a row are among `columns`. The set is empty before and after the call.
fn has_all<T: Scalar>(left: &Csr<T>, right: &Csr<T>, row: usize, set: &mut ColumnSet, columns: &[u32]) -> bool {
    set.replace(&[], columns);
    let inner = &left.column_indices()[left.range(row)];
    let has_all = inner.iter().all(|&inner| {
        let of_right = &right.column_indices()[right.range(inner as usize)];
        of_right.iter().fold(true, |all, &column| all & set.contains(column))
    });
    set.replace(columns, &[]);
    has_all
}
