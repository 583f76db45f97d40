//! R-MAT, small-world and preferential-attachment graphs.

use host::Csr;
use synthetic::{BarabasiAlbert, Generate, Numbering, Rmat, SmallWorld};

fn checked(generator: &impl Generate) -> Csr<f64> {
    let matrix: Csr<f64> = generator.generate().unwrap();
    assert_eq!((matrix.rows(), matrix.columns()), (generator.rows(), generator.columns()), "{generator}");
    for row in 0..matrix.rows() {
        assert!(matrix.row(row).map(|(column, _)| column).is_sorted_by(|left, right| left < right), "{generator}");
    }
    assert!(matrix.values().iter().all(|value| (0.5..=1.0).contains(&value.abs())), "{generator}");
    matrix
}

fn assert_symmetric(matrix: &Csr<f64>) {
    for row in 0..matrix.rows() {
        for (column, value) in matrix.row(row) {
            let back = matrix.row(column as usize).find(|&(column, _)| column as usize == row);
            assert_eq!(back, Some((row as u32, value)), "row {row}, column {column}");
        }
    }
}

/// The number of entries per quarter, against the mean number of positions there with at least one edge.
#[test]
fn rmat_quarters() {
    for (a, b, c) in [(0.57, 0.19, 0.19), (0.25, 0.25, 0.25), (0.1, 0.6, 0.2)] {
        let rmat = Rmat { a, b, c, edges_per_vertex: 8, ..Rmat::new(14) };
        let matrix = checked(&rmat);
        // Positions are taken independently, so the variance is less than the mean.
        let foretold = rmat.expected_nnz() as f64;
        assert!((matrix.nnz() as f64 - foretold).abs() < 5.0 * foretold.sqrt(), "{rmat}: {foretold}, {}", matrix.nnz());
        let middle = 1 << 13;
        let mut quarters = [0.0; 4];
        for row in 0..matrix.rows() {
            for (column, _) in matrix.row(row) {
                quarters[usize::from(row >= middle) * 2 + usize::from(column as usize >= middle)] += 1.0;
            }
        }
        // Each quarter is such a graph of half as many vertices with its fraction of the edges, so the heavier ones
        // lose more duplicates.
        for (found, share) in quarters.into_iter().zip([a, b, c, 1.0 - a - b - c]) {
            let quarter = distinct(13, share * 8.0 * 16384.0, [a, b, c]);
            assert!((found - quarter).abs() < 5.0 * quarter.sqrt(), "{rmat}: {found}, expected {quarter}");
        }
    }
}

/// The mean number of positions with an edge, by recursion.
fn distinct(levels: u32, edges: f64, [a, b, c]: [f64; 3]) -> f64 {
    fn visit(levels: u32, mean: f64, shares: [f64; 4], memo: &mut std::collections::HashMap<(u32, u64), f64>) -> f64 {
        if levels == 0 {
            return -(-mean).exp_m1();
        }
        if let Some(&known) = memo.get(&(levels, mean.to_bits() >> 16)) {
            return known;
        }
        let sum = shares.iter().map(|share| visit(levels - 1, mean * share, shares, memo)).sum();
        memo.insert((levels, mean.to_bits() >> 16), sum);
        sum
    }
    visit(levels, edges, [a, b, c, 1.0 - a - b - c], &mut Default::default())
}

/// The mean number of distinct columns of a row depends only on the number of ones in its index; compares the rows of
/// each such class together.
#[test]
fn rmat_row_lengths() {
    let rmat = Rmat { a: 0.45, b: 0.15, c: 0.25, edges_per_vertex: 4, ..Rmat::new(16) };
    let matrix = checked(&rmat);
    let edges = 4.0 * 65536.0;
    let mut found = [0.0; 17];
    for row in 0..matrix.rows() {
        found[row.count_ones() as usize] += matrix.range(row).len() as f64;
    }
    for (ones, found) in found.into_iter().enumerate() {
        // Duplicates are counted: an upper bound that is close where rows are short.
        let choose = (0..ones).fold(1.0, |product, step| product * (16 - step) as f64 / (step + 1) as f64);
        let expected = choose * edges * 0.6f64.powi(16 - ones as i32) * 0.4f64.powi(ones as i32);
        let lost = if ones >= 8 { 0.03 } else { 0.3 };
        let slack = 5.0 * expected.sqrt() + 1.0;
        assert!((expected * (1.0 - lost) - slack..expected + slack).contains(&found), "{ones}: {found}, {expected}");
    }
}

