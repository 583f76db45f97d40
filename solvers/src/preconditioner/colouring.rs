//! Colours of the rows of a matrix: no row has an entry in the column of another row of the same colour.

use host::error::Error;
use host::format::Csr;
use host::memory::{collect, copy, filled, reserve, zeros};
use host::real::Scalar;

use crate::levels::by_class;

/// The entries that a factorisation reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// All.
    All,
    /// Those on and below the diagonal of a Hermitian matrix.
    Lower,
}

impl Read {
    /// Returns whether an entry is read.
    pub(super) fn contains(self, row: usize, column: u32) -> bool {
        self == Self::All || column as usize <= row
    }
}

/// The rows ordered by colour.
#[derive(Debug, PartialEq)]
pub(super) struct Colouring {
    /// The row at each position; rows of a colour keep the order of the matrix.
    pub(super) order: Vec<u32>,
    /// The position of each row.
    pub(super) places: Vec<u32>,
    /// The offset of each colour in the order.
    pub(super) colours: Vec<u32>,
}

impl Colouring {
    /// Colours the rows of a square matrix greedily in two orders, and keeps the result with fewer colours. The order of
    /// the rows takes the fewest colours on grids that are numbered along their lines, the smallest-last order on meshes in
    /// any numbering. On one thread, O(rows + nnz), and temporarily 4 bytes per entry and about 40 per row.
    ///
    /// # Errors
    /// When memory runs out.
    pub(super) fn new<T: Scalar>(matrix: &Csr<T>, read: Read) -> Result<Self, Error> {
        let graph = Graph::new(matrix, read)?;
        let (mut colour_of_row, mut count) = graph.greedy(0..matrix.rows() as u32)?;
        // With any edges, at least 2 colours are needed.
        if count > 2 {
            let other = graph.greedy(graph.smallest_last()?.into_iter())?;
            if other.1 < count {
                (colour_of_row, count) = other;
            }
        }
        let (colours, order) = by_class(&colour_of_row, count)?;
        let mut places = colour_of_row;
        (0..).zip(&order).for_each(|(place, &row)| places[row as usize] = place);
        Ok(Self { order, places, colours })
    }
}

/// Marks an absent colour, row or degree.
const NONE: u32 = u32::MAX;

/// The graph of A + Aᵀ: one edge per off-diagonal entry that is read.
struct Graph<'a, T: Scalar> {
    matrix: &'a Csr<T>,
    read: Read,
    /// The offset of each column's entries.
    column_offsets: Vec<usize>,
    /// Their rows.
    rows: Vec<u32>,
}

impl<'a, T: Scalar> Graph<'a, T> {
    fn new(matrix: &'a Csr<T>, read: Read) -> Result<Self, Error> {
        let mut graph = Self { matrix, read, column_offsets: zeros(matrix.rows() + 1)?, rows: vec![] };
        let mut offsets = std::mem::take(&mut graph.column_offsets);
        for row in 0..matrix.rows() {
            graph.of_row(row).for_each(|column| offsets[column as usize + 1] += 1);
        }
        (0..matrix.rows()).for_each(|column| offsets[column + 1] += offsets[column]);
        let (mut next, mut rows) = (copy(&offsets)?, zeros(offsets[matrix.rows()])?);
        for row in 0..matrix.rows() {
            for column in graph.of_row(row) {
                let next = &mut next[column as usize];
                rows[*next] = row as u32;
                *next += 1;
            }
        }
        Ok(Self { column_offsets: offsets, rows, ..graph })
    }

    /// Returns the columns of a row's entries.
    fn of_row(&self, row: usize) -> impl Iterator<Item = u32> {
        let columns = &self.matrix.column_indices()[self.matrix.range(row)];
        columns.iter().copied().filter(move |&column| column as usize != row && self.read.contains(row, column))
    }

    /// Returns the neighbours of a row, once per shared entry.
    fn neighbours(&self, row: u32) -> impl Iterator<Item = u32> {
        let row = row as usize;
        let of_column = &self.rows[self.column_offsets[row]..self.column_offsets[row + 1]];
        self.of_row(row).chain(of_column.iter().copied())
    }

