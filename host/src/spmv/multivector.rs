//! Several right-hand sides at once: Y ← α A X + β Y.

use cuda_std::launch::Launch;
use cuda_std::{Elements, Global, GlobalMut, Pair};
use gpu_kernels::multivector::Tile;

use super::operands::check_factors;
use super::{HostOperands, Vectors, update};
use crate::device::Device;
use crate::error::{Error, check_length};
use crate::memory::{Buffer, Memory};
use crate::parallel;
use crate::real::Scalar;

/// Maximum number of vectors that one launch multiplies; more take several launches, each of which reads the matrix.
pub(crate) const LARGEST_TILE: usize = 32;

/// Bytes that a lane can load at a time.
const LARGEST_ACCESS: usize = 16;

/// Number of vectors from which on two per lane are faster.
const PAIRS_PAY_FROM: usize = 16;

/// Minimum number of rows that a CPU thread takes at a time.
pub(crate) const ROWS_AT_ONCE: usize = 256;

/// The layout of several vectors in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// The first elements of all vectors, then the second ones, and so on. The faster layout, since the elements for an
    /// entry of the matrix are contiguous.
    RowMajor,
    /// One vector after the other.
    ColumnMajor,
}

/// The shape of several vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multivector {
    /// Number of vectors. Each pass over the matrix handles up to 32 of them.
    pub vectors: usize,
    /// Their layout in memory.
    pub layout: Layout,
}

impl Multivector {
    /// The strides from one element of a vector to the next, and from one vector to the next, for vectors of this
    /// length.
    fn strides(self, length: usize) -> (usize, usize) {
        match self.layout {
            Layout::RowMajor => (self.vectors, 1),
            Layout::ColumnMajor => (1, length),
        }
    }

    /// The index of element `element` of vector `vector`, for vectors of this length; [`usize::MAX`], which is beyond
    /// any array, on overflow.
    pub fn place(self, length: usize, element: usize, vector: usize) -> usize {
        let (element_stride, vector_stride) = self.strides(length);
        element.saturating_mul(element_stride).saturating_add(vector.saturating_mul(vector_stride))
    }

    /// Number of elements of the array, for vectors of this length.
    fn elements(self, what: &'static str, length: usize) -> Result<usize, Error> {
        self.vectors.checked_mul(length).ok_or(Error::TooLarge {
            what,
            value: self.vectors as u128 * length as u128,
            limit: usize::MAX as u128,
        })
    }

    /// The vectors of each launch, with as few lanes as possible; none if they have no elements.
    fn tiles(self, rows: usize, columns: usize) -> impl ExactSizeIterator<Item = Tile> {
        (0..if rows == 0 { 0 } else { self.vectors }).step_by(LARGEST_TILE).map(move |first_vector| Tile {
            lanes: (self.vectors - first_vector).min(LARGEST_TILE).next_power_of_two() as u32,
            first_vector: first_vector as u32,
            vectors: self.vectors as u32,
            element_stride: self.strides(rows).0 as u32,
            x_vector_stride: self.strides(columns).1 as u32,
            y_vector_stride: self.strides(rows).1 as u32,
        })
    }
}

/// The operands of Y ← α A X + β Y. With β = 0, Y is overwritten and never read.
pub(crate) struct MultivectorOperands<'a, T: Scalar, M: Memory> {
    /// The number of vectors in X and in Y, and their layout.
    pub shape: Multivector,
    /// The factor of A X.
    pub alpha: T,
    /// The vectors to multiply, each with an element per column.
    pub x: &'a M::Buffer<T>,
    /// The factor of Y.
    pub beta: T,
    /// The results, each with an element per row.
    pub y: &'a mut M::Buffer<T>,
}

impl<T: Scalar, M: Memory> MultivectorOperands<'_, T, M> {
    /// Checks the vectors against the shape of a matrix, and the factors.
    pub(crate) fn check(&self, rows: usize, columns: usize) -> Result<(), Error> {
        check_factors(self.alpha, self.beta)?;
        // Lanes beyond the last vector also have numbers.
        if self.shape.vectors > i32::MAX as usize {
            let value = self.shape.vectors as u128;
            return Err(Error::TooLarge { what: "number of vectors", value, limit: i32::MAX as u128 });
        }
        check_length("X", self.x.len(), self.shape.elements("size of X", columns)?)?;
        check_length("Y", self.y.len(), self.shape.elements("size of Y", rows)?)
    }
}

/// Several vectors, divided into the tiles that one launch multiplies.
pub(crate) struct Tiles<T> {
    shape: Multivector,
    rows: usize,
    columns: usize,
    vectors: Vectors<T>,
    /// Elements of Y.
    elements: usize,
}

impl<T: Scalar> Tiles<T> {
    /// The tiles of X and Y for a matrix of this shape.
    ///
    /// # Errors
    /// When the size of X or Y does not match.
    pub fn new<M: Memory>(operands: MultivectorOperands<'_, T, M>, rows: usize, columns: usize) -> Result<Self, Error> {
        operands.check(rows, columns)?;
        let MultivectorOperands { shape, alpha, x, beta, y } = operands;
        Self::of_vectors(shape, Vectors { alpha, x: x.global(), beta, y: y.global_mut() }, rows, columns)
    }

