//! ELLPACK (Bell & Garland 2009, §3.2).

#[allow(unsafe_code, reason = "it launches kernels")]
pub(crate) mod by_kernels;
pub(in crate::format) mod costs;
mod fused;
pub(crate) mod multivector;
pub(crate) mod product;
pub(crate) mod strategy;

use gpu_kernels::ell::PADDING;

use crate::error::{Error, check_length};
use crate::format::check::{Places, count_parts};
use crate::format::rows::collect_rows;
use crate::format::storage::storage;
use crate::format::{Csr, FillLimit, check_shape};
use crate::memory::collect;
use crate::parallel::{self, ROWS_AT_ONCE};
use crate::real::Scalar;

pub use strategy::EllStrategy;
pub(crate) use strategy::Strategy;

/// The stride is a multiple of this, so each column of slots is aligned to full cache lines.
const STRIDE_MULTIPLE: usize = 32;

storage! {
    /// A sparse matrix in ELLPACK format: every row has as many slots as the longest one has entries. The first slots
    /// of all rows come first, then the second ones, and so on; consecutive slots of a row are [`stride`](Self::stride)
    /// slots apart. A row's entries come before its padding, in the order of CSR.
    pub struct Ell {
        parameters {
            /// Distance between consecutive slots of a row: the number of rows, rounded up.
            stride: usize,
            /// Slots per row: the number of entries of the longest row.
            width: usize,
        }
        offsets {}
        arrays {
            /// Column of each slot; [`PADDING`] where there is no entry.
            column_indices: u32,
            /// Value of each slot; 0 where there is no entry.
            values: T,
        }
    }
}

/// Returns the stride of a matrix with `rows` rows.
pub(crate) fn ell_stride(rows: usize) -> usize {
    rows.next_multiple_of(STRIDE_MULTIPLE)
}

/// Returns the bytes of the ELL arrays for `rows` rows, the longest with `longest_row` entries. Cannot overflow.
pub(crate) fn ell_bytes<T>(rows: usize, longest_row: usize) -> u128 {
    ell_stride(rows) as u128 * longest_row as u128 * (4 + size_of::<T>() as u128)
}

impl<T: Scalar> Ell<T> {
    /// Builds a matrix from its arrays. Runs in parallel in O(slots).
    ///
    /// # Errors
    /// When the stride is not the number of rows rounded up to a multiple of 32, an array does not have `stride` ·
    /// `width` elements, no row has `width` entries, a column index is not below `columns`, an entry comes after
    /// padding, or padding has a value.
    pub fn try_new(
        rows: usize,
        columns: usize,
        stride: usize,
        width: usize,
        column_indices: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Self, Error> {
        check_shape(rows, columns)?;
        let fail = |reason| Err(Error::structure("ELL", reason));
        let expected = rows.next_multiple_of(STRIDE_MULTIPLE);
        if stride != expected {
            return fail(format!("a stride of {stride} for {rows} rows, expected {expected}"));
        }
        let length = stride.saturating_mul(width);
        check_length("column_indices", column_indices.len(), length)?;
        check_length("values", values.len(), length)?;
        let (row, first_row) = ("row", 0);
        let places = Places { row, first_row, rows, columns, stride, column_indices: &column_indices, values: &values };
        let stored = count_parts("ELL", stride.div_ceil(ROWS_AT_ONCE), |chunk| {
            let first = chunk * ROWS_AT_ONCE;
            places.check(first..stride.min(first + ROWS_AT_ONCE))
        })?;
        if width > 0 && (rows == 0 || !places.reach(width - 1)) {
            return fail(format!("{width} slots per row, but no row has that many entries"));
        }
        Ok(Self { rows, columns, stored, stride, width, column_indices, values })
    }

    /// Converts `matrix` to ELL. Runs in parallel in O(rows · longest row).
    ///
    /// # Errors
    /// When the arrays would exceed `limit`, or cannot be allocated; nothing is then allocated.
    pub fn try_from_csr(matrix: &Csr<T>, limit: FillLimit) -> Result<Self, Error> {
        let width = matrix.longest_row();
        limit.check("ELL", ell_bytes::<T>(matrix.rows(), width), matrix.bytes())?;
        Self::of_first_entries(matrix, width)
    }

    /// Converts the first `width` entries of each row of `matrix`.
    pub(super) fn of_first_entries(matrix: &Csr<T>, width: usize) -> Result<Self, Error> {
        let rows = matrix.rows();
        let bytes = ell_bytes::<T>(rows, width);
        let stride = ell_stride(rows);
        let places = stride * width;
        let mut column_indices = Vec::new();
        let mut values = Vec::new();
        let out_of_memory = |_| Error::OutOfMemory { what: "an ELL matrix", bytes };
        column_indices.try_reserve_exact(places).map_err(out_of_memory)?;
        values.try_reserve_exact(places).map_err(out_of_memory)?;
        column_indices.resize(places, PADDING);
        values.resize(places, T::ZERO);
        if places > 0 {
            let places = collect(column_indices.chunks_mut(stride).zip(values.chunks_mut(stride)))?;
            parallel::map_items(places, &|(place, (column_indices, values)): (usize, (&mut [u32], &mut [T]))| {
                for row in 0..rows {
                    let range = matrix.range(row);
                    if place < range.len() {
                        column_indices[row] = matrix.column_indices()[range.start + place];
                        values[row] = matrix.values()[range.start + place];
                    }
                }
            })?;
        }
        let stored = matrix.row_lengths().map(|length| length.min(width)).sum();
        Ok(Self { rows, columns: matrix.columns(), stored, stride, width, column_indices, values })
    }

    /// Returns the entries of a row, as column and value.
    ///
    /// # Panics
    /// When `row` is not below [`rows`](Self::rows).
    pub fn row(&self, row: usize) -> impl Iterator<Item = (u32, T)> + '_ {
        // Beyond the last row are slots of others.
        assert!(row < self.rows, "row {row} of {}", self.rows);
        (0..self.width)
            .map(move |place| place * self.stride + row)
            .map(|place| (self.column_indices[place], self.values[place]))
            .take_while(|&(column, _)| column != PADDING)
    }

    /// Calls `visit` with row, column and value of each entry, row by row.
    pub(super) fn for_each_entry(&self, visit: &mut (impl FnMut(usize, u32, T) + ?Sized)) {
        for row in 0..self.rows {
            self.row(row).for_each(|(column, value)| visit(row, column, value));
        }
    }

    /// Converts the matrix to CSR. Runs in parallel in O(rows · width).
    ///
    /// # Errors
    /// When memory runs out.
    pub fn to_csr(&self) -> Result<Csr<T>, Error> {
        collect_rows(self.rows, self.columns, |row| self.row(row))
    }
}
