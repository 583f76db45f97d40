//! Matrices whose entries are sorted by row.

use host::format::{Csr, RowCounts, TripletSlices};
use host::memory::zeros;
use host::{Error, Scalar, parallel};

/// A matrix whose entries are sorted by row.
pub struct SortedAssembly<T> {
    rows: usize,
    columns: usize,
    counts: RowCounts,
    last_row: u32,
    column_indices: Vec<u32>,
    values: Vec<T>,
    /// Number of entries so far.
    filled: usize,
}

impl<T: Scalar> SortedAssembly<T> {
    /// A matrix with room for `entries` entries.
    ///
    /// # Errors
    /// When the shape cannot be indexed, or memory runs out.
    pub fn new(rows: usize, columns: usize, entries: usize) -> Result<Self, Error> {
        let counts = RowCounts::new(rows, columns, entries as u128)?;
        Ok(Self {
            rows,
            columns,
            counts,
            last_row: 0,
            column_indices: zeros(entries)?,
            values: zeros(entries)?,
            filled: 0,
        })
    }

    /// Appends entries, in several parts, in parallel. Returns `false` if they are not sorted by row.
    ///
    /// # Errors
    /// When memory runs out.
    ///
    /// # Panics
    /// When a row is not less than the number of rows, or there is not enough room.
    pub fn append(&mut self, parts: &[TripletSlices<'_, T>]) -> Result<bool, Error> {
        let rows: Vec<_> = parts.iter().map(|part| part.0).filter(|rows| !rows.is_empty()).collect();
        for rows in &rows {
            if rows[0] < self.last_row {
                return Ok(false);
            }
            self.last_row = rows[rows.len() - 1];
        }
        if !parallel::all(rows.len(), 1, &|part| rows[part].is_sorted()) {
            return Ok(false);
        }
        self.counts.add(&rows)?;
        let mut columns_left = &mut self.column_indices[self.filled..];
        let mut values_left = &mut self.values[self.filled..];
        let mut copies = Vec::with_capacity(parts.len());
        for &(rows, columns, values) in parts {
            let to_columns = columns_left.split_off_mut(..rows.len()).unwrap_or_default();
            let to_values = values_left.split_off_mut(..rows.len()).unwrap_or_default();
            copies.push(((to_columns, columns), (to_values, values)));
            self.filled += rows.len();
        }
        parallel::map_items(copies, &|(_, ((to_columns, columns), (to_values, values)))| {
            to_columns.copy_from_slice(columns);
            to_values.copy_from_slice(values);
        })?;
        Ok(true)
    }

    /// The matrix, with each row sorted by column, and duplicate entries added up in the order in which they were
    /// appended.
    ///
    /// # Errors
    /// When room is left, a column is not less than the number of columns, or memory runs out.
    pub fn finish(self) -> Result<Csr<T>, Error> {
        let Self { rows, columns, counts, column_indices, values, .. } = self;
        let mut matrix = Csr::try_new(rows, columns, counts.into_offsets(), column_indices, values)?;
        matrix.sort_and_sum()?;
        Ok(matrix)
    }
}
