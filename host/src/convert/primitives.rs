//! Common parts of conversions: launches over rows and entries, scans, and numbers that the host needs for allocations.
//! Only one number per array is copied back to the host.

use cuda_std::Global;
use cuda_std::launch::{Grid, Kernel, Launch};
use gpu_kernels::Offset;
use gpu_kernels::convert::rows::{RowLengths, UnsortedRows};
use gpu_kernels::scan::{Largest, ScanIntervals, ScanOffsets, ScanSums};

use super::width::each_width;
use crate::device::with_shared_for_each_warp;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::{Csr, Offsets};
use crate::memory::{Buffer, Element, Memory};
use crate::real::Scalar;
use crate::spmv::Intervals;

/// An array in the memory of executor `K`.
pub type Array<K, T> = <<K as crate::executor::Executor>::Memory as Memory>::Buffer<T>;

/// Runs a kernel.
///
/// # Safety
/// As for [`KernelExecutor::launch`].
pub unsafe fn launch<K: KernelExecutor>(executor: &K, grid: Grid, kernel: impl Kernel + 'static) -> Result<(), Error> {
    // SAFETY: the caller's promise.
    unsafe { executor.launch(&Launch::new(grid, kernel)) }
}

/// Returns the only element of an array.
pub fn one_number<K: KernelExecutor, T: Element>(executor: &K, array: &Array<K, T>) -> Result<T, Error> {
    Ok(executor.download(array)?.first().copied().unwrap_or_default())
}

/// A scan that has computed the sum of all counts: memory for its result can now be allocated. Takes 8 bytes per block.
pub struct Scan<'a, K: KernelExecutor> {
    executor: &'a K,
    counts: &'a Array<K, u32>,
    grid: Grid,
    /// Counts per block.
    interval: u32,
    /// Sum of all counts before each interval.
    sums: Array<K, u64>,
    total: u64,
}

impl<'a, K: KernelExecutor> Scan<'a, K> {
    /// Sums the counts.
    ///
    /// # Errors
    /// When there are 2^32 counts or more, or the device fails.
    pub fn new(executor: &'a K, counts: &'a Array<K, u32>) -> Result<Self, Error> {
        let (scan, total) = Self::queue(executor, counts)?;
        Ok(Self { total: one_number(executor, &total)?, ..scan })
    }

    /// Queues a scan; returns it with 0 as the sum of all counts, and separately that sum, without waiting for it.
    ///
    /// # Errors
    /// When there are 2^32 counts or more, or the device fails.
    pub(crate) fn queue(executor: &'a K, counts: &'a Array<K, u32>) -> Result<(Self, Array<K, u64>), Error> {
        let (value, limit) = (counts.len() as u128, u32::MAX.into());
        let count = u32::try_from(counts.len()).map_err(|_| Error::TooLarge {
            what: "number of counts of a conversion",
            value,
            limit,
        })?;
        let grid = with_shared_for_each_warp(executor.device().grid(count.into()), 8);
        let interval = count.div_ceil(grid.blocks.max(1));
        let mut sums = executor.unwritten(grid.blocks as usize)?;
        let mut total = executor.unwritten(1)?;
        // SAFETY: the arrays are as long as the kernels ask for, and the grid has the shared memory.
        unsafe {
            let kernel = ScanIntervals { count, interval, counts: counts.global(), sums: sums.global_mut() };
            launch(executor, grid, kernel)?;
            let kernel = ScanSums { count: grid.blocks, sums: sums.global_mut(), total: total.global_mut() };
            launch(executor, Grid { blocks: 1, ..grid }, kernel)?;
        }
        Ok((Self { executor, counts, grid, interval, sums, total: 0 }, total))
    }

    /// Returns the sum of all counts.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the sum of all counts before each count and, last, of all counts, each times `unit`. They must fit.
    pub fn offsets_of<O: Offset + Element>(&self, unit: u32) -> Result<Array<K, O>, Error> {
        let Self { executor, counts, grid, interval, ref sums, .. } = *self;
        if counts.is_empty() {
            return executor.zeros(1);
        }
        let mut offsets = executor.unwritten(counts.len() + 1)?;
        let kernel = ScanOffsets {
            count: counts.len() as u32,
            interval,
            unit,
            counts: counts.global(),
            sums: sums.global(),
            offsets: offsets.global_mut(),
        };
        // SAFETY: the arrays are as long as the kernel asks for, and the grid is that of the sums.
        unsafe { launch(executor, grid, kernel) }?;
        Ok(offsets)
    }

