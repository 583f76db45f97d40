//! [nalgebra-sparse](https://docs.rs/nalgebra-sparse): `CsrMatrix` and `CscMatrix`. Their indices are `usize`, so only
//! values are ever moved.

use std::borrow::Cow;

use nalgebra_sparse::{CscMatrix, CsrMatrix, SparseFormatError};

use super::arrays::{Arrays, check_ascending};
use super::index::Index;
use crate::Csr;
use crate::error::Error;
use crate::real::Scalar;

/// Offsets, indices, values.
type Parts<T> = (Vec<usize>, Vec<usize>, Vec<T>);

fn owned<'a, T: Scalar>((offsets, indices, values): Parts<T>) -> Arrays<'a, T, usize, usize> {
    Arrays { offsets: Cow::Owned(offsets), indices: Cow::Owned(indices), values: Cow::Owned(values) }
}

fn borrowed<'a, T: Scalar>(
    (offsets, indices, values): (&'a [usize], &'a [usize], &'a [T]),
) -> Arrays<'a, T, usize, usize> {
    Arrays { offsets: Cow::Borrowed(offsets), indices: Cow::Borrowed(indices), values: Cow::Borrowed(values) }
}

impl<T: Scalar> TryFrom<CsrMatrix<T>> for Csr<T> {
    type Error = Error;

    /// Moves the values. Columns and offsets are narrowed, hence copied.
    ///
    /// ```
    /// use host::Csr;
    /// use nalgebra_sparse::{CooMatrix, CsrMatrix};
    ///
    /// # fn main() -> Result<(), host::Error> {
    /// let mut entries = CooMatrix::new(2, 3);
    /// entries.push(0, 1, 4.0);
    /// entries.push(1, 2, 5.0);
    /// let matrix = Csr::try_from(CsrMatrix::from(&entries))?;
    /// assert!(matrix.row(1).eq([(2, 5.0)]));
    /// assert_eq!(CsrMatrix::try_from(matrix)?, CsrMatrix::from(&entries));
    /// # Ok(())
    /// # }
    /// ```
    fn try_from(matrix: CsrMatrix<T>) -> Result<Self, Error> {
        let (rows, columns) = (matrix.nrows(), matrix.ncols());
        owned(matrix.disassemble()).in_rows(rows, columns)
    }
}

impl<T: Scalar> TryFrom<&CsrMatrix<T>> for Csr<T> {
    type Error = Error;

    /// Copies the arrays.
    fn try_from(matrix: &CsrMatrix<T>) -> Result<Self, Error> {
        borrowed(matrix.csr_data()).in_rows(matrix.nrows(), matrix.ncols())
    }
}

impl<T: Scalar> TryFrom<CscMatrix<T>> for Csr<T> {
    type Error = Error;

    /// The same matrix in rows. `CscMatrix::transpose_as_csr` gives the transpose at a lower cost.
    fn try_from(matrix: CscMatrix<T>) -> Result<Self, Error> {
        let (rows, columns) = (matrix.nrows(), matrix.ncols());
        owned(matrix.disassemble()).in_columns(rows, columns)
    }
}

impl<T: Scalar> TryFrom<&CscMatrix<T>> for Csr<T> {
    type Error = Error;

    /// The same matrix in rows.
    fn try_from(matrix: &CscMatrix<T>) -> Result<Self, Error> {
        borrowed(matrix.csc_data()).in_columns(matrix.nrows(), matrix.ncols())
    }
}

impl<T: Scalar> TryFrom<Csr<T>> for CsrMatrix<T> {
    type Error = Error;

    /// Moves the values. Columns and offsets are widened, hence copied. Returns an error if rows are not sorted or have
    /// duplicate entries.
    fn try_from(matrix: Csr<T>) -> Result<Self, Error> {
        check_ascending(&matrix)?;
        let (rows, columns) = (matrix.rows(), matrix.columns());
        let (offsets, indices, values) = widened(matrix)?;
        Self::try_from_csr_data(rows, columns, offsets, indices, values).map_err(refused)
    }
}

impl<T: Scalar> TryFrom<Csr<T>> for CscMatrix<T> {
    type Error = Error;

    /// The same matrix in columns. Returns an error if a row has duplicate entries.
    fn try_from(matrix: Csr<T>) -> Result<Self, Error> {
        let transpose = matrix.transposed()?;
        check_ascending(&transpose)?;
        let (offsets, indices, values) = widened(transpose)?;
        Self::try_from_csc_data(matrix.rows(), matrix.columns(), offsets, indices, values).map_err(refused)
    }
}

fn widened<T: Scalar>(matrix: Csr<T>) -> Result<Parts<T>, Error> {
    let (offsets, indices, values) = matrix.into_parts();
    Ok((Index::from_offsets(offsets)?, Index::from_columns(indices)?, values))
}

/// Never happens for a matrix that has been checked.
fn refused(error: SparseFormatError) -> Error {
    Error::structure("CSR", error.to_string())
}
