//! Parallel work over the rows of a matrix.

use std::ops::Range;

use super::{Csr, Offsets};
use crate::error::Error;
use crate::memory::zeros;
use crate::parallel::{self, ROWS_AT_ONCE};
use crate::real::Scalar;

/// Work on a range of rows and their parts of two arrays.
type RowWork<'a, A, B> = dyn Fn(Range<usize>, &mut [A], &mut [B]) -> Result<(), Error> + Sync + 'a;

/// Calls `work` in parallel for consecutive chunks of `chunk` rows, each with its own part of two arrays that hold the
/// entries row by row. The chunks do not depend on the number of threads.
///
/// # Errors
/// An error of `work`.
///
/// # Panics
/// When an array is shorter than the last offset.
pub fn parallel_rows<A: Send, B: Send>(
    offsets: &Offsets,
    chunk: usize,
    first: &mut [A],
    second: &mut [B],
    work: &RowWork<'_, A, B>,
) -> Result<(), Error> {
    split(offsets, chunk.max(1), 0..offsets.len().saturating_sub(1), first, second, work)
}

fn split<A: Send, B: Send>(
    offsets: &Offsets,
    chunk: usize,
    rows: Range<usize>,
    first: &mut [A],
    second: &mut [B],
    work: &RowWork<'_, A, B>,
) -> Result<(), Error> {
    if rows.len() <= chunk {
        return if rows.is_empty() { Ok(()) } else { work(rows, first, second) };
    }
    let middle = rows.start + rows.len().div_ceil(chunk) / 2 * chunk;
    let entries = offsets.get(middle) - offsets.get(rows.start);
    let (first_left, first_right) = first.split_at_mut(entries);
    let (second_left, second_right) = second.split_at_mut(entries);
    let (left, right) = parallel::join(
        || split(offsets, chunk, rows.start..middle, first_left, second_left, work),
        || split(offsets, chunk, middle..rows.end, first_right, second_right, work),
    );
    left.and(right)
}

/// Returns the row of each entry. Runs in parallel.
///
/// # Errors
/// When memory runs out.
pub(super) fn row_indices(offsets: &Offsets) -> Result<Vec<u32>, Error> {
    let stored = offsets.get(offsets.len() - 1);
    let mut row_indices = zeros(stored)?;
    parallel_rows(offsets, ROWS_AT_ONCE, &mut row_indices, &mut vec![(); stored], &|rows, row_indices, _| {
        let base = offsets.get(rows.start);
        for row in rows {
            row_indices[offsets.get(row) - base..offsets.get(row + 1) - base].fill(row as u32);
        }
        Ok(())
    })?;
    Ok(row_indices)
}

/// Computes the row offsets from the row of each entry, which never decreases. Runs in parallel.
///
/// # Errors
/// When memory runs out.
pub(super) fn row_offsets(rows: usize, row_indices: &[u32]) -> Result<Offsets, Error> {
    let mut lengths = zeros(rows)?;
    parallel::chunks_mut(&mut lengths, ROWS_AT_ONCE, 1, &|(chunk, lengths)| {
        let first = chunk * ROWS_AT_ONCE;
        let begin = row_indices.partition_point(|&row| (row as usize) < first);
        for &row in &row_indices[begin..] {
            let Some(length) = lengths.get_mut(row as usize - first) else { break };
            *length += 1;
        }
    });
    Offsets::from_lengths(lengths.iter().copied())
}

/// Collects a matrix in CSR from a format that yields the entries of any row, as column and value. Runs in parallel;
/// iterates over each row twice.
///
/// # Errors
/// When memory runs out.
pub(super) fn collect_rows<T: Scalar, I: Iterator<Item = (u32, T)>>(
    rows: usize,
    columns: usize,
    entries: impl Fn(usize) -> I + Sync,
) -> Result<Csr<T>, Error> {
    let lengths = parallel::map(rows, 1, &|row| entries(row).count())?;
    let offsets = Offsets::from_lengths(lengths.iter().copied())?;
    drop(lengths);
    let (mut column_indices, mut values) = (zeros(offsets.get(rows))?, zeros(offsets.get(rows))?);
    parallel_rows(&offsets, ROWS_AT_ONCE, &mut column_indices, &mut values, &|rows, columns, values| {
        let places = columns.iter_mut().zip(values);
        for ((column, value), entry) in places.zip(rows.flat_map(&entries)) {
            (*column, *value) = entry;
        }
        Ok(())
    })?;
    Ok(Csr::from_valid(rows, columns, offsets, column_indices, values))
}
