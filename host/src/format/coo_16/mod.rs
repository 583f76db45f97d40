//! COO in tiles with 16-bit rows and columns, for multiplication in two passes.

#[allow(unsafe_code, reason = "it launches kernels")]
pub(crate) mod by_kernels;
mod costs;
mod on_host;
pub(crate) mod product;
pub(crate) mod strategy;

#[cfg(test)]
mod tests;

use std::ops::Range;

use cuda_std::warp::WARP_LANES;
use gpu_kernels::coo_16::{
    CHUNK, MOST_COLUMNS, MOST_SLOTS, SLOT_ENTRIES, dealt_place, half_of, pile_begin, tile_counts,
};

use crate::error::{Error, check_length};
use crate::format::check::{check_offsets, count_parts};
use crate::format::offsets::LARGEST_NARROW;
use crate::format::storage::storage;
use crate::format::{Csr, check_shape};
use crate::memory::{Buffer, Memory, filled, zeros};
use crate::parallel;
use crate::real::Scalar;

pub use by_kernels::{into_csr, with_panels};
pub(crate) use strategy::Strategy;

const FORMAT: &str = "COO-16";

/// Bytes of x that a column panel may have: two panels fit in the shared memory of a multiprocessor of compute
/// capability 9.0, one in that of 8.0 and 8.6, none in that of 7.5.
const PANEL_BYTES: usize = 96 << 10;

/// Least number of row panels of a matrix, if it has enough slots: one per warp of a large GPU.
const ROW_PANELS: usize = 1 << 13;

/// Least number of column panels of a matrix, if it has enough columns.
const COLUMN_PANELS: usize = 8;

/// Least number of columns or slots per panel that is chosen.
const FEWEST: usize = 32;

storage! {
    /// A sparse matrix in COO-16: the entries are stored tile by tile. A tile is the intersection of a row panel and a
    /// column panel; the tiles of the first column panel come first, row panel by row panel. A column panel has
    /// [`panel_columns`](Self::panel_columns) columns. A row panel has [`panel_slots`](Self::panel_slots) slots: a row
    /// of n entries has ⌈n / 64⌉ of them, to which its entries are dealt in turn, so a row may continue in the next
    /// panel.
    ///
    /// The entries of a tile are ordered by slot, those of one slot by column, and then dealt to its groups in turn: as
    /// many groups as are needed for groups of at most 32 entries in different slots. Group after group is stored.
    pub struct Coo16 {
        parameters {
            /// Columns per column panel, at most 2^16; the last panel may have fewer.
            panel_columns: usize,
            /// Slots per row panel, at most 1024; the last panel may have fewer.
            panel_slots: usize,
        }
        offsets {}
        arrays {
            /// Number of slots of all rows before each row, then of all rows: rows + 1 numbers.
            slot_begins: u32,
            /// Row in which each row panel ends: the first that has slots beyond it, or the last row of the matrix.
            panel_rows: u32,
            /// Offset of each tile: those of the first row panel, in the order of the columns, then those of the next
            /// one.
            tile_begins: u32,
            /// Number of entries of each tile, in the lower 20 bits, and number of groups.
            tile_words: u32,
            /// Column of each entry in its panel. Of 64 entries that begin at a multiple of 64, word l has those of
            /// entries l, in its lower half, and l + 32.
            column_offsets: u32,
            /// Slot of each entry in its row panel, in the same layout.
            slot_offsets: u32,
            /// Value of each entry.
            values: T,
        }
    }
}

/// Sizes of the panels of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Panels {
    /// Columns per column panel, from 1 to 2^16.
    pub columns: usize,
    /// Slots per row panel, from 1 to 1024.
    pub slots: usize,
}

impl Panels {
    /// Chooses the panels of a matrix with values of `V` and these total numbers of columns and slots: column panels of
    /// 96 KB of x or, for smaller matrices, an eighth of the columns; row panels of 1024 slots, or as many as give 8192
    /// panels.
    pub fn chosen<V: Scalar>(columns: usize, slots: usize) -> Self {
        let most_columns = (PANEL_BYTES / size_of::<V>()).min(MOST_COLUMNS as usize);
        Self {
            columns: columns.div_ceil(COLUMN_PANELS).next_power_of_two().clamp(FEWEST, most_columns),
            slots: slots.div_ceil(ROW_PANELS).next_power_of_two().clamp(FEWEST, MOST_SLOTS as usize),
        }
    }

