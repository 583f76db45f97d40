//! CSR with equal shares of rows and entries for all warps (merge path; Anzt et al. 2020, Table 5), without atomics:
//! the same bits in every run.
//!
//! The row ends and the entries are merged into one list, in which a row's end comes right after its entries. The end
//! of row i is item `row_offsets[i + 1] + i`, so one search finds an item's position in both lists (the point where the
//! path crosses that diagonal). However the entries are spread over the rows, and however many rows are empty, equal
//! shares of the list are equal work.

use cuda_std::shared::{Shared, dynamic};
use cuda_std::thread::{index_1d, thread_idx_x};
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, sync_warp, warp_shuffle_idx, warp_shuffle_up};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use crate::Offset;
use crate::reduction::sum_over_runs;
use crate::search::first_that;
use crate::vector::update;

/// Items that a lane takes from each tile; odd, so that lanes read different banks of shared memory.
const LANE_ITEMS: u32 = 7;

/// Items that a warp processes at a time.
const TILE: u32 = LANE_ITEMS * WARP_LANES;

/// Bytes of shared memory that a warp needs for values of `T`. They hold a tile's products and, in the space of one
/// product each, its row ends.
pub const fn shared_bytes<T>() -> u32 {
    TILE * size_of::<T>() as u32
}

/// y ← α A x + β y, except for each warp's part of its last row, whose end it does not see; that goes to the carries,
/// which [`coo_carries`](crate::coo::coo_carries) adds.
///
/// Each warp has one interval of the merged list and goes through it tile by tile. The products of a tile go to shared
/// memory; then each lane adds up its own few items sequentially, and a segmented sum over the lanes joins the rows
/// that span several lanes.
///
/// # Safety
/// The arrays are those of a valid CSR matrix with `rows` rows and `nnz` entries; `x` has an element for each column,
/// `y` one for each row; the carries have one element for each interval; blocks are made of whole warps, with
/// [`shared_bytes`] per warp.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn csr_merge_path<T: GpuScalar, O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Number of stored entries.
    nnz: u64,
    /// Items of one warp.
    interval: u64,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// The factor of A x.
    alpha: T,
    /// The vector to multiply.
    x: Global<T>,
    /// The factor of y.
    beta: T,
    /// The result.
    y: GlobalMut<T>,
    /// The row in which each interval ends.
    carry_rows: GlobalMut<u32>,
    /// The partial sum of that row.
    carry_values: GlobalMut<T>,
) {
    let warp = index_1d() / WARP_LANES;
    let begin = u64::from(warp) * interval;
    let items = u64::from(rows) + nnz;
    if begin >= items {
        return;
    }
    let end = items.min(begin + interval);
    let shared_offset = thread_idx_x() / WARP_LANES * shared_bytes::<T>();
    let mut row = row_at(begin, 0, rows, row_offsets);
    let mut carry = T::ZERO;
    let mut item = begin;
    while item < end {
        let items = (end - item).min(TILE.into()) as u32;
        let next_row = row_at(item + u64::from(items), row, rows.min(row + items), row_offsets);
        let tile = Tile::new(shared_offset, next_row - row, items);
        let first_entry = item - u64::from(row);
        tile.write_row_ends(row, first_entry, row_offsets);
        tile.write_products(first_entry, column_indices, values, x);
        sync_warp(ALL_LANES);
        carry = tile.add_up(carry, |row_in_tile, sum| update(y, row + row_in_tile, alpha, sum, beta));
        sync_warp(ALL_LANES);
        row = next_row;
        item += u64::from(items);
    }
    if lane_id() == 0 {
        // Past the last row the carry is zero, and may go to any row.
        carry_rows.store(warp, row.min(rows - 1));
        carry_values.store(warp, carry);
    }
}

/// The row that contains `item`: the first of the rows from `low` to `high` whose end is not before it, or `high`.
///
/// # Safety
/// All lanes of the warp call it, with the same arguments; the rows have offsets.
#[inline(always)]
unsafe fn row_at<O: Offset>(item: u64, low: u32, high: u32, row_offsets: Global<O>) -> u32 {
    first_that(low, high, |row| row_offsets.load(row + 1).widen() + u64::from(row) >= item)
}

/// Neighbouring items of the merged list, in the shared memory of a warp.
struct Tile<T> {
    /// Number of rows that end in the tile. Rows are numbered from the tile's first.
    ended: u32,
    /// Number of entries in the tile.
    entries: u32,
    /// The product of each entry.
    products: Shared<T>,
    /// The entry before which each row ends.
    row_ends: Shared<u32>,
}

