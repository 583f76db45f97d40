//! Compressed sparse rows (Bell & Garland 2009, §3.3).

mod ahead;
pub(crate) mod balanced;
mod costs;
#[allow(unsafe_code, reason = "each use says why it holds")]
mod cpu;
mod fused;
pub(crate) mod lanes;
mod multivector;
pub(crate) mod product;
pub(crate) mod strategy;
mod transposed;

use crate::error::{Error, check_length};
use crate::executor::Executor;
use crate::executor::transfer::overwrite;
use crate::format::assembly::RowCounts;
use crate::format::check::check_indices;
use crate::format::rows::parallel_rows;
use crate::format::sort::Sorter;
use crate::format::storage::storage;
use crate::format::{Offsets, check_shape};
use crate::memory::{self, Buffer, Memory};
use crate::parallel::{self, ROWS_AT_ONCE};
use crate::real::Scalar;
use crate::select::pattern::Pattern;

pub use lanes::Lanes;
pub use strategy::CsrStrategy;
pub(crate) use strategy::Strategy;

storage! {
    /// A sparse matrix in compressed sparse row format: the entries row by row, and the offset of each row.
    ///
    /// Entries of a row may be in any order, and an entry may be stored more than once: the values are summed.
    ///
    /// ```
    /// use host::Csr;
    ///
    /// # fn main() -> Result<(), host::Error> {
    /// // 2 rows and 3 columns, from row offsets, column indices and values.
    /// let matrix = Csr::try_new(2, 3, vec![0_u32, 1, 3], vec![0, 1, 2], vec![1.0, 2.0, 3.0])?;
    /// assert!(matrix.row(1).eq([(1, 2.0), (2, 3.0)]));
    /// // The same from rows, columns and values in any order.
    /// let mut again = Csr::try_from_triplets(2, 3, &[1, 0, 1], &[2, 0, 1], &[3.0, 1.0, 2.0])?;
    /// again.sort_rows()?;
    /// assert!(again == matrix);
    /// # Ok(())
    /// # }
    /// ```
    /// A stored zero is an entry.
    pub struct Csr {
        parameters {}
        offsets {
            /// Offset of each row's first entry.
            row_offsets,
        }
        arrays {
            /// Column of each entry.
            column_indices: u32,
            /// Value of each entry.
            values: T,
        }
    }
}

impl<T: Scalar, M: Memory> Csr<T, M> {
    /// Copies the arrays within their memory.
    pub fn duplicate<E: Executor<Memory = M>>(&self, executor: &E) -> Result<Self, Error> {
        Ok(Self {
            rows: self.rows,
            columns: self.columns,
            stored: self.stored,
            row_offsets: self.row_offsets.duplicate(executor)?,
            column_indices: executor.duplicate(&self.column_indices)?,
            values: executor.duplicate(&self.values)?,
        })
    }

    /// Overwrites the values with new ones, one per entry; borrowed values are replaced by an array owned by the
    /// matrix.
    ///
    /// # Errors
    /// When the number of values differs, an array belongs to another executor, or the device fails.
    pub fn update_values<E: Executor<Memory = M>>(&mut self, executor: &E, values: &M::Buffer<T>) -> Result<(), Error> {
        check_length("values", values.len(), self.stored)?;
        overwrite(executor, values, &mut self.values)
    }

    /// Replaces the values and keeps the pattern; `change` returns the new values in the order of the entries.
    ///
    /// # Errors
    /// Those of `change`, or when it returns a different number of values.
    pub fn with_values<U: Scalar>(
        self,
        change: impl FnOnce(M::Buffer<T>) -> Result<M::Buffer<U>, Error>,
    ) -> Result<Csr<U, M>, Error> {
        let Self { rows, columns, stored, row_offsets, column_indices, values } = self;
        let values = change(values)?;
        check_length("values", values.len(), stored)?;
        Ok(Csr { rows, columns, stored, row_offsets, column_indices, values })
    }

