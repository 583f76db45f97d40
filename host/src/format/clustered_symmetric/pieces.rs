//! Pieces of the rows of a part: a long row has several positions, each for some of its entries.

use crate::error::Error;
use crate::memory::with_capacity;

/// The rows of a part and their pieces. Entry i of a row with n pieces, a power of two, belongs to piece i mod n.
pub(super) struct Pieces {
    /// The rows, ascending.
    pub rows: Vec<u32>,
    /// First piece of each row, then the number of all.
    begins: Vec<u16>,
    /// Index of the row of each piece.
    rows_of_pieces: Vec<u16>,
}

impl Pieces {
    /// The pieces of these rows, which ascend and occur once for each piece.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn new(positions: &[u32]) -> Result<Self, Error> {
        let mut rows = with_capacity(positions.len())?;
        let mut begins = with_capacity(positions.len() + 1)?;
        let mut rows_of_pieces = with_capacity(positions.len())?;
        begins.push(0);
        for pieces in positions.chunk_by(|left, right| left == right) {
            rows_of_pieces.extend(pieces.iter().map(|_| rows.len() as u16));
            rows.push(pieces[0]);
            begins.push(rows_of_pieces.len() as u16);
        }
        Ok(Self { rows, begins, rows_of_pieces })
    }

    /// The number of pieces of all rows.
    pub fn count(&self) -> usize {
        self.rows_of_pieces.len()
    }

    /// The number of pieces of a row.
    pub fn count_of(&self, row: usize) -> usize {
        usize::from(self.begins[row + 1] - self.begins[row])
    }

    /// The piece of an entry of a row, by its index there.
    pub fn of_entry(&self, row: usize, in_row: u16) -> usize {
        usize::from(self.begins[row]) + usize::from(in_row) % self.count_of(row)
    }

    /// The index of a piece's row, and that of the piece among those of the row.
    pub fn row_of(&self, piece: usize) -> (usize, usize) {
        let row = usize::from(self.rows_of_pieces[piece]);
        (row, piece - usize::from(self.begins[row]))
    }
}
