//! CSR to CMRS and back.

use gpu_kernels::Offset;
use gpu_kernels::cmrs::MOST_COLUMNS;
use gpu_kernels::convert::cmrs::{CmrsByColumn, CmrsRowLengths, CmrsWords, CsrFromCmrs, StripOffsets};

use crate::convert::primitives::{Array, Scan, launch};
use crate::convert::sort::sorted;
use crate::convert::width::each_width;
use crate::device::WARP_LANES;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::{Cmrs, Csr, Offsets, StripHeight, StripOrder, check_columns, check_height};
use crate::memory::{Buffer, Element, Memory};
use crate::real::Scalar;
use crate::spmv::Intervals;

/// Converts `matrix` to CMRS. In the order by row, columns and values are reused, and only the strip offsets are
/// allocated. The order by column takes a second copy of the entries, and the memory for sorting if the rows are not
/// sorted.
///
/// # Errors
/// When there are more than 2^28 columns ([`MOST_COLUMNS`]), memory runs out, or the device fails.
pub(crate) fn from_csr<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: Csr<T, K::Memory>,
    height: StripHeight,
    order: StripOrder,
) -> Result<Cmrs<T, K::Memory>, Error> {
    let height = height.rows::<T>(matrix.rows(), matrix.nnz());
    with_height(executor, matrix, height, order)
}

/// Converts `matrix` to CMRS with strips of any height from 1 to 16 rows.
///
/// # Errors
/// When the height is outside that range, there are more than 2^28 columns ([`MOST_COLUMNS`]), memory runs out, or the
/// device fails.
pub fn with_height<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: Csr<T, K::Memory>,
    height: usize,
    order: StripOrder,
) -> Result<Cmrs<T, K::Memory>, Error> {
    check_height(height)?;
    check_columns(matrix.columns(), MOST_COLUMNS)?;
    let matrix = match order {
        StripOrder::ByColumn => sorted(executor, matrix)?,
        StripOrder::ByRow => matrix,
    };
    let Csr { rows, columns, stored, row_offsets, column_indices, values } = matrix;
    let strips = Strips { rows, height, row_offsets: &row_offsets };
    let (words, values) = match order {
        StripOrder::ByColumn => by_column(executor, strips, &column_indices, &values)?,
        StripOrder::ByRow => (by_row(executor, strips, column_indices)?, values),
    };
    let strip_offsets = match Offsets::width_for(stored as u128) {
        4 => Offsets::Narrow(begins_of_strips(executor, rows, height, &row_offsets)?),
        _ => Offsets::Wide(begins_of_strips(executor, rows, height, &row_offsets)?),
    };
    Ok(Cmrs { rows, columns, stored, height, strip_offsets, words, values })
}

/// The rows of a valid matrix in CSR, and their number per strip.
#[derive(Clone, Copy)]
struct Strips<'a, M: Memory> {
    rows: usize,
    height: usize,
    row_offsets: &'a Offsets<M>,
}

/// Replaces the columns of the entries with words.
fn by_row<K: KernelExecutor>(
    executor: &K,
    strips: Strips<'_, K::Memory>,
    columns: Array<K, u32>,
) -> Result<Array<K, u32>, Error> {
    let mut words = if columns.is_borrowed() { executor.duplicate(&columns)? } else { columns };
    let intervals = Intervals::new(words.len() as u64, executor.device());
    each_width!(strips.row_offsets, offsets => {
        let kernel = CmrsWords {
            rows: strips.rows as u32,
            nnz: words.len() as u64,
            interval: intervals.length,
            height: strips.height as u32,
            row_offsets: offsets.global(),
            words: words.global_mut(),
        };
        // SAFETY: the matrix is valid, the columns and the height were checked, and there is a warp for each interval.
        unsafe { launch(executor, intervals.grid(executor.device()), kernel) }
    })?;
    Ok(words)
}

/// Words and values.
type Entries<K, T> = (Array<K, u32>, Array<K, T>);

/// Returns the entries with each strip ordered by column. The rows must be sorted.
fn by_column<T: Scalar, K: KernelExecutor>(
    executor: &K,
    strips: Strips<'_, K::Memory>,
    columns: &Array<K, u32>,
    values: &Array<K, T>,
) -> Result<Entries<K, T>, Error> {
    let stored = columns.len();
    let mut words = executor.unwritten(stored)?;
    let mut new_values = executor.unwritten(stored)?;
    let intervals = Intervals::new(stored as u64, executor.device());
    each_width!(strips.row_offsets, offsets => {
        let kernel = CmrsByColumn {
            rows: strips.rows as u32,
            nnz: stored as u64,
            interval: intervals.length,
            height: strips.height as u32,
            row_offsets: offsets.global(),
            column_indices: columns.global(),
            values: values.global(),
            words: words.global_mut(),
            new_values: new_values.global_mut(),
        };
        // SAFETY: the matrix is valid, its rows are sorted, and columns and height were checked, all by the caller. The
        // new arrays have `stored` elements, as the old ones do, and there is a warp for each interval.
        unsafe { launch(executor, intervals.grid(executor.device()), kernel) }
    })?;
    Ok((words, new_values))
}

