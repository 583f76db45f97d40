//! Cells: the rows nearest to each of many seed rows. The more there are, the fewer steps it takes to find them, and the
//! more rows each step has for all threads.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use super::growth::HUB;
use crate::error::Error;
use crate::format::Csr;
use crate::memory::{collect, copy, filled, reserve};
use crate::parallel;
use crate::real::Scalar;
use crate::spmv::on_cpu::prefetch;

/// Largest number of pieces of the rows reached last, each for a thread.
const MOST_PIECES: usize = 64;

/// Least number of rows of a piece.
const LEAST_OF_A_PIECE: usize = if cfg!(miri) { 1 } else { 16 };

/// Steps that a thread goes before all share the rows out anew, which takes as long as thousands of visits. With more,
/// threads would go too far where others are nearer.
const STEPS_AT_ONCE: usize = 4;

/// Largest number of rows from which a thread goes another step before all share them out: where rows have many
/// neighbours, it would soon go through the whole matrix.
const MOST_TO_GO_ON: usize = 1 << 10;

/// The entries of one row in this many count as links between cells.
const LINKS_OF_ONE_IN: usize = 4;

/// Rows whose columns are being prefetched.
const ROWS_AHEAD: usize = 8;

/// Mark of a row or column that no seed has reached.
const NOBODY: u32 = u32::MAX;

/// Cells of the rows of a matrix, and how many entries link them.
pub(super) struct Cells {
    /// Cell of each row, or the number of cells where no seed has reached the row.
    of_rows: Vec<u16>,
    /// Entries of the rows of each cell, then of the rows that no seed has reached.
    entries: Vec<AtomicU64>,
    /// For each two cells, the entries of some rows of one whose column belongs to the other.
    links: Vec<AtomicU64>,
}

impl Cells {
    /// Creates `count` cells. Each row belongs to the nearest of some seed rows, counted in steps from a row through its
    /// columns to other rows; rows that no seed reaches are in no cell. Runs in parallel in O(nnz + count²).
    ///
    /// # Errors
    /// When memory runs out.
    pub fn new<T: Scalar>(matrix: &Csr<T>, transposed: Option<&Csr<T>>, count: u16) -> Result<Self, Error> {
        let Marks { rows, columns, .. } = Marks::new(matrix, transposed, count.into())?;
        let cells = |marks: &[AtomicU32]| {
            let mut cells = filled(marks.len(), count)?;
            parallel::fill(&mut cells, parallel::ROWS_AT_ONCE, &|place| match marks[place].load(Relaxed) {
                NOBODY => count,
                mark => (mark % u32::from(count)) as u16,
            });
            Ok::<_, Error>(cells)
        };
        let (of_rows, of_columns) = (cells(&rows)?, cells(&columns)?);
        let count = usize::from(count);
        let zeros = |length: usize| collect((0..length).map(|_| AtomicU64::new(0)));
        let cells = Self { of_rows, entries: zeros(count + 1)?, links: zeros(count * count)? };
        let of_columns = if transposed.is_some() { &of_columns } else { &cells.of_rows };
        let chunks = matrix.rows().div_ceil(parallel::ROWS_AT_ONCE);
        parallel::for_each(chunks, 1, &|chunk| {
            let mut first = chunk * parallel::ROWS_AT_ONCE;
            let end = matrix.rows().min(first + parallel::ROWS_AT_ONCE);
            // Added up as far as possible: where most rows are in one cell, threads would wait for each other at its sum.
            for rows in cells.of_rows[first..end].chunk_by(|left, right| left == right) {
                cells.link(first..first + rows.len(), of_columns, matrix);
                first += rows.len();
            }
        });
        Ok(cells)
    }

