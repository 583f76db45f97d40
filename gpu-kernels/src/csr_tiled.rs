//! CSR with equal tiles of rows and entries for all blocks: the merge path (Anzt et al. 2020, Table 5) says where a tile
//! begins, and within it groups of lanes add up whole rows, as in CSR-Adaptive (Greathouse & Daga 2014). The same bits
//! every run: the pieces of a row that several tiles share are added up in an order that depends on the tiles alone, by
//! the block that arrives last, or by a launch of its own. To arrive costs each block a trip to L2 when all its work is
//! done, so with many waves of blocks the second launch is cheaper.
//!
//! As for [`csr_merge_path`](crate::csr_merge_path::csr_merge_path), the ends of the rows and the entries are merged
//! into one list, and the end of row i is item `row_offsets[i + 1] + i`. All
//! tiles have the same number of items, but one that would begin shortly after the start of a row takes that row from its
//! start. What each tile has depends on the matrix alone: [`csr_tiles`] finds it once, for all multiplications.

use cuda_std::shared::{Shared, dynamic};
use cuda_std::thread::{block_dim_x, block_idx_x, index_1d, sync_threads, thread_idx_x};
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, sync_warp, warp_shuffle_idx, warp_vote_any, warp_vote_ballot};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use crate::Offset;
use crate::reduction::{sum_over_groups, sum_over_lanes};
use crate::search::first_in_range;
use crate::vector::update;

/// Entries that a thread of a block can load.
const THREAD_ENTRIES: u32 = 8;

/// A lane adds up about as many entries of a row, as far as a warp has lanes.
const LANE_ENTRIES: u32 = 4;

/// A row with more entries for each lane of its group is left to the whole warp.
const LONG: u32 = 4 * LANE_ENTRIES;

/// Numbers that say where a tile begins: see [`Begin`].
pub const BEGIN_NUMBERS: u32 = 4;

/// In place of a number of entries taken: the tile begins inside its first row.
const INSIDE: u32 = u32::MAX;

/// Bytes of shared memory that a block of so many threads needs for values of `T`.
pub const fn shared_bytes<T>(threads: u32) -> u32 {
    THREAD_ENTRIES * threads * size_of::<T>() as u32
}

/// Items of the tile of a block of so many threads. There is room for one warp's entries more, because a block loads
/// from a multiple of 32 entries on: otherwise every warp would ask for one sector more than it needs of each array. And
/// there is room for the entries before its first item that a tile takes at most to have its first row whole.
pub const fn tile_items(threads: u32, most_taken: u32) -> u32 {
    THREAD_ENTRIES * threads - WARP_LANES - most_taken
}

/// Those entries where blocks arrive: then fewer rows are shared, and more blocks are done sooner.
pub const fn most_taken(threads: u32) -> u32 {
    threads / 2
}

/// Where a tile begins.
#[derive(Clone, Copy)]
struct Begin {
    /// The first row that ends at the tile's first item or after it.
    row: u32,
    /// How many entries of that row before that item the tile takes too, or [`INSIDE`] if they are too many.
    taken: u32,
    /// If it begins inside the row: the first tile that has part of it.
    first_tile: u32,
    /// Likewise, the last such tile.
    last_tile: u32,
}

impl Begin {
    /// Loads what [`csr_tiles`] wrote for a tile.
    ///
    /// # Safety
    /// `begins` is its array, and has the tile.
    #[inline(always)]
    unsafe fn load(begins: Global<u32>, tile: u32) -> Self {
        let [row, taken, first_tile, last_tile] = begins.load_streaming_4(u64::from(tile) * u64::from(BEGIN_NUMBERS));
        Self { row, taken, first_tile, last_tile }
    }

    fn is_inside(self) -> bool {
        self.taken == INSIDE
    }

