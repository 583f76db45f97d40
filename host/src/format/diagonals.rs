//! Occupied diagonals of a matrix.

use std::iter;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{Csr, Offsets};
use crate::error::Error;
use crate::memory::{collect, with_capacity};
use crate::parallel;
use crate::real::Scalar;

/// Words of a page: one page covers 2^15 diagonals.
const PAGE_WORDS: usize = 512;
const PAGE_BITS: usize = 64 * PAGE_WORDS;

/// Approximate number of entries per task.
const ENTRIES_AT_ONCE: usize = 1 << 15;

/// Rows of the same length that are compared at once.
const ROWS_COMPARED: usize = 32;

/// A bit per diagonal, in pages that are allocated when their first bit is set: a wide matrix of few entries takes
/// little memory.
struct Diagonals {
    pages: Vec<OnceLock<Vec<AtomicU64>>>,
    /// Whether the allocation of a page failed.
    incomplete: AtomicBool,
}

impl Diagonals {
    /// Makes room for `count` diagonals.
    fn new(count: usize) -> Result<Self, Error> {
        let pages = collect((0..count.div_ceil(PAGE_BITS)).map(|_| OnceLock::new()))?;
        Ok(Self { pages, incomplete: AtomicBool::new(false) })
    }

    fn insert(&self, diagonal: usize) {
        self.set(diagonal / 64, 1 << (diagonal % 64));
    }

    /// Inserts consecutive diagonals.
    fn insert_all(&self, diagonals: Range<usize>) {
        let mut next = diagonals.start;
        while next < diagonals.end {
            let end = diagonals.end.min((next / 64 + 1) * 64);
            self.set(next / 64, (u64::MAX >> (64 - (end - next))) << (next % 64));
            next = end;
        }
    }

    fn set(&self, word: usize, bits: u64) {
        let page = &self.pages[word / PAGE_WORDS];
        let page = match page.get() {
            Some(page) => page,
            None => match collect((0..PAGE_WORDS).map(|_| AtomicU64::new(0))) {
                Ok(zeros) => page.get_or_init(|| zeros),
                Err(_) => return self.incomplete.store(true, Ordering::Relaxed),
            },
        };
        let word = &page[word % PAGE_WORDS];
        // Most diagonals are already set, and reading disturbs no other thread.
        if word.load(Ordering::Relaxed) & bits != bits {
            word.fetch_or(bits, Ordering::Relaxed);
        }
    }

    /// Inserts the diagonals of a row with these columns; its column 0 is on diagonal `first`.
    fn insert_row(&self, columns: &[u32], first: usize) {
        match columns {
            [begin, .., last] if moved_by_one(columns, &columns[1..]) => {
                self.insert_all(first + *begin as usize..first + *last as usize + 1);
            }
            _ => columns.iter().for_each(|&column| self.insert(first + column as usize)),
        }
    }

    /// Inserts the diagonals of some rows.
    fn insert_rows<O: Copy + Into<u64>>(&self, columns: &[u32], offsets: &[O], rows: Range<usize>) {
        let last_row = offsets.len() - 2;
        let offset = |row: usize| offsets[row].into() as usize;
        let mut row = rows.start;
        while row < rows.end {
            let begin = offset(row);
            let length = offset(row + 1) - begin;
            self.insert_row(&columns[begin..begin + length], last_row - row);
            // In a grid or a band, most rows have the diagonals of the row before, so several are compared at once.
            let mut end = row + 1;
            while end < rows.end.min(row + ROWS_COMPARED) && offset(end + 1) - offset(end) == length {
                end += 1;
            }
            let alike = &columns[begin..offset(end)];
            if !moved_by_one(alike, &alike[length..]) {
                let of = |row: usize| &columns[offset(row)..offset(row) + length];
                let others = (row + 1..end).filter(|&row| !moved_by_one(of(row - 1), of(row)));
                others.for_each(|row| self.insert_row(of(row), last_row - row));
            }
            row = end;
        }
    }

    /// Iterates over the diagonals, in order.
    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let pages = self.pages.iter().enumerate().filter_map(|(number, page)| Some((number, page.get()?)));
        let words = pages.flat_map(|(number, page)| (number * PAGE_WORDS..).zip(page.iter()));
        let some = |bits: u64| (bits != 0).then_some(bits);
        words.flat_map(move |(number, word)| {
            let without_the_last =
                iter::successors(some(word.load(Ordering::Relaxed)), move |bits| some(bits & (bits - 1)));
            without_the_last.map(move |bits| 64 * number + bits.trailing_zeros() as usize)
        })
    }
}

