//! Assignment of the slices of a part to warps, and an order of the entries in which no two that a block multiplies in
//! the same step add to the same element of y.

use gpu_kernels::clustered::NO_ENTRY;
use gpu_kernels::clustered_symmetric::WARPS as WARPS_OF_BLOCK;

use crate::error::Error;
use crate::format::clustered::{ROWS, WORDS, lane_of};
use crate::memory::{copy, filled, reserve, with_capacity, zeros};

/// Warps per block.
pub(super) const WARPS: usize = WARPS_OF_BLOCK as usize;

/// Bytes that shared memory delivers to the lanes of a warp at a time.
const BYTES_AT_A_TIME: usize = 128;

/// Entries of a row that are compared per step, if one of them can be taken. With twice as many, 1 to 5 % fewer lanes
/// wait for bank conflicts, and the search takes a quarter longer.
const MOST_COMPARED: usize = 16;

/// The entries of a part, row by row, the longest rows first.
pub(super) struct Rows {
    /// Positions, which are the columns that images are added to.
    positions: usize,
    /// Number of entries of all rows before each row, then of all rows.
    begins: Vec<usize>,
    /// Number in the part of each entry's column, and the entry's index in the matrix.
    entries: Vec<(u32, usize)>,
}

/// The slots of a part, slice by slice.
pub(super) struct Assigned {
    /// Slices of each warp.
    pub warps: [u32; WARPS],
    /// Slices in their order, by their previous numbers.
    pub slices: Vec<u32>,
    /// Widths of the slices.
    pub widths: Vec<u32>,
    /// Words of the slices.
    pub words: Vec<u32>,
    /// Index in the matrix of each value; arbitrary where there is no entry.
    pub entries: Vec<usize>,
}

/// State of a position's sum.
#[derive(Clone, Copy)]
struct Sum {
    /// Last step that adds to it.
    last: u32,
    /// Remaining entries of the active slices in its column.
    expected: u16,
}

/// Cost of a step, in slots: the number read while a block waits at a barrier.
const PLACES_OF_A_STEP: usize = 300;

/// Warps of a part that may multiply at a time: all, or fewer if rows share most of their columns, because most warps
/// would then wait for others.
pub(super) const WARPS_AT_A_TIME: [usize; 3] = [WARPS, WARPS / 2, WARPS / 4];

/// A part whose entries are assigned to steps, one by one.
struct Assignment {
    /// Lanes that shared memory serves at a time, a power of two: each lane uses a separate bank, or waits.
    banks: usize,
    /// Slices that each warp has had so far, including the current one.
    slices: [Vec<u32>; WARPS],
    /// Current slice of each warp, if it is not done.
    active: [Option<usize>; WARPS],
    /// Number of remaining entries of each row: the first of its own.
    left: Vec<usize>,
    /// Sum of each position.
    sums: Vec<Sum>,
    /// Elements that each bank delivers to the lanes that are served together.
    given: Vec<u8>,
    /// Words of each slice and the indices in the matrix.
    places: Vec<(Vec<u32>, Vec<usize>)>,
    /// Number of steps.
    steps: u32,
}

impl Rows {
    pub fn new(positions: usize, entries: usize) -> Result<Self, Error> {
        let mut begins = with_capacity(positions + 1)?;
        begins.push(0);
        Ok(Self { positions, begins, entries: with_capacity(entries)? })
    }

    /// Adds an entry to the row.
    pub fn push(&mut self, column: u32, entry: usize) {
        self.entries.push((column, entry));
    }

    /// Ends the row.
    pub fn end_row(&mut self) {
        self.begins.push(self.entries.len());
    }

    /// Returns the costs with each of [`WARPS_AT_A_TIME`], where an element takes `element_bytes`.
    pub fn costs(&self, element_bytes: usize) -> Result<[usize; WARPS_AT_A_TIME.len()], Error> {
        let mut costs = [0; WARPS_AT_A_TIME.len()];
        for (cost, warps) in costs.iter_mut().zip(WARPS_AT_A_TIME) {
            let rows = Self { positions: self.positions, begins: copy(&self.begins)?, entries: copy(&self.entries)? };
            *cost = Assignment::new(rows, element_bytes, warps)?.cost();
        }
        Ok(costs)
    }

