//! Slices of rows: common parts of SELL-P, ELL and the ELL part of HYB.

use gpu_kernels::convert::sliced::{COLUMNS_AT_ONCE, CsrFromSliced, SlicedFromCsr, SlicedRowLengths};

use super::primitives::{Array, Scan, launch};
use super::width::each_width;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::{Csr, Offsets};
use crate::memory::Buffer;
use crate::real::Scalar;

/// Arrangement of the rows.
pub(crate) struct Slices<'a, K: KernelExecutor> {
    pub rows: usize,
    /// Rows per slice.
    pub size: usize,
    /// Sum of the widths of all slices before each one.
    pub begins: &'a Array<K, u64>,
    /// Number of columns of slots of all slices.
    pub columns: u64,
    /// Row at each position; empty if the rows are in their original order.
    pub row_indices: &'a Array<K, u32>,
}

/// Column and value of each slot.
pub(crate) struct Places<T: Scalar, K: KernelExecutor> {
    pub column_indices: Array<K, u32>,
    pub values: Array<K, T>,
}

impl<K: KernelExecutor> Slices<'_, K> {
    fn count(&self) -> u32 {
        (self.begins.len() - 1) as u32
    }

    fn sorted(&self) -> u32 {
        u32::from(!self.row_indices.is_empty())
    }

    /// Returns the number of threads that have work.
    fn work(&self) -> u64 {
        self.columns.div_ceil(COLUMNS_AT_ONCE.into()).saturating_mul(self.size as u64)
    }

    /// Stores the entries of `matrix` in their slots, as far as rows have slots.
    pub fn fill<T: Scalar>(&self, executor: &K, matrix: &Csr<T, K::Memory>) -> Result<Places<T, K>, Error> {
        let places = usize::try_from(u128::from(self.columns) * self.size as u128).map_err(|_| {
            let bytes = u128::from(self.columns) * self.size as u128 * (4 + size_of::<T>() as u128);
            Error::OutOfMemory { what: "a matrix in slices", bytes }
        })?;
        let mut column_indices = executor.unwritten(places)?;
        let mut values = executor.unwritten(places)?;
        let grid = executor.device().grid(self.work());
        each_width!(matrix.row_offsets(), offsets => {
            let kernel = SlicedFromCsr {
                rows: self.rows as u32,
                slice_size: self.size as u32,
                slices: self.count(),
                slice_begins: self.begins.global(),
                sorted: self.sorted(),
                row_indices: self.row_indices.global(),
                row_offsets: offsets.global(),
                column_indices: matrix.column_indices().global(),
                values: matrix.values().global(),
                new_column_indices: column_indices.global_mut(),
                new_values: values.global_mut(),
            };
            // SAFETY: the matrix is valid and has the slices' rows; there is a slot for each column and row of a slice.
            unsafe { launch(executor, grid, kernel) }
        })?;
        Ok(Places { column_indices, values })
    }

    /// Returns the number of entries of each row.
    pub fn row_lengths(&self, executor: &K, column_indices: &Array<K, u32>) -> Result<Array<K, u32>, Error> {
        let mut lengths = executor.unwritten(self.rows)?;
        let kernel = SlicedRowLengths {
            rows: self.rows as u32,
            slice_size: self.size as u32,
            slice_begins: self.begins.global(),
            sorted: self.sorted(),
            row_indices: self.row_indices.global(),
            column_indices: column_indices.global(),
            lengths: lengths.global_mut(),
        };
        // SAFETY: the columns are those of a valid matrix in these slices.
        unsafe { launch(executor, executor.device().grid(self.rows as u64), kernel) }?;
        Ok(lengths)
    }

    /// Copies the entries of all slots to `to`, each row's to its offset.
    pub fn empty<T: Scalar>(
        &self,
        executor: &K,
        places: &Places<T, K>,
        row_offsets: &Offsets<K::Memory>,
        to: &mut Places<T, K>,
    ) -> Result<(), Error> {
        let grid = executor.device().grid(self.work());
        each_width!(row_offsets, offsets => {
            let kernel = CsrFromSliced {
                rows: self.rows as u32,
                slice_size: self.size as u32,
                slices: self.count(),
                slice_begins: self.begins.global(),
                sorted: self.sorted(),
                row_indices: self.row_indices.global(),
                row_offsets: offsets.global(),
                column_indices: places.column_indices.global(),
                values: places.values.global(),
                new_column_indices: to.column_indices.global_mut(),
                new_values: to.values.global_mut(),
            };
            // SAFETY: the slots are those of a valid matrix in these slices, and its rows have room in `to`.
            unsafe { launch(executor, grid, kernel) }
        })
    }

    /// Converts the matrix of these slots to CSR, with `stored` entries in `columns` columns.
    pub fn csr_of<T: Scalar>(
        &self,
        executor: &K,
        columns: usize,
        stored: usize,
        places: Places<T, K>,
    ) -> Result<Csr<T, K::Memory>, Error> {
        let lengths = self.row_lengths(executor, &places.column_indices)?;
        let row_offsets = Scan::new(executor, &lengths)?.offsets(1)?;
        drop(lengths);
        let mut entries = Places { column_indices: executor.unwritten(stored)?, values: executor.unwritten(stored)? };
        self.empty(executor, &places, &row_offsets, &mut entries)?;
        let Places { column_indices, values } = entries;
        Ok(Csr { rows: self.rows, columns, stored, row_offsets, column_indices, values })
    }
}
