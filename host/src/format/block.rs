//! Dense blocks (Choi, Singh & Vuduc 2010, §4.1 and §6.4): their sizes, the non-empty blocks of a matrix, and how a
//! block is stored.

use gpu_kernels::block::word_length;

use super::Csr;
use super::storage::Parameter;
use crate::error::Error;
use crate::memory::{collect, reserve, same_bits, zeros};
use crate::parallel;
use crate::real::Scalar;
use crate::select::pattern::Pattern;

/// Work that is compiled for each block size.
pub(crate) trait BlockVisitor {
    /// The result of the work.
    type Output;

    /// Does the work for blocks of `R` × `C`; `SIZE` encodes the same size for kernels.
    fn visit<const SIZE: u32, const R: usize, const C: usize>(self) -> Self::Output;
}

macro_rules! define_sizes {
    ($($name:ident $rows:literal $columns:literal),*) => {
        /// The size of a block, in rows × columns: those of the paper (§6.6).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum BlockSize {
            $(#[doc = concat!($rows, " × ", $columns)] $name),*
        }

        impl BlockSize {
            /// Every size.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the number of rows of a block.
            pub const fn rows(self) -> usize {
                match self { $(Self::$name => $rows),* }
            }

            /// Returns the number of columns of a block.
            pub const fn columns(self) -> usize {
                match self { $(Self::$name => $columns),* }
            }

            /// Runs the code compiled for this size.
            pub(crate) fn visit<V: BlockVisitor>(self, visitor: V) -> V::Output {
                match self { $(Self::$name => visitor.visit::<{ $rows * 10 + $columns }, $rows, $columns>()),* }
            }
        }
    };
}

gpu_kernels::block_sizes!(define_sizes);

impl Parameter for BlockSize {
    fn append_to(self, numbers: &mut Vec<u64>) {
        numbers.extend([self.rows() as u64, self.columns() as u64]);
    }
}

/// Returns the block size that a file holds.
pub(super) fn block_size(rows: usize, columns: usize) -> Result<BlockSize, String> {
    BlockSize::from_sides(rows, columns)
        .ok_or_else(|| format!("blocks of {rows} x {columns}, which is not a supported size"))
}

/// Name of a format with blocks of a given size: a prefix, then the size. For [`gpu_kernels::block_sizes!`].
macro_rules! name_with_size {
    (($prefix:literal, $size:expr) $($name:ident $rows:literal $columns:literal),*) => {
        match $size { $(BlockSize::$name => concat!($prefix, $rows, "x", $columns)),* }
    };
}
pub(super) use name_with_size;

/// Strategies of all block sizes, each made from its size by a `const fn`.
macro_rules! of_each_size {
    ($Strategy:ident, $of_size:path) => {{
        const OF_EACH_SIZE: [$Strategy; BlockSize::ALL.len()] = {
            let mut all = [$of_size(BlockSize::ALL[0]); BlockSize::ALL.len()];
            let mut place = 0;
            while place < all.len() {
                all[place] = $of_size(BlockSize::ALL[place]);
                place += 1;
            }
            all
        };
        &OF_EACH_SIZE
    }};
}
pub(super) use of_each_size;

impl BlockSize {
    /// Returns the size with this number of rows and columns, if it exists.
    pub fn from_sides(rows: usize, columns: usize) -> Option<Self> {
        Self::ALL.iter().copied().find(|size| (size.rows(), size.columns()) == (rows, columns))
    }

    /// Returns the number of slots in a block.
    pub const fn places(self) -> usize {
        self.rows() * self.columns()
    }

    /// Returns the bytes of a block with values of `V`, including its column index.
    pub(super) fn bytes<V>(self) -> u128 {
        (self.places() * size_of::<V>() + 4) as u128
    }
}

/// Largest number of block columns, one page of them, that are sorted by merging rows.
const MERGED: usize = 1024;

/// Block rows per task when counting blocks.
const BLOCK_ROWS_COUNTED_AT_ONCE: usize = 256;

/// Returns the number of blocks in each block row. Runs in parallel.
///
/// # Errors
/// When memory runs out.
pub(super) fn block_row_lengths<T: Scalar>(matrix: &Csr<T>, size: BlockSize) -> Result<Vec<u32>, Error> {
    let mut lengths = zeros(matrix.rows().div_ceil(size.rows()))?;
    parallel::try_chunks_mut(&mut lengths, BLOCK_ROWS_COUNTED_AT_ONCE, &|(chunk, lengths)| {
        let mut columns = Vec::new();
        for (block_row, length) in (chunk * BLOCK_ROWS_COUNTED_AT_ONCE..).zip(lengths) {
            block_columns(matrix, size, block_row, &mut columns)?;
            *length = columns.len() as u32;
        }
        Ok(())
    })?;
    Ok(lengths)
}

