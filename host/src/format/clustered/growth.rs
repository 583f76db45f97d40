//! Puts rows that share columns together in parts: each grows from a row through the columns that its rows have, to
//! the rows of these.

use gpu_kernels::clustered::NO_ROW;

use super::{PartSize, ROWS};
use crate::error::Error;
use crate::format::Csr;
use crate::memory::{collect, copy, filled, reserve, with_capacity};
use crate::parallel;
use crate::real::Scalar;
use crate::spmv::on_cpu::prefetch;

/// Entries of a part, at least, unless the matrix has fewer: below that a block does little but begin.
const LEAST_ENTRIES: usize = 1 << 13;

/// Rows of a part, at most.
const MOST_ROWS: usize = 1 << 16;

/// Rows of a column from which on it brings no row into a part: it says little of who is near.
const HUB: usize = 1 << 10;

/// Rows whose marks are on their way from memory.
const ROWS_AHEAD: usize = 4;

/// Columns of a matrix for each that is expected in a halo.
const COLUMNS_OF_A_HALO: usize = 4;

/// Column indices of a cache line of the CPU.
const COLUMNS_OF_A_LINE: usize = 16;

/// Which rows are in which part, and which columns these have.
pub(in crate::format) struct Parts {
    /// The slices before each part, and all.
    pub part_begins: Vec<u32>,
    /// The row at each position of the slices, the longest of a part first, or [`NO_ROW`].
    pub row_numbers: Vec<u32>,
    /// The columns of all parts before each part, counted, and those of all.
    pub column_begins: Vec<u64>,
    /// The columns of each part, ascending.
    pub column_numbers: Vec<u32>,
}

/// What a part has in shared memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum Kept {
    /// x of its columns.
    Columns,
    /// x and y of its rows, and x of the columns that are none of its rows'.
    RowsAndHalo,
    /// x and y of its rows, and x of all columns.
    RowsAndColumns,
}

impl Kept {
    /// Elements for so many rows, which stand on whole slices, and columns, of which `own` are those of its rows.
    fn elements(self, rows: usize, columns: usize, own: usize) -> usize {
        let of_rows = 2 * rows.next_multiple_of(ROWS);
        match self {
            Self::Columns => columns,
            Self::RowsAndHalo => of_rows + columns - own,
            Self::RowsAndColumns => of_rows + columns,
        }
    }
}

/// The most elements of a part, which they are, and the entries that it aims at.
#[derive(Clone, Copy)]
struct Limits {
    elements: usize,
    kept: Kept,
    entries: usize,
}

impl Limits {
    fn new<T: Scalar>(matrix: &Csr<T>, size: PartSize, value_bytes: usize, kept: Kept) -> Self {
        let elements = size.elements(value_bytes);
        // Where y takes so much room that more parts are needed, twice or three times as many: they run side by side.
        let all = kept.elements(matrix.rows(), matrix.columns() / COLUMNS_OF_A_HALO, 0) as u64;
        let times = match kept {
            Kept::Columns => 1,
            _ => all.div_ceil(u64::from(size.parts).saturating_mul(elements as u64).max(1)).max(1),
        };
        let parts = u64::from(size.parts).saturating_mul(times).max(1);
        let entries = (matrix.nnz() as u64 / parts) as usize;
        Self { elements, kept, entries: entries.max(LEAST_ENTRIES) }
    }
}

impl Parts {
    /// Puts all rows of a matrix in parts, where an element of x takes `value_bytes`. O(nnz log(columns of a part)).
    ///
    /// # Errors
    /// When a row has more columns than a part may have, or memory runs out.
    pub fn new<T: Scalar>(matrix: &Csr<T>, size: PartSize, value_bytes: usize, kept: Kept) -> Result<Self, Error> {
        if has_few_columns(matrix) {
            let (narrow, used) = without_empty_columns(matrix)?;
            let mut parts = Self::new(&narrow, size, value_bytes, kept)?;
            // The order is the same.
            parts.column_numbers.iter_mut().for_each(|column| *column = used[*column as usize]);
            return Ok(parts);
        }
        let is_square = matrix.rows() == matrix.columns();
        // What is near a row of a square matrix are, in most, the rows of the same numbers as its columns.
        let transposed = if is_square { None } else { Some(matrix.transposed()?) };
        let mut growth = Growth::new(matrix, transposed.as_ref(), Limits::new(matrix, size, value_bytes, kept))?;
        while growth.grow()? {}
        growth.ordered()
    }

