//! Column panels: blocks go through the entries panel by panel, with the panel's x in shared memory.
//!
//! Where columns have no order, each entry of CSR takes a whole sector of x from L2, which is four to eight times what it
//! needs. Here it takes one element of shared memory and 16 bits for its column. A row is cut wherever its next entry is
//! in another panel, and again at the end of a tile of [`TILE_ENTRIES`]; a warp adds up the pieces of a tile by their
//! flags and a segmented scan over its lanes, as in CSR5 (Liu & Vinter 2015). The pieces of a row are added in a second
//! launch, always in the same order, so without atomics: the same bits in every run.

use cuda_std::shared::{Shared, dynamic};
use cuda_std::thread::{block_dim_x, block_idx_x, grid_dim_x, grid_threads, index_1d, sync_threads, thread_idx_x};
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, warp_shuffle_down};
use cuda_std::{Global, GlobalMut, GpuScalar, Stored, kernel};

use crate::ahead::request_share;
use crate::clustered::gather;
use crate::reduction::{RowSums, add_up_rows};
use crate::search::first_that;
use crate::vector::update;

/// Consecutive entries of a tile that one lane adds up.
pub const LANE_ENTRIES: u32 = 16;

/// Entries of a tile.
pub const TILE_ENTRIES: u32 = LANE_ENTRIES * WARP_LANES;

/// Words of a tile for its columns, two in each.
pub const TILE_WORDS: u32 = TILE_ENTRIES / 2;

/// Entries of a lane whose loads are in flight at the same time.
const AT_ONCE: u32 = LANE_ENTRIES / 2;

/// Lanes that add up the pieces of a row.
const ROW_LANES: u32 = 4;

/// Threads for each row in the launch that adds up the pieces.
pub const ROW_THREADS: u32 = ROW_LANES;

/// Position of an entry among the values of its tile: those of all lanes with the same number are together.
pub const fn value_place(lane: u32, number: u32) -> u32 {
    number * WARP_LANES + lane
}

/// Word and shift of the column of an entry in its tile.
pub const fn column_place(lane: u32, number: u32) -> (u32, u32) {
    (number / 2 * WARP_LANES + lane, number % 2 * 16)
}

/// Elements of x that a thread loads at the same time.
const LOADS: usize = 12;

/// Tiles of neighbouring blocks are this fraction of a panel apart: often rows become shorter from the first to the last,
/// and a tile of short rows has more pieces and takes longer.
const STRANDS: u32 = 64;

/// Most blocks of the launch that adds up the pieces: products of their number and that of tiles have 32 bits.
pub const MOST_BLOCKS: u32 = 511;

/// Adds up the pieces of all tiles. Each block has an about equal share of them, of one panel if possible.
///
/// # Safety
/// The arrays are those of a valid matrix in column panels with at least one tile; `x` has an element for each column,
/// `sums` one for each piece, `table` one for each code among the values; there are at most [`MOST_BLOCKS`] blocks, made of
/// whole warps, with shared memory for the elements of a panel and for the table.
#[kernel((V, T): stored)]
pub unsafe fn column_panels<V: Stored<T>, T: GpuScalar>(
    /// Number of rows.
    rows: u32,
    /// Number of columns.
    columns: u32,
    /// Columns of a panel; the last may have fewer.
    panel_columns: u32,
    /// Number of panels.
    panels: u32,
    /// Number of tiles.
    tiles: u32,
    /// Number of pieces.
    pieces: u32,
    /// Number of tiles before each panel; panels + 1 numbers.
    panel_tiles: Global<u32>,
    /// Number of pieces before each tile; tiles + 1 numbers.
    tile_pieces: Global<u32>,
    /// For each lane of each tile, which of its entries begin a piece, and in the upper half how many pieces of the tile
    /// begin before them.
    lane_words: Global<u32>,
    /// The column of each entry in its panel, two in a word.
    column_offsets: Global<u32>,
    /// The value of each entry.
    values: Global<V>,
    /// The value that each code stands for.
    table: Global<T>,
    /// Length of `table`.
    table_length: u32,
    /// Number of pieces before each row, in the order of the rows; rows + 1 numbers.
    row_begins: Global<u32>,
    /// The pieces in the order of the rows.
    piece_numbers: Global<u32>,
    /// The vector to multiply.
    x: Global<T>,
    /// The sum of each piece.
    sums: GlobalMut<T>,
) {
    let Share { mut begin, end, mut panel } = Share::of_block(panels, tiles, panel_tiles);
    let elements = dynamic::<T>(0);
    let held_table = dynamic::<T>(panel_columns.min(columns) * size_of::<T>() as u32);
    let mut entry = thread_idx_x();
    while entry < table_length {
        held_table.store(entry, table.load(entry));
        entry += block_dim_x();
    }
    let tiles_of_block =
        Tiles { tile_pieces, lane_words, column_offsets, stored: values, elements, table: held_table, sums };
    // The next launch finds these in L2.
    request_share(row_begins, rows / grid_dim_x());
    request_share(piece_numbers, pieces / grid_dim_x());
    while begin < end {
        let (panel_begin, panel_end) = (panel_tiles.load(panel), panel_tiles.load(panel + 1));
        let first = panel * panel_columns;
        let column = |place: u32| first + place;
        gather::<LOADS, T>(panel_columns.min(columns - first), column, |column| x.load(column), elements);
        sync_threads();
        let own_end = panel_end.min(end);
        let mut number = begin + thread_idx_x() / WARP_LANES;
        while number < own_end {
            tiles_of_block.add_up(panel_begin + spread(number - panel_begin, panel_end - panel_begin));
            number += block_dim_x() / WARP_LANES;
        }
        // All warps are done with the panel.
        sync_threads();
        begin = own_end;
        panel += 1;
    }
}

