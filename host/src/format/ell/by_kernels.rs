//! CSR to ELL and back.

use crate::convert::primitives::longest_row;
use crate::convert::sliced::{Places, Slices};
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::{Csr, Ell, FillLimit, ell_bytes, ell_stride};
use crate::real::Scalar;

/// Converts `matrix` to ELL. The workspace is 4 bytes per row, before anything else is allocated.
///
/// # Errors
/// When the arrays would exceed `limit`, before they are allocated; when memory runs out, or the device fails.
pub(crate) fn from_csr<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: &Csr<T, K::Memory>,
    limit: FillLimit,
) -> Result<Ell<T, K::Memory>, Error> {
    let width = longest_row(executor, matrix)? as usize;
    limit.check("ELL", ell_bytes::<T>(matrix.rows(), width), matrix.bytes())?;
    of_first_entries(executor, matrix, width, matrix.nnz())
}

/// Converts the first `width` entries of each row, `stored` in total.
pub(crate) fn of_first_entries<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: &Csr<T, K::Memory>,
    width: usize,
    stored: usize,
) -> Result<Ell<T, K::Memory>, Error> {
    let (rows, columns) = (matrix.rows(), matrix.columns());
    let stride = ell_stride(rows);
    let Places { column_indices, values } =
        with_slice(executor, rows, stride, width, |slice| slice.fill(executor, matrix))?;
    Ok(Ell { rows, columns, stored, stride, width, column_indices, values })
}

/// Converts the matrix to CSR. The workspace is 4 bytes per row, before the entries are allocated.
///
/// # Errors
/// When memory runs out, or the device fails.
pub(crate) fn into_csr<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: Ell<T, K::Memory>,
) -> Result<Csr<T, K::Memory>, Error> {
    let Ell { rows, columns, stored, stride, width, column_indices, values } = matrix;
    let places = Places { column_indices, values };
    with_slice(executor, rows, stride, width, |slice| slice.csr_of(executor, columns, stored, places))
}

/// Does `work` on an ELL matrix as a single slice of all rows.
pub(crate) fn with_slice<K: KernelExecutor, R>(
    executor: &K,
    rows: usize,
    stride: usize,
    width: usize,
    work: impl FnOnce(&Slices<'_, K>) -> Result<R, Error>,
) -> Result<R, Error> {
    let begins = executor.upload(vec![0, width as u64])?;
    let row_indices = executor.unwritten(0)?;
    // Without rows, there are no slots to go through.
    let columns = if rows == 0 { 0 } else { width as u64 };
    work(&Slices { rows, size: stride, begins: &begins, columns, row_indices: &row_indices })
}
