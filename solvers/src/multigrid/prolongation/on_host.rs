//! Prolongations on the host.

use gpu_kernels::multigrid::smoothing::smoothing_inverse;
use host::error::Error;
use host::format::{Csr, Offsets, parallel_rows};
use host::memory::{with_capacity, zeros};
use host::parallel;
use host::real::Scalar;

use super::super::AT_ONCE;
use super::super::aggregation::{Aggregates, NONE};
use super::super::graph::{Graph, Nodes};
use super::super::near_null_space::Vectors;
use super::{DEPENDENT, Tentative, WEIGHT};

/// Returns the tentative prolongation (Vaněk, Mandel & Brezina 1996, §3): the near-null-space vectors, cut into aggregates
/// and orthonormalized in each, without those that depend on others. O(rows · vectors²) in parallel.
///
/// # Errors
/// When there are too many coarse unknowns, or memory runs out.
pub(super) fn tentative<W: Scalar<Real = f64>>(
    nodes: &Nodes,
    aggregates: &Aggregates,
    near_null_space: &Vectors<W>,
) -> Result<Tentative<W>, Error> {
    let vectors = near_null_space.count;
    let members = Members::new(nodes, aggregates)?;
    // Per aggregate the rows of the vectors, followed by the factor that orthonormalizes them.
    let begin = |aggregate: usize| members.begin(aggregate) + aggregate * vectors;
    let mut parts = zeros::<W>(begin(aggregates.count).saturating_mul(vectors))?;
    let ends = host::memory::collect((0..aggregates.count).map(|aggregate| begin(aggregate + 1) * vectors))?;
    parallel::parts_mut(&mut parts, &ends, &|(aggregate, part)| {
        let members = &members.unknowns[members.begin(aggregate)..members.begin(aggregate + 1)];
        let (basis, factor) = part.split_at_mut(members.len() * vectors);
        for (row, &unknown) in basis.chunks_exact_mut(vectors).zip(members) {
            row.copy_from_slice(&near_null_space.elements[unknown as usize * vectors..][..vectors]);
        }
        orthonormalize(basis, factor, vectors);
    });
    let factor = |aggregate: usize| &parts[(begin(aggregate + 1) - vectors) * vectors..][..vectors * vectors];
    // An omitted vector has 0 on the factor's diagonal.
    let kept = |aggregate: usize| {
        let factor = factor(aggregate);
        (0..vectors).filter(move |&vector| factor[vector * vectors + vector] != W::ZERO)
    };
    let mut first = with_capacity(aggregates.count + 1)?;
    let mut unknowns = 0_usize;
    for aggregate in 0..aggregates.count {
        first.push(unknowns as u32);
        unknowns += kept(aggregate).count();
    }
    first.push(unknowns as u32);
    let rows = nodes.of_unknown.len();
    let aggregate_of = |row: usize| aggregates.of_node[nodes.of_unknown[row] as usize];
    let length = |row: usize| match aggregate_of(row) {
        NONE => 0,
        aggregate => (first[aggregate as usize + 1] - first[aggregate as usize]) as usize,
    };
    let offsets = Offsets::from_lengths((0..rows).map(length))?;
    let (mut columns, mut values) = (zeros(offsets.get(rows))?, zeros(offsets.get(rows))?);
    parallel_rows(&offsets, AT_ONCE, &mut columns, &mut values, &|rows, columns, values| {
        let mut places = columns.iter_mut().zip(values);
        for row in rows {
            let aggregate = aggregate_of(row);
            if aggregate == NONE {
                continue;
            }
            let aggregate = aggregate as usize;
            let row = &parts[(members.place[row] as usize + aggregate * vectors) * vectors..][..vectors];
            let entries = (first[aggregate]..first[aggregate + 1]).zip(kept(aggregate).map(|vector| row[vector]));
            for (entry, (column, value)) in entries.zip(&mut places) {
                (*column, *value) = entry;
            }
        }
        Ok(())
    })?;
    let mut coarse = with_capacity(unknowns.saturating_mul(vectors))?;
    for aggregate in 0..aggregates.count {
        for row in kept(aggregate) {
            coarse.extend_from_slice(&factor(aggregate)[row * vectors..][..vectors]);
        }
    }
    Ok(Tentative {
        prolongation: Csr::try_new(rows, unknowns, offsets, columns, values)?,
        nodes: Nodes::new(first)?,
        near_null_space: Vectors { count: vectors, elements: coarse },
    })
}

/// The unknowns of each aggregate, by aggregates.
struct Members {
    unknowns: Vec<u32>,
    /// The end of each aggregate.
    ends: Vec<usize>,
    /// The index of each unknown, if it is in an aggregate.
    place: Vec<u32>,
}

impl Members {
    /// Returns the offset of an aggregate, which is the end of the previous one.
    fn begin(&self, aggregate: usize) -> usize {
        aggregate.checked_sub(1).map_or(0, |before| self.ends[before])
    }

