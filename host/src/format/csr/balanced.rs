//! CSR with equal shares of the work for all warps: by entries, or by entries and rows.

use cuda_std::launch::{Grid, Launch};
use gpu_kernels::csr_load_balanced::{CsrLoadBalanced, CsrLoadBalancedAtomic};
use gpu_kernels::csr_merge_path::{self, CsrMergePath};
use gpu_kernels::csr_tiled::{self, CsrTileRows, CsrTiled};
use gpu_kernels::csr_tiled_arriving::{self, CsrTiledArriving, CsrTiles};

use super::ahead::Ahead;
use crate::device::{Device, with_shared_for_each_warp};
use crate::error::Error;
use crate::format::Csr;
use crate::format::narrow::{StoredAs, Values};
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::intervals::Intervals;
use crate::spmv::{Carries, Room, Vectors};

/// Makes the same kernel for either width of the row offsets.
macro_rules! with_offsets {
    ($matrix:expr, $offsets:ident => $kernel:expr) => {{
        let call: ::cuda_std::launch::Call = match $matrix.row_offsets() {
            $crate::format::Offsets::Narrow($offsets) => ::cuda_std::launch::Call::new($kernel),
            $crate::format::Offsets::Wide($offsets) => ::cuda_std::launch::Call::new($kernel),
        };
        call
    }};
}
pub(crate) use with_offsets;

pub(crate) fn load_balanced<T: Scalar, M: Memory>(
    matrix: &Csr<T, M>,
    vectors: Vectors<T>,
    room: &mut Room<'_, T, M>,
    device: &Device,
) -> Result<Vec<Launch>, Error> {
    let Vectors { alpha, x, y, .. } = vectors;
    let intervals = Intervals::new(matrix.nnz() as u64, device);
    let carries = room.carries(intervals.count as usize)?;
    let call = with_offsets!(matrix, offsets => CsrLoadBalanced {
        rows: matrix.rows() as u32,
        nnz: matrix.nnz() as u64,
        interval: intervals.length,
        row_offsets: offsets.global(),
        column_indices: matrix.column_indices().global(),
        values: matrix.values().global(),
        alpha,
        x,
        y,
        carry_rows: carries.rows_mut,
        carry_values: carries.values_mut,
    });
    Ok(vec![
        vectors.scale(matrix.rows(), device),
        Launch { grid: intervals.grid(device), call },
        intervals.carries(alpha, y, carries, device),
    ])
}

pub(crate) fn load_balanced_atomic<T: Scalar, M: Memory>(
    matrix: &Csr<T, M>,
    vectors: Vectors<T>,
    device: &Device,
) -> Vec<Launch> {
    let Vectors { alpha, x, y, .. } = vectors;
    let intervals = Intervals::oversubscribed(matrix.nnz() as u64, device);
    let call = with_offsets!(matrix, offsets => CsrLoadBalancedAtomic {
        rows: matrix.rows() as u32,
        nnz: matrix.nnz() as u64,
        interval: intervals.length,
        row_offsets: offsets.global(),
        column_indices: matrix.column_indices().global(),
        values: matrix.values().global(),
        alpha,
        x,
        y,
    });
    vec![vectors.scale(matrix.rows(), device), Launch { grid: intervals.grid(device), call }]
}

pub(crate) fn merge_path<T: Scalar, M: Memory>(
    matrix: &Csr<T, M>,
    vectors: Vectors<T>,
    room: &mut Room<'_, T, M>,
    device: &Device,
) -> Result<Vec<Launch>, Error> {
    let Vectors { alpha, x, beta, y } = vectors;
    let intervals = Intervals::new(items(matrix), device);
    let carries = room.carries(intervals.count as usize)?;
    let grid = with_shared_for_each_warp(intervals.grid(device), csr_merge_path::shared_bytes::<T>());
    let call = with_offsets!(matrix, offsets => CsrMergePath {
        rows: matrix.rows() as u32,
        nnz: matrix.nnz() as u64,
        interval: intervals.length,
        row_offsets: offsets.global(),
        column_indices: matrix.column_indices().global(),
        values: matrix.values().global(),
        alpha,
        x,
        beta,
        y,
        carry_rows: carries.rows_mut,
        carry_values: carries.values_mut,
    });
    Ok(vec![Launch { grid, call }, intervals.carries(alpha, y, carries, device)])
}

