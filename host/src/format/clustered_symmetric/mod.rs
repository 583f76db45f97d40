//! Clustered slices in which a pair of equal entries, one on either side of the diagonal, is stored once.

mod arrangement;
#[allow(unsafe_code, reason = "it launches kernels")]
mod by_kernels;
mod costs;
mod pairs;
mod pieces;
pub(crate) mod product;
mod slots;
mod steps;
pub(crate) mod strategy;
#[cfg(test)]
mod tests;

use std::ops::Range;

use gpu_kernels::clustered::{NO_ENTRY, NO_ROW};

use crate::error::{Error, check_length};
use crate::format::check::{check_indices, check_offsets, count_parts};
use crate::format::clustered::{ROWS, WORDS, check_rows, lane_of};
use crate::format::storage::storage;
use crate::format::{Csr, FillLimit, PartSize, check_shape};
use crate::memory::{filled, same_bits, with_capacity, zeros};
use crate::parallel;
use crate::real::Scalar;
use arrangement::{Arrangement, arrange};
use steps::WARPS;

pub(crate) use strategy::Strategy;

/// Name of the storage in errors.
const NAME: &str = "ClusteredSymmetric";

/// Name of the storage in a container, which has 16 bytes for it.
const CONTAINER_NAME: &str = "ClusteredPairs";

storage! {
    /// A sparse matrix whose rows are grouped into parts, as in [`Clustered`](crate::format::Clustered), with pairs
    /// stored once: if a part has the rows i and j, and the entries in row i, column j and row j, column i have the
    /// same bits, one of the two rows stores an entry that stands for both. Every other entry is stored by itself, so
    /// any matrix can be represented, and every entry is recovered.
    ///
    /// The rows of a part are in slices of 64, and the slices of a part belong to the 16 warps of a block, each of
    /// which processes a column of slots of its slices per step. Among the entries of a step that stand for two, no two
    /// are in the same column, and none is in the column of a row whose slice its warp left in that step: that is when
    /// the row gets the sum of its own entries. In a column of slots, the word and the two values of lane l belong to
    /// rows l and l + 32 of the slice.
    ///
    /// A long row is divided into pieces, because a step adds to a sum once: each has a position with some of its entries, and
    /// their sums are added up at the end.
    ///
    /// Columns are numbered within each part: first the positions of its rows, then the columns of its halo.
    pub struct ClusteredSymmetric {
        parameters {
            /// Size for which the parts were made.
            part_size: PartSize,
            /// Largest number of elements that a block keeps in shared memory for any part: x and y per position, x per
            /// column of the halo.
            most_elements: usize,
        }
        offsets {}
        arrays {
            /// Number of slices before each warp of all parts, then of all slices: 16 parts + 1 numbers.
            warp_begins: u32,
            /// Row at each position of the slices; [`NO_ROW`] at the end of a part whose last slice is not full. A long row has
            /// several positions, adjacent ones in the same half of a slice.
            row_numbers: u32,
            /// Number of halo columns of all parts before each part, then of all parts: parts + 1 numbers.
            halo_begins: u64,
            /// Columns of each part's entries that are stored by themselves.
            halo_columns: u32,
            /// Sum of the widths of all slices before each slice, then the sum of all: slices + 1 numbers.
            slice_begins: u64,
            /// Two columns, by their numbers in the part, for each of the 32 lanes of each column of slots: that of row
            /// l in the lower half, that of row l + 32 in the upper one; [`NO_ENTRY`] where there is no entry.
            local_columns: u32,
            /// Values of the same rows, for each lane of each column of slots; 0 where there is no entry.
            values: T,
        }
    }
}

/// Lengths of the arrays.
struct Counts {
    parts: usize,
    slices: usize,
    halo_columns: usize,
    words: usize,
}

impl Counts {
    /// Those of all parts.
    fn of(parts: &[Arrangement]) -> Self {
        let sum = |count: fn(&Arrangement) -> usize| parts.iter().map(count).sum();
        Self {
            parts: parts.len(),
            slices: sum(|part| part.slots.widths.len()),
            halo_columns: sum(|part| part.halo.len()),
            words: sum(|part| part.slots.words()),
        }
    }

    /// Returns the bytes of the arrays with values of `V`.
    fn bytes<V>(&self) -> u128 {
        let [parts, slices, halo_columns, words] =
            [self.parts, self.slices, self.halo_columns, self.words].map(|count| count as u128);
        let numbers = ROWS as u128 * slices + halo_columns + words + WARPS as u128 * parts + 1;
        4 * numbers + 8 * (slices + 1 + parts + 1) + 2 * size_of::<V>() as u128 * words
    }
}

/// Whether the position before one in the same half of a slice has another piece of its row.
fn has_piece_before(row_numbers: &[u32], position: usize) -> bool {
    !position.is_multiple_of(WORDS) && row_numbers[position - 1] == row_numbers[position]
}

