//! CSR to COO and back. Columns and values are reused.

use gpu_kernels::Offset;
use gpu_kernels::convert::coo::{CooFromCsr, CsrFromCoo};

use crate::convert::primitives::{Array, launch};
use crate::convert::width::each_width;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::{Coo, Csr, Offsets};
use crate::memory::{Buffer, Element};
use crate::real::Scalar;
use crate::spmv::Intervals;

/// Converts `matrix` to COO. Allocates only the row indices.
///
/// # Errors
/// When memory runs out, or the device fails.
pub(crate) fn from_csr<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: Csr<T, K::Memory>,
) -> Result<Coo<T, K::Memory>, Error> {
    let row_indices = row_indices(executor, &matrix)?;
    let Csr { rows, columns, stored, column_indices, values, .. } = matrix;
    Ok(Coo { rows, columns, stored, row_indices, column_indices, values })
}

/// Returns the row of each entry of `matrix`: the array of COO besides columns and values.
///
/// # Errors
/// When memory runs out, or the device fails.
pub fn row_indices<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: &Csr<T, K::Memory>,
) -> Result<Array<K, u32>, Error> {
    each_width!(matrix.row_offsets(), offsets => rows_of_entries(executor, offsets, matrix.nnz()))
}

/// Returns the row of each entry, given the row offsets.
pub(crate) fn rows_of_entries<K: KernelExecutor, O: Offset + Element>(
    executor: &K,
    row_offsets: &Array<K, O>,
    stored: usize,
) -> Result<Array<K, u32>, Error> {
    let mut row_indices = executor.unwritten(stored)?;
    let intervals = Intervals::new(stored as u64, executor.device());
    let kernel = CooFromCsr {
        rows: (row_offsets.len() - 1) as u32,
        nnz: stored as u64,
        interval: intervals.length,
        row_offsets: row_offsets.global(),
        row_indices: row_indices.global_mut(),
    };
    // SAFETY: the offsets are those of `stored` entries, by the caller, and there is a warp for each interval.
    unsafe { launch(executor, intervals.grid(executor.device()), kernel) }?;
    Ok(row_indices)
}

/// Converts the matrix to CSR. Allocates only the row offsets.
///
/// # Errors
/// When memory runs out, or the device fails.
pub(crate) fn into_csr<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: Coo<T, K::Memory>,
) -> Result<Csr<T, K::Memory>, Error> {
    let Coo { rows, columns, stored, row_indices, column_indices, values } = matrix;
    let row_offsets = match Offsets::width_for(stored as u128) {
        4 => Offsets::Narrow(begins_of_rows(executor, rows, &row_indices)?),
        _ => Offsets::Wide(begins_of_rows(executor, rows, &row_indices)?),
    };
    Ok(Csr { rows, columns, stored, row_offsets, column_indices, values })
}

/// Returns the row offsets, given the row of each entry. They must fit.
pub(crate) fn begins_of_rows<K: KernelExecutor, O: Offset + Element>(
    executor: &K,
    rows: usize,
    row_indices: &Array<K, u32>,
) -> Result<Array<K, O>, Error> {
    let mut row_offsets = executor.unwritten(rows + 1)?;
    let kernel = CsrFromCoo {
        rows: rows as u32,
        nnz: row_indices.len() as u64,
        row_indices: row_indices.global(),
        row_offsets: row_offsets.global_mut(),
    };
    // SAFETY: the row indices are those of a valid COO matrix, and there is one more offset than rows.
    unsafe { launch(executor, executor.device().grid(rows as u64 + 1), kernel) }?;
    Ok(row_offsets)
}
