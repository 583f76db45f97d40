//! CSR to SELL-16 and back.

use gpu_kernels::convert::sell_16::{CsrFromSell16, Sell16FromCsr, Sell16RowLengths, Sell16Widths};

use super::{ROWS as SLICE_ROWS, check_row_length, sell_16_bytes};
use crate::convert::primitives::{Scan, largest, launch, row_lengths};
use crate::convert::width::each_width;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::{Csr, FillLimit, Sell16};
use crate::memory::Buffer;
use crate::real::Scalar;

/// Lanes of the warp that processes a slice.
const LANES: usize = SLICE_ROWS / 2;

/// Converts `matrix` to SELL-16. The workspace is 4 bytes per row, freed before the new arrays are allocated.
///
/// # Errors
/// When a row has 2^26 entries or more; when the arrays would exceed `limit`, before they are allocated; when memory
/// runs out, or the device fails.
pub(crate) fn from_csr<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: &Csr<T, K::Memory>,
    limit: FillLimit,
) -> Result<Sell16<T, K::Memory>, Error> {
    let (rows, columns, stored) = (matrix.rows(), matrix.columns(), matrix.nnz());
    check_row_length(largest(executor, &row_lengths(executor, matrix, 0)?)? as usize)?;
    let slices = rows.div_ceil(SLICE_ROWS);
    let grid = executor.device().grid((slices * LANES) as u64);
    let mut widths = executor.unwritten(slices)?;
    each_width!(matrix.row_offsets(), offsets => {
        let kernel = Sell16Widths {
            rows: rows as u32,
            row_offsets: offsets.global(),
            column_indices: matrix.column_indices().global(),
            widths: widths.global_mut(),
        };
        // SAFETY: the matrix is valid, its rows are short enough, and there is an element per slice.
        unsafe { launch(executor, grid, kernel) }
    })?;
    let scan = Scan::new(executor, &widths)?;
    let bytes = sell_16_bytes::<T>(rows, scan.total().into());
    limit.check("SELL-16", bytes, matrix.bytes())?;
    let width = usize::try_from(scan.total()).ok().filter(|width| width.checked_mul(SLICE_ROWS).is_some());
    let width = width.ok_or(Error::OutOfMemory { what: "a SELL-16 matrix", bytes })?;
    let slice_begins = scan.offsets_of(1)?;
    drop(scan);
    drop(widths);
    let mut bases = executor.unwritten(width)?;
    let mut column_offsets = executor.unwritten(width * LANES)?;
    let mut values = executor.unwritten(width * SLICE_ROWS)?;
    each_width!(matrix.row_offsets(), offsets => {
        let kernel = Sell16FromCsr {
            rows: rows as u32,
            row_offsets: offsets.global(),
            column_indices: matrix.column_indices().global(),
            values: matrix.values().global(),
            slice_begins: slice_begins.global(),
            bases: bases.global_mut(),
            column_offsets: column_offsets.global_mut(),
            new_values: values.global_mut(),
        };
        // SAFETY: the matrix is valid, and no row has 2^26 entries, so no slice of 64 has 2^32. `width` is the sum of
        // the widths accumulated in `slice_begins`: the new arrays have a base, 32 words and 64 values for each of that
        // many columns.
        unsafe { launch(executor, grid, kernel) }
    })?;
    Ok(Sell16 { rows, columns, stored, slice_begins, bases, column_offsets, values })
}

/// Converts the matrix to CSR. The workspace is 4 bytes per row, before the entries are allocated.
///
/// # Errors
/// When memory runs out, or the device fails.
pub(crate) fn into_csr<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: Sell16<T, K::Memory>,
) -> Result<Csr<T, K::Memory>, Error> {
    let Sell16 { rows, columns, stored, slice_begins, bases, column_offsets, values } = matrix;
    let grid = executor.device().grid((rows.div_ceil(SLICE_ROWS) * LANES) as u64);
    let mut lengths = executor.unwritten(rows)?;
    let kernel = Sell16RowLengths {
        rows: rows as u32,
        slice_begins: slice_begins.global(),
        column_offsets: column_offsets.global(),
        lengths: lengths.global_mut(),
    };
    // SAFETY: the arrays are those of a valid matrix.
    unsafe { launch(executor, grid, kernel) }?;
    let row_offsets = Scan::new(executor, &lengths)?.offsets(1)?;
    drop(lengths);
    let mut column_indices = executor.unwritten(stored)?;
    let mut new_values = executor.unwritten(stored)?;
    each_width!(&row_offsets, offsets => {
        let kernel = CsrFromSell16 {
            rows: rows as u32,
            slice_begins: slice_begins.global(),
            bases: bases.global(),
            column_offsets: column_offsets.global(),
            values: values.global(),
            row_offsets: offsets.global(),
            new_column_indices: column_indices.global_mut(),
            new_values: new_values.global_mut(),
        };
        // SAFETY: the matrix is valid. The row offsets are the sums of the lengths counted in its own slots, which add
        // up to `stored`, the length of the new arrays: each row has room from its offset on.
        unsafe { launch(executor, grid, kernel) }
    })?;
    Ok(Csr { rows, columns, stored, row_offsets, column_indices, values: new_values })
}
