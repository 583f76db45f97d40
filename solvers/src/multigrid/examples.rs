//! Fixtures for the tests of kernels.

use host::device::Tuning;
use host::executor::Emulated;
use host::format::Csr;
use host::real::Scalar;

use super::graph::{Graph, Nodes};

/// Emulators of several sizes and execution orders; none under Miri, which has no lanes.
pub(super) fn emulators() -> impl Iterator<Item = Emulated> {
    let sizes = [(1, 2, 32), (2, 3, 64), (3, 40, 32)];
    let sizes = sizes.into_iter().filter(|_| !cfg!(miri));
    sizes.map(|(seed, multiprocessors, threads)| {
        Emulated::with_size(seed, multiprocessors, 128, Tuning::new(threads, 1).unwrap()).unwrap()
    })
}

/// A hash of a number.
pub(super) fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (number ^ number >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 16
}

/// A number from -1 to 1, or a complex one with such parts.
pub(super) fn value<W: Scalar>(number: u64) -> W {
    let part = |number: u64| (mixed(number) % 20_001) as f64 / 10_000.0 - 1.0;
    W::from_parts(part(2 * number), part(2 * number + 1))
}

/// The bits of all parts.
pub(super) fn bits<W: Scalar>(numbers: &[W]) -> Vec<[u64; 2]> {
    numbers.iter().map(|number| number.parts().map(f64::to_bits)).collect()
}

/// Asserts that both matrices have the same pattern and the same bits.
pub(super) fn assert_same<W: Scalar>(found: &Csr<W>, expected: &Csr<W>) {
    assert_eq!((found.rows(), found.columns()), (expected.rows(), expected.columns()));
    assert!((0..=found.rows()).all(|row| found.row_offsets().get(row) == expected.row_offsets().get(row)));
    assert_eq!(found.row_offsets().width(), expected.row_offsets().width());
    assert_eq!(found.column_indices(), expected.column_indices());
    assert_eq!(bits(found.values()), bits(expected.values()));
}

/// The five-point stencil of Laplace's equation on a square of `side` rows.
pub(super) fn grid<W: Scalar>(side: u32) -> Csr<W> {
    let (mut rows, mut columns, mut values) = (vec![], vec![], vec![]);
    for row in 0..side * side {
        let (x, y) = (row % side, row / side);
        let mut put = |there: bool, column: u32, value: f64| {
            if there {
                rows.push(row);
                columns.push(column);
                values.push(W::from_f64(value));
            }
        };
        put(true, row, 4.0);
        put(x > 0, row.wrapping_sub(1), -1.0);
        put(x + 1 < side, row + 1, -1.0);
        put(y > 0, row.wrapping_sub(side), -1.0);
        put(y + 1 < side, row + side, -1.0);
    }
    let size = (side * side) as usize;
    Csr::try_from_triplets(size, size, &rows, &columns, &values).unwrap()
}

/// A random square matrix with sorted rows; the share `diagonals` of its non-empty rows has an entry on the diagonal.
pub(super) fn random<W: Scalar>(size: u32, seed: u64, diagonals: f64) -> Csr<W> {
    let (mut rows, mut columns, mut values) = (vec![], vec![], vec![]);
    let mut next = mixed(seed) << 20;
    let mut number = || {
        next += 1;
        mixed(next)
    };
    for row in 0..size {
        let length = match number() % 20 {
            0 => 0,
            1 => 100,
            _ => 1 + number() % 9,
        };
        let has_diagonal = (number() % 1000) as f64 / 1000.0 < diagonals;
        for entry in 0..length {
            let column = if entry == 0 && has_diagonal { row } else { (number() % u64::from(size)) as u32 };
            if column != row || has_diagonal {
                rows.push(row);
                columns.push(column);
                values.push(value(number()));
            }
        }
    }
    Csr::try_from_triplets(size as usize, size as usize, &rows, &columns, &values).unwrap()
}

/// Nodes of `size` unknowns each; for 0, of 1 to 4.
pub(super) fn nodes(unknowns: u32, size: u32) -> Nodes {
    let mut first = vec![0];
    let mut begin = 0;
    while begin < unknowns {
        let size = if size == 0 { 1 + (mixed(begin.into()) % 4) as u32 } else { size };
        begin = unknowns.min(begin + size);
        first.push(begin);
    }
    Nodes::new(first).unwrap()
}

/// A graph with some of a matrix's connections.
pub(super) fn graph<W: Scalar>(matrix: &Csr<W>, nodes: &Nodes) -> Graph {
    let mut pairs = vec![];
    for row in 0..matrix.rows() {
        for (column, _) in matrix.row(row) {
            let [node, other] = [row, column as usize].map(|unknown| nodes.of_unknown[unknown]);
            let pair = u64::from(node.min(other)) << 32 | u64::from(node.max(other));
            if node != other && !mixed(pair).is_multiple_of(3) {
                pairs.extend([(node, other), (other, node)]);
            }
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    let begin = |node: usize| pairs.partition_point(|&(before, _)| (before as usize) < node) as u64;
    Graph {
        offsets: (0..=nodes.len()).map(begin).collect(),
        neighbours: pairs.iter().map(|&(_, neighbour)| neighbour).collect(),
    }
}