    pub(crate) fn check(self) -> Result<(), Error> {
        for (what, number, most) in
            [("columns", self.columns, MOST_COLUMNS as usize), ("slots", self.slots, MOST_SLOTS as usize)]
        {
            if !(1..=most).contains(&number) {
                return Err(Error::structure(FORMAT, format!("panels of {number} {what}, expected 1 to {most}")));
            }
        }
        Ok(())
    }

    /// Returns the bytes of shared memory that a block needs for a column panel of a matrix with `columns` columns.
    pub(crate) fn shared_bytes<V>(self, columns: usize) -> u32 {
        (self.columns.min(columns) * size_of::<V>()) as u32
    }

    /// Returns the numbers of row panels and column panels of a matrix.
    pub(crate) fn count(self, rows: usize, columns: usize, slots: usize) -> (usize, usize) {
        (slots.div_ceil(self.slots).max(rows.min(1)), columns.div_ceil(self.columns))
    }
}

/// Returns the slots of a row of `length` entries.
pub(crate) fn slots_of(length: usize) -> usize {
    length.div_ceil(SLOT_ENTRIES as usize)
}

/// Returns the words for the halves of `entries` entries.
pub(crate) fn half_words(entries: usize) -> usize {
    entries.div_ceil(CHUNK as usize) * WARP_LANES as usize
}

/// Returns the tiles of this number of row panels and column panels; all arrays together take `bytes`.
pub(crate) fn tile_count(row_panels: usize, column_panels: usize, bytes: u128) -> Result<usize, Error> {
    row_panels.checked_mul(column_panels).ok_or(Error::OutOfMemory { what: "a COO-16 matrix", bytes })
}

/// Returns the bytes of the COO-16 arrays with values of `V`.
pub(crate) fn coo_16_bytes<V>(rows: usize, columns: usize, nnz: usize, slots: usize, panels: Panels) -> u128 {
    let (row_panels, column_panels) = panels.count(rows, columns, slots);
    let tiles = row_panels as u128 * column_panels as u128;
    4 * (rows as u128 + 1 + row_panels as u128)
        + 8 * tiles
        + 8 * half_words(nnz) as u128
        + nnz as u128 * size_of::<V>() as u128
}

/// Returns the bytes that the COO-16 arrays of `matrix` take with values of `V`. O(rows).
pub(super) fn predicted_bytes<T: Scalar, V: Scalar>(matrix: &Csr<T>) -> u128 {
    let slots = matrix.row_lengths().map(slots_of).sum();
    let panels = Panels::chosen::<V>(matrix.columns(), slots);
    coo_16_bytes::<V>(matrix.rows(), matrix.columns(), matrix.nnz(), slots, panels)
}

/// Checks that indices of entries fit 32 bits, with room for kernels to step past the last one.
pub(crate) fn check_entries(entries: usize) -> Result<(), Error> {
    let (value, limit) = (entries as u128, u128::from(LARGEST_NARROW));
    if value > limit {
        return Err(Error::TooLarge { what: "number of entries of a COO-16 matrix", value, limit });
    }
    Ok(())
}

/// A tile: its offset, and its numbers of entries and groups.
#[derive(Clone, Copy)]
pub(crate) struct Tile {
    begin: usize,
    count: u32,
    groups: u32,
}

impl Tile {
    /// Returns the positions of its entries.
    pub fn places(self) -> Range<usize> {
        self.begin..self.begin + self.count as usize
    }

    /// Returns the positions of its entries in the order of their slots.
    fn places_by_slot(self) -> impl Iterator<Item = usize> {
        (0..self.count).map(move |number| self.begin + dealt_place(self.count, self.groups, number) as usize)
    }

    /// Returns the positions of a group.
    fn group(self, group: u32) -> Range<usize> {
        let begin_of = |group| self.begin + pile_begin(self.count, self.groups, group) as usize;
        begin_of(group)..begin_of(group + 1)
    }
}

