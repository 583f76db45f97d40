//! Territories: regions of a matrix in which parts grow concurrently, one thread per territory. They depend only on the
//! matrix and the number of parts, so a matrix has the same parts on any number of threads.

use super::cells::Cells;
use crate::error::Error;
use crate::format::Csr;
use crate::memory::{collect, filled};
use crate::parallel;
use crate::real::Scalar;

/// Mean number of parts per territory: few enough for several territories, many enough for a whole number of parts to
/// have about its share of the entries.
const PARTS: usize = 16;

/// Largest number of territories: more threads would be of no use.
const MOST: usize = 16;

/// Cells per territory: enough for territories of about the same number of entries. With more, their borders are
/// longer, and parts have more columns.
const CELLS: usize = 12;

/// One in this many parts is held back: a territory whose rows have more columns than usual takes one part more than
/// its share, and a surplus part would begin on the device only when all others are done.
const SPARE_ONE_OF: usize = 64;

/// Mark of a cell that is in no territory.
const NOBODY: u8 = u8::MAX;

/// Assignment of rows to territories.
pub(super) struct Territories {
    /// Territory of each row; empty if there is only one.
    owners: Vec<u8>,
    /// Entries of each territory.
    entries: Vec<usize>,
    /// Target number of parts of each territory.
    parts: Vec<usize>,
}

impl Territories {
    /// Creates one territory with all rows.
    pub fn single() -> Self {
        Self { owners: Vec::new(), entries: Vec::new(), parts: Vec::new() }
    }

    /// Creates territories for this number of parts, each of [`Cells`] that are adjacent as far as possible; rows that are
    /// in no cell form a separate territory. Runs in parallel in O(nnz).
    ///
    /// # Errors
    /// When memory runs out.
    pub fn new<T: Scalar>(matrix: &Csr<T>, transposed: Option<&Csr<T>>, parts: usize) -> Result<Self, Error> {
        let parts = parts - parts / SPARE_ONE_OF;
        let territories = (parts / PARTS).min(MOST);
        let count = (territories * CELLS).min(matrix.rows());
        if territories < 2 || count < territories {
            return Ok(Self::single());
        }
        let cells = Cells::new(matrix, transposed, count as u16)?;
        let of_cells = grouped(&cells, territories)?;
        let mut entries = filled(territories + 1, 0)?;
        for (cell, &owner) in of_cells.iter().enumerate() {
            entries[usize::from(owner)] += cells.entries(cell) as usize;
        }
        let mut owners = filled(matrix.rows(), 0)?;
        parallel::fill(&mut owners, parallel::ROWS_AT_ONCE, &|row| of_cells[cells.of_row(row)]);
        if !owners.contains(&(territories as u8)) {
            entries.pop();
        }
        let parts = shares(&entries, parts)?;
        Ok(Self { owners, entries, parts })
    }

    pub fn count(&self) -> usize {
        self.parts.len().max(1)
    }

    /// Returns the entries of a territory and its target number of parts, unless it is the only one.
    pub fn share(&self, territory: usize) -> Option<(usize, usize)> {
        self.entries.get(territory).copied().zip(self.parts.get(territory).copied())
    }

    /// Returns whether a row belongs to a territory.
    pub fn has(&self, territory: usize, row: usize) -> bool {
        self.owners.get(row).is_none_or(|&owner| usize::from(owner) == territory)
    }
}

/// Returns the territory of each cell, and one more for rows that are in no cell. Each territory in turn grows until it has its share of the remaining entries: by
/// a neighbouring cell, if there is one, and of several by that which leaves the fewest links to cells that are free.
/// O(cells²).
fn grouped(cells: &Cells, territories: usize) -> Result<Vec<u8>, Error> {
    let count = cells.count();
    let mut owners = filled(count + 1, NOBODY)?;
    owners[count] = territories as u8;
    let mut left: u64 = (0..count).map(|cell| cells.entries(cell)).sum();
    // Links of each cell to cells of no territory.
    let mut outside = collect((0..count).map(|cell| cells.links(cell).sum::<i64>()))?;
    for territory in 0..territories {
        let share = left / (territories - territory) as u64;
        let is_last = territory + 1 == territories;
        let mut inside = filled(count, 0)?;
        let mut entries = 0;
        loop {
            let free = (0..count).filter(|&cell| owners[cell] == NOBODY);
            let Some(cell) = free.min_by_key(|&cell| (inside[cell] == 0, outside[cell] - inside[cell])) else {
                break;
            };
            let of_cell = cells.entries(cell);
            if !is_last && entries > 0 && 2 * entries + of_cell > 2 * share {
                break;
            }
            owners[cell] = territory as u8;
            (entries, left) = (entries + of_cell, left - of_cell);
            for (other, links) in cells.links(cell).enumerate() {
                (inside[other], outside[other]) = (inside[other] + links, outside[other] - links);
            }
        }
    }
    Ok(owners)
}

/// Distributes `parts`, at least one each, so as to minimize the entries of the largest part.
fn shares(entries: &[usize], parts: usize) -> Result<Vec<usize>, Error> {
    let mut shares = filled(entries.len(), 1)?;
    for _ in entries.len()..parts {
        let of_part = |place: usize| entries[place] as f64 / shares[place] as f64;
        let largest = (0..entries.len()).max_by(|&left, &right| of_part(left).total_cmp(&of_part(right)));
        shares[largest.expect("there are territories")] += 1;
    }
    Ok(shares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_make_the_largest_part_small() {
        assert_eq!(shares(&[10, 20, 30], 6).unwrap(), [1, 2, 3]);
        // Not 1 and 5: one part of 15 would be longer than any of 48.
        assert_eq!(shares(&[15, 48], 6).unwrap(), [2, 4]);
        assert_eq!(shares(&[1, 1000, 0], 10).unwrap(), [1, 8, 1]);
        assert_eq!(shares(&[0, 0], 1).unwrap(), [1, 1]);
    }

    #[test]
    fn what_no_seed_reaches_is_a_territory_of_its_own() {
        let count = 600;
        let rows: Vec<u32> = (0..count as u32).collect();
        let matrix = Csr::try_from_triplets(count, count, &rows, &rows, &vec![1.0; count]).unwrap();
        let territories = Territories::new(&matrix, None, 2 * PARTS).unwrap();
        assert_eq!((territories.count(), territories.share(2)), (3, Some((count - 2 * CELLS, 2 * PARTS - 2))));
        assert!(territories.has(0, 0) && territories.has(1, count / 2) && territories.has(2, count / 2 + 1));
    }
}
