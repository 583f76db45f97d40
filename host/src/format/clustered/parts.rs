//! Groups rows that share columns into parts.

use gpu_kernels::clustered::NO_ROW;

use super::growth::Growth;
use super::territories::Territories;
use super::{PartSize, ROWS};
use crate::error::Error;
use crate::format::Csr;
use crate::memory::{collect, copy, reserve, with_capacity};
use crate::parallel;
use crate::real::Scalar;

/// Least number of entries per part, unless the matrix has fewer: with fewer, a block is mostly startup overhead.
const LEAST_ENTRIES: usize = 1 << 13;

/// Columns of a matrix per expected column of a halo.
const COLUMNS_OF_A_HALO: usize = 4;

/// Assignment of rows to parts, and the columns of each part.
pub(in crate::format) struct Parts {
    /// Number of slices before each part, then of all slices.
    pub part_begins: Vec<u32>,
    /// Row at each position of the slices, the longest rows of a part first, or [`NO_ROW`].
    pub row_numbers: Vec<u32>,
    /// Number of columns of all parts before each part, then of all parts.
    pub column_begins: Vec<u64>,
    /// Columns of each part, ascending.
    pub column_numbers: Vec<u32>,
}

/// What a part keeps in shared memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum Kept {
    /// x of its columns.
    Columns,
    /// x and y of its rows, and x of its other columns.
    RowsAndHalo,
    /// x and y of its rows, and x of all its columns.
    RowsAndColumns,
}

impl Kept {
    /// Returns the elements of a part with this number of rows, rounded up to whole slices, and of columns, `own` of
    /// which belong to its rows.
    pub fn elements(self, rows: usize, columns: usize, own: usize) -> usize {
        let of_rows = 2 * rows.next_multiple_of(ROWS);
        match self {
            Self::Columns => columns,
            Self::RowsAndHalo => of_rows + columns - own,
            Self::RowsAndColumns => of_rows + columns,
        }
    }
}

/// Largest number of elements of a part, what they are, and the target number of entries.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub elements: usize,
    pub kept: Kept,
    pub entries: usize,
}

impl Limits {
    fn new<T: Scalar>(matrix: &Csr<T>, size: PartSize, value_bytes: usize, kept: Kept) -> Self {
        let elements = size.elements(value_bytes);
        // If y takes so much room that more parts are needed, use twice or three times as many: they run side by side.
        let all = kept.elements(matrix.rows(), matrix.columns() / COLUMNS_OF_A_HALO, 0) as u64;
        let times = match kept {
            Kept::Columns => 1,
            _ => all.div_ceil(u64::from(size.parts).saturating_mul(elements as u64).max(1)).max(1),
        };
        let parts = u64::from(size.parts).saturating_mul(times).max(1);
        let entries = (matrix.nnz() as u64 / parts) as usize;
        Self { elements, kept, entries: entries.max(LEAST_ENTRIES) }
    }

    /// Returns the same limits for `parts` parts with `entries` entries in total.
    fn shared(self, entries: usize, parts: usize) -> Self {
        Self { entries: entries.div_ceil(parts).max(LEAST_ENTRIES), ..self }
    }
}

