//! Column panels: the sums of all pieces, then those of the rows.

use cuda_std::launch::{Grid, Launch};
use gpu_kernels::column_panels::{ColumnPanels as Pieces, ColumnPanelsRows, MOST_BLOCKS, ROW_THREADS};

use super::{ENTRIES, LANES, places_of, value_index};
use crate::device::Device;
use crate::error::Error;
use crate::format::ColumnPanels;
use crate::format::narrow::{HostValues, StoredAs, Values};
use crate::memory::{Buffer, Memory, zeros};
use crate::parallel::{self, ROWS_AT_ONCE};
use crate::real::Scalar;
use crate::spmv::{HostOperands, Room, Vectors, update};

/// Pieces per task.
const PIECES_AT_ONCE: usize = 1024;

pub(super) fn column_panels<V: StoredAs<T>, T: Scalar, M: Memory>(
    matrix: &ColumnPanels<T, M>,
    values: Values<V, T>,
    vectors: Vectors<T>,
    room: &mut Room<'_, T, M>,
    device: &Device,
) -> Result<Vec<Launch>, Error> {
    let Vectors { alpha, x, beta, y } = vectors;
    let (rows, columns) = (matrix.rows() as u32, matrix.columns() as u32);
    let (pieces, tiles) = (matrix.piece_numbers().len(), matrix.tiles());
    let (sums_mut, sums) = room.products(pieces)?;
    let mut launches = Vec::with_capacity(2);
    if tiles > 0 {
        let table_length = values.table.length();
        let elements = matrix.panel_columns().min(matrix.columns()) + table_length;
        let what = "number of bytes of shared memory that column panels need in a block";
        let shared_bytes = device.shared_of_block(what, (elements * size_of::<T>()) as u32)?;
        let kernel = Pieces {
            rows,
            columns,
            panel_columns: matrix.panel_columns() as u32,
            panels: matrix.panels() as u32,
            tiles: tiles as u32,
            pieces: pieces as u32,
            panel_tiles: matrix.panel_tiles().global(),
            tile_pieces: matrix.tile_pieces().global(),
            lane_words: matrix.lane_words().global(),
            column_offsets: matrix.column_offsets().global(),
            values: values.stored,
            table: values.table,
            table_length: table_length as u32,
            row_begins: matrix.row_begins().global(),
            piece_numbers: matrix.piece_numbers().global(),
            x,
            sums: sums_mut,
        };
        // One block per multiprocessor, which has most of its shared memory, and as many threads as have the registers.
        let most_threads = if size_of::<T>() > 8 { 512 } else { 1024 };
        let threads_per_block = (4 * device.tuning.threads_per_block()).min(most_threads);
        let warps = threads_per_block / LANES as u32;
        let blocks = device.multiprocessors.min((tiles as u32).div_ceil(warps)).min(MOST_BLOCKS);
        launches.push(Launch::new(Grid { blocks, threads_per_block, shared_bytes }, kernel));
    }
    let kernel = ColumnPanelsRows {
        rows,
        row_begins: matrix.row_begins().global(),
        piece_numbers: matrix.piece_numbers().global(),
        sums,
        alpha,
        beta,
        y,
    };
    launches.push(Launch::new(device.uneven_grid(u64::from(rows) * u64::from(ROW_THREADS)), kernel));
    Ok(launches)
}

pub(super) fn multiply_on_cpu<V: StoredAs<T>, T: Scalar>(
    matrix: &ColumnPanels<T>,
    values: HostValues<'_, V, T>,
    operands: HostOperands<'_, T>,
) -> Result<(), Error> {
    let HostOperands { alpha, x, beta, y } = operands;
    let begins = matrix.piece_begins()?;
    let mut sums = zeros::<T>(matrix.piece_numbers().len())?;
    parallel::fill(&mut sums, PIECES_AT_ONCE, &|piece| {
        let places = places_of(&begins, piece as u32);
        let first_column = matrix.columns_of_panel(matrix.panel_of(places.start / ENTRIES)).start;
        places.fold(T::ZERO, |sum, place| {
            let column = first_column + matrix.column_offset(place) as usize;
            sum + values.at(value_index(place)) * x[column]
        })
    });
    parallel::chunks_mut(y, ROWS_AT_ONCE, 1, &|(chunk, y)| {
        for (row, y) in (chunk * ROWS_AT_ONCE..).zip(y) {
            let sum = matrix.pieces_of(row).iter().fold(T::ZERO, |sum, &piece| sum + sums[piece as usize]);
            update(y, alpha, sum, beta);
        }
    });
    Ok(())
}
