//! CSR to column panels and back, on the CPU. [`by_kernels`](super::by_kernels) does the former with kernels.

use gpu_kernels::column_panels::column_place;

use super::{ColumnPanels, ENTRIES, LANES, NAME, PanelSize, WORDS};
use super::{bytes_of, check_entries, lane_of, least_bytes, panel_of, panel_tiles, places_of, tiles_of, value_index};
use crate::error::Error;
use crate::format::rows::collect_rows;
use crate::format::{Csr, FillLimit};
use crate::memory::{collect, reserve, with_capacity, zeros};
use crate::parallel;
use crate::real::Scalar;

/// Tiles per task.
const TILES_AT_ONCE: usize = 64;

/// Chunks of entries for each thread.
const CHUNKS_OF_A_THREAD: usize = 4;

/// An entry of CSR.
#[derive(Clone, Copy, Default)]
struct Entry {
    row: u32,
    /// Its index in the arrays.
    index: u32,
}

/// The entries of a CSR matrix, chunk by chunk, those of a chunk panel by panel.
struct Order {
    panels: usize,
    entries: Vec<Entry>,
    /// Where the entries of each panel of each chunk begin, and the end of the last: chunks · panels + 1 numbers.
    begins: Vec<usize>,
    /// Number of entries of each panel in the chunks before each chunk, and last in all: (chunks + 1) · panels numbers.
    before: Vec<usize>,
}

impl Order {
    /// Sorts the entries of `matrix`.
    fn new<T: Scalar>(matrix: &Csr<T>, panel_columns: usize) -> Result<Self, Error> {
        let panels = matrix.columns().div_ceil(panel_columns);
        let chunks = (parallel::threads() * CHUNKS_OF_A_THREAD).min(matrix.nnz() / ENTRIES + 1);
        let chunk_begin = |chunk: usize| (matrix.nnz() as u128 * chunk as u128 / chunks as u128) as usize;
        let mut entries: Vec<Entry> = with_capacity(matrix.nnz())?;
        entries.resize(matrix.nnz(), Entry::default());
        let mut parts = with_capacity(chunks)?;
        let mut left = &mut entries[..];
        for chunk in 0..chunks {
            let (own, rest) = left.split_at_mut(chunk_begin(chunk + 1) - chunk_begin(chunk));
            parts.push(own);
            left = rest;
        }
        let panel_of = |entry: usize| matrix.column_indices()[entry] as usize / panel_columns;
        let ends_of_chunks = parallel::map_items(parts, &|(chunk, sorted)| {
            let mut next = zeros::<usize>(panels)?;
            let own = chunk_begin(chunk)..chunk_begin(chunk + 1);
            own.clone().for_each(|entry| next[panel_of(entry)] += 1);
            let mut sum = 0;
            for next in &mut next {
                sum += *next;
                *next = sum - *next;
            }
            let mut row = if own.is_empty() { 0 } else { matrix.row_of(own.start) };
            for index in own {
                while matrix.range(row).end <= index {
                    row += 1;
                }
                let next = &mut next[panel_of(index)];
                sorted[*next] = Entry { row: row as u32, index: index as u32 };
                *next += 1;
            }
            // Each is now where its panel ends.
            Ok::<Vec<usize>, Error>(next)
        })?;
        let mut begins = with_capacity(chunks * panels + 1)?;
        let mut before = with_capacity((chunks + 1) * panels)?;
        begins.push(0);
        before.resize(panels, 0);
        for (chunk, ends) in ends_of_chunks.into_iter().enumerate() {
            for (panel, &end) in ends?.iter().enumerate() {
                let begin = begins[chunk * panels + panel];
                let end = chunk_begin(chunk) + end;
                begins.push(end);
                before.push(before[chunk * panels + panel] + end - begin);
            }
        }
        Ok(Self { panels, entries, begins, before })
    }

    /// Returns the number of entries of a panel.
    fn count(&self, panel: usize) -> usize {
        self.before[self.before.len() - self.panels + panel]
    }

    /// Returns the number of tiles before each panel, and last of all.
    fn panel_tiles(&self) -> Result<Vec<u32>, Error> {
        panel_tiles((0..self.panels).map(|panel| self.count(panel)))
    }

