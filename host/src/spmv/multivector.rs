//! Several right-hand sides at once: Y ← α A X + β Y.

use cuda_std::launch::{Call, Launch};
use cuda_std::{Global, GlobalMut};
use gpu_kernels::multivector::{
    BcsrMultivector, CooMultivectorCarries, CooMultivectorIntervals, CsrMultivector, SellPMultivector, Tile,
};

use super::intervals::Intervals;
use super::operands::check_factors;
use super::{Carries, HostOperands, Room, Vectors, update};
use crate::device::Device;
use crate::error::{Error, check_length};
use crate::format::coo::product::{Piece, pieces, runs};
use crate::format::csr::balanced::with_offsets;
use crate::format::{Bcsr, BlockVisitor, Coo, Csr, SellP};
use crate::memory::{Buffer, Memory};
use crate::parallel;
use crate::real::Scalar;

/// The most vectors that one launch multiplies; more take several, each of which reads the matrix.
const LARGEST_TILE: usize = 32;

/// Rows that a CPU thread takes at a time, at least.
const ROWS_AT_ONCE: usize = 256;

/// How several vectors lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// The first elements of all vectors, then the second ones, and so on. The faster one: what an entry of the
    /// matrix needs lies together.
    RowMajor,
    /// One vector after the other.
    ColumnMajor,
}

/// The shape of several vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multivector {
    /// Number of vectors. Each 32 of them, and what is left, take one pass over the matrix.
    pub vectors: usize,
    /// How they lie in memory.
    pub layout: Layout,
}

impl Multivector {
    /// From one element of a vector to its next, and from one vector to the next, for vectors of this length.
    fn strides(self, length: usize) -> (usize, usize) {
        match self.layout {
            Layout::RowMajor => (self.vectors, 1),
            Layout::ColumnMajor => (1, length),
        }
    }

    /// Where element `element` of vector `vector` is, for vectors of this length.
    pub fn place(self, length: usize, element: usize, vector: usize) -> usize {
        let (element_stride, vector_stride) = self.strides(length);
        element * element_stride + vector * vector_stride
    }

    /// Elements of the array for vectors of this length.
    fn elements(self, what: &'static str, length: usize) -> Result<usize, Error> {
        self.vectors.checked_mul(length).ok_or(Error::TooLarge {
            what,
            value: self.vectors as u128 * length as u128,
            limit: usize::MAX as u128,
        })
    }

