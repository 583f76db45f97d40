//! Conversion from and to the arrays common to all these crates: offsets, indices, values.

use std::borrow::Cow;

use super::index::Index;
use crate::Csr;
use crate::error::{Error, check_length};
use crate::format::{Offsets, check_shape};
use crate::memory::copy;
use crate::real::Scalar;

/// An owned array.
pub(super) fn owned<T: Clone>(array: Cow<'_, [T]>) -> Result<Vec<T>, Error> {
    match array {
        Cow::Borrowed(array) => copy(array),
        Cow::Owned(array) => Ok(array),
    }
}

/// Checks row offsets before the entries are accessed, of which there may be fewer than claimed.
///
/// # Errors
/// As for the shape and the offsets in [`Csr::try_new`], and when an offset is negative.
#[doc(hidden)]
pub fn checked_offsets<O: Index>(
    rows: usize,
    columns: usize,
    entries: usize,
    offsets: Cow<'_, [O]>,
) -> Result<Offsets, Error> {
    check_shape(rows, columns)?;
    let offsets = O::into_offsets(offsets)?;
    offsets.check("CSR", "row", rows, entries)?;
    Ok(offsets)
}

/// The arrays of a matrix.
pub(super) struct Arrays<'a, T: Scalar, I: Index, O: Index> {
    /// Start of each row, relative to the start of the first.
    pub offsets: Cow<'a, [O]>,
    pub indices: Cow<'a, [I]>,
    pub values: Cow<'a, [T]>,
}

impl<T: Scalar, I: Index, O: Index> Arrays<'_, T, I, O> {
    /// The matrix with these rows.
    pub fn in_rows(self, rows: usize, columns: usize) -> Result<Csr<T>, Error> {
        check_length("values", self.values.len(), self.indices.len())?;
        let offsets = checked_offsets(rows, columns, self.values.len(), self.offsets)?;
        Csr::try_new(rows, columns, offsets, I::into_columns(self.indices, columns)?, owned(self.values)?)
    }

    /// The matrix with these columns.
    #[cfg(any(feature = "nalgebra-sparse", feature = "sprs"))]
    pub fn in_columns(self, rows: usize, columns: usize) -> Result<Csr<T>, Error> {
        // Checked before an error could confuse the two.
        check_shape(rows, columns)?;
        self.in_rows(columns, rows)?.transposed()
    }
}

impl<T: Scalar> Csr<T> {
    /// Copies borrowed arrays, with any types of indices. Row offsets may begin with any number, as they do for a part of a
    /// matrix's rows.
    ///
    /// ```
    /// use host::Csr;
    ///
    /// # fn main() -> Result<(), host::Error> {
    /// let (offsets, columns, values) = ([0_i64, 1, 3], [0_i32, 1, 2], [1.0, 2.0, 3.0]);
    /// let matrix = Csr::try_from_slices(2, 3, &offsets, &columns, &values)?;
    /// let second_row = Csr::try_from_slices(1, 3, &offsets[1..], &columns[1..], &values[1..])?;
    /// assert!(matrix.row(1).eq(second_row.row(0)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`try_new`](Self::try_new), and when an index is negative.
    pub fn try_from_slices<I: Index, O: Index>(
        rows: usize,
        columns: usize,
        row_offsets: &[O],
        column_indices: &[I],
        values: &[T],
    ) -> Result<Self, Error> {
        let (offsets, indices) = (Cow::Borrowed(row_offsets), Cow::Borrowed(column_indices));
        Arrays { offsets, indices, values: Cow::Borrowed(values) }.in_rows(rows, columns)
    }
}

/// Checks the requirements of the other crates: each row sorted by column, with no duplicate entries.
#[cfg(any(feature = "faer", feature = "nalgebra-sparse", feature = "sprs"))]
pub(super) fn check_ascending<T: Scalar>(matrix: &Csr<T>) -> Result<(), Error> {
    use crate::parallel::{self, ROWS_AT_ONCE};
    let ascends = |row: usize| {
        let columns = &matrix.column_indices()[matrix.range(row)];
        columns.is_sorted_by(|left, right| left < right)
    };
    match parallel::first(matrix.rows(), ROWS_AT_ONCE, &|mut rows| rows.find(|&row| !ascends(row))) {
        None => Ok(()),
        Some(row) => {
            let reason =
                format!("row {row} is not sorted by column or has duplicate entries: see sort_rows and sum_duplicates");
            Err(Error::structure("CSR", reason))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message<I: Index, O: Index>(offsets: &[O], columns: &[I]) -> String {
        Csr::try_from_slices(2, 3, offsets, columns, &[1.0, 2.0]).unwrap_err().to_string()
    }

    #[test]
    fn wrong_arrays_are_told_by_their_place() {
        assert_eq!(message(&[0, 1, 2], &[0, -1]), "CSR matrix: entry 1 is in column -1 of 3");
        assert_eq!(message(&[0, 1, 2], &[1 << 40, 0_i64]), "CSR matrix: entry 0 is in column 1099511627776 of 3");
        assert_eq!(message(&[0, 1, 2], &[0_u32, 3]), "CSR matrix: entry 1 is in column 3 of 3");
        assert_eq!(message(&[0, -1, 2], &[0, 1]), "CSR matrix: row offset 1 is -1");
        assert_eq!(message(&[4_u64, 3, 6], &[0, 1]), "CSR matrix: row offset 1 is 3");
        assert_eq!(message(&[0_u32, 2, 1], &[0, 1]), "CSR matrix: row 1 ends before it begins");
        assert_eq!(message(&[0_usize, 1, 5], &[0, 1]), "CSR matrix: the last row offset is 5, expected 2");
        assert_eq!(message::<i32, i32>(&[], &[0, 1]), "CSR matrix: 0 row offsets for 2 rows, expected rows + 1");
        assert_eq!(message(&[0, 1], &[0, 1]), "CSR matrix: 2 row offsets for 2 rows, expected rows + 1");
        assert_eq!(message(&[0, 1, 2], &[0]), "values has length 2, expected 1");
        // Lengths and offsets are checked before columns, which take longer.
        assert_eq!(message(&[0, 1, 2], &[-1]), "values has length 2, expected 1");
        assert_eq!(message(&[0, 1, 5], &[-1, -1]), "CSR matrix: the last row offset is 5, expected 2");
    }
}
