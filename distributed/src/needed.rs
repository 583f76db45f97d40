//! The columns of other ranks with entries of this one.

use std::ops::Range;

use host::memory::{reserve, with_capacity, zeros};
use host::{Scalar, parallel};

use crate::error::Error;
use crate::matrix::check_dimension;
use crate::rows::OwnRows;

/// Entries whose columns one thread collects, at least.
const ENTRIES_AT_ONCE: usize = 1 << 16;

/// Sorted columns, with a table that finds the index of each.
#[derive(Debug)]
pub(crate) struct Needed {
    columns: Vec<u64>,
    /// Index of the first column of each bucket, and the number of columns. A bucket has 2^`shift` consecutive numbers,
    /// and there are about as many buckets as columns.
    buckets: Vec<u32>,
    shift: u32,
}

impl Needed {
    /// Finds the columns with entries that are not this rank's `own`. `first` is the number of its first row, and the
    /// matrix has `total` columns. O(nnz log nnz) in the worst case, in parallel.
    ///
    /// # Errors
    /// When an entry is past the last column, there are too many columns, or memory runs out.
    pub fn of<T: Scalar>(rows: &impl OwnRows<T>, first: u64, own: &Range<u64>, total: u64) -> Result<Self, Error> {
        let entries = rows.offset(rows.rows());
        let parts = parallel::threads().min(entries / ENTRIES_AT_ONCE + 1);
        let begin = |part: usize| {
            let offset = (entries as u128 * part as u128 / parts as u128) as usize;
            row_from(rows, offset)
        };
        let of_part = |part: usize| -> Result<Vec<u64>, Error> {
            let mut columns = Vec::new();
            // Sorted as soon as there are this many, since most are equal in many a matrix.
            let mut most = ENTRIES_AT_ONCE;
            let end = if part + 1 < parts { begin(part + 1) } else { rows.rows() };
            for row in begin(part)..end {
                for (column, _) in rows.entries(row) {
                    if column >= total {
                        let reason = format!("column {column} of {total}");
                        return Err(Error::Rows { row: first + row as u64, reason });
                    }
                    if !own.contains(&column) {
                        reserve(&mut columns, 1)?;
                        columns.push(column);
                    }
                }
                if columns.len() >= most {
                    columns.sort_unstable();
                    columns.dedup();
                    most = (2 * columns.len()).max(ENTRIES_AT_ONCE);
                }
            }
            Ok(columns)
        };
        let parts = parallel::map(parts, 1, &of_part)?;
        let mut columns = with_capacity(parts.iter().flatten().map(Vec::len).sum())?;
        for part in parts {
            columns.extend(part?);
        }
        parallel::sort_unstable_by(&mut columns, u64::cmp);
        columns.dedup();
        Self::new(columns)
    }

    /// `columns` are sorted.
    fn new(columns: Vec<u64>) -> Result<Self, Error> {
        check_dimension(columns.len() as u64)?;
        let span = columns.last().map_or(0, |last| last - columns[0]);
        let shift = (0..u64::BITS).find(|shift| span >> shift <= columns.len() as u64).unwrap_or(0);
        let mut buckets = zeros::<u32>((span >> shift) as usize + 2)?;
        for &column in &columns {
            buckets[((column - columns[0]) >> shift) as usize + 1] += 1;
        }
        let mut sum = 0;
        for bucket in &mut buckets {
            sum += *bucket;
            *bucket = sum;
        }
        Ok(Self { columns, buckets, shift })
    }

    /// Returns the columns, ascending.
    pub fn columns(&self) -> &[u64] {
        &self.columns
    }

    /// Returns the index of one of the columns.
    pub fn index(&self, column: u64) -> u32 {
        let bucket = ((column - self.columns[0]) >> self.shift) as usize;
        let (begin, end) = (self.buckets[bucket], self.buckets[bucket + 1]);
        let of_bucket = &self.columns[begin as usize..end as usize];
        begin + of_bucket.partition_point(|&other| other < column) as u32
    }
}

/// Returns the first row whose entries begin at this offset or later.
fn row_from<T: Scalar>(rows: &impl OwnRows<T>, offset: usize) -> usize {
    let (mut least, mut most) = (0, rows.rows());
    while least < most {
        let middle = least + (most - least) / 2;
        if rows.offset(middle) < offset { least = middle + 1 } else { most = middle }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Rows;

    #[test]
    fn every_column_of_others_is_found_once() {
        let entries = 3 * ENTRIES_AT_ONCE as u64;
        // Far apart, close together, and many entries of one column.
        for step in [1, 7, 1 << 40] {
            let column = |entry: u64| (entry * entry % 1009) * step + u64::from(entry.is_multiple_of(2));
            let columns: Vec<u64> = (0..entries).map(column).collect();
            let total = columns.iter().max().unwrap() + 1;
            let offsets = (0..=entries).step_by(64).collect();
            let rows = Rows::try_new(offsets, columns.clone(), vec![1.0; entries as usize]).unwrap();
            for own in [0..0, 0..total, total / 3..total / 2] {
                let mut expected: Vec<u64> = columns.iter().copied().filter(|column| !own.contains(column)).collect();
                expected.sort_unstable();
                expected.dedup();
                let needed = Needed::of(&rows, 0, &own, total).unwrap();
                assert_eq!(needed.columns(), expected);
                assert!(expected.iter().zip(0..).all(|(&column, index)| needed.index(column) == index));
            }
        }
    }

    #[test]
    fn the_first_column_past_the_last_is_named() {
        let entries = 4 * ENTRIES_AT_ONCE as u64;
        let columns = (0..entries).map(|entry| if entry % 100_000 == 99_999 { 50 } else { entry % 50 }).collect();
        let rows = Rows::try_new((0..=entries).collect(), columns, vec![1.0; entries as usize]).unwrap();
        let error = Needed::of(&rows, 7, &(0..50), 50).unwrap_err();
        assert_eq!(error.to_string(), "row 100006: column 50 of 50");
    }
}
