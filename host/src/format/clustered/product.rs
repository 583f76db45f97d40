//! Clustered slices: one block per part.

use cuda_std::launch::{Grid, Launch};
use cuda_std::warp::WARP_LANES;
use gpu_kernels::clustered::{self, NO_ENTRY, NO_ROW};

use super::{ROWS, WORDS};
use crate::device::Device;
use crate::error::Error;
use crate::format::Clustered;
use crate::format::narrow::{HostValues, StoredAs, Values};
use crate::memory::{Buffer, Memory, collect, filled, with_capacity};
use crate::parallel;
use crate::real::Scalar;
use crate::spmv::{HostOperands, Vectors, update};

pub(crate) fn clustered<V: StoredAs<T>, T: Scalar, M: Memory>(
    matrix: &Clustered<T, M>,
    values: Values<V, T>,
    vectors: Vectors<T>,
    device: &Device,
) -> Result<Launch, Error> {
    let table_length = values.table.length();
    // Few blocks fit on a multiprocessor, because each holds the x of a part; so they are large.
    let threads_per_block = (2 * device.tuning.threads_per_block()).min(1024);
    let of_warps = threads_per_block / WARP_LANES * clustered::SLICE_ROWS;
    let elements = (matrix.most_columns() + table_length).max(of_warps as usize);
    let shared_bytes = shared_bytes::<T>(elements, device)?;
    let kernel = clustered::Clustered {
        part_begins: matrix.part_begins().global(),
        column_begins: matrix.column_begins().global(),
        column_numbers: matrix.column_numbers().global(),
        row_numbers: matrix.row_numbers().global(),
        slice_begins: matrix.slice_begins().global(),
        local_columns: matrix.local_columns().global(),
        values: values.stored,
        table: values.table,
        table_length: table_length as u32,
        alpha: vectors.alpha,
        x: vectors.x,
        beta: vectors.beta,
        y: vectors.y,
    };
    let blocks = matrix.part_begins().len() as u32 - 1;
    let grid = Grid { blocks, threads_per_block, shared_bytes };
    Ok(Launch::new(grid, kernel))
}

/// Returns the bytes of shared memory for `elements` elements.
///
/// # Errors
/// When the device does not allow a block that much.
pub(in crate::format) fn shared_bytes<T: Scalar>(elements: usize, device: &Device) -> Result<u32, Error> {
    let what = "number of bytes of shared memory that a clustered matrix needs in a block";
    device.shared_of_block(what, (elements * size_of::<T>()) as u32)
}

pub(crate) fn multiply_on_cpu<V: StoredAs<T>, T: Scalar>(
    matrix: &Clustered<T>,
    values: HostValues<'_, V, T>,
    operands: HostOperands<'_, T>,
) -> Result<(), Error> {
    let HostOperands { alpha, x, beta, y } = operands;
    let mut sums = filled(matrix.row_numbers().len(), T::ZERO)?;
    let pieces = split(&mut sums, (0..matrix.parts()).map(|part| matrix.slices_of(part).len() * ROWS))?;
    let done = parallel::map_items(pieces, &|(part, sums)| {
        let elements = collect(matrix.columns_of(part).iter().map(|&column| x[column as usize]))?;
        for (slice, sums) in matrix.slices_of(part).zip(sums.chunks_exact_mut(ROWS)) {
            add_slice(matrix, values, slice, &elements, sums);
        }
        Ok(())
    })?;
    done.into_iter().collect::<Result<(), Error>>()?;
    update_rows(matrix.row_numbers(), &sums, alpha, beta, y);
    Ok(())
}

/// Splits sums into consecutive pieces of these lengths.
pub(in crate::format) fn split<T>(
    mut sums: &mut [T],
    lengths: impl ExactSizeIterator<Item = usize>,
) -> Result<Vec<&mut [T]>, Error> {
    let mut pieces = with_capacity(lengths.len())?;
    for length in lengths {
        let (piece, rest) = sums.split_at_mut(length);
        pieces.push(piece);
        sums = rest;
    }
    Ok(pieces)
}

/// Updates y by the sums at the positions of each row, which are adjacent.
pub(in crate::format) fn update_rows<T: Scalar>(row_numbers: &[u32], sums: &[T], alpha: T, beta: T, y: &mut [T]) {
    // Each thread picks out the rows of its part of y: scanning all row numbers is little work.
    let rows_at_once = y.len().div_ceil(parallel::threads()).max(ROWS);
    parallel::chunks_mut(y, rows_at_once, 1, &|(chunk, y)| {
        let first = (chunk * rows_at_once) as u32;
        let mut positions = row_numbers.iter().zip(sums).peekable();
        while let Some((&row, &sum)) = positions.next() {
            let mut sum = sum;
            while let Some((_, &more)) = positions.next_if(|&(&next, _)| next == row) {
                sum = sum + more;
            }
            if row != NO_ROW
                && let Some(y) = y.get_mut(row.wrapping_sub(first) as usize)
            {
                update(y, alpha, sum, beta);
            }
        }
    });
}

/// Adds the products of a slice's slots with the elements of its part.
fn add_slice<V: StoredAs<T>, T: Scalar>(
    matrix: &Clustered<T>,
    values: HostValues<'_, V, T>,
    slice: usize,
    elements: &[T],
    sums: &mut [T],
) {
    for place in matrix.places_of(slice) {
        let words = &matrix.local_columns()[place * WORDS..][..WORDS];
        let stored = &values.stored[place * ROWS..][..ROWS];
        for lane in 0..WORDS {
            for half in 0..2 {
                let column = words[lane] >> (16 * half) & NO_ENTRY;
                if column != NO_ENTRY {
                    let sum = &mut sums[lane + half * WORDS];
                    *sum = *sum + values.widen(stored[2 * lane + half]) * elements[column as usize];
                }
            }
        }
    }
}
