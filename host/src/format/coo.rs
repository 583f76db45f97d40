//! Coordinate format (Bell & Garland 2009, §3.4).

use super::storage::storage;
use super::{Csr, Offsets, check_shape};
use crate::error::{Error, check_length};
use crate::real::Real;

storage! {
    /// A sparse matrix in coordinate format: row, column and value of each entry, the rows in order.
    ///
    /// Within a row entries may be in any order, and an entry may be stored more than once: the values add up.
    pub struct Coo {
        parameters {}
        offsets {}
        arrays {
            /// The row of each entry, never decreasing.
            row_indices: u32,
            /// The column of each entry.
            column_indices: u32,
            /// The value of each entry.
            values: T,
        }
    }
}

/// Bytes that the COO arrays of `nnz` entries take.
pub(super) fn coo_bytes<T>(nnz: usize) -> u128 {
    nnz as u128 * (8 + size_of::<T>() as u128)
}

impl<T: Real> Coo<T> {
    /// A matrix from its arrays. O(nnz). For entries whose rows are not in order, see
    /// [`Csr::try_from_triplets`].
    ///
    /// # Errors
    /// When the arrays differ in length, an index is not below the shape's, or the rows are not in order.
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
        if let Some(entry) = row_indices.windows(2).position(|pair| pair[1] < pair[0]) {
            return Err(Error::structure(
                "COO",
                format!("entry {} is in a row before that of entry {entry}", entry + 1),
            ));
        }
        if let Some(&row) = row_indices.last().filter(|&&row| row as usize >= rows) {
            return Err(Error::structure("COO", format!("the last entry is in row {row} of {rows}")));
        }
        if let Some(entry) = column_indices.iter().position(|&column| column as usize >= columns) {
            let column = column_indices[entry];
            return Err(Error::structure("COO", format!("entry {entry} is in column {column} of {columns}")));
        }
        Ok(Self { rows, columns, stored: values.len(), row_indices, column_indices, values })
    }

    /// The entries of each row of `matrix` after its first `skipped`.
    pub(super) fn of_later_entries(matrix: &Csr<T>, skipped: usize) -> Result<Self, Error> {
        let stored = matrix.row_lengths().map(|length| length.saturating_sub(skipped)).sum();
        let mut row_indices = Vec::new();
        let mut column_indices = Vec::new();
        let mut values = Vec::new();
        let out_of_memory = |_| Error::OutOfMemory { what: "a COO matrix", bytes: coo_bytes::<T>(stored) };
        row_indices.try_reserve_exact(stored).map_err(out_of_memory)?;
        column_indices.try_reserve_exact(stored).map_err(out_of_memory)?;
        values.try_reserve_exact(stored).map_err(out_of_memory)?;
        for row in 0..matrix.rows() {
            for (column, value) in matrix.row(row).skip(skipped) {
                row_indices.push(row as u32);
                column_indices.push(column);
                values.push(value);
            }
        }
        Ok(Self { rows: matrix.rows(), columns: matrix.columns(), stored, row_indices, column_indices, values })
    }

    /// Calls `visit` with row, column and value of each entry.
    pub(super) fn for_each_entry(&self, visit: &mut impl FnMut(usize, u32, T)) {
        for ((&row, &column), &value) in self.row_indices.iter().zip(&self.column_indices).zip(&self.values) {
            visit(row as usize, column, value);
        }
    }

    /// The same matrix in CSR. Columns and values are taken over; O(rows + nnz).
    pub fn into_csr(self) -> Csr<T> {
        let mut lengths = vec![0usize; self.rows];
        for &row in &self.row_indices {
            lengths[row as usize] += 1;
        }
        let offsets = Offsets::from_lengths(lengths.iter().copied());
        Csr::from_valid(self.rows, self.columns, offsets, self.column_indices, self.values)
    }
}

impl<T: Real> From<Csr<T>> for Coo<T> {
    /// Columns and values are taken over; O(nnz).
    fn from(matrix: Csr<T>) -> Self {
        let (rows, columns) = (matrix.rows(), matrix.columns());
        let mut row_indices = Vec::with_capacity(matrix.nnz());
        for (row, length) in matrix.row_lengths().enumerate() {
            row_indices.resize(row_indices.len() + length, row as u32);
        }
        let (_, column_indices, values) = matrix.into_parts();
        Self { rows, columns, stored: values.len(), row_indices, column_indices, values }
    }
}
