//! Grows parts, each from one row through the columns of its rows to the rows of those columns.

use std::iter::repeat_n;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use gpu_kernels::clustered::NO_ROW;
use gpu_kernels::clustered_symmetric::pieces_of;

use super::ROWS;
use super::column_set::ColumnSet;
use super::parts::{Limits, Parts};
use super::territories::Territories;
use crate::error::Error;
use crate::format::Csr;
use crate::memory::{collect, reserve};
use crate::real::Scalar;
use crate::spmv::on_cpu::prefetch;

/// Number of rows from which a column brings no row into a part: it indicates little about proximity.
pub(super) const HUB: usize = 1 << 10;

/// Rows whose marks are being prefetched.
const ROWS_AHEAD: usize = 4;

/// Column indices per cache line of the CPU.
const COLUMNS_OF_A_LINE: usize = 16;

/// Mark of a row that is in a part.
const TAKEN: u32 = u32::MAX;

/// Mark of a row that was in no queue.
const NONE: u32 = u32::MAX - 1;

/// A matrix and the state shared by its growing parts.
pub(super) struct Growth<'a, T: Scalar> {
    matrix: &'a Csr<T>,
    /// Rows of each column, if row and column numbers are unrelated.
    transposed: Option<&'a Csr<T>>,
    territories: &'a Territories,
    /// For each row, the last part of its territory that queued it, or [`TAKEN`]. Only one thread at a time works on a
    /// territory.
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

    /// Grows all parts of a territory.
    ///
    /// # Errors
    /// When a row has more columns than a part may have, or memory runs out.
    pub fn parts(&self, territory: usize, limits: Limits) -> Result<Parts, Error> {
        let mut front = Front::new(self, territory, limits)?;
        while front.grow()? {}
        Ok(front.parts)
    }

    /// Grows a part from this row, if there is only one territory; no part if all later rows are taken.
    ///
    /// # Errors
    /// As for [`parts`](Self::parts).
    pub fn part_from_row(&self, row: usize, limits: Limits) -> Result<Parts, Error> {
        let mut front = Front::new(self, 0, limits)?;
        front.next_row = row;
        front.grow()?;
        Ok(front.parts)
    }
}

/// The finished parts of a territory, and the growing one.
struct Front<'a, 'm, T: Scalar> {
    growth: &'a Growth<'m, T>,
    territory: usize,
    limits: Limits,
    /// Columns of the part.
    columns: ColumnSet,
    /// Rows near the part, in the order in which they were found.
    queue: Vec<u32>,
    /// Number of these that were examined.
    looked_at: usize,
    /// Rows that were near a full part: new parts begin there.
    border: Vec<u32>,
    /// Number of these that were examined.
    passed: usize,
    /// First row that may not be in a part.
    next_row: usize,
    /// Entries of the part.
    entries: usize,
    /// Positions of the part.
    positions: usize,
    /// Rows of the part whose own column is in it.
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
            positions: 0,
            own: 0,
            parts: Parts::none(limits)?,
        })
    }

    /// Grows a part and returns whether any row was left for it.
    fn grow(&mut self) -> Result<bool, Error> {
        while let Some(row) = self.next() {
            self.read_ahead();
            if !self.take(row)? {
                if self.positions == 0 {
                    let value = self.growth.matrix.range(row as usize).len() as u128;
                    let Limits { elements, kept, .. } = self.limits;
                    let limit = elements.saturating_sub(kept.elements(1, 0, 0)) as u128;
                    let what = "number of columns of a row, which must fit the shared memory of a block,";
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
        let any = self.positions > 0;
        self.close()?;
        Ok(any)
    }

    /// Returns the number of the growing part.
    fn part(&self) -> u32 {
        self.parts.count() as u32
    }

    /// Returns whether the part has reached a target. A part of whole slices has no padding for missing rows.
    fn is_full(&self) -> bool {
        let whole = self.positions.is_multiple_of(ROWS) || self.entries > self.limits.entries + self.limits.entries / 4;
        self.positions >= self.limits.positions || whole && self.entries >= self.limits.entries
    }

    /// Returns a row of the territory that is in no part: near this part, near another, or any.
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

    /// Prefetches the data of the next rows: if rows have no order, nothing is cached.
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

    /// Adds a row to the part, if it has room there.
    fn take(&mut self, row: u32) -> Result<bool, Error> {
        let Growth { matrix, transposed, queued, .. } = self.growth;
        let columns = &matrix.column_indices()[matrix.range(row as usize)];
        let pieces = pieces_of(columns.len() as u32, self.limits.longest_piece) as usize;
        let positions = self.positions + pieces;
        if self.entries >= self.limits.entries && positions.div_ceil(ROWS) > self.positions.div_ceil(ROWS) {
            return Ok(false);
        }
        let of_part = self.parts.column_begins[self.part() as usize] as usize;
        let before = self.parts.column_numbers.len();
        reserve(&mut self.parts.column_numbers, columns.len())?;
        for &column in columns {
            // Beyond this limit, columns fit neither the part, whatever it keeps, nor the set.
            if self.parts.column_numbers.len() - of_part > self.limits.elements {
                break;
            }
            if self.columns.insert(column) {
                self.parts.column_numbers.push(column);
            }
        }
        // A row that was taken before its own column was added is not counted: this is rare, and on the safe side.
        let own = self.own + usize::from(self.columns.contains(row));
        let Limits { elements, kept, .. } = self.limits;
        if kept.elements(positions, self.parts.column_numbers.len() - of_part, own) > elements {
            self.columns.take_back(&self.parts.column_numbers[before..]);
            self.parts.column_numbers.truncate(before);
            return Ok(false);
        }
        queued[row as usize].store(TAKEN, Relaxed);
        reserve(&mut self.parts.row_numbers, pieces)?;
        self.parts.row_numbers.extend(repeat_n(row, pieces));
        (self.positions, self.own) = (positions, own);
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

    /// Adds a row of the territory to the queue of this part, if it is not already there.
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

    /// Ends a part, if it has any rows.
    fn close(&mut self) -> Result<(), Error> {
        if self.positions == 0 {
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
        let is_free = |row: &u32| self.growth.queued[*row as usize].load(Relaxed) != TAKEN;
        let near = queue[self.looked_at..].iter().copied().filter(is_free);
        let more = near.clone().count();
        if border.capacity() - border.len() < more {
            // Rows that were passed or taken need not stay.
            border.drain(..self.passed);
            self.passed = 0;
            border.retain(is_free);
            reserve(border, more)?;
        }
        border.extend(near);
        queue.clear();
        self.columns.clear();
        (self.looked_at, self.positions, self.own, self.entries) = (0, 0, 0, 0);
        Ok(())
    }
}
