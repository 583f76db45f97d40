//! y ← α Aᵀ x + β y without the transpose, and the same with Aᴴ.

use std::ops::Range;

use super::{HostOperands, update};
use crate::error::Error;
use crate::memory::zeros;
use crate::parallel;
use crate::real::Scalar;

/// The change of entries besides their position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transposition {
    /// Aᵀ: unchanged.
    Plain,
    /// Aᴴ: conjugated.
    Conjugate,
}

impl Transposition {
    /// An entry of the transpose.
    #[inline]
    pub fn of<T: Scalar>(self, value: T) -> T {
        match self {
            Self::Plain => value,
            Self::Conjugate => value.conjugate(),
        }
    }

    /// Whether entries change.
    pub fn conjugates<T: Scalar>(self) -> bool {
        T::COMPLEX && self == Self::Conjugate
    }
}

/// Maximum number of parts into which the entries are divided for the CPU's threads.
const MOST_PARTS: usize = 64;

/// Elements of y that a CPU thread adds up at a time.
const COLUMNS_AT_ONCE: usize = 1024;

/// Multiplies by a transpose on the CPU, in parallel, with sums of parts of the entries.
///
/// The entries are divided into parts, which depend on the matrix alone, so the number of threads does not change a
/// bit. Each part has its own sums, from its first column to its last; these are then added up, column by column. There
/// are at most as many sums as entries, or as columns if those are more: O(nnz + columns) memory and work.
pub(crate) fn multiply_on_cpu<T: Scalar>(
    nnz: usize,
    columns: usize,
    operands: HostOperands<'_, T>,
    sums: impl Fn(usize, usize) -> Result<Sums<T>, Error> + Sync,
) -> Result<(), Error> {
    let HostOperands { alpha, beta, y, .. } = operands;
    let parts = (nnz / columns.max(1)).clamp(1, MOST_PARTS);
    let sums = parallel::map(parts, 1, &|part| sums(part, parts))?.into_iter().collect::<Result<Vec<_>, Error>>()?;
    parallel::chunks_mut(y, COLUMNS_AT_ONCE, 1, &|(chunk, y)| {
        let first = chunk * COLUMNS_AT_ONCE;
        let mut totals = [T::ZERO; COLUMNS_AT_ONCE];
        for part in &sums {
            part.add_to(first, &mut totals[..y.len()]);
        }
        for (y, &total) in y.iter_mut().zip(&totals) {
            update(y, alpha, total, beta);
        }
    });
    Ok(())
}

/// The sums of a part of the entries, from the first of its columns on.
pub(crate) struct Sums<T> {
    first_column: usize,
    sums: Vec<T>,
}

impl<T: Scalar> Sums<T> {
    /// Zeros for entries in these columns.
    pub fn for_columns(columns: &[u32]) -> Result<Self, Error> {
        let widen = |(first, last): (u32, u32), &column: &u32| (first.min(column), last.max(column));
        let (first, last) = columns.iter().fold((u32::MAX, 0), widen);
        if first > last {
            return Ok(Self { first_column: 0, sums: Vec::new() });
        }
        Ok(Self { first_column: first as usize, sums: zeros((last - first) as usize + 1)? })
    }

    #[inline]
    /// Adds the product of an entry and an element of x.
    pub fn add_product(&mut self, column: u32, value: T, element: T) {
        let sum = &mut self.sums[column as usize - self.first_column];
        *sum = *sum + value * element;
    }

    /// Adds the sums to the totals of the columns from `first` on.
    fn add_to(&self, first: usize, totals: &mut [T]) {
        let begin = self.first_column.max(first);
        let end = (self.first_column + self.sums.len()).min(first + totals.len());
        if begin < end {
            let sums = &self.sums[begin - self.first_column..end - self.first_column];
            for (total, &sum) in totals[begin - first..].iter_mut().zip(sums) {
                *total = *total + sum;
            }
        }
    }
}

/// The entries of part `part` of `parts`.
pub(crate) fn entries_of_part(nnz: usize, part: usize, parts: usize) -> Range<usize> {
    let at = |part: usize| (nnz as u128 * part as u128 / parts as u128) as usize;
    at(part)..at(part + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_all_entries_once() {
        for nnz in [0, 1, 63, 64, 65, 1000, usize::MAX] {
            for parts in [1, 2, 3, 64] {
                let mut end = 0;
                for part in 0..parts {
                    let entries = entries_of_part(nnz, part, parts);
                    assert_eq!(entries.start, end, "{nnz} entries, {parts} parts");
                    end = entries.end;
                }
                assert_eq!(end, nnz);
            }
        }
    }
}
