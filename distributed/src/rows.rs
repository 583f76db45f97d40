//! The rows of a matrix on one rank.

use std::ops::Range;

use host::format::{Offsets, parallel_rows};
use host::memory::{collect, with_capacity, zeros};
use host::{Csr, Scalar, parallel};

use crate::error::Error;
use crate::needed::Needed;

/// Rows that a thread takes at a time.
pub(crate) const ROWS_AT_ONCE: usize = 4096;

/// Some rows of a matrix, with the column numbers of the whole matrix.
///
/// Entries of a row may be in any order, and may be duplicated: the values add up.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows<T> {
    /// The offset of each row, and the number of entries.
    pub(crate) offsets: Vec<u64>,
    pub(crate) columns: Vec<u64>,
    pub(crate) values: Vec<T>,
}

impl<T: Scalar> Rows<T> {
    /// Creates rows from the offset of each, followed by the number of entries, and the column and the value of each entry.
    ///
    /// # Errors
    /// When the arrays contradict each other.
    pub fn try_new(offsets: Vec<u64>, columns: Vec<u64>, values: Vec<T>) -> Result<Self, Error> {
        let wrong = |row: usize, reason: String| Err(Error::Rows { row: row as u64, reason });
        let (first, last) = (offsets.first().copied(), offsets.last().copied());
        if first != Some(0) {
            return wrong(0, "does not begin at offset 0".into());
        }
        if let Some(row) = (1..offsets.len()).find(|&row| offsets[row] < offsets[row - 1]) {
            return wrong(row - 1, format!("ends at offset {}, before it begins", offsets[row]));
        }
        if (last, values.len()) != (Some(columns.len() as u64), columns.len()) {
            let reason =
                format!("offsets end at {}, {} columns, {} values", last.unwrap_or(0), columns.len(), values.len());
            return wrong(offsets.len() - 1, reason);
        }
        Ok(Self { offsets, columns, values })
    }

    /// Copies some rows of a whole matrix.
    ///
    /// # Errors
    /// When the rows do not exist, or memory runs out.
    pub fn of(matrix: &Csr<T>, rows: Range<u64>) -> Result<Self, Error> {
        if rows.start > rows.end || rows.end > matrix.rows() as u64 {
            let reason = format!("is the end of a range, and the matrix has {} rows", matrix.rows());
            return Err(Error::Rows { row: rows.end, reason });
        }
        let rows = rows.start as usize..rows.end as usize;
        let entries = rows.clone().map(|row| matrix.range(row).len()).sum();
        let mut offsets = with_capacity(rows.len() + 1)?;
        let (mut columns, mut values) = (with_capacity(entries)?, with_capacity(entries)?);
        offsets.push(0);
        for row in rows {
            for (column, value) in matrix.row(row) {
                columns.push(u64::from(column));
                values.push(value);
            }
            offsets.push(values.len() as u64);
        }
        Ok(Self { offsets, columns, values })
    }

    /// Takes rows given as a separate matrix, with all columns of the whole.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn from_csr(rows: Csr<T>) -> Result<Self, Error> {
        let offsets = collect((0..rows.rows() + 1).map(|row| rows.row_offsets().get(row) as u64))?;
        let (_, columns, values) = rows.into_parts();
        Ok(Self { offsets, columns: collect(columns.into_iter().map(u64::from))?, values })
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of entries.
    pub fn nnz(&self) -> usize {
        self.values.len()
    }

    /// Returns the number of entries of each row.
    pub fn lengths(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.offsets.windows(2).map(|ends| (ends[1] - ends[0]) as usize)
    }

    /// Returns the entries in some columns, numbered relative to the first of them: with a rank's own columns, the matrix
    /// for its local preconditioner.
    ///
    /// # Errors
    /// When there are too many columns, or memory runs out.
    pub fn block(&self, columns: Range<u64>) -> Result<Csr<T>, Error> {
        block(self, columns)
    }
}

/// [`Rows::block`] for rows given as a separate matrix, with all columns of the whole.
///
/// # Errors
/// As for [`Rows::block`].
pub fn own_block<T: Scalar>(rows: &Csr<T>, columns: Range<u64>) -> Result<Csr<T>, Error> {
    block(&rows, columns)
}

/// Rows of a rank, in any storage.
pub(crate) trait OwnRows<T: Scalar>: Sync {
    fn rows(&self) -> usize;

    /// Returns the number of entries before a row; with the number of rows, that of all entries.
    fn offset(&self, row: usize) -> usize;

    /// Returns the entries of a row, with the column numbers of the whole matrix.
    fn entries(&self, row: usize) -> impl Iterator<Item = (u64, T)>;
}

impl<T: Scalar> OwnRows<T> for Rows<T> {
    fn rows(&self) -> usize {
        self.len()
    }

    fn offset(&self, row: usize) -> usize {
        self.offsets[row] as usize
    }

    fn entries(&self, row: usize) -> impl Iterator<Item = (u64, T)> {
        let entries = self.offset(row)..self.offset(row + 1);
        self.columns[entries.clone()].iter().copied().zip(self.values[entries].iter().copied())
    }
}

