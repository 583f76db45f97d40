//! CSR to HYB and back.

use gpu_kernels::convert::hyb::{AddOffsets, CsrFromLater, LaterFromCsr};

use crate::convert::primitives::{Array, Scan, largest, launch, row_lengths};
use crate::convert::select::number_at;
use crate::convert::sliced::Places;
use crate::convert::width::each_width;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::coo::by_kernels::{begins_of_rows, rows_of_entries};
use crate::format::ell::by_kernels::{of_first_entries, with_slice};
use crate::format::{Coo, Csr, FillLimit, Hyb, HybSplit, Offsets, RowLengths, coo_bytes, ell_bytes};
use crate::memory::Buffer;
use crate::real::Scalar;

/// Lengths of all rows, on the device.
struct Lengths<'a, K: KernelExecutor> {
    executor: &'a K,
    lengths: &'a Array<K, u32>,
}

impl<K: KernelExecutor> RowLengths for Lengths<'_, K> {
    type Error = Error;

    fn rows(&self) -> usize {
        self.lengths.len()
    }

    fn longest(&self) -> Result<usize, Error> {
        Ok(largest(self.executor, self.lengths)? as usize)
    }

    fn in_order(&self, place: usize) -> Result<usize, Error> {
        Ok(number_at(self.executor, self.lengths, place)? as usize)
    }
}

/// Converts `matrix` to HYB. The workspace is 12 bytes per row.
///
/// # Errors
/// When the arrays would exceed `limit`, before they are allocated; when memory runs out, or the device fails.
pub(crate) fn from_csr<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: &Csr<T, K::Memory>,
    split: HybSplit,
    limit: FillLimit,
) -> Result<Hyb<T, K::Memory>, Error> {
    let (rows, columns) = (matrix.rows(), matrix.columns());
    let width = split.width_of::<T, _>(&Lengths { executor, lengths: &row_lengths(executor, matrix, 0)? })?;
    let later = row_lengths(executor, matrix, width as u32)?;
    let scan = Scan::new(executor, &later)?;
    let stored = scan.total() as usize;
    limit.check("HYB", ell_bytes::<T>(rows, width) + coo_bytes::<T>(stored), matrix.bytes())?;
    let later_offsets: Array<K, u64> = scan.offsets_of(1)?;
    drop(scan);
    drop(later);
    let ell = of_first_entries(executor, matrix, width, matrix.nnz() - stored)?;
    let row_indices = rows_of_entries(executor, &later_offsets, stored)?;
    let mut column_indices = executor.unwritten(stored)?;
    let mut values = executor.unwritten(stored)?;
    each_width!(matrix.row_offsets(), row_offsets => {
        let kernel = LaterFromCsr {
            later: stored as u64,
            row_offsets: row_offsets.global(),
            later_offsets: later_offsets.global(),
            row_indices: row_indices.global(),
            column_indices: matrix.column_indices().global(),
            values: matrix.values().global(),
            new_column_indices: column_indices.global_mut(),
            new_values: values.global_mut(),
        };
        // SAFETY: the matrix is valid, and the offsets and rows are those of the last entries of its rows.
        unsafe { launch(executor, executor.device().grid(stored as u64), kernel) }
    })?;
    Ok(Hyb { ell, coo: Coo { rows, columns, stored, row_indices, column_indices, values } })
}

/// Converts the matrix to CSR. The workspace is 8 bytes per row, and 12 more before the entries are allocated.
///
/// # Errors
/// When memory runs out, or the device fails.
pub(crate) fn into_csr<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: Hyb<T, K::Memory>,
) -> Result<Csr<T, K::Memory>, Error> {
    let (rows, columns, stored) = (matrix.rows(), matrix.columns(), matrix.nnz());
    let Hyb { ell, coo } = matrix;
    let later_offsets: Array<K, u64> = begins_of_rows(executor, rows, &coo.row_indices)?;
    with_slice(executor, rows, ell.stride, ell.width, |slice| {
        let lengths = slice.row_lengths(executor, &ell.column_indices)?;
        let first_offsets = Scan::new(executor, &lengths)?.offsets_of(1)?;
        drop(lengths);
        let row_offsets = match Offsets::width_for(stored as u128) {
            4 => Offsets::Narrow(sums(executor, &first_offsets, &later_offsets)?),
            _ => Offsets::Wide(sums(executor, &first_offsets, &later_offsets)?),
        };
        drop(first_offsets);
        let mut entries = Places { column_indices: executor.unwritten(stored)?, values: executor.unwritten(stored)? };
        let places = Places { column_indices: ell.column_indices, values: ell.values };
        slice.empty(executor, &places, &row_offsets, &mut entries)?;
        let Places { mut column_indices, mut values } = entries;
        each_width!(&row_offsets, offsets => {
            let kernel = CsrFromLater {
                later: coo.stored as u64,
                row_offsets: offsets.global(),
                later_offsets: later_offsets.global(),
                row_indices: coo.row_indices.global(),
                column_indices: coo.column_indices.global(),
                values: coo.values.global(),
                new_column_indices: column_indices.global_mut(),
                new_values: values.global_mut(),
            };
            // SAFETY: each row has room for the entries of both parts, and those of the COO part are its last.
            unsafe { launch(executor, executor.device().grid(coo.stored as u64), kernel) }
        })?;
        Ok(Csr { rows, columns, stored, row_offsets, column_indices, values })
    })
}

/// Returns the element-wise sums of two arrays of offsets. They must fit.
fn sums<K: KernelExecutor, O: gpu_kernels::Offset + crate::memory::Element>(
    executor: &K,
    one: &Array<K, u64>,
    other: &Array<K, u64>,
) -> Result<Array<K, O>, Error> {
    let mut sums = executor.unwritten(one.len())?;
    let count = one.len() as u32;
    let kernel = AddOffsets { count, one: one.global(), other: other.global(), sums: sums.global_mut() };
    // SAFETY: both arrays have one offset per row and one more.
    unsafe { launch(executor, executor.device().grid(count.into()), kernel) }?;
    Ok(sums)
}
