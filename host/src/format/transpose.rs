//! Transpose of a matrix in CSR.

use super::{Csr, Offsets, parallel_rows};
use crate::convert::gather::MOST_PLACES;
use crate::error::Error;
use crate::memory::{collect, zeros};
use crate::parallel::{self, ROWS_AT_ONCE};
use crate::real::Scalar;

/// Largest number of passes over the entries to sort them by column.
const MOST_PASSES: usize = 8;

impl<T: Scalar> Csr<T> {
    /// Returns the transpose: rows become columns. Each of its rows is sorted by column; duplicates stay, in their
    /// order. Runs in parallel in O(rows + columns + nnz), and takes as much memory as the entries.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn transposed(&self) -> Result<Self, Error> {
        let (offsets, row_indices, values) = self.transposed_arrays(&self.values)?;
        Ok(Self::from_valid(self.columns(), self.rows(), offsets, row_indices, values))
    }

    /// Returns [`transposed`](Self::transposed), and for each entry of the transpose its index in this matrix.
    ///
    /// # Errors
    /// When there are more than [`MOST_PLACES`] entries, or memory runs out.
    pub(crate) fn transposed_with_order(&self) -> Result<(Self, Vec<u32>), Error> {
        if self.nnz() > MOST_PLACES {
            let what = "number of entries whose order in the transpose is kept for new values";
            return Err(Error::TooLarge { what, value: self.nnz() as u128, limit: MOST_PLACES as u128 });
        }
        let entries = parallel::map(self.nnz(), ROWS_AT_ONCE, &|entry| entry as u32)?;
        let (offsets, row_indices, order) = self.transposed_arrays(&entries)?;
        let values = parallel::map(self.nnz(), ROWS_AT_ONCE, &|entry| self.values[order[entry] as usize])?;
        Ok((Self::from_valid(self.columns(), self.rows(), offsets, row_indices, values), order))
    }

    /// Returns the arrays of the transpose, with an item of `of_entries` in place of each value.
    fn transposed_arrays<V: bytemuck::Zeroable + Copy + Send + Sync>(
        &self,
        of_entries: &[V],
    ) -> Result<(Offsets, Vec<u32>, Vec<V>), Error> {
        // Each thread takes a range of columns and picks their entries out of all entries, row by row, so the entries
        // keep their order for any number of threads.
        let columns_at_once = self.columns().div_ceil(parallel::threads().min(MOST_PASSES)).max(1);
        let mut lengths = zeros::<u64>(self.columns())?;
        parallel::chunks_mut(&mut lengths, columns_at_once, 1, &|(range, lengths)| {
            let first = range * columns_at_once;
            for &column in self.column_indices() {
                if let Some(length) = lengths.get_mut((column as usize).wrapping_sub(first)) {
                    *length += 1;
                }
            }
        });
        let offsets = Offsets::from_lengths(lengths.iter().map(|&length| length as usize))?;
        let (mut row_indices, mut values) = (zeros(self.nnz())?, zeros(self.nnz())?);
        parallel_rows(&offsets, columns_at_once, &mut row_indices, &mut values, &|columns, row_indices, values| {
            let base = offsets.get(columns.start);
            let mut next = collect(columns.clone().map(|column| offsets.get(column) - base))?;
            for row in 0..self.rows() {
                let entries = self.range(row);
                for (&column, &value) in self.column_indices[entries.clone()].iter().zip(&of_entries[entries]) {
                    if let Some(place) = next.get_mut((column as usize).wrapping_sub(columns.start)) {
                        (row_indices[*place], values[*place]) = (row as u32, value);
                        *place += 1;
                    }
                }
            }
            Ok(())
        })?;
        Ok((offsets, row_indices, values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_columns_in_order() {
        // Unsorted, with a duplicate entry, an empty row and an empty column.
        let columns = vec![3, 0, 3, 1, 0];
        let matrix = Csr::try_new(4, 5, vec![0u32, 3, 3, 4, 5], columns, vec![1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let expected =
            Csr::try_new(5, 4, vec![0u32, 2, 3, 3, 5, 5], vec![0, 3, 2, 0, 0], vec![2.0, 5.0, 4.0, 1.0, 3.0]);
        let expected = expected.unwrap();
        assert_eq!(matrix.transposed().unwrap(), expected);
        assert_eq!(matrix.transposed_with_order().unwrap(), (expected, vec![1, 4, 3, 0, 2]));
    }

    #[test]
    fn twice_is_the_sorted_matrix_for_any_number_of_threads() {
        let rows = if cfg!(miri) { 40u32 } else { 500 };
        let columns = (0..12 * rows).map(|entry| entry * 7919 % 331).collect();
        let offsets = (0..=rows).map(|row| row * 12).collect::<Vec<_>>();
        let values = (0..12 * rows).map(f64::from).collect();
        let mut matrix = Csr::try_new(rows as usize, 331, offsets, columns, values).unwrap();
        for &threads in if cfg!(miri) { &[3][..] } else { &[1, 3, 11] } {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let twice = pool.install(|| matrix.transposed().unwrap().transposed().unwrap());
            matrix.sort_rows().unwrap();
            assert_eq!(twice, matrix, "{threads} threads");
        }
    }

    #[test]
    fn nothing_transposed_is_nothing() {
        for (rows, columns) in [(0, 0), (0, 5), (5, 0), (3, 2)] {
            let matrix = Csr::<f32>::try_new(rows, columns, vec![0u32; rows + 1], vec![], vec![]).unwrap();
            let transposed = matrix.transposed().unwrap();
            assert_eq!((transposed.rows(), transposed.columns(), transposed.nnz()), (columns, rows, 0));
        }
    }
}