    /// The vectors of each launch, with as few lanes as they need.
    fn tiles(self, rows: usize, columns: usize) -> impl Iterator<Item = Tile> {
        (0..self.vectors).step_by(LARGEST_TILE).map(move |first_vector| Tile {
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
    /// The vectors that are multiplied, each with an element for each column.
    pub x: &'a M::Buffer<T>,
    /// The factor of Y.
    pub beta: T,
    /// The results, each with an element for each row.
    pub y: &'a mut M::Buffer<T>,
}

impl<T: Scalar, M: Memory> MultivectorOperands<'_, T, M> {
    /// Checks the vectors against the shape of a matrix, and the factors.
    pub(crate) fn check(&self, rows: usize, columns: usize) -> Result<(), Error> {
        check_factors(self.alpha, self.beta)?;
        // Lanes beyond the last vector have numbers as well.
        if self.shape.vectors > i32::MAX as usize {
            let value = self.shape.vectors as u128;
            return Err(Error::TooLarge { what: "number of vectors", value, limit: i32::MAX as u128 });
        }
        check_length("X", self.x.len(), self.shape.elements("size of X", columns)?)?;
        check_length("Y", self.y.len(), self.shape.elements("size of Y", rows)?)
    }
}

/// Several vectors, cut into what one launch multiplies.
pub(crate) struct Tiles<T> {
    rows: u32,
    tiles: Vec<Tile>,
    vectors: Vectors<T>,
    /// Elements of Y.
    elements: usize,
}

impl<T: Scalar> Tiles<T> {
    /// The tiles of X and Y for a matrix of this shape.
    ///
    /// # Errors
    /// When X or Y does not fit.
    pub fn new<M: Memory>(operands: MultivectorOperands<'_, T, M>, rows: usize, columns: usize) -> Result<Self, Error> {
        operands.check(rows, columns)?;
        let MultivectorOperands { shape, alpha, x, beta, y } = operands;
        let (elements, vectors) = (y.len(), Vectors { alpha, x: x.global(), beta, y: y.global_mut() });
        Ok(Self { rows: rows as u32, tiles: shape.tiles(rows, columns).collect(), vectors, elements })
    }

    fn arguments(&self) -> impl Iterator<Item = Arguments<T>> {
        let &Self { rows, vectors: Vectors { alpha, x, beta, y }, .. } = self;
        self.tiles.iter().map(move |&tile| Arguments { rows, tile, alpha, x, beta, y })
    }
}

/// The launches for a matrix in CSR.
pub(crate) fn csr_launches<T: Scalar, M: Memory>(matrix: &Csr<T, M>, tiles: &Tiles<T>, device: &Device) -> Vec<Launch> {
    tiles.arguments().map(|arguments| csr(matrix, arguments, device)).collect()
}

/// The launches for a matrix in SELL-P.
pub(crate) fn sell_p_launches<T: Scalar, M: Memory>(
    matrix: &SellP<T, M>,
    tiles: &Tiles<T>,
    device: &Device,
) -> Vec<Launch> {
    tiles.arguments().map(|arguments| sell_p(matrix, arguments, device)).collect()
}

/// The launches for a matrix in BCSR.
pub(crate) fn bcsr_launches<T: Scalar, M: Memory>(
    matrix: &Bcsr<T, M>,
    tiles: &Tiles<T>,
    device: &Device,
) -> Vec<Launch> {
    tiles.arguments().map(|arguments| bcsr(matrix, arguments, device)).collect()
}

/// The launches for a matrix in COO.
///
/// # Errors
/// When memory runs out.
pub(crate) fn coo_launches<T: Scalar, M: Memory>(
    matrix: &Coo<T, M>,
    tiles: &Tiles<T>,
    room: &mut Room<'_, T, M>,
    device: &Device,
) -> Result<Vec<Launch>, Error> {
    // For tiles of every size at once: asking for more later would give back what a launch or a recording before needs.
    let sizes =
        [1, 2, 4, 8, 16, 32].map(|lanes: u32| (intervals(matrix, lanes, device).count as usize, lanes as usize));
    let rows = sizes.map(|(count, _)| count).into_iter().max().unwrap_or(0);
    let values = sizes.map(|(count, lanes)| count * lanes).into_iter().max().unwrap_or(0);
    let carries = room.wide_carries(rows, values)?;
    let mut launches = vec![tiles.vectors.scale(tiles.elements, device)];
    launches.extend(tiles.arguments().flat_map(|arguments| coo(matrix, arguments, carries, device)));
    Ok(launches)
}

/// What kernels take besides the matrix.
struct Arguments<T> {
    rows: u32,
    tile: Tile,
    alpha: T,
    x: Global<T>,
    beta: T,
    y: GlobalMut<T>,
}

fn csr<T: Scalar, M: Memory>(matrix: &Csr<T, M>, arguments: Arguments<T>, device: &Device) -> Launch {
    let Arguments { rows, tile, alpha, x, beta, y } = arguments;
    let call = with_offsets!(matrix, offsets => CsrMultivector {
        rows,
        tile,
        row_offsets: offsets.global(),
        column_indices: matrix.column_indices().global(),
        values: matrix.values().global(),
        alpha,
        x,
        beta,
        y,
    });
    Launch { grid: device.grid(u64::from(rows) * u64::from(tile.lanes)), call }
}

fn sell_p<T: Scalar, M: Memory>(matrix: &SellP<T, M>, arguments: Arguments<T>, device: &Device) -> Launch {
    let Arguments { rows, tile, alpha, x, beta, y } = arguments;
    let kernel = SellPMultivector {
        rows,
        tile,
        slice_size: matrix.slicing().slice_size,
        slice_begins: matrix.slice_begins().global(),
        sorted_rows: matrix.row_indices().len() as u32,
        row_indices: matrix.row_indices().global(),
        column_indices: matrix.column_indices().global(),
        values: matrix.values().global(),
        alpha,
        x,
        beta,
        y,
    };
    Launch::new(device.grid(u64::from(rows) * u64::from(tile.lanes)), kernel)
}

fn bcsr<T: Scalar, M: Memory>(matrix: &Bcsr<T, M>, arguments: Arguments<T>, device: &Device) -> Launch {
    struct Launcher<'a, T: Scalar, M: Memory>(&'a Bcsr<T, M>, Arguments<T>);

    impl<T: Scalar, M: Memory> BlockVisitor for Launcher<'_, T, M> {
        type Output = Call;

        fn visit<const SIZE: u32, const R: usize, const C: usize>(self) -> Call {
            let Self(matrix, Arguments { rows, tile, alpha, x, beta, y }) = self;
            Call::new(BcsrMultivector::<T, SIZE> {
                rows,
                tile,
                last_column: matrix.columns().saturating_sub(1) as u32,
                block_offsets: matrix.block_offsets().global(),
                first_columns: matrix.first_columns().global(),
                values: matrix.values().global(),
                alpha,
                x,
                beta,
                y,
            })
        }
    }
    let grid = device.grid(matrix.block_rows() as u64 * u64::from(arguments.tile.lanes));
    Launch { grid, call: matrix.block_size().visit(Launcher(matrix, arguments)) }
}

