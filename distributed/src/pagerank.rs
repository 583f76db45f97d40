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
use crate::transpose::{at_once, balanced_columns, check_columns, transposed_of};

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

    check_columns(&shares, ranges)?;
    let (balanced, lengths) = balanced_columns(communicator, &shares)?;
    let mut longest_row = [lengths.iter().copied().max().unwrap_or(0) as u64];
    communicator.reduce(&mut longest_row, u64::max)?;
    let rows = transposed_of(communicator, &shares, ranges, &balanced, lengths, at_once(communicator))?;
    let dangling: Vec<u8> = collect(totals.iter().map(|&total| u8::from(total == 0.0)))?;
    let dangling = redistributed(communicator, &dangling, ranges, &balanced)?;
    let dangling = collect(dangling.iter().map(|&is| is == 1))?;
    Ok(Transitions { ranges: balanced, rows, dangling, longest_row: longest_row[0] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_that_do_not_fit_their_ranges_are_refused() {
        let (alone, ranges) = (Communicator::alone(), Ranges::even(3, 1).unwrap());
        for (rows, columns, expected) in
            [(3, 2, "ranges of columns: 3 of 2 columns"), (2, 3, "ranges of rows: 2 rows, expected 3")]
        {
            let graph = Csr::try_from_triplets(rows, columns, &[0, 1], &[1, 0], &[1.0, 2.0]).unwrap();
            assert_eq!(transitions(&alone, &graph, &ranges).err().unwrap().to_string(), expected);
        }
    }
}
