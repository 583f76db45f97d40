//! An order of the rows of a matrix.

use host::Error;
use host::format::{Csr, LARGEST_DIMENSION, Offsets, parallel_rows};
use host::memory::zeros;
use host::parallel;
use host::real::Scalar;

/// Rows that one thread handles at a time.
pub(super) const ROWS_AT_ONCE: usize = 1024;

/// A permutation: the old index for each new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ordering {
    old: Vec<u32>,
}

impl Ordering {
    /// An ordering from the old index for each new one. O(n).
    ///
    /// # Errors
    /// When an index is not below the length or is duplicated, there are more than a matrix can have, or memory runs
    /// out.
    pub fn try_new(old: Vec<u32>) -> Result<Self, Error> {
        check_length(old.len())?;
        let mut seen: Vec<bool> = zeros(old.len())?;
        for (new, &place) in old.iter().enumerate() {
            match seen.get_mut(place as usize) {
                Some(seen) if !*seen => *seen = true,
                _ => {
                    let reason = format!("index {place} at {new} is duplicated or not below {}", old.len());
                    return Err(Error::Structure { format: "permutation", reason });
                }
            }
        }
        Ok(Self { old })
    }

    pub(super) fn from_valid(old: Vec<u32>) -> Self {
        Self { old }
    }

    /// Number of indices.
    pub fn len(&self) -> usize {
        self.old.len()
    }

    /// Whether the ordering is empty.
    pub fn is_empty(&self) -> bool {
        self.old.is_empty()
    }

    /// The old index for each new one.
    pub fn old_places(&self) -> &[u32] {
        &self.old
    }

    /// The ordering that undoes this one. O(n).
    ///
    /// # Errors
    /// When memory runs out.
    pub fn inverse(&self) -> Result<Self, Error> {
        let mut inverse: Vec<u32> = zeros(self.old.len())?;
        for (new, &old) in self.old.iter().enumerate() {
            inverse[old as usize] = new as u32;
        }
        Ok(Self { old: inverse })
    }

    /// A vector in the new order: element i is the old element `old_places()[i]`. In parallel, O(n).
    ///
    /// # Errors
    /// When the vector has another length, or memory runs out.
    pub fn apply<T: Copy + Send + Sync>(&self, vector: &[T]) -> Result<Vec<T>, Error> {
        self.check("vector", vector.len())?;
        parallel::map(self.len(), ROWS_AT_ONCE, &|new| vector[self.old[new] as usize])
    }

    /// The matrix with its rows in the new order and its columns unchanged: it maps x to the reordered y. In parallel,
    /// O(rows + nnz).
    ///
    /// # Errors
    /// When the matrix has another number of rows, or memory runs out.
    pub fn apply_rows<T: Scalar>(&self, matrix: &Csr<T>) -> Result<Csr<T>, Error> {
        self.gather(matrix, |column| column)
    }

    /// The matrix with rows and columns in the new order, the columns of each row ascending if they were: it maps the
    /// reordered x to the reordered y. In parallel, O(rows + nnz log(longest row)).
    ///
    /// # Errors
    /// When the matrix has another number of rows or columns, or memory runs out.
    pub fn apply_symmetric<T: Scalar>(&self, matrix: &Csr<T>) -> Result<Csr<T>, Error> {
        self.check("columns", matrix.columns())?;
        let new = self.inverse()?;
        let mut reordered = self.gather(matrix, |column| new.old[column as usize])?;
        reordered.sort_rows()?;
        Ok(reordered)
    }

    fn gather<T: Scalar>(&self, matrix: &Csr<T>, new_column: impl Fn(u32) -> u32 + Sync) -> Result<Csr<T>, Error> {
        self.check("rows", matrix.rows())?;
        let offsets = Offsets::from_lengths(self.old.iter().map(|&old| matrix.range(old as usize).len()))?;
        let (mut columns, mut values) = (zeros(matrix.nnz())?, zeros(matrix.nnz())?);
        parallel_rows(&offsets, ROWS_AT_ONCE, &mut columns, &mut values, &|rows, columns, values| {
            let entries = rows.flat_map(|row| matrix.row(self.old[row] as usize));
            for ((place, (column, value)), into) in columns.iter_mut().zip(entries).zip(values) {
                *place = new_column(column);
                *into = value;
            }
            Ok(())
        })?;
        Csr::try_new(matrix.rows(), matrix.columns(), offsets, columns, values)
    }

    fn check(&self, what: &'static str, found: usize) -> Result<(), Error> {
        if found == self.len() { Ok(()) } else { Err(Error::Length { what, found, expected: self.len() }) }
    }
}

/// Checks that a matrix can have `length` rows.
pub(super) fn check_length(length: usize) -> Result<(), Error> {
    if length <= LARGEST_DIMENSION {
        return Ok(());
    }
    Err(Error::TooLarge { what: "number of rows", value: length as u128, limit: LARGEST_DIMENSION as u128 })
}
