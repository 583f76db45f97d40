//! CSR to padded CMRS and back.

use gpu_kernels::cmrs::{MOST_COLUMNS, PADDED_HEIGHT};
use gpu_kernels::convert::cmrs_padded::{CsrFromPadded, PaddedFromCsr, PaddedRowLengths, PaddedSteps};

use crate::convert::primitives::{Scan, launch};
use crate::convert::width::each_width;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::{CmrsPadded, Csr, FillLimit, check_columns, padded_bytes_of_places};
use crate::memory::Buffer;
use crate::real::Scalar;
use crate::spmv::Intervals;

/// Entries that a warp takes per step.
const STEP: u32 = 32;

/// Converts `matrix` to padded CMRS. The workspace is 4 bytes per strip of 16 rows.
///
/// # Errors
/// When there are 2^28 columns or more; when the arrays would exceed `limit`, before they are allocated; when memory
/// runs out, or the device fails.
pub fn from_csr<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: &Csr<T, K::Memory>,
    limit: FillLimit,
) -> Result<CmrsPadded<T, K::Memory>, Error> {
    check_columns(matrix.columns(), MOST_COLUMNS - 1)?;
    let (rows, columns, stored) = (matrix.rows(), matrix.columns(), matrix.nnz());
    let strips = rows.div_ceil(PADDED_HEIGHT as usize);
    let mut steps = executor.unwritten(strips)?;
    each_width!(matrix.row_offsets(), offsets => {
        let kernel = PaddedSteps {
            rows: rows as u32,
            strips: strips as u32,
            row_offsets: offsets.global(),
            steps: steps.global_mut(),
        };
        // SAFETY: the matrix is valid, and there is an element for each strip.
        unsafe { launch(executor, executor.device().grid(strips as u64), kernel) }
    })?;
    let scan = Scan::new(executor, &steps)?;
    let places = u128::from(scan.total()) * u128::from(STEP);
    let bytes = padded_bytes_of_places::<T>(rows, places);
    limit.check("padded CMRS", bytes, matrix.bytes())?;
    let places = usize::try_from(places).map_err(|_| Error::OutOfMemory { what: "a padded CMRS matrix", bytes })?;
    let strip_offsets = scan.offsets(STEP)?;
    drop(scan);
    drop(steps);
    let mut words = executor.unwritten(places)?;
    let mut values = executor.unwritten(places)?;
    let intervals = Intervals::new(places as u64, executor.device());
    each_width!(matrix.row_offsets(), row_offsets => each_width!(&strip_offsets, strip_offsets => {
        let kernel = PaddedFromCsr {
            rows: rows as u32,
            strips: strips as u32,
            places: places as u64,
            interval: intervals.length,
            row_offsets: row_offsets.global(),
            column_indices: matrix.column_indices().global(),
            values: matrix.values().global(),
            strip_offsets: strip_offsets.global(),
            words: words.global_mut(),
            new_values: values.global_mut(),
        };
        // SAFETY: the matrix is valid, its columns were checked, and the strips have the slots that its rows need.
        unsafe { launch(executor, intervals.grid(executor.device()), kernel) }
    }))?;
    Ok(CmrsPadded { rows, columns, stored, strip_offsets, words, values })
}

/// Converts the matrix to CSR. The workspace is 4 bytes per row, before the entries are allocated.
///
/// # Errors
/// When memory runs out, or the device fails.
pub(crate) fn into_csr<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: CmrsPadded<T, K::Memory>,
) -> Result<Csr<T, K::Memory>, Error> {
    let CmrsPadded { rows, columns, stored, strip_offsets, words, values: old_values } = matrix;
    let strips = rows.div_ceil(PADDED_HEIGHT as usize);
    let mut lengths = executor.unwritten(rows)?;
    each_width!(&strip_offsets, strip_offsets => {
        let kernel = PaddedRowLengths {
            rows: rows as u32,
            strip_offsets: strip_offsets.global(),
            words: words.global(),
            lengths: lengths.global_mut(),
        };
        // SAFETY: the matrix is valid, and there is a length for each row.
        unsafe { launch(executor, executor.device().grid(rows as u64), kernel) }
    })?;
    let row_offsets = Scan::new(executor, &lengths)?.of_all(stored)?.offsets(1)?;
    drop(lengths);
    let mut column_indices = executor.unwritten(stored)?;
    let mut values = executor.unwritten(stored)?;
    let intervals = Intervals::new(words.len() as u64, executor.device());
    each_width!(&row_offsets, row_offsets => each_width!(&strip_offsets, strip_offsets => {
        let kernel = CsrFromPadded {
            strips: strips as u32,
            places: words.len() as u64,
            interval: intervals.length,
            strip_offsets: strip_offsets.global(),
            words: words.global(),
            values: old_values.global(),
            row_offsets: row_offsets.global(),
            column_indices: column_indices.global_mut(),
            new_values: values.global_mut(),
        };
        // SAFETY: the matrix is valid, and the offsets are the sums of the lengths counted in its own words, which add
        // up to the length of the new arrays; an interval is a multiple of 32, and there is a warp for each.
        unsafe { launch(executor, intervals.grid(executor.device()), kernel) }
    }))?;
    Ok(Csr { rows, columns, stored, row_offsets, column_indices, values })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Emulated;
    use crate::format::Offsets;

    /// A matrix that needs wide offsets would have 2^32 slots.
    #[test]
    fn strips_may_have_wide_offsets() {
        let offsets = Offsets::from_lengths((0..90).map(|row| row * 7 % 40)).unwrap();
        let stored = offsets.get(90);
        let columns = (0..stored as u32).map(|entry| entry * 7 % 50).collect();
        let values = (0..stored).map(|entry| entry as f64).collect();
        let csr = Csr::<f64>::try_new(90, 50, offsets, columns, values).unwrap();
        let mut matrix = CmrsPadded::try_from_csr(&csr, FillLimit::default()).unwrap();
        let strips = matrix.strip_offsets.len();
        matrix.strip_offsets = Offsets::Wide((0..strips).map(|strip| matrix.strip_offsets.get(strip) as u64).collect());
        assert!(into_csr(&Emulated::new(1), matrix.clone()).unwrap() == csr);

        // As if the length of a row had wrapped around.
        matrix.stored += 1;
        let error = into_csr(&Emulated::new(1), matrix).unwrap_err().to_string();
        assert!(error.contains(&format!("have {stored} entries in total, expected {}", stored + 1)), "{error}");
    }
}
