//! Coordinate format (Bell & Garland 2009, §3.4).

#[allow(unsafe_code, reason = "it launches kernels")]
pub(crate) mod by_kernels;
mod costs;
pub(crate) mod multivector;
pub(crate) mod product;
pub(crate) mod strategy;
mod transposed;

use std::ops::Range;

use crate::error::{Error, check_length};
use crate::format::check::{AT_ONCE, check_indices};
use crate::format::rows::{parallel_rows, row_indices, row_offsets};
use crate::format::storage::storage;
use crate::format::{Csr, Offsets, check_shape};
use crate::memory::zeros;
use crate::parallel::{self, ROWS_AT_ONCE};
use crate::real::Scalar;

pub use by_kernels::row_indices as row_indices_by_kernels;
pub use strategy::CooStrategy;
pub(crate) use strategy::Strategy;

storage! {
    /// A sparse matrix in coordinate format: row, column and value of each entry, the rows in order.
    ///
    /// Within a row, entries may be in any order, and an entry may be stored more than once: the values are summed.
    pub struct Coo {
        parameters {}
        offsets {}
        arrays {
            /// Row of each entry, never decreasing.
            row_indices: u32,
            /// Column of each entry.
            column_indices: u32,
            /// Value of each entry.
            values: T,
        }
    }
}

/// Returns the bytes of the COO arrays of `nnz` entries.
pub(crate) fn coo_bytes<T>(nnz: usize) -> u128 {
    nnz as u128 * (8 + size_of::<T>() as u128)
}

impl<T: Scalar> Coo<T> {
    /// Builds a matrix from its arrays. Runs in parallel in O(nnz). For entries whose rows are not in order, see
    /// [`Csr::try_from_triplets`].
    ///
    /// # Errors
    /// When the arrays differ in length, an index is outside the shape, or the rows are not in order.
    pub fn try_new(
        rows: usize,
        columns: usize,
        row_indices: Vec<u32>,
        column_indices: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Self, Error> {
        check_shape(rows, columns)?;
        check_length("column_indices", column_indices.len(), row_indices.len())?;
        check_length("values", values.len(), row_indices.len())?;
        let falls = |mut entries: Range<usize>| entries.find(|&entry| row_indices[entry + 1] < row_indices[entry]);
        if let Some(entry) = parallel::first(row_indices.len().saturating_sub(1), AT_ONCE, &falls) {
            return Err(Error::structure(
                "COO",
                format!("entry {} is in an earlier row than entry {entry}", entry + 1),
            ));
        }
        if let Some(&row) = row_indices.last().filter(|&&row| row as usize >= rows) {
            return Err(Error::structure("COO", format!("the last entry is in row {row} of {rows}")));
        }
        check_indices("COO", "column", columns, &column_indices)?;
        Ok(Self { rows, columns, stored: values.len(), row_indices, column_indices, values })
    }

    /// Converts the entries of each row of `matrix` after the first `skipped`. Runs in parallel.
    pub(super) fn of_later_entries(matrix: &Csr<T>, skipped: usize) -> Result<Self, Error> {
        let offsets = Offsets::from_lengths(matrix.row_lengths().map(|length| length.saturating_sub(skipped)))?;
        let stored = offsets.get(matrix.rows());
        let row_indices = row_indices(&offsets)?;
        let mut column_indices = zeros(stored)?;
        let mut values = zeros(stored)?;
        parallel_rows(&offsets, ROWS_AT_ONCE, &mut column_indices, &mut values, &|rows, columns, values| {
            let places = columns.iter_mut().zip(values);
            let entries = rows.flat_map(|row| matrix.row(row).skip(skipped));
            places.zip(entries).for_each(|((column, value), entry)| (*column, *value) = entry);
            Ok(())
        })?;
        Ok(Self { rows: matrix.rows(), columns: matrix.columns(), stored, row_indices, column_indices, values })
    }

    /// Calls `visit` with row, column and value of each entry.
    pub(super) fn for_each_entry(&self, visit: &mut (impl FnMut(usize, u32, T) + ?Sized)) {
        for ((&row, &column), &value) in self.row_indices.iter().zip(&self.column_indices).zip(&self.values) {
            visit(row as usize, column, value);
        }
    }

    /// Converts the matrix to CSR, reusing columns and values. Runs in parallel in O(rows + nnz).
    ///
    /// # Errors
    /// When memory runs out.
    pub fn into_csr(self) -> Result<Csr<T>, Error> {
        let offsets = row_offsets(self.rows, &self.row_indices)?;
        Ok(Csr::from_valid(self.rows, self.columns, offsets, self.column_indices, self.values))
    }

    /// Converts `matrix`, reusing columns and values. Runs in parallel in O(nnz).
    ///
    /// # Errors
    /// When memory runs out.
    pub fn try_from_csr(matrix: Csr<T>) -> Result<Self, Error> {
        let (rows, columns) = (matrix.rows(), matrix.columns());
        let (offsets, column_indices, values) = matrix.into_parts();
        let row_indices = row_indices(&offsets)?;
        Ok(Self { rows, columns, stored: values.len(), row_indices, column_indices, values })
    }
}
