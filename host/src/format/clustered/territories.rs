//! Territories: regions of a matrix in which parts grow concurrently, one thread per territory. They depend only on the
//! matrix and the number of parts, so a matrix has the same parts on any number of threads.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::growth::HUB;
use crate::error::Error;
use crate::format::Csr;
use crate::memory::{collect, filled, reserve, with_capacity};
use crate::parallel;
use crate::real::Scalar;
use crate::spmv::on_cpu::prefetch;

/// Mean number of parts per territory: few enough for several territories, many enough for a whole number of parts to
/// have about its share of the entries.
const PARTS: usize = 16;

/// Largest number of territories: more threads would be of no use.
const MOST: usize = 16;

/// One in this many parts is held back: a territory whose rows have more columns than usual takes one part more than
/// its share, and a surplus part would begin on the device only when all others are done.
const SPARE_ONE_OF: usize = 64;

/// Least number of rows for sharing out the visits to their neighbours: with fewer, that costs more time than it saves.
const ROWS_ALONE: usize = if cfg!(miri) { 8 } else { 1 << 11 };

/// Rows per task when visiting neighbours.
const ROWS_AT_ONCE: usize = ROWS_ALONE / 4;

/// Rows whose columns are being prefetched.
const ROWS_AHEAD: usize = 8;

