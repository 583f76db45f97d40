//! CSR to COO-16 and back, on the CPU. [`by_kernels`](super::by_kernels) does the same with kernels.

use gpu_kernels::coo_16::{dealt_place, tile_counts, tile_word};

use super::{Coo16, FORMAT, Panels, WARP_LANES, check_entries, coo_16_bytes, half_words, slots_of, tile_count};
use crate::error::Error;
use crate::format::{Csr, FillLimit, Offsets, parallel_rows};
use crate::memory::{collect, copy, with_capacity, zeros};
use crate::parallel::{self, ROWS_AT_ONCE};
use crate::real::Scalar;

/// Chunks of words per task when splitting words.
const CHUNKS_AT_ONCE: usize = 256;

impl<T: Scalar> Coo16<T> {
    /// Converts `matrix` to COO-16; its rows are sorted in place, if they are not. Runs in parallel in O(rows + nnz +
    /// tiles), plus O(nnz log(longest row)) if rows are not sorted. Takes a second copy of the entries.
    ///
    /// # Errors
    /// When there are about 2^32 entries or more, or the arrays would exceed `limit` or cannot be allocated.
    pub fn try_from_csr(matrix: Csr<T>, limit: FillLimit) -> Result<Self, Error> {
        let slots = matrix.row_lengths().map(slots_of).sum();
        let panels = Panels::chosen::<T>(matrix.columns(), slots);
        Self::try_with_panels(matrix, panels, limit)
    }

