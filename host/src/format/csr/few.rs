//! CSR times a few vectors at once, with a lane per entry.

use cuda_std::launch::{Grid, Launch};
use cuda_std::{Elements, Global, Pair, Quad};
use gpu_kernels::csr_tiled_arriving;
use gpu_kernels::multivector::csr_tiled_few::CsrTiledFew;

use super::balanced::{grid_of_tiles, tile_begins, tiles_of, with_offsets};
use crate::device::Device;
use crate::error::Error;
use crate::format::Csr;
use crate::memory::{Buffer, Memory, with_capacity};
use crate::real::Scalar;
use crate::spmv::multivector::LARGEST_ACCESS;
use crate::spmv::{Layout, Multivector, Room, TileRoom, Vectors, interleaved};

/// Maximum number of vectors. A further pass should take a third of a product of one vector, so that for many of them a
/// lane per vector is faster.
const MOST_VECTORS: usize = 8;

/// Minimum number of vectors for which moving those of X side by side can pay.
const LEAST_MOVED: usize = 4;

/// Whether [`launches`] is for this many vectors.
pub(super) fn multiplies(vectors: usize) -> bool {
    (1..=MOST_VECTORS).contains(&vectors)
}

/// Returns the launches of Y ← α A X + β Y. Vectors of X that are stored consecutively are moved side by side where
/// that pays; Y is written where it is.
///
/// # Errors
/// When memory runs out.
pub(super) fn launches<T: Scalar, M: Memory>(
    matrix: &Csr<T, M>,
    shape: Multivector,
    vectors: Vectors<T>,
    room: &mut Room<'_, T, M>,
    device: &Device,
) -> Result<Vec<Launch>, Error> {
    if matrix.rows() == 0 {
        return Ok(Vec::new());
    }
    let (count, columns) = (shape.vectors, matrix.columns());
    // At least two warps, one for each row that a block shares with others.
    let threads = device.tuning.threads_per_block().clamp(64, 256);
    let tiles = tiles_of(matrix, csr_tiled_arriving::tile_items(threads));
    // Room for all numbers of vectors at once: a later, larger request would free what an earlier launch or recording
    // needs.
    let tile_room = room.tiles_of_few(tiles.count as usize, MOST_VECTORS)?;
    let mut launches = with_capacity(3)?;
    if !tile_room.known {
        launches.push(tile_begins(matrix, &tiles, tile_room, threads, device));
    }
    let (mut x, mut layout) = (vectors.x, shape.layout);
    let can_move = fits::<Pair<T>>(count) && layout == Layout::ColumnMajor && count >= LEAST_MOVED;
    if can_move && interleaved::pays_for_x(count, [matrix.nnz(), columns], device) {
        let (moved, _) = room.interleaved(count.saturating_mul(columns), 0)?;
        launches.push(interleaved::side_by_side(columns, [0, count], x, moved, device));
        (x, layout) = (moved.read_only(), Layout::RowMajor);
    }
    let side_by_side = layout == Layout::RowMajor;
    let quads = if side_by_side && fits::<Quad<T>>(count) { x.as_quads() } else { None };
    let pairs = if side_by_side && fits::<Pair<T>>(count) { x.as_pairs() } else { None };
    let operands = (shape, vectors);
    let launch = if let Some(x) = quads {
        launch(matrix, Passes::side_by_side(x, count), operands, tile_room, grid_of_tiles::<Quad<T>>(&tiles, threads))
    } else if let Some(x) = pairs {
        launch(matrix, Passes::side_by_side(x, count), operands, tile_room, grid_of_tiles::<Pair<T>>(&tiles, threads))
    } else {
        let (element_stride, stride) = Multivector { layout, ..shape }.strides(columns);
        let passes = Passes { count: count as u32, x, element_stride: element_stride as u32, stride: stride as u32 };
        launch(matrix, passes, operands, tile_room, grid_of_tiles::<T>(&tiles, threads))
    };
    launches.push(launch);
    Ok(launches)
}

/// Whether this many vectors are a multiple of those of `E`, which is loaded in one access.
fn fits<E: Elements>(vectors: usize) -> bool {
    vectors.is_multiple_of(E::COUNT as usize) && size_of::<E>() <= LARGEST_ACCESS
}

/// The passes over X: what each of them multiplies, and how far apart.
struct Passes<E> {
    count: u32,
    x: Global<E>,
    /// Distance from one element to the next.
    element_stride: u32,
    /// Distance from one pass to the next.
    stride: u32,
}

impl<E: Elements> Passes<E> {
    /// Passes over row-major vectors, this many in all.
    fn side_by_side(x: Global<E>, vectors: usize) -> Self {
        let count = vectors as u32 / E::COUNT;
        Self { count, x, element_stride: count, stride: 1 }
    }
}

/// Returns the launch of the product.
fn launch<E: Elements<Number = T>, T: Scalar, M: Memory>(
    matrix: &Csr<T, M>,
    passes: Passes<E>,
    (shape, vectors): (Multivector, Vectors<T>),
    tile_room: TileRoom<T>,
    grid: Grid,
) -> Launch {
    let (y_element_stride, y_vector_stride) = shape.strides(matrix.rows());
    let call = with_offsets!(matrix, offsets => CsrTiledFew {
        passes: passes.count,
        x_element_stride: passes.element_stride,
        x_pass_stride: passes.stride,
        y_element_stride: y_element_stride as u32,
        y_vector_stride: y_vector_stride as u32,
        row_offsets: offsets.global(),
        column_indices: matrix.column_indices().global(),
        values: matrix.values().global(),
        alpha: vectors.alpha,
        x: passes.x,
        beta: vectors.beta,
        y: vectors.y,
        begins: tile_room.begins,
        pieces: tile_room.pieces,
        arrivals: tile_room.arrivals,
    });
    Launch { grid, call }
}
