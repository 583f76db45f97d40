//! Products on the CPU, row by row (Gustavson 1978): the rows of the right matrix that a row of the left one names, each
//! times its factor, are added up in an array with a place for each column.

use super::column_set::{ColumnSet, bits};
use super::not_in_pattern;
use super::pool::Pool;
use crate::error::Error;
use crate::format::{Csr, Offsets, parallel_rows};
use crate::memory::zeros;
use crate::parallel;
use crate::real::Scalar;

/// Rows that a thread takes at a time.
const ROWS_AT_ONCE: usize = 256;

/// C = A B. Each thread takes memory for a number and a little more than a bit for each column.
pub(super) fn multiply<T: Scalar>(left: &Csr<T>, right: &Csr<T>) -> Result<Csr<T>, Error> {
    let lengths = row_lengths(left, right)?;
    let offsets = Offsets::from_lengths(lengths.iter().map(|&length| length as usize))?;
    drop(lengths);
    let stored = offsets.get(left.rows());
    let (mut column_indices, mut values) = (zeros(stored)?, zeros(stored)?);
    let pool = Pool::new()?;
    parallel_rows(&offsets, ROWS_AT_ONCE, &mut column_indices, &mut values, &|rows, columns, values| {
        let make = || Sums::new(right.columns());
        pool.with(make, |sums| {
            let mut place = 0;
            for row in rows {
                for (inner, factor) in left.row(row) {
                    for (column, value) in right.row(inner as usize) {
                        sums.add(column, factor * value);
                    }
                }
                place += sums.drain(&mut columns[place..], &mut values[place..]);
            }
            Ok(())
        })
    })?;
    Ok(Csr::from_valid(left.rows(), right.columns(), offsets, column_indices, values))
}

/// The number of different columns in each row of the product.
fn row_lengths<T: Scalar>(left: &Csr<T>, right: &Csr<T>) -> Result<Vec<u32>, Error> {
    let mut lengths = zeros(left.rows())?;
    let pool = Pool::new()?;
    parallel::try_chunks_mut(&mut lengths, ROWS_AT_ONCE, &|(chunk, lengths)| {
        let make = || ColumnSet::new(right.columns());
        pool.with(make, |set| {
            for (length, row) in lengths.iter_mut().zip(chunk * ROWS_AT_ONCE..) {
                for &inner in &left.column_indices()[left.range(row)] {
                    for &column in &right.column_indices()[right.range(inner as usize)] {
                        set.insert(column);
                    }
                }
                // There are less than 2^31 columns.
                set.drain(|_, word| *length += word.count_ones());
            }
            Ok(())
        })
    })?;
    Ok(lengths)
}

/// Calculates the values of a product whose pattern is known.
///
/// # Errors
/// When there is a product where the pattern has no entry, or memory runs out; the values mean nothing then.
pub(super) fn compute<T: Scalar>(left: &Csr<T>, right: &Csr<T>, product: &mut Csr<T>) -> Result<(), Error> {
    let Csr { row_offsets, column_indices, values, .. } = product;
    let pool = Pool::new()?;
    let stored = values.len();
    parallel_rows(row_offsets, ROWS_AT_ONCE, values, &mut vec![(); stored], &|rows, values, _| {
        let base = row_offsets.get(rows.start);
        let make = || Sums::new(right.columns());
        pool.with(make, |sums| {
            for row in rows {
                let range = row_offsets.get(row)..row_offsets.get(row + 1);
                let columns = &column_indices[range.clone()];
                sums.begin(columns);
                for (inner, factor) in left.row(row) {
                    for (column, value) in right.row(inner as usize) {
                        sums.add(column, factor * value);
                    }
                }
                let values = &mut values[range.start - base..range.end - base];
                if !sums.end(columns, values) {
                    return Err(not_in_pattern());
                }
            }
            Ok(())
        })
    })
}

/// The sums of one row, with a place for each column. Only those mean something whose column is in the set.
struct Sums<T> {
    columns: ColumnSet,
    sums: Vec<T>,
    /// Columns that were added to the set since it was begun.
    new: usize,
}

impl<T: Scalar> Sums<T> {
    fn new(columns: usize) -> Result<Self, Error> {
        Ok(Self { columns: ColumnSet::new(columns)?, sums: zeros(columns)?, new: 0 })
    }

    /// Adds a product to the sum of a column, which begins with the first one.
    #[inline]
    fn add(&mut self, column: u32, product: T) {
        let is_new = self.columns.insert(column);
        self.new += usize::from(is_new);
        let sum = &mut self.sums[column as usize];
        *sum = if is_new { product } else { *sum + product };
    }

    /// Hands out columns and sums in ascending order, and forgets them. Gives their number.
    fn drain(&mut self, columns: &mut [u32], values: &mut [T]) -> usize {
        let Self { columns: set, sums, new } = self;
        let mut place = 0;
        set.drain(|first, word| {
            for bit in bits(word) {
                let column = first + bit as u32;
                (columns[place], values[place]) = (column, sums[column as usize]);
                place += 1;
            }
        });
        *new = 0;
        place
    }

    /// Begins the sums of some columns, so that only products of others add any.
    fn begin(&mut self, columns: &[u32]) {
        for &column in columns {
            self.columns.insert(column);
            // Of all numbers, this one added to any other leaves it as it is.
            self.sums[column as usize] = T::from_parts(-0.0, -0.0);
        }
        self.new = 0;
    }

    /// Hands out the sums of those columns, and forgets them. Whether there were no others.
    fn end(&mut self, columns: &[u32], values: &mut [T]) -> bool {
        for (value, &column) in values.iter_mut().zip(columns) {
            *value = self.sums[column as usize];
        }
        self.columns.drain(|_, _| ());
        std::mem::take(&mut self.new) == 0
    }
}
