//! Multiplying several vectors, stored consecutively, in interleaved form.

use cuda_std::launch::{Grid, Launch};
use gpu_kernels::multivector::interleave::{Interleave, Separate, elements_at_once, shared_bytes};

use super::multivector::{LARGEST_TILE, Layout, Multivector, MultivectorOperands, Tiles};
use super::{Room, Vectors};
use crate::device::Device;
use crate::error::Error;
use crate::format::{Format, Matrix};
use crate::memory::{Buffer, Memory, reserve};
use crate::real::Scalar;

/// Minimum number of vectors for which moving them can pay: with fewer, neighbouring rows read the same sectors soon
/// enough.
const LEAST_VECTORS: usize = 8;

/// Minimum number of products with entries, per thread that the device holds, for which moving pays: with fewer, the two
/// additional launches take longer than they save.
const PRODUCTS_PER_THREAD: u64 = 18;

/// Number of products that take as long as moving an element of X or Y.
const PRODUCTS_PER_MOVE: u64 = 2;

/// Too few products for a comparison: devices as small as the emulator's move all vectors.
const FEW_PRODUCTS: u64 = 1 << 16;

/// Whether moving vectors of this shape pays, for a matrix with these numbers of entries, rows and columns.
pub(crate) fn pays(shape: Multivector, [entries, rows, columns]: [usize; 3], device: &Device) -> bool {
    let moved = (rows as u64 + columns as u64) * PRODUCTS_PER_MOVE;
    let products = (entries as u64).saturating_sub(moved).saturating_mul(shape.vectors as u64);
    shape.layout == Layout::ColumnMajor
        && shape.vectors >= LEAST_VECTORS
        && products.saturating_add(FEW_PRODUCTS) >= device.resident_threads().saturating_mul(PRODUCTS_PER_THREAD)
}

/// The grid that moves vectors of this length: a block for each part that it moves at a time.
fn grid<T>(elements: usize, vectors: u32, device: &Device) -> Grid {
    let parts = (elements as u64).div_ceil(elements_at_once(vectors).into());
    let grid = device.uneven_grid(parts.saturating_mul(device.tuning.threads_per_block().into()));
    Grid { shared_bytes: shared_bytes::<T>(vectors), ..grid }
}

/// The launches of Y ← α A X + β Y for vectors stored consecutively, of which each launch multiplies as many as possible. X
/// and Y must match the matrix. Takes room for that many vectors of X and of Y, and reads and writes both twice.
///
/// # Errors
/// When memory runs out, or the device cannot run them.
pub(crate) fn launches<T: Scalar, M: Memory>(
    format: Format,
    matrix: &Matrix<T, M>,
    operands: MultivectorOperands<'_, T, M>,
    room: &mut Room<'_, T, M>,
    device: &Device,
) -> Result<Vec<Launch>, Error> {
    let (rows, columns) = matrix.dimensions();
    operands.check(rows, columns)?;
    if rows == 0 {
        // Vectors without elements, however many.
        return Ok(Vec::new());
    }
    let MultivectorOperands { shape, alpha, x, beta, y } = operands;
    let (x, y) = (x.global(), y.global_mut());
    let at_once = shape.vectors.min(LARGEST_TILE);
    let (side_by_side, products) = room.interleaved(at_once.saturating_mul(columns), at_once.saturating_mul(rows))?;
    let mut launches = Vec::new();
    for first in (0..shape.vectors).step_by(LARGEST_TILE) {
        let vectors = (shape.vectors - first).min(LARGEST_TILE);
        let (first, count) = (first as u32, vectors as u32);
        let of_x = Interleave {
            elements: columns as u32,
            vectors: count,
            first,
            stride: columns as u32,
            from: x,
            to: side_by_side,
        };
        let shape = Multivector { vectors, layout: Layout::RowMajor };
        let moved = Vectors { alpha, x: side_by_side.read_only(), beta: T::ZERO, y: products };
        let tiles = Tiles::of_vectors(shape, moved, rows, columns)?;
        let products_of_tile = format.multivector_launches(matrix, &tiles, room, device)?;
        let of_y = Separate {
            elements: rows as u32,
            vectors: count,
            first,
            stride: rows as u32,
            from: products.read_only(),
            beta,
            to: y,
        };
        reserve(&mut launches, products_of_tile.len() + 2)?;
        launches.push(Launch::new(grid::<T>(columns, count, device), of_x));
        launches.extend(products_of_tile);
        launches.push(Launch::new(grid::<T>(rows, count, device), of_y));
    }
    Ok(launches)
}
