//! Entries panel by panel of the columns, for a kernel that keeps the panel's x in shared memory.

#[allow(unsafe_code, reason = "it launches kernels")]
mod by_kernels;
mod costs;
mod on_host;
mod product;
pub(crate) mod strategy;

#[cfg(test)]
mod tests;

use std::ops::Range;

use cuda_std::warp::WARP_LANES;
use gpu_kernels::column_panels::{LANE_ENTRIES, TILE_ENTRIES, TILE_WORDS, column_place, value_place};

use crate::error::{Error, check_length};
use crate::format::check::{check_offsets, check_permutation, count_parts};
use crate::format::check_shape;
use crate::format::offsets::LARGEST_NARROW;
use crate::format::storage::storage;
use crate::memory::{Buffer, Memory, with_capacity};
use crate::real::Scalar;

pub(crate) use strategy::Strategy;

/// Name of the storage.
const NAME: &str = "Column panels";

/// Most columns of a panel, whose numbers in it have 16 bits.
const MOST_COLUMNS: usize = 1 << 16;

/// Lanes, entries and words of columns of a tile.
const LANES: usize = WARP_LANES as usize;
const ENTRIES: usize = TILE_ENTRIES as usize;
const WORDS: usize = TILE_WORDS as usize;

storage! {
    /// A sparse matrix in column panels: the entries of the first [`panel_columns`](Self::panel_columns) columns are
    /// stored first, then those of the next ones, and so on; those of a panel row by row.
    ///
    /// The entries of a panel are in tiles of 512, of which the last is filled up by repeating its last entry. Each of
    /// the 32 lanes of a tile has 16 consecutive ones. A piece is a range of entries of a tile that are in one row, or
    /// that fill it up.
    pub struct ColumnPanels {
        parameters {
            /// Columns per panel, at most 2^16; the last panel may have fewer.
            panel_columns: usize,
        }
        offsets {}
        arrays {
            /// Number of tiles before each panel, then of all: panels + 1 numbers.
            panel_tiles: u32,
            /// Number of pieces before each tile, then of all: tiles + 1 numbers.
            tile_pieces: u32,
            /// For each lane of each tile: bit i is set if a piece begins at its entry i; the upper half is the number
            /// of pieces of the tile that begin in lanes before it.
            lane_words: u32,
            /// Column of each entry in its panel: word 32 i + l of a tile has those of entries 2 i, in its lower half,
            /// and 2 i + 1 of lane l.
            column_offsets: u32,
            /// Value of each entry: number 32 i + l of a tile is that of entry i of lane l.
            values: T,
            /// Number of pieces of all rows before each row, then of all rows: rows + 1 numbers.
            row_begins: u32,
            /// The pieces of each row, row by row, and then those that belong to no row.
            piece_numbers: u32,
        }
    }
}

/// How large a panel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PanelSize {
    /// Shared memory for the elements of x of a panel, in KiB: from 1 to 256.
    pub kilobytes: u32,
}

impl PanelSize {
    /// As much as a block may have on GPUs of compute capability 8.0 and later, besides a table of values.
    pub const DEFAULT: Self = Self { kilobytes: 92 };

    /// Returns the columns per panel of a matrix with values of `V`: all panels are about equally wide.
    pub(crate) fn columns<V>(self, columns: usize) -> usize {
        let bytes = (self.kilobytes as usize) << 10;
        let most = (bytes / size_of::<V>().max(1)).clamp(1, MOST_COLUMNS);
        columns.div_ceil(columns.div_ceil(most).max(1)).max(1)
    }

    /// Explains why it is not valid.
    pub(crate) fn contradiction(self) -> Option<String> {
        let Self { kilobytes } = self;
        (!(1..=256).contains(&kilobytes)).then(|| format!("panels of {kilobytes} KiB, expected 1 to 256"))
    }
}

/// Checks that indices of entries fit 32 bits, with room for kernels to step past the last one.
fn check_entries(entries: usize) -> Result<(), Error> {
    let (value, limit) = (entries as u128, u128::from(LARGEST_NARROW));
    if value > limit {
        return Err(Error::TooLarge { what: "number of entries of a matrix in column panels", value, limit });
    }
    Ok(())
}