    /// Assigns slots, where an element takes `element_bytes` and `warps` warps multiply at a time. O(entries), except
    /// for rows that wait.
    pub fn assign(self, element_bytes: usize, warps: usize) -> Result<Assigned, Error> {
        let positions = self.positions;
        Assignment::new(self, element_bytes, warps)?.finish(positions)
    }

    /// Returns whether the entry of a row also stands for its image.
    fn has_image(&self, row: usize, column: u32) -> bool {
        (column as usize) < self.positions && column as usize != row
    }
}

impl Assignment {
    /// Assigns all entries to steps, using `warps` of the warps. In each step, the most urgent rows come first, and
    /// take their most urgent entry, or one that does not keep others from shared memory.
    fn new(mut rows: Rows, element_bytes: usize, warps: usize) -> Result<Self, Error> {
        let positions = rows.positions;
        rows.begins.resize(positions + 1, rows.entries.len());
        let mut left = with_capacity(positions)?;
        left.extend(rows.begins.windows(2).map(|ends| ends[1] - ends[0]));
        let mut places = with_capacity(positions / ROWS)?;
        places.resize_with(positions / ROWS, Default::default);
        let mut assignment = Self {
            banks: BYTES_AT_A_TIME / element_bytes.next_power_of_two().clamp(4, BYTES_AT_A_TIME),
            slices: Default::default(),
            active: [None; WARPS],
            left,
            sums: filled(positions, Sum { last: u32::MAX, expected: 0 })?,
            given: zeros(2 * WARPS * WORDS)?,
            places,
            steps: 0,
        };
        assignment.run(&mut rows, warps)?;
        Ok(assignment)
    }

    /// Returns the slots of all slices plus the cost of the steps.
    fn cost(&self) -> usize {
        let places: usize = self.places.iter().map(|(_, entries)| entries.len()).sum();
        places + self.steps as usize * PLACES_OF_A_STEP
    }

    fn run(&mut self, rows: &mut Rows, warps: usize) -> Result<(), Error> {
        let mut slices = (0..self.places.len()).peekable();
        let mut waiting: Vec<(u16, u32)> = with_capacity(WARPS * ROWS)?;
        let mut step = 0;
        loop {
            for warp in 0..warps {
                let is_done = |slice: usize| self.left[slice * ROWS..][..ROWS].iter().all(|&left| left == 0);
                if self.active[warp].is_some_and(|slice| !is_done(slice)) {
                    continue;
                }
                let done = self.active[warp].take();
                // After a slice without entries come only such slices, because the rows with the most entries come
                // first.
                if let Some(slice) = slices.next_if(|&slice| self.left[slice * ROWS] > 0) {
                    if let Some(done) = done {
                        // In this step, the warp adds its rows' own sums.
                        self.sums[done * ROWS..][..ROWS].iter_mut().for_each(|sum| sum.last = step);
                    }
                    self.open(rows, warp, slice)?;
                }
            }
            waiting.clear();
            let (mut least, mut longest) = ([0; WARPS], 0);
            for (warp, least) in least.iter_mut().enumerate() {
                let Some(slice) = self.active[warp] else { continue };
                let (words, entries) = &mut self.places[slice];
                reserve(words, WORDS)?;
                words.resize(words.len() + WORDS, NO_ENTRY << 16 | NO_ENTRY);
                reserve(entries, ROWS)?;
                entries.resize(entries.len() + ROWS, 0);
                for row in slice * ROWS..(slice + 1) * ROWS {
                    if self.left[row] > 0 {
                        *least = self.left[row].max(*least);
                        waiting.push((warp as u16, row as u32));
                    }
                }
                longest = longest.max(*least);
            }
            if waiting.is_empty() {
                break;
            }
            waiting.sort_unstable_by_key(|&(warp, row)| (least[warp as usize] - self.left[row as usize], row));
            self.given.fill(0);
            for &(warp, row) in &waiting {
                let (warp, row) = (warp as usize, row as usize);
                if let Some(place) = self.best(rows, warp, row, step, longest) {
                    self.take(rows, warp, row, place, step);
                }
            }
            step += 1;
        }
        self.steps = step;
        // Slices without entries go behind the last.
        for slice in slices {
            reserve(&mut self.slices[WARPS - 1], 1)?;
            self.slices[WARPS - 1].push(slice as u32);
        }
        Ok(())
    }

