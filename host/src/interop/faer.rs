//! [faer](https://docs.rs/faer): `SparseRowMat`, `SparseColMat` and their views, with indices of any [`Index`] that faer
//! supports: `u32`, `u64` and `usize`.

use std::borrow::Cow;

use faer::sparse::{
    SparseColMat, SparseColMatRef, SparseRowMat, SparseRowMatRef, SymbolicSparseRowMat, SymbolicSparseRowMatRef,
};

use super::arrays::{Arrays, check_ascending};
use super::index::Index;
use crate::Csr;
use crate::error::Error;
use crate::format::check_shape;
use crate::memory::with_capacity;
use crate::real::Scalar;

impl<T: Scalar, I: Index + faer::Index> TryFrom<SparseRowMat<I, T>> for Csr<T> {
    type Error = Error;

    /// Moves the arrays as far as their types match. If there are gaps between rows, the arrays are copied.
    ///
    /// ```
    /// use faer::sparse::{SparseRowMat, Triplet};
    /// use host::Csr;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let entries = [Triplet::new(0, 1, 4.0), Triplet::new(1, 2, 5.0)];
    /// let matrix = SparseRowMat::<u32, f64>::try_new_from_triplets(2, 3, &entries)
    ///     .map_err(|error| format!("{error:?}"))?;
    /// let matrix = Csr::try_from(matrix)?;
    /// assert!(matrix.row(1).eq([(2, 5.0)]));
    /// // And back, without a copy.
    /// let matrix: SparseRowMat<u32, f64> = matrix.try_into()?;
    /// assert_eq!(matrix.get(1, 2), Some(&5.0));
    /// # Ok(())
    /// # }
    /// ```
    fn try_from(matrix: SparseRowMat<I, T>) -> Result<Self, Error> {
        if !is_packed(matrix.as_ref()) {
            return packed(matrix.as_ref());
        }
        let (symbolic, values) = matrix.into_parts();
        let (rows, columns, offsets, _, indices) = symbolic.into_parts();
        Arrays { offsets: Cow::Owned(offsets), indices: Cow::Owned(indices), values: Cow::Owned(values) }
            .in_rows(rows, columns)
    }
}

impl<T: Scalar, I: Index + faer::Index> TryFrom<SparseRowMatRef<'_, I, T>> for Csr<T> {
    type Error = Error;

    /// Copies the arrays.
    fn try_from(matrix: SparseRowMatRef<'_, I, T>) -> Result<Self, Error> {
        if !is_packed(matrix) {
            return packed(matrix);
        }
        let (rows, columns, offsets, _, indices) = matrix.symbolic().parts();
        let values = Cow::Borrowed(matrix.val());
        Arrays { offsets: Cow::Borrowed(offsets), indices: Cow::Borrowed(indices), values }.in_rows(rows, columns)
    }
}

impl<T: Scalar, I: Index + faer::Index> TryFrom<SparseColMat<I, T>> for Csr<T> {
    type Error = Error;

    /// The same matrix in rows. `SparseColMat::into_transpose` gives the transpose at a lower cost.
    fn try_from(matrix: SparseColMat<I, T>) -> Result<Self, Error> {
        check_shape(matrix.nrows(), matrix.ncols())?;
        Csr::try_from(matrix.into_transpose())?.transposed()
    }
}

impl<T: Scalar, I: Index + faer::Index> TryFrom<SparseColMatRef<'_, I, T>> for Csr<T> {
    type Error = Error;

    /// The same matrix in rows.
    fn try_from(matrix: SparseColMatRef<'_, I, T>) -> Result<Self, Error> {
        check_shape(matrix.nrows(), matrix.ncols())?;
        Csr::try_from(matrix.transpose())?.transposed()
    }
}

impl<T: Scalar, I: Index + faer::Index> TryFrom<Csr<T>> for SparseRowMat<I, T> {
    type Error = Error;

    /// Moves the arrays as far as their types match. Returns an error if rows are not sorted or have duplicate entries, or
    /// if there are more entries than an offset can count.
    fn try_from(matrix: Csr<T>) -> Result<Self, Error> {
        check_ascending(&matrix)?;
        let (rows, columns) = (matrix.rows(), matrix.columns());
        let (offsets, indices, values) = matrix.into_parts();
        let (offsets, indices) = (I::from_offsets(offsets)?, I::from_columns(indices)?);
        // Never panics for a valid matrix with ascending rows, since no dimension exceeds `i32`.
        Ok(Self::new(SymbolicSparseRowMat::new_checked(rows, columns, offsets, None, indices), values))
    }
}

impl<T: Scalar, I: Index + faer::Index> TryFrom<Csr<T>> for SparseColMat<I, T> {
    type Error = Error;

    /// The same matrix in columns. Returns an error if a row has duplicate entries, or if there are more entries than an
    /// offset can count.
    fn try_from(matrix: Csr<T>) -> Result<Self, Error> {
        Ok(SparseRowMat::try_from(matrix.transposed()?)?.into_transpose())
    }
}

impl<'a, T: Scalar> TryFrom<&'a Csr<T>> for SparseRowMatRef<'a, u32, T> {
    type Error = Error;

    /// Borrows the arrays. Returns an error if rows are not sorted or have duplicate entries, or if there are so many
    /// entries that offsets are `u64`.
    fn try_from(matrix: &'a Csr<T>) -> Result<Self, Error> {
        check_ascending(matrix)?;
        let Some(offsets) = <u32 as Index>::borrowed(matrix.row_offsets()) else {
            return Err(Error::structure("CSR", "the row offsets are u64, but those of the view are not"));
        };
        let (rows, columns) = (matrix.rows(), matrix.columns());
        let symbolic = SymbolicSparseRowMatRef::new_checked(rows, columns, offsets, None, matrix.column_indices());
        Ok(Self::new(symbolic, matrix.values()))
    }
}

/// Whether the arrays consist of the entries of all rows, in order and without gaps.
fn is_packed<T, I: faer::Index>(matrix: SparseRowMatRef<'_, I, T>) -> bool {
    let (rows, _, offsets, lengths, indices) = matrix.symbolic().parts();
    lengths.is_none() && offsets[0].zx() == 0 && offsets[rows].zx() == indices.len()
}

/// A copy without the gaps between rows.
fn packed<T: Scalar, I: Index + faer::Index>(matrix: SparseRowMatRef<'_, I, T>) -> Result<Csr<T>, Error> {
    let symbolic = matrix.symbolic();
    let (rows, columns, .., all_indices) = symbolic.parts();
    let entries = symbolic.compute_nnz();
    let (mut offsets, mut indices, mut values) =
        (with_capacity(rows + 1)?, with_capacity(entries)?, with_capacity(entries)?);
    offsets.push(0_u64);
    for row in 0..rows {
        let range = symbolic.row_range(row);
        indices.extend_from_slice(&all_indices[range.clone()]);
        values.extend_from_slice(&matrix.val()[range]);
        offsets.push(indices.len() as u64);
    }
    Arrays { offsets: Cow::Owned(offsets), indices: Cow::Owned(indices), values: Cow::Owned(values) }
        .in_rows(rows, columns)
}
