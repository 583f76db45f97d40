//! COO in tiles with 16-bit rows and columns, for multiplications in two passes.

use std::ops::Range;

use gpu_kernels::coo_16::{MOST_COLUMNS, MOST_SLOTS, SLOT_ENTRIES, half_of, tile_counts, tile_word};
use rayon::prelude::*;

use super::check::{check_offsets, count_parts};
use super::storage::storage;
use super::{Csr, FillLimit, Offsets, check_shape, parallel_rows};
use crate::error::{Error, check_length};
use crate::memory::zeros;
use crate::real::Real;

const FORMAT: &str = "COO-16";

/// Bytes of x that a column panel may have: two of them fit in the shared memory of most GPUs.
const PANEL_BYTES: usize = 96 << 10;

/// Row panels that a matrix has at least, if it has slots enough: a warp of a large GPU for each.
const ROW_PANELS: usize = 1 << 13;

/// Column panels that a matrix has at least, if it has columns enough.
const COLUMN_PANELS: usize = 8;

/// The fewest columns or slots of a panel that are chosen.
const FEWEST: usize = 32;

/// Rows that one thread brings back to CSR at a time.
const ROWS_AT_ONCE: usize = 4096;

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
    pub fn chosen<V>(columns: usize, slots: usize) -> Self {
        let most_columns = (PANEL_BYTES / size_of::<V>()).min(MOST_COLUMNS as usize);
        Self {
            columns: columns.div_ceil(COLUMN_PANELS).next_power_of_two().clamp(FEWEST, most_columns),
            slots: slots.div_ceil(ROW_PANELS).next_power_of_two().clamp(FEWEST, MOST_SLOTS as usize),
        }
    }

    fn check(self) -> Result<(), Error> {
        for (what, number, most) in
            [("columns", self.columns, MOST_COLUMNS as usize), ("slots", self.slots, MOST_SLOTS as usize)]
        {
            if !(1..=most).contains(&number) {
                return Err(Error::structure(FORMAT, format!("panels of {number} {what}, expected 1 to {most}")));
            }
        }
        Ok(())
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
    entries.div_ceil(64) * 32
}

/// Bytes that the COO-16 arrays take with values of `V`.
pub(crate) fn coo_16_bytes<V>(rows: usize, columns: usize, nnz: usize, slots: usize, panels: Panels) -> u128 {
    let (row_panels, column_panels) = panels.count(rows, columns, slots);
    let tiles = row_panels as u128 * column_panels as u128;
    4 * (rows as u128 + 1 + row_panels as u128) + 8 * tiles + 8 * half_words(nnz) as u128
        + nnz as u128 * size_of::<V>() as u128
}

/// Bytes that the COO-16 arrays of `matrix` take with values of `V`. O(rows).
pub(super) fn predicted_bytes<T: Real, V>(matrix: &Csr<T>) -> u128 {
    let slots = matrix.row_lengths().map(slots_of).sum();
    let panels = Panels::chosen::<V>(matrix.columns(), slots);
    coo_16_bytes::<V>(matrix.rows(), matrix.columns(), matrix.nnz(), slots, panels)
}

/// Checks that positions of entries have 32 bits.
pub(crate) fn check_entries(entries: usize) -> Result<(), Error> {
    let (value, limit) = (entries as u128, u128::from(u32::MAX));
    if value > limit {
        return Err(Error::TooLarge { what: "number of entries of a COO-16 matrix", value, limit });
    }
    Ok(())
}

/// A tile: where it begins, and how many entries and groups it has.
#[derive(Clone, Copy)]
pub(crate) struct Tile {
    begin: usize,
    count: usize,
    groups: usize,
}

impl Tile {
    /// The places of its entries.
    pub fn places(self) -> Range<usize> {
        self.begin..self.begin + self.count
    }

    /// The place of an entry, by its number in the order of slots.
    fn place(self, number: usize) -> usize {
        let (group, turn) = (number % self.groups, number / self.groups);
        self.group(group).start + turn
    }

    /// The places of a group.
    fn group(self, group: usize) -> Range<usize> {
        let (least, longer) = (self.count / self.groups, self.count % self.groups);
        let begin = self.begin + group * least + group.min(longer);
        begin..begin + least + usize::from(group < longer)
    }
}

