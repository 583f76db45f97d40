//! The dense blocks of a matrix with sorted rows: common parts of BCSR and BELLPACK.

use gpu_kernels::convert::block_rows::{CountBlocks, ListBlocks, ROW_LANES};
use gpu_kernels::convert::blocks::{CountMarkedBlocks, ListMarkedBlocks, MarkBlocks};

use super::primitives::{Array, Scan, largest, launch, row_lengths};
use super::width::each_width;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::{BlockSize, Csr};
use crate::memory::Buffer;
use crate::real::Scalar;
use crate::spmv::Intervals;

/// Entries per word of bits.
const WORD_BITS: usize = u32::BITS as usize;

/// Largest number of entries in a row for which rows are processed side by side: then the longest block row takes at
/// most a millisecond.
const LONGEST_ROW: u32 = 1024;

/// Blocks of a matrix with sorted rows.
pub(crate) struct Blocks<'a, T: Scalar, K: KernelExecutor> {
    executor: &'a K,
    matrix: &'a Csr<T, K::Memory>,
    size: BlockSize,
    /// Present if rows are long.
    marks: Option<Marks<K>>,
}

/// Which entries are the first of their block. Takes 12 bytes per 32 entries, and temporarily 4 more.
struct Marks<K: KernelExecutor> {
    /// A bit per entry.
    firsts: Array<K, u32>,
    /// Number of bits before each word.
    before: Array<K, u64>,
}

impl<'a, T: Scalar, K: KernelExecutor> Blocks<'a, T, K> {
    /// Finds the blocks of a matrix with sorted rows. Temporarily takes 4 bytes per row.
    pub fn new(executor: &'a K, matrix: &'a Csr<T, K::Memory>, size: BlockSize) -> Result<Self, Error> {
        let is_long = largest(executor, &row_lengths(executor, matrix, 0)?)? > LONGEST_ROW;
        Self::with_marks(executor, matrix, size, is_long)
    }

    fn with_marks(
        executor: &'a K,
        matrix: &'a Csr<T, K::Memory>,
        size: BlockSize,
        has_marks: bool,
    ) -> Result<Self, Error> {
        let marks = if has_marks { Some(Marks::new(executor, matrix, size)?) } else { None };
        Ok(Self { executor, matrix, size, marks })
    }

    /// Returns the number of blocks in each block row.
    pub fn lengths(&self) -> Result<Array<K, u32>, Error> {
        let Self { executor, matrix, size, marks } = self;
        let [rows, height, width] = [matrix.rows(), size.rows(), size.columns()].map(|number| number as u32);
        let block_rows = matrix.rows().div_ceil(size.rows());
        let mut lengths = executor.unwritten(block_rows)?;
        let grid = |lanes: u32| executor.device().grid(block_rows as u64 * u64::from(lanes));
        each_width!(matrix.row_offsets(), row_offsets => match marks {
            Some(Marks { firsts, before }) => {
                let kernel = CountMarkedBlocks {
                    rows,
                    height,
                    row_offsets: row_offsets.global(),
                    firsts: firsts.global(),
                    before: before.global(),
                    lengths: lengths.global_mut(),
                };
                // SAFETY: the bits are those of the matrix, and there is a length for each block row.
                unsafe { launch(*executor, grid(1), kernel) }
            }
            None => {
                let kernel = CountBlocks {
                    rows,
                    height,
                    width,
                    row_offsets: row_offsets.global(),
                    column_indices: matrix.column_indices().global(),
                    lengths: lengths.global_mut(),
                };
                // SAFETY: the matrix is valid and sorted, no block is higher than there are lanes, and there is a
                // length for each block row.
                unsafe { launch(*executor, grid(ROW_LANES), kernel) }
            }
        })?;
        Ok(lengths)
    }

    /// Returns the first column of each block, block row by block row, in the order of the columns. `begins` and
    /// `total` are the numbers of blocks before each block row, and of all.
    pub fn first_columns(&self, begins: &Array<K, u64>, total: u64) -> Result<Array<K, u32>, Error> {
        let Self { executor, matrix, size, marks } = self;
        let [rows, height, width] = [matrix.rows(), size.rows(), size.columns()].map(|number| number as u32);
        let mut first_columns = executor.unwritten(total as usize)?;
        each_width!(matrix.row_offsets(), row_offsets => match marks {
            Some(Marks { firsts, before }) => {
                let intervals = Intervals::new(matrix.nnz() as u64, executor.device());
                let kernel = ListMarkedBlocks {
                    rows,
                    nnz: matrix.nnz() as u64,
                    interval: intervals.length,
                    height,
                    width,
                    row_offsets: row_offsets.global(),
                    column_indices: matrix.column_indices().global(),
                    firsts: firsts.global(),
                    before: before.global(),
                    first_columns: first_columns.global_mut(),
                };
                // SAFETY: the bits are those of the matrix, which is sorted, and there is a column for each bit.
                unsafe { launch(*executor, intervals.grid(executor.device()), kernel) }
            }
            None => {
                let block_rows = matrix.rows().div_ceil(size.rows()) as u64;
                let kernel = ListBlocks {
                    rows,
                    height,
                    width,
                    row_offsets: row_offsets.global(),
                    column_indices: matrix.column_indices().global(),
                    begins: begins.global(),
                    first_columns: first_columns.global_mut(),
                };
                // SAFETY: the matrix is valid and sorted, and no block is higher than 8 rows, one for each of
                // `ROW_LANES`. By the caller, `begins` has the number of blocks before each block row, and
                // `first_columns` is as long as all of them.
                unsafe { launch(*executor, executor.device().grid(block_rows * u64::from(ROW_LANES)), kernel) }
            }
        })?;
        Ok(first_columns)
    }
}

