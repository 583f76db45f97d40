//! CSR to dense blocks and back, shared by BCSR and BELLPACK. Rows are sorted by column.
//!
//! For long rows, each entry determines by itself whether it is the first of its block. The answer is one bit per
//! entry, in the order of CSR, 32 to a word; with the number of bits before each word, one load from each array gives
//! the number of blocks before any entry.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, warp_vote_ballot};
use cuda_std::{Global, GlobalMut, kernel};

use super::entries::{for_each_entry, for_each_step};
use super::places::sum_of_column;
use crate::Offset;
use crate::absent::Absent;
use crate::block::word_length;
use crate::search::first_at_least;

/// Number of blocks of one row of a matrix that a thread splits up.
pub const BLOCKS_AT_ONCE: u32 = 32;

/// Marks each entry that is the first of its block: the first of its row in the block, if no row above it in the block
/// row has an entry there.
///
/// # Safety
/// The arrays are those of a valid CSR matrix with `rows` rows and `nnz` entries, each row sorted by column; `firsts`
/// and `counts` have an element for each 32 entries; blocks of threads are made of whole warps, and `interval` is a
/// multiple of 32.
#[kernel(O: [u32, u64])]
pub unsafe fn mark_blocks<O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Number of stored entries.
    nnz: u64,
    /// Entries of one warp; a multiple of 32.
    interval: u64,
    /// Rows of a block.
    height: u32,
    /// Columns of a block.
    width: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// A bit for each entry: whether it is the first of its block.
    firsts: GlobalMut<u32>,
    /// The number of these bits in each word.
    counts: GlobalMut<u32>,
) {
    let is_first = |entry: u64, row: u32| {
        let block_column = column_indices.load(entry) / width;
        let begin = row_offsets.load(row).widen();
        if entry > begin && column_indices.load(entry - 1) / width == block_column {
            return false;
        }
        let first_column = block_column * width;
        let mut above = row - row % height;
        while above < row {
            let (begin, end) = (row_offsets.load(above).widen(), row_offsets.load(above + 1).widen());
            let found = first_at_least(column_indices, begin, end, first_column);
            if found < end && column_indices.load(found) - first_column < width {
                return false;
            }
            above += 1;
        }
        true
    };
    for_each_step(rows, nnz, interval, row_offsets, |entry, row, there| {
        let word = warp_vote_ballot(ALL_LANES, there && is_first(entry, row));
        if lane_id() == 0 {
            firsts.store(entry / u64::from(WARP_LANES), word);
            counts.store(entry / u64::from(WARP_LANES), word.count_ones());
        }
    });
}

/// The number of blocks before an entry, in the order of CSR.
///
/// # Safety
/// `firsts` comes from [`mark_blocks`], and `before` holds the sums of its counts before each word; `entry` is at most
/// one past the last.
#[inline(always)]
unsafe fn blocks_before(entry: u64, firsts: Global<u32>, before: Global<u64>) -> u64 {
    let (word, bit) = (entry / u64::from(WARP_LANES), entry as u32 % WARP_LANES);
    before.load(word) + u64::from((firsts.load(word) & ((1 << bit) - 1)).count_ones())
}

/// Counts the blocks of each block row.
///
/// # Safety
/// `row_offsets` are those of `rows` rows; `firsts` and `before` as for `blocks_before`; `lengths` has an element for
/// each block row.
#[kernel(O: [u32, u64])]
pub unsafe fn count_marked_blocks<O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Rows of a block.
    height: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// A bit for each entry: whether it is the first of its block.
    firsts: Global<u32>,
    /// The number of bits before each word.
    before: Global<u64>,
    /// The number of blocks of each block row.
    lengths: GlobalMut<u32>,
) {
    let mut block_row = index_1d();
    while block_row < rows.div_ceil(height) {
        let first_row = block_row * height;
        let begin = blocks_before(row_offsets.load(first_row).widen(), firsts, before);
        let end = blocks_before(row_offsets.load(rows.min(first_row + height)).widen(), firsts, before);
        lengths.store(block_row, (end - begin) as u32);
        block_row += grid_threads();
    }
}

/// Writes the first column of each block; the blocks of a block row are in the order of their columns. The first entry
/// of a block finds the block's number by counting the blocks that begin in an earlier column of its block row, in any
/// row.
///
/// # Safety
/// As for [`mark_blocks`]; `before` are the sums of the counts before each; `first_columns` has an element for each
/// block.
#[kernel(O: [u32, u64])]
pub unsafe fn list_marked_blocks<O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Number of stored entries.
    nnz: u64,
    /// Entries of one warp; a multiple of 32.
    interval: u64,
    /// Rows of a block.
    height: u32,
    /// Columns of a block.
    width: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// A bit for each entry: whether it is the first of its block.
    firsts: Global<u32>,
    /// The number of bits before each word.
    before: Global<u64>,
    /// The first column of each block.
    first_columns: GlobalMut<u32>,
) {
    for_each_entry(rows, nnz, interval, row_offsets, |entry, row| {
        if firsts.load(entry / u64::from(WARP_LANES)) >> (entry as u32 % WARP_LANES) & 1 == 0 {
            return;
        }
        let first_column = column_indices.load(entry) / width * width;
        let mut other = row - row % height;
        let last = rows.min(other + height);
        let mut begin = row_offsets.load(other).widen();
        let mut number = blocks_before(begin, firsts, before);
        while other < last {
            let end = row_offsets.load(other + 1).widen();
            let found = if other == row { entry } else { first_at_least(column_indices, begin, end, first_column) };
            number += blocks_before(found, firsts, before) - blocks_before(begin, firsts, before);
            begin = end;
            other += 1;
        }
        first_columns.store(number, first_column);
    });
}