    /// Assigns a slice to a warp.
    fn open(&mut self, rows: &Rows, warp: usize, slice: usize) -> Result<(), Error> {
        reserve(&mut self.slices[warp], 1)?;
        self.slices[warp].push(slice as u32);
        self.active[warp] = Some(slice);
        for row in slice * ROWS..(slice + 1) * ROWS {
            for &(column, _) in &rows.entries[rows.begins[row]..rows.begins[row + 1]] {
                if rows.has_image(row, column) {
                    self.sums[column as usize].expected += 1;
                }
            }
        }
        Ok(())
    }

    /// Returns the first of the banks that a row's lane may use.
    fn banks_of(&self, warp: usize, row: usize) -> usize {
        let (lane, half) = lane_of(row % ROWS);
        (2 * warp + half) * WORDS + (lane & !(self.banks - 1))
    }

    /// Returns which of these banks a column is in.
    fn bank(&self, column: u32) -> usize {
        column as usize & (self.banks - 1)
    }

    /// Returns the entry that a row takes in a step, if one of its remaining entries may be taken; `longest` is the
    /// largest number of remaining entries of any row.
    fn best(&self, rows: &Rows, warp: usize, row: usize, step: u32, longest: usize) -> Option<usize> {
        let begin = rows.begins[row];
        let first_bank = self.banks_of(warp, row);
        let given = &self.given[first_bank..first_bank + self.banks];
        let mut best = None;
        for (number, &(column, _)) in rows.entries[begin..begin + self.left[row]].iter().enumerate() {
            let mut waits = 0;
            if rows.has_image(row, column) {
                let sum = &self.sums[column as usize];
                if sum.last == step {
                    continue;
                }
                waits = sum.expected;
            }
            if number >= MOST_COMPARED && best.is_some() {
                break;
            }
            let urgent = if usize::from(waits) + 1 >= longest { waits } else { 0 };
            let rank = (urgent, u8::MAX - given[self.bank(column)], waits);
            if best.is_none_or(|(best, _)| rank > best) {
                best = Some((rank, begin + number));
            }
        }
        best.map(|(_, place)| place)
    }

    /// Stores an entry of a row in its slot of this step, which is the last so far.
    fn take(&mut self, rows: &mut Rows, warp: usize, row: usize, place: usize, step: u32) {
        let last = rows.begins[row] + self.left[row] - 1;
        rows.entries.swap(place, last);
        let (column, entry) = rows.entries[last];
        self.left[row] -= 1;
        if rows.has_image(row, column) {
            let sum = &mut self.sums[column as usize];
            sum.expected -= 1;
            sum.last = step;
        }
        let bank = self.banks_of(warp, row) + self.bank(column);
        self.given[bank] += 1;
        let (lane, half) = lane_of(row % ROWS);
        let (words, entries) = &mut self.places[row / ROWS];
        let (word, value) = (words.len() - WORDS + lane, entries.len() - ROWS + 2 * lane + half);
        words[word] = words[word] & !(NO_ENTRY << (16 * half)) | column << (16 * half);
        entries[value] = entry;
    }

    /// Orders the slices by warp, and renumbers positions accordingly.
    fn finish(self, positions: usize) -> Result<Assigned, Error> {
        let Self { slices: of_warps, mut places, .. } = self;
        let warps = of_warps.each_ref().map(|slices| slices.len() as u32);
        let mut slices = with_capacity(places.len())?;
        of_warps.into_iter().for_each(|of_warp| slices.extend(of_warp));
        let mut numbers = zeros::<u32>(places.len())?;
        slices.iter().zip(0..).for_each(|(&slice, number)| numbers[slice as usize] = number);
        let of_position = |column: u32| match (column as usize) < positions {
            true => numbers[column as usize / ROWS] * ROWS as u32 + column % ROWS as u32,
            false => column,
        };
        let mut widths = with_capacity(slices.len())?;
        let mut words = with_capacity(places.iter().map(|(words, _)| words.len()).sum())?;
        let mut entries = with_capacity(places.iter().map(|(_, entries)| entries.len()).sum())?;
        for &slice in &slices {
            let (of_slice, entries_of_slice) = std::mem::take(&mut places[slice as usize]);
            widths.push((of_slice.len() / WORDS) as u32);
            words.extend(of_slice.iter().map(|&word| of_position(word >> 16) << 16 | of_position(word & NO_ENTRY)));
            entries.extend(entries_of_slice);
        }
        Ok(Assigned { warps, slices, widths, words, entries })
    }
}