/// Returns the threads per block of a tile: more than in other kernels, because rows of a tile share elements of x, but
/// few enough for the shared memory of every device.
fn tile_threads(device: &Device) -> u32 {
    (2 * device.tuning.threads_per_block()).min(512)
}

/// Returns the same for tiles that arrive: fewer, so that the registers of a multiprocessor are all in use.
fn arriving_threads(device: &Device) -> u32 {
    (2 * device.tuning.threads_per_block()).min(256)
}

/// Largest number of waves of blocks for which arrivals take less time than another launch.
const WAVES_THAT_ARRIVE: u64 = 4;

/// Divides `items` rows and entries into tiles of `length` each.
fn tiles_of(items: u64, length: u32) -> Intervals {
    let length = length.into();
    Intervals { length, count: items.div_ceil(length) }
}

/// Returns the number of rows and entries.
fn items<T: Scalar, M: Memory>(matrix: &Csr<T, M>) -> u64 {
    matrix.rows() as u64 + matrix.nnz() as u64
}

/// Returns the tiles for blocks of `threads` that arrive, unless these would be too many: the smallest that the device holds
/// at the same time.
fn arriving_tiles<T>(items: u64, threads: u32, device: &Device) -> Option<Intervals> {
    let blocks = device.resident_threads() / u64::from(threads);
    let most = csr_tiled_arriving::most_items(threads);
    if tiles_of(items, most).count > WAVES_THAT_ARRIVE * blocks.max(1) {
        return None;
    }
    // Registers leave room for fewer blocks where elements take more bytes.
    let eighths = match size_of::<T>() {
        0..=4 => 8,
        5..=8 => 6,
        _ => 4,
    };
    let at_once = (blocks * eighths / 8).max(1);
    let least = csr_tiled_arriving::least_items(threads);
    Some(tiles_of(items, items.div_ceil(at_once).clamp(least.into(), most.into()) as u32))
}

pub(crate) fn tiled<V: StoredAs<T>, T: Scalar, M: Memory>(
    matrix: &Csr<T, M>,
    values: Values<V, T>,
    vectors: Vectors<T>,
    room: &mut Room<'_, T, M>,
    device: &Device,
) -> Result<Vec<Launch>, Error> {
    let threads_per_block = arriving_threads(device);
    match arriving_tiles::<T>(items(matrix), threads_per_block, device) {
        Some(tiles) => tiled_arriving(matrix, values, vectors, room, (tiles, threads_per_block), device),
        None => tiled_with_carries(matrix, values, vectors, room, device),
    }
}

