//! CSR with equal tiles of rows and entries for all blocks: the merge path (Anzt et al. 2020, Table 5) determines where
//! a tile begins, and within it groups of lanes add up whole rows, as in CSR-Adaptive (Greathouse & Daga 2014). Without
//! atomics: the same bits in every run. For few tiles, [`csr_tiled_arriving`](crate::csr_tiled_arriving) saves the
//! second launch.
//!
//! As for [`csr_merge_path`](crate::csr_merge_path::csr_merge_path), the row ends and the entries are merged into one
//! list, and the end of row i is item `row_offsets[i + 1] + i`. The rows in which tiles end depend only on the matrix:
//! [`csr_tile_rows`] finds them once, for all multiplications.

use cuda_std::shared::{Shared, dynamic};
use cuda_std::thread::{block_dim_x, block_idx_x, index_1d, sync_threads, thread_idx_x};
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, warp_shuffle_idx, warp_vote_ballot};
use cuda_std::{Global, GlobalMut, GpuScalar, Stored, kernel};

use crate::Offset;
use crate::reduction::{sum_over_groups, sum_over_lanes};
use crate::search::first_in_range;
use crate::values::Values;
use crate::vector::update;

/// Entries that a thread of a block can load.
pub(crate) const THREAD_ENTRIES: u32 = 8;

/// Approximate number of entries of a row that a lane adds up, as far as a warp has lanes.
const LANE_ENTRIES: u32 = 4;

/// A row with more entries per lane of its group is left to the whole warp.
const LONG: u32 = 4 * LANE_ENTRIES;

/// Bytes of shared memory that a block of `threads` threads needs for values of `T`.
pub const fn shared_bytes<T>(threads: u32) -> u32 {
    THREAD_ENTRIES * threads * size_of::<T>() as u32
}

/// Number of items of the tile of a block of `threads` threads. One warp's entries are left free, because a block loads
/// from a multiple of 32 entries on: otherwise every warp would request one sector more than it needs of each array.
pub const fn tile_items(threads: u32) -> u32 {
    THREAD_ENTRIES * threads - WARP_LANES
}

/// Finds the row in which each tile ends; for the last tile, the last row.
///
/// # Safety
/// The row offsets are those of a valid CSR matrix with `rows` rows, at least one, and `carry_rows` has an element for
/// each tile.
#[kernel(O: [u32, u64])]
pub unsafe fn csr_tile_rows<O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Number of tiles.
    tiles: u32,
    /// Items of a tile.
    tile_items: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The row in which each tile ends.
    carry_rows: GlobalMut<u32>,
) {
    let tile = index_1d();
    if tile < tiles {
        let end = u64::from(tile + 1) * u64::from(tile_items);
        let in_it = |row: u64| row_offsets.load(row + 1).widen() + row >= end;
        carry_rows.store(tile, first_in_range(0, u64::from(rows - 1), in_it) as u32);
    }
}

