//! Connections on the host.

use cuda_std::GpuScalar;
use host::error::Error;
use host::format::{Csr, Offsets};
use host::memory::{copy, filled, reserve, with_capacity, zeros};
use host::parallel;
use host::real::Scalar;

use super::super::AT_ONCE;
use super::super::graph::{Graph, Nodes};

/// Appends the columns and values of a node to a row.
type PutRow<'a, V> = dyn Fn(usize, &mut Vec<(u32, V)>) -> Result<(), Error> + Sync + 'a;

/// Rows assembled by chunks of nodes.
struct Rows<V> {
    lengths: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<V>,
}

impl<V: Copy + Default + Send + Sync> Rows<V> {
    /// Collects the rows of all nodes.
    ///
    /// # Errors
    /// When memory runs out.
    fn collect(nodes: usize, put: &PutRow<'_, V>) -> Result<Self, Error> {
        let chunk = |chunk: usize| {
            let nodes = chunk * AT_ONCE..nodes.min((chunk + 1) * AT_ONCE);
            let mut rows = Self { lengths: with_capacity(nodes.len())?, columns: vec![], values: vec![] };
            let mut row = vec![];
            for node in nodes {
                row.clear();
                put(node, &mut row)?;
                rows.lengths.push(row.len() as u32);
                reserve(&mut rows.columns, row.len())?;
                reserve(&mut rows.values, row.len())?;
                rows.columns.extend(row.iter().map(|&(column, _)| column));
                rows.values.extend(row.iter().map(|&(_, value)| value));
            }
            Ok::<_, Error>(rows)
        };
        let mut chunks = with_capacity(nodes.div_ceil(AT_ONCE))?;
        for rows in parallel::map(nodes.div_ceil(AT_ONCE), 1, &chunk)? {
            chunks.push(rows?);
        }
        let mut ends = with_capacity(chunks.len())?;
        let mut all = Self { lengths: with_capacity(nodes)?, columns: vec![], values: vec![] };
        let mut total = 0;
        for rows in &chunks {
            all.lengths.extend_from_slice(&rows.lengths);
            total += rows.columns.len();
            ends.push(total);
        }
        (all.columns, all.values) = (zeros(total)?, filled(total, V::default())?);
        parallel::parts_mut(&mut all.columns, &ends, &|(chunk, part)| part.copy_from_slice(&chunks[chunk].columns));
        parallel::parts_mut(&mut all.values, &ends, &|(chunk, part)| part.copy_from_slice(&chunks[chunk].values));
        Ok(all)
    }
}

/// Returns the graph of strong connections, as defined at [`Multigrid::strength`](super::Multigrid::strength). Connections
/// that are strong in one direction count in both. O(nnz) in parallel.
///
/// # Errors
/// When memory runs out.
pub(super) fn strong_connections<W: Scalar<Real = f64>>(
    matrix: &Csr<W>,
    nodes: &Nodes,
    threshold: f64,
) -> Result<Graph, Error> {
    let blocks = blocks(matrix, nodes)?;
    let kept = match threshold > 0.0 {
        true => {
            let largest = |node| blocks.row(node).fold(0.0, |largest: f64, (_, square)| largest.max(square));
            let largest = parallel::map(nodes.len(), AT_ONCE, &largest)?;
            Rows::collect(nodes.len(), &|node, row| {
                let strong = |&(other, square): &(u32, f64)| {
                    square >= threshold * threshold * (largest[node] * largest[other as usize]).sqrt()
                };
                put(row, blocks.row(node).len(), blocks.row(node).filter(strong).map(|(other, _)| (other, ())))
            })?
        }
        false => Rows::collect(nodes.len(), &|node, row| {
            put(row, blocks.row(node).len(), blocks.row(node).map(|(other, _)| (other, ())))
        })?,
    };
    let pattern = graph_of(kept)?;
    let mutual = |node: usize| {
        pattern.of(node).iter().all(|&other| pattern.of(other as usize).binary_search(&(node as u32)).is_ok())
    };
    if parallel::all(pattern.nodes(), AT_ONCE, &mutual) {
        return Ok(pattern);
    }
    let back = transposed(&pattern)?;
    graph_of(Rows::collect(pattern.nodes(), &|node, row| {
        let both = pattern.of(node).iter().chain(back.of(node));
        put(row, pattern.of(node).len() + back.of(node).len(), both.map(|&other| (other, ())))?;
        row.sort_unstable();
        row.dedup();
        Ok(())
    })?)
}

