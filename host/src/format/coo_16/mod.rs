//! COO in tiles with 16-bit rows and columns, for multiplications in two passes.

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

/// Bytes of x that a column panel may have: two of them fit in the shared memory of a multiprocessor of compute capability
/// 9.0, one in that of 8.0 and 8.6, none in that of 7.5.
const PANEL_BYTES: usize = 96 << 10;

/// Row panels that a matrix has at least, if it has slots enough: a warp of a large GPU for each.
const ROW_PANELS: usize = 1 << 13;

/// Column panels that a matrix has at least, if it has columns enough.
const COLUMN_PANELS: usize = 8;

/// The fewest columns or slots of a panel that are chosen.
const FEWEST: usize = 32;

storage! {
    /// A sparse matrix in COO-16: the entries lie tile by tile. A tile is what a row panel has in a column panel; those of
    /// the first column panel come first, row panel after row panel. A column panel has
    /// [`panel_columns`](Self::panel_columns) columns. A row panel has [`panel_slots`](Self::panel_slots) slots: a row of n
    /// entries has ⌈n / 64⌉ of them, to which its entries go by turns, so that a row may go on in the next panel.
    ///
    /// The entries of a tile are ordered by slot, those of one slot by column, and then dealt out to its groups by turns:
    /// as many groups as it takes for groups of at most 32 entries without a slot in common. Group after group is stored.
    pub struct Coo16 {
        parameters {
            /// Columns of a column panel; the last one may have fewer. At most 2^16.
            panel_columns: usize,
            /// Slots of a row panel; the last one may have fewer. At most 1024.
            panel_slots: usize,
        }
        offsets {}
        arrays {
            /// The slots of all rows before each row, and of all: rows + 1 numbers.
            slot_begins: u32,
            /// The row that each row panel ends in: the first that has slots beyond it, or the last row of all.
            panel_rows: u32,
            /// Where each tile begins: those of the first row panel, in the order of the columns, then of the next one.
            tile_begins: u32,
            /// How many entries each tile has, in the lower 20 bits, and how many groups.
            tile_words: u32,
            /// The column of each entry in its panel. Of 64 entries that begin at a multiple of 64, word l has those of
            /// entries l, in its lower half, and l + 32.
            column_offsets: u32,
            /// The slot of each entry in its row panel, in the same order.
            slot_offsets: u32,
            /// The value of each entry.
            values: T,
        }
    }
}

/// How a matrix is cut into panels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Panels {
    /// Columns of a column panel, from 1 to 2^16.
    pub columns: usize,
    /// Slots of a row panel, from 1 to 1024.
    pub slots: usize,
}

impl Panels {
    /// The panels of a matrix with values of `V`, so many columns, and so many slots in all: column panels of 96 KB of x
    /// or, for smaller matrices, an eighth of the columns; row panels of 1024 slots, or so many that there are 8192.
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

    /// Bytes of shared memory that a block has for a column panel of a matrix with so many columns.
    pub(crate) fn shared_bytes<V>(self, columns: usize) -> u32 {
        (self.columns.min(columns) * size_of::<V>()) as u32
    }

    /// Row panels and column panels of a matrix.
    pub(crate) fn count(self, rows: usize, columns: usize, slots: usize) -> (usize, usize) {
        (slots.div_ceil(self.slots).max(rows.min(1)), columns.div_ceil(self.columns))
    }
}

/// Slots of a row of so many entries.
pub(crate) fn slots_of(length: usize) -> usize {
    length.div_ceil(SLOT_ENTRIES as usize)
}

/// Words for the halves of so many entries.
pub(crate) fn half_words(entries: usize) -> usize {
    entries.div_ceil(CHUNK as usize) * WARP_LANES as usize
}

/// Tiles of so many row panels and column panels, where all arrays take so many bytes.
pub(crate) fn tile_count(row_panels: usize, column_panels: usize, bytes: u128) -> Result<usize, Error> {
    row_panels.checked_mul(column_panels).ok_or(Error::OutOfMemory { what: "a COO-16 matrix", bytes })
}

/// Bytes that the COO-16 arrays take with values of `V`.
pub(crate) fn coo_16_bytes<V>(rows: usize, columns: usize, nnz: usize, slots: usize, panels: Panels) -> u128 {
    let (row_panels, column_panels) = panels.count(rows, columns, slots);
    let tiles = row_panels as u128 * column_panels as u128;
    4 * (rows as u128 + 1 + row_panels as u128)
        + 8 * tiles
        + 8 * half_words(nnz) as u128
        + nnz as u128 * size_of::<V>() as u128
}