/// Mark of a row or column that no territory has reached.
const NOBODY: u32 = u32::MAX;

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

    /// Creates territories for this number of parts. Each row belongs to the nearest of some seed rows, counted in
    /// steps from a row through its columns to other rows; rows that no seed reaches form a separate territory. Runs in
    /// parallel in O(nnz).
    ///
    /// # Errors
    /// When memory runs out.
    pub fn new<T: Scalar>(matrix: &Csr<T>, transposed: Option<&Csr<T>>, parts: usize) -> Result<Self, Error> {
        let parts = parts - parts / SPARE_ONE_OF;
        let seeds = (parts / PARTS).min(MOST).min(matrix.rows());
        if seeds < 2 {
            return Ok(Self::single());
        }
        let nearest = nearest_seeds(matrix, transposed, seeds)?;
        let owner = |row: usize| match nearest[row].load(Relaxed) {
            NOBODY => seeds as u8,
            mark => (mark % seeds as u32) as u8,
        };
        let mut owners = filled(matrix.rows(), 0)?;
        parallel::fill(&mut owners, parallel::ROWS_AT_ONCE, &owner);
        let used = if owners.contains(&(seeds as u8)) { seeds + 1 } else { seeds };
        let mut entries = filled(used, 0)?;
        for (row, &owner) in owners.iter().enumerate() {
            entries[usize::from(owner)] += matrix.range(row).len();
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

/// Returns, for each row, the number of steps from the nearest seed times `seeds`, plus the number of that seed, the
/// first of several; or [`NOBODY`].
fn nearest_seeds<T: Scalar>(
    matrix: &Csr<T>,
    transposed: Option<&Csr<T>>,
    seeds: usize,
) -> Result<Vec<AtomicU32>, Error> {
    let nobody = |count: usize| collect((0..count).map(|_| AtomicU32::new(NOBODY)));
    let rows = nobody(matrix.rows())?;
    let columns = if transposed.is_some() { nobody(matrix.columns())? } else { Vec::new() };
    let mut frontier = with_capacity(seeds)?;
    for seed in 0..seeds {
        let row = (seed as u64 * matrix.rows() as u64 / seeds as u64) as u32;
        rows[row as usize].store(seed as u32, Relaxed);
        frontier.push(row);
    }
    let seeds = seeds as u32;
    let mut step = 1;
    while !frontier.is_empty() && step < NOBODY / seeds - 1 {
        frontier = match transposed {
            None => spread(matrix, &frontier, &rows, &rows, [step, seeds])?,
            Some(transposed) => {
                let reached = spread(matrix, &frontier, &rows, &columns, [step, seeds])?;
                spread(transposed, &reached, &columns, &rows, [step, seeds])?
            }
        };
        step += 1;
    }
    Ok(rows)
}

/// Goes a step from the rows of `lists` that were reached last to their columns, and returns those not reached before,
/// in any order. The owner of a column does not depend on that order: within a step the first seed wins.
fn spread<T: Scalar>(
    lists: &Csr<T>,
    frontier: &[u32],
    from: &[AtomicU32],
    to: &[AtomicU32],
    [step, seeds]: [u32; 2],
) -> Result<Vec<u32>, Error> {
    let columns = |row: u32| &lists.column_indices()[lists.range(row as usize)];
    let visit = |rows: &[u32]| {
        let mut reached = Vec::new();
        for (place, &row) in rows.iter().enumerate() {
            if let Some(&ahead) = rows.get(place + ROWS_AHEAD) {
                columns(ahead).iter().step_by(16).for_each(|column| prefetch(column));
            }
            if columns(row).len() >= HUB {
                continue;
            }
            let mark = step * seeds + from[row as usize].load(Relaxed) % seeds;
            for &column in columns(row) {
                let other = &to[column as usize];
                if other.load(Relaxed) > mark && other.fetch_min(mark, Relaxed) == NOBODY {
                    reserve(&mut reached, 1)?;
                    reached.push(column);
                }
            }
        }
        Ok(reached)
    };
    if frontier.len() <= ROWS_ALONE {
        return visit(frontier);
    }
    let pieces = frontier.len().div_ceil(ROWS_AT_ONCE);
    let rows_of = |piece: usize| &frontier[piece * ROWS_AT_ONCE..frontier.len().min((piece + 1) * ROWS_AT_ONCE)];
    let mut all = Vec::new();
    for reached in parallel::map(pieces, 1, &|piece| visit(rows_of(piece)))? {
        let reached: Vec<u32> = reached?;
        reserve(&mut all, reached.len())?;
        all.extend_from_slice(&reached);
    }
    Ok(all)
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

    /// Neighbours of each number below `count` on a line.
    fn line(count: usize) -> Csr<f64> {
        let rows: Vec<u32> = (0..count as u32).flat_map(|row| [row; 3]).collect();
        let columns: Vec<u32> =
            (0..count as u32).flat_map(|row| [row.saturating_sub(1), row, (row + 1).min(count as u32 - 1)]).collect();
        Csr::try_from_triplets(count, count, &rows, &columns, &vec![1.0; rows.len()]).unwrap()
    }

    #[test]
    fn a_row_belongs_to_the_nearest_seed_and_of_two_to_the_first() {
        let count = if cfg!(miri) { 20 } else { 100 };
        let matrix = line(count);
        // Steps to the first seed and to the second.
        let steps = |row: usize| [row, row.abs_diff(count / 2)];
        let expected = |[first, second]: [usize; 2]| (2 * first).min(2 * second + 1) as u32;
        let check = |marks: &[AtomicU32], expected: &dyn Fn(usize) -> u32| {
            assert!((0..count).all(|row| marks[row].load(Relaxed) == expected(row)));
        };
        check(&nearest_seeds(&matrix, None, 2).unwrap(), &|row| expected(steps(row)));
        let transposed = matrix.transposed().unwrap();
        // Through a column, two rows further on.
        let through_columns = |row: usize| expected(steps(row).map(|steps| steps.div_ceil(2)));
        check(&nearest_seeds(&matrix, Some(&transposed), 2).unwrap(), &through_columns);
    }

    #[test]
    fn what_no_seed_reaches_is_a_territory_of_its_own() {
        let count = if cfg!(miri) { 60 } else { 600 };
        let rows: Vec<u32> = (0..count as u32).collect();
        let matrix = Csr::try_from_triplets(count, count, &rows, &rows, &vec![1.0; count]).unwrap();
        let territories = Territories::new(&matrix, None, 2 * PARTS).unwrap();
        assert_eq!((territories.count(), territories.share(2)), (3, Some((count - 2, 2 * PARTS - 2))));
        assert!(territories.has(0, 0) && territories.has(1, count / 2) && territories.has(2, count / 2 + 1));
    }
}