impl Parts {
    /// Assigns all rows of a matrix to parts, where an element of x takes `value_bytes`. O(nnz log(columns of a part)).
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
        // The neighbours of a row in a square matrix are mostly the rows with the same numbers as its columns.
        let transposed = if is_square { None } else { Some(matrix.transposed()?) };
        let limits = Limits::new(matrix, size, value_bytes, kept);
        let territories = Territories::new(matrix, transposed.as_ref(), matrix.nnz() / limits.entries)?;
        let growth = Growth::new(matrix, transposed.as_ref(), &territories)?;
        let grown = parallel::map(territories.count(), 1, &|territory| {
            let share = territories.share(territory);
            growth.parts(territory, share.map_or(limits, |(entries, parts)| limits.shared(entries, parts)))
        })?;
        Self::joined(grown)?.ordered(matrix)
    }

    /// Grows some parts of a square matrix, each from one of these rows, as if it were the first; if the first part has
    /// all rows, it is the only one. Runs in parallel in O(rows + columns), plus the time of [`new`](Self::new) for
    /// their entries.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn from_rows<T: Scalar>(
        matrix: &Csr<T>,
        size: PartSize,
        value_bytes: usize,
        rows: impl ExactSizeIterator<Item = usize>,
    ) -> Result<Self, Error> {
        let limits = Limits::new(matrix, size, value_bytes, Kept::Columns);
        let territories = Territories::single();
        let rows = collect(rows)?;
        let mut grown = parallel::map(rows.len(), 1, &|number| {
            Growth::new(matrix, None, &territories)?.part_from_row(rows[number], limits)
        })?;
        let has_all = |part: &Self| part.row_numbers.iter().filter(|&&row| row != NO_ROW).count() == matrix.rows();
        if let Some(Ok(first)) = grown.first()
            && has_all(first)
        {
            grown.truncate(1);
        }
        Self::joined(grown)?.ordered(matrix)
    }

    /// Returns no parts.
    pub(super) fn none() -> Result<Self, Error> {
        let (mut part_begins, mut column_begins) = (with_capacity(1)?, with_capacity(1)?);
        part_begins.push(0);
        column_begins.push(0);
        Ok(Self { part_begins, row_numbers: Vec::new(), column_begins, column_numbers: Vec::new() })
    }

    /// Concatenates all these parts.
    fn joined(mut grown: Vec<Result<Self, Error>>) -> Result<Self, Error> {
        if grown.len() == 1
            && let Some(parts) = grown.pop()
        {
            return parts;
        }
        let mut all = Self::none()?;
        for parts in grown {
            let Self { part_begins, row_numbers, column_begins, column_numbers } = parts?;
            let (slices, columns) = ((all.row_numbers.len() / ROWS) as u32, all.column_numbers.len() as u64);
            reserve(&mut all.part_begins, part_begins.len())?;
            all.part_begins.extend(part_begins[1..].iter().map(|begin| begin + slices));
            reserve(&mut all.row_numbers, row_numbers.len())?;
            all.row_numbers.extend_from_slice(&row_numbers);
            reserve(&mut all.column_begins, column_begins.len())?;
            all.column_begins.extend(column_begins[1..].iter().map(|begin| begin + columns));
            reserve(&mut all.column_numbers, column_numbers.len())?;
            all.column_numbers.extend_from_slice(&column_numbers);
        }
        Ok(all)
    }

    /// Returns the positions and the columns of a part.
    pub fn of(&self, part: usize) -> (&[u32], &[u32]) {
        let rows = self.part_begins[part] as usize * ROWS..self.part_begins[part + 1] as usize * ROWS;
        let columns = self.column_begins[part] as usize..self.column_begins[part + 1] as usize;
        (&self.row_numbers[rows], &self.column_numbers[columns])
    }

    /// Returns the number of parts.
    pub fn count(&self) -> usize {
        self.part_begins.len() - 1
    }

    /// Sorts the rows of each part by length, and its columns in ascending order.
    fn ordered<T: Scalar>(mut self, matrix: &Csr<T>) -> Result<Self, Error> {
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
        // `NO_ROW` is the largest number and comes last.
        let key = |row: u32| u64::from(u32::MAX - length(row).min(u32::MAX as usize) as u32) << 32 | u64::from(row);
        let ordered = parallel::map_items(pieces, &|(_, (rows, columns))| {
            let mut keys = collect(rows.iter().map(|&row| key(row)))?;
            keys.sort_unstable();
            rows.iter_mut().zip(keys).for_each(|(row, key)| *row = key as u32);
            columns.sort_unstable();
            Ok(())
        })?;
        ordered.into_iter().collect::<Result<(), Error>>()?;
        Ok(self)
    }
}

/// Returns whether most columns are empty, so that no array may be as long as the number of columns.
pub(in crate::format) fn has_few_columns<T: Scalar>(matrix: &Csr<T>) -> bool {
    matrix.columns() > matrix.rows().saturating_add(matrix.nnz())
}

/// Returns the matrix without its empty columns, and the numbers of the others.
fn without_empty_columns<T: Scalar>(matrix: &Csr<T>) -> Result<(Csr<T>, Vec<u32>), Error> {
    let mut used = copy(matrix.column_indices())?;
    used.sort_unstable();
    used.dedup();
    let number = |column: &u32| used.partition_point(|used| used < column) as u32;
    let column_indices = collect(matrix.column_indices().iter().map(number))?;
    let (offsets, values) = (matrix.row_offsets().try_clone()?, copy(matrix.values())?);
    Ok((Csr::from_valid(matrix.rows(), used.len(), offsets, column_indices, values), used))
}