/// y ← α A x + β y, except for each tile's part of the row in which it ends; that goes to the carries, which
/// [`coo_carries`](crate::coo::coo_carries) adds.
///
/// Each block has one tile. Its products go to shared memory, and then each row is added up by a number of lanes that
/// suits the mean row of the tile. Rows that are much longer are left to the whole warp.
///
/// # Safety
/// The arrays are those of a valid CSR matrix with `rows` rows and `nnz` entries; `x` has an element for each column,
/// `y` one for each row; `table` has an entry for each code among the values; the carries have one element for each
/// tile of [`tile_items`], and the rows of [`csr_tile_rows`]; blocks are made of whole warps, with [`shared_bytes`].
#[kernel((V, T): stored, O: [u32, u64])]
pub unsafe fn csr_tiled<V: Stored<T>, T: GpuScalar, O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Number of stored entries.
    nnz: u64,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<V>,
    /// The value that each code stands for.
    table: Global<T>,
    /// The factor of A x.
    alpha: T,
    /// The vector to multiply.
    x: Global<T>,
    /// The factor of y.
    beta: T,
    /// The result.
    y: GlobalMut<T>,
    /// The row in which each tile ends.
    carry_rows: Global<u32>,
    /// The partial sum of that row.
    carry_values: GlobalMut<T>,
) {
    let tile = block_idx_x();
    let tile_items = tile_items(block_dim_x());
    let begin = u64::from(tile) * u64::from(tile_items);
    let items = u64::from(rows) + nnz;
    let row = if tile > 0 { carry_rows.load(tile - 1) } else { 0 };
    let (items, next_row) = if items - begin > u64::from(tile_items) {
        (tile_items, carry_rows.load(tile))
    } else {
        ((items - begin) as u32, rows)
    };
    let ended = next_row - row;
    let first_entry = begin - u64::from(row);
    let first_place = first_entry as u32 % WARP_LANES;
    let place_0 = first_entry - u64::from(first_place);
    let places = Range { begin: first_place, end: first_place + items - ended };
    let values = Values { stored: values, table };
    let products = products(place_0, places, column_indices, values, x);
    if ended == 0 {
        let sum = sum_over_block(add_up(products));
        if thread_idx_x() == 0 {
            carry_values.store(tile, sum);
        }
        return;
    }
    let shared = dynamic::<T>(0);
    for step in 0..THREAD_ENTRIES {
        shared.store(thread_idx_x() + step * block_dim_x(), products[step as usize]);
    }
    sync_threads();
    let rows_of_tile = Rows { row, count: ended + 1, ended, place_0, places, row_offsets, products: shared };
    rows_of_tile.add_up(|row_in_tile, sum| {
        if row_in_tile < ended {
            update(y, row + row_in_tile, alpha, sum, beta);
        } else {
            carry_values.store(tile, sum);
        }
    });
}

/// Positions of a tile's entries among those that a block can load.
#[derive(Clone, Copy)]
pub(crate) struct Range {
    pub begin: u32,
    pub end: u32,
}

/// This thread's products of the entries in `range` with x, 0 at other positions. All entries are loaded before the
/// first product, to keep the memory busy.
///
/// # Safety
/// These entries and all before them exist; the entry at position 0 is `place_0`. `x` has an element for each of their
/// columns, and the table one for each of their codes.
#[inline(always)]
pub(crate) unsafe fn products<V: Stored<T>, T: GpuScalar>(
    place_0: u64,
    range: Range,
    column_indices: Global<u32>,
    values: Values<V, T>,
    x: Global<T>,
) -> [T; THREAD_ENTRIES as usize] {
    if range.begin == range.end {
        return [T::ZERO; THREAD_ENTRIES as usize];
    }
    let places = [0, 1, 2, 3, 4, 5, 6, 7].map(|step| thread_idx_x() + step * block_dim_x());
    // Past the end, the last entry is loaded again, so that no load waits for a comparison.
    let loaded = places.map(|place| place_0 + u64::from(place.min(range.end - 1)));
    let columns = loaded.map(|entry| column_indices.load_streaming(entry));
    let stored = loaded.map(|entry| values.stored.load_streaming(entry));
    let elements = columns.map(|column| x.load(column));
    let values = stored.map(|stored| values.widen(stored));
    let product = |step: usize| {
        let there = range.begin <= places[step] && places[step] < range.end;
        if there { values[step] * elements[step] } else { T::ZERO }
    };
    [product(0), product(1), product(2), product(3), product(4), product(5), product(6), product(7)]
}

