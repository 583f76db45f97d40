//! Checks of the constructors from arrays, in parallel. The first violation is the one reported.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use gpu_kernels::ell::PADDING;

use crate::error::Error;
use crate::memory::{same_bits, zeros};
use crate::parallel;
use crate::real::Scalar;

/// Offsets or indices per task when checking.
pub(super) const AT_ONCE: usize = 1 << 14;

/// Parts per task when counting.
const PARTS_AT_ONCE: usize = 8;

/// Sums `count` over all parts, or returns the error of the first part that fails.
pub(super) fn count_parts(
    format: &'static str,
    parts: usize,
    count: impl Fn(usize) -> Result<usize, String> + Send + Sync,
) -> Result<usize, Error> {
    let all = AtomicUsize::new(0);
    let count_some = |mut parts: Range<usize>| {
        let counted = parts.try_fold(0, |sum, part| Ok::<usize, String>(sum + count(part)?));
        counted.map(|counted| all.fetch_add(counted, Ordering::Relaxed)).err()
    };
    match parallel::first(parts, PARTS_AT_ONCE, &count_some) {
        None => Ok(all.into_inner()),
        Some(reason) => Err(Error::structure(format, reason)),
    }
}

/// Checks the offsets of `count` things, such as rows: there are `count + 1`, the first is 0, they never decrease, and
/// the last is `total`.
pub(super) fn check_offsets<O: Copy + Into<u64> + Sync>(
    format: &'static str,
    thing: &str,
    offsets: &[O],
    count: usize,
    total: usize,
) -> Result<(), Error> {
    let fail = |reason| Err(Error::structure(format, reason));
    let at = |place: usize| -> u64 { offsets[place].into() };
    // A file can claim any count.
    if offsets.len().checked_sub(1) != Some(count) {
        return fail(format!("{} {thing} offsets for {count} {thing}s, expected {thing}s + 1", offsets.len()));
    }
    if at(0) != 0 {
        return fail(format!("the first {thing} offset is {}, expected 0", at(0)));
    }
    let falling = |mut places: Range<usize>| places.find(|&place| at(place + 1) < at(place));
    if let Some(thing_number) = parallel::first(count, AT_ONCE, &falling) {
        return fail(format!("{thing} {thing_number} ends before it begins"));
    }
    if at(count) != total as u64 {
        return fail(format!("the last {thing} offset is {}, expected {total}", at(count)));
    }
    Ok(())
}

/// Checks that the row or column of each entry is below `limit`; `axis` is "row" or "column".
#[doc(hidden)]
pub fn check_indices(format: &'static str, axis: &str, limit: usize, indices: &[u32]) -> Result<(), Error> {
    let beyond = |entries: Range<usize>| {
        let first = indices[entries.clone()].iter().position(|&index| index as usize >= limit)?;
        Some(entries.start + first)
    };
    match parallel::first(indices.len(), AT_ONCE, &beyond) {
        None => Ok(()),
        Some(entry) => {
            let index = indices[entry];
            Err(Error::structure(format, format!("entry {entry} is in {axis} {index} of {limit}")))
        }
    }
}

/// Checks that `indices` is a permutation of the numbers from `first` on. O(indices).
pub(super) fn check_permutation(what: &str, indices: &[u32], first: usize) -> Result<(), String> {
    let mut seen = zeros::<bool>(indices.len()).map_err(|error| error.to_string())?;
    for (place, &index) in indices.iter().enumerate() {
        match (index as usize).checked_sub(first).and_then(|place| seen.get_mut(place)) {
            Some(seen) if !*seen => *seen = true,
            Some(_) => return Err(format!("{what} {index} occurs twice, the second time at {}", first + place)),
            None => {
                let last = first + indices.len() - 1;
                return Err(format!("{what} {index} is at {}, expected one from {first} to {last}", first + place));
            }
        }
    }
    Ok(())
}

/// Slots in ELLPACK order: the first ones of all rows, then the second ones, and so on.
pub(super) struct Places<'a, T> {
    /// Name of a row in errors.
    pub row: &'static str,
    /// Number of the first row.
    pub first_row: usize,
    /// Rows of the matrix from the first one on.
    pub rows: usize,
    /// Columns of the matrix.
    pub columns: usize,
    /// Distance from one slot of a row to the next.
    pub stride: usize,
    /// Column of each slot, or [`PADDING`].
    pub column_indices: &'a [u32],
    /// Value of each slot, or 0.
    pub values: &'a [T],
}

impl<T: Scalar> Places<'_, T> {
    /// Checks the slots of some lanes: each row's entries come before its padding, in existing columns, and lanes
    /// beyond the last row hold only padding. Returns the number of entries.
    pub fn check(&self, lanes: Range<usize>) -> Result<usize, String> {
        let Self { row, rows, columns, stride, column_indices, values, .. } = *self;
        let mut entries = 0;
        for first in (0..column_indices.len()).step_by(stride.max(1)) {
            for lane in lanes.clone() {
                let (column, value) = (column_indices[first + lane], values[first + lane]);
                let place = || format!("slot {} of {row} {}", first / stride, self.first_row + lane);
                if column == PADDING {
                    if !same_bits(&[value], &[T::ZERO]) {
                        return Err(format!("{} has no entry, but the value {value}, expected 0", place()));
                    }
                } else if lane >= rows {
                    return Err(format!("{} has an entry, but there are only {}", place(), self.first_row + rows));
                } else if column as usize >= columns {
                    return Err(format!("{} is in column {column} of {columns}", place()));
                } else if first > 0 && column_indices[first - stride + lane] == PADDING {
                    return Err(format!("{} has an entry, but the slot before it has none", place()));
                } else {
                    entries += 1;
                }
            }
        }
        Ok(entries)
    }

    /// Returns whether any row has an entry in its slot of this number.
    pub fn reach(&self, place: usize) -> bool {
        let first = place * self.stride;
        let columns = &self.column_indices[first..first + self.stride];
        !parallel::all(columns.len(), AT_ONCE, &|row| columns[row] == PADDING)
    }
}