    /// The tiles of X and Y, whose sizes must match.
    ///
    /// # Errors
    /// When the number of elements of Y overflows.
    pub(super) fn of_vectors(
        shape: Multivector,
        vectors: Vectors<T>,
        rows: usize,
        columns: usize,
    ) -> Result<Self, Error> {
        let elements = shape.elements("size of Y", rows)?;
        Ok(Self { shape, rows, columns, vectors, elements })
    }

    /// The kernel's arguments for each tile besides the matrix.
    pub fn arguments(&self) -> impl ExactSizeIterator<Item = Arguments<T>> {
        let Vectors { alpha, x, beta, y } = self.vectors;
        let rows = self.rows as u32;
        self.shape.tiles(self.rows, self.columns).map(move |tile| Arguments { rows, tile, alpha, x, beta, y })
    }

    /// The same with two vectors per lane, if they are interleaved and that pays.
    pub fn arguments_of_pairs(&self) -> Option<impl ExactSizeIterator<Item = Arguments<Pair<T>>>> {
        let Multivector { vectors, layout } = self.shape;
        let fits = layout == Layout::RowMajor && vectors.is_multiple_of(2) && size_of::<Pair<T>>() <= LARGEST_ACCESS;
        if !fits || vectors < PAIRS_PAY_FROM {
            return None;
        }
        let Vectors { alpha, x, beta, y } = self.vectors;
        let (rows, x, y) = (self.rows as u32, x.as_pairs()?, y.as_pairs()?);
        let pairs = Multivector { vectors: vectors / 2, layout };
        Some(pairs.tiles(self.rows, self.columns).map(move |tile| Arguments { rows, tile, alpha, x, beta, y }))
    }

    /// The launch of Y ← β Y.
    pub fn scale(&self, device: &Device) -> Launch {
        self.vectors.scale(self.elements, device)
    }
}

/// Arguments of kernels besides the matrix.
pub(crate) struct Arguments<T: Elements> {
    pub rows: u32,
    pub tile: Tile,
    pub alpha: T::Number,
    pub x: Global<T>,
    pub beta: T::Number,
    pub y: GlobalMut<T>,
}

/// Multiplies rows that are stored in any order, in parallel: `row_at` returns the row at a position, and its entries.
/// Each `rows_at_once` positions must hold the rows with these numbers, in any order.
pub(crate) fn multiply_rows<T: Scalar, I: Iterator<Item = (u32, T)>>(
    vectors: usize,
    operands: HostOperands<'_, T>,
    rows_at_once: usize,
    row_at: impl Fn(usize) -> (usize, I) + Sync,
) {
    let HostOperands { alpha, x, beta, y } = operands;
    parallel::chunks_mut(y, rows_at_once * vectors, 1, &|(chunk, y)| {
        let first_row = chunk * rows_at_once;
        for position in first_row..first_row + y.len() / vectors {
            let y = &mut y[(row_at(position).0 - first_row) * vectors..][..vectors];
            multiply_row(|| row_at(position).1, x, y, |y, sum| update(y, alpha, sum, beta));
        }
    });
}

/// Multiplies one row of the matrix by all vectors, in row-major layout, up to [`LARGEST_TILE`] at a time, and passes each
/// sum to `update` with its element of y.
pub(crate) fn multiply_row<T: Scalar, I: Iterator<Item = (u32, T)>>(
    entries: impl Fn() -> I,
    x: &[T],
    y: &mut [T],
    update: impl Fn(&mut T, T),
) {
    let vectors = y.len();
    for (tile, y) in y.chunks_mut(LARGEST_TILE).enumerate() {
        let mut sums = [T::ZERO; LARGEST_TILE];
        for (column, value) in entries() {
            let x = &x[column as usize * vectors + tile * LARGEST_TILE..][..y.len()];
            for (sum, &x) in sums.iter_mut().zip(x) {
                *sum = *sum + value * x;
            }
        }
        for (y, &sum) in y.iter_mut().zip(&sums) {
            update(y, sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_all_vectors_with_few_lanes() {
        for (vectors, expected) in [
            (0, vec![]),
            (1, vec![(0, 1)]),
            (3, vec![(0, 4)]),
            (32, vec![(0, 32)]),
            (33, vec![(0, 32), (32, 1)]),
            (70, vec![(0, 32), (32, 32), (64, 8)]),
        ] {
            let shape = Multivector { vectors, layout: Layout::RowMajor };
            let tiles: Vec<_> = shape.tiles(5, 7).map(|tile| (tile.first_vector, tile.lanes)).collect();
            assert_eq!(tiles, expected, "{vectors}");
        }
    }

    #[test]
    fn strides_follow_the_layout() {
        let strides = |layout| {
            let tile = Multivector { vectors: 3, layout }.tiles(5, 7).next().unwrap();
            (tile.element_stride, tile.x_vector_stride, tile.y_vector_stride)
        };
        assert_eq!(strides(Layout::RowMajor), (3, 1, 1));
        assert_eq!(strides(Layout::ColumnMajor), (1, 7, 5));
    }
}
