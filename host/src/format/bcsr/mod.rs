//! Blocked compressed sparse rows (Choi, Singh & Vuduc 2010, §4).

#[allow(unsafe_code, reason = "it launches kernels")]
pub(crate) mod by_kernels;
mod costs;
#[allow(unsafe_code, reason = "each use says why it holds")]
mod cpu;
mod multivector;
pub(crate) mod product;
pub(crate) mod strategy;

use gpu_kernels::bcsr::GROUP_BLOCKS;
use gpu_kernels::block::word_length;

use crate::error::{Error, check_length};
use crate::format::block::{
    BlockSize, StoredBlock, Writer, block_row_lengths, check_blocks, entries_of_row, name_with_size, pieces,
};
use crate::format::check::{check_offsets, count_parts};
use crate::format::rows::collect_rows;
use crate::format::storage::storage;
use crate::format::{Csr, FillLimit, Offsets, check_shape};
use crate::memory::{Buffer, Memory};
use crate::parallel;
use crate::real::Scalar;

pub use by_kernels::from_csr;
#[doc(hidden)]
pub use product::{LANES, entry, lanes_for};
pub(crate) use strategy::Strategy;

/// Block rows per task when converting.
const BLOCK_ROWS_AT_ONCE: usize = 256;

const GROUP: usize = GROUP_BLOCKS as usize;

storage! {
    /// A sparse matrix in blocked compressed sparse row format: all blocks of the given size that have an entry, block
    /// row by block row, and the offset of each block row. At the edges, blocks extend beyond the matrix.
    ///
    /// A block's slots are numbered column by column and divided into words of as many values as one load of 16 bytes
    /// brings, as far as that number divides the block (§4.2). Of each 32 blocks of a block row, and of the remaining
    /// ones at its end, the first words come first, then the second words, and so on (§4.4). So neighbouring threads
    /// read neighbouring words, each word is aligned for its load, and no block is padding (which §4.3 spends for
    /// alignment). A slot without an entry holds a mark; a stored zero is an entry. Entries of a row are in the order
    /// of their columns, and duplicates are summed.
    pub struct Bcsr {
        parameters {
            /// Size of the blocks.
            block_size: BlockSize,
        }
        offsets {}
        arrays {
            /// Offset of each block row, in blocks.
            block_offsets: u32,
            /// First column of each block.
            first_columns: u32,
            /// Values of the blocks, word by word.
            values: T,
        }
    }
}

impl<T: Scalar, M: Memory> Bcsr<T, M> {
    /// Returns the number of block rows.
    pub fn block_rows(&self) -> usize {
        self.rows.div_ceil(self.block_size.rows())
    }

    /// Returns the number of blocks.
    pub fn blocks(&self) -> usize {
        self.first_columns.len()
    }
}

/// Returns the name of the storage with blocks of this size.
fn storage_name(size: BlockSize) -> &'static str {
    gpu_kernels::block_sizes!(name_with_size("BCSR ", size))
}

/// Returns the bytes that the BCSR arrays of `matrix` take with values of `V`. Counts its blocks.
///
/// # Errors
/// When memory runs out.
pub(super) fn bcsr_bytes<T: Scalar, V>(matrix: &Csr<T>, size: BlockSize) -> Result<u128, Error> {
    let lengths = block_row_lengths(matrix, size)?;
    Ok(bcsr_bytes_of::<V>(size, lengths.len(), total(&lengths)))
}

/// Returns the bytes of the arrays for this number of block rows and blocks.
pub(crate) fn bcsr_bytes_of<V>(size: BlockSize, block_rows: usize, blocks: usize) -> u128 {
    blocks as u128 * size.bytes::<V>() + 4 * (block_rows as u128 + 1)
}

fn total(lengths: &[u32]) -> usize {
    lengths.iter().map(|&length| length as usize).sum()
}

