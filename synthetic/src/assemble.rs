//! Assembly of a matrix from rows: first lengths, then entries, directly into arrays of the right size.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::{Zeroable, allocation::try_zeroed_vec};
use host::format::{Csr, Offsets, parallel_rows};
use host::parallel;
use host::real::Scalar;
use rand_chacha::ChaCha8Rng;

use crate::draw::{Purpose, stream};
use crate::registry::csr_bytes;
use crate::{Error, Generate};
use host::memory::{available_memory, zeros};

/// Maximum size of a matrix's arrays in bytes: 4 TiB, more than any machine it is meant for has.
pub const LARGEST_BYTES: u128 = 1 << 42;

/// Rows that share a stream of random numbers. Part of the meaning of each seed: not to be tuned.
pub(crate) const ROWS_AT_ONCE: usize = 1024;

/// A matrix whose rows can be generated one by one. Rows of a chunk are generated in ascending order.
pub(crate) trait RowByRow: Sync {
    /// The seed of the random numbers; 0 for a matrix that draws none.
    fn seed(&self) -> u64 {
        0
    }

    /// The number of entries of a row.
    fn length(&self, row: usize, random: &mut ChaCha8Rng) -> u32;

    /// Writes the entries of a row to arrays of its length.
    fn fill<T: Scalar>(&self, row: usize, random: &mut ChaCha8Rng, columns: &mut [u32], values: &mut [T]);
}

/// Rows that are filled in sequence if they do not begin with a stream: each sequence also generates and discards the
/// preceding rows of its stream.
const ROWS_BETWEEN_STREAMS: usize = 16 * ROWS_AT_ONCE;

/// Generates some rows of a generator's matrix.
pub(crate) fn assemble<T: Scalar>(
    generator: &impl Generate,
    rows: &impl RowByRow,
    wanted: Range<usize>,
) -> Result<Csr<T>, Error> {
    check_rows(generator, &wanted)?;
    check_bytes::<T>(wanted.len(), expected_nnz(generator, &wanted), 0)?;
    let Lengths { before, offsets } = lengths(rows, wanted.clone())?;
    let nnz = offsets.get(wanted.len());
    check_bytes::<T>(wanted.len(), nnz as u128, 0)?;
    let mut column_indices = zeroed("column indices", nnz)?;
    let mut values = zeroed("values", nnz)?;
    let at_once = if before.is_empty() { ROWS_AT_ONCE } else { ROWS_BETWEEN_STREAMS };
    let first_known = wanted.start - before.len();
    let length_of = |row: usize| match row.checked_sub(wanted.start) {
        Some(place) => offsets.get(place + 1) - offsets.get(place),
        None => before[row - first_known] as usize,
    };
    let stream_of = |row: usize| stream(rows.seed(), Purpose::Entries, row / ROWS_AT_ONCE);
    parallel_rows(&offsets, at_once, &mut column_indices, &mut values, &|chunk, columns, values| {
        let begin = wanted.start + chunk.start;
        let mut random = stream_of(begin);
        for row in begin / ROWS_AT_ONCE * ROWS_AT_ONCE..begin {
            let length = length_of(row);
            let mut thrown_away = (zeros::<u32>(length)?, zeros::<T>(length)?);
            rows.fill::<T>(row, &mut random, &mut thrown_away.0, &mut thrown_away.1);
        }
        let base = offsets.get(chunk.start);
        for place in chunk {
            let row = wanted.start + place;
            if row.is_multiple_of(ROWS_AT_ONCE) {
                random = stream_of(row);
            }
            let range = offsets.get(place) - base..offsets.get(place + 1) - base;
            rows.fill::<T>(row, &mut random, &mut columns[range.clone()], &mut values[range]);
        }
        Ok(())
    })?;
    Ok(Csr::try_new(wanted.len(), generator.columns(), offsets, column_indices, values)?)
}

/// Checks that a generator's matrix has these rows.
pub(crate) fn check_rows(generator: &impl Generate, wanted: &Range<usize>) -> Result<(), Error> {
    let rows = generator.rows();
    if wanted.start <= wanted.end && wanted.end <= rows {
        return Ok(());
    }
    let value = format!("{} to {}", wanted.start, wanted.end);
    Err(Error::Parameter {
        generator: generator.help().name,
        parameter: "rows",
        value,
        expected: format!("a range of its {rows} rows"),
    })
}

/// The approximate number of entries in some rows.
pub(crate) fn expected_nnz(generator: &impl Generate, wanted: &Range<usize>) -> u128 {
    match wanted.len() {
        rows if rows == generator.rows() => generator.expected_nnz(),
        rows => generator.expected_nnz().saturating_mul(rows as u128) / generator.rows().max(1) as u128,
    }
}

/// The lengths of some rows.
struct Lengths {
    /// Lengths of the preceding rows that share the first row's stream of random numbers.
    before: Vec<u32>,
    /// Start of each row.
    offsets: Offsets,
}

fn lengths(generator: &impl RowByRow, wanted: Range<usize>) -> Result<Lengths, Error> {
    let first_chunk = wanted.start / ROWS_AT_ONCE;
    let rows_before = wanted.start - first_chunk * ROWS_AT_ONCE;
    // Each length is stored in the slot for the end of its row, so that the sums need no second array.
    let mut ends: Vec<u32> = zeroed("row offsets", rows_before + wanted.len() + 1)?;
    let total = AtomicU64::new(0);
    parallel::chunks_mut(&mut ends[1..], ROWS_AT_ONCE, 1, &|(chunk, lengths)| {
        let chunk = first_chunk + chunk;
        let mut random = stream(generator.seed(), Purpose::Lengths, chunk);
        let mut sum = 0;
        for (row, length) in (chunk * ROWS_AT_ONCE..).zip(lengths) {
            *length = generator.length(row, &mut random);
            sum += u64::from(*length);
        }
        total.fetch_add(sum, Ordering::Relaxed);
    });
    let before: Vec<u32> = ends.drain(1..=rows_before).collect();
    let of_before: u64 = before.iter().map(|&length| u64::from(length)).sum();
    Ok(Lengths { before, offsets: summed(ends, total.into_inner() - of_before)? })
}

/// Computes offsets from the length of each row, stored in the slot for its end, and from their total.
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

/// Checks that there is memory for a CSR matrix and `besides` further bytes.
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

/// An array of zeros, whose pages are first touched by the threads that fill them.
pub(crate) fn zeroed<T: Zeroable>(what: &'static str, length: usize) -> Result<Vec<T>, Error> {
    let bytes = length as u128 * size_of::<T>() as u128;
    try_zeroed_vec(length).map_err(|()| host::Error::OutOfMemory { what, bytes }.into())
}
