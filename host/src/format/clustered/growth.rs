//! Grows parts, each from a row through the columns that its rows have, to the rows of these.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use gpu_kernels::clustered::NO_ROW;

use super::ROWS;
use super::column_set::ColumnSet;
use super::parts::{Limits, Parts};
use super::territories::Territories;
use crate::error::Error;
use crate::format::Csr;
use crate::memory::{collect, reserve};
use crate::real::Scalar;
use crate::spmv::on_cpu::prefetch;

/// Rows of a part, at most.
const MOST_ROWS: usize = 1 << 16;

/// Rows of a column from which on it brings no row into a part: it says little of who is near.
pub(super) const HUB: usize = 1 << 10;

/// Rows whose marks are on their way from memory.
const ROWS_AHEAD: usize = 4;

/// Column indices of a cache line of the CPU.
const COLUMNS_OF_A_LINE: usize = 16;

/// That a row is in a part.
const TAKEN: u32 = u32::MAX;

/// That a row was in no queue.
const NONE: u32 = u32::MAX - 1;

/// A matrix whose parts are to grow.
pub(super) struct Growth<'a, T: Scalar> {
    matrix: &'a Csr<T>,
    /// The rows of each column, where rows and columns have nothing in common.
    transposed: Option<&'a Csr<T>>,
    territories: &'a Territories,
    /// Of each row the part of its territory in whose queue it was last, or [`TAKEN`]. One thread at a time has a territory.
    queued: Vec<AtomicU32>,
}

impl<'a, T: Scalar> Growth<'a, T> {
    pub fn new(
        matrix: &'a Csr<T>,
        transposed: Option<&'a Csr<T>>,
        territories: &'a Territories,
    ) -> Result<Self, Error> {
        let queued = collect((0..matrix.rows()).map(|_| AtomicU32::new(NONE)))?;
        Ok(Self { matrix, transposed, territories, queued })
    }

    /// All parts of a territory.
    ///
    /// # Errors
    /// When a row has more columns than a part may have, or memory runs out.
    pub fn parts(&self, territory: usize, limits: Limits) -> Result<Parts, Error> {
        let mut front = Front::new(self, territory, limits)?;
        while front.grow()? {}
        Ok(front.parts)
    }

    /// A part from this row on, where there is one territory; none where there is no row behind it.
    ///
    /// # Errors
    /// As [`parts`](Self::parts).
    pub fn part_from_row(&self, row: usize, limits: Limits) -> Result<Parts, Error> {
        let mut front = Front::new(self, 0, limits)?;
        front.next_row = row;
        front.grow()?;
        Ok(front.parts)
    }
}

/// The parts of a territory so far, and the one that grows.
struct Front<'a, 'm, T: Scalar> {
    growth: &'a Growth<'m, T>,
    territory: usize,
    limits: Limits,
    /// The columns of the part.
    columns: ColumnSet,
    /// Rows that are near the part, in the order in which they were found.
    queue: Vec<u32>,
    /// How many of them were looked at.
    looked_at: usize,
    /// Rows that were near a part that is full: new parts begin there.
    border: Vec<u32>,
    /// How many of them were looked at.
    passed: usize,
    /// The first row that may not be in a part.
    next_row: usize,
    /// Entries of the part.
    entries: usize,
    /// Rows of the part.
    rows: usize,
    /// Those of them whose own column is in the part.
    own: usize,
    parts: Parts,
}

impl<'a, 'm, T: Scalar> Front<'a, 'm, T> {
    fn new(growth: &'a Growth<'m, T>, territory: usize, limits: Limits) -> Result<Self, Error> {
        let columns = ColumnSet::new((limits.elements + 1).min(growth.matrix.columns()))?;
        Ok(Self {
            growth,
            territory,
            limits,
            columns,
            queue: Vec::new(),
            looked_at: 0,
            border: Vec::new(),
            passed: 0,
            next_row: 0,
            entries: 0,
            rows: 0,
            own: 0,
            parts: Parts::none()?,
        })
    }

    /// Grows a part, and says whether there was any row left for it.
    fn grow(&mut self) -> Result<bool, Error> {
        while let Some(row) = self.next() {
            self.read_ahead();
            if !self.take(row)? {
                if self.rows == 0 {
                    let value = self.growth.matrix.range(row as usize).len() as u128;
                    let Limits { elements, kept, .. } = self.limits;
                    let limit = elements.saturating_sub(kept.elements(1, 0, 0)) as u128;
                    let what = "number of columns of a row, for which a block needs shared memory,";
                    return Err(Error::TooLarge { what, value, limit });
                }
                reserve(&mut self.border, 1)?;
                self.border.push(row);
                self.close()?;
                return Ok(true);
            }
            if self.is_full() {
                self.close()?;
                return Ok(true);
            }
        }
        let any = self.rows > 0;
        self.close()?;
        Ok(any)
    }

    /// Number of the part that grows.
    fn part(&self) -> u32 {
        self.parts.count() as u32
    }