/// An interval for each group of lanes that the device holds at a time.
fn intervals<T: Scalar, M: Memory>(matrix: &Coo<T, M>, lanes: u32, device: &Device) -> Intervals {
    Intervals::among(matrix.nnz() as u64, device.resident_threads() / u64::from(lanes))
}

/// Launches for Y ← Y + α A X.
fn coo<T: Scalar, M: Memory>(
    matrix: &Coo<T, M>,
    arguments: Arguments<T>,
    carries: Carries<T>,
    device: &Device,
) -> [Launch; 2] {
    let Arguments { tile, alpha, x, y, .. } = arguments;
    let intervals = intervals(matrix, tile.lanes, device);
    let grid = device.grid_of(intervals.count * u64::from(tile.lanes));
    let entries = CooMultivectorIntervals {
        nnz: matrix.nnz() as u64,
        interval: intervals.length,
        tile,
        row_indices: matrix.row_indices().global(),
        column_indices: matrix.column_indices().global(),
        values: matrix.values().global(),
        alpha,
        x,
        y,
        carry_rows: carries.rows_mut,
        carry_values: carries.values_mut,
    };
    let carries = CooMultivectorCarries {
        intervals: intervals.count as u32,
        tile,
        carry_rows: carries.rows,
        carry_values: carries.values,
        alpha,
        y,
    };
    [Launch::new(grid, entries), Launch::new(grid, carries)]
}

/// Multiplies a matrix in CSR with several vectors in row-major layout on the CPU, in parallel.
pub(crate) fn multiply_csr_on_cpu<T: Scalar>(matrix: &Csr<T>, vectors: usize, operands: HostOperands<'_, T>) {
    multiply_rows(vectors, operands, ROWS_AT_ONCE, |row| (row, matrix.row(row)));
}

/// Multiplies a matrix in SELL-P with several vectors in row-major layout on the CPU, in parallel.
pub(crate) fn multiply_sell_p_on_cpu<T: Scalar>(matrix: &SellP<T>, vectors: usize, operands: HostOperands<'_, T>) {
    // Whole windows of sorted rows, whose results lie within one part of Y.
    let rows_at_once = ROWS_AT_ONCE.next_multiple_of(matrix.slicing().sigma as usize);
    multiply_rows(vectors, operands, rows_at_once, |position| (matrix.row_at(position), matrix.entries_at(position)));
}

/// Multiplies a matrix in BCSR with several vectors in row-major layout on the CPU, in parallel.
pub(crate) fn multiply_bcsr_on_cpu<T: Scalar>(matrix: &Bcsr<T>, vectors: usize, operands: HostOperands<'_, T>) {
    multiply_rows(vectors, operands, ROWS_AT_ONCE, |row| (row, matrix.row(row)));
}

/// Multiplies rows that are stored in any order, in parallel: `row_at` gives the row at a position, and its entries.
/// The rows at each `rows_at_once` positions are the rows of these numbers, in any order.
fn multiply_rows<T: Scalar, I: Iterator<Item = (u32, T)>>(
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
            multiply_row(|| row_at(position).1, alpha, x, beta, y);
        }
    });
}

/// Multiplies a matrix in COO with several vectors in row-major layout on the CPU, in parallel.
pub(crate) fn multiply_coo_on_cpu<T: Scalar>(matrix: &Coo<T>, vectors: usize, operands: HostOperands<'_, T>) {
    let HostOperands { alpha, x, beta, y } = operands;
    parallel::map_items(pieces(matrix, y, vectors), &|(_, Piece { first_row, entries, y })| {
        for y in y.iter_mut() {
            *y = if beta == T::ZERO { T::ZERO } else { beta * *y };
        }
        for (row, entries) in runs(matrix, entries) {
            let y = &mut y[(row - first_row) * vectors..][..vectors];
            let (columns, values) = (&matrix.column_indices()[entries.clone()], &matrix.values()[entries]);
            multiply_row(|| columns.iter().copied().zip(values.iter().copied()), alpha, x, T::ONE, y);
        }
    });
}

/// Multiplies one row of the matrix with all vectors, in row-major layout, up to [`LARGEST_TILE`] at a time.
fn multiply_row<T: Scalar, I: Iterator<Item = (u32, T)>>(
    entries: impl Fn() -> I,
    alpha: T,
    x: &[T],
    beta: T,
    y: &mut [T],
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
            update(y, alpha, sum, beta);
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
