//! CSR to BCSR and back.

use cuda_std::shared::dynamic;
use cuda_std::thread::{grid_threads, index_1d, thread_idx_x};
use cuda_std::warp::{WARP_LANES, lane_id};
use cuda_std::{Global, GlobalMut, kernel};

use super::blocks::{BLOCKS_AT_ONCE, Shape, Words, fill_block, for_each_entry_of_block, store_row_offset};
use super::entries::for_each_entry;
use super::places::store_count_of_warp;
use crate::Offset;
use crate::absent::Absent;
use crate::bcsr::GROUP_BLOCKS;

/// The words of block `number` of a block row that spans blocks `begin` to `end`.
#[inline(always)]
fn words_of<T>(shape: Shape, begin: u32, end: u32, number: u32) -> Words {
    let group = number - number % GROUP_BLOCKS;
    let start = u64::from(begin + group) * u64::from(shape.places());
    shape.interleaved::<T>(start, number - group, (end - begin - group).min(GROUP_BLOCKS))
}

/// Fills the blocks, one thread per block. Each thread collects the values in its own part of shared memory and then
/// writes them all at once: the words of neighbouring blocks are interleaved, and a cache keeps partly written lines
/// only for a short time.
///
/// # Safety
/// The arrays are those of a valid CSR matrix with `rows` rows, each sorted by column, and those of BCSR for it, all
/// but `values` filled; `counts` has an element for each warp; blocks of threads are made of whole warps, with shared
/// memory for one block per thread; `interval` is a multiple of 32.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn bcsr_from_csr<T: Absent, O: Offset>(
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
    /// Number of blocks.
    blocks: u32,
    /// Blocks of one warp; a multiple of 32.
    interval: u64,
    /// Where each block row begins; block rows + 1 offsets.
    block_offsets: Global<u32>,
    /// The first column of each block.
    first_columns: Global<u32>,
    /// The values of the blocks, word by word.
    values: GlobalMut<T>,
    /// Number of slots that each warp has filled with an entry.
    counts: GlobalMut<u32>,
) {
    let shape = Shape { height, width };
    let warp = thread_idx_x() / WARP_LANES;
    let collected = dynamic::<T>(warp * WARP_LANES * shape.places() * size_of::<T>() as u32);
    let filled = core::cell::Cell::new(0);
    for_each_entry(rows.div_ceil(height), blocks.into(), interval, block_offsets, |block, block_row| {
        let (begin, end) = (block_offsets.load(block_row), block_offsets.load(block_row + 1));
        let words = words_of::<T>(shape, begin, end, block as u32 - begin);
        let first_column = first_columns.load(block);
        let collect = |place: u32, value: T| collected.store(place * WARP_LANES + lane_id(), value);
        let of_block = fill_block(shape, rows, block_row, first_column, row_offsets, column_indices, entries, collect);
        filled.set(filled.get() + of_block);
        let mut place = 0;
        while place < shape.places() {
            values.store(shape.index::<T>(words, place), collected.load(place * WARP_LANES + lane_id()));
            place += 1;
        }
    });
    store_count_of_warp(filled.get(), counts);
}

/// Number of parts into which each row of a block row is split; at least one.
///
/// # Safety
/// `block_offsets` has `block_rows` + 1 elements, `parts` one for each block row.
#[kernel]
pub unsafe fn bcsr_parts(
    /// Number of block rows.
    block_rows: u32,
    /// Where each block row begins.
    block_offsets: Global<u32>,
    /// The number of parts of each row of the block row.
    parts: GlobalMut<u32>,
) {
    let mut block_row = index_1d();
    while block_row < block_rows {
        let blocks = block_offsets.load(block_row + 1) - block_offsets.load(block_row);
        parts.store(block_row, blocks.div_ceil(BLOCKS_AT_ONCE).max(1));
        block_row += grid_threads();
    }
}

/// Counts the entries of each part of a row.
///
/// # Safety
/// The arrays are those of a valid BCSR matrix with `rows` rows; `item_offsets` are the numbers of parts of all rows of
/// all block rows before each, and `counts` has an element for each part; blocks of threads are made of whole warps,
/// and `interval` is a multiple of 32.
#[kernel(T: scalars)]
pub unsafe fn bcsr_counts<T: Absent>(
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
    /// Where each block row begins; block rows + 1 offsets.
    block_offsets: Global<u32>,
    /// The values of the blocks, word by word.
    values: Global<T>,
    /// The number of entries of each part.
    counts: GlobalMut<u32>,
) {
    let shape = Shape { height, width };
    for_each_entry(rows.div_ceil(height), items.into(), interval, item_offsets, |item, block_row| {
        let part = shape.part(item as u32, item_offsets.load(block_row), item_offsets.load(block_row + 1));
        let (begin, end) = (block_offsets.load(block_row), block_offsets.load(block_row + 1));
        let last = (end - begin).min(part.first + BLOCKS_AT_ONCE);
        let mut count = 0;
        let mut number = part.first;
        while number < last {
            let words = words_of::<T>(shape, begin, end, number);
            for_each_entry_of_block(shape, part.row_in_block, 0, words, values, |_, _| count += 1);
            number += 1;
        }
        counts.store(item, count);
    });
}

/// Writes the entries of each part of a row, and the offset of each row.
///
/// # Safety
/// As for [`bcsr_counts`]; `begins` are the sums of all counts before each and, last, of all; the arrays of CSR have
/// the lengths that follow from these.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn csr_from_bcsr<T: Absent, O: Offset>(
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
    /// Where each block row begins; block rows + 1 offsets.
    block_offsets: Global<u32>,
    /// The first column of each block.
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
    for_each_entry(rows.div_ceil(height), items.into(), interval, item_offsets, |item, block_row| {
        let item = item as u32;
        let part = shape.part(item, item_offsets.load(block_row), item_offsets.load(block_row + 1));
        store_row_offset(rows, block_row * height + part.row_in_block, item, part, begins, row_offsets);
        let (begin, end) = (block_offsets.load(block_row), block_offsets.load(block_row + 1));
        let last = (end - begin).min(part.first + BLOCKS_AT_ONCE);
        let mut entry = begins.load(item).widen();
        let mut number = part.first;
        while number < last {
            let words = words_of::<T>(shape, begin, end, number);
            let first_column = first_columns.load(begin + number);
            for_each_entry_of_block(shape, part.row_in_block, first_column, words, values, |column, value| {
                column_indices.store(entry, column);
                entries.store(entry, value);
                entry += 1;
            });
            number += 1;
        }
    });
}
