//! Blocked ELLPACK (Choi, Singh & Vuduc 2010, §5).

#[allow(unsafe_code, reason = "it launches kernels")]
pub(crate) mod by_kernels;
mod costs;
mod fused;
mod multivector;
pub(crate) mod product;
pub(crate) mod strategy;

use std::cmp::Reverse;

use gpu_kernels::block::word_length;
use gpu_kernels::ell::PADDING;

use crate::error::{Error, check_length};
use crate::format::block::{
    BlockSize, StoredBlock, Writer, block_row_lengths, check_blocks, entries_of_row, name_with_size, pieces,
};
use crate::format::check::{check_offsets, check_permutation, count_parts};
use crate::format::rows::collect_rows;
use crate::format::storage::storage;
use crate::format::{Csr, FillLimit, Offsets, check_shape};
use crate::memory::{collect, same_bits, zeros};
use crate::parallel;
use crate::real::Scalar;

pub use product::entry;
pub use strategy::BellpackStrategy;
pub(crate) use strategy::Strategy;

/// Block rows per partition: the paper's R.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PartitionRows {
    /// 32: the least padding. In the paper R is also the size of a thread block; here it is not, so a larger one gains
    /// nothing.
    #[default]
    R32,
    /// 64
    R64,
    /// 128
    R128,
    /// 256
    R256,
}

impl PartitionRows {
    /// The sizes tried in the paper (§6.6).
    pub const ALL: &[Self] = &[Self::R32, Self::R64, Self::R128, Self::R256];

    /// Returns the size with `rows` block rows, if it exists.
    pub fn from_rows(rows: usize) -> Option<Self> {
        Self::ALL.iter().copied().find(|size| size.get() == rows)
    }

    /// Returns the number of block rows.
    pub const fn get(self) -> usize {
        match self {
            Self::R32 => 32,
            Self::R64 => 64,
            Self::R128 => 128,
            Self::R256 => 256,
        }
    }
}

/// Quantity whose size limits the indices of BELLPACK.
pub(crate) const TOTAL_WIDTH: &str = "number of blocks across all partitions";

storage! {
    /// A sparse matrix in blocked ELLPACK format: the block rows sorted by number of blocks, the longest first, and
    /// divided into partitions of [`partition_rows`](Self::partition_rows) block rows, each partition as wide as its
    /// first block row. Within a partition the first blocks of all block rows come first, then the second ones, and so
    /// on; of these, the first words (as in BCSR) come first, then the second ones. The last partition has only the
    /// remaining block rows.
    ///
    /// A block row's blocks come before its padding. A slot without an entry holds a mark; a stored zero is an entry.
    /// Entries of a row are in the order of their columns, and duplicates are summed.
    pub struct Bellpack {
        parameters {
            /// Size of the blocks.
            block_size: BlockSize,
            /// Block rows per partition, except the last.
            partition_rows: usize,
        }
        offsets {}
        arrays {
            /// Offset of each partition, in blocks per block row.
            partition_offsets: u32,
            /// Numbers of the block rows, in storage order.
            block_rows: u32,
            /// First column of each block; [`PADDING`] where there is no block.
            first_columns: u32,
            /// Values of the blocks, word by word.
            values: T,
        }
    }
}

/// Returns the name of the storage with blocks of this size.
fn storage_name(size: BlockSize) -> &'static str {
    gpu_kernels::block_sizes!(name_with_size("BELLPACK ", size))
}

/// Returns the bytes that the BELLPACK arrays of `matrix` take with values of `V`. Counts its blocks.
///
/// # Errors
/// When memory runs out.
pub(super) fn bellpack_bytes<T: Scalar, V>(
    matrix: &Csr<T>,
    size: BlockSize,
    partition_rows: PartitionRows,
) -> Result<u128, Error> {
    let mut lengths = block_row_lengths(matrix, size)?;
    sort_descending(&mut lengths);
    let partition_rows = partition_rows.get();
    Ok(bellpack_bytes_of::<V>(size, lengths.len(), partition_rows, padded_blocks(&lengths, partition_rows)))
}

// Not generic, so parallel sorting is compiled only here, once.
fn sort_descending(lengths: &mut [u32]) {
    parallel::sort_unstable_by(lengths, |a, b| b.cmp(a));
}

