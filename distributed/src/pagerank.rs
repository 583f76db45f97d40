//! Transition matrices of graphs divided among ranks.

use std::iter;

use host::format::parallel_rows;
use host::memory::{collect, zeros};
use host::{Csr, Real};
use solvers::weights_of_vertices;

use crate::communicator::Communicator;
use crate::deal::redistributed;
use crate::error::Error;
use crate::ranges::Ranges;
use crate::rows::ROWS_AT_ONCE;
use crate::transpose::{AT_ONCE, column_lengths, transposed_of};

/// A rank's part of the transition matrix of a graph, for [`Pagerank::of_operator`](solvers::Pagerank::of_operator).
pub struct Transitions<T: Real> {
    /// The vertices of each rank, with about the same number of incoming edges per rank.
    pub ranges: Ranges,
    /// The rows of Pᵀ for this rank's vertices, with all columns.
    pub rows: Csr<T>,
    /// Whether each of this rank's vertices is without edges.
    pub dangling: Vec<bool>,
    /// The largest number of incoming edges of a vertex on any rank.
    pub longest_row: u64,
}

/// Returns the transition matrix of a graph. This rank has the rows of its vertices, with all columns: an entry in row i
/// and column j is an edge from i to j with that weight. Edges are sent to the owners of the vertices that they lead to.
/// All ranks must call it.
///
/// # Errors
/// When a weight is negative or not finite, a row's weights overflow, the ranges are those of other rows, the graph is not
/// square, a rank fails, or memory runs out.
pub fn transitions<T: Real>(
    communicator: &Communicator,
    graph: &Csr<T>,
    ranges: &Ranges,
) -> Result<Transitions<T>, Error> {
    let first = ranges.of(communicator.rank()).start as usize;
    let totals = weights_of_vertices(graph, first)?;
    let offsets = graph.row_offsets();
    let (mut columns, mut values) = (zeros::<u32>(graph.nnz())?, zeros::<T>(graph.nnz())?);
    parallel_rows(offsets, ROWS_AT_ONCE, &mut columns, &mut values, &|rows, columns, values| {
        let entries = rows.flat_map(|row| graph.row(row).zip(iter::repeat(totals[row])));
        for ((into_column, into), ((column, weight), total)) in columns.iter_mut().zip(values).zip(entries) {
            *into_column = column;
            *into = T::from_f64(if total == 0.0 { 0.0 } else { weight.to_f64() / total });
        }
        Ok(())
    })?;
    let shares = Csr::try_new(graph.rows(), graph.columns(), offsets.try_clone()?, columns, values)?;

    let even = Ranges::even(ranges.total(), communicator.ranks())?;
    let lengths = column_lengths(communicator, &shares, &even)?;
    let balanced = Ranges::balanced_together(communicator, &lengths)?;
    let mut longest_row = [lengths.iter().copied().max().unwrap_or(0) as u64];
    communicator.reduce(&mut longest_row, u64::max)?;
    let lengths = redistributed(communicator, &lengths, &even, &balanced)?;
    let rows = transposed_of(communicator, &shares, ranges, &balanced, lengths, AT_ONCE)?;
    let dangling: Vec<u8> = collect(totals.iter().map(|&total| u8::from(total == 0.0)))?;
    let dangling = redistributed(communicator, &dangling, ranges, &balanced)?;
    let dangling = collect(dangling.iter().map(|&is| is == 1))?;
    Ok(Transitions { ranges: balanced, rows, dangling, longest_row: longest_row[0] })
}