    fn new(nodes: &Nodes, aggregates: &Aggregates) -> Result<Self, Error> {
        let mut ends = zeros::<usize>(aggregates.count)?;
        let in_aggregates = || (0..nodes.len()).filter(|&node| aggregates.of_node[node] != NONE);
        for node in in_aggregates() {
            ends[aggregates.of_node[node] as usize] += nodes.unknowns(node).len();
        }
        let mut total = 0;
        for end in &mut ends {
            total += std::mem::replace(end, total);
        }
        let (mut unknowns, mut place) = (zeros(total)?, zeros(nodes.of_unknown.len())?);
        for node in in_aggregates() {
            let next = &mut ends[aggregates.of_node[node] as usize];
            for unknown in nodes.unknowns(node) {
                unknowns[*next] = unknown as u32;
                place[unknown] = *next as u32;
                *next += 1;
            }
        }
        Ok(Self { unknowns, ends, place })
    }
}

/// B = Q R for the rows of an aggregate, by the modified Gram-Schmidt method: B becomes Q. A vector that depends on
/// previous ones is omitted: it has zeros in Q and a row of zeros in R.
fn orthonormalize<W: Scalar<Real = f64>>(basis: &mut [W], factor: &mut [W], vectors: usize) {
    let norm = |basis: &[W], vector: usize| {
        let squares = basis.chunks_exact(vectors).flat_map(|row| row[vector].parts()).map(|part| part * part);
        squares.sum::<f64>().sqrt()
    };
    for vector in 0..vectors {
        let whole = norm(basis, vector);
        // The second pass removes the rounding errors of the first.
        for _ in 0..2 {
            for before in 0..vector {
                let product =
                    basis.chunks_exact(vectors).fold(W::ZERO, |sum, row| sum + row[before].conjugate() * row[vector]);
                for row in basis.chunks_exact_mut(vectors) {
                    row[vector] = row[vector] - row[before] * product;
                }
                let place = before * vectors + vector;
                factor[place] = factor[place] + product;
            }
        }
        let left = norm(basis, vector);
        // Written so that a NaN is omitted.
        let scale = if left > DEPENDENT * whole { 1.0 / left } else { 0.0 };
        let scale = if scale.is_finite() { scale } else { 0.0 };
        for row in basis.chunks_exact_mut(vectors) {
            row[vector] = W::from_f64(scale) * row[vector];
        }
        if scale > 0.0 {
            factor[vector * vectors + vector] = W::from_f64(left);
        }
    }
}

/// Returns the matrix without weak connections, which are added to the diagonals of their rows. Each row has a diagonal
/// entry.
///
/// # Errors
/// When memory runs out.
pub(super) fn filtered<W: Scalar<Real = f64>>(matrix: &Csr<W>, nodes: &Nodes, graph: &Graph) -> Result<Csr<W>, Error> {
    let strong = |row: usize, column: u32| {
        let [node, other] = [row, column as usize].map(|unknown| nodes.of_unknown[unknown]);
        node == other || graph.of(node as usize).binary_search(&other).is_ok()
    };
    keep(matrix, &|row, column| strong(row, column))
}

/// Returns I − ω / λ D⁻¹ A, which smooths the tentative prolongation, for a [filtered] matrix A and, of the matrix before
/// filtering, the inverse of the diagonal and the largest eigenvalue λ. D has the larger diagonal element of before and
/// after filtering: a smaller one, perhaps 0, would smooth too much.
pub(super) fn smoothing<W: Scalar<Real = f64>>(
    matrix: Csr<W>,
    inverse_diagonal: &[W],
    largest: f64,
) -> Result<Csr<W>, Error> {
    let (rows, weight) = (matrix.rows(), W::from_f64(-WEIGHT / largest));
    let (offsets, mut columns, mut values) = matrix.into_parts();
    parallel_rows(&offsets, AT_ONCE, &mut columns, &mut values, &|rows, columns, values| {
        let base = offsets.get(rows.start);
        for row in rows {
            let range = offsets.get(row) - base..offsets.get(row + 1) - base;
            let (columns, values) = (&columns[range.clone()], &mut values[range]);
            let on_diagonal = columns.iter().position(|&column| column as usize == row);
            let filtered = on_diagonal.map_or(W::ZERO, |place| values[place]);
            let inverse = smoothing_inverse(filtered, inverse_diagonal[row]);
            values.iter_mut().for_each(|value| *value = weight * (inverse * *value));
            if let Some(place) = on_diagonal {
                values[place] = W::ONE + values[place];
            }
        }
        Ok(())
    })?;
    Csr::try_new(rows, rows, offsets, columns, values)
}

