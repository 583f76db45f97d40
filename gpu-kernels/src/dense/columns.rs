//! Blocks of vectors, contiguous in memory, as the columns of a tall matrix.

use cuda_std::thread::{block_dim_x, block_idx_x, grid_dim_x, grid_threads, index_1d, sync_threads, thread_idx_x};
use cuda_std::{Global, GlobalMut, GpuFloat, GpuScalar, kernel};

use super::program::STATUS;
use crate::block::unrolled;
use crate::block_sums::{put_sum_of_warp, store_sums_of_block};
use crate::vector::update;

/// Number of columns of X and of Y that a block of threads multiplies, and of columns of Y that a thread combines.
pub const TILE: u32 = 4;

/// Number of products of a tile.
pub const TILE_PRODUCTS: u32 = TILE * TILE;

/// XᵀY: each block computes partial sums of products over some of the rows and [`TILE`] columns of X and of Y. The
/// product of column i of X with column j of Y is sum i + j · (columns of X).
///
/// # Safety
/// X and Y have at least one column each; the number of blocks is a multiple of the number of pairs of tiles; blocks
/// are made of whole warps, with [`TILE_PRODUCTS`] · 8 bytes of shared memory per warp, and have at least
/// [`TILE_PRODUCTS`] threads. `x` and `y` have `rows` elements for each of their columns; `partial_sums` has an element
/// for each product and block of one pair of tiles, `scalars` the status.
#[kernel(T: reals)]
pub unsafe fn gram<T: GpuFloat>(
    /// Number of rows.
    rows: u64,
    /// Number of columns of X.
    x_columns: u32,
    /// Number of columns of Y.
    y_columns: u32,
    /// X, column by column.
    x: Global<T>,
    /// Y, column by column.
    y: Global<T>,
    /// The slots.
    scalars: Global<f64>,
    /// Partial sums of the blocks: those of the first sum first.
    partial_sums: GlobalMut<f64>,
) {
    if scalars.load(STATUS) != 0.0 {
        return;
    }
    // At least 1, because there are columns.
    let x_tiles = x_columns.div_ceil(TILE).max(1);
    let tiles = (x_tiles * y_columns.div_ceil(TILE)).max(1);
    let (tile, part, parts) = (block_idx_x() % tiles, block_idx_x() / tiles, grid_dim_x() / tiles);
    let (first_x, first_y) = (tile % x_tiles * TILE, tile / x_tiles * TILE);
    let mut sums = [0.0; TILE_PRODUCTS as usize];
    let mut row = u64::from(part * block_dim_x() + thread_idx_x());
    while row < rows {
        let (mut of_x, mut of_y) = ([T::ZERO; TILE as usize], [T::ZERO; TILE as usize]);
        unrolled(TILE, |n| {
            if first_x + n < x_columns {
                of_x[n as usize] = x.load(u64::from(first_x + n) * rows + row);
            }
            if first_y + n < y_columns {
                of_y[n as usize] = y.load(u64::from(first_y + n) * rows + row);
            }
        });
        unrolled(TILE, |j| {
            unrolled(TILE, |i| {
                let sum = &mut sums[(j * TILE + i) as usize];
                *sum = GpuScalar::mul_add(of_x[i as usize].widen(), of_y[j as usize].widen(), *sum);
            });
        });
        row += u64::from(parts) * u64::from(block_dim_x());
    }
    unrolled(TILE, |j| unrolled(TILE, |i| put_sum_of_warp(j * TILE + i, sums[(j * TILE + i) as usize])));
    sync_threads();
    store_sums_of_block(TILE_PRODUCTS, partial_sums, |product| {
        let (i, j) = (first_x + product % TILE, first_y + product / TILE);
        let sum = u64::from(j) * u64::from(x_columns) + u64::from(i);
        (i < x_columns && j < y_columns).then(|| sum * u64::from(parts) + u64::from(part))
    });
}

/// Y ← α X C + β Y; with β = 0, Y is overwritten and never read. One thread per row. Coefficient i, j of C is in slot
/// `first_coefficient` + i + j · (columns of X).
///
/// # Safety
/// `x` and `y` have `rows` elements for each of their columns and do not overlap; the slots are inside `scalars`.
#[kernel(T: reals)]
pub unsafe fn combine_columns<T: GpuFloat>(
    /// Number of rows.
    rows: u64,
    /// Number of columns of X.
    x_columns: u32,
    /// Number of columns of Y.
    y_columns: u32,
    /// The factor of X C.
    alpha: T,
    /// X, column by column.
    x: Global<T>,
    /// The slot of the first coefficient.
    first_coefficient: u32,
    /// The slots.
    scalars: Global<f64>,
    /// The factor of Y.
    beta: T,
    /// Y, column by column.
    y: GlobalMut<T>,
) {
    if scalars.load(STATUS) != 0.0 {
        return;
    }
    let mut row = u64::from(index_1d());
    while row < rows {
        let mut first_y = 0;
        while first_y < y_columns {
            let mut sums = [T::ZERO; TILE as usize];
            let mut first_x = 0;
            while first_x < x_columns {
                let mut of_x = [T::ZERO; TILE as usize];
                unrolled(TILE, |i| {
                    if first_x + i < x_columns {
                        of_x[i as usize] = x.load(u64::from(first_x + i) * rows + row);
                    }
                });
                unrolled(TILE, |j| {
                    unrolled(TILE, |i| {
                        if first_x + i < x_columns && first_y + j < y_columns {
                            let slot = first_coefficient + (first_y + j) * x_columns + first_x + i;
                            let coefficient = T::narrow(scalars.load(slot));
                            sums[j as usize] = of_x[i as usize].mul_add(coefficient, sums[j as usize]);
                        }
                    });
                });
                first_x += TILE;
            }
            unrolled(TILE, |j| {
                if first_y + j < y_columns {
                    update(y, u64::from(first_y + j) * rows + row, alpha, sums[j as usize], beta);
                }
            });
            first_y += TILE;
        }
        row += u64::from(grid_threads());
    }
}
