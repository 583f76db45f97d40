//! Levels of triangular matrices: the rows of a level depend only on rows of previous levels.

use host::error::Error;
use host::format::Csr;
use host::memory::{copy, zeros};
use host::real::Scalar;

/// The side of the diagonal that holds a triangular matrix's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Below.
    Lower,
    /// Above.
    Upper,
}

impl Side {
    /// Returns whether an entry is strictly on this side.
    pub fn contains(self, row: usize, column: usize) -> bool {
        match self {
            Self::Lower => column < row,
            Self::Upper => column > row,
        }
    }

    /// Solves a triangular system: calls `solve` for all rows, each after the rows that it may depend on.
    #[doc(hidden)]
    pub fn in_order(self, rows: usize, mut solve: impl FnMut(usize)) {
        match self {
            Self::Lower => (0..rows).for_each(&mut solve),
            Self::Upper => (0..rows).rev().for_each(&mut solve),
        }
    }
}

/// Returns the offset of each level in the rows ordered by level, and that order, which is stable within a level.
pub(crate) fn levels<T: Scalar>(side: Side, matrix: &Csr<T>) -> Result<(Vec<u32>, Vec<u32>), Error> {
    let rows = matrix.rows();
    let mut level_of_row = zeros::<u32>(rows)?;
    let (mut count, mut misplaced) = (0, None);
    side.in_order(rows, |row| {
        let mut level = 0;
        for (column, _) in matrix.row(row) {
            if side.contains(row, column as usize) {
                level = level.max(level_of_row[column as usize] + 1);
            } else {
                misplaced.get_or_insert((row, column));
            }
        }
        level_of_row[row] = level;
        count = count.max(level as usize + 1);
    });
    if let Some((row, column)) = misplaced {
        let place = format!("the entry of row {row} in column {column} is not beside the diagonal on its side");
        return Err(Error::structure("triangular", place));
    }
    by_class(&level_of_row, count)
}

/// Returns the offset of each of `count` classes in the rows ordered by class, and that order, which is stable within a
/// class.
///
/// # Errors
/// When memory runs out.
pub(crate) fn by_class(class_of_row: &[u32], count: usize) -> Result<(Vec<u32>, Vec<u32>), Error> {
    let mut offsets = zeros::<u32>(count + 1)?;
    class_of_row.iter().for_each(|&class| offsets[class as usize + 1] += 1);
    (0..count).for_each(|class| offsets[class + 1] += offsets[class]);
    let mut next = copy(&offsets)?;
    let mut order = zeros(class_of_row.len())?;
    for (row, &class) in class_of_row.iter().enumerate() {
        order[next[class as usize] as usize] = row as u32;
        next[class as usize] += 1;
    }
    Ok((offsets, order))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_one_level_above_what_it_waits_for() {
        // Row 2 takes row 0, row 3 takes 0 and 2, row 4 takes 1.
        let lower = Csr::try_from_triplets(5, 5, &[2, 3, 3, 4], &[0, 0, 2, 1], &[1.0; 4]).unwrap();
        assert_eq!(levels(Side::Lower, &lower).unwrap(), (vec![0, 2, 4, 5], vec![0, 1, 2, 4, 3]));
        assert_eq!(levels(Side::Upper, &lower.transposed().unwrap()).unwrap(), (vec![0, 2, 4, 5], vec![3, 4, 1, 2, 0]));
        let error = levels(Side::Upper, &lower).unwrap_err().to_string();
        assert_eq!(error, "triangular matrix: the entry of row 4 in column 1 is not beside the diagonal on its side");
        let nothing = Csr::<f64>::try_new(0, 0, vec![0u32], vec![], vec![]).unwrap();
        assert_eq!(levels(Side::Lower, &nothing).unwrap(), (vec![0], vec![]));
    }
}