/// Keeps some off-diagonal entries and the diagonal of every row, to which the sum of the dropped entries is added.
fn keep<W: Scalar<Real = f64>>(matrix: &Csr<W>, kept: &(dyn Fn(usize, u32) -> bool + Sync)) -> Result<Csr<W>, Error> {
    let rows = matrix.rows();
    let beside = |row: usize| matrix.row(row).filter(move |&(column, _)| column as usize != row && kept(row, column));
    let lengths = parallel::map(rows, AT_ONCE, &|row| beside(row).count() + 1)?;
    let offsets = Offsets::from_lengths(lengths.iter().copied())?;
    let (mut columns, mut values) = (zeros(offsets.get(rows))?, zeros(offsets.get(rows))?);
    parallel_rows(&offsets, AT_ONCE, &mut columns, &mut values, &|rows, columns, values| {
        let mut next = 0;
        for row in rows {
            let (mut sum, mut on_diagonal) = (W::ZERO, None);
            for (column, value) in matrix.row(row) {
                if column as usize == row || !kept(row, column) {
                    sum = sum + value;
                    continue;
                }
                if column as usize > row && on_diagonal.is_none() {
                    on_diagonal = Some(next);
                    next += 1;
                }
                (columns[next], values[next]) = (column, value);
                next += 1;
            }
            let place = on_diagonal.unwrap_or_else(|| {
                next += 1;
                next - 1
            });
            (columns[place], values[place]) = (row as u32, sum);
        }
        Ok(())
    })?;
    Csr::try_new(rows, rows, offsets, columns, values)
}

#[cfg(test)]
mod tests {
    use host::Complex;

    use super::*;

    #[test]
    fn vectors_become_orthonormal_and_dependent_ones_nothing() {
        // The third vector is the sum of the first two.
        let original = [1.0, 2.0, 3.0, 0.0, 1.0, 1.0, -1.0, 4.0, 3.0];
        let (mut basis, mut factor) = (original, [0.0; 9]);
        orthonormalize(&mut basis, &mut factor, 3);
        for left in 0..3 {
            for right in 0..3 {
                let product: f64 = basis.chunks(3).map(|row| row[left] * row[right]).sum();
                let expected = if left == right && left < 2 { 1.0 } else { 0.0 };
                assert!((product - expected).abs() < 1e-14, "{left} and {right}: {product}");
                let value: f64 = (0..3).map(|inner| basis[left * 3 + inner] * factor[inner * 3 + right]).sum();
                assert!((value - original[left * 3 + right]).abs() < 1e-14);
            }
        }
        assert_eq!(factor[8], 0.0);
        let one = Complex::<f64>::from_f64(1.0);
        let (mut basis, mut factor) = ([Complex::from_parts(0.0, 1.0), one, -one, one], [Complex::default()]);
        orthonormalize(&mut basis, &mut factor, 1);
        let parts = basis.map(|element| element.parts());
        assert_eq!((parts, factor[0].parts()), ([[0.0, 0.5], [0.5, 0.0], [-0.5, 0.0], [0.5, 0.0]], [2.0, 0.0]));
    }

    #[test]
    fn aggregates_represent_the_near_null_space() {
        let nodes = Nodes::of_size(2, 10).unwrap();
        // The third node is in no aggregate.
        let aggregates = Aggregates { count: 2, of_node: vec![0, 1, NONE, 1, 0] };
        let vectors: Vec<f64> = (0..30).map(|element| f64::from(element * 7 % 11) - 4.0).collect();
        let near_null_space = Vectors { count: 3, elements: vectors };
        let tentative = tentative(&nodes, &aggregates, &near_null_space).unwrap();
        assert_eq!((tentative.prolongation.columns(), tentative.nodes.len()), (6, 2));
        for row in 0..10 {
            for vector in 0..3 {
                let coarse = &tentative.near_null_space.elements;
                let entries = tentative.prolongation.row(row);
                let value: f64 = entries.map(|(column, value)| value * coarse[column as usize * 3 + vector]).sum();
                let expected = if matches!(row, 4 | 5) { 0.0 } else { near_null_space.elements[row * 3 + vector] };
                assert!((value - expected).abs() < 1e-12, "row {row}, vector {vector}: {value} and not {expected}");
            }
        }
    }

    #[test]
    fn what_is_left_out_is_on_the_diagonal() {
        let (rows, columns) = ([0, 0, 0, 1, 2, 2], [1, 0, 2, 2, 0, 1]);
        let matrix = Csr::try_from_triplets(3, 3, &rows, &columns, &[1.0, 5.0, 2.0, 3.0, 4.0, 6.0]).unwrap();
        let kept = keep(&matrix, &|row, column| (row, column) != (0, 2) && row != 2).unwrap();
        let expected = Csr::try_from_triplets(3, 3, &[0, 0, 1, 1, 2], &[0, 1, 1, 2, 2], &[7.0, 1.0, 0.0, 3.0, 10.0]);
        assert_eq!(kept, expected.unwrap());
        let smoothing = smoothing(kept, &[0.2, 0.5, 0.05], 2.0).unwrap();
        let dense: Vec<Vec<_>> = (0..3).map(|row| smoothing.row(row).collect()).collect();
        let w = 2.0 / 3.0;
        // In row 0 the diagonal has become larger, and the larger one is used.
        let expected = [vec![(0, 1.0 - w), (1, -w / 7.0)], vec![(1, 1.0), (2, -w * 1.5)], vec![(2, 1.0 - w * 0.5)]];
        for ((column, value), (expected_column, expected)) in dense.iter().flatten().zip(expected.iter().flatten()) {
            assert!(column == expected_column && f64::abs(value - expected) < 1e-15);
        }
    }
}