    /// The sum of the pieces of the row that it begins inside, in the first lane.
    ///
    /// # Safety
    /// It begins inside a row, all lanes of the warp are here, and `piece` may be called for all pieces of that row.
    #[inline(always)]
    unsafe fn sum<T: GpuScalar>(self, piece: impl Fn(u32) -> T) -> T {
        let mut sum = T::ZERO;
        let mut tile = self.first_tile + lane_id();
        while tile <= self.last_tile {
            sum = sum + piece(2 * tile + u32::from(tile < self.last_tile));
            tile += WARP_LANES;
        }
        sum_over_lanes::<T, 32>(sum)
    }

    /// The tile's first entry, where its first item is `item`.
    fn entry(self, item: u64) -> u64 {
        let taken = if self.is_inside() { 0 } else { self.taken };
        item - u64::from(self.row) - u64::from(taken)
    }
}

/// Finds where each tile begins and where the last one ends, stored as one more tile; sets all arrivals to 0.
///
/// # Safety
/// The row offsets are those of a valid CSR matrix with `rows` rows, of which there is one, and there are so many tiles
/// of so many items as its rows and entries take; `begins` has [`BEGIN_NUMBERS`] elements for each and for the end,
/// `arrivals` one for each.
#[kernel(O: [u32, u64])]
pub unsafe fn csr_tiles<O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Number of tiles.
    tiles: u32,
    /// Items of a tile.
    tile_items: u32,
    /// Entries that a tile takes, at most.
    most_taken: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// Where each tile begins.
    begins: GlobalMut<u32>,
    /// For each tile, 0.
    arrivals: GlobalMut<u32>,
) {
    let tile = index_1d();
    if tile > tiles {
        return;
    }
    let tile_items = u64::from(tile_items);
    let item = u64::from(tile) * tile_items;
    let offset = |row: u64| row_offsets.load(row).widen();
    let row = first_in_range(0, u64::from(rows), |row| offset(row + 1) + row >= item);
    let first_entry = offset(row);
    let taken = item - row - first_entry;
    let begin = if taken <= u64::from(most_taken) || tile == tiles {
        Begin { row: row as u32, taken: taken as u32, first_tile: 0, last_tile: 0 }
    } else {
        // If the row has few entries in that tile, the next tile takes them.
        let first_item = first_entry + row;
        let first_tile = first_item / tile_items;
        let left = (first_tile + 1) * tile_items - first_item;
        let first_tile = if left <= u64::from(most_taken) { first_tile + 1 } else { first_tile };
        let last_tile = (offset(row + 1) + row) / tile_items;
        Begin { row: row as u32, taken: INSIDE, first_tile: first_tile as u32, last_tile: last_tile as u32 }
    };
    let place = u64::from(tile) * u64::from(BEGIN_NUMBERS);
    begins.store(place, begin.row);
    begins.store(place + 1, begin.taken);
    begins.store(place + 2, begin.first_tile);
    begins.store(place + 3, begin.last_tile);
    if tile < tiles {
        arrivals.store(tile, 0);
    }
}