#[test]
fn rmat_shuffled_is_the_same_graph() {
    let natural = Rmat::new(12);
    let shuffled = Rmat { numbering: Numbering::Shuffled, ..natural };
    let lengths = |rmat: &Rmat| {
        let mut lengths: Vec<_> = checked(rmat).row_lengths().collect();
        let sorted_already = lengths[0] == *lengths.iter().max().unwrap();
        lengths.sort_unstable();
        (sorted_already, lengths.len(), lengths[4095])
    };
    let (first_is_longest, _, longest) = lengths(&natural);
    assert!(first_is_longest);
    let (first_is_longest, _, other) = lengths(&shuffled);
    assert!(!first_is_longest);
    // Drawn from other random numbers: about as long.
    assert!((longest as f64 - other as f64).abs() < 5.0 * (longest as f64).sqrt(), "{longest}, {other}");
}

#[test]
fn rmat_at_the_limits() {
    // All edges at one position: drawn in parts, not all at once.
    assert_eq!(checked(&Rmat { a: 1.0, b: 0.0, c: 0.0, edges_per_vertex: 8192, ..Rmat::new(9) }).nnz(), 1);
    let matrix = checked(&Rmat { a: 0.0, b: 0.5, c: 0.5, edges_per_vertex: 256, ..Rmat::new(4) });
    assert!((0..16).all(|row| matrix.row(row).map(|(column, _)| column).eq([15 - row as u32])));
}

/// Half of the neighbours are a vertex's own; the others are the vertices before it, each with probability 1 − p, and
/// any vertices, Poisson with mean p · k / 2.
#[test]
fn small_world_degrees() {
    for (neighbours, rewired) in [(2, 0.0), (10, 0.0), (10, 0.1), (10, 1.0), (4, 0.5)] {
        let graph = SmallWorld::new(50_000, neighbours, rewired);
        let matrix = checked(&graph);
        assert_symmetric(&matrix);
        let lost = graph.expected_nnz() as usize - matrix.nnz();
        assert!(lost <= 2 * 50 * neighbours, "{graph}: {lost} edges twice");
        let mean = neighbours as f64;
        let variance = matrix.row_lengths().map(|length| (length as f64 - mean).powi(2)).sum::<f64>() / 5e4;
        let expected = mean / 2.0 * rewired * (2.0 - rewired);
        assert!((variance - expected).abs() <= 0.05 * expected, "{graph}: {variance}, expected {expected}");
        let moved = (0..matrix.rows())
            .map(|row| {
                let far = |column: u32| {
                    let apart = row.abs_diff(column as usize);
                    apart.min(50_000 - apart) > neighbours / 2
                };
                matrix.row(row).filter(|&(column, _)| far(column)).count()
            })
            .sum::<usize>() as f64;
        let expected = graph.expected_nnz() as f64 * rewired;
        assert!((moved - expected).abs() <= 10.0 * expected.sqrt(), "{graph}: {moved} moved, expected {expected}");
        assert!((0..matrix.rows()).all(|row| matrix.row(row).all(|(column, _)| column as usize != row)));
    }
}

/// P(degree ≥ d) = m (m + 1) / (d (d + 1)) for d ≥ m (Bollobás et al. 2001), which holds for large graphs.
#[test]
fn preferential_attachment_degrees() {
    for edges in [1, 4] {
        let graph = BarabasiAlbert::new(100_000, edges);
        let matrix = checked(&graph);
        assert_symmetric(&matrix);
        assert!(matrix.nnz() as f64 > 0.99 * graph.expected_nnz() as f64, "{}", matrix.nnz());
        for degree in [edges + 1, 2 * edges, 5 * edges, 20 * edges, 50 * edges] {
            let found = matrix.row_lengths().filter(|&length| length >= degree).count() as f64;
            let expected = 1e5 * (edges * (edges + 1)) as f64 / (degree * (degree + 1)) as f64;
            let slack = 5.0 * expected.sqrt() + 0.02 * expected;
            assert!((found - expected).abs() < slack, "{graph}: {found} of degree {degree}, expected {expected}");
        }
        // The oldest vertices are the hubs: degree about m sqrt(n).
        let longest = matrix.row_lengths().max().unwrap();
        assert!(longest > 100 * edges && matrix.row_lengths().take(100).any(|length| length == longest), "{longest}");
    }
    let alone = checked(&BarabasiAlbert::new(1, 3));
    assert_eq!(alone.row(0).map(|(column, _)| column).collect::<Vec<_>>(), [0]);
}
