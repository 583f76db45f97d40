//! A pattern on the host, whole or in parts.

use std::ops::Range;

use crate::format::{Csr, Offsets};
use crate::real::Scalar;

/// The pattern of a matrix, of which an analysis by samples reads parts.
pub(crate) trait Pattern: Sync {
    /// Number of rows.
    fn rows(&self) -> usize;

    /// Number of columns.
    fn columns(&self) -> usize;

    /// The offset of each row.
    fn row_offsets(&self) -> &Offsets;

    /// The columns of some entries, given by their indices.
    fn columns_of(&self, entries: Range<usize>) -> &[u32];

    /// Number of stored entries.
    fn nnz(&self) -> usize {
        self.row_offsets().get(self.rows())
    }

    /// The entries of a row.
    fn range(&self, row: usize) -> Range<usize> {
        self.row_offsets().get(row)..self.row_offsets().get(row + 1)
    }

    /// The columns of a row.
    fn columns_of_row(&self, row: usize) -> &[u32] {
        self.columns_of(self.range(row))
    }

    /// The row that holds an entry. O(log rows).
    fn row_of(&self, entry: usize) -> usize {
        let (mut low, mut high) = (0, self.rows());
        while high - low > 1 {
            let middle = low.midpoint(high);
            if self.row_offsets().get(middle) <= entry { low = middle } else { high = middle }
        }
        low
    }
}

impl<T: Scalar> Pattern for Csr<T> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn row_offsets(&self) -> &Offsets {
        &self.row_offsets
    }

    fn columns_of(&self, entries: Range<usize>) -> &[u32] {
        &self.column_indices[entries]
    }
}

/// The columns of some ranges of entries.
pub(super) struct Parts {
    pub rows: usize,
    pub columns: usize,
    pub row_offsets: Offsets,
    /// The ranges, apart from each other and in order.
    pub ranges: Vec<Range<usize>>,
    /// Where the columns of each range begin in `gathered`.
    pub places: Vec<usize>,
    /// The columns of all ranges, side by side.
    pub gathered: Vec<u32>,
}

impl Pattern for Parts {
    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn row_offsets(&self) -> &Offsets {
        &self.row_offsets
    }

    /// Empty if they are not all in one of the ranges.
    fn columns_of(&self, entries: Range<usize>) -> &[u32] {
        let number = self.ranges.partition_point(|range| range.start <= entries.start).wrapping_sub(1);
        match self.ranges.get(number) {
            Some(range) if entries.end <= range.end && !entries.is_empty() => {
                let begin = self.places[number] + (entries.start - range.start);
                &self.gathered[begin..begin + entries.len()]
            }
            _ => {
                debug_assert!(entries.is_empty(), "entries {entries:?} are not among the sampled ones");
                &[]
            }
        }
    }
}