/// y ← α A x + β y.
///
/// Each block has one tile. Its products go to shared memory, and then each row is added up by as many lanes as suit
/// the mean row of the tile. Rows that are much longer are left to the whole warp. The sum of a row that goes on in
/// another tile goes to `pieces`. Where `arrives` is not 0 the block that arrives last adds these up; otherwise
/// [`csr_shared_rows`] has to.
///
/// # Safety
/// The arrays are those of a valid CSR matrix; `x` has an element for each column, `y` one for each row; `begins` is that
/// of [`csr_tiles`] for tiles of [`tile_items`]; `pieces` has two elements for each tile; `arrivals` has
/// one, 0 before and after; there is a block for each tile, of at least two whole warps, with [`shared_bytes`].
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn csr_tiled<T: GpuScalar, O: Offset>(
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// The factor of A x.
    alpha: T,
    /// The vector that is multiplied.
    x: Global<T>,
    /// The factor of y.
    beta: T,
    /// The result.
    y: GlobalMut<T>,
    /// Items of a tile.
    tile_items: u32,
    /// Where each tile begins.
    begins: Global<u32>,
    /// For each tile, its part of the row that it begins inside, and of the row that it ends inside.
    pieces: GlobalMut<T>,
    /// For the row that begins in a tile and goes on in others, how many tiles have stored their parts.
    arrivals: GlobalMut<u32>,
    /// Whether blocks arrive.
    arrives: u32,
) {
    let tile = block_idx_x();
    let (begin, end) = (Begin::load(begins, tile), Begin::load(begins, tile + 1));
    let item = u64::from(tile) * u64::from(tile_items);
    let first_entry = begin.entry(item);
    let end_entry = end.entry(item + u64::from(tile_items));
    let first_place = first_entry as u32 % WARP_LANES;
    let place_0 = first_entry - u64::from(first_place);
    let places = Range { begin: first_place, end: (end_entry - place_0) as u32 };
    let products = products(place_0, places, column_indices, values, x);
    let ended = end.row - begin.row;
    let piece = |row_in_tile: u32| 2 * tile + u32::from(row_in_tile == ended);
    if ended == 0 {
        let sum = sum_over_block(add_up(products));
        if thread_idx_x() == 0 {
            pieces.store(piece(0), sum);
        }
    } else {
        let shared = dynamic::<T>(0);
        for step in 0..THREAD_ENTRIES {
            shared.store(thread_idx_x() + step * block_dim_x(), products[step as usize]);
        }
        sync_threads();
        let count = ended + u32::from(end.is_inside());
        let rows_of_tile = Rows { row: begin.row, count, ended, place_0, places, row_offsets, products: shared };
        rows_of_tile.add_up(|row_in_tile, sum| {
            if row_in_tile == ended || row_in_tile == 0 && begin.is_inside() {
                pieces.store(piece(row_in_tile), sum);
            } else {
                update(y, begin.row + row_in_tile, alpha, sum, beta);
            }
        });
    }
    let ends_row = begin.is_inside() && ended > 0;
    if arrives == 0 || !ends_row && !end.is_inside() {
        return;
    }
    sync_threads();
    let warp = thread_idx_x() / WARP_LANES;
    let shared_row = if warp == 0 { begin } else { end };
    if (warp == 0 && ends_row || warp == 1 && end.is_inside())
        && let Some(sum) = sum_if_last(shared_row, pieces, arrivals)
    {
        update(y, shared_row.row, alpha, sum, beta);
    }
}

/// The sum of a row that several tiles share, in the first lane of the warp that arrives last.
///
/// # Safety
/// All lanes of the warp are here; a block barrier lies between the store of this tile's piece and this call; exactly one
/// warp of each tile that has part of the row makes it. The arrays are those of [`csr_tiled`].
#[inline(always)]
unsafe fn sum_if_last<T: GpuScalar>(row: Begin, pieces: GlobalMut<T>, arrivals: GlobalMut<u32>) -> Option<T> {
    let tiles = row.last_tile - row.first_tile + 1;
    let is_last = lane_id() == 0 && arrivals.arrive(row.first_tile, tiles);
    // Passes on to the other lanes what the first one has acquired.
    sync_warp(ALL_LANES);
    if !warp_vote_any(ALL_LANES, is_last) {
        return None;
    }
    let sum = row.sum(|piece| pieces.load(piece));
    (lane_id() == 0).then_some(sum)
}