/// Returns the block rows in descending order of length, and those of the same length in order.
///
/// # Errors
/// When memory runs out.
fn longest_first(lengths: &[u32]) -> Result<Vec<u32>, Error> {
    let mut block_rows = collect(0..lengths.len() as u32)?;
    // Not a stable sort, which takes memory.
    let key = |&block_row: &u32| (Reverse(lengths[block_row as usize]), block_row);
    parallel::sort_unstable_by(&mut block_rows, |left, right| key(left).cmp(&key(right)));
    Ok(block_rows)
}

/// Returns the bytes of the arrays for this number of block rows, and of blocks including padding.
pub(crate) fn bellpack_bytes_of<V>(size: BlockSize, block_rows: usize, partition_rows: usize, blocks: u128) -> u128 {
    let partitions = block_rows.div_ceil(partition_rows);
    blocks * size.bytes::<V>() + 4 * (partitions as u128 + 1 + block_rows as u128)
}

/// Returns the number of blocks including padding, where block rows have these lengths, the longest first.
fn padded_blocks(lengths: &[u32], partition_rows: usize) -> u128 {
    lengths.chunks(partition_rows).map(|lengths| u128::from(lengths[0]) * lengths.len() as u128).sum()
}

impl<T: Scalar> Bellpack<T> {
    /// Builds a matrix from its arrays. Runs in parallel in O(stored values).
    ///
    /// # Errors
    /// When the length of an array contradicts the others or the shape, `block_rows` is not a permutation, block rows
    /// are not sorted, a partition is not as wide as its first block row, the blocks of a block row are not in order, a
    /// block is misaligned or empty or has an entry outside the matrix, or padding is not the mark.
    #[allow(clippy::too_many_arguments)]
    pub fn try_new(
        rows: usize,
        columns: usize,
        block_size: BlockSize,
        partition_rows: PartitionRows,
        partition_offsets: Vec<u32>,
        block_rows: Vec<u32>,
        first_columns: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Self, Error> {
        check_shape(rows, columns)?;
        let partition_rows = partition_rows.get();
        check_length("block_rows", block_rows.len(), rows.div_ceil(block_size.rows()))?;
        check_permutation("block row", &block_rows, 0).map_err(|reason| Error::structure("BELLPACK", reason))?;
        let partitions = block_rows.len().div_ceil(partition_rows);
        let width = partition_offsets.last().map_or(0, |&end| end as usize);
        check_offsets("BELLPACK", "partition", &partition_offsets, partitions, width)?;
        let partition_offsets = Offsets::try_from(partition_offsets)?.narrow(TOTAL_WIDTH, width as u64)?;
        // All partitions except the last have equally many block rows.
        let missing = partitions * partition_rows - block_rows.len();
        let last_width = partition_offsets.iter().rev().nth(1).map_or(0, |&begin| width - begin as usize);
        check_length("first_columns", first_columns.len(), width * partition_rows - last_width * missing)?;
        check_length("values", values.len(), first_columns.len() * block_size.places())?;
        let stored = 0;
        let mut matrix = Self {
            rows,
            columns,
            stored,
            block_size,
            partition_rows,
            partition_offsets,
            block_rows,
            first_columns,
            values,
        };
        matrix.stored = count_parts("BELLPACK", matrix.block_rows.len(), |stored_row| matrix.check_row(stored_row))?;
        Ok(matrix)
    }

    /// Checks the block row stored at position `stored_row` and returns its number of entries.
    fn check_row(&self, stored_row: usize) -> Result<usize, String> {
        let block_row = self.block_rows[stored_row] as usize;
        let length = self.stored_row(stored_row).count();
        let places = self.row_of_blocks(stored_row);
        if stored_row.is_multiple_of(self.partition_rows) && length < places.width {
            return Err(format!(
                "block row {block_row} is the first of a partition {} blocks wide, but has {length}",
                places.width
            ));
        }
        if stored_row > 0 && length > self.stored_row(stored_row - 1).count() {
            return Err(format!("block row {block_row} has {length} blocks, more than the one stored before it"));
        }
        for step in length..places.width {
            let first_column = self.first_columns[places.block(step)];
            if first_column != PADDING {
                return Err(format!("block {step} of block row {block_row} comes after padding"));
            }
            let padding = places.locate::<T>(self.block_size, step, first_column);
            let word_length = word_length::<T>(self.block_size.places() as u32) as usize;
            let mut values = (0..self.block_size.places()).map(|place| self.values[padding.index(place, word_length)]);
            if values.any(|value| !same_bits(&[value], &[T::ABSENT])) {
                return Err(format!("block {step} of block row {block_row} is padding, but has a value"));
            }
        }
        let shape = [self.rows, self.columns];
        check_blocks(shape, self.block_size, block_row, self.stored_row(stored_row), &self.values)
    }

    /// Converts `matrix` to BELLPACK with blocks of `size`. Runs in parallel in O(nnz log(longest row) + block rows
    /// log(block rows)).
    ///
    /// # Errors
    /// When the arrays would exceed `limit`, the total width of the partitions is nearly 2^32 blocks or more, or the
    /// arrays cannot be allocated.
    pub fn try_from_csr(
        matrix: &Csr<T>,
        size: BlockSize,
        partition_rows: PartitionRows,
        limit: FillLimit,
    ) -> Result<Self, Error> {
        let partition_rows = partition_rows.get();
        let lengths = block_row_lengths(matrix, size)?;
        let block_rows = longest_first(&lengths)?;
        let sorted_lengths = collect(block_rows.iter().map(|&block_row| lengths[block_row as usize]))?;
        let padded = padded_blocks(&sorted_lengths, partition_rows);
        let bytes = bellpack_bytes_of::<T>(size, lengths.len(), partition_rows, padded);
        limit.check(storage_name(size), bytes, matrix.bytes())?;
        let widths = sorted_lengths.chunks(partition_rows).map(|lengths| lengths[0] as usize);
        let total_width = widths.clone().sum::<usize>() as u64;
        let partition_offsets = Offsets::from_lengths(widths)?.narrow(TOTAL_WIDTH, total_width)?;

        let mut first_columns = Vec::new();
        let mut values = Vec::new();
        let out_of_memory = |_| Error::OutOfMemory { what: "a BELLPACK matrix", bytes };
        // More blocks than memory has bytes cannot be reserved, so saturation loses nothing.
        let blocks = usize::try_from(padded).unwrap_or(usize::MAX);
        first_columns.try_reserve_exact(blocks).map_err(out_of_memory)?;
        values.try_reserve_exact(blocks.saturating_mul(size.places())).map_err(out_of_memory)?;
        first_columns.resize(blocks, PADDING);
        values.resize(blocks * size.places(), T::ABSENT);

        let blocks_of_partitions =
            sorted_lengths.chunks(partition_rows).map(|lengths| lengths[0] as usize * lengths.len());
        let partitions = pieces(blocks_of_partitions, size.places(), &mut first_columns, &mut values)?;
        let stored = parallel::map_items(partitions, &|(partition, (first_columns, values))| {
            let mut writer = Writer::new(matrix, size);
            let block_rows = block_rows.chunks(partition_rows).nth(partition).unwrap_or_default();
            let lanes = block_rows.len();
            let write = |(lane, &block_row): (usize, &u32)| {
                let places = RowOfBlocks { first_block: 0, width: first_columns.len() / lanes, lane, lanes };
                writer.write(block_row as usize, values, |step, first_column| {
                    first_columns[places.block(step)] = first_column;
                    places.locate::<T>(size, step, first_column)
                })
            };
            block_rows.iter().enumerate().map(write).sum::<Result<usize, Error>>()
        })?;
        let stored = stored.into_iter().sum::<Result<_, _>>()?;
        let (rows, columns) = (matrix.rows(), matrix.columns());
        Ok(Self {
            rows,
            columns,
            stored,
            block_size: size,
            partition_rows,
            partition_offsets,
            block_rows,
            first_columns,
            values,
        })
    }

    /// Iterates over the blocks of a partition, step by step: per step the first columns and the values of all slots.
    pub(crate) fn steps<'a>(&'a self, partition: usize, values: &'a [T]) -> impl Iterator<Item = (&'a [u32], &'a [T])> {
        let first_row = partition * self.partition_rows;
        let lanes = self.partition_rows.min(self.block_rows.len() - first_row);
        let begin = self.partition_offsets[partition] as usize;
        let width = self.partition_offsets[partition + 1] as usize - begin;
        let first_block = begin * self.partition_rows;
        let places = self.block_size.places();
        (0..width).map(move |step| {
            let blocks = first_block + step * lanes..first_block + (step + 1) * lanes;
            (&self.first_columns[blocks.clone()], &values[blocks.start * places..blocks.end * places])
        })
    }