    /// Builds a matrix from arrays that the caller guarantees to be valid.
    pub(crate) fn from_valid(
        rows: usize,
        columns: usize,
        row_offsets: Offsets<M>,
        column_indices: M::Buffer<u32>,
        values: M::Buffer<T>,
    ) -> Self {
        Self { rows, columns, stored: values.len(), row_offsets, column_indices, values }
    }

    /// Returns the bytes of the arrays if the values were of type `V`.
    pub(super) fn bytes_with<V>(&self) -> u128 {
        self.row_offsets.bytes() + self.stored as u128 * (4 + size_of::<V>() as u128)
    }
}

impl<T: Scalar> Csr<T> {
    /// Returns the same matrix with values of another type, rounded to nearest. A real type drops imaginary parts.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn cast<U: Scalar>(&self) -> Result<Csr<U>, Error> {
        let rounded = |entry: usize| {
            let [re, im] = self.values[entry].parts();
            U::from_parts(re, im)
        };
        Ok(Csr {
            rows: self.rows,
            columns: self.columns,
            stored: self.stored,
            row_offsets: self.row_offsets.try_clone()?,
            column_indices: memory::copy(&self.column_indices)?,
            values: parallel::map(self.stored, ROWS_AT_ONCE, &rounded)?,
        })
    }
}