/// Calls `with` with `matrix`, or with a copy whose rows are sorted and free of duplicates if `matrix` is not so.
fn in_order<T: Scalar, R>(matrix: &Csr<T>, with: impl FnOnce(&Csr<T>) -> Result<R, Error>) -> Result<R, Error> {
    let ascends = |row| matrix.column_indices()[matrix.range(row)].is_sorted_by(|left, right| left < right);
    if parallel::all(matrix.rows(), parallel::ROWS_AT_ONCE, &ascends) {
        return with(matrix);
    }
    let mut sorted = matrix.try_clone()?;
    sorted.sort_and_sum()?;
    with(&sorted)
}

/// Returns the bytes that the arrays for `matrix` take with values of `V`. Takes as long as the conversion, which it
/// runs.
///
/// # Errors
/// When a row has more columns than a part may have, or memory runs out.
fn predicted_bytes<T: Scalar, V>(matrix: &Csr<T>, size: PartSize) -> Result<u128, Error> {
    in_order(matrix, |matrix| Ok(Counts::of(&arrange(matrix, size, size_of::<V>())?).bytes::<V>()))
}

/// Returns the same for parts of [`PartSize::SYMMETRIC`]; `None` if a row does not fit into one.
pub(in crate::format) fn bytes_if_possible<T: Scalar>(matrix: &Csr<T>) -> Result<Option<u128>, Error> {
    match predicted_bytes::<T, T>(matrix, PartSize::SYMMETRIC) {
        Err(Error::TooLarge { .. }) => Ok(None),
        bytes => bytes.map(Some),
    }
}