/// Returns the bytes of the arrays with values of `V`.
fn bytes_of<V>(rows: usize, panels: usize, tiles: usize, pieces: usize) -> u128 {
    let numbers = (panels + 1 + tiles + 1 + rows + 1 + pieces) as u128;
    4 * numbers + tiles as u128 * (4 * (LANES + WORDS) + ENTRIES * size_of::<V>()) as u128
}

/// Returns the bytes of the arrays of `entries` entries if they fill their tiles, and each row is a piece.
fn least_bytes<V>(rows: usize, panels: usize, entries: usize) -> u128 {
    bytes_of::<V>(rows, panels, entries.div_ceil(ENTRIES), rows.min(entries))
}

impl<T: Scalar> ColumnPanels<T> {
    /// Builds a matrix from its arrays. Runs in parallel in O(entries), and in O(pieces) on one thread.
    ///
    /// # Errors
    /// When the length of an array contradicts the others or the shape, an entry is in a column that does not exist, the
    /// numbers of pieces contradict each other, or a piece belongs to two rows.
    #[expect(clippy::too_many_arguments, reason = "an argument for each array")]
    pub fn try_new(
        rows: usize,
        columns: usize,
        panel_columns: usize,
        panel_tiles: Vec<u32>,
        tile_pieces: Vec<u32>,
        lane_words: Vec<u32>,
        column_offsets: Vec<u32>,
        values: Vec<T>,
        row_begins: Vec<u32>,
        piece_numbers: Vec<u32>,
    ) -> Result<Self, Error> {
        let fail = |reason| Err(Error::structure(NAME, reason));
        check_shape(rows, columns)?;
        if !(1..=MOST_COLUMNS).contains(&panel_columns) {
            return fail(format!("panels of {panel_columns} columns, expected 1 to {MOST_COLUMNS}"));
        }
        check_entries(values.len())?;
        let tiles = values.len() / ENTRIES;
        check_length("values", values.len(), tiles * ENTRIES)?;
        check_length("column_offsets", column_offsets.len(), tiles * WORDS)?;
        check_length("lane_words", lane_words.len(), tiles * LANES)?;
        check_offsets(NAME, "panel", &panel_tiles, columns.div_ceil(panel_columns), tiles)?;
        check_offsets(NAME, "tile", &tile_pieces, tiles, piece_numbers.len())?;
        let of_rows = row_begins.last().map_or(0, |&pieces| pieces as usize);
        check_offsets(NAME, "row", &row_begins, rows, of_rows)?;
        if of_rows > piece_numbers.len() {
            return fail(format!("the rows have {of_rows} pieces, but there are {}", piece_numbers.len()));
        }
        check_permutation("piece", &piece_numbers, 0).map_err(|reason| Error::structure(NAME, reason))?;
        let mut matrix = Self {
            rows,
            columns,
            stored: 0,
            panel_columns,
            panel_tiles,
            tile_pieces,
            lane_words,
            column_offsets,
            values,
            row_begins,
            piece_numbers,
        };
        count_parts(NAME, tiles, |tile| matrix.check_tile(tile))?;
        let begins = matrix.piece_begins()?;
        matrix.stored = count_parts(NAME, rows, |row| {
            let pieces = matrix.pieces_of(row);
            if let Some(place) = (1..pieces.len()).find(|&place| pieces[place] < pieces[place - 1]) {
                let (piece, before) = (pieces[place], pieces[place - 1]);
                return Err(format!("piece {piece} of row {row} comes after piece {before}"));
            }
            Ok(pieces.iter().map(|&piece| places_of(&begins, piece).len()).sum())
        })?;
        Ok(matrix)
    }

