//! The dense blocks of a matrix whose rows are sorted: what BCSR and BELLPACK share.

use gpu_kernels::convert::blocks::{BlockRowLengths, ListBlocks, MarkBlocks};

use super::primitives::{Array, Scan, launch};
use super::width::each_width;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::{BlockSize, Csr};
use crate::memory::Buffer;
use crate::real::Real;
use crate::spmv::Intervals;

/// Entries of one word of bits.
const WORD_BITS: usize = u32::BITS as usize;

/// Which entries are the first of their block. Takes 12 bytes for 32 entries, and 4 more for a while.
pub(super) struct Blocks<'a, T: Real, K: KernelExecutor> {
    executor: &'a K,
    matrix: &'a Csr<T, K::Memory>,
    size: BlockSize,
    /// A bit for each entry.
    pub firsts: Array<K, u32>,
    /// The number of bits before each word.
    pub before: Array<K, u64>,
    /// Number of blocks.
    total: u64,
}

impl<'a, T: Real, K: KernelExecutor> Blocks<'a, T, K> {
    /// Finds the blocks of a matrix with sorted rows.
    pub fn new(executor: &'a K, matrix: &'a Csr<T, K::Memory>, size: BlockSize) -> Result<Self, Error> {
        // One more than there are entries, so that what is before the end can be asked, too.
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
        let scan = Scan::new(executor, &counts)?;
        let (before, total) = (scan.offsets_of(1)?, scan.total());
        Ok(Self { executor, matrix, size, firsts, before, total })
    }

    /// The number of blocks of each block row.
    pub fn lengths(&self) -> Result<Array<K, u32>, Error> {
        let block_rows = self.matrix.rows().div_ceil(self.size.rows());
        let mut lengths = self.executor.unwritten(block_rows)?;
        each_width!(self.matrix.row_offsets(), row_offsets => {
            let kernel = BlockRowLengths {
                rows: self.matrix.rows() as u32,
                height: self.size.rows() as u32,
                row_offsets: row_offsets.global(),
                firsts: self.firsts.global(),
                before: self.before.global(),
                lengths: lengths.global_mut(),
            };
            // SAFETY: the bits are those of the matrix, and there is a length for each block row.
            unsafe { launch(self.executor, self.executor.device().grid(block_rows as u64), kernel) }
        })?;
        Ok(lengths)
    }

    /// The first column of each block; block row by block row, in the order of the columns.
    pub fn first_columns(&self) -> Result<Array<K, u32>, Error> {
        let mut first_columns = self.executor.unwritten(self.total as usize)?;
        let intervals = Intervals::new(self.matrix.nnz() as u64, self.executor.device());
        each_width!(self.matrix.row_offsets(), row_offsets => {
            let kernel = ListBlocks {
                rows: self.matrix.rows() as u32,
                nnz: self.matrix.nnz() as u64,
                interval: intervals.length,
                height: self.size.rows() as u32,
                width: self.size.columns() as u32,
                row_offsets: row_offsets.global(),
                column_indices: self.matrix.column_indices().global(),
                firsts: self.firsts.global(),
                before: self.before.global(),
                first_columns: first_columns.global_mut(),
            };
            // SAFETY: the bits are those of the matrix, which is sorted, and there is a column for each bit.
            unsafe { launch(self.executor, intervals.grid(self.executor.device()), kernel) }
        })?;
        Ok(first_columns)
    }
}

/// How the rows of all blocks are shared out, each in one or more parts.
pub(super) struct Items<K: KernelExecutor> {
    /// Where those of each block row begin.
    pub offsets: Array<K, u32>,
    /// Their number.
    pub count: u32,
    /// How they are shared out among warps.
    pub intervals: Intervals,
}

impl<K: KernelExecutor> Items<K> {
    /// From the number of parts of each row of a block row.
    ///
    /// # Errors
    /// When there are 2^32 items.
    pub fn new(executor: &K, parts: &Array<K, u32>, size: BlockSize) -> Result<Self, Error> {
        let scan = Scan::new(executor, parts)?;
        let items = u128::from(scan.total()) * size.rows() as u128;
        let too_large = |_| Error::TooLarge { what: "number of parts of rows", value: items, limit: u32::MAX.into() };
        let count = u32::try_from(items).map_err(too_large)?;
        let intervals = Intervals::new(count.into(), executor.device());
        Ok(Self { offsets: scan.offsets_of(size.rows() as u32)?, count, intervals })
    }
}
