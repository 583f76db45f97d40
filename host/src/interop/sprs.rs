//! [sprs](https://docs.rs/sprs): `CsMatI` and `CsMatViewI`, in rows or in columns, with indices and offsets of any
//! [`Index`].

use std::borrow::Cow;

use sprs::{CsMatI, CsMatViewI, SpIndex};

use super::arrays::{Arrays, check_ascending};
use super::index::Index;
use crate::Csr;
use crate::error::Error;
use crate::real::Scalar;

impl<T: Scalar, I: Index + SpIndex, O: Index + SpIndex> TryFrom<CsMatI<T, I, O>> for Csr<T> {
    type Error = Error;

    /// Moves the arrays as far as their types match; transposes a matrix in columns.
    ///
    /// ```
    /// use host::Csr;
    /// use sprs::{CsMatI, TriMatI};
    ///
    /// # fn main() -> Result<(), host::Error> {
    /// let mut entries = TriMatI::<f64, u32>::new((2, 3));
    /// entries.add_triplet(0, 1, 4.0);
    /// entries.add_triplet(1, 2, 5.0);
    /// let matrix = Csr::try_from(entries.to_csr::<u32>())?;
    /// assert!(matrix.row(1).eq([(2, 5.0)]));
    /// // And back, without a copy.
    /// let matrix: CsMatI<f64, u32> = matrix.try_into()?;
    /// assert_eq!(matrix, entries.to_csr());
    /// # Ok(())
    /// # }
    /// ```
    fn try_from(matrix: CsMatI<T, I, O>) -> Result<Self, Error> {
        let ((rows, columns), in_rows) = (matrix.shape(), matrix.is_csr());
        let (offsets, indices, values) = matrix.into_raw_storage();
        let arrays = Arrays { offsets: Cow::Owned(offsets), indices: Cow::Owned(indices), values: Cow::Owned(values) };
        if in_rows { arrays.in_rows(rows, columns) } else { arrays.in_columns(rows, columns) }
    }
}

impl<T: Scalar, I: Index + SpIndex, O: Index + SpIndex> TryFrom<CsMatViewI<'_, T, I, O>> for Csr<T> {
    type Error = Error;

    /// Copies the arrays; transposes a matrix in columns.
    fn try_from(matrix: CsMatViewI<'_, T, I, O>) -> Result<Self, Error> {
        let ((rows, columns), in_rows) = (matrix.shape(), matrix.is_csr());
        let (offsets, indices, values) = matrix.into_raw_storage();
        let arrays =
            Arrays { offsets: Cow::Borrowed(offsets), indices: Cow::Borrowed(indices), values: Cow::Borrowed(values) };
        if in_rows { arrays.in_rows(rows, columns) } else { arrays.in_columns(rows, columns) }
    }
}

impl<T: Scalar, I: Index + SpIndex, O: Index + SpIndex> TryFrom<Csr<T>> for CsMatI<T, I, O> {
    type Error = Error;

    /// Moves the arrays as far as their types match, into a matrix in rows. Returns an error if rows are not sorted or have
    /// duplicate entries, or if there are more entries than an offset can count.
    fn try_from(matrix: Csr<T>) -> Result<Self, Error> {
        check_ascending(&matrix)?;
        let shape = (matrix.rows(), matrix.columns());
        let (offsets, indices, values) = matrix.into_parts();
        Self::try_new(shape, O::from_offsets(offsets)?, I::from_columns(indices)?, values)
            .map_err(|(.., error)| Error::structure("CSR", error.to_string()))
    }
}

impl<'a, T: Scalar, O: Index + SpIndex> TryFrom<&'a Csr<T>> for CsMatViewI<'a, T, u32, O> {
    type Error = Error;

    /// Borrows the arrays as a matrix in rows. The offsets of a matrix are `u32`, or `u64` if it has too many entries.
    /// Returns an error for other types of offsets, and if rows are not sorted or have duplicate entries.
    ///
    /// ```
    /// use host::Csr;
    /// use sprs::CsMatViewI;
    ///
    /// # fn main() -> Result<(), host::Error> {
    /// let matrix = Csr::try_from_triplets(2, 2, &[0, 1, 1], &[0, 0, 1], &[1.0, 2.0, 3.0])?;
    /// let view: CsMatViewI<f64, u32> = (&matrix).try_into()?;
    /// assert_eq!((&view * &view).data(), [1.0, 8.0, 9.0]);
    /// # Ok(())
    /// # }
    /// ```
    fn try_from(matrix: &'a Csr<T>) -> Result<Self, Error> {
        check_ascending(matrix)?;
        let Some(offsets) = O::borrowed(matrix.row_offsets()) else {
            let width = 8 * matrix.row_offsets().width();
            return Err(Error::structure(
                "CSR",
                format!("the row offsets are u{width}, but those of the view are not"),
            ));
        };
        Self::try_new((matrix.rows(), matrix.columns()), offsets, matrix.column_indices(), matrix.values())
            .map_err(|(.., error)| Error::structure("CSR", error.to_string()))
    }
}