    /// Counts the entries of consecutive rows of a cell.
    fn link<T: Scalar>(&self, rows: Range<usize>, of_columns: &[u16], matrix: &Csr<T>) {
        let cell = usize::from(self.of_rows[rows.start]);
        let entries = (matrix.range(rows.end - 1).end - matrix.range(rows.start).start) as u64;
        self.entries[cell].fetch_add(entries, Relaxed);
        if cell < self.count() {
            for row in rows.filter(|row| row.is_multiple_of(LINKS_OF_ONE_IN)) {
                self.link_row(cell, &matrix.column_indices()[matrix.range(row)], of_columns);
            }
        }
    }

    /// Counts the entries of a row that link its cell to others.
    fn link_row(&self, cell: usize, columns: &[u32], of_columns: &[u16]) {
        if columns.len() >= HUB {
            return;
        }
        let count = self.count();
        for &column in columns {
            let other = usize::from(of_columns[column as usize]);
            if other != cell && other < count {
                self.links[cell * count + other].fetch_add(1, Relaxed);
                self.links[other * count + cell].fetch_add(1, Relaxed);
            }
        }
    }

    pub fn count(&self) -> usize {
        self.entries.len() - 1
    }

    /// Returns the cell of a row, or their number for a row that is in none.
    pub fn of_row(&self, row: usize) -> usize {
        self.of_rows[row].into()
    }

    /// Returns the entries of a cell or, for their number, of the rows that are in none.
    pub fn entries(&self, cell: usize) -> u64 {
        self.entries[cell].load(Relaxed)
    }

    /// Returns how many entries, of those that count, link a cell and each of the others; 0 for the cell itself.
    pub fn links(&self, cell: usize) -> impl Iterator<Item = i64> + '_ {
        let links = &self.links[cell * self.count()..(cell + 1) * self.count()];
        links.iter().map(|links| links.load(Relaxed) as i64)
    }
}

/// Marks of rows and columns: the number of steps from the nearest seed times the number of seeds, plus the number of
/// that seed, the first of several; or [`NOBODY`].
struct Marks<'a, T: Scalar> {
    matrix: &'a Csr<T>,
    /// Without it, a column is the row with its number, and has no mark of its own.
    transposed: Option<&'a Csr<T>>,
    rows: Vec<AtomicU32>,
    columns: Vec<AtomicU32>,
    seeds: u32,
}

impl<'a, T: Scalar> Marks<'a, T> {
    /// Spreads this number of seeds.
    fn new(matrix: &'a Csr<T>, transposed: Option<&'a Csr<T>>, seeds: u32) -> Result<Self, Error> {
        let nobody = |count: usize| collect((0..count).map(|_| AtomicU32::new(NOBODY)));
        let (rows, columns) = (nobody(matrix.rows())?, nobody(transposed.map_or(0, Csr::rows))?);
        let seed_row = |seed: u32| (u64::from(seed) * matrix.rows() as u64 / u64::from(seeds)) as u32;
        let mut frontier = collect((0..seeds as usize).map(|seed| seed_row(seed as u32)))?;
        frontier.iter().zip(0..).for_each(|(&row, seed)| rows[row as usize].store(seed, Relaxed));
        let marks = Self { matrix, transposed, rows, columns, seeds };
        while !frontier.is_empty() {
            let length = frontier.len().div_ceil(MOST_PIECES).max(LEAST_OF_A_PIECE);
            let pieces = frontier.len().div_ceil(length);
            if pieces == 1 {
                frontier = marks.spread(&frontier)?;
                continue;
            }
            let piece = |number: usize| &frontier[number * length..frontier.len().min((number + 1) * length)];
            let mut next = Vec::new();
            for reached in parallel::map(pieces, 1, &|number| marks.spread(piece(number)))? {
                let reached: Vec<u32> = reached?;
                reserve(&mut next, reached.len())?;
                next.extend_from_slice(&reached);
            }
            frontier = next;
        }
        Ok(marks)
    }