    /// Whether the part has what it aims at. One of whole slices has no padding for want of rows.
    fn is_full(&self) -> bool {
        let whole = self.rows.is_multiple_of(ROWS) || self.entries > self.limits.entries + self.limits.entries / 4;
        self.rows >= MOST_ROWS || whole && self.entries >= self.limits.entries
    }

    /// A row of the territory that is in no part: near this one, near another, or any.
    fn next(&mut self) -> Option<u32> {
        let Growth { matrix, territories, queued, .. } = self.growth;
        let is_free = |row: usize| queued[row].load(Relaxed) != TAKEN;
        let find = |rows: &[u32], first: &mut usize| {
            while let Some(&row) = rows.get(*first) {
                *first += 1;
                if is_free(row as usize) {
                    return Some(row);
                }
            }
            None
        };
        if let Some(row) = find(&self.queue, &mut self.looked_at) {
            return Some(row);
        }
        if let Some(row) = find(&self.border, &mut self.passed) {
            return Some(row);
        }
        while self.next_row < matrix.rows() {
            let row = self.next_row;
            self.next_row += 1;
            if territories.has(self.territory, row) && is_free(row) {
                return Some(row as u32);
            }
        }
        None
    }

    /// Asks for what the rows that come soon will need: of rows without an order, nothing is in a cache.
    fn read_ahead(&self) {
        let Growth { matrix, queued, .. } = self.growth;
        let columns = |ahead: usize| {
            let row = self.queue.get(self.looked_at + ahead);
            row.map_or(&[][..], |&row| &matrix.column_indices()[matrix.range(row as usize)])
        };
        columns(2 * ROWS_AHEAD).iter().step_by(COLUMNS_OF_A_LINE).for_each(|column| prefetch(column));
        if self.growth.transposed.is_none() {
            columns(ROWS_AHEAD).iter().for_each(|&column| prefetch(&queued[column as usize]));
        }
    }

    /// Adds a row to the part, if its columns have room there.
    fn take(&mut self, row: u32) -> Result<bool, Error> {
        let Growth { matrix, transposed, queued, .. } = self.growth;
        let columns = &matrix.column_indices()[matrix.range(row as usize)];
        let of_part = self.parts.column_begins[self.part() as usize] as usize;
        let before = self.parts.column_numbers.len();
        reserve(&mut self.parts.column_numbers, columns.len())?;
        for &column in columns {
            // One more than this has no place in the part, whatever it keeps, nor in the set.
            if self.parts.column_numbers.len() - of_part > self.limits.elements {
                break;
            }
            if self.columns.insert(column) {
                self.parts.column_numbers.push(column);
            }
        }
        // A row that was taken before its own column came is not counted: that is rare, and leaves room.
        let own = self.own + usize::from(self.columns.contains(row));
        let Limits { elements, kept, .. } = self.limits;
        if kept.elements(self.rows + 1, self.parts.column_numbers.len() - of_part, own) > elements {
            self.columns.take_back(&self.parts.column_numbers[before..]);
            self.parts.column_numbers.truncate(before);
            return Ok(false);
        }
        queued[row as usize].store(TAKEN, Relaxed);
        reserve(&mut self.parts.row_numbers, 1)?;
        self.parts.row_numbers.push(row);
        (self.rows, self.own) = (self.rows + 1, own);
        self.entries += columns.len();
        for place in before..self.parts.column_numbers.len() {
            let column = self.parts.column_numbers[place];
            match transposed {
                None => self.enqueue(column)?,
                Some(transposed) => {
                    let rows = &transposed.column_indices()[transposed.range(column as usize)];
                    if rows.len() < HUB {
                        rows.iter().try_for_each(|&row| self.enqueue(row))?;
                    }
                }
            }
        }
        Ok(true)
    }

    /// Puts a row of the territory in the queue of this part, if it is not there.
    fn enqueue(&mut self, row: u32) -> Result<(), Error> {
        let part = self.part();
        if !self.growth.territories.has(self.territory, row as usize) {
            return Ok(());
        }
        let queued = &self.growth.queued[row as usize];
        if ![TAKEN, part].contains(&queued.load(Relaxed)) {
            queued.store(part, Relaxed);
            reserve(&mut self.queue, 1)?;
            self.queue.push(row);
        }
        Ok(())
    }

    /// Ends a part, if there are rows in it.
    fn close(&mut self) -> Result<(), Error> {
        if self.rows == 0 {
            return Ok(());
        }
        let Self { parts, queue, border, .. } = self;
        let positions = parts.row_numbers.len().next_multiple_of(ROWS);
        let more = positions - parts.row_numbers.len();
        reserve(&mut parts.row_numbers, more)?;
        parts.row_numbers.resize(positions, NO_ROW);
        reserve(&mut parts.part_begins, 1)?;
        parts.part_begins.push((positions / ROWS) as u32);
        reserve(&mut parts.column_begins, 1)?;
        parts.column_begins.push(parts.column_numbers.len() as u64);
        reserve(border, queue.len() - self.looked_at)?;
        border.extend_from_slice(&queue[self.looked_at..]);
        queue.clear();
        self.columns.clear();
        (self.looked_at, self.rows, self.own, self.entries) = (0, 0, 0, 0);
        Ok(())
    }
}