impl<T: Scalar> ClusteredSymmetric<T> {
    /// Builds a matrix from its arrays. Runs in parallel in O(slots), and in O(rows) on one thread.
    ///
    /// # Errors
    /// When the length of an array contradicts the others or the shape, a row is missing or has positions that are not
    /// adjacent in the same half of a slice, a column is not below `columns`, a slot has a column outside its part, a
    /// position without a row has an entry, two entries of a step that stand for two are in the same column, an entry on
    /// the diagonal is in the column of another position of its row, or padding has a value.
    #[allow(clippy::too_many_arguments, reason = "they are the arrays")]
    pub fn try_new(
        rows: usize,
        columns: usize,
        part_size: PartSize,
        warp_begins: Vec<u32>,
        row_numbers: Vec<u32>,
        halo_begins: Vec<u64>,
        halo_columns: Vec<u32>,
        slice_begins: Vec<u64>,
        local_columns: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Self, Error> {
        let fail = |reason| Err(Error::structure(NAME, reason));
        check_shape(rows, columns)?;
        if let Some(reason) = part_size.contradiction() {
            return fail(reason);
        }
        let (parts, slices) = (halo_begins.len().saturating_sub(1), row_numbers.len() / ROWS);
        check_length("row_numbers", row_numbers.len(), slices * ROWS)?;
        check_offsets(NAME, "warp", &warp_begins, parts.saturating_mul(WARPS), slices)?;
        check_offsets(NAME, "halo", &halo_begins, parts, halo_columns.len())?;
        check_indices(NAME, "column", columns, &halo_columns)?;
        let width = slice_begins.last().and_then(|&width| usize::try_from(width).ok()).unwrap_or_default();
        check_offsets(NAME, "slice", &slice_begins, slices, width)?;
        check_length("local_columns", local_columns.len(), width.saturating_mul(WORDS))?;
        check_length("values", values.len(), width.saturating_mul(ROWS))?;
        check_rows(NAME, rows, &row_numbers, |position| has_piece_before(&row_numbers, position))?;
        let mut matrix = Self {
            rows,
            columns,
            stored: 0,
            part_size,
            most_elements: 0,
            warp_begins,
            row_numbers,
            halo_begins,
            halo_columns,
            slice_begins,
            local_columns,
            values,
        };
        matrix.most_elements = (0..parts).map(|part| matrix.elements_of(part)).max().unwrap_or(0);
        matrix.stored = count_parts(NAME, parts, |part| matrix.check_part(part))?;
        Ok(matrix)
    }

    /// Checks the slots of a part and returns the number of its entries.
    fn check_part(&self, part: usize) -> Result<usize, String> {
        let most = self.part_size.elements(size_of::<T>());
        let count = self.elements_of(part);
        if count > most {
            return Err(format!("part {part} has {count} elements, expected at most {most}"));
        }
        let rows = self.rows_of(part);
        let elements = rows.len() + self.halo_of(part).len();
        let mut entries = 0;
        for (own, column, value) in self.places_in(part) {
            let name = || format!("a slot of position {}", self.first_of(part) + own);
            if column == NO_ENTRY {
                if !same_bits(&[value], &[T::ZERO]) {
                    return Err(format!("{} has no entry, but the value {value}, expected 0", name()));
                }
                continue;
            }
            let column = column as usize;
            if rows[own] == NO_ROW {
                return Err(format!("{} has an entry, but no row", name()));
            }
            if column >= elements {
                return Err(format!("{} is in column {column} of the {elements} of part {part}", name()));
            }
            if column != own && rows.get(column) == Some(&rows[own]) {
                return Err(format!("{} is in the column of another piece of its row", name()));
            }
            if rows.get(column).is_some_and(|&row| row as usize >= self.columns) {
                return Err(format!("{} is in the column of position {column} of part {part}, which has none", name()));
            }
            entries += if column < rows.len() && column != own { 2 } else { 1 };
        }
        self.check_steps(part)?;
        Ok(entries)
    }

    /// Checks that the additions of a block within a step go to different sums.
    fn check_steps(&self, part: usize) -> Result<(), String> {
        let positions = self.rows_of(part).len();
        let mut last = filled(positions, usize::MAX).map_err(|error| error.to_string())?;
        // State of each warp: its slice, and the column of slots.
        let first = part * WARPS;
        let place_of = |slice: usize| self.slice_begins[slice] as usize;
        let mut slices: [Range<usize>; WARPS] = std::array::from_fn(|warp| self.slices_of_warp(first + warp));
        let begins = slices.clone().map(|slices| place_of(slices.start));
        let steps = (0..WARPS).map(|warp| place_of(slices[warp].end) - begins[warp]).max().unwrap_or(0);
        for step in 0..steps {
            let add = |last: &mut [usize], position: usize| match std::mem::replace(&mut last[position], step) == step {
                true => Err(format!("two slots of step {step} of part {part} add to position {position}")),
                false => Ok(()),
            };
            for warp in 0..WARPS {
                let place = begins[warp] + step;
                let slices = &mut slices[warp];
                if place >= place_of(slices.end) {
                    continue;
                }
                if place >= place_of(slices.start + 1) {
                    // That slice ended in the previous step.
                    let first = slices.start * ROWS - self.first_of(part);
                    (first..first + ROWS).try_for_each(|position| add(&mut last, position))?;
                    slices.start += 1;
                    if self.places_of(slices.start).is_empty() {
                        return Err(format!("slice {} has no slots, but a later one has", slices.start));
                    }
                }
                let first = slices.start * ROWS - self.first_of(part);
                for row in 0..ROWS {
                    let (own, column, _) = self.at(place, first, row);
                    if (column as usize) < positions && column as usize != own {
                        add(&mut last, column as usize)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Converts `matrix`, in parts of this size; duplicates are summed, in their order. Runs in parallel in
    /// O(nnz (log(columns of a part) + log(longest row))).
    ///
    /// # Errors
    /// When the size contradicts itself, a row has more columns than a part may have, the arrays would exceed `limit`,
    /// or memory runs out.
    pub fn try_from_csr(matrix: &Csr<T>, part_size: PartSize, limit: FillLimit) -> Result<Self, Error> {
        if let Some(reason) = part_size.contradiction() {
            return Err(Error::structure(NAME, reason));
        }
        in_order(matrix, |sorted| {
            let parts = arrange(sorted, part_size, size_of::<T>())?;
            limit.check(NAME, Counts::of(&parts).bytes::<T>(), matrix.bytes())?;
            Self::from_parts(sorted, part_size, parts)
        })
    }

    /// Concatenates the parts.
    fn from_parts(matrix: &Csr<T>, part_size: PartSize, parts: Vec<Arrangement>) -> Result<Self, Error> {
        let sum = |count: fn(&Arrangement) -> usize| parts.iter().map(count).sum::<usize>();
        let mut warp_begins = with_capacity(WARPS * parts.len() + 1)?;
        let mut halo_begins = with_capacity(parts.len() + 1)?;
        let mut row_numbers = with_capacity(sum(Arrangement::positions))?;
        let mut halo_columns = with_capacity(sum(|part| part.halo.len()))?;
        let mut slice_begins = with_capacity(sum(|part| part.slots.widths.len()) + 1)?;
        let words = sum(|part| part.slots.words());
        let (mut local_columns, mut values) = (zeros(words)?, zeros(2 * words)?);
        warp_begins.push(0);
        halo_begins.push(0);
        slice_begins.push(0);
        let (mut slices, mut width, mut most_elements) = (0, 0, 0);
        let mut pieces = with_capacity(parts.len())?;
        let (mut words_left, mut values_left) = (&mut local_columns[..], &mut values[..]);
        for part in parts {
            row_numbers.extend(part.row_numbers());
            halo_columns.extend(part.halo.iter());
            slice_begins.extend(part.slots.widths.iter().map(|&of_slice| {
                width += u64::from(of_slice);
                width
            }));
            warp_begins.extend(part.slots.warps.into_iter().map(|of_warp| {
                slices += of_warp;
                slices
            }));
            halo_begins.push(halo_columns.len() as u64);
            most_elements = most_elements.max(part.elements());
            let (words, values);
            (words, words_left) = words_left.split_at_mut(part.slots.words());
            (values, values_left) = values_left.split_at_mut(2 * words.len());
            pieces.push((part, words, values));
        }
        // Each part is freed as soon as it has been written.
        let written = parallel::map_items(pieces, &|(_, (part, words, values))| part.write(matrix, words, values))?;
        written.into_iter().collect::<Result<(), Error>>()?;
        Ok(Self {
            rows: matrix.rows(),
            columns: matrix.columns(),
            stored: matrix.nnz(),
            part_size,
            most_elements,
            warp_begins,
            row_numbers,
            halo_begins,
            halo_columns,
            slice_begins,
            local_columns,
            values,
        })
    }

    /// Returns the number of parts.
    pub(crate) fn parts(&self) -> usize {
        self.halo_begins.len() - 1
    }

    /// Returns the slices of a warp.
    fn slices_of_warp(&self, warp: usize) -> Range<usize> {
        self.warp_begins[warp] as usize..self.warp_begins[warp + 1] as usize
    }

    /// Returns the slices of a part.
    fn slices_of(&self, part: usize) -> Range<usize> {
        self.warp_begins[part * WARPS] as usize..self.warp_begins[(part + 1) * WARPS] as usize
    }

    /// Returns the first position of a part.
    fn first_of(&self, part: usize) -> usize {
        self.warp_begins[part * WARPS] as usize * ROWS
    }

    /// Returns the rows at the positions of a part.
    fn rows_of(&self, part: usize) -> &[u32] {
        &self.row_numbers[self.first_of(part)..self.first_of(part + 1)]
    }

    /// Returns the columns of a part's halo.
    fn halo_of(&self, part: usize) -> &[u32] {
        &self.halo_columns[self.halo_begins[part] as usize..self.halo_begins[part + 1] as usize]
    }

    /// Returns the number of elements that a part keeps in shared memory.
    fn elements_of(&self, part: usize) -> usize {
        2 * self.rows_of(part).len() + self.halo_of(part).len()
    }

    /// Returns the columns of slots of a slice.
    fn places_of(&self, slice: usize) -> Range<usize> {
        self.slice_begins[slice] as usize..self.slice_begins[slice + 1] as usize
    }

    /// Returns the slots of a part, slice by slice: position, column and value.
    fn places_in(&self, part: usize) -> impl Iterator<Item = (usize, u32, T)> + '_ {
        self.slices_of(part).zip((0..).step_by(ROWS)).flat_map(move |(slice, first)| {
            self.places_of(slice).flat_map(move |place| (0..ROWS).map(move |row| self.at(place, first, row)))
        })
    }

    /// Returns the slot of a row of a slice in a column of slots: position, column and value.
    fn at(&self, place: usize, first: usize, row: usize) -> (usize, u32, T) {
        let (lane, half) = lane_of(row);
        let word = place * WORDS + lane;
        (first + row, self.local_columns[word] >> (16 * half) & NO_ENTRY, self.values[2 * word + half])
    }

    /// Returns the entries of a part and their images, as row, column and value.
    fn entries_of(&self, part: usize) -> impl Iterator<Item = (u32, u32, T)> + '_ {
        let (rows, halo) = (self.rows_of(part), self.halo_of(part));
        let entries = self.places_in(part).filter(|&(_, column, _)| column != NO_ENTRY);
        entries.flat_map(move |(own, column, value)| {
            let entry = |column: u32| (rows[own], column, value);
            match rows.get(column as usize) {
                None => [Some(entry(halo[column as usize - rows.len()])), None],
                Some(&row) if column as usize == own => [Some(entry(row)), None],
                Some(&row) => [Some(entry(row)), Some((row, rows[own], value))],
            }
            .into_iter()
            .flatten()
        })
    }

    /// Converts the matrix to CSR, each row sorted by column. Runs in parallel in O(nnz log(longest row)), and in
    /// O(nnz) on one thread; takes additional memory for rows, columns and values.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn to_csr(&self) -> Result<Csr<T>, Error> {
        let (mut rows, mut columns) = (with_capacity(self.stored)?, with_capacity(self.stored)?);
        let mut values = with_capacity(self.stored)?;
        for part in 0..self.parts() {
            for (row, column, value) in self.entries_of(part) {
                rows.push(row);
                columns.push(column);
                values.push(value);
            }
        }
        Csr::try_from_triplets(self.rows, self.columns, &rows, &columns, &values)
    }
}