/// Returns the squared Frobenius norm of each nonzero off-diagonal block.
pub(super) fn blocks<W: Scalar<Real = f64>>(matrix: &Csr<W>, nodes: &Nodes) -> Result<Csr<f64>, Error> {
    let rows = Rows::collect(nodes.len(), &|node, row| {
        for unknown in nodes.unknowns(node) {
            let square = |value: W| value.parts().into_iter().map(|part| part * part).sum::<f64>();
            let entries = matrix.row(unknown).map(|(column, value)| (nodes.of_unknown[column as usize], square(value)));
            put(
                row,
                matrix.range(unknown).len(),
                entries.filter(|&(other, square)| other as usize != node && square > 0.0),
            )?;
        }
        row.sort_by_key(|&(other, _)| other);
        row.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        Ok(())
    })?;
    let offsets = Offsets::from_lengths(rows.lengths.iter().map(|&length| length as usize))?;
    Csr::try_new(nodes.len(), nodes.len(), offsets, rows.columns, rows.values)
}

/// Appends at most `most` entries.
fn put<V>(row: &mut Vec<(u32, V)>, most: usize, entries: impl Iterator<Item = (u32, V)>) -> Result<(), Error> {
    reserve(row, most)?;
    row.extend(entries);
    Ok(())
}

/// Returns the graph with all connections reversed.
fn transposed(graph: &Graph) -> Result<Graph, Error> {
    let ones = filled(graph.neighbours.len(), f32::ONE)?;
    let (offsets, columns) = (copy(&graph.offsets)?, copy(&graph.neighbours)?);
    let matrix = Csr::try_new(graph.nodes(), graph.nodes(), offsets, columns, ones)?.transposed()?;
    let lengths = parallel::map(matrix.rows(), AT_ONCE, &|node| matrix.range(node).len() as u32)?;
    let (_, neighbours, _) = matrix.into_parts();
    Ok(Graph { offsets: offsets_of(&lengths)?, neighbours })
}

/// Returns the offset of each row of these lengths, and the end of the last one.
fn offsets_of(lengths: &[u32]) -> Result<Vec<u64>, Error> {
    let mut offsets = with_capacity(lengths.len() + 1)?;
    let mut end = 0;
    offsets.push(end);
    offsets.extend(lengths.iter().map(|&length| {
        end += u64::from(length);
        end
    }));
    Ok(offsets)
}

/// Returns the graph of some rows.
fn graph_of(rows: Rows<()>) -> Result<Graph, Error> {
    Ok(Graph { offsets: offsets_of(&rows.lengths)?, neighbours: rows.columns })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: usize, entries: &[(u32, u32, f64)]) -> Csr<f64> {
        let [rows_of, columns] = [0, 1].map(|part| {
            entries.iter().map(|&(row, column, _)| if part == 0 { row } else { column }).collect::<Vec<_>>()
        });
        let values: Vec<_> = entries.iter().map(|entry| entry.2).collect();
        Csr::try_from_triplets(rows, rows, &rows_of, &columns, &values).unwrap()
    }

    #[test]
    fn connections_are_the_same_both_ways_and_zeros_are_none() {
        let entries = [(0, 0, 4.0), (0, 1, -1.0), (1, 1, 4.0), (1, 2, 0.0), (2, 1, 0.0), (2, 2, 1.0), (2, 3, 0.5)];
        let graph = strong_connections(&matrix(4, &entries), &Nodes::of_size(1, 4).unwrap(), 0.0).unwrap();
        assert_eq!((0..4).map(|node| graph.of(node)).collect::<Vec<_>>(), [&[1][..], &[0], &[3], &[2]]);
    }

    #[test]
    fn weak_connections_are_left_out() {
        let mut entries: Vec<_> = (0..4).map(|row| (row, row, 4.0)).collect();
        for (left, right, value) in [(0, 1, -1.0), (1, 2, -0.1), (2, 3, -1.0)] {
            entries.extend([(left, right, value), (right, left, value)]);
        }
        let matrix = matrix(4, &entries);
        let graph = |threshold| strong_connections(&matrix, &Nodes::of_size(1, 4).unwrap(), threshold).unwrap();
        assert_eq!(graph(0.09).of(1), [0, 2]);
        assert_eq!(graph(0.11).of(1), [0]);
        // Nodes of two unknowns: one connection, of norm 0.1.
        let graph = strong_connections(&matrix, &Nodes::of_size(2, 4).unwrap(), 0.5).unwrap();
        assert_eq!((graph.of(0), graph.of(1)), (&[1][..], &[0][..]));
        let error = Nodes::of_size(3, 4).err().unwrap().to_string();
        assert_eq!(error, "the number of unknowns of a node is 3, expected a divisor of the number of rows");
    }
}
