//! CSR to BELLPACK and back.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::{Global, GlobalMut, kernel};

use super::blocks::{BLOCKS_AT_ONCE, Part, Shape, Words, fill_block, for_each_entry_of_block, store_row_offset};
use super::entries::for_each_entry;
use super::places::store_count_of_warp;
use crate::Offset;
use crate::absent::Absent;
use crate::ell::PADDING;
use crate::search::first_that;

/// A block row in its partition.
#[derive(Clone, Copy)]
struct Lane {
    /// The partition's first block.
    first_block: u64,
    /// Blocks of each block row of the partition, padding included.
    width: u32,
    /// The number of the block row.
    lane: u32,
    /// Block rows of the partition.
    lanes: u32,
}

impl Lane {
    /// The lane of the block row stored at this position.
    ///
    /// # Safety
    /// Such a block row exists.
    #[inline(always)]
    unsafe fn of(stored_row: u32, block_rows: u32, partition_rows: u32, partition_offsets: Global<u32>) -> Self {
        let partition = stored_row / partition_rows;
        let first_row = partition * partition_rows;
        let (begin, end) = (partition_offsets.load(partition), partition_offsets.load(partition + 1));
        Self {
            first_block: u64::from(begin) * u64::from(partition_rows),
            width: end - begin,
            lane: stored_row - first_row,
            lanes: (block_rows - first_row).min(partition_rows),
        }
    }

    /// Index of the block of a step, and its words.
    #[inline(always)]
    fn block<T>(self, shape: Shape, step: u32) -> (u64, Words) {
        let first_block = self.first_block + u64::from(step) * u64::from(self.lanes);
        let start = first_block * u64::from(shape.places());
        (first_block + u64::from(self.lane), shape.interleaved::<T>(start, self.lane, self.lanes))
    }
}

/// Calls `visit` with the first column and the words of each block of a part, up to the padding.
///
/// # Safety
/// The block row is one of a valid BELLPACK matrix.
#[inline(always)]
unsafe fn for_each_block_of_part<T>(
    shape: Shape,
    lane: Lane,
    part: Part,
    first_columns: Global<u32>,
    mut visit: impl FnMut(u32, Words),
) {
    let last = lane.width.min(part.first + BLOCKS_AT_ONCE);
    let mut step = part.first;
    while step < last {
        let (index, words) = lane.block::<T>(shape, step);
        let first_column = first_columns.load(index);
        if first_column == PADDING {
            return;
        }
        visit(first_column, words);
        step += 1;
    }
}

/// Writes the width of each partition, which is the length of its first block row, and that of the last one a second
/// time.
///
/// # Safety
/// `lengths` has `block_rows` elements, at least 1, `widths` one for each partition, `last_width` one.
#[kernel]
pub unsafe fn bellpack_widths(
    /// Number of block rows.
    block_rows: u32,
    /// Block rows of each partition but the last.
    partition_rows: u32,
    /// The number of blocks of each block row, the longest first.
    lengths: Global<u32>,
    /// Blocks of one block row of each partition, padding included.
    widths: GlobalMut<u32>,
    /// The width of the last partition.
    last_width: GlobalMut<u32>,
) {
    let partitions = block_rows.div_ceil(partition_rows);
    let mut partition = index_1d();
    while partition < partitions {
        let width = lengths.load(partition * partition_rows);
        widths.store(partition, width);
        if partition == partitions - 1 {
            last_width.store(0u32, width);
        }
        partition += grid_threads();
    }
}

/// Fills the blocks and the padding, one thread per block.
///
/// # Safety
/// The arrays are those of a valid CSR matrix with `rows` rows, each sorted by column, and those of BELLPACK for it, all
/// but `first_columns` and `values` filled; `begins` and `listed_columns` are those of BCSR; `partition_rows` is a multiple
/// of 32; `counts` has an element for each warp; blocks of threads are made of whole warps.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn bellpack_from_csr<T: Absent, O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    entries: Global<T>,
    /// Rows of a block.
    height: u32,
    /// Columns of a block.
    width: u32,
    /// The number of blocks before each block row.
    begins: Global<u64>,
    /// The first column of each block, block row by block row.
    listed_columns: Global<u32>,
    /// The number of blocks of each block row, in the order in which they are stored.
    lengths: Global<u32>,
    /// Block rows of each partition but the last.
    partition_rows: u32,
    /// Where each partition begins; partitions + 1 offsets.
    partition_offsets: Global<u32>,
    /// The block row at each stored position.
    block_rows: Global<u32>,
    /// The first column of each block, or [`PADDING`].
    first_columns: GlobalMut<u32>,
    /// The values of the blocks, word by word.
    values: GlobalMut<T>,
    /// Number of slots that each warp has filled with an entry.
    counts: GlobalMut<u32>,
) {
    let shape = Shape { height, width };
    let stored_rows = rows.div_ceil(height);
    let partitions = stored_rows.div_ceil(partition_rows);
    let blocks = u64::from(partition_offsets.load(partitions)) * u64::from(partition_rows);
    let mut filled = 0;
    let mut block = u64::from(index_1d());
    // All lanes of a warp are in the same step of the same partition.
    while block < blocks {
        let step = (block / u64::from(partition_rows)) as u32;
        let partition = first_that(0, partitions, |partition| partition_offsets.load(partition + 1) > step);
        let stored_row = partition * partition_rows + (block % u64::from(partition_rows)) as u32;
        if stored_row < stored_rows {
            let lane = Lane::of(stored_row, stored_rows, partition_rows, partition_offsets);
            let step = step - partition_offsets.load(partition);
            let block_row = block_rows.load(stored_row);
            let mut first_column = PADDING;
            if step < lengths.load(stored_row) {
                first_column = listed_columns.load(begins.load(block_row) + u64::from(step));
            }
            let (index, words) = lane.block::<T>(shape, step);
            first_columns.store(index, first_column);
            let store = |place: u32, value: T| values.store(shape.index::<T>(words, place), value);
            filled += fill_block(shape, rows, block_row, first_column, row_offsets, column_indices, entries, store);
        }
        block += u64::from(grid_threads());
    }
    store_count_of_warp(filled, counts);
}