    /// Returns the entries of a panel from number `begin` on, at most as many as a tile has.
    fn tile(&self, panel: usize, begin: usize) -> impl Iterator<Item = Entry> + '_ {
        let chunks = self.before.len() / self.panels;
        // The first chunk after which the panel has more entries.
        let (mut low, mut high) = (0, chunks - 1);
        while low < high {
            let middle = usize::midpoint(low, high);
            match self.before[(middle + 1) * self.panels + panel] <= begin {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        let skipped = begin - self.before[low * self.panels + panel];
        let of_chunk = move |chunk: usize| {
            let place = chunk * self.panels + panel;
            &self.entries[self.begins[place]..self.begins[place + 1]]
        };
        let later = (low + 1..chunks - 1).flat_map(of_chunk);
        of_chunk(low)[skipped..].iter().chain(later).copied().take(ENTRIES)
    }
}

/// The arrays of some tiles.
struct Group<'a, T> {
    first: usize,
    lane_words: &'a mut [u32],
    column_offsets: &'a mut [u32],
    values: &'a mut [T],
    /// The number of pieces of each tile.
    counts: &'a mut [u32],
}

impl<T: Scalar> ColumnPanels<T> {
    /// Converts `matrix`; its rows are sorted in place, if they are not. Runs in parallel in O(nnz), plus O(nnz
    /// log(longest row)) if rows are not sorted, and in O(rows + pieces) on one thread. Takes 8 bytes for each entry,
    /// besides the new arrays.
    ///
    /// # Errors
    /// When there are about 2^32 entries or more, or the arrays would exceed `limit` or cannot be allocated.
    pub fn try_from_csr(mut matrix: Csr<T>, size: PanelSize, limit: FillLimit) -> Result<Self, Error> {
        if let Some(reason) = size.contradiction() {
            return Err(Error::structure(NAME, reason));
        }
        let (rows, columns, stored) = (matrix.rows(), matrix.columns(), matrix.nnz());
        check_entries(stored)?;
        let panel_columns = size.columns::<T>(columns);
        limit.check(NAME, least_bytes::<T>(rows, columns.div_ceil(panel_columns), stored), matrix.bytes())?;
        matrix.sort_rows()?;
        let order = Order::new(&matrix, panel_columns)?;
        let panel_tiles = order.panel_tiles()?;
        let tiles = tiles_of(&panel_tiles);
        let mut lane_words = zeros::<u32>(tiles * LANES)?;
        let mut column_offsets = zeros::<u32>(tiles * WORDS)?;
        let mut values = zeros::<T>(tiles * ENTRIES)?;
        let mut counts = zeros::<u32>(tiles)?;
        let mut groups = with_capacity(tiles.div_ceil(TILES_AT_ONCE))?;
        let parts = lane_words
            .chunks_mut(TILES_AT_ONCE * LANES)
            .zip(column_offsets.chunks_mut(TILES_AT_ONCE * WORDS))
            .zip(values.chunks_mut(TILES_AT_ONCE * ENTRIES))
            .zip(counts.chunks_mut(TILES_AT_ONCE));
        for (number, (((lane_words, column_offsets), values), counts)) in parts.enumerate() {
            groups.push(Group { first: number * TILES_AT_ONCE, lane_words, column_offsets, values, counts });
        }
        let piece_rows =
            parallel::map_items(groups, &|(_, group)| fill(group, &matrix, &order, &panel_tiles, panel_columns))?;
        drop(order);
        let mut tile_pieces = with_capacity(tiles + 1)?;
        tile_pieces.push(0);
        let mut pieces = 0;
        for count in counts {
            pieces += count;
            tile_pieces.push(pieces);
        }
        let piece_rows = piece_rows.into_iter().collect::<Result<Vec<Vec<u32>>, Error>>()?;
        let (row_begins, piece_numbers) = by_row(&piece_rows, rows, pieces as usize)?;
        let converted = Self {
            rows,
            columns,
            stored,
            panel_columns,
            panel_tiles,
            tile_pieces,
            lane_words,
            column_offsets,
            values,
            row_begins,
            piece_numbers,
        };
        limit.check(NAME, converted.bytes(), matrix.bytes())?;
        Ok(converted)
    }

