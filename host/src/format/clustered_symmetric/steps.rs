//! Assignment of the slices of a part to warps, and an order of the entries in which no two that a block multiplies in
//! the same step add to the same element of y.

use gpu_kernels::clustered_symmetric::WARPS as WARPS_OF_BLOCK;
use gpu_kernels::convert::clustered_symmetric::choices::MOST_COMPARED as COMPARED;
use gpu_kernels::convert::clustered_symmetric::steps::SLOTS_OF_A_STEP;

use super::slots::{Assigned, Entry, Slots};
use crate::error::Error;
use crate::format::clustered::{ROWS, WORDS, lane_of};
use crate::memory::{clear_for, refill};

/// Warps per block.
pub(super) const WARPS: usize = WARPS_OF_BLOCK as usize;

/// Bytes that shared memory delivers to the lanes of a warp at a time.
const BYTES_AT_A_TIME: usize = 128;

/// Entries of a row that are compared per step, if one of them can be taken. With twice as many, 1 to 5 % fewer lanes
/// wait for bank conflicts, and the search takes a quarter longer.
const MOST_COMPARED: usize = COMPARED as usize;

/// The entries of a part, row by row, the longest rows first.
#[derive(Default)]
pub(super) struct Rows {
    /// Positions, which are the columns that images are added to: whole slices.
    positions: usize,
    /// Number of columns, positions included.
    columns: usize,
    /// Number of entries of all rows before each position, then of all rows.
    begins: Vec<usize>,
    entries: Vec<Entry>,
}

/// State of a column's sum.
#[derive(Clone, Copy)]
struct Sum {
    /// Last step that adds to it.
    last: u32,
    /// Remaining entries of the active slices in its column.
    expected: u16,
}

/// A warp's slice.
#[derive(Clone, Copy)]
struct Active {
    slice: usize,
    /// Number of its entries without a step.
    left: usize,
    /// Its latest column of slots, by its number in the part.
    place: usize,
}

/// Warps of a part that may multiply at a time, in descending order: all, or fewer if rows share most of their columns,
/// because most warps would then wait for others.
pub(super) const WARPS_AT_A_TIME: [usize; 3] = [WARPS, WARPS / 2, WARPS / 4];

/// Assigns the entries of parts to steps, one part at a time, one entry after another. Its arrays are kept from part to
/// part, and are empty until the first.
#[derive(Default)]
pub(super) struct Assignment {
    /// Lanes that shared memory serves at a time, a power of two: each lane uses a separate bank, or waits.
    banks: usize,
    /// The remaining entries of each row come first among its own.
    entries: Vec<Entry>,
    /// Number of remaining entries of each row.
    left: Vec<u16>,
    /// For each column; those of the halo never change, so that [`best`](Self::best) need not tell them apart.
    sums: Vec<Sum>,
    /// Elements that each bank delivers to the lanes that are served together.
    given: Vec<u8>,
    /// Current slice of each warp, if it is not done.
    active: [Option<Active>; WARPS],
    /// Warp of each slice.
    warps: Vec<u8>,
    /// Slices in the order in which they were given to warps.
    given_slices: Vec<u32>,
    /// Rows with remaining entries.
    waiting: Vec<Waiting>,
    slots: Slots,
    /// Number of steps.
    steps: u32,
}

/// A row with remaining entries, ordered by urgency.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting(u64);

impl Waiting {
    /// A row that has `fewer` entries less left than the longest of its slice.
    fn new(fewer: u16, row: usize, warp: usize) -> Self {
        Self(u64::from(fewer) << 32 | (row as u64) << 8 | warp as u64)
    }

    fn row_and_warp(self) -> (usize, usize) {
        ((self.0 as u32 >> 8) as usize, usize::from(self.0 as u8))
    }
}