    /// Returns the location of the blocks of the block row stored at this position.
    fn row_of_blocks(&self, stored_row: usize) -> RowOfBlocks {
        let partition = stored_row / self.partition_rows;
        let first_row = partition * self.partition_rows;
        let begin = self.partition_offsets[partition] as usize;
        RowOfBlocks {
            first_block: begin * self.partition_rows,
            width: self.partition_offsets[partition + 1] as usize - begin,
            lane: stored_row - first_row,
            lanes: self.partition_rows.min(self.block_rows.len() - first_row),
        }
    }

    /// Returns the blocks of the block row stored at this position.
    fn stored_row(&self, stored_row: usize) -> impl Iterator<Item = StoredBlock> + '_ {
        let places = self.row_of_blocks(stored_row);
        (0..places.width)
            .map(move |step| (step, self.first_columns[places.block(step)]))
            .take_while(|&(_, first_column)| first_column != PADDING)
            .map(move |(step, first_column)| places.locate::<T>(self.block_size, step, first_column))
    }

    /// Calls `visit` with row, column and value of each entry; a row's entries come by column, the rows in storage
    /// order.
    pub(super) fn for_each_entry(&self, mut visit: impl FnMut(usize, u32, T)) {
        for (stored_row, &block_row) in self.block_rows.iter().enumerate() {
            let first_row = block_row as usize * self.block_size.rows();
            for row in first_row..self.rows.min(first_row + self.block_size.rows()) {
                entries_of_row(self.stored_row(stored_row), self.block_size, row - first_row, &self.values)
                    .for_each(|(column, value)| visit(row, column, value));
            }
        }
    }

    /// Converts the matrix to CSR. Runs in parallel in O(stored values).
    ///
    /// # Errors
    /// When memory runs out.
    pub fn to_csr(&self) -> Result<Csr<T>, Error> {
        let places = self.stored_places()?;
        collect_rows(self.rows, self.columns, |row| self.row_at(&places, row))
    }

    /// Returns the position of each block row.
    ///
    /// # Errors
    /// When memory runs out.
    fn stored_places(&self) -> Result<Vec<usize>, Error> {
        let mut places = zeros(self.block_rows.len())?;
        for (stored_row, &block_row) in self.block_rows.iter().enumerate() {
            places[block_row as usize] = stored_row;
        }
        Ok(places)
    }

    /// Returns the entries of a row, as column and value, given the [positions of the block rows](Self::stored_places).
    fn row_at(&self, places: &[usize], row: usize) -> impl Iterator<Item = (u32, T)> + '_ {
        let (block_row, row_in_block) = (row / self.block_size.rows(), row % self.block_size.rows());
        entries_of_row(self.stored_row(places[block_row]), self.block_size, row_in_block, &self.values)
    }
}

/// Location of the blocks of a block row: number `lane` of the `lanes` block rows of a partition, whose blocks begin at
/// `first_block`.
#[derive(Clone, Copy)]
struct RowOfBlocks {
    first_block: usize,
    /// Blocks of the block row, including padding.
    width: usize,
    lane: usize,
    lanes: usize,
}

impl RowOfBlocks {
    /// Returns the index of block `step`.
    #[inline]
    fn block(self, step: usize) -> usize {
        self.first_block + step * self.lanes + self.lane
    }

    /// Returns the location of block `step`.
    #[inline]
    fn locate<T>(self, size: BlockSize, step: usize, first_column: u32) -> StoredBlock {
        let Self { first_block, lane, lanes, .. } = self;
        let word_length = word_length::<T>(size.places() as u32) as usize;
        StoredBlock {
            first_column,
            start: (first_block + step * lanes) * size.places() + lane * word_length,
            distance: lanes * word_length,
        }
    }
}