/// Adds up the pieces of the rows that several tiles share: a warp for each tile that such a row begins in.
///
/// # Safety
/// [`csr_tiled`] has run with these arrays, its `tiles`, `alpha` and `beta`, and without arrivals; blocks are made of whole
/// warps.
#[kernel(T: scalars)]
pub unsafe fn csr_shared_rows<T: GpuScalar>(
    /// Number of tiles.
    tiles: u32,
    /// The factor of A x.
    alpha: T,
    /// The factor of y.
    beta: T,
    /// The result.
    y: GlobalMut<T>,
    /// Where each tile begins.
    begins: Global<u32>,
    /// For each tile, its part of the row that it begins inside, and of the row that it ends inside.
    pieces: Global<T>,
) {
    let tile = index_1d() / WARP_LANES;
    if tile >= tiles {
        return;
    }
    let row = Begin::load(begins, tile + 1);
    if row.is_inside() && row.first_tile == tile {
        let sum = row.sum(|piece| pieces.load(piece));
        if lane_id() == 0 {
            update(y, row.row, alpha, sum, beta);
        }
    }
}

/// The places of a tile's entries among those that a block can load.
#[derive(Clone, Copy)]
struct Range {
    begin: u32,
    end: u32,
}

/// This thread's products of the entries at `range` with x, 0 at other places. All entries are loaded before the first
/// product, to keep the memory busy.
///
/// # Safety
/// There are these entries, and all before them; the entry of place 0 is `place_0`. `x` has an element for each of
/// their columns.
#[inline(always)]
unsafe fn products<T: GpuScalar>(
    place_0: u64,
    range: Range,
    column_indices: Global<u32>,
    values: Global<T>,
    x: Global<T>,
) -> [T; THREAD_ENTRIES as usize] {
    if range.begin == range.end {
        return [T::ZERO; THREAD_ENTRIES as usize];
    }
    let places = [0, 1, 2, 3, 4, 5, 6, 7].map(|step| thread_idx_x() + step * block_dim_x());
    // Behind the last entry, that one is loaded, so that no load waits for a comparison.
    let loaded = places.map(|place| place_0 + u64::from(place.min(range.end - 1)));
    let columns = loaded.map(|entry| column_indices.load_streaming(entry));
    let values = loaded.map(|entry| values.load_streaming(entry));
    let elements = columns.map(|column| x.load(column));
    let product = |step: usize| {
        let there = range.begin <= places[step] && places[step] < range.end;
        if there { values[step] * elements[step] } else { T::ZERO }
    };
    [product(0), product(1), product(2), product(3), product(4), product(5), product(6), product(7)]
}

/// The sum of some products, as a tree.
#[inline(always)]
fn add_up<T: GpuScalar>(products: [T; THREAD_ENTRIES as usize]) -> T {
    let [a, b, c, d, e, f, g, h] = products;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

/// The sum of `value` over the block, in its first thread.
///
/// # Safety
/// All threads of the block are here; blocks are made of whole warps, and have shared memory for a value of each.
#[inline(always)]
unsafe fn sum_over_block<T: GpuScalar>(value: T) -> T {
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
struct Rows<T, O> {
    /// The first of them.
    row: u32,
    /// How many they are, with that part.
    count: u32,
    /// How many end in the tile.
    ended: u32,
    /// The entry whose product is at place 0.
    place_0: u64,
    /// The places of the tile's entries.
    places: Range,
    /// Where each row of the matrix begins.
    row_offsets: Global<O>,
    /// The product of each entry.
    products: Shared<T>,
}

impl<T: GpuScalar, O: Offset> Rows<T, O> {
    /// Adds up each row and gives it to `finish` in one thread, numbered within the tile.
    ///
    /// # Safety
    /// All threads of the block are here, and the products are written.
    #[inline(always)]
    unsafe fn add_up(&self, finish: impl Fn(u32, T)) {
        // The lanes of a row are a power of two, and as such a shift instead of a division.
        let mut shift = 0;
        while shift < 5 && (self.count * LANE_ENTRIES) << shift < self.places.end - self.places.begin {
            shift += 1;
        }
        let lanes = 1 << shift;
        let lane = lane_id() & (lanes - 1);
        let step = block_dim_x() >> shift;
        // The warp stays together, because its lanes meet in the sums: it goes on while its first row exists.
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

    /// The places of a row's entries; none behind the last row.
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