impl Rows {
    /// Removes all rows, for a part with these numbers of positions, of columns, positions included, and of entries.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn restart(&mut self, positions: usize, columns: usize, entries: usize) -> Result<(), Error> {
        (self.positions, self.columns) = (positions, columns);
        clear_for(&mut self.begins, positions + 1)?;
        self.begins.push(0);
        clear_for(&mut self.entries, entries)
    }

    /// Adds an entry to the row.
    pub fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// Ends the row.
    pub fn end_row(&mut self) {
        self.begins.push(self.entries.len());
    }

    /// Ends the part; the positions that are left have no entries.
    pub fn end(&mut self) {
        self.begins.resize(self.positions + 1, self.entries.len());
    }

    /// Whether the entry of a row also stands for its image.
    fn has_image(&self, row: usize, column: u16) -> bool {
        usize::from(column) < self.positions && usize::from(column) != row
    }

    /// The number of entries of a row.
    fn length(&self, row: usize) -> usize {
        self.begins[row + 1] - self.begins[row]
    }

    /// A number that [`Assignment::cost`] does not fall below, if at most `warps` warps multiply at a time.
    pub fn least_cost(&self, warps: usize) -> usize {
        least_cost(self.entries.len(), warps)
    }
}

/// [`Rows::least_cost`] of this many entries.
pub(super) fn least_cost(entries: usize, warps: usize) -> usize {
    entries + entries.div_ceil(warps * ROWS) * SLOTS_OF_A_STEP as usize
}

/// Lanes that shared memory serves at a time, if an element takes `element_bytes`: a power of two.
pub(super) fn banks(element_bytes: usize) -> usize {
    BYTES_AT_A_TIME / element_bytes.next_power_of_two().clamp(4, BYTES_AT_A_TIME)
}

