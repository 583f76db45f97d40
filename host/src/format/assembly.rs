//! Matrices in CSR from entries that arrive in batches, twice: first to count those of each row, then to store each at
//! its position. Besides the matrix, this takes no memory per row or entry.

use super::{Csr, Offsets, check_shape};
use crate::error::Error;
use crate::memory::{Element, collect, zeros};
use crate::parallel;
use crate::real::Scalar;

/// Largest number of concurrent passes over the entries: each reads the rows of all.
const MOST_PASSES: usize = 8;

/// Largest number of passes over few entries, whose rows stay in the cache.
const MOST_PASSES_OVER_FEW: usize = 32;

/// This many rows of entries fit in a cache that threads share.
const FEW: usize = 1 << 22;

/// A batch of entries: rows, columns, values.
#[doc(hidden)]
pub type TripletSlices<'a, T> = (&'a [u32], &'a [u32], &'a [T]);

/// Counts the entries of each row.
#[doc(hidden)]
pub struct RowCounts {
    rows: usize,
    columns: usize,
    /// The count of row r is at index r + 1.
    counts: Offsets,
}

/// A matrix that is being filled with entries.
pub struct Assembly<T> {
    rows: usize,
    columns: usize,
    /// Next position of row r, at index r + 1. Once the row is full, it is the beginning of the next row.
    next: Offsets,
    column_indices: Vec<u32>,
    values: Vec<T>,
}

impl RowCounts {
    /// Starts with no entries, and room for counts up to `most_entries`.
    ///
    /// # Errors
    /// When the shape cannot be indexed, or memory runs out.
    pub fn new(rows: usize, columns: usize, most_entries: u128) -> Result<Self, Error> {
        check_shape(rows, columns)?;
        let counts = match Offsets::width_for(most_entries) {
            4 => Offsets::Narrow(zeros(rows + 1)?),
            _ => Offsets::Wide(zeros(rows + 1)?),
        };
        Ok(Self { rows, columns, counts })
    }

    /// Creates the counts of rows that have `lengths` entries.
    ///
    /// # Errors
    /// When the shape cannot be indexed, or memory runs out.
    pub fn of_lengths(columns: usize, lengths: &[usize]) -> Result<Self, Error> {
        let entries = lengths.iter().map(|&length| length as u128).sum();
        let mut counted = Self::new(lengths.len(), columns, entries)?;
        match &mut counted.counts {
            Offsets::Narrow(counts) => set(&mut counts[1..], lengths),
            Offsets::Wide(counts) => set(&mut counts[1..], lengths),
        }
        Ok(counted)
    }

    /// Counts entries, given by their rows, in several parts. Runs in parallel.
    ///
    /// # Errors
    /// When memory runs out; some entries may already have been counted.
    ///
    /// # Panics
    /// When a row is not below the number of rows.
    pub fn add(&mut self, parts: &[&[u32]]) -> Result<(), Error> {
        match &mut self.counts {
            Offsets::Narrow(counts) => count(&mut counts[1..], parts),
            Offsets::Wide(counts) => count(&mut counts[1..], parts),
        }
    }

    /// Returns the beginning of each row's counted entries, in order of rows.
    pub fn into_offsets(mut self) -> Offsets {
        match &mut self.counts {
            Offsets::Narrow(counts) => sum(counts),
            Offsets::Wide(counts) => sum(counts),
        }
        self.counts
    }

    /// Returns the number of counted entries of each row.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn into_lengths(self) -> Result<Vec<usize>, Error> {
        collect((0..self.rows).map(|row| self.counts.get(row + 1)))
    }

    /// Returns a matrix with room for the counted entries.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn into_assembly<T: Scalar>(self) -> Result<Assembly<T>, Error> {
        let Self { rows, columns, mut counts } = self;
        let stored = match &mut counts {
            Offsets::Narrow(counts) => begins(&mut counts[1..]),
            Offsets::Wide(counts) => begins(&mut counts[1..]),
        };
        Ok(Assembly { rows, columns, next: counts, column_indices: zeros(stored)?, values: zeros(stored)? })
    }
}