    /// Gives each row in turn the first colour that none of its neighbours has. Returns the colours and their number, which
    /// exceeds the largest number of neighbours of a row by at most one.
    fn greedy(&self, order: impl Iterator<Item = u32>) -> Result<(Vec<u32>, usize), Error> {
        let mut colours = filled(self.matrix.rows(), NONE)?;
        // The last row that has seen each colour.
        let mut seen_by: Vec<u32> = vec![];
        for row in order {
            for neighbour in self.neighbours(row) {
                if let Some(seen_by) = seen_by.get_mut(colours[neighbour as usize] as usize) {
                    *seen_by = row;
                }
            }
            let free = seen_by.iter().position(|&by| by != row).unwrap_or(seen_by.len());
            if free == seen_by.len() {
                reserve(&mut seen_by, 1)?;
                seen_by.push(NONE);
            }
            colours[row as usize] = free as u32;
        }
        Ok((colours, seen_by.len()))
    }

    /// Returns the smallest-last order (Matula & Beck 1983): of the rows up to its position, each row has the fewest
    /// neighbours among them.
    fn smallest_last(&self) -> Result<Vec<u32>, Error> {
        let rows = self.matrix.rows();
        let mut degrees = collect((0..rows as u32).map(|row| self.neighbours(row).count()))?;
        let mut left = ByDegree::new(rows, degrees.iter().max().copied().unwrap_or(0))?;
        (0..rows as u32).rev().for_each(|row| left.insert(row, degrees[row as usize]));
        let (mut order, mut least, taken) = (zeros(rows)?, 0, usize::MAX);
        for place in (0..rows).rev() {
            while left.first[least] == NONE {
                least += 1;
            }
            let row = left.first[least];
            left.remove(row, least);
            (order[place], degrees[row as usize]) = (row, taken);
            for neighbour in self.neighbours(row) {
                let degree = &mut degrees[neighbour as usize];
                if *degree != taken {
                    left.remove(neighbour, *degree);
                    *degree -= 1;
                    left.insert(neighbour, *degree);
                    least = least.min(*degree);
                }
            }
        }
        Ok(order)
    }
}

/// Rows in one list per degree.
struct ByDegree {
    first: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
}

impl ByDegree {
    fn new(rows: usize, largest: usize) -> Result<Self, Error> {
        Ok(Self { first: filled(largest + 1, NONE)?, next: filled(rows, NONE)?, previous: filled(rows, NONE)? })
    }

    /// Inserts a row at the front of the list of a degree.
    fn insert(&mut self, row: u32, degree: usize) {
        let next = std::mem::replace(&mut self.first[degree], row);
        (self.previous[row as usize], self.next[row as usize]) = (NONE, next);
        if let Some(previous) = self.previous.get_mut(next as usize) {
            *previous = row;
        }
    }

    fn remove(&mut self, row: u32, degree: usize) {
        let (previous, next) = (self.previous[row as usize], self.next[row as usize]);
        match self.next.get_mut(previous as usize) {
            Some(next_of_previous) => *next_of_previous = next,
            None => self.first[degree] = next,
        }
        if let Some(previous_of_next) = self.previous.get_mut(next as usize) {
            *previous_of_next = previous;
        }
    }
}