/// Returns column minus row of each diagonal that holds an entry, in order. Runs in parallel in O(nnz + rows +
/// columns).
///
/// # Errors
/// When memory runs out.
pub(crate) fn occupied_diagonals<T: Scalar>(matrix: &Csr<T>) -> Result<Vec<i32>, Error> {
    // Diagonal 0 goes through the last row's first column.
    let last_row = matrix.rows().saturating_sub(1);
    let diagonals = Diagonals::new(last_row + matrix.columns())?;
    let mean = matrix.nnz() / matrix.rows().max(1);
    let at_once = (ENTRIES_AT_ONCE / (mean + 1)).max(ROWS_COMPARED);
    parallel::for_each(matrix.rows().div_ceil(at_once), 1, &|chunk| {
        let first = chunk * at_once;
        let (columns, rows) = (matrix.column_indices(), first..matrix.rows().min(first + at_once));
        match matrix.row_offsets() {
            Offsets::Narrow(offsets) => diagonals.insert_rows(columns, offsets, rows),
            Offsets::Wide(offsets) => diagonals.insert_rows(columns, offsets, rows),
        }
    });
    if diagonals.incomplete.load(Ordering::Relaxed) {
        return Err(Error::OutOfMemory { what: "a page of diagonals", bytes: 8 * PAGE_WORDS as u128 });
    }
    let mut occupied = with_capacity(diagonals.iter().count())?;
    occupied.extend(diagonals.iter().map(|diagonal| (diagonal as i64 - last_row as i64) as i32));
    Ok(occupied)
}

/// Returns whether `columns` are those of the row before, each increased by one, as far as both go. The first one
/// mostly decides; otherwise all are compared, without an early exit, so that several are compared at once.
fn moved_by_one(before: &[u32], columns: &[u32]) -> bool {
    let length = before.len().min(columns.len());
    let (before, columns) = (&before[..length], &columns[..length]);
    let difference = |(before, column): (&u32, &u32)| before.wrapping_add(1) ^ column;
    before.iter().zip(columns).take(1).all(|first| difference(first) == 0)
        && before.iter().zip(columns).map(difference).fold(0, |all, one| all | one) == 0
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_occupied_diagonal_comes_once_and_in_order() {
        let matrix =
            Csr::try_from_triplets(3, 4, &[0, 0, 1, 2, 2, 2], &[0, 3, 1, 0, 1, 2], &[1.0, 1.0, 1.0, 1.0, 1.0, 0.0]);
        assert_eq!(occupied_diagonals(&matrix.unwrap()).unwrap(), [-2, -1, 0, 3]);
        for (rows, columns) in [(0, 0), (0, 5), (5, 0), (5, 5)] {
            let empty = Csr::<f32>::try_from_triplets(rows, columns, &[], &[], &[]).unwrap();
            assert!(occupied_diagonals(&empty).unwrap().is_empty());
        }
    }

    /// Rows like the ones before, different rows of the same length, and others, at all distances from the end of a
    /// comparison of several rows.
    #[test]
    fn rows_that_are_compared_at_once_are_told_apart() {
        let all = [(31, 7), (32, 31), (33, 32), (100, 63), (5000, 4095)];
        for &(same, odd) in if cfg!(miri) { &all[..4] } else { &all } {
            let (mut rows, mut columns) = (Vec::new(), Vec::new());
            for row in 0..same {
                let distances = if row == odd { [0, 9, 11] } else { [0, 2, 3] };
                rows.extend([row as u32; 3]);
                columns.extend(distances.map(|distance| (row + distance) as u32));
            }
            // A row without a gap, and one of another length.
            rows.extend((0..200).map(|_| same as u32).chain([same as u32 + 1]));
            columns.extend((0..200).map(|column| same as u32 + 100 + column).chain([0]));
            let values = vec![1.0; columns.len()];
            let matrix = Csr::try_from_triplets(same + 2, same + 300, &rows, &columns, &values).unwrap();
            let expected: BTreeSet<i32> =
                rows.iter().zip(&columns).map(|(&row, &column)| column as i32 - row as i32).collect();
            assert!(occupied_diagonals(&matrix).unwrap().into_iter().eq(expected), "{same} rows");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "70,000 rows")]
    fn the_farthest_diagonals_are_found() {
        let wide = crate::format::LARGEST_DIMENSION;
        let matrix = Csr::try_from_triplets(1, wide, &[0, 0, 0], &[0, 1 << 15, wide as u32 - 1], &[1.0; 3]).unwrap();
        assert_eq!(occupied_diagonals(&matrix).unwrap(), [0, 1 << 15, wide as i32 - 1]);
        let tall = Csr::try_from_triplets(70_000, 1, &[0, 69_999, 1], &[0, 0, 0], &[1.0; 3]).unwrap();
        assert_eq!(occupied_diagonals(&tall).unwrap(), [-69_999, -1, 0]);
    }
}
