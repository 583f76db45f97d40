//! Parts of arrays, and blocks of vectors.

use std::ops::Range;

use cuda_std::{Global, GlobalMut};
use host::error::{Error, check_length};
use host::executor::Executor;
use host::memory::{Buffer, HostMemory, Memory};
use host::real::{Scalar, parts_of, parts_of_mut};

/// Consecutive elements of an array, for reading.
pub struct Part<'a, T: Scalar, M: Memory> {
    array: &'a M::Buffer<T>,
    first: usize,
    length: usize,
}

/// Consecutive elements of an array, for writing.
pub struct PartMut<'a, T: Scalar, M: Memory> {
    array: &'a mut M::Buffer<T>,
    first: usize,
    length: usize,
}

impl<T: Scalar, M: Memory> Clone for Part<'_, T, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Scalar, M: Memory> Copy for Part<'_, T, M> {}

impl<'a, T: Scalar, M: Memory> Part<'a, T, M> {
    /// The whole array.
    pub fn whole(array: &'a M::Buffer<T>) -> Self {
        Self { array, first: 0, length: array.len() }
    }

    /// Returns the number of elements.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Returns the real and imaginary parts of the elements.
    pub(super) fn global_parts(&self) -> Global<T::Real> {
        self.array.global_parts().after(self.first * T::PARTS)
    }
}

impl<'a, T: Scalar> Part<'a, T, HostMemory> {
    /// Returns the real and imaginary parts of the elements.
    pub(super) fn parts(&self) -> &'a [T::Real] {
        parts_of(&self.array[self.first..][..self.length])
    }
}

impl<'a, T: Scalar, M: Memory> PartMut<'a, T, M> {
    /// The whole array.
    pub fn whole(array: &'a mut M::Buffer<T>) -> Self {
        let length = array.len();
        Self { array, first: 0, length }
    }

    /// Returns the number of elements.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Returns the real and imaginary parts of the elements.
    pub(super) fn global_parts_mut(&mut self) -> GlobalMut<T::Real> {
        self.array.global_parts_mut().after(self.first * T::PARTS)
    }
}

impl<T: Scalar> PartMut<'_, T, HostMemory> {
    /// Returns the real and imaginary parts of the elements.
    pub(super) fn parts_mut(&mut self) -> &mut [T::Real] {
        parts_of_mut(&mut self.array[self.first..][..self.length])
    }
}

/// Several vectors of the same length, stored consecutively in one array: the columns of a tall matrix.
pub struct Multicolumn<T: Scalar, M: Memory> {
    array: M::Buffer<T>,
    rows: usize,
    columns: usize,
}

/// Consecutive columns, for reading.
pub struct Columns<'a, T: Scalar, M: Memory> {
    pub(super) part: Part<'a, T, M>,
    pub(super) rows: usize,
    pub(super) columns: usize,
}

/// Consecutive columns, for writing.
pub struct ColumnsMut<'a, T: Scalar, M: Memory> {
    pub(super) part: PartMut<'a, T, M>,
    pub(super) rows: usize,
    pub(super) columns: usize,
}