/// An entry on its way into its tile.
#[derive(Clone, Copy, Default)]
struct Entry<T> {
    /// The slot in the upper half, the column in the lower one.
    word: u32,
    value: T,
}

impl<T: Real> Coo16<T> {
    /// A matrix from its arrays. In parallel, O(rows + nnz + tiles).
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
        check_shape(rows, columns)?;
        panels.check()?;
        check_entries(values.len())?;
        let slots = slot_begins.last().map_or(0, |&slots| slots as usize);
        check_offsets(FORMAT, "row", &slot_begins, rows, slots)?;
        let (row_panels, column_panels) = panels.count(rows, columns, slots);
        let tiles = row_panels.checked_mul(column_panels).unwrap_or(usize::MAX);
        check_length("panel_rows", panel_rows.len(), row_panels)?;
        check_length("tile_begins", tile_begins.len(), tiles)?;
        check_length("tile_words", tile_words.len(), tiles)?;
        for (name, words) in [("column_offsets", &column_offsets), ("slot_offsets", &slot_offsets)] {
            check_length(name, words.len(), half_words(values.len()))?;
            let unused = (values.len()..2 * words.len()).find(|&entry| half(words, entry) != 0);
            if let Some(entry) = unused {
                return Err(Error::structure(FORMAT, format!("{name} has a number for entry {entry}, which is not there")));
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
            return Err(Error::structure(FORMAT, format!("row panel {panel} ends in row {row}, expected {expected}")));
        }
        matrix.check_tiles()?;
        let slot_counts = matrix.slot_counts();
        count_parts(FORMAT, rows, |row| {
            let slots = matrix.slots_of_row(row);
            let length: usize = slot_counts[slots.clone()].iter().map(|&count| count as usize).sum();
            if slots_of(length) != slots.len() {
                return Err(format!("row {row} has {length} entries in {} slots", slots.len()));
            }
            for (turn, slot) in slots.clone().enumerate() {
                let expected = (length - turn).div_ceil(slots.len());
                if slot_counts[slot] as usize != expected {
                    return Err(format!("slot {turn} of row {row} has {} entries, expected {expected}", slot_counts[slot]));
                }
            }
            Ok(0)
        })?;
        Ok(matrix)
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
                if groups > count || groups < count.div_ceil(32) {
                    return fail(format!("{} has {count} entries in {groups} groups", name()));
                }
                expected += count;
            }
        }
        if expected != self.stored {
            return fail(format!("the tiles have {expected} entries, expected {}", self.stored));
        }
        count_parts(FORMAT, row_panels, |row_panel| {
            let slots = self.slots().min((row_panel + 1) * self.panel_slots) - row_panel * self.panel_slots;
            let mut last_group = vec![usize::MAX; slots];
            let mut group_number = 0;
            for column_panel in 0..column_panels {
                let tile = self.tile(row_panel, column_panel);
                for group in 0..tile.groups {
                    for entry in tile.group(group) {
                        let (slot, column) = (half(&self.slot_offsets, entry), self.column(column_panel, entry));
                        if half(&self.column_offsets, entry) as usize >= self.panel_columns || column as usize >= self.columns {
                            return Err(format!("entry {entry} is in column {column} of {}", self.columns));
                        }
                        let Some(last) = last_group.get_mut(slot as usize) else {
                            return Err(format!("entry {entry} is in slot {slot} of {slots} of row panel {row_panel}"));
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

    /// The same matrix as `matrix`, in COO-16; its rows are sorted in place, if they are not. In parallel,
    /// O(rows + nnz + tiles), and O(nnz log(longest row)) where rows are not sorted. Takes a second copy of the entries.
    ///
    /// # Errors
    /// When there are 2^32 entries or more, or when the arrays would be larger than `limit` allows or cannot be allocated.
    pub fn try_from_csr(matrix: Csr<T>, limit: FillLimit) -> Result<Self, Error> {
        let slots = matrix.row_lengths().map(slots_of).sum();
        let panels = Panels::chosen::<T>(matrix.columns(), slots);
        Self::try_with_panels(matrix, panels, limit)
    }

    /// [`try_from_csr`](Self::try_from_csr) with panels of any size that they may have.
    ///
    /// # Errors
    /// When they may not, and as above.
    pub fn try_with_panels(mut matrix: Csr<T>, panels: Panels, limit: FillLimit) -> Result<Self, Error> {
        panels.check()?;
        let (rows, columns, stored) = (matrix.rows(), matrix.columns(), matrix.nnz());
        check_entries(stored)?;
        let mut slots = 0;
        let slot_begins: Vec<u32> = std::iter::once(0)
            .chain(matrix.row_lengths().map(|length| {
                slots += slots_of(length) as u32;
                slots
            }))
            .collect();
        let bytes = coo_16_bytes::<T>(rows, columns, stored, slots as usize, panels);
        limit.check(FORMAT, bytes, matrix.bytes())?;
        matrix.sort_rows();
        let (row_panels, column_panels) = panels.count(rows, columns, slots as usize);
        let tiles = row_panels
            .checked_mul(column_panels)
            .ok_or(Error::OutOfMemory { what: "a COO-16 matrix", bytes })?;
        let mut result = Self {
            rows,
            columns,
            stored,
            panel_columns: panels.columns,
            panel_slots: panels.slots,
            slot_begins,
            panel_rows: Vec::new(),
            tile_begins: zeros(tiles)?,
            tile_words: zeros(tiles)?,
            column_offsets: zeros(half_words(stored))?,
            slot_offsets: zeros(half_words(stored))?,
            values: zeros(stored)?,
        };
        result.panel_rows = (0..row_panels).map(|panel| result.end_row(panel) as u32).collect();
        let shape = Shape { rows, panels, slot_begins: &result.slot_begins };
        let mut lengths = vec![0usize; row_panels];
        lengths.par_iter_mut().enumerate().for_each(|(panel, length)| {
            *length = shape.parts(&matrix, panel).map(|part| part.entries().count()).sum();
        });
        // First row panel after row panel, then each tile goes to where it belongs.
        let (mut words, mut values): (Vec<u32>, Vec<T>) = (zeros(stored)?, zeros(stored)?);
        if stored > 0 {
            let (mut words_left, mut values_left) = (&mut words[..], &mut values[..]);
            let mut of_panels = Vec::with_capacity(row_panels);
            for (&length, tile_words) in lengths.iter().zip(result.tile_words.chunks_exact_mut(column_panels)) {
                let (of_panel, rest) = words_left.split_at_mut(length);
                words_left = rest;
                let (values_of_panel, rest) = values_left.split_at_mut(length);
                values_left = rest;
                of_panels.push((tile_words, of_panel, values_of_panel));
            }
            of_panels.into_par_iter().enumerate().for_each(|(panel, (tile_words, words, values))| {
                fill_panel(&matrix, &shape, panel, tile_words, words, values);
            });
        }
        drop(matrix);
        let mut begin = 0;
        for column_panel in 0..column_panels {
            for row_panel in 0..row_panels {
                let tile = row_panel * column_panels + column_panel;
                result.tile_begins[tile] = begin;
                begin += tile_counts(result.tile_words[tile]).0;
            }
        }
        let mut ordered: Vec<u32> = zeros(stored)?;
        result.bring_tiles((&words, &values), &mut ordered)?;
        drop((words, values));
        let pack = |halves: &mut Vec<u32>, shift: u32| {
            halves.par_chunks_exact_mut(32).zip(ordered.par_chunks(64)).for_each(|(halves, words)| {
                for (place, word) in words.iter().enumerate() {
                    halves[place % 32] |= (word >> shift & 0xFFFF) << (place / 32 * 16);
                }
            });
        };
        pack(&mut result.column_offsets, 0);
        pack(&mut result.slot_offsets, 16);
        Ok(result)
    }

    /// Copies each tile from where it is, row panel after row panel, to where it belongs.
    fn bring_tiles(&mut self, from: (&[u32], &[T]), words: &mut [u32]) -> Result<(), Error> {
        let (row_panels, column_panels) = self.panel_counts();
        let mut sources: Vec<u32> = zeros(self.tile_words.len())?;
        let mut source = 0;
        for (begin, &word) in sources.iter_mut().zip(&self.tile_words) {
            *begin = source;
            source += tile_counts(word).0;
        }
        let (mut words, mut new_values) = (words, std::mem::take(&mut self.values));
        let mut values = &mut new_values[..];
        let mut parts = Vec::with_capacity(column_panels);
        for panel in 0..column_panels {
            let length = (0..row_panels).map(|row_panel| self.tile(row_panel, panel).count).sum();
            let (own_words, rest) = std::mem::take(&mut words).split_at_mut(length);
            words = rest;
            let (own_values, rest) = values.split_at_mut(length);
            values = rest;
            parts.push((own_words, own_values));
        }
        parts.into_par_iter().enumerate().for_each(|(panel, (words, values))| {
            let mut place = 0;
            for row_panel in 0..row_panels {
                let source = sources[row_panel * column_panels + panel] as usize;
                let count = self.tile(row_panel, panel).count;
                words[place..place + count].copy_from_slice(&from.0[source..source + count]);
                values[place..place + count].copy_from_slice(&from.1[source..source + count]);
                place += count;
            }
        });
        self.values = new_values;
        Ok(())
    }

    /// Number of entries of each slot.
    fn slot_counts(&self) -> Vec<u32> {
        let mut counts = vec![0; self.slots()];
        counts.par_chunks_mut(self.panel_slots).enumerate().for_each(|(panel, counts)| {
            for column_panel in 0..self.panel_counts().1 {
                for entry in self.tile(panel, column_panel).places() {
                    counts[half(&self.slot_offsets, entry) as usize] += 1;
                }
            }
        });
        counts
    }

    /// The same matrix in CSR, with sorted rows. In parallel, O(rows + nnz + tiles). Takes a second copy of the entries.
    pub fn to_csr(&self) -> Csr<T> {
        let (_, column_panels) = self.panel_counts();
        let slot_counts = self.slot_counts();
        let panel_lengths = slot_counts.chunks(self.panel_slots).map(|counts| counts.iter().map(|&count| count as usize).sum());
        let panel_begins = Offsets::from_lengths(panel_lengths.collect::<Vec<usize>>().into_iter());
        // First slot after slot.
        let mut columns = vec![0u32; self.stored];
        let mut values = vec![T::ZERO; self.stored];
        parallel_rows(&panel_begins, 1, &mut columns, &mut values, &|panel, columns, values| {
            let panel = panel.start;
            let counts = slot_counts[panel * self.panel_slots..].iter().take(self.panel_slots);
            let mut next: Vec<usize> = counts
                .scan(0, |begin, &count| {
                    *begin += count as usize;
                    Some(*begin - count as usize)
                })
                .collect();
            for column_panel in 0..column_panels {
                let tile = self.tile(panel, column_panel);
                for number in 0..tile.count {
                    let entry = tile.place(number);
                    let next = &mut next[half(&self.slot_offsets, entry) as usize];
                    (columns[*next], values[*next]) = (self.column(column_panel, entry), self.values[entry]);
                    *next += 1;
                }
            }
        });
        let slot_places = Offsets::from_lengths(slot_counts.iter().map(|&count| count as usize));
        let row_begin = |row: usize| slot_places.get(self.slot_begins[row] as usize);
        let offsets = Offsets::from_lengths((0..self.rows).map(|row| row_begin(row + 1) - row_begin(row)));
        let mut new_columns = vec![0; self.stored];
        let mut new_values = vec![T::ZERO; self.stored];
        parallel_rows(&offsets, ROWS_AT_ONCE, &mut new_columns, &mut new_values, &|rows, new_columns, new_values| {
            let base = offsets.get(rows.start);
            for row in rows {
                let slots = self.slots_of_row(row);
                for entry in offsets.get(row)..offsets.get(row + 1) {
                    let turn = entry - offsets.get(row);
                    let source = slot_places.get(slots.start + turn % slots.len()) + turn / slots.len();
                    (new_columns[entry - base], new_values[entry - base]) = (columns[source], values[source]);
                }
            }
        });
        Csr::from_valid(self.rows, self.columns, offsets, new_columns, new_values)
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
        Tile { begin: self.tile_begins[tile] as usize, count: count as usize, groups: groups as usize }
    }

    /// The slots of a row.
    pub(crate) fn slots_of_row(&self, row: usize) -> Range<usize> {
        self.slot_begins[row] as usize..self.slot_begins[row + 1] as usize
    }

    /// All slots.
    pub(super) fn slots(&self) -> usize {
        self.slot_begins.last().map_or(0, |&slots| slots as usize)
    }

    /// The row that a row panel ends in.
    fn end_row(&self, panel: usize) -> usize {
        let end = (panel + 1) * self.panel_slots;
        (self.slot_begins.partition_point(|&begin| begin as usize <= end) - 1).min(self.rows - 1)
    }
}

impl<T: Real, M: crate::memory::Memory> Coo16<T, M> {
    /// How the matrix is cut into panels.
    pub fn panels(&self) -> Panels {
        Panels { columns: self.panel_columns, slots: self.panel_slots }
    }

    /// Row panels and column panels.
    pub(crate) fn panel_counts(&self) -> (usize, usize) {
        let row_panels = crate::memory::Buffer::len(&self.panel_rows);
        (row_panels, self.columns.div_ceil(self.panel_columns))
    }
}

/// How a matrix is cut.
struct Shape<'a> {
    rows: usize,
    panels: Panels,
    slot_begins: &'a [u32],
}

impl Shape<'_> {
    /// The parts of rows that a row panel has, with their entries in `matrix`.
    fn parts<'b, T: Real>(&'b self, matrix: &'b Csr<T>, panel: usize) -> impl Iterator<Item = Part> + 'b {
        let own = panel * self.panels.slots..(panel + 1) * self.panels.slots;
        let first = self.slot_begins.partition_point(|&begin| begin as usize <= own.start).saturating_sub(1);
        (first..self.rows).map_while(move |row| {
            let slots = self.slot_begins[row] as usize..self.slot_begins[row + 1] as usize;
            (slots.start < own.end).then(|| Part { range: matrix.range(row), slots, own: own.clone() })
        })
    }
}

/// What a row panel has of a row.
struct Part {
    /// The row's entries.
    range: Range<usize>,
    /// The row's slots.
    slots: Range<usize>,
    /// The panel's slots.
    own: Range<usize>,
}

impl Part {
    /// The slot in the panel and the place in CSR of each entry.
    fn entries(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let slot_of = |entry: usize| self.slots.start + (entry - self.range.start) % self.slots.len();
        let of_panel = move |entry: usize| slot_of(entry).checked_sub(self.own.start).map(|slot| (slot, entry));
        self.range.clone().filter_map(of_panel).filter(|&(slot, _)| slot < self.own.len())
    }
}

/// Puts the entries of a row panel in the order of their tiles, and each tile in that of its groups.
fn fill_panel<T: Real>(
    matrix: &Csr<T>,
    shape: &Shape<'_>,
    panel: usize,
    tile_words: &mut [u32],
    words: &mut [u32],
    values: &mut [T],
) {
    let panel_columns = shape.panels.columns;
    let mut counts = vec![0usize; tile_words.len() + 1];
    for part in shape.parts(matrix, panel) {
        part.entries().for_each(|(_, entry)| {
            counts[matrix.column_indices()[entry] as usize / panel_columns + 1] += 1;
        });
    }
    for tile in 0..tile_words.len() {
        counts[tile + 1] += counts[tile];
    }
    let (begins, mut next) = (counts.clone(), counts);
    let mut entries = vec![Entry::default(); words.len()];
    for part in shape.parts(matrix, panel) {
        for (slot, entry) in part.entries() {
            let column = matrix.column_indices()[entry] as usize;
            let next = &mut next[column / panel_columns];
            let word = (slot as u32) << 16 | (column % panel_columns) as u32;
            entries[*next] = Entry { word, value: matrix.values()[entry] };
            *next += 1;
        }
    }
    for (word_of_tile, range) in tile_words.iter_mut().zip(begins.windows(2)) {
        let (begin, count) = (range[0], range[1] - range[0]);
        let entries = &mut entries[range[0]..range[1]];
        entries.sort_by_key(|entry| entry.word >> 16);
        let mut groups = count.div_ceil(32);
        // Too few while a slot comes once more than there are groups.
        while entries.iter().zip(entries.get(groups..).unwrap_or(&[])).any(|(a, b)| a.word >> 16 == b.word >> 16) {
            groups += 1;
        }
        *word_of_tile = tile_word(count as u32, groups as u32);
        let tile = Tile { begin, count, groups };
        for (number, entry) in entries.iter().enumerate() {
            let place = tile.place(number);
            (words[place], values[place]) = (entry.word, entry.value);
        }
    }
}

/// The 16 bits of an entry.
fn half(words: &[u32], entry: usize) -> u32 {
    let (word, shift) = half_of(entry as u32);
    words[word as usize] >> shift & 0xFFFF
}
