//! Blocks on a mesh.

use std::collections::HashMap;

use host::Csr;
use synthetic::{Cells, Elasticity, Generate, Numbering};

fn meshes() -> Vec<Elasticity> {
    let mut meshes = Vec::new();
    for cells in [Cells::Tetrahedra, Cells::Hexahedra] {
        for voids in [0.0, 0.3, 1.0] {
            for numbering in [Numbering::Natural, Numbering::Shuffled] {
                for [width, height, depth] in [[2, 2, 2], [5, 4, 3], [2, 7, 3]] {
                    meshes.push(Elasticity { width, height, depth, cells, voids, numbering, seed: 5 });
                }
            }
        }
    }
    meshes
}

#[test]
fn is_symmetric_in_whole_blocks() {
    for mesh in meshes() {
        let matrix: Csr<f64> = mesh.generate().unwrap();
        let mut entries = HashMap::new();
        for row in 0..matrix.rows() {
            let columns: Vec<u32> = matrix.row(row).map(|(column, _)| column).collect();
            assert!(columns.is_sorted_by(|left, right| left < right), "{mesh}");
            for block in columns.chunks(3) {
                assert!(block[0].is_multiple_of(3) && block.iter().copied().eq(block[0]..block[0] + 3), "{mesh}");
            }
            assert!(columns.iter().copied().eq(matrix.row(row / 3 * 3).map(|(column, _)| column)), "{mesh}");
            entries.extend(matrix.row(row).map(|(column, value)| ((row as u32, column), value)));
        }
        for (&(row, column), value) in &entries {
            assert_eq!(entries.get(&(column, row)), Some(value), "{mesh}");
        }
    }
}

/// Translating all nodes strains the anchors only: A e = 0.01 e for each direction.
#[test]
fn springs_do_not_feel_translations_and_anchors_do() {
    for mesh in meshes() {
        let matrix: Csr<f64> = mesh.generate().unwrap();
        for direction in 0..3 {
            for row in 0..matrix.rows() {
                let y: f64 = matrix
                    .row(row)
                    .filter(|(column, _)| *column as usize % 3 == direction)
                    .map(|(_, value)| value)
                    .sum();
                let expected = if row % 3 == direction { 0.01 } else { 0.0 };
                assert!((y - expected).abs() < 1e-12, "{mesh}: {y}");
            }
        }
    }
}

#[test]
fn is_positive_definite() {
    for mesh in meshes() {
        let matrix: Csr<f64> = mesh.generate().unwrap();
        for power in 1..20 {
            let x = |row: usize| ((row * power) as f64 * 0.7).sin();
            let energy: f64 = (0..matrix.rows())
                .map(|row| x(row) * matrix.row(row).map(|(column, value)| value * x(column as usize)).sum::<f64>())
                .sum();
            let square: f64 = (0..matrix.rows()).map(|row| x(row) * x(row)).sum();
            assert!(energy > 0.0099 * square, "{mesh}: {energy}");
        }
    }
}

/// A node's neighbours, from the corners of every cell.
#[test]
fn neighbours_are_those_of_cells() {
    let tetrahedra: Vec<[[usize; 3]; 4]> = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
        .map(|path| {
            // From one corner of a box to the opposite one, a step in each direction.
            let mut corner = [0; 3];
            std::array::from_fn(|step| {
                if step > 0 {
                    corner[path[step - 1]] = 1;
                }
                corner
            })
        })
        .into();
    let hexahedron: Vec<[usize; 3]> = (0..8).map(|corner| [corner & 1, corner >> 1 & 1, corner >> 2]).collect();
    for (cells, shapes) in [
        (Cells::Tetrahedra, tetrahedra.iter().map(|shape| shape.to_vec()).collect()),
        (Cells::Hexahedra, vec![hexahedron]),
    ] {
        let mesh =
            Elasticity { width: 4, height: 3, depth: 5, cells, numbering: Numbering::Natural, ..Elasticity::new(2) };
        let node = |[x, y, z]: [usize; 3]| ((z * 3 + y) * 4 + x) as u32;
        let mut expected = vec![std::collections::BTreeSet::<u32>::new(); 60];
        for [x, y, z] in (0..24).map(|cell| [cell % 3, cell / 3 % 2, cell / 6]) {
            for shape in &shapes {
                let nodes: Vec<u32> = Vec::from_iter(shape.iter().map(|at| node([x + at[0], y + at[1], z + at[2]])));
                nodes.iter().for_each(|&from| expected[from as usize].extend(&nodes));
            }
        }
        let matrix: Csr<f64> = mesh.generate().unwrap();
        for (node, expected) in expected.into_iter().enumerate() {
            let found: Vec<u32> = matrix.row(3 * node).step_by(3).map(|(column, _)| column / 3).collect();
            assert!(found.into_iter().eq(expected), "{mesh}: node {node}");
        }
        assert_eq!(matrix.nnz() as u128, mesh.expected_nnz());
    }
}

/// Interior rows have 45 or 81 entries; with voids their lengths vary, around the predicted mean.
#[test]
fn row_lengths() {
    for (cells, longest) in [(Cells::Tetrahedra, 45), (Cells::Hexahedra, 81)] {
        let whole = Elasticity { cells, ..Elasticity::new(12) };
        let matrix: Csr<f32> = whole.generate().unwrap();
        let inside = matrix.row_lengths().filter(|&length| length == longest).count();
        assert_eq!(inside, 3000);
        assert_eq!(matrix.longest_row(), longest);
        for voids in [0.3, 0.6] {
            let mesh = Elasticity { voids, ..whole };
            let matrix: Csr<f32> = mesh.generate().unwrap();
            let lengths: std::collections::BTreeSet<_> = matrix.row_lengths().collect();
            assert!(lengths.len() > 8 && lengths.iter().all(|length| length % 3 == 0), "{lengths:?}");
            let foretold = mesh.expected_nnz() as f64;
            assert!((matrix.nnz() as f64 - foretold).abs() < 0.05 * foretold, "{mesh}: {} {foretold}", matrix.nnz());
        }
        let apart: Csr<f32> = Elasticity { voids: 1.0, ..whole }.generate().unwrap();
        assert_eq!(apart.nnz(), 9 * 12 * 12 * 12);
    }
}

/// The same mesh in another order: the rows are those of the natural numbering, permuted.
#[test]
fn shuffling_moves_nodes() {
    let natural = Elasticity { numbering: Numbering::Natural, voids: 0.2, ..Elasticity::new(8) };
    let shuffled = Elasticity { numbering: Numbering::Shuffled, ..natural };
    let [natural, shuffled]: [Csr<f64>; 2] = [natural, shuffled].map(|mesh| mesh.generate().unwrap());
    let bandwidth = |matrix: &Csr<f64>| synthetic::reorder::bandwidth(matrix);
    assert!(bandwidth(&natural) < 3 * 75 && bandwidth(&shuffled) > 3 * 400);
    let sorted = |matrix: &Csr<f64>| {
        let mut diagonal: Vec<u64> = (0..matrix.rows())
            .map(|row| matrix.row(row).find(|&(column, _)| column as usize == row).unwrap().1)
            .map(|value| (value * 1e9).round() as u64)
            .collect();
        diagonal.sort_unstable();
        diagonal
    };
    assert_eq!(sorted(&natural), sorted(&shuffled));
}
