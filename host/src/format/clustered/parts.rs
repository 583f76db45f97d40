//! Groups rows that share columns into parts.

use std::ops::RangeInclusive;

use gpu_kernels::clustered::NO_ROW;
use gpu_kernels::clustered_symmetric::BLOCK_THREADS;

use super::growth::Growth;
use super::territories::Territories;
use super::{PartSize, ROWS};
use crate::error::Error;
use crate::format::Csr;
use crate::memory::{collect, copy, with_capacity, zeros};
use crate::parallel;
use crate::real::Scalar;

/// Least number of entries per part, unless the matrix has fewer: with fewer, a block is mostly startup overhead.
pub(super) const LEAST_ENTRIES: usize = 1 << 13;

/// Range of the largest number of rows per part.
const MOST_ROWS: RangeInclusive<usize> = 1 << 11..=1 << 16;

/// Largest number of entries of a piece of a row, as a fraction of those of its part. If all are in pairs, this piece takes
/// at least 0.7 of the steps that all lanes take for the part; with 0.5, there is more padding in some matrices than there is
/// less in others (docs/experiments/symmetric-and-clustered.md).
const PIECE_OF_PART: f64 = 0.7 / BLOCK_THREADS as f64 / 2.0;

/// The same for parts of few entries.
const LEAST_PIECE: u32 = 16;

/// Columns of a matrix per expected column of a halo.
const COLUMNS_OF_A_HALO: usize = 4;

/// Returns the largest number of entries of a piece of a row, in a part with this number of entries.
pub(in crate::format) fn longest_piece(entries: usize) -> u32 {
    ((entries as f64 * PIECE_OF_PART) as u32).max(LEAST_PIECE)
}

/// Assignment of rows to parts, and the columns of each part.
pub(in crate::format) struct Parts {
    /// Number of slices before each part, then of all slices.
    pub part_begins: Vec<u32>,
    /// Row at each position of the slices, the longest rows of a part first, or [`NO_ROW`]. A row has adjacent positions,
    /// one for each of its pieces.
    pub row_numbers: Vec<u32>,
    /// Number of columns of all parts before each part, then of all parts.
    pub column_begins: Vec<u64>,
    /// Columns of each part, ascending.
    pub column_numbers: Vec<u32>,
    /// Largest number of entries of a piece, which has a position of its own.
    pub longest_piece: u32,
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

/// Largest number of elements of a part, what they are, the target number of entries, and the largest numbers of positions,
/// and of entries at a position.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub elements: usize,
    pub kept: Kept,
    pub entries: usize,
    pub positions: usize,
    pub longest_piece: u32,
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
        let share = |of: usize| (of as u64 / parts) as usize;
        // Otherwise the rows of no or few entries would all be in the last parts, and the others would wait for these.
        let entries = share(matrix.nnz()).max(LEAST_ENTRIES);
        let longest_piece = match kept {
            Kept::Columns => u32::MAX,
            _ => longest_piece(entries),
        };
        let positions = share(matrix.rows()) + entries / longest_piece as usize;
        let positions = (2 * positions).next_multiple_of(ROWS).clamp(*MOST_ROWS.start(), *MOST_ROWS.end());
        Self { elements, kept, entries, positions, longest_piece }
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
        let limits = Limits::new(matrix, size, value_bytes, kept);
        let grown = Self::grown(matrix, limits)?;
        Self::joined(grown, matrix, limits)
    }

    /// Grows the parts of each territory.
    fn grown<T: Scalar>(matrix: &Csr<T>, limits: Limits) -> Result<Vec<Result<Self, Error>>, Error> {
        let is_square = matrix.rows() == matrix.columns();
        // The neighbours of a row in a square matrix are mostly the rows with the same numbers as its columns.
        let transposed = if is_square { None } else { Some(matrix.transposed()?) };
        let territories = Territories::new(matrix, transposed.as_ref(), matrix.nnz() / limits.entries)?;
        let growth = Growth::new(matrix, transposed.as_ref(), &territories)?;
        parallel::map(territories.count(), 1, &|territory| {
            let share = territories.share(territory);
            growth.parts(territory, share.map_or(limits, |(entries, parts)| limits.shared(entries, parts)))
        })
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
        Self::joined(grown, matrix, limits)
    }

    /// Returns no parts.
    pub(super) fn none(limits: Limits) -> Result<Self, Error> {
        let (mut part_begins, mut column_begins) = (with_capacity(1)?, with_capacity(1)?);
        part_begins.push(0);
        column_begins.push(0);
        let longest_piece = limits.longest_piece;
        Ok(Self { part_begins, row_numbers: Vec::new(), column_begins, column_numbers: Vec::new(), longest_piece })
    }

    /// Concatenates all these parts, the rows of each sorted by length and its columns in ascending order.
    fn joined<T: Scalar>(results: Vec<Result<Self, Error>>, matrix: &Csr<T>, limits: Limits) -> Result<Self, Error> {
        let mut grown = with_capacity(results.len())?;
        for parts in results {
            grown.push(parts?);
        }
        let sum = |count: fn(&Self) -> usize| grown.iter().map(count).sum::<usize>();
        let count = sum(Self::count);
        let (mut part_begins, mut column_begins) = (with_capacity(count + 1)?, with_capacity(count + 1)?);
        let mut row_numbers = zeros(sum(|parts| parts.row_numbers.len()))?;
        let mut column_numbers = zeros(sum(|parts| parts.column_numbers.len()))?;
        let mut pieces = with_capacity(count)?;
        let (mut slices, mut columns) = (0, 0);
        part_begins.push(slices);
        column_begins.push(columns);
        let (mut rows_left, mut columns_left) = (&mut row_numbers[..], &mut column_numbers[..]);
        for part in grown.iter().flat_map(|parts| (0..parts.count()).map(|part| parts.of(part))) {
            let (of_rows, of_columns);
            (of_rows, rows_left) = rows_left.split_at_mut(part.0.len());
            (of_columns, columns_left) = columns_left.split_at_mut(part.1.len());
            slices += (of_rows.len() / ROWS) as u32;
            columns += of_columns.len() as u64;
            part_begins.push(slices);
            column_begins.push(columns);
            pieces.push((part, of_rows, of_columns));
        }
        let length = |row: u32| if row == NO_ROW { 0 } else { matrix.range(row as usize).len() };
        // `NO_ROW` is the largest number and comes last.
        let key = |row: u32| u64::from(u32::MAX - length(row).min(u32::MAX as usize) as u32) << 32 | u64::from(row);
        let sorted = parallel::map_items(pieces, &|(_, ((rows, columns), of_rows, of_columns))| {
            let mut keys = collect(rows.iter().map(|&row| key(row)))?;
            keys.sort_unstable();
            of_rows.iter_mut().zip(keys).for_each(|(row, key)| *row = key as u32);
            of_columns.copy_from_slice(columns);
            of_columns.sort_unstable();
            Ok(())
        })?;
        sorted.into_iter().collect::<Result<(), Error>>()?;
        Ok(Self { part_begins, row_numbers, column_begins, column_numbers, longest_piece: limits.longest_piece })
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