/// Returns the strip offsets. They must fit.
fn begins_of_strips<K: KernelExecutor, P: Offset + Element>(
    executor: &K,
    rows: usize,
    height: usize,
    row_offsets: &Offsets<K::Memory>,
) -> Result<Array<K, P>, Error> {
    let strips = rows.div_ceil(height);
    let mut strip_offsets = executor.unwritten(strips + 1)?;
    each_width!(row_offsets, offsets => {
        let kernel = StripOffsets {
            rows: rows as u32,
            strips: strips as u32,
            height: height as u32,
            row_offsets: offsets.global(),
            strip_offsets: strip_offsets.global_mut(),
        };
        // SAFETY: the arrays are as long as the kernel asks for, and the height was checked.
        unsafe { launch(executor, executor.device().grid(strips as u64 + 1), kernel) }
    })?;
    Ok(strip_offsets)
}

/// Converts the matrix to CSR; the entries of a row keep their order in the strip. It takes a second copy of the
/// entries, and before that 4 bytes per row.
///
/// # Errors
/// When memory runs out, or the device fails.
pub fn into_csr<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: Cmrs<T, K::Memory>,
) -> Result<Csr<T, K::Memory>, Error> {
    let (rows, columns, stored) = (matrix.rows, matrix.columns, matrix.stored);
    // Offsets of rows are as wide as those of strips: both point into the same number of entries.
    let (row_offsets, column_indices, values) = match &matrix.strip_offsets {
        Offsets::Narrow(strips) => {
            let (offsets, columns, values) = row_by_row(executor, &matrix, strips)?;
            (Offsets::Narrow(offsets), columns, values)
        }
        Offsets::Wide(strips) => {
            let (offsets, columns, values) = row_by_row(executor, &matrix, strips)?;
            (Offsets::Wide(offsets), columns, values)
        }
    };
    Ok(Csr { rows, columns, stored, row_offsets, column_indices, values })
}

/// Row offsets, columns and values in CSR.
type Arrays<K, T, O> = (Array<K, O>, Array<K, u32>, Array<K, T>);

fn row_by_row<T: Scalar, K: KernelExecutor, O: Offset + Element>(
    executor: &K,
    matrix: &Cmrs<T, K::Memory>,
    strip_offsets: &Array<K, O>,
) -> Result<Arrays<K, T, O>, Error> {
    let (rows, height) = (matrix.rows as u32, matrix.height as u32);
    let grid = executor.device().grid((matrix.rows.div_ceil(matrix.height) * WARP_LANES) as u64);
    let mut lengths = executor.unwritten(matrix.rows)?;
    let kernel = CmrsRowLengths {
        rows,
        height,
        strip_offsets: strip_offsets.global(),
        words: matrix.words.global(),
        lengths: lengths.global_mut(),
    };
    // SAFETY: the matrix is valid, and there is a length for each row.
    unsafe { launch(executor, grid, kernel) }?;
    let row_offsets = Scan::new(executor, &lengths)?.of_all(matrix.stored)?.offsets_of(1)?;
    drop(lengths);
    let mut column_indices = executor.unwritten(matrix.stored)?;
    let mut values = executor.unwritten(matrix.stored)?;
    let kernel = CsrFromCmrs {
        rows,
        height,
        strip_offsets: strip_offsets.global(),
        words: matrix.words.global(),
        values: matrix.values.global(),
        row_offsets: row_offsets.global(),
        column_indices: column_indices.global_mut(),
        new_values: values.global_mut(),
    };
    // SAFETY: the matrix is valid, and the offsets are the sums of the lengths counted in its own words, which add up to
    // the length of the new arrays.
    unsafe { launch(executor, grid, kernel) }?;
    Ok((row_offsets, column_indices, values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Emulated;

    /// A matrix that needs wide offsets would have 2^32 slots.
    #[test]
    fn strips_may_have_wide_offsets() {
        let offsets = Offsets::from_lengths((0..90).map(|row| row * 7 % 40)).unwrap();
        let stored = offsets.get(90);
        let columns = (0..stored as u32).map(|entry| entry * 7 % 50).collect();
        let values = (0..stored).map(|entry| entry as f64).collect();
        let csr = Csr::<f64>::try_new(90, 50, offsets, columns, values).unwrap();
        let mut matrix = Cmrs::try_with_height(csr.clone(), 5, StripOrder::ByRow).unwrap();
        let strips = matrix.strip_offsets.len();
        matrix.strip_offsets = Offsets::Wide((0..strips).map(|strip| matrix.strip_offsets.get(strip) as u64).collect());
        assert!(into_csr(&Emulated::new(1), matrix.clone()).unwrap() == csr);

        // As if the length of a row had wrapped around.
        matrix.stored += 1;
        let error = into_csr(&Emulated::new(1), matrix).unwrap_err().to_string();
        assert!(error.contains(&format!("have {stored} entries in total, expected {}", stored + 1)), "{error}");
    }
}