/// The position of the tile with this number if all `count` are in [`STRANDS`], and the first of each strand come first,
/// then the second ones.
#[inline(always)]
fn spread(number: u32, count: u32) -> u32 {
    let strand = number % STRANDS;
    strand * (count / STRANDS) + strand.min(count % STRANDS) + number / STRANDS
}

/// The tiles of a block, from `begin` to `end`, and the panel of the first.
struct Share {
    begin: u32,
    end: u32,
    panel: u32,
}

impl Share {
    /// Gives each panel blocks in proportion to its tiles, rounded, and divides its tiles among them. Panels that are too
    /// small for a block are left to those of the panel before, or of the first that has one.
    ///
    /// # Safety
    /// All lanes of the warp call it; `panel_tiles` are those of [`column_panels`].
    #[inline(always)]
    unsafe fn of_block(panels: u32, tiles: u32, panel_tiles: Global<u32>) -> Self {
        let (block, blocks) = (block_idx_x(), grid_dim_x());
        let first_block = |panel: u32| (panel_tiles.load(panel) * blocks + tiles / 2) / tiles;
        let panel = first_that(0, panels, |panel| first_block(panel + 1) > block);
        let (first, last) = (first_block(panel), first_block(panel + 1));
        let next = first_that(panel + 1, panels, |panel| first_block(panel + 1) > last);
        let group_begin = if first == 0 { 0 } else { panel_tiles.load(panel) };
        let group_tiles = panel_tiles.load(next) - group_begin;
        let first_tile = |block: u32| group_begin + group_tiles * (block - first) / (last - first);
        let (begin, end) = (first_tile(block), first_tile(block + 1));
        Self { begin, end, panel: first_that(0, panels, |panel| panel_tiles.load(panel + 1) > begin) }
    }
}

/// The tiles, with the x of their panel in shared memory.
struct Tiles<V, T> {
    tile_pieces: Global<u32>,
    lane_words: Global<u32>,
    column_offsets: Global<u32>,
    stored: Global<V>,
    elements: Shared<T>,
    /// The value that each code stands for.
    table: Shared<T>,
    sums: GlobalMut<T>,
}

impl<V: Stored<T>, T: GpuScalar> Tiles<V, T> {
    /// Writes the sums of the pieces of a tile.
    ///
    /// # Safety
    /// All lanes of the warp call it; the tile exists, and shared memory holds the x of its panel.
    #[inline(always)]
    unsafe fn add_up(&self, tile: u32) {
        let lane_word = self.lane_words.load_streaming(u64::from(tile) * u64::from(WARP_LANES) + u64::from(lane_id()));
        let mut lane = Lane {
            flags: lane_word & 0xFFFF,
            piece: self.tile_pieces.load(tile) + (lane_word >> 16),
            begun: false,
            head: T::ZERO,
            sum: T::ZERO,
        };
        let mut half = 0;
        while half < LANE_ENTRIES / AT_ONCE {
            let place = u64::from(tile) * u64::from(TILE_ENTRIES) + u64::from(value_place(lane_id(), half * AT_ONCE));
            let word = u64::from(tile) * u64::from(TILE_WORDS) + u64::from(column_place(lane_id(), half * AT_ONCE).0);
            let step = u64::from(WARP_LANES);
            let words = [0, 1, 2, 3].map(|pair: u64| self.column_offsets.load_streaming(word + pair * step));
            let stored = [0, 1, 2, 3, 4, 5, 6, 7].map(|number: u64| self.stored.load_streaming(place + number * step));
            let pairs = words.map(|word| [self.elements.load(word & 0xFFFF), self.elements.load(word >> 16)]);
            let values = stored.map(|stored| stored.widen(|code| self.table.load(code)));
            // Not in a loop: an array with a variable index would go to local memory.
            lane.add(self.sums, values[0], pairs[0][0]);
            lane.add(self.sums, values[1], pairs[0][1]);
            lane.add(self.sums, values[2], pairs[1][0]);
            lane.add(self.sums, values[3], pairs[1][1]);
            lane.add(self.sums, values[4], pairs[2][0]);
            lane.add(self.sums, values[5], pairs[2][1]);
            lane.add(self.sums, values[6], pairs[3][0]);
            lane.add(self.sums, values[7], pairs[3][1]);
            half += 1;
        }
        lane.finish(self.sums);
    }
}

