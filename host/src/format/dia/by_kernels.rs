//! CSR to DIA and back.

use gpu_kernels::convert::dia::{CsrFromDia, DIAGONALS_AT_ONCE, DiaCounts, DiaFromCsr, DiaOccupied, DiaOffsets};

use crate::convert::places::Filled;
use crate::convert::primitives::{Array, Scan, launch};
use crate::convert::sort::sorted;
use crate::convert::width::{each_width, same_width};
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::{Csr, Dia, FillLimit, Offsets, dia_bytes, dia_stride};
use crate::memory::Buffer;
use crate::real::Scalar;
use crate::spmv::Intervals;

/// Converts `matrix` to DIA. Takes 8 bytes per row and per column and, if rows are not sorted, a second copy of the
/// entries.
///
/// # Errors
/// When the arrays would exceed `limit`, memory runs out, or the device fails.
pub(crate) fn from_csr<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: Csr<T, K::Memory>,
    limit: FillLimit,
) -> Result<Dia<T, K::Memory>, Error> {
    let (rows, columns) = (matrix.rows(), matrix.columns());
    let offsets = occupied_diagonals(executor, &matrix, limit)?;
    let diagonals = offsets.len();
    let matrix = sorted(executor, matrix)?;
    let (stride, bytes) = (dia_stride(rows), dia_bytes::<T>(rows, diagonals));
    let places = stride.checked_mul(diagonals).ok_or(Error::OutOfMemory { what: "a DIA matrix", bytes })?;
    let mut values = executor.unwritten(places)?;
    let grid = executor.device().grid(stride as u64 * parts(diagonals) as u64);
    let mut filled = Filled::new(executor, grid)?;
    each_width!(matrix.row_offsets(), row_offsets => {
        let kernel = DiaFromCsr {
            rows: rows as u32,
            row_offsets: row_offsets.global(),
            column_indices: matrix.column_indices().global(),
            entries: matrix.values().global(),
            stride: stride as u32,
            diagonals: diagonals as u32,
            offsets: offsets.global(),
            values: values.global_mut(),
            counts: filled.counts.global_mut(),
        };
        // SAFETY: the matrix is valid and sorted, the diagonals are all that it occupies, there is a slot for each row
        // on each of them, and a count for each warp.
        unsafe { launch(executor, grid, kernel) }
    })?;
    Ok(Dia { rows, columns, stored: filled.total()?, stride, diagonals, offsets, values })
}

/// Returns column minus row of each diagonal that holds an entry, in order; or an error if their number exceeds
/// `limit`.
fn occupied_diagonals<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: &Csr<T, K::Memory>,
    limit: FillLimit,
) -> Result<Array<K, i32>, Error> {
    let occupied = occupied(executor, matrix)?;
    let scan = Scan::new(executor, &occupied)?;
    // At most the number of flags, which fits 32 bits.
    let diagonals = scan.total() as usize;
    limit.check("DIA", dia_bytes::<T>(matrix.rows(), diagonals), matrix.bytes())?;
    let numbers: Array<K, u32> = scan.offsets_of(1)?;
    let mut offsets = executor.unwritten(diagonals)?;
    let (rows, count) = (matrix.rows() as u32, occupied.len() as u32);
    let kernel = DiaOffsets { rows, count, numbers: numbers.global(), offsets: offsets.global_mut() };
    // SAFETY: the numbers are those of `count` diagonals, and the last one is the number of offsets.
    unsafe { launch(executor, executor.device().grid(count.into()), kernel) }?;
    Ok(offsets)
}

/// Returns the number of diagonals that hold an entry. Takes 4 bytes per row and per column.
pub(crate) fn number_of_diagonals<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: &Csr<T, K::Memory>,
) -> Result<usize, Error> {
    Ok(Scan::new(executor, &occupied(executor, matrix)?)?.total() as usize)
}

/// Returns a flag for each diagonal, in order: 1 if it holds an entry, or else 0.
fn occupied<T: Scalar, K: KernelExecutor>(executor: &K, matrix: &Csr<T, K::Memory>) -> Result<Array<K, u32>, Error> {
    let (rows, nnz) = (matrix.rows() as u32, matrix.nnz() as u64);
    let mut occupied = executor.zeros(matrix.rows().saturating_sub(1) + matrix.columns())?;
    let intervals = Intervals::new(nnz, executor.device());
    each_width!(matrix.row_offsets(), row_offsets => {
        let kernel = DiaOccupied {
            rows,
            nnz,
            interval: intervals.length,
            row_offsets: row_offsets.global(),
            column_indices: matrix.column_indices().global(),
            occupied: occupied.global_mut(),
        };
        // SAFETY: the matrix is valid, and there is a flag for each of its diagonals.
        unsafe { launch(executor, intervals.grid(executor.device()), kernel) }
    })?;
    Ok(occupied)
}

/// Returns the number of parts of a row.
fn parts(diagonals: usize) -> usize {
    diagonals.div_ceil(DIAGONALS_AT_ONCE as usize)
}

/// Converts the matrix to CSR. Takes 8 bytes (12 from about 2^32 entries on) per row and 64 diagonals.
///
/// # Errors
/// When memory runs out, or the device fails.
pub(crate) fn into_csr<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: Dia<T, K::Memory>,
) -> Result<Csr<T, K::Memory>, Error> {
    let Dia { rows, columns, stored, stride, diagonals, offsets, values } = matrix;
    let mut column_indices = executor.unwritten(stored)?;
    let mut entries = executor.unwritten(stored)?;
    if diagonals == 0 {
        let row_offsets = Offsets::Narrow(executor.zeros(rows + 1)?);
        return Ok(Csr { rows, columns, stored, row_offsets, column_indices, values: entries });
    }
    let [kernel_rows, kernel_stride, kernel_diagonals] = [rows, stride, diagonals].map(|number| number as u32);
    let grid = executor.device().grid(rows as u64 * parts(diagonals) as u64);
    let mut counts = executor.unwritten(rows * parts(diagonals))?;
    let kernel = DiaCounts {
        rows: kernel_rows,
        stride: kernel_stride,
        diagonals: kernel_diagonals,
        values: values.global(),
        counts: counts.global_mut(),
    };
    // SAFETY: the matrix is valid, and there is a count for each row and part.
    unsafe { launch(executor, grid, kernel) }?;
    let begins = Scan::new(executor, &counts)?.offsets(1)?;
    drop(counts);
    let row_offsets = same_width!(&begins, begins => {
        let mut row_offsets = executor.unwritten(rows + 1)?;
        let kernel = CsrFromDia {
            rows: kernel_rows,
            stride: kernel_stride,
            diagonals: kernel_diagonals,
            offsets: offsets.global(),
            values: values.global(),
            begins: begins.global(),
            row_offsets: row_offsets.global_mut(),
            column_indices: column_indices.global_mut(),
            entries: entries.global_mut(),
        };
        // SAFETY: the matrix is valid and has a diagonal, and `begins` are the sums of the counts of all rows and
        // parts. They add up to `stored`, the length of the new arrays, and there are rows + 1 offsets.
        unsafe { launch(executor, grid, kernel) }?;
        row_offsets
    });
    Ok(Csr { rows, columns, stored, row_offsets, column_indices, values: entries })
}