    /// Returns the scan if the counts are the lengths of rows that hold all `stored` entries of a matrix.
    ///
    /// # Errors
    /// When they are not: a count has 32 bits, and wraps around beyond them.
    pub fn of_all(self, stored: usize) -> Result<Self, Error> {
        if self.total != stored as u64 {
            let reason = format!(
                "the rows counted on the device have {} entries in total, expected {stored}; no row may have 2^32 entries",
                self.total
            );
            return Err(Error::Structure { format: "CSR", reason });
        }
        Ok(self)
    }

    /// Same as [`offsets_of`](Self::offsets_of), in as many bits as they need.
    pub fn offsets(&self, unit: u32) -> Result<Offsets<K::Memory>, Error> {
        Ok(match Offsets::width_for(u128::from(self.total) * u128::from(unit)) {
            4 => Offsets::Narrow(self.offsets_of(unit)?),
            _ => Offsets::Wide(self.offsets_of(unit)?),
        })
    }
}

/// Returns the largest of some values; 0 if there are none. Takes 4 bytes per block.
pub fn largest<K: KernelExecutor>(executor: &K, values: &Array<K, u32>) -> Result<u32, Error> {
    let count = values.len() as u32;
    let grid = with_shared_for_each_warp(executor.device().grid(count.into()), 8);
    let mut of_blocks = executor.unwritten(grid.blocks as usize)?;
    // SAFETY: the arrays are as long as the kernel asks for, and the grid has the shared memory.
    unsafe { launch(executor, grid, Largest { count, values: values.global(), results: of_blocks.global_mut() }) }?;
    one_number(executor, &largest_of_few(executor, &of_blocks)?)
}

/// Same as [`largest`], for as many values as one block can process, as an array of one element.
fn largest_of_few<K: KernelExecutor>(executor: &K, values: &Array<K, u32>) -> Result<Array<K, u32>, Error> {
    let device = executor.device();
    let grid = Grid { blocks: 1, ..with_shared_for_each_warp(device.grid(1), 8) };
    let mut result = executor.unwritten(1)?;
    let kernel = Largest { count: values.len() as u32, values: values.global(), results: result.global_mut() };
    // SAFETY: `count` is the length of `values`, `result` has the element for the grid's only block, and there are 8
    // bytes of shared memory per warp, where the kernel asks for 4.
    unsafe { launch(executor, grid, kernel) }?;
    Ok(result)
}

/// Returns the number of entries of each row after the first `skipped`; [`u32::MAX`] for that many or more.
pub(crate) fn row_lengths<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: &Csr<T, K::Memory>,
    skipped: u32,
) -> Result<Array<K, u32>, Error> {
    each_width!(matrix.row_offsets(), offsets => {
        // SAFETY: the matrix is valid.
        unsafe { lengths_of_rows(executor, matrix.rows() as u32, offsets.global(), skipped) }
    })
}

/// Same as [`row_lengths`], for the offsets of a matrix.
///
/// # Safety
/// They are those of a valid matrix with `rows` rows.
pub(crate) unsafe fn lengths_of_rows<K: KernelExecutor, O: Offset>(
    executor: &K,
    rows: u32,
    row_offsets: Global<O>,
    skipped: u32,
) -> Result<Array<K, u32>, Error> {
    let mut lengths = executor.unwritten(rows as usize)?;
    let kernel = RowLengths { rows, skipped, row_offsets, lengths: lengths.global_mut() };
    // SAFETY: there is a length for each row; the rest is the caller's promise.
    unsafe { launch(executor, executor.device().grid(rows.into()), kernel) }?;
    Ok(lengths)
}

/// Returns the number of entries of the longest row; 0 if there are no rows. Takes 4 bytes per row.
///
/// # Errors
/// When it does not fit 32 bits, memory runs out, or the device fails.
pub(crate) fn longest_row<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: &Csr<T, K::Memory>,
) -> Result<u32, Error> {
    match largest(executor, &row_lengths(executor, matrix, 0)?)? {
        // The kernel reports every longer row the same way.
        u32::MAX => {
            let longest = match matrix.row_offsets() {
                Offsets::Narrow(_) => u32::MAX.into(),
                Offsets::Wide(offsets) => {
                    let offsets = executor.download(offsets)?;
                    offsets.windows(2).map(|row| row[1] - row[0]).max().unwrap_or(0)
                }
            };
            let limit = u128::from(u32::MAX) - 1;
            Err(Error::TooLarge { what: "number of entries of a row", value: longest.into(), limit })
        }
        longest => Ok(longest),
    }
}