/// Returns the row at each position in the order of colours, in which the coloured preconditioners factorise. For tests.
///
/// # Errors
/// When memory runs out.
#[doc(hidden)]
pub fn order_of_colours<T: Scalar>(matrix: &Csr<T>, read: Read) -> Result<Vec<u32>, Error> {
    Ok(Colouring::new(matrix, read)?.order)
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    use super::*;

    fn matrix(rows: usize, entries: &[(u32, u32)]) -> Csr<f64> {
        let (row_indices, columns): (Vec<u32>, Vec<u32>) = entries.iter().copied().unzip();
        Csr::try_from_triplets(rows, rows, &row_indices, &columns, &vec![1.0; entries.len()]).unwrap()
    }

    /// The entries of a matrix with randomly permuted rows and columns.
    fn shuffled(rows: usize, entries: &[(u32, u32)]) -> Vec<(u32, u32)> {
        let mut random = ChaCha8Rng::seed_from_u64(rows as u64);
        let mut numbers: Vec<u32> = (0..rows as u32).collect();
        (1..rows).for_each(|row| numbers.swap(row, random.next_u64() as usize % (row + 1)));
        entries.iter().map(|&(row, column)| (numbers[row as usize], numbers[column as usize])).collect()
    }

    /// Neighbours on a grid with these sides, along its lines or diagonally as well.
    fn grid(sides: [i64; 3], across: bool) -> (usize, Vec<(u32, u32)>) {
        let number = |[x, y, z]: [i64; 3]| (x + sides[0] * (y + sides[1] * z)) as u32;
        let all = |sides: [i64; 3]| {
            (0..sides[0]).flat_map(move |x| (0..sides[1]).flat_map(move |y| (0..sides[2]).map(move |z| [x, y, z])))
        };
        let mut entries = vec![];
        for point in all(sides) {
            for step in all([3; 3]).map(|step| step.map(|step| step - 1)) {
                let neighbour = [0, 1, 2].map(|axis| point[axis] + step[axis]);
                let inside = (0..3).all(|axis| (0..sides[axis]).contains(&neighbour[axis]));
                if inside && (across || step.iter().map(|step| step.abs()).sum::<i64>() <= 1) {
                    entries.push((number(point), number(neighbour)));
                }
            }
        }
        (sides.iter().product::<i64>() as usize, entries)
    }

    fn check(matrix: &Csr<f64>, read: Read) -> Colouring {
        let colouring = Colouring::new(matrix, read).unwrap();
        let Colouring { order, places, colours } = &colouring;
        let colour_of = |row: u32| colours.partition_point(|&begin| begin <= places[row as usize]);
        let (mut degrees, mut rows) = (vec![0; matrix.rows()], order.clone());
        for row in 0..matrix.rows() {
            for (column, _) in matrix.row(row).filter(|&(column, _)| read.contains(row, column)) {
                assert!(column as usize == row || colour_of(row as u32) != colour_of(column), "{row}, {column}");
                degrees[row] += 1;
                degrees[column as usize] += 1;
            }
        }
        assert!(colours.windows(2).all(|ends| order[ends[0] as usize..ends[1] as usize].is_sorted_by(|a, b| a < b)));
        assert!(order.iter().enumerate().all(|(place, &row)| places[row as usize] as usize == place));
        rows.sort_unstable();
        assert!(rows.iter().enumerate().all(|(place, &row)| place == row as usize));
        assert!(colours.len() - 1 <= degrees.iter().max().map_or(0, |degree| degree + 1));
        colouring
    }

    #[test]
    fn rows_of_a_colour_have_no_entries_in_each_others_columns() {
        let mut random = ChaCha8Rng::seed_from_u64(5);
        let sizes = [(0, 0), (1, 1), (2, 1), (30, 20), (50, 400), (20, 2000), (300, 1500)];
        for (rows, count) in sizes.into_iter().filter(|&(_, count)| !cfg!(miri) || count < 100) {
            let mut number = || (random.next_u64() % rows as u64) as u32;
            // Unsymmetric.
            let entries: Vec<_> = (0..count).map(|_| (number(), number())).collect();
            let matrix = matrix(rows, &entries);
            check(&matrix, Read::All);
            let lower = check(&matrix, Read::Lower);
            let below: Vec<_> = entries.iter().copied().filter(|(row, column)| column < row).collect();
            let mirrored: Vec<_> = below.iter().flat_map(|&(row, column)| [(row, column), (column, row)]).collect();
            assert_eq!(lower, check(&self::matrix(rows, &mirrored), Read::All), "the triangle has another graph");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "safe code, and thousands of rows")]
    fn grids_take_few_colours() {
        for (sides, across, along_lines, in_any_order) in [
            ([40, 1, 1], false, 2, 2),
            ([30, 20, 1], false, 2, 2),
            ([12, 11, 10], false, 2, 2),
            ([30, 20, 1], true, 4, 5),
            ([12, 11, 10], true, 8, 12),
        ] {
            let (rows, entries) = grid(sides, across);
            let count = |entries: &[(u32, u32)]| check(&matrix(rows, entries), Read::All).colours.len() - 1;
            assert_eq!(count(&entries), along_lines, "{sides:?}");
            assert!(count(&shuffled(rows, &entries)) <= in_any_order, "{sides:?}");
        }
    }
}