impl<T: GpuScalar> Tile<T> {
    /// A tile of `items` items with the ends of `ended` rows among them.
    #[inline(always)]
    fn new(shared_offset: u32, ended: u32, items: u32) -> Self {
        let entries = items - ended;
        let products = dynamic(shared_offset);
        let row_ends = dynamic(shared_offset + entries * size_of::<T>() as u32);
        Self { ended, entries, products, row_ends }
    }

    /// Writes the row ends.
    ///
    /// # Safety
    /// The tile's rows begin with `row`, its entries with `first_entry`.
    #[inline(always)]
    unsafe fn write_row_ends<O: Offset>(&self, row: u32, first_entry: u64, row_offsets: Global<O>) {
        let mut place = lane_id();
        while place < self.ended {
            let row_end = row_offsets.load(row + place + 1).widen();
            self.row_ends.store(place, (row_end - first_entry) as u32);
            place += WARP_LANES;
        }
    }

    /// Writes the products of the entries with x. All entries are loaded before the first product, to keep the
    /// memory busy.
    ///
    /// # Safety
    /// The tile's entries begin with `first_entry`, and `x` has an element for each of their columns.
    #[inline(always)]
    unsafe fn write_products(&self, first_entry: u64, column_indices: Global<u32>, values: Global<T>, x: Global<T>) {
        // One address for all steps: with an address per step, ptxas lacks the registers to load them all at once.
        let first = first_entry + u64::from(lane_id());
        let steps = [0, 1, 2, 3, 4, 5, 6].map(|step| step * WARP_LANES);
        let inside = steps.map(|step| lane_id() + step < self.entries);
        let mut columns = [0; LANE_ITEMS as usize];
        let mut factors = [T::ZERO; LANE_ITEMS as usize];
        for step in 0..LANE_ITEMS as usize {
            if inside[step] {
                columns[step] = column_indices.load_streaming(first + u64::from(steps[step]));
            }
        }
        for step in 0..LANE_ITEMS as usize {
            if inside[step] {
                factors[step] = values.load_streaming(first + u64::from(steps[step]));
            }
        }
        let mut elements = [T::ZERO; LANE_ITEMS as usize];
        for step in 0..LANE_ITEMS as usize {
            if inside[step] {
                elements[step] = x.load(columns[step]);
            }
        }
        for step in 0..LANE_ITEMS as usize {
            if inside[step] {
                self.products.store(lane_id() + steps[step], factors[step] * elements[step]);
            }
        }
    }

    /// Adds up each row, the first one with its `carry` from earlier tiles, and passes those that end to `finish`.
    /// Returns the partial sum of the row after them.
    ///
    /// # Safety
    /// All lanes of the warp call it, and the tile is written.
    #[inline(always)]
    unsafe fn add_up(&self, carry: T, finish: impl Fn(u32, T)) -> T {
        let lane = lane_id();
        let items = self.ended + self.entries;
        let mut item = items.min(lane * LANE_ITEMS);
        let end = items.min(item + LANE_ITEMS);
        let first_row = self.row_at(item);
        let mut row = first_row;
        let mut first_sum = T::ZERO;
        let mut sum = if lane == 0 { carry } else { T::ZERO };
        while item < end {
            let entry = item - row;
            if row < self.ended && self.row_ends.load(row) <= entry {
                // Earlier lanes may have a part of this lane's first row.
                if row == first_row {
                    first_sum = sum;
                } else {
                    finish(row, sum);
                }
                sum = T::ZERO;
                row += 1;
            } else {
                sum = sum + self.products.load(entry);
            }
            item += 1;
        }
        let left = sum_over_runs(row, sum);
        let (left_below, there) = warp_shuffle_up(ALL_LANES, left, 1, WARP_LANES);
        if row > first_row {
            finish(first_row, if there { left_below + first_sum } else { first_sum });
        }
        warp_shuffle_idx(ALL_LANES, left, WARP_LANES - 1, WARP_LANES).0
    }

    /// The row that contains an item of the tile.
    ///
    /// # Safety
    /// The tile is written, and the item is in it or just past it.
    #[inline(always)]
    unsafe fn row_at(&self, item: u32) -> u32 {
        let mut low = item.saturating_sub(self.entries);
        let mut high = item.min(self.ended);
        while low < high {
            let middle = (low + high) / 2;
            if self.row_ends.load(middle) + middle >= item {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }
}