    /// Converts the matrix to CSR, with sorted rows if it was made from CSR. Runs in parallel in O(nnz), and in O(pieces)
    /// on one thread.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn to_csr(&self) -> Result<Csr<T>, Error> {
        let begins = self.piece_begins()?;
        collect_rows(self.rows, self.columns, |row| self.entries_of(&begins, row))
    }

    /// Returns the columns and values of a row, given where the pieces begin.
    pub(super) fn entries_of<'a>(&'a self, begins: &'a [u32], row: usize) -> impl Iterator<Item = (u32, T)> + 'a {
        self.pieces_of(row).iter().flat_map(move |&piece| {
            let places = places_of(begins, piece);
            let first = self.columns_of_panel(self.panel_of(places.start / ENTRIES)).start as u32;
            places.map(move |place| (first + self.column_offset(place), self.values[value_index(place)]))
        })
    }
}

/// Returns the bytes of the arrays of `matrix` with values of `V`. Runs in parallel in O(nnz), and takes 8 bytes for each
/// entry.
pub(super) fn predicted_bytes<T: Scalar, V: Scalar>(matrix: &Csr<T>, size: PanelSize) -> Result<u128, Error> {
    let order = Order::new(matrix, size.columns::<V>(matrix.columns()))?;
    let panel_tiles = order.panel_tiles()?;
    let tiles = tiles_of(&panel_tiles);
    let counts = parallel::map(tiles, TILES_AT_ONCE, &|tile| {
        let panel = panel_of(&panel_tiles, tile);
        let (mut pieces, mut before, mut count) = (0, None, 0);
        for entry in order.tile(panel, (tile - panel_tiles[panel] as usize) * ENTRIES) {
            pieces += usize::from(before != Some(entry.row));
            before = Some(entry.row);
            count += 1;
        }
        pieces + usize::from(count < ENTRIES)
    })?;
    Ok(bytes_of::<V>(matrix.rows(), order.panels, tiles, counts.iter().sum()))
}

/// Fills some tiles. Returns the row of each of their pieces, and the number of rows for those that belong to none.
fn fill<T: Scalar>(
    group: Group<'_, T>,
    matrix: &Csr<T>,
    order: &Order,
    panel_tiles: &[u32],
    panel_columns: usize,
) -> Result<Vec<u32>, Error> {
    let mut piece_rows = Vec::new();
    let no_row = matrix.rows() as u32;
    for (number, count) in group.counts.iter_mut().enumerate() {
        let tile = group.first + number;
        let panel = panel_of(panel_tiles, tile);
        let first_column = (panel * panel_columns) as u32;
        let begin = (tile - panel_tiles[panel] as usize) * ENTRIES;
        let lane_words = &mut group.lane_words[number * LANES..][..LANES];
        let column_offsets = &mut group.column_offsets[number * WORDS..][..WORDS];
        let values = &mut group.values[number * ENTRIES..][..ENTRIES];
        reserve(&mut piece_rows, ENTRIES)?;
        let mut entries = order.tile(panel, begin);
        let (mut last, mut row_before) = (Entry::default(), None);
        let before = piece_rows.len();
        for place in 0..ENTRIES {
            let (lane, entry_of_lane) = lane_of(place);
            let word = &mut lane_words[lane as usize];
            if entry_of_lane == 0 {
                *word = ((piece_rows.len() - before) as u32) << 16;
            }
            let next = entries.next();
            last = next.unwrap_or(last);
            let row = next.map_or(no_row, |entry| entry.row);
            if row_before != Some(row) {
                *word |= 1 << entry_of_lane;
                piece_rows.push(row);
                row_before = Some(row);
            }
            let index = last.index as usize;
            let (word, shift) = column_place(lane, entry_of_lane);
            column_offsets[word as usize] |= (matrix.column_indices()[index] - first_column) << shift;
            values[value_index(place)] = matrix.values()[index];
        }
        *count = (piece_rows.len() - before) as u32;
    }
    Ok(piece_rows)
}

/// Lists the pieces by row: the number of pieces before each row, and the pieces.
fn by_row(piece_rows: &[Vec<u32>], rows: usize, pieces: usize) -> Result<(Vec<u32>, Vec<u32>), Error> {
    let all = || piece_rows.iter().flatten().map(|&row| row as usize);
    // Those that belong to no row come last.
    let mut begins = zeros::<u32>(rows + 2)?;
    all().for_each(|row| begins[row + 1] += 1);
    for row in 0..=rows {
        begins[row + 1] += begins[row];
    }
    let mut next = collect(begins.iter().copied())?;
    let mut numbers = zeros(pieces)?;
    for (piece, row) in all().enumerate() {
        numbers[next[row] as usize] = piece as u32;
        next[row] += 1;
    }
    begins.pop();
    Ok((begins, numbers))
}