/// A block shape that is known only at run time.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// Rows of a block.
    pub height: u32,
    /// Columns of a block.
    pub width: u32,
}

/// Position of the words of a block: the first one, and the distance between them.
#[derive(Clone, Copy)]
pub(super) struct Words {
    pub start: u64,
    pub distance: u32,
}

impl Shape {
    /// Slots of a block.
    #[inline(always)]
    pub fn places(self) -> u32 {
        self.height * self.width
    }

    /// Words of block `number` of `count` blocks whose words are interleaved from `start` on.
    #[inline(always)]
    pub fn interleaved<T>(self, start: u64, number: u32, count: u32) -> Words {
        let length = word_length::<T>(self.places());
        Words { start: start + u64::from(number * length), distance: count * length }
    }

    /// The number of a slot, column by column.
    #[inline(always)]
    pub fn place(self, row_in_block: u32, column: u32) -> u32 {
        column * self.height + row_in_block
    }

    /// Index of the value of a slot.
    #[inline(always)]
    pub fn index<T>(self, words: Words, place: u32) -> u64 {
        let length = word_length::<T>(self.places());
        words.start + u64::from(place / length) * u64::from(words.distance) + u64::from(place % length)
    }

    /// The part that an item belongs to, and its row in the block: the items of a block row are ordered by row, and
    /// those of a row by part.
    #[inline(always)]
    pub fn part(self, item: u32, begin: u32, end: u32) -> Part {
        let parts = (end - begin) / self.height;
        Part { row_in_block: (item - begin) / parts, first: (item - begin) % parts * BLOCKS_AT_ONCE, parts }
    }
}

/// Up to [`BLOCKS_AT_ONCE`] blocks of one row.
#[derive(Clone, Copy)]
pub(super) struct Part {
    /// The row in the block row.
    pub row_in_block: u32,
    /// The first of the blocks.
    pub first: u32,
    /// Number of parts of the row.
    pub parts: u32,
}

/// Calls `store` with every slot of a block and its value, or the mark if it has no entry, and counts the entries.
///
/// # Safety
/// The arrays are those of a valid CSR matrix with `rows` rows, each sorted by column.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "they are the arrays and the operation on them")]
pub(super) unsafe fn fill_block<T: Absent, O: Offset>(
    shape: Shape,
    rows: u32,
    block_row: u32,
    first_column: u32,
    row_offsets: Global<O>,
    column_indices: Global<u32>,
    entries: Global<T>,
    store: impl Fn(u32, T),
) -> u32 {
    let mut filled = 0;
    let mut row_in_block = 0;
    while row_in_block < shape.height {
        let row = block_row * shape.height + row_in_block;
        let (mut entry, mut end) = (0, 0);
        if row < rows {
            end = row_offsets.load(row + 1).widen();
            entry = first_at_least(column_indices, row_offsets.load(row).widen(), end, first_column);
        }
        let mut column = 0;
        while column < shape.width {
            let value;
            (value, entry) = sum_of_column(entry, end, first_column.wrapping_add(column), column_indices, entries);
            store(shape.place(row_in_block, column), value);
            filled += u32::from(!value.is_absent());
            column += 1;
        }
        row_in_block += 1;
    }
    filled
}

/// Calls `visit` with column and value of each entry of one row of a block.
///
/// # Safety
/// The words are inside `values`.
#[inline(always)]
pub(super) unsafe fn for_each_entry_of_block<T: Absent>(
    shape: Shape,
    row_in_block: u32,
    first_column: u32,
    words: Words,
    values: Global<T>,
    mut visit: impl FnMut(u32, T),
) {
    let mut column = 0;
    while column < shape.width {
        let value = values.load(shape.index::<T>(words, shape.place(row_in_block, column)));
        if !value.is_absent() {
            visit(first_column + column, value);
        }
        column += 1;
    }
}

/// Writes the offset of a row if this is its first part; the last row also writes its end.
///
/// # Safety
/// `begins` has an element for each item and one more, `row_offsets` one for each row and one more.
#[inline(always)]
pub(super) unsafe fn store_row_offset<O: Offset>(
    rows: u32,
    row: u32,
    item: u32,
    part: Part,
    begins: Global<O>,
    row_offsets: GlobalMut<O>,
) {
    if part.first == 0 && row < rows {
        row_offsets.store(row, begins.load(item));
        if row == rows - 1 {
            row_offsets.store(rows, begins.load(item + part.parts));
        }
    }
}
