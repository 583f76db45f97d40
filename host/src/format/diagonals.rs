//! Which diagonals of a matrix hold entries.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::Csr;
use crate::real::Real;

/// Words of a page: one page tells of 2^15 diagonals.
const PAGE_WORDS: usize = 512;
const PAGE_BITS: usize = 64 * PAGE_WORDS;

/// Rows that a thread looks at at a time.
const ROWS_AT_ONCE: usize = 4096;

/// A bit for each diagonal, in pages that are only there once they have a bit set: a wide matrix of few entries
/// takes little memory.
struct Diagonals(Vec<OnceLock<Box<[AtomicU64; PAGE_WORDS]>>>);

impl Diagonals {
    /// Room for so many diagonals.
    fn new(count: usize) -> Self {
        Self((0..count.div_ceil(PAGE_BITS)).map(|_| OnceLock::new()).collect())
    }

    fn insert(&self, diagonal: usize) {
        let page = self.0[diagonal / PAGE_BITS].get_or_init(|| Box::new([const { AtomicU64::new(0) }; PAGE_WORDS]));
        let word = &page[diagonal % PAGE_BITS / 64];
        let bit = 1 << (diagonal % 64);
        // Most diagonals are known already, and reading disturbs no other thread.
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    fn contains(&self, diagonal: usize) -> bool {
        self.0[diagonal / PAGE_BITS]
            .get()
            .is_some_and(|page| page[diagonal % PAGE_BITS / 64].load(Ordering::Relaxed) >> (diagonal % 64) & 1 == 1)
    }

    /// The diagonals, in order.
    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let pages = self.0.iter().enumerate().filter(|(_, page)| page.get().is_some());
        pages.flat_map(|(page, _)| page * PAGE_BITS..(page + 1) * PAGE_BITS).filter(|&diagonal| self.contains(diagonal))
    }
}

/// Column minus row of each diagonal that holds an entry, in order. In parallel, O(nnz + rows + columns).
pub(crate) fn occupied_diagonals<T: Real>(matrix: &Csr<T>) -> Vec<i32> {
    // The diagonal through the last row's first column comes first.
    let last_row = matrix.rows().saturating_sub(1);
    let diagonals = Diagonals::new(last_row + matrix.columns());
    let row = |row: usize| &matrix.column_indices()[matrix.range(row)];
    (0..matrix.rows()).into_par_iter().step_by(ROWS_AT_ONCE).for_each(|first| {
        let mut before: &[u32] = &[];
        for number in first..matrix.rows().min(first + ROWS_AT_ONCE) {
            let columns = row(number);
            // In a grid or a band most rows have the diagonals of the one before.
            if !moved_by_one(before, columns) {
                columns.iter().for_each(|&column| diagonals.insert(column as usize + last_row - number));
            }
            before = columns;
        }
    });
    diagonals.iter().map(|diagonal| (diagonal as i64 - last_row as i64) as i32).collect()
}

/// Whether these are the columns of the row before, each moved by one.
fn moved_by_one(before: &[u32], columns: &[u32]) -> bool {
    before.len() == columns.len()
        && before.iter().zip(columns).all(|(before, column)| column > before && column - before == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_occupied_diagonal_comes_once_and_in_order() {
        let matrix =
            Csr::try_from_triplets(3, 4, &[0, 0, 1, 2, 2, 2], &[0, 3, 1, 0, 1, 2], &[1.0, 1.0, 1.0, 1.0, 1.0, 0.0]);
        assert_eq!(occupied_diagonals(&matrix.unwrap()), [-2, -1, 0, 3]);
        for (rows, columns) in [(0, 0), (0, 5), (5, 0), (5, 5)] {
            let empty = Csr::<f32>::try_from_triplets(rows, columns, &[], &[], &[]).unwrap();
            assert!(occupied_diagonals(&empty).is_empty());
        }
    }

    #[test]
    fn the_farthest_diagonals_are_found() {
        let wide = crate::format::LARGEST_DIMENSION;
        let matrix = Csr::try_from_triplets(1, wide, &[0, 0, 0], &[0, 1 << 15, wide as u32 - 1], &[1.0; 3]).unwrap();
        assert_eq!(occupied_diagonals(&matrix), [0, 1 << 15, wide as i32 - 1]);
        let tall = Csr::try_from_triplets(70_000, 1, &[0, 69_999, 1], &[0, 0, 0], &[1.0; 3]).unwrap();
        assert_eq!(occupied_diagonals(&tall), [-69_999, -1, 0]);
    }
}