impl<T: Scalar> Bcsr<T> {
    /// Builds a matrix from its arrays. Runs in parallel in O(stored values).
    ///
    /// # Errors
    /// When the length of an array contradicts the others or the shape, there are nearly 2^32 blocks or more, the
    /// blocks of a block row are not in order, or a block is misaligned or empty, has an entry outside the matrix, or
    /// padding that is not the mark.
    pub fn try_new(
        rows: usize,
        columns: usize,
        block_size: BlockSize,
        block_offsets: Vec<u32>,
        first_columns: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Self, Error> {
        check_shape(rows, columns)?;
        let block_rows = rows.div_ceil(block_size.rows());
        check_offsets("BCSR", "block row", &block_offsets, block_rows, first_columns.len())?;
        let block_offsets = Offsets::try_from(block_offsets)?.narrow("number of blocks", first_columns.len() as u64)?;
        check_length("values", values.len(), first_columns.len() * block_size.places())?;
        let mut matrix = Self { rows, columns, stored: 0, block_size, block_offsets, first_columns, values };
        matrix.stored = count_parts("BCSR", block_rows, |block_row| {
            check_blocks([rows, columns], block_size, block_row, matrix.block_row(block_row), &matrix.values)
        })?;
        Ok(matrix)
    }

    /// Converts `matrix` to BCSR with blocks of `size`. Runs in parallel in O(nnz log(longest row)).
    ///
    /// # Errors
    /// When the arrays would exceed `limit`, there are nearly 2^32 blocks or more, or the arrays cannot be allocated.
    pub fn try_from_csr(matrix: &Csr<T>, size: BlockSize, limit: FillLimit) -> Result<Self, Error> {
        let lengths = block_row_lengths(matrix, size)?;
        let blocks = total(&lengths);
        let bytes = bcsr_bytes_of::<T>(size, lengths.len(), blocks);
        limit.check(storage_name(size), bytes, matrix.bytes())?;
        let offsets = Offsets::from_lengths(lengths.iter().map(|&length| length as usize))?;
        let block_offsets = offsets.narrow("number of blocks", blocks as u64)?;
        let mut first_columns = Vec::new();
        let mut values = Vec::new();
        let out_of_memory = |_| Error::OutOfMemory { what: "a BCSR matrix", bytes };
        first_columns.try_reserve_exact(blocks).map_err(out_of_memory)?;
        values.try_reserve_exact(blocks * size.places()).map_err(out_of_memory)?;
        first_columns.resize(blocks, 0);
        values.resize(blocks * size.places(), T::ABSENT);

        let lengths_of_pieces = lengths.chunks(BLOCK_ROWS_AT_ONCE);
        let blocks_of_pieces = lengths_of_pieces.clone().map(total);
        let pieces = pieces(blocks_of_pieces, size.places(), &mut first_columns, &mut values)?;
        let stored = parallel::map_items(pieces, &|(piece, (first_columns, values))| {
            let mut writer = Writer::new(matrix, size);
            let first_row = piece * BLOCK_ROWS_AT_ONCE;
            let mut begin = 0;
            let mut stored = 0;
            for (block_row, &length) in (first_row..).zip(lengths[first_row..].iter().take(BLOCK_ROWS_AT_ONCE)) {
                let blocks = begin..begin + length as usize;
                begin = blocks.end;
                stored += writer.write(block_row, values, |block, first_column| {
                    first_columns[blocks.start + block] = first_column;
                    locate::<T>(size, &blocks, block, first_column)
                })?;
            }
            Ok(stored)
        })?;
        let stored = stored.into_iter().sum::<Result<_, Error>>()?;
        let (rows, columns) = (matrix.rows(), matrix.columns());
        Ok(Self { rows, columns, stored, block_size: size, block_offsets, first_columns, values })
    }

    /// Returns the blocks of a block row.
    fn block_row(&self, block_row: usize) -> impl Iterator<Item = StoredBlock> + '_ {
        let blocks = self.block_offsets[block_row] as usize..self.block_offsets[block_row + 1] as usize;
        let first_columns = &self.first_columns[blocks.clone()];
        let size = self.block_size;
        first_columns
            .iter()
            .enumerate()
            .map(move |(number, &first_column)| locate::<T>(size, &blocks, number, first_column))
    }

    /// Returns the entries of a row, as column and value, by column.
    ///
    /// # Panics
    /// When `row` is not below [`rows`](Self::rows).
    pub fn row(&self, row: usize) -> impl Iterator<Item = (u32, T)> + '_ {
        let (block_row, row_in_block) = (row / self.block_size.rows(), row % self.block_size.rows());
        entries_of_row(self.block_row(block_row), self.block_size, row_in_block, &self.values)
    }

    /// Converts the matrix to CSR. Runs in parallel in O(stored values).
    ///
    /// # Errors
    /// When memory runs out.
    pub fn to_csr(&self) -> Result<Csr<T>, Error> {
        collect_rows(self.rows, self.columns, |row| self.row(row))
    }
}

/// Returns the location of block `number` in the block row with these blocks.
#[inline]
fn locate<T>(size: BlockSize, blocks: &std::ops::Range<usize>, number: usize, first_column: u32) -> StoredBlock {
    let word_length = word_length::<T>(size.places() as u32) as usize;
    let group = number / GROUP * GROUP;
    StoredBlock {
        first_column,
        start: (blocks.start + group) * size.places() + (number - group) * word_length,
        distance: GROUP.min(blocks.len() - group) * word_length,
    }
}
