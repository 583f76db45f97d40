//! Connections by kernels equal those on the host. Not under Miri, which has no lanes.

use std::collections::BTreeMap;

use cuda_std::Complex;
use host::device::Tuning;
use host::executor::{Cpu, Emulated, Executor};
use host::format::Csr;
use host::real::Scalar;

use super::super::graph::Nodes;
use super::{StrongConnections, by_kernels, on_host};

/// A reproducible sequence of numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(end)) as u32
    }

    /// A number of any sign and of several orders of magnitude; now and then an irregular one.
    fn value(&mut self) -> f64 {
        match self.below(40) {
            0 => 0.0,
            1 => 1e-200,
            2 => 1e200,
            3 => f64::NAN,
            _ => (f64::from(self.below(2001)) - 1000.0) * 10f64.powi(self.below(5) as i32),
        }
    }
}

/// A matrix with about `a_row` random entries per row, except every fifth, with or without a symmetric pattern.
fn random<W: Scalar<Real = f64>>(rows: usize, a_row: usize, symmetric: bool, seed: u64) -> Csr<W> {
    let mut numbers = Numbers(seed);
    let mut entries = BTreeMap::new();
    for _ in 0..rows * a_row {
        let [row, column] = [0; 2].map(|_| numbers.below(rows as u32));
        if row % 5 == 3 || column % 5 == 3 {
            continue;
        }
        let value = W::from_parts(numbers.value(), numbers.value());
        entries.insert((row, column), value);
        if symmetric {
            entries.insert((column, row), value);
        }
    }
    let (rows_of, columns): (Vec<_>, Vec<_>) = entries.keys().copied().unzip();
    Csr::try_from_triplets(rows, rows, &rows_of, &columns, &entries.into_values().collect::<Vec<_>>()).unwrap()
}

/// Connections to the four nearest points, of two strengths.
fn grid(width: usize) -> Csr<f64> {
    let (mut rows, mut columns, mut values) = (vec![], vec![], vec![]);
    for point in 0..width * width {
        let (x, y) = (point % width, point / width);
        let others = [(y > 0, -(width as isize), 0.3), (x > 0, -1, 1.0), (x + 1 < width, 1, 1.0)];
        let others = others.into_iter().chain([(y + 1 < width, width as isize, 0.3), (true, 0, 2.6)]);
        for (_, step, value) in others.filter(|(is, ..)| *is) {
            rows.push(point as u32);
            columns.push(point.wrapping_add_signed(step) as u32);
            values.push(value);
        }
    }
    Csr::try_from_triplets(width * width, width * width, &rows, &columns, &values).unwrap()
}

fn executors() -> Vec<Emulated> {
    let sized = |(multiprocessors, threads)| {
        Emulated::with_size(7, multiprocessors, 128, Tuning::new(threads, 1).unwrap()).unwrap()
    };
    [Emulated::new(1), Emulated::new(2)].into_iter().chain([(1, 32), (3, 128), (40, 32)].map(sized)).collect()
}

fn check<W: Scalar<Real = f64>>(matrix: &Csr<W>, first: &[u32]) {
    let nodes = || Nodes::new(first.to_vec()).unwrap();
    for threshold in [0.0, 0.09, 0.25, 1.0] {
        let expected = Cpu::new().run::<StrongConnections<W>>((matrix, &nodes(), threshold)).unwrap();
        for executor in executors() {
            let graph = executor.run::<StrongConnections<W>>((matrix, &nodes(), threshold)).unwrap();
            assert_eq!(graph.offsets, expected.offsets, "{} rows, {threshold}", matrix.rows());
            assert_eq!(graph.neighbours, expected.neighbours, "{} rows, {threshold}", matrix.rows());
        }
    }
}

/// The offset of each node of these sizes, and the end of the last one.
fn nodes_of(sizes: &[u32], unknowns: usize) -> Vec<u32> {
    let (mut first, mut end) = (vec![0], 0);
    for size in sizes.iter().cycle() {
        if end >= unknowns as u32 {
            break;
        }
        end = (end + size).min(unknowns as u32);
        first.push(end);
    }
    first
}

const SIZES: [&[u32]; 5] = [&[1], &[2], &[3], &[3, 1, 0, 2], &[0, 2]];

#[test]
fn connections_of_random_matrices_are_those_on_the_host() {
    for (rows, a_row) in [(1, 1), (2, 3), (31, 2), (60, 9), (150, 5), (40, 60)] {
        for (seed, symmetric) in [(1, true), (2, false), (3, false)] {
            for sizes in SIZES {
                let first = nodes_of(sizes, rows);
                check(&random::<f64>(rows, a_row, symmetric, seed), &first);
                check(&random::<Complex<f64>>(rows, a_row, symmetric, seed), &first);
            }
        }
    }
}

#[test]
fn connections_of_grids_are_those_on_the_host() {
    for width in [1, 2, 5, 12] {
        for sizes in SIZES {
            check(&grid(width), &nodes_of(sizes, width * width));
        }
    }
}

#[test]
fn matrices_without_rows_or_entries_have_no_connections() {
    for rows in [0, 1, 40] {
        let matrix = Csr::<f64>::try_new(rows, rows, vec![0u32; rows + 1], vec![], vec![]).unwrap();
        check(&matrix, &nodes_of(&[1], rows));
        check(&matrix, &nodes_of(&[2], rows));
    }
}

#[test]
fn nodes_of_another_matrix_are_refused() {
    let nodes = Nodes::of_size(1, 24).unwrap();
    let error = Emulated::new(1).run::<StrongConnections<f64>>((&grid(5), &nodes, 0.0)).err().unwrap();
    assert!(error.to_string().contains("24"), "{error}");
}

#[test]
fn squares_of_blocks_are_the_same_bits_as_on_the_host() {
    for seed in 0..4 {
        let matrix = random::<Complex<f64>>(60, 30, false, seed);
        for sizes in [&[3][..], &[7, 1, 2], &[30]] {
            let nodes = Nodes::new(nodes_of(sizes, 60)).unwrap();
            let expected = on_host::blocks(&matrix, &nodes).unwrap();
            for executor in executors() {
                let squares = by_kernels::entry_squares(&executor, &matrix).unwrap();
                let blocks = by_kernels::blocks(&executor, &matrix, &nodes, squares).unwrap();
                for node in 0..nodes.len() {
                    let beside = |&(other, square): &(u32, f64)| other as usize != node && square > 0.0;
                    let bits = |(other, square): (u32, f64)| (other, square.to_bits());
                    let found: Vec<_> = blocks.row(node).filter(beside).map(bits).collect();
                    assert_eq!(found, expected.row(node).map(bits).collect::<Vec<_>>(), "{seed}, node {node}");
                }
            }
        }
    }
}
