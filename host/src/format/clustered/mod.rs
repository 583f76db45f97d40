//! Clustered slices: rows that share columns in parts, each with the columns that it needs.

#[allow(unsafe_code, reason = "it launches kernels")]
mod by_kernels;
mod cells;
pub(crate) mod clusters;
mod column_set;
pub(in crate::format) mod costs;
mod growth;
pub(in crate::format) mod parts;
pub(crate) mod product;
pub(crate) mod strategy;
mod territories;
#[cfg(test)]
mod tests;

use std::ops::Range;

use gpu_kernels::clustered::{NO_ENTRY, NO_ROW, SLICE_ROWS};

use crate::error::{Error, check_length};
use crate::format::check::{check_indices, check_offsets, count_parts};
use crate::format::rows::collect_rows;
use crate::format::storage::{Parameter, storage};
use crate::format::{Csr, FillLimit, check_shape};
use crate::memory::{same_bits, with_capacity, zeros};
use crate::parallel;
use crate::real::Scalar;
use parts::{Kept, Parts, has_few_columns};

pub(crate) use strategy::Strategy;

/// Rows per slice.
pub(in crate::format) const ROWS: usize = SLICE_ROWS as usize;

/// Words per column of slots, each with the columns of two rows.
pub(in crate::format) const WORDS: usize = ROWS / 2;

/// Largest number of threads that number columns at the same time, each with room for all columns.
pub(in crate::format) const MOST_NUMBERINGS: usize = 16;

/// Size of the parts of a clustered matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PartSize {
    /// Target number of parts of equal work, as far as their columns allow it: at least 1. A matrix of few entries has
    /// fewer parts.
    pub parts: u32,
    /// Shared memory, in KiB, that the elements of x (and y) of a part may take: 1 to 256.
    pub kilobytes: u32,
}

impl PartSize {
    /// Two parts for each of the 132 multiprocessors of an H100 or H200, which holds both at a time: no block waits for
    /// another one to end, and larger parts share more columns.
    pub const DEFAULT: Self = Self { parts: 264, kilobytes: 96 };

    /// Explains how the values are invalid, if they are.
    pub(in crate::format) fn contradiction(self) -> Option<String> {
        let Self { parts, kilobytes } = self;
        (parts == 0 || !(1..=256).contains(&kilobytes))
            .then(|| format!("{parts} parts of {kilobytes} KiB, expected at least 1 part of 1 to 256 KiB"))
    }

    /// Returns the largest number of elements of a part.
    pub(in crate::format) fn elements(self, value_bytes: usize) -> usize {
        ((self.kilobytes as usize) << 10).div_ceil(value_bytes.max(1)).min(NO_ENTRY as usize)
    }
}

impl Parameter for PartSize {
    fn append_to(self, numbers: &mut Vec<u64>) {
        numbers.extend([self.parts, self.kilobytes].map(u64::from));
    }
}

storage! {
    /// A sparse matrix whose rows are grouped into parts: rows that share columns, wherever they are in the matrix. A
    /// part has a list of its columns, and its slots hold 16-bit indices into that list.
    ///
    /// The rows of a part, the longest first, are in slices of 64, each in ELLPACK of its own width; a row's entries
    /// are in the order of CSR. In a column of slots, the word and the two values of lane l belong to rows l and l + 32
    /// of the slice.
    pub struct Clustered {
        parameters {
            /// Size for which the parts were made.
            part_size: PartSize,
            /// Largest number of columns of any part.
            most_columns: usize,
        }
        offsets {}
        arrays {
            /// Number of slices before each part, then of all slices: parts + 1 numbers.
            part_begins: u32,
            /// Row at each position of the slices; [`NO_ROW`] at the end of a part whose last slice is not full.
            row_numbers: u32,
            /// Number of columns of all parts before each part, then of all parts: parts + 1 numbers.
            column_begins: u64,
            /// Columns of each part, at most 65,535.
            column_numbers: u32,
            /// Sum of the widths of all slices before each slice, then the sum of all: slices + 1 numbers.
            slice_begins: u64,
            /// Two columns, as indices into the list of the part, for each of the 32 lanes of each column of slots:
            /// that of row l in the lower half, that of row l + 32 in the upper one; [`NO_ENTRY`] where there is no
            /// entry.
            local_columns: u32,
            /// Values of the same rows, for each lane of each column of slots; 0 where there is no entry.
            values: T,
        }
    }
}

/// Returns the word and its half that hold the column of a row of a slice. Its value has the index 2 · word + half in a
/// column of slots.
pub(in crate::format) fn lane_of(row: usize) -> (usize, usize) {
    (row % WORDS, row / WORDS)
}