/// What a lane knows of its entries of a tile.
struct Lane<T> {
    /// Which of its entries begin a piece; that of the next one is the lowest bit.
    flags: u32,
    /// The first piece that begins here and is not written yet.
    piece: u32,
    /// Whether a piece has begun here.
    begun: bool,
    /// The sum before the first piece that begins here.
    head: T,
    /// The sum since the last one has begun.
    sum: T,
}

impl<T: GpuScalar> Lane<T> {
    /// Adds the next product.
    ///
    /// # Safety
    /// `sums` has an element for each piece.
    #[inline(always)]
    unsafe fn add(&mut self, sums: GlobalMut<T>, value: T, element: T) {
        if self.flags & 1 != 0 {
            if self.begun {
                sums.store(self.piece, self.sum);
                self.piece += 1;
            } else {
                self.head = self.sum;
                self.begun = true;
            }
            self.sum = T::ZERO;
        }
        self.sum = value.mul_add(element, self.sum);
        self.flags >>= 1;
    }

    /// Writes the sum of the last piece that begins here, with what the next lanes have of it.
    ///
    /// # Safety
    /// All lanes of the warp call it, and `sums` has an element for each piece.
    #[inline(always)]
    unsafe fn finish(&self, sums: GlobalMut<T>) {
        // The sum of the entries from here on that belong to a piece of an earlier lane, up to the next beginning.
        let mut rest = if self.begun { self.head } else { self.sum };
        let mut ended = u32::from(self.begun);
        let mut distance = 1;
        while distance < WARP_LANES {
            let (rest_above, there) = warp_shuffle_down(ALL_LANES, rest, distance, WARP_LANES);
            let (ended_above, _) = warp_shuffle_down(ALL_LANES, ended, distance, WARP_LANES);
            if there && ended == 0 {
                rest = rest + rest_above;
                ended = ended_above;
            }
            distance *= 2;
        }
        let (rest_above, there) = warp_shuffle_down(ALL_LANES, rest, 1, WARP_LANES);
        if self.begun {
            sums.store(self.piece, if there { self.sum + rest_above } else { self.sum });
        }
    }
}

/// y ← α A x + β y, from the sums of the pieces.
///
/// # Safety
/// `row_begins` and `piece_numbers` are those of a valid matrix in column panels with `rows` rows; `sums` has the sum of
/// each piece, `y` an element for each row; blocks are made of whole warps.
#[kernel(T: scalars)]
pub unsafe fn column_panels_rows<T: GpuScalar>(
    /// Number of rows.
    rows: u32,
    /// Number of pieces before each row, in the order of the rows; rows + 1 numbers.
    row_begins: Global<u32>,
    /// The pieces in the order of the rows.
    piece_numbers: Global<u32>,
    /// The sum of each piece.
    sums: Global<T>,
    /// The factor of A x.
    alpha: T,
    /// The factor of y.
    beta: T,
    /// The result.
    y: GlobalMut<T>,
) {
    let rows = RowSums {
        first: index_1d() / WARP_LANES * (WARP_LANES / ROW_LANES),
        step: grid_threads() / ROW_LANES,
        count: rows,
        lanes: ROW_LANES,
    };
    add_up_rows(
        rows,
        |row| if row < rows.count { (row_begins.load(row), row_begins.load(row + 1)) } else { (0, 0) },
        |place| sums.load(piece_numbers.load(place)),
        |row, sum| update(y, row, alpha, sum, beta),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tile_has_one_number() {
        for count in [1, 2, 63, 64, 65, 127, 128, 1000] {
            let mut seen = [false; 1000];
            for number in 0..count {
                let position = spread(number, count);
                assert!(position < count && !seen[position as usize], "{number} of {count}");
                seen[position as usize] = true;
            }
        }
        assert_eq!([spread(0, 1000), spread(1, 1000), spread(63, 1000), spread(64, 1000)], [0, 16, 985, 1]);
    }
}
