//! The pattern of a matrix on a coarse grid.

use host::{Csr, Scalar};

/// Cells along the longer side of a grid.
const MOST_CELLS: usize = 128;

/// The shorter side of a grid has at least this fraction of the cells of the longer one, so that it stays visible.
const FLATTEST: usize = 4;

/// Numbers of entries in the cells of a grid over a matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Spy {
    rows: usize,
    columns: usize,
    height: usize,
    width: usize,
    /// Row by row.
    counts: Vec<u64>,
}

impl Spy {
    /// Counts the entries of a matrix on a grid of at most 128 × 128 cells. O(nnz).
    pub fn new<T: Scalar>(matrix: &Csr<T>) -> Self {
        let (rows, columns) = (matrix.rows(), matrix.columns());
        let (height, width) = (cells(rows, columns), cells(columns, rows));
        let mut counts = vec![0; height * width];
        for row in 0..rows {
            let line = cell(row, rows, height) * width;
            for &column in &matrix.column_indices()[matrix.range(row)] {
                counts[line + cell(column as usize, columns, width)] += 1;
            }
        }
        Self { rows, columns, height, width, counts }
    }

    /// Number of rows of the matrix.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns of the matrix.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of rows of cells.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Number of columns of cells.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The first row of the matrix in a row of cells, or the number of rows for the one after the last.
    pub fn first_row(&self, line: usize) -> usize {
        first(line, self.rows, self.height)
    }

    /// The first column of the matrix in a column of cells, or the number of columns for the one after the last.
    pub fn first_column(&self, place: usize) -> usize {
        first(place, self.columns, self.width)
    }

    /// Entries of a cell as a fraction of its elements; above 1 only with duplicates.
    pub fn density(&self, line: usize, place: usize) -> f64 {
        let rows = self.first_row(line + 1) - self.first_row(line);
        let columns = self.first_column(place + 1) - self.first_column(place);
        self.counts[line * self.width + place] as f64 / (rows as f64 * columns as f64)
    }
}

/// Cells along a side of this length, beside one of length `other`.
fn cells(length: usize, other: usize) -> usize {
    let longest = length.max(other).max(1);
    let proportional = (MOST_CELLS as u128 * length as u128).div_ceil(longest as u128) as usize;
    proportional.max(MOST_CELLS / FLATTEST).min(length)
}

/// The cell of an index.
fn cell(index: usize, length: usize, cells: usize) -> usize {
    (index as u128 * cells as u128 / length as u128) as usize
}

/// The first index of a cell.
fn first(cell: usize, length: usize, cells: usize) -> usize {
    (cell as u128 * length as u128).div_ceil(cells.max(1) as u128) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_in_the_cell_of_its_row_and_column() {
        let (rows, columns) = (1000, 300);
        let [i, j]: [Vec<u32>; 2] = [(0..1000).collect(), (0..1000).map(|row| row * 7 % 300).collect()];
        let spy = Spy::new(&Csr::try_from_triplets(rows, columns, &i, &j, &[1.0; 1000]).unwrap());
        assert_eq!((spy.height(), spy.width()), (128, 39));
        assert_eq!(spy.counts.iter().sum::<u64>(), 1000);
        let mut expected = vec![0; 128 * 39];
        for (&row, &column) in i.iter().zip(&j) {
            let of = |index: u32, cells: usize, first: &dyn Fn(usize) -> usize| {
                (0..cells).rfind(|&cell| first(cell) <= index as usize).unwrap()
            };
            let line = of(row, 128, &|line| spy.first_row(line));
            expected[line * 39 + of(column, 39, &|place| spy.first_column(place))] += 1;
        }
        assert_eq!(spy.counts, expected);
        assert_eq!((spy.first_row(128), spy.first_column(39)), (rows, columns));
    }

    #[test]
    fn grids_of_flat_small_and_empty_matrices() {
        for (rows, columns, expected) in
            [(1, 1_000_000, (1, 128)), (100, 1_000_000, (32, 128)), (3, 5, (3, 5)), (0, 7, (0, 7)), (0, 0, (0, 0))]
        {
            let spy = Spy::new(&Csr::<f64>::try_from_triplets(rows, columns, &[], &[], &[]).unwrap());
            assert_eq!((spy.height(), spy.width()), expected, "{rows} x {columns}");
        }
        let full = Spy::new(&Csr::try_from_triplets(1, 2, &[0, 0], &[0, 1], &[1.0; 2]).unwrap());
        assert_eq!((full.density(0, 0), full.density(0, 1)), (1.0, 1.0));
    }
}
