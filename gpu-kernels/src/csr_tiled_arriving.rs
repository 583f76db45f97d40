//! CSR in tiles as in [`csr_tiled`](crate::csr_tiled), in one launch: the block that arrives last adds up the pieces of
//! a row that several tiles share, in an order that depends only on the tiles. The same bits in every run.
//!
//! Arriving costs each block a round trip to L2 after all its work, so this is for few waves of blocks. All tiles have
//! the same number of items, at most seven eighths of what a block can hold: one that would begin after the start of a
//! row takes that row from its start if there is room, so that fewer rows are shared. Small matrices have small tiles,
//! so that all multiprocessors have one. The tiles depend only on the matrix and the device: [`csr_tiles`] finds them
//! once, for all multiplications.

use cuda_std::shared::dynamic;
use cuda_std::thread::{block_dim_x, block_idx_x, index_1d, sync_threads, thread_idx_x};
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, sync_warp, warp_vote_any};
use cuda_std::{Global, GlobalMut, GpuScalar, Stored, kernel};

use crate::Offset;
use crate::ahead::request_share;
use crate::csr_tiled::{Range, Rows, THREAD_ENTRIES, add_up, products, sum_over_block};
use crate::reduction::sum_over_lanes;
use crate::search::first_in_range;
use crate::values::Values;
use crate::vector::update;

/// Numbers that describe the begin of a tile: its row, the entries taken of that row, and the tiles that share the row.
pub const BEGIN_NUMBERS: u32 = 4;

/// Replaces the number of entries taken if the tile begins inside its first row.
const INSIDE: u32 = u32::MAX;

/// Largest number of items of the tile of a block of `threads` threads: those of
/// [`csr_tiled`](crate::csr_tiled::tile_items) minus room for half an entry per thread.
pub const fn most_items(threads: u32) -> u32 {
    crate::csr_tiled::tile_items(threads) - threads / 2
}

/// Smallest number of items of such a tile for which a block is worth its start.
pub const fn least_items(threads: u32) -> u32 {
    2 * threads - WARP_LANES
}

/// Largest number of entries before its first item that a tile of `items` items takes to complete its first row.
pub const fn most_taken(threads: u32, items: u32) -> u32 {
    crate::csr_tiled::tile_items(threads) - items
}

/// Begin of a tile.
#[derive(Clone, Copy)]
struct Begin {
    /// The first row that ends at the tile's first item or after it.
    row: u32,
    /// Number of entries of that row before that item that the tile takes too, or [`INSIDE`] if they are too many.
    taken: u32,
    /// If it begins inside the row: the first tile with a part of the row.
    first_tile: u32,
    /// Likewise, the last such tile.
    last_tile: u32,
}

impl Begin {
    /// Loads a tile's begin, as written by [`csr_tiles`].
    ///
    /// # Safety
    /// `begins` is the array of [`csr_tiles`], and has the tile.
    #[inline(always)]
    unsafe fn load(begins: Global<u32>, tile: u32) -> Self {
        let [row, taken, first_tile, last_tile] = begins.load_streaming_4(u64::from(tile) * u64::from(BEGIN_NUMBERS));
        Self { row, taken, first_tile, last_tile }
    }

    fn is_inside(self) -> bool {
        self.taken == INSIDE
    }

    /// The sum of the pieces of the row inside which the tile begins, in the first lane.
    ///
    /// # Safety
    /// The tile begins inside a row, all lanes of the warp call it, and `piece` may be called for all pieces of that
    /// row.
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

    /// The tile's first entry if its first item is `item`.
    fn entry(self, item: u64) -> u64 {
        let taken = if self.is_inside() { 0 } else { self.taken };
        item - u64::from(self.row) - u64::from(taken)
    }
}