impl<T: Scalar> OwnRows<T> for &Csr<T> {
    fn rows(&self) -> usize {
        Csr::rows(self)
    }

    fn offset(&self, row: usize) -> usize {
        self.row_offsets().get(row)
    }

    fn entries(&self, row: usize) -> impl Iterator<Item = (u64, T)> {
        self.row(row).map(|(column, value)| (u64::from(column), value))
    }
}

/// [`Rows::block`] for rows in any storage.
fn block<T: Scalar>(of: &impl OwnRows<T>, columns: Range<u64>) -> Result<Csr<T>, Error> {
    let length = columns.end.saturating_sub(columns.start) as usize;
    // Ranges with more columns than 32 bits can number are rejected.
    kept(of, length, |column| columns.contains(&column), |column| (column - columns.start) as u32)
}

/// Returns the entries in this rank's columns, numbered relative to the first of them, and those in `needed` columns of
/// other ranks, numbered by their index there.
pub(crate) fn split<T: Scalar>(of: &impl OwnRows<T>, own: Range<u64>, needed: &Needed) -> Result<[Csr<T>; 2], Error> {
    let remote = kept(of, needed.columns().len(), |column| !own.contains(&column), |column| needed.index(column))?;
    Ok([block(of, own)?, remote])
}

/// Returns the entries in columns that are to be kept, with other numbers. Calls `keep` twice for each entry and `number`
/// once for each that is kept, in parallel.
fn kept<T: Scalar>(
    of: &impl OwnRows<T>,
    columns: usize,
    keep: impl Fn(u64) -> bool + Sync,
    number: impl Fn(u64) -> u32 + Sync,
) -> Result<Csr<T>, Error> {
    let mut lengths = zeros::<usize>(of.rows())?;
    parallel::fill(&mut lengths, ROWS_AT_ONCE, &|row| of.entries(row).filter(|&(column, _)| keep(column)).count());
    let offsets = Offsets::from_lengths(lengths.iter().copied())?;
    drop(lengths);
    let entries = offsets.get(of.rows());
    let (mut indices, mut values) = (zeros::<u32>(entries)?, zeros::<T>(entries)?);
    parallel_rows(&offsets, ROWS_AT_ONCE, &mut indices, &mut values, &|rows, indices, values| {
        let places = indices.iter_mut().zip(values);
        let entries = rows.flat_map(|row| of.entries(row)).filter(|&(column, _)| keep(column));
        places.zip(entries).for_each(|((index, into), (column, value))| (*index, *into) = (number(column), value));
        Ok(())
    })?;
    Ok(Csr::try_new(of.rows(), columns, offsets, indices, values)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_checked() {
        for (offsets, columns, values, expected) in [
            (vec![], vec![], vec![], "row 0: does not begin at offset 0"),
            (vec![1, 1], vec![0], vec![1.0], "row 0: does not begin at offset 0"),
            (vec![0, 2, 1], vec![0], vec![1.0], "row 1: ends at offset 1, before it begins"),
            (vec![0, 2], vec![0], vec![1.0, 2.0], "row 1: offsets end at 2, 1 columns, 2 values"),
            (vec![0, 1], vec![0], vec![], "row 1: offsets end at 1, 1 columns, 0 values"),
        ] {
            assert_eq!(Rows::try_new(offsets, columns, values).unwrap_err().to_string(), expected);
        }
        let matrix = Csr::try_new(2, 2, vec![0u32, 1, 2], vec![0, 1], vec![1.0, 2.0]).unwrap();
        assert_eq!(Rows::of(&matrix, 0..2).unwrap(), Rows::from_csr(matrix.clone()).unwrap());
        let error = Rows::of(&matrix, 1..3).unwrap_err();
        assert_eq!(error.to_string(), "row 3: is the end of a range, and the matrix has 2 rows");
    }

    #[test]
    fn entries_go_to_the_rank_that_has_their_column() {
        let rows = Rows::try_new(vec![0, 3, 3, 5], vec![9, 4, 0, 5, 9], vec![1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let block = rows.block(4..6).unwrap();
        let needed = Needed::of(&rows, 0, &(4..6), 10).unwrap();
        assert_eq!(needed.columns(), [0, 9]);
        let [local, remote] = split(&rows, 4..6, &needed).unwrap();
        assert!(block == local);
        assert!(local == Csr::try_new(3, 2, vec![0u32, 1, 1, 2], vec![0, 1], vec![2.0, 4.0]).unwrap());
        assert!(remote == Csr::try_new(3, 2, vec![0u32, 2, 2, 3], vec![1, 0, 1], vec![1.0, 3.0, 5.0]).unwrap());
        // The same from a matrix with all columns.
        let whole =
            Csr::try_new(3, 10, vec![0u32, 3, 3, 5], vec![0, 4, 9, 5, 9], vec![3.0, 2.0, 1.0, 4.0, 5.0]).unwrap();
        assert!(own_block(&whole, 4..6).unwrap() == block);
        let [near, far] = split(&&whole, 4..6, &needed).unwrap();
        assert!(near == local);
        assert!(far == Csr::try_new(3, 2, vec![0u32, 2, 2, 3], vec![0, 1, 1], vec![3.0, 1.0, 5.0]).unwrap());
    }
}