    /// Goes some steps from these rows, and returns the rows that the last one reached. Other threads may do the same: a
    /// row that a shorter way reaches later spreads again, so in the end no mark depends on their order.
    fn spread(&self, rows: &[u32]) -> Result<Vec<u32>, Error> {
        let Self { matrix, transposed, seeds, .. } = *self;
        let mut reached = copy(rows)?;
        for taken in 0..STEPS_AT_ONCE {
            if taken > 0 && reached.len() > MOST_TO_GO_ON {
                break;
            }
            reached = match transposed {
                None => step(matrix, &reached, &self.rows, &self.rows, seeds)?,
                Some(transposed) => {
                    let columns = step(matrix, &reached, &self.rows, &self.columns, seeds)?;
                    step(transposed, &columns, &self.columns, &self.rows, 0)?
                }
            };
        }
        Ok(reached)
    }
}

/// Goes from the rows of `lists` to their columns, whose marks are `more` greater at most, and returns those whose marks
/// became smaller.
fn step<T: Scalar>(
    lists: &Csr<T>,
    rows: &[u32],
    from: &[AtomicU32],
    to: &[AtomicU32],
    more: u32,
) -> Result<Vec<u32>, Error> {
    let columns = |row: u32| &lists.column_indices()[lists.range(row as usize)];
    let mut reached = Vec::new();
    for (place, &row) in rows.iter().enumerate() {
        if let Some(&ahead) = rows.get(place + ROWS_AHEAD) {
            columns(ahead).iter().step_by(16).for_each(|column| prefetch(column));
        }
        let mark = from[row as usize].load(Relaxed).saturating_add(more);
        // A mark of more steps has no number.
        if mark == NOBODY || columns(row).len() >= HUB {
            continue;
        }
        for &column in columns(row) {
            let other = &to[column as usize];
            if other.load(Relaxed) > mark && other.fetch_min(mark, Relaxed) > mark {
                reserve(&mut reached, 1)?;
                reached.push(column);
            }
        }
    }
    Ok(reached)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers below `count` that are at most `reach` from each of them.
    fn line(count: u32, reach: u32) -> Csr<f64> {
        let near =
            |row: u32| (row.saturating_sub(reach)..(row + reach + 1).min(count)).map(move |column| (row, column));
        let (rows, columns): (Vec<u32>, Vec<u32>) = (0..count).flat_map(near).unzip();
        Csr::try_from_triplets(count as usize, count as usize, &rows, &columns, &vec![1.0; rows.len()]).unwrap()
    }

    #[test]
    fn a_row_belongs_to_the_nearest_seed_and_of_two_to_the_first() {
        let count = if cfg!(miri) { 20 } else { 100 };
        let matrix = line(count as u32, 1);
        // Steps to the first seed and to the second.
        let steps = |row: usize| [row, row.abs_diff(count / 2)];
        let expected = |[first, second]: [usize; 2]| (2 * first).min(2 * second + 1) as u32;
        let check = |marks: &[AtomicU32], expected: &dyn Fn(usize) -> u32| {
            assert!((0..count).all(|row| marks[row].load(Relaxed) == expected(row)));
        };
        check(&Marks::new(&matrix, None, 2).unwrap().rows, &|row| expected(steps(row)));
        let transposed = matrix.transposed().unwrap();
        // Through a column, two rows further on.
        let through_columns = |row: usize| expected(steps(row).map(|steps| steps.div_ceil(2)));
        check(&Marks::new(&matrix, Some(&transposed), 2).unwrap().rows, &through_columns);
    }

    /// Marks that a search finds which goes from all rows until no mark becomes smaller.
    fn marks_one_by_one(matrix: &Csr<f64>, transposed: Option<&Csr<f64>>, seeds: u32) -> Vec<u32> {
        let mut rows = vec![NOBODY; matrix.rows()];
        (0..seeds).for_each(|seed| rows[seed as usize * matrix.rows() / seeds as usize] = seed);
        let lists = |lists: &Csr<f64>, from: &[u32], mut to: Vec<u32>, more: u32| {
            for (row, &mark) in from.iter().enumerate() {
                let columns = &lists.column_indices()[lists.range(row)];
                if columns.len() < HUB && mark != NOBODY {
                    columns.iter().for_each(|&column| to[column as usize] = to[column as usize].min(mark + more));
                }
            }
            to
        };
        loop {
            let next = match transposed {
                None => lists(matrix, &rows, rows.clone(), seeds),
                Some(transposed) => {
                    let columns = lists(matrix, &rows, vec![NOBODY; transposed.rows()], seeds);
                    lists(transposed, &columns, rows.clone(), 0)
                }
            };
            if next == rows {
                return rows;
            }
            rows = next;
        }
    }

    #[test]
    fn marks_are_those_of_a_search_by_one_thread() {
        let (rows, columns, seeds) = if cfg!(miri) { (90, 70, 40) } else { (9000, 7000, 400) };
        for reach in [1, 3] {
            let mixed = |number: usize| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            // Most neighbours are near in another order; one row is a hub.
            let (mut of_rows, mut of_columns) = (Vec::new(), Vec::new());
            for row in 0..rows {
                let hub = if row == rows / 3 { 2 * HUB } else { 0 };
                for entry in 0..hub + reach + mixed(row) % 3 {
                    of_rows.push(row as u32);
                    let far = if mixed(row + entry) % 50 == 0 { mixed(row) } else { 0 };
                    of_columns.push(((row * 7 + 7 * entry + far) % columns.min(rows)) as u32);
                }
            }
            for (columns, is_square) in [(rows, true), (columns, false)] {
                let matrix = Csr::try_from_triplets(rows, columns, &of_rows, &of_columns, &vec![1.0; of_rows.len()]);
                let matrix = matrix.unwrap();
                let transposed = (!is_square).then(|| matrix.transposed().unwrap());
                let marks = Marks::new(&matrix, transposed.as_ref(), seeds).unwrap();
                let expected = marks_one_by_one(&matrix, transposed.as_ref(), seeds);
                assert!(marks.rows.iter().map(|mark| mark.load(Relaxed)).eq(expected));
            }
        }
    }

    #[test]
    fn cells_of_a_matrix_that_is_not_square() {
        // Two rows for each column.
        let near = |row: u32| (row / 2).saturating_sub(2)..(row / 2 + 3).min(40);
        let (rows, columns): (Vec<u32>, Vec<u32>) =
            (0..80).flat_map(|row| near(row).map(move |column| (row, column))).unzip();
        let matrix = Csr::try_from_triplets(80, 40, &rows, &columns, &vec![1.0; rows.len()]).unwrap();
        let cells = Cells::new(&matrix, Some(&matrix.transposed().unwrap()), 4).unwrap();
        assert_eq!((0..4).map(|cell| cells.entries(cell)).sum::<u64>(), matrix.nnz() as u64);
        for cell in 0..4usize {
            let (entries, links) = (cells.entries(cell), cells.links(cell).sum::<i64>());
            assert!(entries > 50 && links > 0 && links < 40, "{cell}: {entries} entries, {links} links");
        }
    }

    #[test]
    fn links_are_between_neighbours() {
        let matrix = line(80, LINKS_OF_ONE_IN as u32);
        let transposed = matrix.transposed().unwrap();
        for cells in [Cells::new(&matrix, None, 4), Cells::new(&matrix, Some(&transposed), 4)] {
            let cells = cells.unwrap();
            assert_eq!((0..4).map(|cell| cells.entries(cell)).sum::<u64>(), matrix.nnz() as u64);
            for cell in 0..4usize {
                for (other, links) in cells.links(cell).enumerate() {
                    assert_eq!(links > 0, cell.abs_diff(other) == 1, "{cell} and {other}: {links}");
                }
            }
        }
    }
}