/// Returns a single launch, for few tiles, which have blocks of this many threads.
fn tiled_arriving<V: StoredAs<T>, T: Scalar, M: Memory>(
    matrix: &Csr<T, M>,
    values: Values<V, T>,
    vectors: Vectors<T>,
    room: &mut Room<'_, T, M>,
    (tiles, threads_per_block): (Intervals, u32),
    device: &Device,
) -> Result<Vec<Launch>, Error> {
    let Vectors { alpha, x, beta, y } = vectors;
    let tile_room = room.tiles(tiles.count as usize)?;
    let mut launches = Vec::with_capacity(2);
    if tiles.count > 0 && !tile_room.known {
        let call = with_offsets!(matrix, offsets => CsrTiles {
            rows: matrix.rows() as u32,
            tiles: tiles.count as u32,
            tile_items: tiles.length as u32,
            most_taken: csr_tiled_arriving::most_taken(threads_per_block, tiles.length as u32),
            row_offsets: offsets.global(),
            begins: tile_room.begins_mut,
            arrivals: tile_room.arrivals,
        });
        launches.push(Launch { grid: device.grid_of(tiles.count + 1), call });
    }
    let grid = grid_of_tiles::<T>(&tiles, threads_per_block);
    let ahead = Ahead::new::<V, T, M>(matrix, grid, device);
    let call = with_offsets!(matrix, offsets => CsrTiledArriving {
        row_offsets: offsets.global(),
        column_indices: matrix.column_indices().global(),
        values: values.stored,
        table: values.table,
        alpha,
        x,
        beta,
        y,
        tile_items: tiles.length as u32,
        begins: tile_room.begins,
        pieces: tile_room.pieces,
        arrivals: tile_room.arrivals,
        entries_ahead: ahead.entries,
        elements_ahead: ahead.elements,
        rows_ahead: ahead.rows,
    });
    launches.push(Launch { grid, call });
    Ok(launches)
}

/// Returns two launches. The carries are in the workspace of tiles: products of several vectors overwrite the workspace
/// of other carries, and the carry rows are computed only once.
fn tiled_with_carries<V: StoredAs<T>, T: Scalar, M: Memory>(
    matrix: &Csr<T, M>,
    values: Values<V, T>,
    vectors: Vectors<T>,
    room: &mut Room<'_, T, M>,
    device: &Device,
) -> Result<Vec<Launch>, Error> {
    let Vectors { alpha, x, beta, y } = vectors;
    let threads_per_block = tile_threads(device);
    let tiles = tiles_of(items(matrix), csr_tiled::tile_items(threads_per_block));
    let tile_room = room.tiles(tiles.count as usize)?;
    let mut launches = Vec::with_capacity(3);
    if !tile_room.known {
        let call = with_offsets!(matrix, offsets => CsrTileRows {
            rows: matrix.rows() as u32,
            tiles: tiles.count as u32,
            tile_items: tiles.length as u32,
            row_offsets: offsets.global(),
            carry_rows: tile_room.begins_mut,
        });
        launches.push(Launch { grid: device.grid_of(tiles.count), call });
    }
    let call = with_offsets!(matrix, offsets => CsrTiled {
        rows: matrix.rows() as u32,
        nnz: matrix.nnz() as u64,
        row_offsets: offsets.global(),
        column_indices: matrix.column_indices().global(),
        values: values.stored,
        table: values.table,
        alpha,
        x,
        beta,
        y,
        carry_rows: tile_room.begins,
        carry_values: tile_room.pieces,
    });
    launches.push(Launch { grid: grid_of_tiles::<T>(&tiles, threads_per_block), call });
    let carries = Carries {
        rows: tile_room.begins,
        rows_mut: tile_room.begins_mut,
        values: tile_room.pieces.read_only(),
        values_mut: tile_room.pieces,
    };
    launches.push(tiles.carries(alpha, y, carries, device));
    Ok(launches)
}

/// Returns a grid with a block per tile.
fn grid_of_tiles<T>(tiles: &Intervals, threads_per_block: u32) -> Grid {
    let shared_bytes = csr_tiled::shared_bytes::<T>(threads_per_block);
    Grid { blocks: tiles.count as u32, threads_per_block, shared_bytes }
}

/// Returns the longest chain. All kernels take at most 12 additions per 224 entries of a row, one per 32 intervals that
/// it spans, and some 30 more for the trees and the cut pieces at both ends. The chains of the CPU are shorter, as for
/// all of CSR.
pub(crate) fn longest_chain(length: usize) -> usize {
    (length.div_ceil(4) + 32).min(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_never_longer_than_the_row() {
        for length in 0..1000 {
            assert!(longest_chain(length) <= length);
        }
        assert_eq!(longest_chain(1000), 282);
    }
}