/// Returns the sum of the widths of all slices before each slice, then the sum of all.
fn slice_begins<T: Scalar>(matrix: &Csr<T>, parts: &Parts) -> Result<Vec<u64>, Error> {
    let slices = parts.row_numbers.len() / ROWS;
    let mut begins = with_capacity(slices + 1)?;
    let mut width = 0;
    begins.push(width);
    for rows in parts.row_numbers.chunks_exact(ROWS) {
        // The first row of a slice is its longest.
        width += matrix.range(rows[0] as usize).len() as u64;
        begins.push(width);
    }
    Ok(begins)
}

/// Returns the bytes of the arrays with values of `V`, where `width` is the total width of all slices.
fn bytes_of<V>(parts: &Parts, width: u64) -> u128 {
    let Parts { part_begins, row_numbers, column_begins, column_numbers, .. } = parts;
    let places = u128::from(width) * ROWS as u128;
    let words = part_begins.len() + row_numbers.len() + column_numbers.len();
    let begins = column_begins.len() + row_numbers.len() / ROWS + 1;
    places * (2 + size_of::<V>() as u128) + 4 * words as u128 + 8 * begins as u128
}

/// Returns the bytes that the clustered arrays of `matrix` take with values of `V`. O(nnz).
///
/// # Errors
/// When a row has more columns than a part may have, or memory runs out.
fn predicted_bytes<T: Scalar, V>(matrix: &Csr<T>, size: PartSize) -> Result<u128, Error> {
    let parts = Parts::new(matrix, size, size_of::<V>(), Kept::Columns)?;
    let width = slice_begins(matrix, &parts)?.last().copied().unwrap_or_default();
    Ok(bytes_of::<V>(&parts, width))
}

/// The parts of a matrix, and its slices.
struct Slices {
    parts: Parts,
    /// Sum of the widths of all slices before each slice, then the sum of all.
    slice_begins: Vec<u64>,
    /// Number of words of all slots.
    words: usize,
}

impl Slices {
    /// Finds the parts of `matrix`, of which only the pattern matters, where CSR takes `csr_bytes`.
    ///
    /// # Errors
    /// As for [`Clustered::try_from_csr`].
    fn new<T: Scalar>(matrix: &Csr<T>, size: PartSize, csr_bytes: u128, limit: FillLimit) -> Result<Self, Error> {
        if let Some(reason) = size.contradiction() {
            return Err(Error::structure(NAME, reason));
        }
        let parts = Parts::new(matrix, size, size_of::<T>(), Kept::Columns)?;
        let slice_begins = slice_begins(matrix, &parts)?;
        let width = slice_begins.last().copied().unwrap_or_default();
        let bytes = bytes_of::<T>(&parts, width);
        limit.check(NAME, bytes, csr_bytes)?;
        let width = usize::try_from(width).ok().filter(|width| width.checked_mul(ROWS).is_some());
        let width = width.ok_or(Error::OutOfMemory { what: "a clustered matrix", bytes })?;
        Ok(Self { parts, slice_begins, words: width * WORDS })
    }
}

