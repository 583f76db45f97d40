//! From rows to a matrix: lengths first, then entries, straight into arrays of the right size.

use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::{Zeroable, allocation::try_zeroed_vec};
use host::format::{Csr, Offsets, parallel_rows};
use host::parallel;
use host::real::Scalar;
use rand_chacha::ChaCha8Rng;

use crate::draw::{Purpose, stream};
use crate::registry::csr_bytes;
use crate::{Error, Generate};
use host::memory::available_memory;

/// The largest size of a matrix's arrays, in bytes: 4 TiB, more than any machine it is meant for has.
pub const LARGEST_BYTES: u128 = 1 << 42;

/// Rows that share a stream of random numbers. A part of what each seed means: not to be tuned.
pub(crate) const ROWS_AT_ONCE: usize = 1024;

/// A matrix whose rows can be made one by one. Rows of a chunk come in ascending order.
pub(crate) trait RowByRow: Sync {
    /// Where the random numbers begin; 0 for a matrix that draws none.
    fn seed(&self) -> u64 {
        0
    }

    /// The number of entries of a row.
    fn length(&self, row: usize, random: &mut ChaCha8Rng) -> u32;

    /// Writes the entries of a row into arrays that have its length.
    fn fill<T: Scalar>(&self, row: usize, random: &mut ChaCha8Rng, columns: &mut [u32], values: &mut [T]);
}

/// The matrix that a generator describes, from its rows.
pub(crate) fn assemble<T: Scalar>(generator: &impl Generate, rows: &impl RowByRow) -> Result<Csr<T>, Error> {
    check_bytes::<T>(generator.rows(), generator.expected_nnz(), 0)?;
    let offsets = row_offsets(generator.rows(), rows)?;
    let nnz = offsets.get(generator.rows());
    check_bytes::<T>(generator.rows(), nnz as u128, 0)?;
    let mut column_indices = zeroed("column indices", nnz)?;
    let mut values = zeroed("values", nnz)?;
    parallel_rows(&offsets, ROWS_AT_ONCE, &mut column_indices, &mut values, &|chunk, columns, values| {
        let mut random = stream(rows.seed(), Purpose::Entries, chunk.start / ROWS_AT_ONCE);
        let base = offsets.get(chunk.start);
        for row in chunk {
            let range = offsets.get(row) - base..offsets.get(row + 1) - base;
            rows.fill::<T>(row, &mut random, &mut columns[range.clone()], &mut values[range]);
        }
        Ok(())
    })?;
    Ok(Csr::try_new(generator.rows(), generator.columns(), offsets, column_indices, values)?)
}

fn row_offsets(rows: usize, generator: &impl RowByRow) -> Result<Offsets, Error> {
    // Each length goes where the end of its row goes, so that summing them up needs no second array.
    let mut ends: Vec<u32> = zeroed("row offsets", rows + 1)?;
    let total = AtomicU64::new(0);
    parallel::chunks_mut(&mut ends[1..], ROWS_AT_ONCE, 1, &|(chunk, lengths)| {
        let mut random = stream(generator.seed(), Purpose::Lengths, chunk);
        let mut sum = 0;
        for (row, length) in (chunk * ROWS_AT_ONCE..).zip(lengths) {
            *length = generator.length(row, &mut random);
            sum += u64::from(*length);
        }
        total.fetch_add(sum, Ordering::Relaxed);
    });
    summed(ends, total.into_inner())
}

/// Offsets from the length of each row, which comes where the end of the row goes, and from the total of them.
fn summed(mut ends: Vec<u32>, total: u64) -> Result<Offsets, Error> {
    if u32::try_from(total).is_ok() {
        let mut sum = 0;
        for end in &mut ends {
            sum += *end;
            *end = sum;
        }
        return Ok(ends.try_into()?);
    }
    let mut wide: Vec<u64> = zeroed("row offsets", ends.len())?;
    let mut sum = 0;
    for (wide, length) in wide.iter_mut().zip(ends) {
        sum += u64::from(length);
        *wide = sum;
    }
    Ok(wide.try_into()?)
}

/// Checks that a CSR matrix, and so many bytes besides, can be held.
pub(crate) fn check_bytes<T>(rows: usize, nnz: u128, besides: u128) -> Result<(), Error> {
    let value = csr_bytes::<T>(rows, nnz).saturating_add(besides);
    if value > LARGEST_BYTES {
        return Err(host::Error::TooLarge { what: "size of the matrix in bytes", value, limit: LARGEST_BYTES }.into());
    }
    match available_memory() {
        Some(available) if value > available => Err(Error::Memory { bytes: value, available }),
        _ => Ok(()),
    }
}

/// An array of zeros. Its pages are first touched by the threads that fill them.
pub(crate) fn zeroed<T: Zeroable>(what: &'static str, length: usize) -> Result<Vec<T>, Error> {
    let bytes = length as u128 * size_of::<T>() as u128;
    try_zeroed_vec(length).map_err(|()| host::Error::OutOfMemory { what, bytes }.into())
}
