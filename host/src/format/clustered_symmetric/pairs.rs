//! Entries of a part in columns of other rows of the part: which of them are pairs, and which row stores each pair.

use super::pieces::Pieces;
use crate::error::Error;
use crate::format::Csr;
use crate::memory::{clear_for, refill, same_bits, zeros};
use crate::real::Scalar;

/// Mark of a column that belongs to no row of the part.
pub(super) const NONE: u16 = u16::MAX;

/// Columns of entries, by their numbers in the list of the part.
#[derive(Default)]
pub(super) struct Numbers {
    /// Number of entries of all rows before each row, then of all rows.
    pub begins: Vec<usize>,
    pub numbers: Vec<u16>,
}

impl Numbers {
    /// Returns the numbers of a row.
    pub fn of(&self, row: usize) -> &[u16] {
        &self.numbers[self.begins[row]..self.begins[row + 1]]
    }
}

/// Entries of the part's rows in columns of other rows of the part.
#[derive(Default)]
pub(super) struct Inside {
    /// Number of these of all rows before each row, then of all rows.
    begins: Vec<usize>,
    /// Row whose column it is.
    pub others: Vec<u16>,
    /// Its index in its row of the matrix.
    pub in_rows: Vec<u16>,
    /// Column, by its number in the list of the part.
    pub columns: Vec<u16>,
    /// Index of the entry that mirrors it: another of these, or itself if there is none.
    pub images: Vec<u32>,
    /// Whether it is stored, for itself or for the pair.
    pub kept: Vec<bool>,
    /// For each row, the first of its entries that may mirror one of the rows to come.
    next: Vec<usize>,
}

impl Inside {
    /// Whether an entry has an image.
    pub fn has_image(&self, place: usize) -> bool {
        self.images[place] as usize != place
    }

    /// Finds the entries of rows in columns of other rows, and their images.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn find<T: Scalar>(
        &mut self,
        matrix: &Csr<T>,
        part_rows: &[u32],
        of_part: &Numbers,
        rows_of_columns: &[u16],
    ) -> Result<(), Error> {
        let Self { begins, others, in_rows, columns, images, kept, next } = self;
        let nnz = of_part.numbers.len();
        clear_for(begins, part_rows.len() + 1)?;
        for list in [&mut *others, in_rows, columns] {
            clear_for(list, nnz)?;
        }
        begins.push(0);
        for row in 0..part_rows.len() as u16 {
            for (in_row, &column) in (0..).zip(of_part.of(row.into())) {
                let other = rows_of_columns[column as usize];
                if other != NONE && other != row {
                    others.push(other);
                    in_rows.push(in_row);
                    columns.push(column);
                }
            }
            begins.push(others.len());
        }
        let count = others.len();
        clear_for(images, count)?;
        images.extend(0..count as u32);
        refill(kept, count, true)?;
        // Rows and columns ascend, so the entries of each column come in the order of the row of that number.
        clear_for(next, begins.len())?;
        next.extend_from_slice(begins);
        let begin_of = |row: usize| matrix.range(part_rows[row] as usize).start;
        for row in 0..part_rows.len() {
            let begin = begin_of(row);
            for place in begins[row]..begins[row + 1] {
                let other = usize::from(others[place]);
                let end = begins[other + 1];
                let next = &mut next[other];
                while *next < end && usize::from(others[*next]) < row {
                    *next += 1;
                }
                let value = |begin: usize, place: usize| matrix.values()[begin + usize::from(in_rows[place])];
                if *next < end
                    && usize::from(others[*next]) == row
                    && same_bits(&[value(begin, place)], &[value(begin_of(other), *next)])
                {
                    images[place] = *next as u32;
                }
            }
        }
        Ok(())
    }

    /// Gives each piece of a row half of its pairs, as nearly as a greedy pass can, and returns how many entries each
    /// piece then has. So a sum gets no more from other rows than its own piece has entries, and no step has to wait
    /// long for it.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn orient<T: Scalar>(&mut self, matrix: &Csr<T>, pieces: &Pieces) -> Result<Vec<usize>, Error> {
        let (mut lengths, mut wanted) = (zeros::<usize>(pieces.count())?, zeros::<isize>(pieces.count())?);
        for (piece, length) in lengths.iter_mut().enumerate() {
            let (row, first) = pieces.row_of(piece);
            let count = pieces.count_of(row);
            *length = (matrix.range(pieces.rows[row] as usize).len() + count - 1 - first) / count;
        }
        for row in 0..pieces.rows.len() {
            for place in (self.begins[row]..self.begins[row + 1]).filter(|&place| self.has_image(place)) {
                let piece = pieces.of_entry(row, self.in_rows[place]);
                lengths[piece] -= 1;
                // Twice the number wanted, to stay an integer.
                wanted[piece] += 1;
            }
        }
        for piece in 0..pieces.count() {
            let (row, first) = pieces.row_of(piece);
            let count = pieces.count_of(row);
            for place in self.begins[row]..self.begins[row + 1] {
                let other = usize::from(self.others[place]);
                if row < other && usize::from(self.in_rows[place]) % count == first && self.has_image(place) {
                    let image = self.images[place] as usize;
                    let other = pieces.of_entry(other, self.in_rows[image]);
                    let is_mine = wanted[piece] >= wanted[other];
                    let owner = if is_mine { piece } else { other };
                    lengths[owner] += 1;
                    wanted[owner] -= 2;
                    self.kept[if is_mine { image } else { place }] = false;
                }
            }
        }
        Ok(lengths)
    }
}