/// Finds the begin of each tile and the end of the last one, stored as one more tile; sets all arrivals to 0.
///
/// # Safety
/// The row offsets are those of a valid CSR matrix with `rows` rows, at least one; its rows and entries take `tiles`
/// tiles of `tile_items` items; `begins` has [`BEGIN_NUMBERS`] elements for each tile and for the end, `arrivals` one
/// for each tile.
#[kernel(O: [u32, u64])]
pub unsafe fn csr_tiles<O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Number of tiles.
    tiles: u32,
    /// Items of a tile.
    tile_items: u32,
    /// Largest number of entries that a tile takes.
    most_taken: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// Begin of each tile.
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
        // The last tile that takes the row from its start: those that begin in the row before it are empty.
        let first_tile = (first_entry + row + u64::from(most_taken)) / tile_items;
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
/// As for [`csr_tiled`](crate::csr_tiled::csr_tiled), but the sum of a row that continues in another tile goes to
/// `pieces`, and the block that arrives last adds these up.
///
/// # Safety
/// The arrays are those of a valid CSR matrix; `table` has an entry for each code among the values; `x` has an element
/// for each column, `y` one for each row; `begins` is that of [`csr_tiles`] for tiles of `tile_items`, at most
/// [`most_items`], and [`most_taken`]; `pieces` has two elements for each tile; `arrivals` has one, 0 before and after;
/// there is a block for each tile, of at least two whole warps, with
/// [`shared_bytes`](crate::csr_tiled::shared_bytes); together, blocks request at most the entries, elements of x and
/// offsets that there are.
#[kernel((V, T): stored, O: [u32, u64])]
pub unsafe fn csr_tiled_arriving<V: Stored<T>, T: GpuScalar, O: Offset>(
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
    /// Items of a tile.
    tile_items: u32,
    /// Begin of each tile.
    begins: Global<u32>,
    /// For each tile, its parts of the row inside which it begins and of the row inside which it ends.
    pieces: GlobalMut<T>,
    /// For the row that begins in a tile and continues in others, the number of tiles that have stored their parts.
    arrivals: GlobalMut<u32>,
    /// Entries that each block requests ahead.
    entries_ahead: u32,
    /// Elements of x that each block requests ahead.
    elements_ahead: u32,
    /// Row offsets that each block requests ahead.
    rows_ahead: u32,
) {
    request_share(column_indices, entries_ahead);
    request_share(values, entries_ahead);
    request_share(x, elements_ahead);
    request_share(row_offsets, rows_ahead);
    let tile = block_idx_x();
    let (begin, end) = (Begin::load(begins, tile), Begin::load(begins, tile + 1));
    let tile_items = u64::from(tile_items);
    let item = u64::from(tile) * tile_items;
    let first_entry = begin.entry(item);
    let end_entry = end.entry(item + tile_items);
    let first_place = first_entry as u32 % WARP_LANES;
    let place_0 = first_entry - u64::from(first_place);
    let places = Range { begin: first_place, end: (end_entry - place_0) as u32 };
    let values = Values { stored: values, table };
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
    if !ends_row && !end.is_inside() {
        return;
    }
    sync_threads();
    let warp = thread_idx_x() / WARP_LANES;
    if warp == 0 && ends_row || warp == 1 && end.is_inside() {
        // Loaded again, because registers are few.
        let shared_row = Begin::load(begins, tile + warp);
        if let Some(sum) = sum_if_last(shared_row, pieces, arrivals) {
            update(y, shared_row.row, alpha, sum, beta);
        }
    }
}

/// The sum of a row that several tiles share, in the first lane of the warp that arrives last.
///
/// # Safety
/// All lanes of the warp call it; a block barrier lies between the store of this tile's piece and this call; exactly
/// one warp of each tile with a part of the row makes it. The arrays are those of [`csr_tiled_arriving`].
#[inline(always)]
unsafe fn sum_if_last<T: GpuScalar>(row: Begin, pieces: GlobalMut<T>, arrivals: GlobalMut<u32>) -> Option<T> {
    let tiles = row.last_tile - row.first_tile + 1;
    let is_last = lane_id() == 0 && arrivals.arrive(row.first_tile, tiles);
    // Makes visible to the other lanes what the first one has acquired.
    sync_warp(ALL_LANES);
    if !warp_vote_any(ALL_LANES, is_last) {
        return None;
    }
    let sum = row.sum(|piece| pieces.load(piece));
    (lane_id() == 0).then_some(sum)
}
