//! CSR with equal shares of the work for all warps: by entries, or by entries and rows.

use cuda_std::launch::{Grid, Launch};
use gpu_kernels::csr_load_balanced::{CsrLoadBalanced, CsrLoadBalancedAtomic};
use gpu_kernels::csr_merge_path::{self, CsrMergePath};
use gpu_kernels::csr_tiled::{self, CsrSharedRows, CsrTiled, CsrTiles};

use crate::device::{Device, WARP_LANES, with_shared_for_each_warp};
use crate::error::Error;
use crate::format::Csr;
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::intervals::Intervals;
use crate::spmv::{Room, Vectors};

/// Makes the same kernel for whichever width the row offsets have.
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
    let intervals = Intervals::new(matrix.rows() as u64 + matrix.nnz() as u64, device);
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

/// Threads of the block that has a tile: more than for other kernels, because rows of a tile share elements of x, but
/// so many only that shared memory suffices on every device.
fn tile_threads(device: &Device) -> u32 {
    (2 * device.tuning.threads_per_block()).min(512)
}

/// Waves of blocks up to which it takes less time that blocks arrive than that another launch follows.
const WAVES_THAT_ARRIVE: u64 = 2;

pub(crate) fn tiled<T: Scalar, M: Memory>(
    matrix: &Csr<T, M>,
    vectors: Vectors<T>,
    room: &mut Room<'_, T, M>,
    device: &Device,
) -> Result<Vec<Launch>, Error> {
    let Vectors { alpha, x, beta, y } = vectors;
    let threads_per_block = tile_threads(device);
    let at_once = u64::from(device.multiprocessors) * u64::from(device.threads_per_multiprocessor / threads_per_block);
    let items = matrix.rows() as u64 + matrix.nnz() as u64;
    let tiles_of = |most_taken| {
        let tile_items = csr_tiled::tile_items(threads_per_block, most_taken);
        (tile_items, most_taken, items.div_ceil(tile_items.into()))
    };
    let few = tiles_of(csr_tiled::most_taken(threads_per_block));
    let arrives = few.2 <= WAVES_THAT_ARRIVE * at_once.max(1);
    let (tile_items, most_taken, count) = if arrives { few } else { tiles_of(0) };
    let tiles = room.tiles(count as usize)?;
    let mut launches = Vec::with_capacity(3);
    if count > 0 && !tiles.known {
        let call = with_offsets!(matrix, offsets => CsrTiles {
            rows: matrix.rows() as u32,
            tiles: count as u32,
            tile_items,
            most_taken,
            row_offsets: offsets.global(),
            begins: tiles.begins_mut,
            arrivals: tiles.arrivals,
        });
        launches.push(Launch { grid: device.grid_of(count + 1), call });
    }
    let call = with_offsets!(matrix, offsets => CsrTiled {
        row_offsets: offsets.global(),
        column_indices: matrix.column_indices().global(),
        values: matrix.values().global(),
        alpha,
        x,
        beta,
        y,
        tile_items,
        begins: tiles.begins,
        pieces: tiles.pieces,
        arrivals: tiles.arrivals,
        arrives: arrives.into(),
    });
    let shared_bytes = csr_tiled::shared_bytes::<T>(threads_per_block);
    launches.push(Launch { grid: Grid { blocks: count as u32, threads_per_block, shared_bytes }, call });
    if !arrives {
        let (begins, pieces) = (tiles.begins, tiles.pieces.read_only());
        let kernel = CsrSharedRows { tiles: count as u32, alpha, beta, y, begins, pieces };
        launches.push(Launch::new(device.grid_of(count * WARP_LANES as u64), kernel));
    }
    Ok(launches)
}

/// All kernels take at most 12 additions for every 224 entries of a row and one for every 32 intervals that it
/// spans, and some 30 more for the trees and what is cut at both ends. The CPU has shorter ones, as for all of CSR.
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