/// Writes the position at which each block row is stored, and the number of parts into which its rows are split; at
/// least one.
///
/// # Safety
/// The arrays are those of a valid BELLPACK matrix with `stored_rows` block rows; the new ones have an element for
/// each.
#[kernel]
pub unsafe fn bellpack_parts(
    /// Number of block rows.
    stored_rows: u32,
    /// Block rows of each partition but the last.
    partition_rows: u32,
    /// Where each partition begins; partitions + 1 offsets.
    partition_offsets: Global<u32>,
    /// The block row at each stored position.
    block_rows: Global<u32>,
    /// The position at which each block row is stored.
    positions: GlobalMut<u32>,
    /// The number of parts of each row of the block row.
    parts: GlobalMut<u32>,
) {
    let mut stored_row = index_1d();
    while stored_row < stored_rows {
        let width = Lane::of(stored_row, stored_rows, partition_rows, partition_offsets).width;
        let block_row = block_rows.load(stored_row);
        positions.store(block_row, stored_row);
        parts.store(block_row, width.div_ceil(BLOCKS_AT_ONCE).max(1));
        stored_row += grid_threads();
    }
}

/// Counts the entries of each part of a row.
///
/// # Safety
/// The arrays are those of a valid BELLPACK matrix with `rows` rows; `positions` holds the position at which each block
/// row is stored; `item_offsets` are the numbers of parts of all rows of all block rows before each, and `counts` has
/// an element for each part; blocks of threads are made of whole warps, and `interval` is a multiple of 32.
#[kernel(T: scalars)]
pub unsafe fn bellpack_counts<T: Absent>(
    /// Number of rows.
    rows: u32,
    /// Rows of a block.
    height: u32,
    /// Columns of a block.
    width: u32,
    /// Number of parts of all rows.
    items: u32,
    /// Parts of one warp; a multiple of 32.
    interval: u64,
    /// Where the parts of each block row begin; block rows + 1 offsets.
    item_offsets: Global<u32>,
    /// Block rows of each partition but the last.
    partition_rows: u32,
    /// Where each partition begins; partitions + 1 offsets.
    partition_offsets: Global<u32>,
    /// The position at which each block row is stored.
    positions: Global<u32>,
    /// The first column of each block, or [`PADDING`].
    first_columns: Global<u32>,
    /// The values of the blocks, word by word.
    values: Global<T>,
    /// The number of entries of each part.
    counts: GlobalMut<u32>,
) {
    let shape = Shape { height, width };
    let block_rows = rows.div_ceil(height);
    for_each_entry(block_rows, items.into(), interval, item_offsets, |item, block_row| {
        let part = shape.part(item as u32, item_offsets.load(block_row), item_offsets.load(block_row + 1));
        let lane = Lane::of(positions.load(block_row), block_rows, partition_rows, partition_offsets);
        let mut count = 0;
        for_each_block_of_part::<T>(shape, lane, part, first_columns, |first_column, words| {
            for_each_entry_of_block(shape, part.row_in_block, first_column, words, values, |_, _| count += 1);
        });
        counts.store(item, count);
    });
}

/// Writes the entries of each part of a row, and the offset of each row.
///
/// # Safety
/// As for [`bellpack_counts`]; `begins` are the sums of all counts before each and, last, of all; the arrays of CSR
/// have the lengths that follow from these.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn csr_from_bellpack<T: Absent, O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Rows of a block.
    height: u32,
    /// Columns of a block.
    width: u32,
    /// Number of parts of all rows.
    items: u32,
    /// Parts of one warp; a multiple of 32.
    interval: u64,
    /// Where the parts of each block row begin; block rows + 1 offsets.
    item_offsets: Global<u32>,
    /// Block rows of each partition but the last.
    partition_rows: u32,
    /// Where each partition begins; partitions + 1 offsets.
    partition_offsets: Global<u32>,
    /// The position at which each block row is stored.
    positions: Global<u32>,
    /// The first column of each block, or [`PADDING`].
    first_columns: Global<u32>,
    /// The values of the blocks, word by word.
    values: Global<T>,
    /// Where the entries of each part begin.
    begins: Global<O>,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: GlobalMut<O>,
    /// The column of each entry.
    column_indices: GlobalMut<u32>,
    /// The value of each entry.
    entries: GlobalMut<T>,
) {
    let shape = Shape { height, width };
    let block_rows = rows.div_ceil(height);
    for_each_entry(block_rows, items.into(), interval, item_offsets, |item, block_row| {
        let item = item as u32;
        let part = shape.part(item, item_offsets.load(block_row), item_offsets.load(block_row + 1));
        store_row_offset(rows, block_row * height + part.row_in_block, item, part, begins, row_offsets);
        let lane = Lane::of(positions.load(block_row), block_rows, partition_rows, partition_offsets);
        let mut entry = begins.load(item).widen();
        for_each_block_of_part::<T>(shape, lane, part, first_columns, |first_column, words| {
            for_each_entry_of_block(shape, part.row_in_block, first_column, words, values, |column, value| {
                column_indices.store(entry, column);
                entries.store(entry, value);
                entry += 1;
            });
        });
    });
}