impl<T: Scalar> Clustered<T> {
    /// Builds a matrix from its arrays. Runs in parallel in O(slots), and in O(rows) on one thread.
    ///
    /// # Errors
    /// When the length of an array contradicts the others or the shape, a row is missing or occurs twice, a column is
    /// not below `columns`, a slot has a column outside its part, a position without a row has an entry, or padding has
    /// a value.
    #[allow(clippy::too_many_arguments, reason = "they are the arrays")]
    pub fn try_new(
        rows: usize,
        columns: usize,
        part_size: PartSize,
        part_begins: Vec<u32>,
        row_numbers: Vec<u32>,
        column_begins: Vec<u64>,
        column_numbers: Vec<u32>,
        slice_begins: Vec<u64>,
        local_columns: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Self, Error> {
        let fail = |reason| Err(Error::structure(NAME, reason));
        check_shape(rows, columns)?;
        if let Some(reason) = part_size.contradiction() {
            return fail(reason);
        }
        let (parts, slices) = (part_begins.len().saturating_sub(1), row_numbers.len() / ROWS);
        check_length("row_numbers", row_numbers.len(), slices * ROWS)?;
        check_offsets(NAME, "part", &part_begins, parts, slices)?;
        check_offsets(NAME, "column list", &column_begins, parts, column_numbers.len())?;
        check_indices(NAME, "column", columns, &column_numbers)?;
        let width = slice_begins.last().and_then(|&width| usize::try_from(width).ok()).unwrap_or_default();
        check_offsets(NAME, "slice", &slice_begins, slices, width)?;
        check_length("local_columns", local_columns.len(), width.saturating_mul(WORDS))?;
        check_length("values", values.len(), width.saturating_mul(ROWS))?;
        check_rows(NAME, rows, &row_numbers, |_| false)?;
        let mut matrix = Self {
            rows,
            columns,
            stored: 0,
            part_size,
            most_columns: most(&column_begins),
            part_begins,
            row_numbers,
            column_begins,
            column_numbers,
            slice_begins,
            local_columns,
            values,
        };
        matrix.stored = count_parts(NAME, parts, |part| matrix.check_part(part))?;
        Ok(matrix)
    }

    /// Checks the columns and the slots of a part and returns the number of its entries.
    fn check_part(&self, part: usize) -> Result<usize, String> {
        let most = self.part_size.elements(size_of::<T>());
        let count = self.columns_of(part).len();
        if count > most {
            return Err(format!("part {part} has {count} columns, expected at most {most}"));
        }
        let mut entries = 0;
        for slice in self.slices_of(part) {
            if count == 0 && !self.places_of(slice).is_empty() {
                return Err(format!("part {part} has slots, but no column"));
            }
            for place in self.places_of(slice) {
                for row in 0..ROWS {
                    let position = slice * ROWS + row;
                    let name = || format!("slot {} of position {position}", place - self.places_of(slice).start);
                    let (column, value) = self.at(place, row);
                    if column == NO_ENTRY {
                        if !same_bits(&[value], &[T::ZERO]) {
                            return Err(format!("{} has no entry, but the value {value}, expected 0", name()));
                        }
                    } else if self.row_numbers[position] == NO_ROW {
                        return Err(format!("{} has an entry, but no row", name()));
                    } else if column as usize >= count {
                        return Err(format!("{} is in column {column} of the {count} of part {part}", name()));
                    } else {
                        entries += 1;
                    }
                }
            }
        }
        Ok(entries)
    }

    /// Converts `matrix`, in parts of this size. Runs in parallel in O(nnz log(columns of a part)).
    ///
    /// # Errors
    /// When the size contradicts itself, a row has more columns than a part may have, or the arrays would exceed
    /// `limit` or cannot be allocated; they are then not allocated.
    pub fn try_from_csr(matrix: &Csr<T>, part_size: PartSize, limit: FillLimit) -> Result<Self, Error> {
        let Slices { parts, slice_begins, words } = Slices::new(matrix, part_size, matrix.bytes(), limit)?;
        let mut local_columns = zeros::<u32>(words)?;
        let mut values = zeros::<T>(2 * words)?;
        let (mut words_left, mut values_left) = (&mut local_columns[..], &mut values[..]);
        let at_once = parts.count().div_ceil(parallel::threads().min(MOST_NUMBERINGS)).max(1);
        let mut groups = with_capacity(parts.count().div_ceil(at_once))?;
        for first in (0..parts.count()).step_by(at_once) {
            let group = first..(first + at_once).min(parts.count());
            let slices = parts.part_begins[group.start] as usize..parts.part_begins[group.end] as usize;
            let width = (slice_begins[slices.end] - slice_begins[slices.start]) as usize;
            let (words, rest) = words_left.split_at_mut(width * WORDS);
            words_left = rest;
            let (values, rest) = values_left.split_at_mut(width * ROWS);
            values_left = rest;
            groups.push((group, words, values));
        }
        let filled = parallel::map_items(groups, &|(_, (group, words, values))| {
            let mut numbers = zeros::<u16>(if has_few_columns(matrix) { 0 } else { matrix.columns() })?;
            let first = slice_begins[parts.part_begins[group.start] as usize];
            for part in group {
                let columns = parts.column_begins[part] as usize..parts.column_begins[part + 1] as usize;
                let columns = &parts.column_numbers[columns];
                if !numbers.is_empty() {
                    columns.iter().zip(0..).for_each(|(&column, number)| numbers[column as usize] = number);
                }
                let number_of = |column: u32| match numbers.get(column as usize) {
                    Some(&number) => number.into(),
                    None => columns.partition_point(|&other| other < column) as u32,
                };
                for slice in parts.part_begins[part] as usize..parts.part_begins[part + 1] as usize {
                    let places = slice_begins[slice] - first..slice_begins[slice + 1] - first;
                    let places = places.start as usize..places.end as usize;
                    let words = &mut words[places.start * WORDS..places.end * WORDS];
                    let values = &mut values[places.start * ROWS..places.end * ROWS];
                    words.fill(NO_ENTRY << 16 | NO_ENTRY);
                    for (row, &number) in parts.row_numbers[slice * ROWS..][..ROWS].iter().enumerate() {
                        if number == NO_ROW {
                            continue;
                        }
                        let (lane, half) = lane_of(row);
                        for (place, entry) in matrix.range(number as usize).enumerate() {
                            let word = &mut words[place * WORDS + lane];
                            let column = number_of(matrix.column_indices()[entry]);
                            *word = *word & !(NO_ENTRY << (16 * half)) | column << (16 * half);
                            values[place * ROWS + 2 * lane + half] = matrix.values()[entry];
                        }
                    }
                }
            }
            Ok(())
        })?;
        filled.into_iter().collect::<Result<(), Error>>()?;
        let (rows, columns, stored) = (matrix.rows(), matrix.columns(), matrix.nnz());
        let Parts { part_begins, row_numbers, column_begins, column_numbers, .. } = parts;
        Ok(Self {
            rows,
            columns,
            stored,
            part_size,
            most_columns: most(&column_begins),
            part_begins,
            row_numbers,
            column_begins,
            column_numbers,
            slice_begins,
            local_columns,
            values,
        })
    }

    /// Returns the number of parts.
    pub(crate) fn parts(&self) -> usize {
        self.part_begins.len() - 1
    }

    /// Returns the slices of a part.
    fn slices_of(&self, part: usize) -> Range<usize> {
        self.part_begins[part] as usize..self.part_begins[part + 1] as usize
    }

    /// Returns the columns of a part.
    fn columns_of(&self, part: usize) -> &[u32] {
        &self.column_numbers[self.column_begins[part] as usize..self.column_begins[part + 1] as usize]
    }

    /// Returns the columns of slots of a slice.
    fn places_of(&self, slice: usize) -> Range<usize> {
        self.slice_begins[slice] as usize..self.slice_begins[slice + 1] as usize
    }

    /// Returns the column as an index into the part's list, or [`NO_ENTRY`], and the value of a row of a slice in a
    /// column of slots.
    fn at(&self, place: usize, row: usize) -> (u32, T) {
        let (lane, half) = lane_of(row);
        let word = place * WORDS + lane;
        (self.local_columns[word] >> (16 * half) & NO_ENTRY, self.values[2 * word + half])
    }

    /// Returns the entries at a position of a part, as column and value.
    fn entries_at(&self, part: usize, position: usize) -> impl Iterator<Item = (u32, T)> + '_ {
        let columns = self.columns_of(part);
        self.places_of(position / ROWS).filter_map(move |place| {
            let (column, value) = self.at(place, position % ROWS);
            (column != NO_ENTRY).then(|| (columns[column as usize], value))
        })
    }

