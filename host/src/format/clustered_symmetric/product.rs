//! Clustered slices with pairs stored once: one block per part.

use cuda_std::launch::{Grid, Launch};
use gpu_kernels::clustered::NO_ENTRY;
use gpu_kernels::clustered_symmetric::{self, BLOCK_THREADS};

use crate::device::Device;
use crate::error::Error;
use crate::format::ClusteredSymmetric;
use crate::format::clustered::product::{shared_bytes, split, update_rows};
use crate::format::clustered::{ROWS, WORDS};
use crate::memory::{Buffer, Memory, filled, with_capacity};
use crate::parallel;
use crate::real::Scalar;
use crate::spmv::{HostOperands, Vectors};

pub(crate) fn clustered_symmetric<T: Scalar, M: Memory>(
    matrix: &ClusteredSymmetric<T, M>,
    vectors: Vectors<T>,
    device: &Device,
) -> Result<Launch, Error> {
    let shared_bytes = shared_bytes::<T>(matrix.most_elements(), device)?;
    let kernel = clustered_symmetric::ClusteredSymmetric {
        warp_begins: matrix.warp_begins().global(),
        row_numbers: matrix.row_numbers().global(),
        halo_begins: matrix.halo_begins().global(),
        halo_columns: matrix.halo_columns().global(),
        slice_begins: matrix.slice_begins().global(),
        local_columns: matrix.local_columns().global(),
        values: matrix.values().global(),
        columns: matrix.columns() as u32,
        alpha: vectors.alpha,
        x: vectors.x,
        beta: vectors.beta,
        y: vectors.y,
    };
    let blocks = matrix.halo_begins().len() as u32 - 1;
    Ok(Launch::new(Grid { blocks, threads_per_block: BLOCK_THREADS, shared_bytes }, kernel))
}

pub(crate) fn multiply_on_cpu<T: Scalar>(
    matrix: &ClusteredSymmetric<T>,
    operands: HostOperands<'_, T>,
) -> Result<(), Error> {
    let HostOperands { alpha, x, beta, y } = operands;
    let mut sums = filled(matrix.row_numbers().len(), T::ZERO)?;
    let pieces = split(&mut sums, (0..matrix.parts()).map(|part| matrix.slices_of(part).len() * ROWS))?;
    let done = parallel::map_items(pieces, &|(part, sums)| {
        let (rows, halo) = (matrix.rows_of(part), matrix.halo_of(part));
        let mut elements = with_capacity(rows.len() + halo.len())?;
        // Positions without a row have no entries; with fewer columns than rows, a row may have no element of x.
        elements.extend(rows.iter().map(|&row| x.get(row as usize).copied().unwrap_or(T::ZERO)));
        elements.extend(halo.iter().map(|&column| x[column as usize]));
        for (slice, first) in matrix.slices_of(part).zip((0..).step_by(ROWS)) {
            add_slice(matrix, slice, first, &elements, sums);
        }
        Ok(())
    })?;
    done.into_iter().collect::<Result<(), Error>>()?;
    update_rows(matrix.row_numbers(), &sums, alpha, beta, y);
    Ok(())
}

/// Adds the products of a slice's slots, and of their images, with the elements of its part; its first row is at
/// position `first`.
fn add_slice<T: Scalar>(matrix: &ClusteredSymmetric<T>, slice: usize, first: usize, elements: &[T], sums: &mut [T]) {
    for place in matrix.places_of(slice) {
        let words = &matrix.local_columns()[place * WORDS..][..WORDS];
        let values = &matrix.values()[place * ROWS..][..ROWS];
        for lane in 0..WORDS {
            for half in 0..2 {
                let column = (words[lane] >> (16 * half) & NO_ENTRY) as usize;
                if column == NO_ENTRY as usize {
                    continue;
                }
                let (own, value) = (first + lane + half * WORDS, values[2 * lane + half]);
                sums[own] = sums[own] + value * elements[column];
                if column < sums.len() && column != own {
                    sums[column] = sums[column] + value * elements[own];
                }
            }
        }
    }
}