impl<T: Scalar> Csr<T> {
    /// Returns the values for writing: any number is valid in any position.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// Builds a matrix from its arrays. Runs in parallel in O(rows + nnz).
    ///
    /// # Errors
    /// When the arrays contradict each other or the shape, a column index is not below `columns`, or memory runs out
    /// while the offsets change their width.
    pub fn try_new(
        rows: usize,
        columns: usize,
        row_offsets: impl TryInto<Offsets, Error: Into<Error>>,
        column_indices: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Self, Error> {
        let row_offsets = row_offsets.try_into().map_err(Into::into)?;
        check_shape(rows, columns)?;
        check_length("values", values.len(), column_indices.len())?;
        row_offsets.check("CSR", "row", rows, values.len())?;
        check_indices("CSR", "column", columns, &column_indices)?;
        Ok(Self { rows, columns, stored: values.len(), row_offsets, column_indices, values })
    }

    /// Builds a matrix from entries in any order: sorts them by row and column, and sums duplicates in the order given.
    /// Runs in parallel in O(rows + nnz log(longest row)); takes the memory of the matrix, and that of its longest rows
    /// twice.
    ///
    /// # Errors
    /// When an index is outside the shape, the three arrays differ in length, or memory runs out.
    pub fn try_from_triplets(
        rows: usize,
        columns: usize,
        row_indices: &[u32],
        column_indices: &[u32],
        values: &[T],
    ) -> Result<Self, Error> {
        check_shape(rows, columns)?;
        check_length("column_indices", column_indices.len(), row_indices.len())?;
        check_length("values", values.len(), row_indices.len())?;
        check_indices("triplet", "row", rows, row_indices)?;
        check_indices("triplet", "column", columns, column_indices)?;
        let mut counts = RowCounts::new(rows, columns, row_indices.len() as u128)?;
        counts.add(&[row_indices])?;
        let mut assembly = counts.into_assembly()?;
        assembly.place(&[(row_indices, column_indices, values)])?;
        assembly.finish()
    }

    /// Sorts each row by column; entries of one column keep their order. Runs in parallel in O(nnz log(longest row));
    /// takes the memory of the longest rows twice.
    ///
    /// # Errors
    /// When memory runs out, or an unsorted row has 2^32 entries or more; some rows may then be sorted.
    pub fn sort_rows(&mut self) -> Result<(), Error> {
        parallel_rows(
            &self.row_offsets,
            ROWS_AT_ONCE,
            &mut self.column_indices,
            &mut self.values,
            &|rows, columns, values| {
                let base = self.row_offsets.get(rows.start);
                let mut sorter = Sorter::new();
                for row in rows {
                    let range = self.row_offsets.get(row) - base..self.row_offsets.get(row + 1) - base;
                    sorter.sort(&mut columns[range.clone()], &mut values[range])?;
                }
                Ok(())
            },
        )
    }

    /// Sums adjacent entries of the same row and column, so that after [`sort_rows`](Self::sort_rows) no entry is
    /// stored twice. In place, O(nnz).
    ///
    /// # Errors
    /// When memory for narrower offsets runs out; the matrix is then correct except for their width.
    pub fn sum_duplicates(&mut self) -> Result<(), Error> {
        let distinct = |row| {
            let columns = &self.column_indices[self.range(row)];
            columns.windows(2).all(|pair| pair[0] != pair[1])
        };
        if parallel::all(self.rows, ROWS_AT_ONCE, &distinct) {
            return Ok(());
        }
        let (mut kept, mut end) = (0, 0);
        for row in 0..self.rows {
            let begin = kept;
            for entry in end..self.row_offsets.get(row + 1) {
                let (column, value) = (self.column_indices[entry], self.values[entry]);
                if kept > begin && self.column_indices[kept - 1] == column {
                    self.values[kept - 1] = self.values[kept - 1] + value;
                } else {
                    self.column_indices[kept] = column;
                    self.values[kept] = value;
                    kept += 1;
                }
            }
            end = self.row_offsets.replace(row + 1, kept);
        }
        self.column_indices.truncate(kept);
        self.values.truncate(kept);
        self.stored = kept;
        self.row_offsets.narrow_if_short()
    }

    /// Sorts each row by column and sums duplicates, unless there is nothing to do.
    ///
    /// # Errors
    /// Those of both steps.
    #[doc(hidden)]
    pub fn sort_and_sum(&mut self) -> Result<(), Error> {
        if !self.columns_ascend() {
            self.sort_rows()?;
            self.sum_duplicates()?;
        }
        Ok(())
    }

    /// Returns whether the columns of each row are sorted and distinct.
    #[doc(hidden)]
    pub fn columns_ascend(&self) -> bool {
        let ascends = |row| self.column_indices[self.range(row)].is_sorted_by(|left, right| left < right);
        parallel::all(self.rows, ROWS_AT_ONCE, &ascends)
    }

    /// Returns the range of a row's entries in the arrays.
    ///
    /// # Panics
    /// When `row` is not below [`rows`](Self::rows).
    #[inline]
    pub fn range(&self, row: usize) -> std::ops::Range<usize> {
        self.row_offsets.get(row)..self.row_offsets.get(row + 1)
    }

    /// Returns the row that holds an entry, given by its index in the arrays. O(log rows).
    #[doc(hidden)]
    pub fn row_of(&self, entry: usize) -> usize {
        Pattern::row_of(self, entry)
    }

    /// Returns the number of entries of each row.
    pub fn row_lengths(&self) -> impl ExactSizeIterator<Item = usize> + Clone + '_ {
        (0..self.rows).map(|row| self.range(row).len())
    }

    /// Returns the entries of a row, as column and value.
    ///
    /// # Panics
    /// When `row` is not below [`rows`](Self::rows).
    pub fn row(&self, row: usize) -> impl ExactSizeIterator<Item = (u32, T)> + '_ {
        let range = self.range(row);
        self.column_indices[range.clone()].iter().zip(&self.values[range]).map(|(&column, &value)| (column, value))
    }

    /// Returns the number of entries of the longest row; 0 if there are no rows.
    pub fn longest_row(&self) -> usize {
        self.row_offsets.longest()
    }

    /// Returns the arrays: row offsets, column indices, values.
    pub fn into_parts(self) -> (Offsets, Vec<u32>, Vec<T>) {
        (self.row_offsets, self.column_indices, self.values)
    }
}

impl<T: Scalar> std::fmt::Debug for Csr<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Csr")
            .field("rows", &self.rows)
            .field("columns", &self.columns)
            .field("row_offsets", &self.row_offsets)
            .field("column_indices", &self.column_indices)
            .field("values", &self.values)
            .finish()
    }
}