impl<T: Scalar> Assembly<T> {
    /// Stores the entries of several parts at their positions; those of a row keep their order. Runs in parallel.
    ///
    /// # Errors
    /// When a row has more entries than were counted, or is beyond the last counted row.
    pub fn place(&mut self, parts: &[TripletSlices<'_, T>]) -> Result<(), Error> {
        let Self { next, column_indices, values, .. } = self;
        match next {
            Offsets::Narrow(next) => place(&mut next[1..], column_indices, values, parts),
            Offsets::Wide(next) => place(&mut next[1..], column_indices, values, parts),
        }
    }

    /// Returns the matrix, each row sorted by column, and duplicates summed in the order of their arrival. All columns
    /// must be below the number of columns.
    ///
    /// # Errors
    /// When fewer entries arrived than were counted, or memory runs out.
    pub fn finish(self) -> Result<Csr<T>, Error> {
        let mut matrix = self.placed()?;
        matrix.sort_and_sum()?;
        Ok(matrix)
    }

    /// Returns the matrix, each row sorted by column; duplicates stay, in the order of their arrival. All columns must
    /// be below the number of columns.
    ///
    /// # Errors
    /// As for [`finish`](Self::finish).
    pub fn finish_with_duplicates(self) -> Result<Csr<T>, Error> {
        let mut matrix = self.placed()?;
        matrix.sort_rows()?;
        Ok(matrix)
    }

    /// Returns the matrix with its entries as they were placed.
    fn placed(self) -> Result<Csr<T>, Error> {
        let Self { rows, columns, next, column_indices, values } = self;
        next.check("CSR", "row", rows, values.len())?;
        Ok(Csr::from_valid(rows, columns, next, column_indices, values))
    }
}

/// A count of entries, 32 or 64 bits wide.
pub(in crate::format) trait Offset: Element {
    fn to_usize(self) -> usize;
    fn from_usize(places: usize) -> Self;
}

impl Offset for u32 {
    fn to_usize(self) -> usize {
        self as usize
    }

    fn from_usize(places: usize) -> Self {
        places as Self
    }
}

impl Offset for u64 {
    fn to_usize(self) -> usize {
        self as usize
    }

    fn from_usize(places: usize) -> Self {
        places as Self
    }
}

/// First and last row of a part.
type RowRange = (u32, u32);

/// Returns the first and the last row of each part, and those of all parts; `None` if there are no entries.
fn row_ranges(parts: &[&[u32]]) -> Result<Option<(Vec<RowRange>, usize, usize)>, Error> {
    let of_part = |part: usize| {
        parts[part].iter().fold((u32::MAX, 0), |(first, last): (u32, u32), &row| (first.min(row), last.max(row)))
    };
    let ranges = parallel::map(parts.len(), 1, &of_part)?;
    let (first, last) = (ranges.iter().map(|range| range.0).min(), ranges.iter().map(|range| range.1).max());
    let both = first.zip(last).filter(|(first, last)| first <= last);
    Ok(both.map(|(first, last)| (ranges, first as usize, last as usize)))
}

/// Returns the number of concurrent passes over some entries.
fn passes(entries: usize) -> usize {
    parallel::threads().min(if entries <= FEW { MOST_PASSES_OVER_FEW } else { MOST_PASSES })
}

/// Adds to the counts of rows. Each thread takes a range of rows and picks their entries out of all parts.
fn count<O: Offset>(counts: &mut [O], parts: &[&[u32]]) -> Result<(), Error> {
    let Some((ranges, first, last)) = row_ranges(parts)? else { return Ok(()) };
    let counts = &mut counts[first..=last];
    let rows_at_once = counts.len().div_ceil(passes(parts.iter().map(|rows| rows.len()).sum()));
    parallel::chunks_mut(counts, rows_at_once, 1, &|(chunk, counts)| {
        let first = first + chunk * rows_at_once;
        let end = first + counts.len();
        for (part, range) in parts.iter().zip(&ranges) {
            if range.0 as usize >= end || (range.1 as usize) < first {
                continue;
            }
            for &row in *part {
                if let Some(count) = counts.get_mut((row as usize).wrapping_sub(first)) {
                    *count = O::from_usize(count.to_usize() + 1);
                }
            }
        }
    });
    Ok(())
}

fn set<O: Offset>(counts: &mut [O], lengths: &[usize]) {
    counts.iter_mut().zip(lengths).for_each(|(count, &length)| *count = O::from_usize(length));
}

/// Turns the number of entries of each row into the row's beginning; returns the number of all entries.
pub(in crate::format) fn begins<O: Offset>(counts: &mut [O]) -> usize {
    counts.iter_mut().fold(0, |begin, count| {
        let end = begin + count.to_usize();
        *count = O::from_usize(begin);
        end
    })
}

/// Replaces each number by the sum of all up to it.
fn sum<O: Offset>(numbers: &mut [O]) {
    numbers.iter_mut().fold(0, |sum, number| {
        *number = O::from_usize(sum + number.to_usize());
        number.to_usize()
    });
}

/// Rows that one thread fills.
struct Share<'a, O, T> {
    first_row: usize,
    next: &'a mut [O],
    /// First position of the arrays.
    first_place: usize,
    column_indices: &'a mut [u32],
    values: &'a mut [T],
}