/// Collects the block columns in which a block row has entries, in order.
///
/// # Errors
/// When memory runs out.
pub(crate) fn block_columns(
    matrix: &impl Pattern,
    size: BlockSize,
    block_row: usize,
    block_columns: &mut Vec<u32>,
) -> Result<(), Error> {
    let rows = rows_of_block(matrix.rows(), size, block_row);
    block_columns_of(rows.map(|row| matrix.columns_of_row(row)), size, block_columns)
}

/// Collects the block columns in which rows with these columns have entries, in order.
///
/// # Errors
/// When memory runs out.
pub(crate) fn block_columns_of<'a>(
    rows: impl Iterator<Item = &'a [u32]> + Clone,
    size: BlockSize,
    block_columns: &mut Vec<u32>,
) -> Result<(), Error> {
    let width = size.columns() as u32;
    block_columns.clear();
    reserve(block_columns, rows.clone().map(<[u32]>::len).sum())?;
    for column in rows.flatten() {
        if block_columns.last() != Some(&(column / width)) {
            block_columns.push(column / width);
        }
    }
    // The stable sort merges rows that are already in order, but needs extra memory for many columns.
    if block_columns.len() <= MERGED {
        block_columns.sort()
    } else {
        block_columns.sort_unstable()
    }
    block_columns.dedup();
    Ok(())
}

/// Returns the rows of a block row in a matrix of `rows` rows.
pub(crate) fn rows_of_block(rows: usize, size: BlockSize, block_row: usize) -> std::ops::Range<usize> {
    let first = block_row * size.rows();
    first..rows.min(first + size.rows())
}

/// A block and the location of its values: its words are `distance` apart, the first at `start`.
#[derive(Clone, Copy)]
pub(super) struct StoredBlock {
    pub first_column: u32,
    pub start: usize,
    pub distance: usize,
}

impl StoredBlock {
    /// Returns the index of a slot's value.
    #[inline]
    pub fn index(self, place: usize, word_length: usize) -> usize {
        self.start + place / word_length * self.distance + place % word_length
    }
}

/// Writes blocks. Reused from block row to block row for its memory.
pub(super) struct Writer<'a, T: Scalar> {
    matrix: &'a Csr<T>,
    size: BlockSize,
    block_columns: Vec<u32>,
    blocks: Vec<StoredBlock>,
}

impl<'a, T: Scalar> Writer<'a, T> {
    pub fn new(matrix: &'a Csr<T>, size: BlockSize) -> Self {
        Self { matrix, size, block_columns: Vec::new(), blocks: Vec::new() }
    }

    /// Writes the values of a block row into slots that all hold the mark. `place` maps a block's number and first
    /// column to where it is stored. Duplicates are summed in order. Returns the number of occupied slots.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn write(
        &mut self,
        block_row: usize,
        values: &mut [T],
        mut place: impl FnMut(usize, u32) -> StoredBlock,
    ) -> Result<usize, Error> {
        let Self { matrix, size, block_columns, blocks } = self;
        self::block_columns(*matrix, *size, block_row, block_columns)?;
        let [height, width] = [size.rows(), size.columns()];
        let word_length = word_length::<T>(size.places() as u32) as usize;
        let place = |(number, &block_column): (usize, &u32)| place(number, block_column * width as u32);
        blocks.clear();
        reserve(blocks, block_columns.len())?;
        blocks.extend(block_columns.iter().enumerate().map(place));
        let mut stored = 0;
        for (row_in_block, row) in rows_of_block(matrix.rows(), *size, block_row).enumerate() {
            let mut number = 0;
            for (column, value) in matrix.row(row) {
                let block_column = column / width as u32;
                if block_columns[number] != block_column {
                    number = block_columns.partition_point(|&before| before < block_column);
                }
                let place = column as usize % width * height + row_in_block;
                let sum = &mut values[blocks[number].index(place, word_length)];
                stored += usize::from(sum.is_absent());
                *sum = if sum.is_absent() { value } else { *sum + value }.present();
            }
        }
        Ok(stored)
    }
}