/// Sum of the products, as a tree.
#[inline(always)]
pub(crate) fn add_up<T: GpuScalar>(products: [T; THREAD_ENTRIES as usize]) -> T {
    let [a, b, c, d, e, f, g, h] = products;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

/// The sum of `value` over the block, in its first thread.
///
/// # Safety
/// All threads of the block call it; blocks are made of whole warps, and have shared memory for a value per warp.
#[inline(always)]
pub(crate) unsafe fn sum_over_block<T: GpuScalar>(value: T) -> T {
    let sums = dynamic::<T>(0);
    let sum = sum_over_lanes::<T, 32>(value);
    if lane_id() == 0 {
        sums.store(thread_idx_x() / WARP_LANES, sum);
    }
    sync_threads();
    let sum = if lane_id() < block_dim_x() / WARP_LANES { sums.load(lane_id()) } else { T::ZERO };
    sum_over_lanes::<T, 32>(sum)
}

/// The rows of a tile: those that end in it, and the part of the next one that it ends inside, if any.
pub(crate) struct Rows<T, O> {
    /// The first row.
    pub row: u32,
    /// Number of rows, including that part.
    pub count: u32,
    /// Number of rows that end in the tile.
    pub ended: u32,
    /// The entry whose product is at position 0.
    pub place_0: u64,
    /// Positions of the tile's entries.
    pub places: Range,
    /// Offset of each row of the matrix.
    pub row_offsets: Global<O>,
    /// The product of each entry.
    pub products: Shared<T>,
}

impl<T: GpuScalar, O: Offset> Rows<T, O> {
    /// Adds up each row and passes it, numbered within the tile, to `finish` in one thread, like
    /// [`add_up_rows`](crate::reduction::add_up_rows): by that function,
    /// [`csr_tiled_arriving`](crate::csr_tiled_arriving) would take four registers more in float64, and a
    /// multiprocessor would have room for five blocks of 256 threads instead of six.
    ///
    /// # Safety
    /// All threads of the block call it, and the products are written.
    #[inline(always)]
    pub unsafe fn add_up(&self, finish: impl Fn(u32, T)) {
        // The number of lanes per row is a power of two, so that divisions become shifts.
        let mut shift = 0;
        while shift < 5 && (self.count * LANE_ENTRIES) << shift < self.places.end - self.places.begin {
            shift += 1;
        }
        let lanes = 1 << shift;
        let lane = lane_id() & (lanes - 1);
        let step = block_dim_x() >> shift;
        // The warp stays together for the sums over its lanes: it continues while its first row exists.
        let mut first = (thread_idx_x() - lane_id()) >> shift;
        while first < self.count {
            let row = first + (lane_id() >> shift);
            let (begin, end) = self.entries_of(row);
            let long = end - begin > LONG * lanes;
            let own_end = if long { begin } else { end };
            let sum = sum_over_groups(self.sum(begin + lane, own_end, lanes), lanes);
            if lane == 0 && row < self.count && !long {
                finish(row, sum);
            }
            let mut left = warp_vote_ballot(ALL_LANES, long && lane == 0);
            while left != 0 {
                let source = left.trailing_zeros();
                let (begin, _) = warp_shuffle_idx(ALL_LANES, begin, source, WARP_LANES);
                let (end, _) = warp_shuffle_idx(ALL_LANES, end, source, WARP_LANES);
                let sum = sum_over_lanes::<T, 32>(self.sum(begin + lane_id(), end, WARP_LANES));
                if lane_id() == source {
                    finish(row, sum);
                }
                left &= left - 1;
            }
            first += step;
        }
    }

    /// Positions of a row's entries; none past the last row.
    ///
    /// # Safety
    /// The offsets are those of the matrix.
    #[inline(always)]
    unsafe fn entries_of(&self, row: u32) -> (u32, u32) {
        let offset = |row: u32| (self.row_offsets.load(self.row + row).widen() - self.place_0) as u32;
        let begin = if row == 0 { self.places.begin } else { offset(row.min(self.ended)) };
        let end = if row < self.ended { offset(row + 1) } else { self.places.end };
        if row < self.count { (begin, end) } else { (0, 0) }
    }

    /// The sum of every `step`-th product from `place` on, before `end`.
    ///
    /// # Safety
    /// The products are written.
    #[inline(always)]
    unsafe fn sum(&self, mut place: u32, end: u32, step: u32) -> T {
        let mut sum = T::ZERO;
        while place < end {
            sum = sum + self.products.load(place);
            place += step;
        }
        sum
    }
}