    /// Checks the pieces and columns of a tile.
    fn check_tile(&self, tile: usize) -> Result<usize, String> {
        let lane_words = &self.lane_words[tile * LANES..][..LANES];
        if lane_words[0] & 1 == 0 {
            return Err(format!("no piece begins with tile {tile}"));
        }
        let mut pieces = 0;
        for (lane, &word) in lane_words.iter().enumerate() {
            if word >> 16 != pieces {
                let before = word >> 16;
                return Err(format!("lane {lane} of tile {tile} has {before} pieces before it, expected {pieces}"));
            }
            pieces += (word & 0xFFFF).count_ones();
        }
        let expected = self.tile_pieces[tile + 1] - self.tile_pieces[tile];
        if pieces != expected {
            return Err(format!("tile {tile} has {pieces} pieces, expected {expected}"));
        }
        let columns = self.columns_of_panel(self.panel_of(tile));
        for place in tile * ENTRIES..(tile + 1) * ENTRIES {
            let column = self.column_offset(place);
            if column as usize >= columns.len() {
                let name = place % ENTRIES;
                return Err(format!(
                    "entry {name} of tile {tile} is in column {column} of its panel's {}",
                    columns.len()
                ));
            }
        }
        Ok(0)
    }

    /// Returns the panel of a tile.
    fn panel_of(&self, tile: usize) -> usize {
        panel_of(&self.panel_tiles, tile)
    }

    /// Returns the columns of a panel.
    fn columns_of_panel(&self, panel: usize) -> Range<usize> {
        panel * self.panel_columns..((panel + 1) * self.panel_columns).min(self.columns)
    }

    /// Returns the column, in its panel, of the entry at a place.
    fn column_offset(&self, place: usize) -> u32 {
        let (lane, number) = lane_of(place);
        let (word, shift) = column_place(lane, number);
        self.column_offsets[place / ENTRIES * WORDS + word as usize] >> shift & 0xFFFF
    }

    /// Returns the first place of each piece, and the end of the last.
    fn piece_begins(&self) -> Result<Vec<u32>, Error> {
        let mut begins = with_capacity(self.piece_numbers.len() + 1)?;
        for (lane, &word) in self.lane_words.iter().enumerate() {
            let mut flags = word & 0xFFFF;
            while flags != 0 {
                begins.push(lane as u32 * LANE_ENTRIES + flags.trailing_zeros());
                flags &= flags - 1;
            }
        }
        begins.push(self.lane_words.len() as u32 * LANE_ENTRIES);
        Ok(begins)
    }

    /// Returns the pieces of a row.
    fn pieces_of(&self, row: usize) -> &[u32] {
        &self.piece_numbers[self.row_begins[row] as usize..self.row_begins[row + 1] as usize]
    }
}

impl<T: Scalar, M: Memory> ColumnPanels<T, M> {
    /// Returns the number of panels.
    fn panels(&self) -> usize {
        self.columns.div_ceil(self.panel_columns)
    }

    /// Returns the number of tiles.
    fn tiles(&self) -> usize {
        self.lane_words.len() / LANES
    }
}

/// Returns the number of tiles before each panel and, last, of all, given the number of entries of each.
///
/// # Errors
/// When indices of slots do not fit 32 bits, or memory runs out.
fn panel_tiles(entries: impl ExactSizeIterator<Item = usize>) -> Result<Vec<u32>, Error> {
    let mut tiles = 0;
    let mut panel_tiles = with_capacity(entries.len() + 1)?;
    panel_tiles.push(0);
    for entries in entries {
        tiles += entries.div_ceil(ENTRIES);
        check_entries(tiles.saturating_mul(ENTRIES))?;
        panel_tiles.push(tiles as u32);
    }
    Ok(panel_tiles)
}

/// Returns the number of all tiles.
fn tiles_of(panel_tiles: &[u32]) -> usize {
    panel_tiles.last().map_or(0, |&tiles| tiles as usize)
}

/// Returns the panel of a tile.
fn panel_of(panel_tiles: &[u32], tile: usize) -> usize {
    panel_tiles[1..].partition_point(|&end| end as usize <= tile)
}

/// Returns the places of a piece.
fn places_of(begins: &[u32], piece: u32) -> Range<usize> {
    begins[piece as usize] as usize..begins[piece as usize + 1] as usize
}

/// Returns the lane of the entry at a place, and its number there.
fn lane_of(place: usize) -> (u32, u32) {
    let place = (place % ENTRIES) as u32;
    (place / LANE_ENTRIES, place % LANE_ENTRIES)
}

/// Returns the index of the value of the entry at a place.
fn value_index(place: usize) -> usize {
    let (lane, number) = lane_of(place);
    place / ENTRIES * ENTRIES + value_place(lane, number) as usize
}