/// Stores entries at their positions. Each thread takes a range of rows and picks their entries out of all parts in
/// order, so a row's entries keep their order for any number of threads.
fn place<O: Offset, T: Scalar>(
    next: &mut [O],
    column_indices: &mut [u32],
    values: &mut [T],
    parts: &[TripletSlices<'_, T>],
) -> Result<(), Error> {
    let rows = collect(parts.iter().map(|part| part.0))?;
    let Some((ranges, first, last)) = row_ranges(&rows)? else { return Ok(()) };
    let surplus = || Error::structure("triplet", "there are more entries than were counted");
    let next = next.get_mut(first..=last).ok_or_else(surplus)?;
    let entries = rows.iter().map(|rows| rows.len()).sum();
    let shares = shares(entries, first, next, column_indices, values).ok_or_else(surplus)?;
    let filled = parallel::map_items(shares, &|(_, mut share)| {
        for (part, range) in parts.iter().zip(&ranges) {
            if (range.0 as usize) < share.first_row + share.next.len() && range.1 as usize >= share.first_row {
                share.fill(part).ok_or_else(surplus)?;
            }
        }
        Ok(())
    })?;
    filled.into_iter().collect()
}

/// Splits some rows, to which some entries go, into shares with about equally many positions; returns `None` if the
/// positions do not ascend.
fn shares<'a, O: Offset, T: Scalar>(
    entries: usize,
    mut first_row: usize,
    mut next: &'a mut [O],
    column_indices: &'a mut [u32],
    values: &'a mut [T],
) -> Option<Vec<Share<'a, O, T>>> {
    // Everything before the next position of a row is full, so that position can stand for the row's beginning.
    let mut first_place = next.first()?.to_usize();
    let places = next.last()?.to_usize().checked_sub(first_place)?;
    let mut column_indices = column_indices.get_mut(first_place..)?;
    let mut values = values.get_mut(first_place..)?;
    let count = passes(entries);
    let begin = first_place;
    let mut shares = Vec::with_capacity(count);
    for share in 1..=count {
        let end = begin + (places as u128 * share as u128 / count as u128) as usize;
        let rows = if share == count { next.len() } else { next.partition_point(|next| next.to_usize() < end) };
        if rows == 0 {
            continue;
        }
        let (taken, left) = next.split_at_mut(rows);
        let end = left.first().map_or(first_place + column_indices.len(), |next| next.to_usize());
        let (taken_columns, left_columns) = column_indices.split_at_mut_checked(end.checked_sub(first_place)?)?;
        let (taken_values, left_values) = values.split_at_mut_checked(end - first_place)?;
        shares.push(Share { first_row, next: taken, first_place, column_indices: taken_columns, values: taken_values });
        (next, column_indices, values) = (left, left_columns, left_values);
        (first_row, first_place) = (first_row + rows, end);
    }
    Some(shares)
}

impl<O: Offset, T: Scalar> Share<'_, O, T> {
    /// Stores the entries of these rows at their positions; returns `None` if no position is left.
    fn fill(&mut self, (rows, columns, values): &TripletSlices<'_, T>) -> Option<()> {
        for ((&row, &column), &value) in rows.iter().zip(*columns).zip(*values) {
            if let Some(next) = self.next.get_mut((row as usize).wrapping_sub(self.first_row)) {
                let place = next.to_usize().wrapping_sub(self.first_place);
                *self.column_indices.get_mut(place)? = column;
                *self.values.get_mut(place)? = value;
                *next = O::from_usize(next.to_usize() + 1);
            }
        }
        Some(())
    }
}