    /// Returns the part that contains a position.
    fn part_at(&self, position: usize) -> usize {
        self.part_begins.partition_point(|&begin| begin as usize * ROWS <= position) - 1
    }

    /// Converts the matrix to CSR. Runs in parallel in O(slots), and in O(rows) on one thread.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn to_csr(&self) -> Result<Csr<T>, Error> {
        let mut positions = zeros::<usize>(self.rows)?;
        for (position, &row) in self.row_numbers.iter().enumerate() {
            if row != NO_ROW {
                positions[row as usize] = position;
            }
        }
        collect_rows(self.rows, self.columns, |row| self.entries_at(self.part_at(positions[row]), positions[row]))
    }
}

/// Returns the largest number of columns of any part.
fn most(column_begins: &[u64]) -> usize {
    column_begins.windows(2).map(|begins| (begins[1] - begins[0]) as usize).max().unwrap_or(0)
}

/// Name of the storage.
const NAME: &str = "Clustered";

/// Checks that every row is at exactly one position, apart from those with another piece of the row before.
pub(in crate::format) fn check_rows(
    format: &'static str,
    rows: usize,
    row_numbers: &[u32],
    has_piece_before: impl Fn(usize) -> bool,
) -> Result<(), Error> {
    let fail = |reason| Err(Error::structure(format, reason));
    if row_numbers.len() < rows {
        return fail(format!("{} positions for {rows} rows", row_numbers.len()));
    }
    let mut seen = zeros::<bool>(rows)?;
    let mut count = 0;
    for (position, &row) in row_numbers.iter().enumerate() {
        match seen.get_mut(row as usize) {
            _ if row == NO_ROW || has_piece_before(position) => {}
            None => return fail(format!("row {row} of {rows} is at position {position}")),
            Some(seen) if *seen => return fail(format!("row {row} occurs twice, the second time at {position}")),
            Some(seen) => {
                *seen = true;
                count += 1;
            }
        }
    }
    if count < rows { fail(format!("{count} of {rows} rows have a position")) } else { Ok(()) }
}
