//! I − ω / λ D⁻¹ A for a matrix A without its weak connections, which are added to the diagonal of their row.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use super::numbers::{inverse_of, magnitude_of};
use crate::search::first_at_least;

/// One over the diagonal element of a filtered row, or `before` if that is smaller. The comparison is written so that
/// NaN is not taken.
#[inline(always)]
pub fn smoothing_inverse<W: GpuScalar>(filtered: W, before: W) -> W {
    let filtered = inverse_of(filtered);
    if magnitude_of(filtered) <= magnitude_of(before) { filtered } else { before }
}

/// The strong connections of a row's node.
#[derive(Clone, Copy)]
struct Strong {
    node: u32,
    of_unknown: Global<u32>,
    neighbours: Global<u32>,
    begin: u64,
    end: u64,
}

impl Strong {
    /// The strong connections of a row.
    ///
    /// # Safety
    /// `of_unknown` has an element for the row, which is a node of the graph of the other two arrays.
    #[inline(always)]
    unsafe fn of(row: u32, of_unknown: Global<u32>, graph_offsets: Global<u64>, neighbours: Global<u32>) -> Self {
        let node = of_unknown.load(row);
        let (begin, end) = (graph_offsets.load(node), graph_offsets.load(node + 1));
        Self { node, of_unknown, neighbours, begin, end }
    }

    /// Whether a column is among the strong connections.
    ///
    /// # Safety
    /// `of_unknown` has an element for the column.
    #[inline(always)]
    unsafe fn include(self, column: u32) -> bool {
        let other = self.of_unknown.load(column);
        if other == self.node {
            return true;
        }
        let place = first_at_least(self.neighbours, self.begin, self.end, other);
        place < self.end && self.neighbours.load(place) == other
    }
}

/// Counts the entries of each row, including one on the diagonal, and computes the diagonal with the weak connections
/// added to it.
///
/// # Safety
/// The arrays are those of a valid square matrix with `rows` rows, and of a graph; `of_unknown` has a node of the graph
/// for each row, and `lengths` and `diagonal` have an element for each row.
#[kernel(W: wide)]
pub unsafe fn smoothing_lengths<W: GpuScalar>(
    /// Number of rows.
    rows: u32,
    /// Where each row begins; rows + 1 offsets.
    offsets: Global<u64>,
    /// The column of each entry.
    columns: Global<u32>,
    /// The value of each entry.
    values: Global<W>,
    /// The node of each row.
    of_unknown: Global<u32>,
    /// Where the neighbours of each node begin, and where those of the last one end.
    graph_offsets: Global<u64>,
    /// The neighbours of each node, in ascending order.
    neighbours: Global<u32>,
    /// The number of entries of each row; 2^32 - 1 if there are more.
    lengths: GlobalMut<u32>,
    /// The diagonal.
    diagonal: GlobalMut<W>,
) {
    let mut row = index_1d();
    while row < rows {
        let strong = Strong::of(row, of_unknown, graph_offsets, neighbours);
        let (mut length, mut sum) = (1_u32, W::ZERO);
        let (mut entry, end) = (offsets.load(row), offsets.load(row + 1));
        while entry < end {
            let column = columns.load(entry);
            if column == row || !strong.include(column) {
                sum = sum + values.load(entry);
            } else {
                length = length.saturating_add(1);
            }
            entry += 1;
        }
        lengths.store(row, length);
        diagonal.store(row, sum);
        row += grid_threads();
    }
}

/// Writes the entries of each row.
///
/// # Safety
/// As for [`smoothing_lengths`], which has counted the entries and added up the diagonal, and counted less than 2^32 -
/// 1 in each row; `new_offsets` are the sums of its counts, and the last of them is the length of `new_columns` and
/// `new_values`. `inverse_diagonal` has an element for each row.
#[kernel(W: wide)]
pub unsafe fn smoothing_entries<W: GpuScalar>(
    /// Number of rows.
    rows: u32,
    /// −ω / λ.
    weight: f64,
    /// Where each row begins; rows + 1 offsets.
    offsets: Global<u64>,
    /// The column of each entry.
    columns: Global<u32>,
    /// The value of each entry.
    values: Global<W>,
    /// The node of each row.
    of_unknown: Global<u32>,
    /// Where the neighbours of each node begin, and where those of the last one end.
    graph_offsets: Global<u64>,
    /// The neighbours of each node, in ascending order.
    neighbours: Global<u32>,
    /// The diagonal of the filtered matrix.
    diagonal: Global<W>,
    /// The inverse of the matrix's diagonal.
    inverse_diagonal: Global<W>,
    /// Where each row of the result begins.
    new_offsets: Global<u64>,
    /// The columns of the result.
    new_columns: GlobalMut<u32>,
    /// The values of the result.
    new_values: GlobalMut<W>,
) {
    let weight = W::from_wide_parts([weight, 0.0]);
    let mut row = index_1d();
    while row < rows {
        let strong = Strong::of(row, of_unknown, graph_offsets, neighbours);
        let on_diagonal = diagonal.load(row);
        let inverse = smoothing_inverse(on_diagonal, inverse_diagonal.load(row));
        let put = |place: u64, column: u32, value: W| {
            let smoothing = weight * (inverse * value);
            new_columns.store(place, column);
            new_values.store(place, if column == row { W::ONE + smoothing } else { smoothing });
        };
        let (mut next, mut diagonal_is_put) = (new_offsets.load(row), false);
        let (mut entry, end) = (offsets.load(row), offsets.load(row + 1));
        while entry < end {
            let column = columns.load(entry);
            if column != row && strong.include(column) {
                if column > row && !diagonal_is_put {
                    put(next, row, on_diagonal);
                    (next, diagonal_is_put) = (next + 1, true);
                }
                put(next, column, values.load(entry));
                next += 1;
            }
            entry += 1;
        }
        if !diagonal_is_put {
            put(next, row, on_diagonal);
        }
        row += grid_threads();
    }
}
