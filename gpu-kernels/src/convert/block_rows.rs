//! The dense blocks of a matrix whose rows are sorted and not long: eight lanes go through the rows of a block row side
//! by side. Long rows would leave most lanes idle; for these, use the marks of [`blocks`](super::blocks).

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, warp_shuffle_xor, warp_vote_any};
use cuda_std::{Global, GlobalMut, kernel};

use crate::Offset;

/// Lanes per block row: one per row, and no block has more rows.
pub const ROW_LANES: u32 = 8;

/// A row without further entries.
const NONE: u32 = u32::MAX;

/// Counts the blocks of each block row.
///
/// # Safety
/// The arrays are those of a valid CSR matrix with `rows` rows, each sorted by column; blocks are at most [`ROW_LANES`]
/// high; `lengths` has an element for each block row; blocks of threads are made of whole warps.
#[kernel(O: [u32, u64])]
pub unsafe fn count_blocks<O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Rows of a block.
    height: u32,
    /// Columns of a block.
    width: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The number of blocks of each block row.
    lengths: GlobalMut<u32>,
) {
    for_each_block_row(rows, height, |block_row| {
        let count = for_each_block(block_row, rows, height, width, row_offsets, column_indices, |_, _| ());
        if lane_id().is_multiple_of(ROW_LANES) && block_row < rows.div_ceil(height) {
            lengths.store(block_row, count);
        }
    });
}

/// Writes the first column of each block; the blocks of a block row are in the order of their columns.
///
/// # Safety
/// As for [`count_blocks`]; `begins` are the numbers of blocks before each block row, and `first_columns` has an
/// element for each block.
#[kernel(O: [u32, u64])]
pub unsafe fn list_blocks<O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Rows of a block.
    height: u32,
    /// Columns of a block.
    width: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The number of blocks before each block row.
    begins: Global<u64>,
    /// The first column of each block.
    first_columns: GlobalMut<u32>,
) {
    for_each_block_row(rows, height, |block_row| {
        for_each_block(block_row, rows, height, width, row_offsets, column_indices, |number, first_column| {
            if lane_id().is_multiple_of(ROW_LANES) {
                first_columns.store(begins.load(block_row) + u64::from(number), first_column);
            }
        });
    });
}

/// Calls `visit` with the block row of these [`ROW_LANES`] lanes, which may be past the last one; all lanes of the warp
/// call it together.
#[inline(always)]
fn for_each_block_row(rows: u32, height: u32, visit: impl Fn(u32)) {
    let mut first = index_1d() / WARP_LANES * (WARP_LANES / ROW_LANES);
    while first < rows.div_ceil(height) {
        visit(first + lane_id() / ROW_LANES);
        first += grid_threads() / ROW_LANES;
    }
}

/// Calls `visit` with the number and the first column of each block of these lanes' block row, and returns their
/// number.
///
/// # Safety
/// As for [`count_blocks`]; all lanes of the warp call it.
#[inline(always)]
unsafe fn for_each_block<O: Offset>(
    block_row: u32,
    rows: u32,
    height: u32,
    width: u32,
    row_offsets: Global<O>,
    column_indices: Global<u32>,
    visit: impl Fn(u32, u32),
) -> u32 {
    let row_in_block = lane_id() % ROW_LANES;
    let (mut entry, mut end) = (0, 0);
    if block_row < rows.div_ceil(height) && row_in_block < height.min(rows - block_row * height) {
        let row = block_row * height + row_in_block;
        (entry, end) = (row_offsets.load(row).widen(), row_offsets.load(row + 1).widen());
    }
    // The first column of this row's next block.
    let mut next = NONE;
    if entry < end {
        next = column_indices.load(entry) / width * width;
    }
    let mut count = 0;
    loop {
        let first_column = smallest_of_rows(next);
        if !warp_vote_any(ALL_LANES, first_column != NONE) {
            return count;
        }
        if first_column != NONE {
            visit(count, first_column);
            count += 1;
            if next == first_column {
                // Skip the rest of the block.
                next = NONE;
                entry += 1;
                while entry < end {
                    let column = column_indices.load(entry);
                    if column - first_column >= width {
                        next = column / width * width;
                        break;
                    }
                    entry += 1;
                }
            }
        }
    }
}

/// The smallest `value` of these [`ROW_LANES`] lanes.
///
/// # Safety
/// All lanes of the warp call it.
#[inline(always)]
unsafe fn smallest_of_rows(mut value: u32) -> u32 {
    let mut distance = ROW_LANES / 2;
    while distance > 0 {
        value = value.min(warp_shuffle_xor(ALL_LANES, value, distance, WARP_LANES).0);
        distance /= 2;
    }
    value
}