impl Assignment {
    /// Assigns all entries to steps, where an element takes `element_bytes`, by `warps` of the warps. In each step, the
    /// most urgent rows come first, and take their most urgent entry, or one that does not keep others from shared
    /// memory. O(entries), except for rows that wait.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn run(&mut self, rows: &Rows, element_bytes: usize, warps: usize) -> Result<(), Error> {
        self.restart(rows, element_bytes)?;
        let with_entries = |&slice: &usize| rows.begins[(slice + 1) * ROWS] > rows.begins[slice * ROWS];
        let all = 0..rows.positions / ROWS;
        let mut slices = all.clone().filter(with_entries);
        let mut step = 0;
        loop {
            for warp in 0..warps {
                if self.active[warp].is_some_and(|active| active.left > 0) {
                    continue;
                }
                let done = self.active[warp].take();
                if let Some(slice) = slices.next() {
                    if let Some(done) = done {
                        // In this step, the warp adds its rows' own sums.
                        self.sums[done.slice * ROWS..][..ROWS].iter_mut().for_each(|sum| sum.last = step);
                    }
                    self.open(rows, warp, slice);
                }
            }
            let longest = self.begin_step()?;
            if self.waiting.is_empty() {
                break;
            }
            let waiting = std::mem::take(&mut self.waiting);
            for (row, warp) in waiting.iter().map(|waiting| waiting.row_and_warp()) {
                if let Some(index) = self.best(rows, warp, row, step, longest) {
                    self.take(rows, warp, row, index, step);
                }
            }
            self.waiting = waiting;
            step += 1;
        }
        self.steps = step;
        // Slices without entries go behind the last.
        for slice in all.filter(|slice| !with_entries(slice)) {
            self.give(slice, WARPS - 1);
        }
        Ok(())
    }

    /// The number of slots plus the cost of the steps.
    pub fn cost(&self) -> usize {
        self.slots.count() + self.steps as usize * SLOTS_OF_A_STEP as usize
    }

    /// Forgets the last part.
    fn restart(&mut self, rows: &Rows, element_bytes: usize) -> Result<(), Error> {
        self.banks = banks(element_bytes);
        clear_for(&mut self.entries, rows.entries.len())?;
        self.entries.extend_from_slice(&rows.entries);
        clear_for(&mut self.left, rows.positions)?;
        self.left.extend((0..rows.positions).map(|row| rows.length(row) as u16));
        refill(&mut self.sums, rows.columns, Sum { last: u32::MAX, expected: 0 })?;
        refill(&mut self.given, 2 * WARPS * WORDS, 0)?;
        self.active = [None; WARPS];
        let slices = rows.positions / ROWS;
        refill(&mut self.warps, slices, 0)?;
        clear_for(&mut self.given_slices, slices)?;
        self.slots.clear();
        Ok(())
    }

    /// Adds a slice to those of a warp.
    fn give(&mut self, slice: usize, warp: usize) {
        self.warps[slice] = warp as u8;
        self.given_slices.push(slice as u32);
    }

    /// Makes a slice the current one of a warp.
    fn open(&mut self, rows: &Rows, warp: usize, slice: usize) {
        self.give(slice, warp);
        let own = slice * ROWS..(slice + 1) * ROWS;
        let left = rows.begins[own.end] - rows.begins[own.start];
        self.active[warp] = Some(Active { slice, left, place: 0 });
        for row in own {
            for entry in &rows.entries[rows.begins[row]..rows.begins[row + 1]] {
                if rows.has_image(row, entry.column) {
                    self.sums[usize::from(entry.column)].expected += 1;
                }
            }
        }
    }

    /// Appends a column of slots for each active warp, and finds the rows that wait, the most urgent first. Returns the
    /// largest number of remaining entries of any row.
    fn begin_step(&mut self) -> Result<u16, Error> {
        clear_for(&mut self.waiting, WARPS * ROWS)?;
        self.given.fill(0);
        let mut longest = 0;
        for (warp, active) in self.active.iter_mut().enumerate() {
            let Some(active) = active else { continue };
            active.place = self.slots.push(active.slice)?;
            let first = active.slice * ROWS;
            let left = &self.left[first..first + ROWS];
            let most = left.iter().copied().max().unwrap_or(0);
            longest = longest.max(most);
            let waiting = left.iter().zip(first..).filter(|&(&left, _)| left > 0);
            self.waiting.extend(waiting.map(|(&left, row)| Waiting::new(most - left, row, warp)));
        }
        self.waiting.sort_unstable();
        Ok(longest)
    }

    /// The first of the banks that a row's lane may use.
    fn banks_of(&self, warp: usize, row: usize) -> usize {
        let (lane, half) = lane_of(row % ROWS);
        (2 * warp + half) * WORDS + (lane & !(self.banks - 1))
    }

    /// Which of these banks a column is in.
    fn bank(&self, column: u16) -> usize {
        usize::from(column) & (self.banks - 1)
    }

    /// The index of the entry that a row takes in a step, if one of its remaining entries may be taken; `longest` is the
    /// largest number of remaining entries of any row.
    fn best(&self, rows: &Rows, warp: usize, row: usize, step: u32, longest: u16) -> Option<usize> {
        let begin = rows.begins[row];
        let first_bank = self.banks_of(warp, row);
        let given = &self.given[first_bank..first_bank + self.banks];
        let entries = &self.entries[begin..begin + usize::from(self.left[row])];
        let mut best = (0, 0);
        for (number, &Entry { column, .. }) in entries.iter().enumerate() {
            if number >= MOST_COMPARED && best.0 > 0 {
                break;
            }
            let sum = &self.sums[usize::from(column)];
            // Its own sum is in a register.
            let is_own = usize::from(column) == row;
            let waits = if is_own { 0 } else { sum.expected };
            let urgent = if u32::from(waits) + 1 >= u32::from(longest) { waits } else { 0 };
            let free = u8::MAX - given[self.bank(column)];
            // 0 is for an entry that may not be taken.
            let rank = 1 + (u64::from(urgent) << 24 | u64::from(free) << 16 | u64::from(waits));
            let rank = if sum.last == step && !is_own { 0 } else { rank };
            if rank > best.0 {
                best = (rank, begin + number);
            }
        }
        (best.0 > 0).then_some(best.1)
    }

    /// Stores an entry of a row in its slot of this step.
    fn take(&mut self, rows: &Rows, warp: usize, row: usize, index: usize, step: u32) {
        let last = rows.begins[row] + usize::from(self.left[row]) - 1;
        self.entries.swap(index, last);
        let entry = self.entries[last];
        let column = entry.column;
        self.left[row] -= 1;
        if rows.has_image(row, column) {
            let sum = &mut self.sums[usize::from(column)];
            sum.expected -= 1;
            sum.last = step;
        }
        let bank = self.banks_of(warp, row) + self.bank(column);
        self.given[bank] += 1;
        let active = self.active[warp].as_mut().expect("a row that waits is in its warp's slice");
        active.left -= 1;
        self.slots.set(active.place, row % ROWS, entry);
    }

    /// The slices in the order of their warps, with their slots.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn assigned(&self) -> Result<Assigned, Error> {
        Assigned::new(&self.slots, &self.given_slices, &self.warps)
    }
}
