//! CSR times several vectors at once.

use cuda_std::launch::{Grid, Launch};
use cuda_std::{Elements, GlobalMut, Pair};
use gpu_kernels::multivector::Tile;
use gpu_kernels::multivector::coo::CooMultivectorCarries;
use gpu_kernels::multivector::csr::CsrMultivector;
use gpu_kernels::multivector::csr_tiled::{self, CsrTiledMultivector};

use super::balanced::with_offsets;
use crate::device::Device;
use crate::error::Error;
use crate::format::Csr;
use crate::memory::{Buffer, Memory, collect, with_capacity};
use crate::real::Scalar;
use crate::spmv::multivector::{Arguments, LARGEST_TILE, ROWS_AT_ONCE, Tiles, multiply_rows};
use crate::spmv::{HostOperands, Room};

/// Returns the launches of Y ← α A X + β Y with one row per group of lanes.
///
/// # Errors
/// When memory runs out.
pub(super) fn by_rows<T: Scalar, M: Memory>(
    matrix: &Csr<T, M>,
    tiles: &Tiles<T>,
    device: &Device,
) -> Result<Vec<Launch>, Error> {
    match tiles.arguments_of_pairs() {
        Some(pairs) => collect(pairs.map(|arguments| launch(matrix, arguments, device))),
        None => collect(tiles.arguments().map(|arguments| launch(matrix, arguments, device))),
    }
}

/// Returns the launch for one tile.
fn launch<E: Elements<Number = T>, T: Scalar, M: Memory>(
    matrix: &Csr<T, M>,
    arguments: Arguments<E>,
    device: &Device,
) -> Launch {
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
    Launch { grid: device.uneven_grid(u64::from(rows) * u64::from(tile.lanes)), call }
}

/// Tiles per launch: where one has too few blocks for the device, two have enough.
const TILES_AT_ONCE: usize = 2;

/// Returns the threads per block of a share: at least two warps, one for each end of the share.
fn share_threads(device: &Device) -> u32 {
    device.tuning.threads_per_block().clamp(64, 256)
}

/// Returns the launches of Y ← α A X + β Y with equal shares of rows and entries for all blocks.
///
/// # Errors
/// When memory runs out.
pub(super) fn in_shares<T: Scalar, M: Memory>(
    matrix: &Csr<T, M>,
    tiles: &Tiles<T>,
    room: &mut Room<'_, T, M>,
    device: &Device,
) -> Result<Vec<Launch>, Error> {
    let items = matrix.rows() as u64 + matrix.nnz() as u64;
    let shares = items.div_ceil(csr_tiled::share_items(share_threads(device)).into()) as u32;
    // Room for tiles of every size at once: a later, larger request would free what an earlier launch or recording
    // needs.
    let values = (shares as usize).saturating_mul(TILES_AT_ONCE * LARGEST_TILE * Pair::<T>::COUNT as usize);
    let carries = room.wide_carries(shares as usize, values)?;
    match tiles.arguments_of_pairs().zip(carries.values_mut.as_pairs()) {
        Some((pairs, carry_values)) => share_launches(matrix, pairs, (carries.rows_mut, carry_values), shares, device),
        None => share_launches(matrix, tiles.arguments(), (carries.rows_mut, carries.values_mut), shares, device),
    }
}

/// Returns the launches for all tiles, given the workspace for carries.
fn share_launches<E: Elements<Number = T>, T: Scalar, M: Memory>(
    matrix: &Csr<T, M>,
    tiles: impl ExactSizeIterator<Item = Arguments<E>>,
    (carry_rows, carry_values): (GlobalMut<u32>, GlobalMut<E>),
    shares: u32,
    device: &Device,
) -> Result<Vec<Launch>, Error> {
    let threads_per_block = share_threads(device);
    let shared_bytes = csr_tiled::shared_bytes::<E, T>(threads_per_block);
    let mut launches = with_capacity(2 * tiles.len())?;
    let mut tiles = tiles.peekable();
    while let Some(Arguments { rows, tile, alpha, x, beta, y }) = tiles.next() {
        let mut together = 1;
        while together < TILES_AT_ONCE && tiles.next_if(|next| next.tile.lanes == tile.lanes).is_some() {
            together += 1;
        }
        let call = with_offsets!(matrix, offsets => CsrTiledMultivector {
            rows,
            nnz: matrix.nnz() as u64,
            tile,
            tiles: together as u32,
            row_offsets: offsets.global(),
            column_indices: matrix.column_indices().global(),
            values: matrix.values().global(),
            alpha,
            x,
            beta,
            y,
            carry_rows,
            carry_values,
        });
        launches
            .push(Launch { grid: Grid { blocks: shares * together as u32, threads_per_block, shared_bytes }, call });
        for number in 0..together {
            let carries_before = number * shares as usize * tile.lanes as usize;
            let carries = CooMultivectorCarries {
                intervals: shares,
                tile: Tile { first_vector: tile.first_vector + number as u32 * tile.lanes, ..tile },
                carry_rows: carry_rows.read_only(),
                carry_values: carry_values.read_only().after(carries_before),
                alpha,
                y,
            };
            launches.push(Launch::new(device.grid_of(u64::from(shares) * u64::from(tile.lanes)), carries));
        }
    }
    Ok(launches)
}

/// Multiplies with several vectors in row-major layout on the CPU, in parallel.
pub(super) fn multiply_on_cpu<T: Scalar>(matrix: &Csr<T>, vectors: usize, operands: HostOperands<'_, T>) {
    multiply_rows(vectors, operands, ROWS_AT_ONCE, |row| (row, matrix.row(row)));
}