/// Returns whether the entries of each row are in the order of their columns. Takes 4 bytes per block.
pub(crate) fn rows_sorted<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: &Csr<T, K::Memory>,
) -> Result<bool, Error> {
    columns_ascend(executor, matrix, 0)
}

/// Returns whether each entry's column exceeds that of the entry before it in its row by at least `step`, 0 or 1. Takes
/// 4 bytes per block.
pub(crate) fn columns_ascend<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: &Csr<T, K::Memory>,
    step: u32,
) -> Result<bool, Error> {
    Ok(one_number(executor, &queue_columns_ascend(executor, matrix, step)?)? == 0)
}

/// Queues [`columns_ascend`] without waiting for it; returns an array that will hold 0 if they do.
pub(crate) fn queue_columns_ascend<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: &Csr<T, K::Memory>,
    step: u32,
) -> Result<Array<K, u32>, Error> {
    let nnz = matrix.nnz() as u64;
    let intervals = Intervals::new(nnz, executor.device());
    let grid = with_shared_for_each_warp(intervals.grid(executor.device()), 8);
    let mut results = executor.unwritten(grid.blocks as usize)?;
    each_width!(matrix.row_offsets(), offsets => {
        let kernel = UnsortedRows {
            rows: matrix.rows() as u32,
            nnz,
            interval: intervals.length,
            step,
            row_offsets: offsets.global(),
            column_indices: matrix.column_indices().global(),
            results: results.global_mut(),
        };
        // SAFETY: the matrix is valid, `results` has an element for each block, and the grid has the shared memory.
        unsafe { launch(executor, grid, kernel) }
    })?;
    largest_of_few(executor, &results)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Tuning;
    use crate::executor::Emulated;

    #[test]
    fn scans_are_sums_of_all_before() {
        for (multiprocessors, threads_per_block) in [(2, 32), (2, 64), (3, 32), (40, 32)] {
            let executor =
                Emulated::with_size(1, multiprocessors, 128, Tuning::new(threads_per_block, 1).unwrap()).unwrap();
            for count in [0, 1, 31, 32, 33, 127, 128, 129, 400, 1000, 5000] {
                // Sums beyond 32 bits.
                let counts: Vec<u32> = (0..count).map(|place| u32::MAX - place * 77_777).collect();
                let mut sums = vec![0u64];
                sums.extend(counts.iter().scan(0, |sum, &count| {
                    *sum += u64::from(count);
                    Some(*sum)
                }));
                let scan = Scan::new(&executor, &counts).unwrap();
                assert_eq!(scan.total(), *sums.last().unwrap());
                assert_eq!(scan.offsets_of::<u64>(1).unwrap(), sums);
                let times_32: Vec<u64> = sums.iter().map(|sum| 32 * sum).collect();
                assert_eq!(scan.offsets_of::<u64>(32).unwrap(), times_32);
                assert_eq!(largest(&executor, &counts).unwrap(), counts.iter().copied().max().unwrap_or(0));
            }
        }
    }

    #[test]
    fn offsets_are_as_wide_as_they_must_be() {
        let executor = Emulated::new(1);
        for (counts, unit, width) in [
            (vec![], 1, 4),
            (vec![7, 0, 9], 1, 4),
            (vec![u32::MAX - (1 << 16)], 1, 4),
            (vec![u32::MAX - (1 << 16), 1], 1, 8),
            (vec![1 << 20, 1 << 20], 16, 4),
            (vec![1 << 27], 32, 8),
        ] {
            assert_eq!(Scan::new(&executor, &counts).unwrap().offsets(unit).unwrap().width(), width, "{counts:?}");
        }
    }

    #[test]
    fn one_entry_out_of_order_is_found() {
        let executor = Emulated::new(1);
        let rows = |columns: Vec<u32>| {
            let values = vec![1.0; columns.len()];
            Csr::<f64>::try_new(4, 1000, vec![0u32, 3, 3, 700, 702], columns, values).unwrap()
        };
        let mut columns: Vec<u32> = [0, 500, 500].into_iter().chain(0..697).chain([0, 5]).collect();
        assert!(rows_sorted(&executor, &rows(columns.clone())).unwrap());
        columns.swap(639, 640);
        assert!(!rows_sorted(&executor, &rows(columns)).unwrap());
    }
}