    /// Same as [`try_from_csr`](Self::try_from_csr), with panels of any valid size.
    ///
    /// # Errors
    /// When the size is invalid, and as above.
    pub fn try_with_panels(mut matrix: Csr<T>, panels: Panels, limit: FillLimit) -> Result<Self, Error> {
        panels.check()?;
        let (rows, columns, stored) = (matrix.rows(), matrix.columns(), matrix.nnz());
        check_entries(stored)?;
        let mut slot_begins = with_capacity(rows + 1)?;
        slot_begins.push(0);
        let mut slots = 0;
        slot_begins.extend(matrix.row_lengths().map(|length| {
            slots += slots_of(length);
            slots as u32
        }));
        let bytes = coo_16_bytes::<T>(rows, columns, stored, slots, panels);
        limit.check(FORMAT, bytes, matrix.bytes())?;
        matrix.sort_rows()?;
        let (row_panels, column_panels) = panels.count(rows, columns, slots);
        let tiles = tile_count(row_panels, column_panels, bytes)?;
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
            column_offsets: Vec::new(),
            slot_offsets: Vec::new(),
            values: Vec::new(),
        };
        result.panel_rows = collect((0..row_panels).map(|panel| result.end_row(panel) as u32))?;
        if stored > 0 {
            let by_row_panel = result.count_and_sort(matrix)?;
            result.take_tiles(&by_row_panel)?;
        }
        Ok(result)
    }

    /// Calls `visit` with each entry of a row panel and its slot there, slot by slot.
    fn for_each_of_panel(&self, matrix: &Csr<T>, panel: usize, mut visit: impl FnMut(u32, usize)) {
        let begin = panel * self.panel_slots;
        let mut row = self.slot_begins[1..].partition_point(|&end| end as usize <= begin);
        for slot in begin..self.slots().min(begin + self.panel_slots) {
            while self.slot_begins[row + 1] as usize <= slot {
                row += 1;
            }
            let (entries, slots) = (matrix.range(row), self.slots_of_row(row));
            let of_slot = (entries.start + slot - slots.start..entries.end).step_by(slots.len());
            of_slot.for_each(|entry| visit((slot - begin) as u32, entry));
        }
    }

    /// Determines the offset of each tile, and its numbers of entries and groups. Returns the entries row panel by row
    /// panel, tile by tile, those of a tile by slot.
    fn count_and_sort(&mut self, matrix: Csr<T>) -> Result<Sorted<T>, Error> {
        let (row_panels, column_panels) = self.panel_counts();
        let panel_columns = self.panel_columns;
        let mut tile_words = std::mem::take(&mut self.tile_words);
        let column_of = |entry: usize| matrix.column_indices()[entry] as usize;
        parallel::chunks_mut(&mut tile_words, column_panels, 1, &|(panel, counts)| {
            self.for_each_of_panel(&matrix, panel, |_, entry| counts[column_of(entry) / panel_columns] += 1);
        });
        let mut begins: Vec<u32> = zeros(tile_words.len() + 1)?;
        for (tile, &count) in tile_words.iter().enumerate() {
            begins[tile + 1] = begins[tile] + count;
        }
        let length_of = |panel: usize| (begins[(panel + 1) * column_panels] - begins[panel * column_panels]) as usize;
        let panel_begins = Offsets::from_lengths((0..row_panels).map(length_of))?;
        let (mut words, mut values): (Vec<u32>, Vec<T>) = (zeros(self.stored)?, zeros(self.stored)?);
        parallel_rows(&panel_begins, 1, &mut words, &mut values, &|panel, words, values| {
            let mut next = copy(&begins[panel.start * column_panels..][..column_panels])?;
            let base = next[0];
            self.for_each_of_panel(&matrix, panel.start, |slot, entry| {
                let column = column_of(entry);
                let next = &mut next[column / panel_columns];
                let place = (*next - base) as usize;
                words[place] = slot << 16 | (column % panel_columns) as u32;
                values[place] = matrix.values()[entry];
                *next += 1;
            });
            Ok(())
        })?;
        parallel::fill(&mut tile_words, 1, &|tile| {
            let entries = begins[tile] as usize..begins[tile + 1] as usize;
            tile_word(entries.len() as u32, groups(&words[entries]))
        });
        let mut begin = 0;
        for panel in 0..column_panels {
            for tile in (panel..tile_words.len()).step_by(column_panels) {
                self.tile_begins[tile] = begin;
                begin += tile_counts(tile_words[tile]).0;
            }
        }
        self.tile_words = tile_words;
        Ok(Sorted { begins, words, values })
    }

    /// Copies each tile to its position, and its entries into their groups.
    fn take_tiles(&mut self, sorted: &Sorted<T>) -> Result<(), Error> {
        let (row_panels, column_panels) = self.panel_counts();
        let panel_end = |panel: usize| match panel + 1 < column_panels {
            true => self.tile_begins[panel + 1] as usize,
            false => self.stored,
        };
        let length_of = |panel: usize| panel_end(panel) - self.tile_begins[panel] as usize;
        let panel_begins = Offsets::from_lengths((0..column_panels).map(length_of))?;
        let (mut words, mut values): (Vec<u32>, Vec<T>) = (zeros(self.stored)?, zeros(self.stored)?);
        parallel_rows(&panel_begins, 1, &mut words, &mut values, &|panel, words, values| {
            let base = panel_begins.get(panel.start);
            for row_panel in 0..row_panels {
                let source = sorted.begins[row_panel * column_panels + panel.start] as usize;
                for (number, place) in self.tile(row_panel, panel.start).places_by_slot().enumerate() {
                    words[place - base] = sorted.words[source + number];
                    values[place - base] = sorted.values[source + number];
                }
            }
            Ok(())
        })?;
        self.column_offsets = halves(&words, 0)?;
        self.slot_offsets = halves(&words, 16)?;
        self.values = values;
        Ok(())
    }

    /// Converts the matrix to CSR, with sorted rows if it was made from CSR. Runs in parallel in O(rows + nnz + tiles).
    /// Takes a second copy of the entries.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn to_csr(&self) -> Result<Csr<T>, Error> {
        let (row_panels, column_panels) = self.panel_counts();
        let slot_counts = self.slot_counts()?;
        let count_in = |slots: &[u32]| slots.iter().map(|&count| count as usize).sum::<usize>();
        let counts_of = |panel: usize| {
            let begin = panel * self.panel_slots;
            &slot_counts[begin..slot_counts.len().min(begin + self.panel_slots)]
        };
        let panel_begins = Offsets::from_lengths((0..row_panels).map(|panel| count_in(counts_of(panel))))?;
        // First, slot by slot.
        let (mut columns, mut values) = (zeros::<u32>(self.stored)?, zeros::<T>(self.stored)?);
        parallel_rows(&panel_begins, 1, &mut columns, &mut values, &|panel, columns, values| {
            let mut begin = 0;
            let begins = counts_of(panel.start).iter().map(|&count| {
                begin += count as usize;
                begin - count as usize
            });
            let mut next = collect(begins)?;
            for column_panel in 0..column_panels {
                for place in self.tile(panel.start, column_panel).places_by_slot() {
                    let next = &mut next[self.slot(place)];
                    (columns[*next], values[*next]) = (self.column(column_panel, place), self.values[place]);
                    *next += 1;
                }
            }
            Ok(())
        })?;
        let offsets = Offsets::from_lengths((0..self.rows).map(|row| count_in(&slot_counts[self.slots_of_row(row)])))?;
        let (mut new_columns, mut new_values) = (zeros(self.stored)?, zeros(self.stored)?);
        parallel_rows(&offsets, ROWS_AT_ONCE, &mut new_columns, &mut new_values, &|rows, new_columns, new_values| {
            let mut entries = new_columns.iter_mut().zip(new_values);
            for row in rows {
                let (begin, length) = (offsets.get(row), offsets.get(row + 1) - offsets.get(row));
                let slots = self.slots_of_row(row).len();
                for (number, (column, value)) in (0..length).zip(entries.by_ref()) {
                    let source = begin + dealt_place(length as u32, slots as u32, number as u32) as usize;
                    (*column, *value) = (columns[source], values[source]);
                }
            }
            Ok(())
        })?;
        Ok(Csr::from_valid(self.rows, self.columns, offsets, new_columns, new_values))
    }
}

/// Entries row panel by row panel, tile by tile, those of a tile by slot.
struct Sorted<T> {
    /// Offset of each tile.
    begins: Vec<u32>,
    /// Slot of each entry in the upper half, column in the lower one.
    words: Vec<u32>,
    /// Value of each entry.
    values: Vec<T>,
}

/// Returns the number of groups of a tile: enough that no two entries of a slot share a group. The entries are ordered
/// by slot.
fn groups(words: &[u32]) -> u32 {
    let mut groups = words.len().div_ceil(WARP_LANES as usize);
    let meet = |groups: usize| words.iter().zip(words.get(groups..).unwrap_or(&[])).any(|(a, b)| a >> 16 == b >> 16);
    while meet(groups) {
        groups += 1;
    }
    groups as u32
}

/// Returns 16 bits of each word, from `shift` on, in the layout of the format.
fn halves(words: &[u32], shift: u32) -> Result<Vec<u32>, Error> {
    let lanes = WARP_LANES as usize;
    let mut halves: Vec<u32> = zeros(half_words(words.len()))?;
    parallel::chunks_mut(&mut halves, lanes, CHUNKS_AT_ONCE, &|(chunk, halves)| {
        for (place, word) in words[chunk * 2 * lanes..].iter().take(2 * lanes).enumerate() {
            halves[place % lanes] |= (word >> shift & 0xFFFF) << (place / lanes * 16);
        }
    });
    Ok(halves)
}
