//! COO-16: all products, then the sums of each row panel, then the carries.

use cuda_std::launch::{Grid, Launch};
use gpu_kernels::coo::CooCarries;
use gpu_kernels::coo_16::{Coo16Products, Coo16Sums, first_block, sums_shared_bytes};

use crate::device::{Device, WARP_LANES};
use crate::error::Error;
use crate::format::Coo16;
use crate::format::narrow::{HostValues, StoredAs, Values};
use crate::memory::{Buffer, Memory, with_capacity, zeros};
use crate::parallel;
use crate::real::Scalar;
use crate::spmv::{HostOperands, Room, Vectors, update};

/// Largest number of entries per block: with this many, reading the panel of x is comparatively cheap.
const MOST_ENTRIES: u64 = 1 << 16;

/// Successive blocks per multiprocessor, for equal work on all.
const BLOCKS_AFTER_EACH_OTHER: u64 = 8;

/// Threads per block of the sums: its warps have nothing in common.
const SUM_THREADS: u32 = 128;

pub(crate) fn coo_16<V: StoredAs<T>, T: Scalar, M: Memory>(
    matrix: &Coo16<T, M>,
    values: Values<V, T>,
    vectors: Vectors<T>,
    room: &mut Room<'_, T, M>,
    device: &Device,
) -> Result<Vec<Launch>, Error> {
    let Vectors { alpha, x, beta, y } = vectors;
    let what = "number of bytes of shared memory that COO-16 needs in a block";
    let shared_bytes = device.shared_of_block(what, matrix.panels().shared_bytes::<T>(matrix.columns()))?;
    let (row_panels, column_panels) = matrix.panel_counts();
    let carries = room.wide_carries(0, row_panels)?;
    let (products_mut, products) = room.products(matrix.nnz())?;
    let (nnz, column_panels) = (matrix.nnz() as u32, column_panels as u32);
    let mut launches = Vec::with_capacity(3);
    if nnz > 0 {
        let shared = u64::from(device.multiprocessors) * BLOCKS_AFTER_EACH_OTHER;
        let least = (2 * matrix.panel_columns() as u64).min(MOST_ENTRIES);
        let block_entries = (u64::from(nnz) / shared).clamp(least, MOST_ENTRIES).next_multiple_of(64) as u32;
        let kernel = Coo16Products {
            columns: matrix.columns() as u32,
            nnz,
            panel_columns: matrix.panel_columns() as u32,
            column_panels,
            block_entries,
            tile_begins: matrix.tile_begins().global(),
            column_offsets: matrix.column_offsets().global(),
            values: values.stored,
            table: values.table,
            x,
            products: products_mut,
        };
        let blocks = first_block(nnz, column_panels, block_entries);
        // Few blocks fit on a multiprocessor, because each has a panel of x: so they are large.
        let threads_per_block = (3 * device.tuning.threads_per_block()).min(1024);
        let grid = Grid { blocks, threads_per_block, shared_bytes };
        launches.push(Launch::new(grid, kernel));
    }
    let panel_slots = matrix.panel_slots() as u32;
    let kernel = Coo16Sums {
        rows: matrix.rows() as u32,
        panel_slots,
        row_panels: row_panels as u32,
        column_panels,
        slot_begins: matrix.slot_begins().global(),
        panel_rows: matrix.panel_rows().global(),
        tile_begins: matrix.tile_begins().global(),
        tile_words: matrix.tile_words().global(),
        slot_offsets: matrix.slot_offsets().global(),
        products,
        alpha,
        beta,
        y,
        carry_values: carries.values_mut,
    };
    let warps = SUM_THREADS / WARP_LANES as u32;
    let grid = Grid {
        blocks: (row_panels as u32).div_ceil(warps),
        threads_per_block: SUM_THREADS,
        shared_bytes: sums_shared_bytes::<T>(warps, panel_slots),
    };
    launches.push(Launch::new(grid, kernel));
    let kernel = CooCarries {
        intervals: row_panels as u32,
        carry_rows: matrix.panel_rows().global(),
        carry_values: carries.values,
        alpha,
        y,
    };
    launches.push(Launch::new(device.grid_of((row_panels * WARP_LANES) as u64), kernel));
    Ok(launches)
}

pub(crate) fn multiply_on_cpu<V: StoredAs<T>, T: Scalar>(
    matrix: &Coo16<T>,
    values: HostValues<'_, V, T>,
    operands: HostOperands<'_, T>,
) -> Result<(), Error> {
    let HostOperands { alpha, x, beta, y } = operands;
    let (row_panels, column_panels) = matrix.panel_counts();
    // Allocated at once, before y is written, so y stays intact if memory runs out.
    let mut sums = zeros::<T>(row_panels * matrix.panel_slots())?;
    let mut sums_of_panels = sums.chunks_mut(matrix.panel_slots().max(1));
    let mut parts = with_capacity(row_panels)?;
    let (mut first_row, mut left) = (0, &mut y[..]);
    for panel in 0..row_panels {
        let end_row = if panel + 1 < row_panels { matrix.panel_rows()[panel] as usize } else { matrix.rows() };
        let (own, rest) = std::mem::take(&mut left).split_at_mut(end_row - first_row);
        left = rest;
        parts.push((first_row, own, sums_of_panels.next().unwrap_or_default()));
        first_row = end_row;
    }
    let carries = parallel::map_items(parts, &|(panel, (first_row, y, sums))| {
        for column_panel in 0..column_panels {
            for entry in matrix.tile(panel, column_panel).places() {
                let sum = &mut sums[matrix.slot(entry)];
                *sum = *sum + values.at(entry) * x[matrix.column(column_panel, entry) as usize];
            }
        }
        let begin = panel * matrix.panel_slots();
        let sum_of = |row: usize| {
            let slots = matrix.slots_of_row(row);
            let own = slots.start.max(begin)..slots.end.min(begin + sums.len());
            own.fold(T::ZERO, |sum, slot| sum + sums[slot - begin])
        };
        let end_row = first_row + y.len();
        for (row, y) in (first_row..).zip(y) {
            update(y, alpha, sum_of(row), beta);
        }
        if panel + 1 < row_panels { sum_of(end_row) } else { T::ZERO }
    })?;
    for (&row, carry) in matrix.panel_rows().iter().zip(carries) {
        let y = &mut y[row as usize];
        *y = *y + alpha * carry;
    }
    Ok(())
}