impl<K: KernelExecutor> Marks<K> {
    fn new<T: Scalar>(executor: &K, matrix: &Csr<T, K::Memory>, size: BlockSize) -> Result<Self, Error> {
        // One more than there are entries, so the end can be queried, too.
        let words = matrix.nnz() / WORD_BITS + 1;
        let mut firsts = executor.zeros(words)?;
        let mut counts = executor.zeros(words)?;
        let intervals = Intervals::new(matrix.nnz() as u64, executor.device());
        each_width!(matrix.row_offsets(), row_offsets => {
            let kernel = MarkBlocks {
                rows: matrix.rows() as u32,
                nnz: matrix.nnz() as u64,
                interval: intervals.length,
                height: size.rows() as u32,
                width: size.columns() as u32,
                row_offsets: row_offsets.global(),
                column_indices: matrix.column_indices().global(),
                firsts: firsts.global_mut(),
                counts: counts.global_mut(),
            };
            // SAFETY: the matrix is valid and sorted, and there is a word for each 32 entries.
            unsafe { launch(executor, intervals.grid(executor.device()), kernel) }
        })?;
        let before = Scan::new(executor, &counts)?.offsets_of(1)?;
        Ok(Self { firsts, before })
    }
}

/// Division of the rows of all blocks into items, one or more parts per row.
pub(crate) struct Items<K: KernelExecutor> {
    /// Offset of the items of each block row.
    pub offsets: Array<K, u32>,
    /// Number of items.
    pub count: u32,
    /// Distribution of the items among warps.
    pub intervals: Intervals,
}

impl<K: KernelExecutor> Items<K> {
    /// Creates items from the number of parts per row of each block row.
    ///
    /// # Errors
    /// When there are 2^32 items or more.
    pub fn new(executor: &K, parts: &Array<K, u32>, size: BlockSize) -> Result<Self, Error> {
        let scan = Scan::new(executor, parts)?;
        let items = u128::from(scan.total()) * size.rows() as u128;
        let too_large = |_| Error::TooLarge { what: "number of parts of rows", value: items, limit: u32::MAX.into() };
        let count = u32::try_from(items).map_err(too_large)?;
        let intervals = Intervals::new(count.into(), executor.device());
        Ok(Self { offsets: scan.offsets_of(size.rows() as u32)?, count, intervals })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Emulated;
    use crate::format::Offsets;

    /// Rows of different lengths, runs and gaps, with duplicate entries.
    fn matrix(rows: usize) -> Csr<f64> {
        let columns_of =
            |row: usize| (0..row * 13 % 40).map(move |entry| (entry * entry * (row % 5) / 4 + entry) as u32);
        let offsets = Offsets::from_lengths((0..rows).map(|row| columns_of(row).count())).unwrap();
        let columns: Vec<u32> = (0..rows).flat_map(columns_of).collect();
        let values = vec![1.0; columns.len()];
        Csr::try_new(rows, 1600, offsets, columns, values).unwrap()
    }

    #[test]
    fn marked_blocks_are_those_of_rows_side_by_side() {
        for rows in [0, 1, 7, 50] {
            let matrix = matrix(rows);
            for &size in BlockSize::ALL {
                let executor = Emulated::new(rows as u64);
                let [(lengths, columns), marked] = [false, true].map(|has_marks| {
                    let blocks = Blocks::with_marks(&executor, &matrix, size, has_marks).unwrap();
                    let lengths = blocks.lengths().unwrap();
                    let scan = Scan::new(&executor, &lengths).unwrap();
                    let columns = blocks.first_columns(&scan.offsets_of(1).unwrap(), scan.total()).unwrap();
                    (lengths, columns)
                });
                assert_eq!(columns.len() as u64, lengths.iter().map(|&length| u64::from(length)).sum::<u64>());
                assert_eq!((lengths, columns), marked, "{size:?}");
            }
        }
    }
}