/// Checks the blocks of one block row: they are in order, on block boundaries and non-empty, and no entry is outside
/// the matrix. Returns the number of entries.
pub(super) fn check_blocks<T: Scalar>(
    [rows, columns]: [usize; 2],
    size: BlockSize,
    block_row: usize,
    blocks: impl Iterator<Item = StoredBlock>,
    values: &[T],
) -> Result<usize, String> {
    let word_length = word_length::<T>(size.places() as u32) as usize;
    let first_row = block_row * size.rows();
    let mut stored = 0;
    let mut least_column = 0;
    for (number, block) in blocks.enumerate() {
        let fail = |reason: String| Err(format!("block {number} of block row {block_row} {reason}"));
        let first_column = block.first_column as usize;
        if first_column >= columns || !first_column.is_multiple_of(size.columns()) {
            let width = size.columns();
            return fail(format!("begins in column {first_column} of {columns}, expected a multiple of {width}"));
        }
        if first_column < least_column {
            return fail("is not to the right of the one before it".into());
        }
        least_column = first_column + size.columns();
        let mut entries = 0;
        for place in 0..size.places() {
            let value = values[block.index(place, word_length)];
            let (row, column) = (first_row + place % size.rows(), first_column + place / size.rows());
            if !value.is_absent() {
                if row >= rows || column >= columns {
                    return fail(format!("has an entry outside the matrix, in row {row} and column {column}"));
                }
                entries += 1;
            } else if !same_bits(&[value], &[T::ABSENT]) {
                return fail("has a NaN that is reserved for the mark".into());
            }
        }
        if entries == 0 {
            return fail("has no entry".into());
        }
        stored += entries;
    }
    Ok(stored)
}

/// First columns and values of a run of blocks.
pub(super) type Piece<'a, T> = (&'a mut [u32], &'a mut [T]);

/// Splits two arrays over blocks, with one and with `places` elements per block, into pieces of `blocks` blocks each.
///
/// # Errors
/// When memory runs out.
pub(super) fn pieces<'a, T>(
    blocks: impl ExactSizeIterator<Item = usize>,
    places: usize,
    mut first_columns: &'a mut [u32],
    mut values: &'a mut [T],
) -> Result<Vec<Piece<'a, T>>, Error> {
    let piece = |blocks| {
        let (own_columns, columns) = std::mem::take(&mut first_columns).split_at_mut(blocks);
        let (own_values, rest) = std::mem::take(&mut values).split_at_mut(blocks * places);
        (first_columns, values) = (columns, rest);
        (own_columns, own_values)
    };
    collect(blocks.map(piece))
}

/// Returns the entries of one row of a block row, as column and value, in column order.
pub(super) fn entries_of_row<T: Scalar>(
    blocks: impl Iterator<Item = StoredBlock>,
    size: BlockSize,
    row_in_block: usize,
    values: &[T],
) -> impl Iterator<Item = (u32, T)> {
    let word_length = word_length::<T>(size.places() as u32) as usize;
    blocks
        .flat_map(move |block| {
            (0..size.columns()).map(move |column| {
                let value = values[block.index(column * size.rows() + row_in_block, word_length)];
                (block.first_column + column as u32, value)
            })
        })
        .filter(|(_, value)| !value.is_absent())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two full 2 × 2 blocks, one of them misaligned for any other size, and a lone entry, stored twice.
    fn matrix() -> Csr<f64> {
        let rows = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4];
        let columns = [3, 2, 2, 3, 0, 1, 1, 0, 4, 4];
        let offsets: Vec<u32> = (0..=5).map(|row| rows.iter().filter(|&&other| other < row).count() as u32).collect();
        Csr::try_new(5, 5, offsets, columns.to_vec(), vec![1.0; 10]).unwrap()
    }

    #[test]
    fn blocks_are_counted_once() {
        for (size, lengths) in [
            (BlockSize::B1x2, vec![1, 1, 1, 1, 1]),
            (BlockSize::B2x2, vec![1, 1, 1]),
            (BlockSize::B2x3, vec![2, 1, 1]),
            (BlockSize::B3x3, vec![2, 2]),
            (BlockSize::B8x8, vec![1]),
        ] {
            assert_eq!(block_row_lengths(&matrix(), size).unwrap(), lengths, "{size:?}");
        }
    }

    #[test]
    fn words_fill_a_load_and_divide_the_block() {
        for (size, single, double) in [
            (BlockSize::B1x2, 2, 2),
            (BlockSize::B2x2, 4, 2),
            (BlockSize::B2x3, 2, 2),
            (BlockSize::B3x3, 1, 1),
            (BlockSize::B3x4, 4, 2),
            (BlockSize::B8x8, 4, 2),
        ] {
            let places = size.places() as u32;
            assert_eq!((word_length::<f32>(places), word_length::<f64>(places)), (single, double), "{size:?}");
        }
    }
}