impl<T: Scalar, M: Memory> Multicolumn<T, M> {
    /// Allocates columns of zeros.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn zeros<E: Executor<Memory = M>>(executor: &E, rows: usize, columns: usize) -> Result<Self, Error> {
        let bytes = rows as u128 * columns as u128 * size_of::<T>() as u128;
        let length = rows.checked_mul(columns).ok_or(Error::OutOfMemory { what: "a block of vectors", bytes })?;
        Ok(Self { array: executor.zeros(length)?, rows, columns })
    }

    /// Takes an array with the columns stored consecutively.
    ///
    /// # Errors
    /// When its length is not `rows` times `columns`.
    pub fn from_array(array: M::Buffer<T>, rows: usize, columns: usize) -> Result<Self, Error> {
        check_length("the block of vectors", array.len(), rows.saturating_mul(columns))?;
        Ok(Self { array, rows, columns })
    }

    /// Returns the number of elements of a column.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the columns, stored consecutively: X and Y of a product with several columns.
    pub fn array(&self) -> &M::Buffer<T> {
        &self.array
    }

    /// Lets `write` write to [`array`](Self::array). If the array's length changes, which is possible on the host, no
    /// columns remain.
    ///
    /// # Errors
    /// Those of `write`, and when the array's length has changed.
    pub fn write(&mut self, write: impl FnOnce(&mut M::Buffer<T>) -> Result<(), Error>) -> Result<(), Error> {
        let length = self.array.len();
        // No columns until the array's length is verified, in case `write` panics.
        let shape = (std::mem::take(&mut self.rows), std::mem::take(&mut self.columns));
        let written = write(&mut self.array);
        let kept = check_length("the block of vectors", self.array.len(), length);
        if kept.is_ok() {
            (self.rows, self.columns) = shape;
        }
        written.and(kept)
    }

    /// Returns one column; empty if there is no such column.
    pub fn column(&self, column: usize) -> Part<'_, T, M> {
        self.range(column..column.saturating_add(1)).part
    }

    /// Returns one column, for writing; empty if there is no such column.
    pub fn column_mut(&mut self, column: usize) -> PartMut<'_, T, M> {
        self.range_mut(column..column.saturating_add(1)).part
    }

    /// Returns the columns of the range that exist.
    pub fn range(&self, range: Range<usize>) -> Columns<'_, T, M> {
        let (first, columns) = self.cut(range);
        let part = Part { array: &self.array, first: first * self.rows, length: columns * self.rows };
        Columns { part, rows: self.rows, columns }
    }

    /// Returns the columns of the range that exist, for writing.
    pub fn range_mut(&mut self, range: Range<usize>) -> ColumnsMut<'_, T, M> {
        let (first, columns) = self.cut(range);
        let part = PartMut { array: &mut self.array, first: first * self.rows, length: columns * self.rows };
        ColumnsMut { part, rows: self.rows, columns }
    }

    /// Returns all columns.
    pub fn all(&self) -> Columns<'_, T, M> {
        self.range(0..self.columns)
    }

    /// Returns all columns, for writing.
    pub fn all_mut(&mut self) -> ColumnsMut<'_, T, M> {
        self.range_mut(0..self.columns)
    }

    /// Returns the first existing column of a range, and the number of columns.
    fn cut(&self, range: Range<usize>) -> (usize, usize) {
        let (first, end) = (range.start.min(self.columns), range.end.min(self.columns));
        (first, end.saturating_sub(first))
    }
}

impl<'a, T: Scalar, M: Memory> Columns<'a, T, M> {
    /// Returns the number of real and imaginary parts of a column. With zero columns, the number of rows is arbitrary.
    pub(super) fn parts_of_column(&self) -> usize {
        self.rows.saturating_mul(T::PARTS)
    }

    /// Returns the elements, by columns.
    pub fn part(self) -> Part<'a, T, M> {
        self.part
    }

    /// An array that holds `columns` columns consecutively.
    ///
    /// # Errors
    /// When its length is not a multiple of `columns`.
    pub fn in_array(array: &'a M::Buffer<T>, columns: usize) -> Result<Self, Error> {
        Ok(Self { part: Part::whole(array), rows: rows_in(array.len(), columns)?, columns })
    }

    /// A vector as the only column.
    pub fn of(vector: &'a M::Buffer<T>) -> Self {
        Self { part: Part::whole(vector), rows: vector.len(), columns: 1 }
    }
}

impl<'a, T: Scalar, M: Memory> ColumnsMut<'a, T, M> {
    /// Returns the elements, by columns.
    pub fn part(self) -> PartMut<'a, T, M> {
        self.part
    }

    /// An array that holds `columns` columns consecutively.
    ///
    /// # Errors
    /// When its length is not a multiple of `columns`.
    pub fn in_array(array: &'a mut M::Buffer<T>, columns: usize) -> Result<Self, Error> {
        let rows = rows_in(array.len(), columns)?;
        Ok(Self { part: PartMut::whole(array), rows, columns })
    }

    /// A vector as the only column.
    pub fn of(vector: &'a mut M::Buffer<T>) -> Self {
        let rows = vector.len();
        Self { part: PartMut::whole(vector), rows, columns: 1 }
    }
}

/// Returns the number of rows of an array that holds `columns` columns consecutively.
fn rows_in(length: usize, columns: usize) -> Result<usize, Error> {
    let rows = length.checked_div(columns).unwrap_or(0);
    check_length("the block of vectors", length, rows * columns)?;
    Ok(rows)
}
