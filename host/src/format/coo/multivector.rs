//! COO times several vectors at once.

use cuda_std::launch::Launch;
use gpu_kernels::multivector::coo::{CooMultivectorCarries, CooMultivectorIntervals};

use super::product::{Piece, Pieces, runs};
use crate::device::Device;
use crate::error::Error;
use crate::format::Coo;
use crate::memory::{Buffer, Memory};
use crate::parallel;
use crate::real::Scalar;
use crate::spmv::multivector::{Arguments, Tiles, multiply_row};
use crate::spmv::{Carries, HostOperands, Intervals, Room, scale};

/// Returns the launches of Y ← Y + α A X.
///
/// # Errors
/// When memory runs out.
pub(crate) fn add_products<T: Scalar, M: Memory>(
    matrix: &Coo<T, M>,
    tiles: &Tiles<T>,
    room: &mut Room<'_, T, M>,
    device: &Device,
) -> Result<Vec<Launch>, Error> {
    // Room for tiles of every size at once: a later, larger request would free what an earlier launch or recording
    // needs.
    let sizes =
        [1, 2, 4, 8, 16, 32].map(|lanes: u32| (intervals(matrix, lanes, device).count as usize, lanes as usize));
    let rows = sizes.map(|(count, _)| count).into_iter().max().unwrap_or(0);
    let values = sizes.map(|(count, lanes)| count * lanes).into_iter().max().unwrap_or(0);
    let carries = room.wide_carries(rows, values)?;
    Ok(tiles.arguments().flat_map(|arguments| add_product(matrix, arguments, carries, device)).collect())
}

/// Returns one interval per group of lanes that the device holds at a time.
fn intervals<T: Scalar, M: Memory>(matrix: &Coo<T, M>, lanes: u32, device: &Device) -> Intervals {
    Intervals::among(matrix.nnz() as u64, device.resident_threads() / u64::from(lanes))
}

/// Returns the launches of Y ← Y + α A X for one tile.
fn add_product<T: Scalar, M: Memory>(
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

/// Multiplies with several vectors in row-major layout on the CPU, in parallel.
pub(crate) fn multiply_on_cpu<T: Scalar>(
    matrix: &Coo<T>,
    vectors: usize,
    operands: HostOperands<'_, T>,
) -> Result<(), Error> {
    let HostOperands { alpha, x, beta, y } = operands;
    add_on_cpu(matrix, &Pieces::new(matrix, vectors)?, vectors, (alpha, x), y, |y| scale(y, beta));
    Ok(())
}

/// Adds α A X to Y in parallel, after `begin` has prepared each part of Y.
pub(crate) fn add_on_cpu<T: Scalar>(
    matrix: &Coo<T>,
    pieces: &Pieces,
    vectors: usize,
    (alpha, x): (T, &[T]),
    y: &mut [T],
    begin: impl Fn(&mut [T]) + Sync,
) {
    parallel::parts_mut(y, &pieces.ends, &|(piece, y)| {
        let Piece { first_row, entries } = pieces.pieces[piece].clone();
        begin(y);
        for (row, entries) in runs(matrix, entries) {
            let y = &mut y[(row - first_row) * vectors..][..vectors];
            let (columns, values) = (&matrix.column_indices()[entries.clone()], &matrix.values()[entries]);
            let add = |y: &mut T, sum| *y = alpha * sum + *y;
            multiply_row(|| columns.iter().copied().zip(values.iter().copied()), x, y, add);
        }
    });
}
