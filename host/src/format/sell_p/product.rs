//! SELL-P: one thread per row.

use cuda_std::launch::{Call, Launch};
use gpu_kernels::ell::PADDING;
use gpu_kernels::sell_p::{self, SellPSorted};

use crate::device::Device;
use crate::format::SellP;
use crate::format::ell::product::with_batches;
use crate::format::narrow::{HostValues, StoredAs, Values};
use crate::memory::{Buffer, Memory};
use crate::parallel;
use crate::real::Scalar;
use crate::spmv::{HostOperands, Vectors, update};

/// Least number of rows per CPU task.
const ROWS_AT_ONCE: usize = 1024;

/// Rows of a slice whose sums a CPU thread holds at a time.
const SUMS_AT_ONCE: usize = 64;

pub(crate) fn sell_p<V: StoredAs<T>, T: Scalar, M: Memory>(
    matrix: &SellP<T, M>,
    values: Values<V, T>,
    vectors: Vectors<T>,
    device: &Device,
) -> Launch {
    let rows = matrix.rows() as u32;
    let slice_size = matrix.slicing().slice_size;
    let slice_begins = matrix.slice_begins().global();
    let column_indices = matrix.column_indices().global();
    let Values { stored: values, table } = values;
    let Vectors { alpha, x, beta, y } = vectors;
    let work = matrix.rows() as u64;
    let threads_per_block = device.block_for_rows(matrix.rows());
    let (grid, call): (_, Call) = if matrix.row_indices().is_empty() {
        let call = with_batches!(matrix.rows(), device, BATCHES => Call::new(sell_p::SellP::<V, T, BATCHES> {
            rows,
            slice_size,
            slice_begins,
            column_indices,
            values,
            table,
            alpha,
            x,
            beta,
            y,
        }));
        (device.grid_of_blocks(work, threads_per_block), call)
    } else {
        let row_indices = matrix.row_indices().global();
        let call = with_batches!(matrix.rows(), device, BATCHES => Call::new(SellPSorted::<V, T, BATCHES> {
            rows,
            slice_size,
            slice_begins,
            row_indices,
            column_indices,
            values,
            table,
            alpha,
            x,
            beta,
            y,
        }));
        // Within a window of rows, the first slices have more work than the last.
        (device.uneven_grid_of_blocks(work, threads_per_block), call)
    };
    Launch { grid, call }
}

/// Multiplies in tasks of whole slices and whole windows of sorted rows, so their results lie within one part of y.
pub(crate) fn multiply_on_cpu<V: StoredAs<T>, T: Scalar>(
    matrix: &SellP<T>,
    values: HostValues<'_, V, T>,
    operands: HostOperands<'_, T>,
) {
    let HostOperands { alpha, x, beta, y } = operands;
    let slice_size = matrix.slicing().slice_size as usize;
    let window = slice_size.max(matrix.slicing().sigma as usize);
    let rows_at_once = ROWS_AT_ONCE.next_multiple_of(window);
    parallel::chunks_mut(y, rows_at_once, 1, &|(chunk, y)| {
        let first_row = chunk * rows_at_once;
        let end = first_row + y.len();
        let mut position = first_row;
        while position < end {
            let in_slice = slice_size - position % slice_size;
            let mut sums = [T::ZERO; SUMS_AT_ONCE];
            let sums = &mut sums[..in_slice.min(end - position).min(SUMS_AT_ONCE)];
            add_places(matrix, values, position, x, sums);
            for &mut sum in sums {
                update(&mut y[matrix.row_at(position) - first_row], alpha, sum, beta);
                position += 1;
            }
        }
    });
}

/// Adds the products of adjacent rows of one slice, from `position` on, to their sums.
fn add_places<V: StoredAs<T>, T: Scalar>(
    matrix: &SellP<T>,
    values: HostValues<'_, V, T>,
    position: usize,
    x: &[T],
    sums: &mut [T],
) {
    let slice_size = matrix.slicing().slice_size as usize;
    let slice = position / slice_size;
    for begin in matrix.slice_begins()[slice]..matrix.slice_begins()[slice + 1] {
        let first = begin as usize * slice_size + position % slice_size;
        let places = first..first + sums.len();
        let columns = &matrix.column_indices()[places.clone()];
        let stored = &values.stored[places];
        for (row, sum) in sums.iter_mut().enumerate() {
            if columns[row] != PADDING {
                *sum = *sum + values.widen(stored[row]) * x[columns[row] as usize];
            }
        }
    }
}
