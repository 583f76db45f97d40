//! Work over the rows of a matrix in parallel.

use std::ops::Range;

use super::Offsets;

/// Calls `work` for consecutive chunks of `chunk` rows, in parallel, each with its own part of two arrays
/// that hold the rows' entries one after the other. The chunks do not depend on the number of threads.
///
/// # Panics
/// When an array is shorter than the last offset.
pub fn parallel_rows<A: Send, B: Send>(
    offsets: &Offsets,
    chunk: usize,
    first: &mut [A],
    second: &mut [B],
    work: &(impl Fn(Range<usize>, &mut [A], &mut [B]) + Sync),
) {
    split(offsets, chunk.max(1), 0..offsets.len().saturating_sub(1), first, second, work);
}

fn split<A: Send, B: Send>(
    offsets: &Offsets,
    chunk: usize,
    rows: Range<usize>,
    first: &mut [A],
    second: &mut [B],
    work: &(impl Fn(Range<usize>, &mut [A], &mut [B]) + Sync),
) {
    if rows.len() <= chunk {
        if !rows.is_empty() {
            work(rows, first, second);
        }
        return;
    }
    let middle = rows.start + rows.len().div_ceil(chunk) / 2 * chunk;
    let entries = offsets.get(middle) - offsets.get(rows.start);
    let (first_left, first_right) = first.split_at_mut(entries);
    let (second_left, second_right) = second.split_at_mut(entries);
    rayon::join(
        || split(offsets, chunk, rows.start..middle, first_left, second_left, work),
        || split(offsets, chunk, middle..rows.end, first_right, second_right, work),
    );
}