impl<T: Scalar> Coo16<T> {
    /// Builds a matrix from its arrays. Runs in parallel in O(rows + nnz + tiles). The entries of a tile may be in
    /// another order, and in more groups than necessary.
    ///
    /// # Errors
    /// When the sizes of the panels are invalid, the arrays contradict each other or the shape, an entry is in a slot
    /// or a column that does not exist, or two entries of a group are in the same slot.
    #[expect(clippy::too_many_arguments, reason = "an argument for each array")]
    pub fn try_new(
        rows: usize,
        columns: usize,
        panels: Panels,
        slot_begins: Vec<u32>,
        panel_rows: Vec<u32>,
        tile_begins: Vec<u32>,
        tile_words: Vec<u32>,
        column_offsets: Vec<u32>,
        slot_offsets: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Self, Error> {
        let fail = |reason| Err(Error::structure(FORMAT, reason));
        check_shape(rows, columns)?;
        panels.check()?;
        check_entries(values.len())?;
        let slots = slot_begins.last().map_or(0, |&slots| slots as usize);
        check_offsets(FORMAT, "row", &slot_begins, rows, slots)?;
        let (row_panels, column_panels) = panels.count(rows, columns, slots);
        let tiles = row_panels.saturating_mul(column_panels);
        check_length("panel_rows", panel_rows.len(), row_panels)?;
        check_length("tile_begins", tile_begins.len(), tiles)?;
        check_length("tile_words", tile_words.len(), tiles)?;
        for (name, words) in [("column_offsets", &column_offsets), ("slot_offsets", &slot_offsets)] {
            check_length(name, words.len(), half_words(values.len()))?;
            if let Some(entry) = (values.len()..2 * words.len()).find(|&entry| half(words, entry) != 0) {
                return fail(format!("{name} has a number for entry {entry}, which does not exist"));
            }
        }
        let (stored, Panels { columns: panel_columns, slots: panel_slots }) = (values.len(), panels);
        let matrix = Self {
            rows,
            columns,
            stored,
            panel_columns,
            panel_slots,
            slot_begins,
            panel_rows,
            tile_begins,
            tile_words,
            column_offsets,
            slot_offsets,
            values,
        };
        if let Some(panel) = (0..row_panels).find(|&panel| matrix.panel_rows[panel] as usize != matrix.end_row(panel)) {
            let (row, expected) = (matrix.panel_rows[panel], matrix.end_row(panel));
            return fail(format!("row panel {panel} ends in row {row}, expected {expected}"));
        }
        matrix.check_tiles()?;
        matrix.check_slots()?;
        Ok(matrix)
    }

    /// Checks that each row has as many slots as it needs, and that its entries are in these in turn.
    fn check_slots(&self) -> Result<(), Error> {
        let slot_counts = self.slot_counts()?;
        count_parts(FORMAT, self.rows, |row| {
            let slots = self.slots_of_row(row);
            let length: usize = slot_counts[slots.clone()].iter().map(|&count| count as usize).sum();
            if slots_of(length) != slots.len() {
                return Err(format!("row {row} has {length} entries in {} slots", slots.len()));
            }
            for (turn, &count) in slot_counts[slots.clone()].iter().enumerate() {
                let expected = (length - turn).div_ceil(slots.len());
                if count as usize != expected {
                    return Err(format!("slot {turn} of row {row} has {count} entries, expected {expected}"));
                }
            }
            Ok(0)
        })?;
        Ok(())
    }

    /// Checks that tiles are contiguous, and their contents.
    fn check_tiles(&self) -> Result<(), Error> {
        let fail = |reason| Err(Error::structure(FORMAT, reason));
        let (row_panels, column_panels) = self.panel_counts();
        let mut expected = 0;
        for column_panel in 0..column_panels {
            for row_panel in 0..row_panels {
                let Tile { begin, count, groups } = self.tile(row_panel, column_panel);
                let name = || format!("the tile of row panel {row_panel} and column panel {column_panel}");
                if begin != expected {
                    return fail(format!("{} begins at {begin}, expected {expected}", name()));
                }
                if groups > count || groups < count.div_ceil(WARP_LANES) {
                    return fail(format!("{} has {count} entries in {groups} groups", name()));
                }
                expected += count as usize;
            }
        }
        if expected != self.stored {
            return fail(format!("the tiles have {expected} entries, expected {}", self.stored));
        }
        count_parts(FORMAT, row_panels, |row_panel| {
            let slots = self.slots().min((row_panel + 1) * self.panel_slots) - row_panel * self.panel_slots;
            let mut last_group = filled(slots, usize::MAX).map_err(|error| error.to_string())?;
            let mut group_number = 0;
            for column_panel in 0..column_panels {
                let tile = self.tile(row_panel, column_panel);
                for group in 0..tile.groups {
                    for entry in tile.group(group) {
                        let (offset, column) = (half(&self.column_offsets, entry), self.column(column_panel, entry));
                        if offset as usize >= self.panel_columns {
                            let columns = self.panel_columns;
                            return Err(format!("entry {entry} is in column {offset} of its panel's {columns}"));
                        }
                        if column as usize >= self.columns {
                            return Err(format!("entry {entry} is in column {column} of {}", self.columns));
                        }
                        let slot = self.slot(entry);
                        let Some(last) = last_group.get_mut(slot) else {
                            let place = format!("slot {slot} of the {slots} of row panel {row_panel}");
                            return Err(format!("entry {entry} is in {place}"));
                        };
                        if *last == group_number {
                            return Err(format!("entry {entry} is in slot {slot}, like another one of its group"));
                        }
                        *last = group_number;
                    }
                    group_number += 1;
                }
            }
            Ok(0)
        })?;
        Ok(())
    }

    /// Returns the column of an entry of a column panel.
    pub(crate) fn column(&self, column_panel: usize, entry: usize) -> u32 {
        (column_panel * self.panel_columns) as u32 + half(&self.column_offsets, entry)
    }

    /// Returns the slot of an entry in its row panel.
    pub(crate) fn slot(&self, entry: usize) -> usize {
        half(&self.slot_offsets, entry) as usize
    }

    pub(crate) fn tile(&self, row_panel: usize, column_panel: usize) -> Tile {
        let tile = row_panel * self.panel_counts().1 + column_panel;
        let (count, groups) = tile_counts(self.tile_words[tile]);
        Tile { begin: self.tile_begins[tile] as usize, count, groups }
    }

    /// Returns the slots of a row.
    pub(crate) fn slots_of_row(&self, row: usize) -> Range<usize> {
        self.slot_begins[row] as usize..self.slot_begins[row + 1] as usize
    }

    /// Returns the number of all slots.
    pub(super) fn slots(&self) -> usize {
        self.slot_begins.last().map_or(0, |&slots| slots as usize)
    }

    /// Returns the row in which a row panel ends, according to `slot_begins`.
    fn end_row(&self, panel: usize) -> usize {
        let end = (panel + 1) * self.panel_slots;
        self.slot_begins[1..].partition_point(|&begin| begin as usize <= end).min(self.rows - 1)
    }

    /// Returns the number of entries of each slot. Runs in parallel.
    ///
    /// # Errors
    /// When memory runs out.
    fn slot_counts(&self) -> Result<Vec<u32>, Error> {
        let mut counts = zeros(self.slots())?;
        parallel::chunks_mut(&mut counts, self.panel_slots, 1, &|(panel, counts)| {
            for column_panel in 0..self.panel_counts().1 {
                for entry in self.tile(panel, column_panel).places() {
                    counts[self.slot(entry)] += 1;
                }
            }
        });
        Ok(counts)
    }
}

impl<T: Scalar, M: Memory> Coo16<T, M> {
    /// Returns the sizes of the panels.
    pub fn panels(&self) -> Panels {
        Panels { columns: self.panel_columns, slots: self.panel_slots }
    }

    /// Returns the numbers of row panels and column panels.
    pub(crate) fn panel_counts(&self) -> (usize, usize) {
        (self.panel_rows.len(), self.columns.div_ceil(self.panel_columns))
    }
}

/// Returns the 16 bits of an entry.
fn half(words: &[u32], entry: usize) -> u32 {
    let (word, shift) = half_of(entry as u32);
    words[word as usize] >> shift & 0xFFFF
}