    /// Some parts of a square matrix, each from one of these rows on, as if it were the first. O(rows + columns), and as
    /// [`new`](Self::new) for their entries.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn from_rows<T: Scalar>(
        matrix: &Csr<T>,
        size: PartSize,
        value_bytes: usize,
        rows: impl Iterator<Item = usize>,
    ) -> Result<Self, Error> {
        let mut growth = Growth::new(matrix, None, Limits::new(matrix, size, value_bytes, Kept::Columns))?;
        for row in rows {
            growth.border.clear();
            (growth.passed, growth.next_row) = (0, row);
            growth.grow()?;
        }
        growth.ordered()
    }

    /// Number of parts.
    pub fn count(&self) -> usize {
        self.part_begins.len() - 1
    }

    /// Sorts the rows of each part by length, and its columns.
    fn order<T: Scalar>(&mut self, matrix: &Csr<T>) -> Result<(), Error> {
        let mut pieces = with_capacity(self.count())?;
        let (mut rows_left, mut columns_left) = (&mut self.row_numbers[..], &mut self.column_numbers[..]);
        for (slices, columns) in self.part_begins.windows(2).zip(self.column_begins.windows(2)) {
            let (rows, rest) = rows_left.split_at_mut((slices[1] - slices[0]) as usize * ROWS);
            rows_left = rest;
            let (columns, rest) = columns_left.split_at_mut((columns[1] - columns[0]) as usize);
            columns_left = rest;
            pieces.push((rows, columns));
        }
        let length = |row: u32| if row == NO_ROW { 0 } else { matrix.range(row as usize).len() };
        parallel::map_items(pieces, &|(_, (rows, columns))| {
            // What is no row has the largest number, and comes last.
            rows.sort_unstable_by_key(|&row| (usize::MAX - length(row), row));
            columns.sort_unstable();
        })?;
        Ok(())
    }
}

/// Whether most columns have no entry, so that nothing may be as long as there are columns.
pub(in crate::format) fn has_few_columns<T: Scalar>(matrix: &Csr<T>) -> bool {
    matrix.columns() > matrix.rows().saturating_add(matrix.nnz())
}

/// The matrix without its columns that have no entry, and the numbers of the others.
fn without_empty_columns<T: Scalar>(matrix: &Csr<T>) -> Result<(Csr<T>, Vec<u32>), Error> {
    let mut used = copy(matrix.column_indices())?;
    used.sort_unstable();
    used.dedup();
    let number = |column: &u32| used.partition_point(|used| used < column) as u32;
    let column_indices = collect(matrix.column_indices().iter().map(number))?;
    let (offsets, values) = (matrix.row_offsets().try_clone()?, copy(matrix.values())?);
    Ok((Csr::from_valid(matrix.rows(), used.len(), offsets, column_indices, values), used))
}

/// That a row is in a part.
const TAKEN: u32 = u32::MAX;

/// That nothing has been said yet.
const NONE: u32 = u32::MAX - 1;

/// What is known of a row, and of a column.
#[derive(Clone, Copy)]
struct Marks {
    /// The part in whose queue the row was last, or [`TAKEN`].
    queued: u32,
    /// The last part that the column is in.
    part_of_column: u32,
}

/// The parts so far, and what grows.
struct Growth<'a, T: Scalar> {
    matrix: &'a Csr<T>,
    /// The rows of each column, where rows and columns have nothing in common.
    transposed: Option<&'a Csr<T>>,
    limits: Limits,
    /// Of each row and the column of the same number, which mostly come together.
    marks: Vec<Marks>,
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