/// Bytes that the COO-16 arrays of `matrix` take with values of `V`. O(rows).
pub(super) fn predicted_bytes<T: Scalar, V: Scalar>(matrix: &Csr<T>) -> u128 {
    let slots = matrix.row_lengths().map(slots_of).sum();
    let panels = Panels::chosen::<V>(matrix.columns(), slots);
    coo_16_bytes::<V>(matrix.rows(), matrix.columns(), matrix.nnz(), slots, panels)
}

/// Checks that places of entries have 32 bits, with room for kernels to step past the last one.
pub(crate) fn check_entries(entries: usize) -> Result<(), Error> {
    let (value, limit) = (entries as u128, u128::from(LARGEST_NARROW));
    if value > limit {
        return Err(Error::TooLarge { what: "number of entries of a COO-16 matrix", value, limit });
    }
    Ok(())
}

/// A tile: where it begins, and how many entries and groups it has.
#[derive(Clone, Copy)]
pub(crate) struct Tile {
    begin: usize,
    count: u32,
    groups: u32,
}

impl Tile {
    /// The places of its entries.
    pub fn places(self) -> Range<usize> {
        self.begin..self.begin + self.count as usize
    }

    /// The places of its entries in the order of their slots.
    fn places_by_slot(self) -> impl Iterator<Item = usize> {
        (0..self.count).map(move |number| self.begin + dealt_place(self.count, self.groups, number) as usize)
    }

    /// The places of a group.
    fn group(self, group: u32) -> Range<usize> {
        let begin_of = |group| self.begin + pile_begin(self.count, self.groups, group) as usize;
        begin_of(group)..begin_of(group + 1)
    }
}

impl<T: Scalar> Coo16<T> {
    /// A matrix from its arrays. In parallel, O(rows + nnz + tiles). The entries of a tile may be in another order, and in
    /// more groups than it takes.
    ///
    /// # Errors
    /// When the panels have other sizes than they may, the arrays contradict each other or the shape, an entry is in a
    /// slot or a column that is not there, or two of a group are in the same slot.
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
                return fail(format!("{name} has a number for entry {entry}, which is not there"));
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

    /// Checks that each row has as many slots as it needs, and its entries there by turns.
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

    /// Checks that tiles follow each other without a gap, and what is in them.
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
                            return Err(format!("entry {entry} is in slot {slot}, as another one of its group"));
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

    /// The column of an entry of a column panel.
    pub(crate) fn column(&self, column_panel: usize, entry: usize) -> u32 {
        (column_panel * self.panel_columns) as u32 + half(&self.column_offsets, entry)
    }

    /// The slot of an entry in its row panel.
    pub(crate) fn slot(&self, entry: usize) -> usize {
        half(&self.slot_offsets, entry) as usize
    }

    pub(crate) fn tile(&self, row_panel: usize, column_panel: usize) -> Tile {
        let tile = row_panel * self.panel_counts().1 + column_panel;
        let (count, groups) = tile_counts(self.tile_words[tile]);
        Tile { begin: self.tile_begins[tile] as usize, count, groups }
    }

    /// The slots of a row.
    pub(crate) fn slots_of_row(&self, row: usize) -> Range<usize> {
        self.slot_begins[row] as usize..self.slot_begins[row + 1] as usize
    }

    /// All slots.
    pub(super) fn slots(&self) -> usize {
        self.slot_begins.last().map_or(0, |&slots| slots as usize)
    }

    /// The row that a row panel ends in, as `slot_begins` has it.
    fn end_row(&self, panel: usize) -> usize {
        let end = (panel + 1) * self.panel_slots;
        self.slot_begins[1..].partition_point(|&begin| begin as usize <= end).min(self.rows - 1)
    }

    /// Number of entries of each slot. In parallel.
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
    /// How the matrix is cut into panels.
    pub fn panels(&self) -> Panels {
        Panels { columns: self.panel_columns, slots: self.panel_slots }
    }

    /// Row panels and column panels.
    pub(crate) fn panel_counts(&self) -> (usize, usize) {
        (self.panel_rows.len(), self.columns.div_ceil(self.panel_columns))
    }
}

/// The 16 bits of an entry.
fn half(words: &[u32], entry: usize) -> u32 {
    let (word, shift) = half_of(entry as u32);
    words[word as usize] >> shift & 0xFFFF
}