impl<'a, T: Scalar> Growth<'a, T> {
    fn new(matrix: &'a Csr<T>, transposed: Option<&'a Csr<T>>, limits: Limits) -> Result<Self, Error> {
        let (mut part_begins, mut column_begins) = (with_capacity(1)?, with_capacity(1)?);
        part_begins.push(0);
        column_begins.push(0);
        let row_numbers = with_capacity(matrix.rows())?;
        Ok(Self {
            matrix,
            transposed,
            limits,
            marks: filled(matrix.rows().max(matrix.columns()), Marks { queued: NONE, part_of_column: NONE })?,
            queue: Vec::new(),
            looked_at: 0,
            border: Vec::new(),
            passed: 0,
            next_row: 0,
            entries: 0,
            rows: 0,
            own: 0,
            parts: Parts { part_begins, row_numbers, column_begins, column_numbers: Vec::new() },
        })
    }

    /// Grows a part, and says whether there was any row left for it.
    fn grow(&mut self) -> Result<bool, Error> {
        while let Some(row) = self.next() {
            self.read_ahead();
            if !self.take(row)? {
                if self.rows == 0 {
                    let value = self.matrix.range(row as usize).len() as u128;
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

    /// The parts, with their rows and columns in order.
    fn ordered(mut self) -> Result<Parts, Error> {
        self.parts.order(self.matrix)?;
        Ok(self.parts)
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

    /// A row that is in no part: near this one, near another, or any.
    fn next(&mut self) -> Option<u32> {
        let (marks, rows) = (&self.marks, self.matrix.rows());
        let find = |rows: &[u32], first: &mut usize| {
            while let Some(&row) = rows.get(*first) {
                *first += 1;
                if marks[row as usize].queued != TAKEN {
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
        while self.next_row < rows {
            self.next_row += 1;
            if marks[self.next_row - 1].queued != TAKEN {
                return Some(self.next_row as u32 - 1);
            }
        }
        None
    }

    /// Asks for what the rows that come soon will need: of rows without an order, nothing is in a cache.
    fn read_ahead(&self) {
        let columns = |ahead: usize| {
            let row = self.queue.get(self.looked_at + ahead);
            row.map_or(&[][..], |&row| &self.matrix.column_indices()[self.matrix.range(row as usize)])
        };
        columns(2 * ROWS_AHEAD).iter().step_by(COLUMNS_OF_A_LINE).for_each(|column| prefetch(column));
        columns(ROWS_AHEAD).iter().for_each(|&column| prefetch(&self.marks[column as usize]));
    }

    /// Adds a row to the part, if its columns have room there.
    fn take(&mut self, row: u32) -> Result<bool, Error> {
        let part = self.part();
        let columns = &self.matrix.column_indices()[self.matrix.range(row as usize)];
        let of_part = self.parts.column_begins[part as usize] as usize;
        let before = self.parts.column_numbers.len();
        reserve(&mut self.parts.column_numbers, columns.len())?;
        for &column in columns {
            let last = &mut self.marks[column as usize].part_of_column;
            if *last != part {
                *last = part;
                self.parts.column_numbers.push(column);
            }
        }
        // A row that was taken before its own column came is not counted: that is rare, and leaves room.
        let own = self.own + usize::from(self.marks[row as usize].part_of_column == part);
        let Limits { elements, kept, .. } = self.limits;
        if kept.elements(self.rows + 1, self.parts.column_numbers.len() - of_part, own) > elements {
            for &column in &self.parts.column_numbers[before..] {
                self.marks[column as usize].part_of_column = NONE;
            }
            self.parts.column_numbers.truncate(before);
            return Ok(false);
        }
        self.marks[row as usize].queued = TAKEN;
        reserve(&mut self.parts.row_numbers, 1)?;
        self.parts.row_numbers.push(row);
        (self.rows, self.own) = (self.rows + 1, own);
        self.entries += columns.len();
        for place in before..self.parts.column_numbers.len() {
            let column = self.parts.column_numbers[place];
            match self.transposed {
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

    /// Puts a row in the queue of this part, if it is not there.
    fn enqueue(&mut self, row: u32) -> Result<(), Error> {
        let part = self.part();
        let queued = &mut self.marks[row as usize].queued;
        if *queued != TAKEN && *queued != part {
            *queued = part;
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
        (self.looked_at, self.rows, self.own, self.entries) = (0, 0, 0, 0);
        Ok(())
    }
}
