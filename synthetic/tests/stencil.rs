//! The Laplacians of `Stencil`.

use host::Csr;
use synthetic::{Generate, Stencil};

/// Grids with edges of 1, 2, 3 and more, in any order.
const GRIDS: [[usize; 3]; 10] =
    [[1, 1, 1], [1, 1, 7], [1, 7, 1], [7, 1, 1], [2, 2, 2], [3, 1, 2], [1, 4, 5], [5, 4, 1], [4, 3, 5], [6, 2, 3]];

fn stencils() -> Vec<Stencil> {
    let mut stencils = Vec::new();
    for grid @ [x, y, z] in GRIDS {
        stencils.push(Stencil::Points3([x]));
        stencils.push(Stencil::Points3([y]));
        stencils.push(Stencil::Points5([x, y]));
        stencils.push(Stencil::Points9([x, y]));
        stencils.push(Stencil::Points9([z, x]));
        stencils.push(Stencil::Points7(grid));
        stencils.push(Stencil::Points27(grid));
    }
    stencils
}

/// The points of a grid, in the order of the rows.
fn points(edges: &[usize]) -> Vec<Vec<usize>> {
    let mut points = vec![vec![]];
    for &edge in edges.iter().rev() {
        points = points
            .into_iter()
            .flat_map(|slower: Vec<usize>| (0..edge).map(move |x| [&[x], slower.as_slice()].concat()))
            .collect();
    }
    points
}

/// Every pair of points, tried.
fn brute_force(stencil: Stencil) -> Vec<Vec<(u32, f64)>> {
    let points = points(stencil.edges());
    let entry = |a: &[usize], b: &[usize]| {
        let distances = a.iter().zip(b).map(|(&a, &b)| a.abs_diff(b));
        let near = match stencil {
            Stencil::Points9(_) | Stencil::Points27(_) => distances.max() <= Some(1),
            _ => distances.sum::<usize>() <= 1,
        };
        near.then(|| if a == b { stencil.points() as f64 - 1.0 } else { -1.0 })
    };
    let row = |a: &Vec<usize>| {
        let entries = points.iter().enumerate().filter_map(|(column, b)| Some((column as u32, entry(a, b)?)));
        entries.collect()
    };
    points.iter().map(row).collect()
}

#[test]
fn is_what_trying_every_pair_of_points_gives() {
    for stencil in stencils() {
        let matrix: Csr<f64> = stencil.generate().unwrap();
        let expected = brute_force(stencil);
        assert_eq!((matrix.rows(), matrix.columns()), (expected.len(), expected.len()), "{stencil}");
        for (row, expected) in expected.iter().enumerate() {
            assert_eq!(&matrix.row(row).collect::<Vec<_>>(), expected, "{stencil}, row {row}");
        }
        assert_eq!(matrix.nnz() as u128, stencil.expected_nnz(), "{stencil}");
        assert_eq!(matrix.bytes(), stencil.expected_bytes::<f64>(), "{stencil}");
    }
}

#[test]
fn is_symmetric() {
    for stencil in stencils() {
        let matrix: Csr<f32> = stencil.generate().unwrap();
        let mut transposed = vec![Vec::new(); matrix.columns()];
        for row in 0..matrix.rows() {
            for (column, value) in matrix.row(row) {
                transposed[column as usize].push((row as u32, value));
            }
        }
        for (row, expected) in transposed.iter().enumerate() {
            assert_eq!(&matrix.row(row).collect::<Vec<_>>(), expected, "{stencil}, row {row}");
        }
    }
}

#[test]
fn rows_sum_to_zero_inside_and_to_more_at_the_boundary() {
    for stencil in stencils() {
        let matrix: Csr<f64> = stencil.generate().unwrap();
        for (row, point) in points(stencil.edges()).iter().enumerate() {
            let inside = point.iter().zip(stencil.edges()).all(|(&at, &edge)| 0 < at && at + 1 < edge);
            let sum: f64 = matrix.row(row).map(|(_, value)| value).sum();
            assert_eq!(sum == 0.0, inside, "{stencil}, row {row}: {sum}");
            assert!(sum >= 0.0, "{stencil}, row {row}: {sum}");
        }
    }
}

/// 000 Table 2.
#[test]
fn the_papers_sizes() {
    for (stencil, nnz) in [
        (Stencil::Points3([1_000_000]), 2_999_998),
        (Stencil::Points5([1000; 2]), 4_996_000),
        (Stencil::Points7([100; 3]), 6_940_000),
        (Stencil::Points9([1000; 2]), 8_988_004),
        (Stencil::Points27([100; 3]), 26_463_592),
    ] {
        assert_eq!(stencil.rows(), 1_000_000);
        assert_eq!(stencil.expected_nnz(), nnz);
    }
    let matrix: Csr<f32> = Stencil::Points7([100; 3]).generate().unwrap();
    assert_eq!(matrix.nnz(), 6_940_000);
}

#[test]
fn one_edge_stands_for_all() {
    assert_eq!(Stencil::new(7, &[4]).unwrap(), Stencil::Points7([4; 3]));
    assert_eq!(Stencil::new(9, &[4, 5]).unwrap(), Stencil::Points9([4, 5]));
}

#[test]
fn refuses_grids_that_no_matrix_can_index() {
    for stencil in [
        Stencil::Points5([0, 3]),
        Stencil::Points27([3, 3, 0]),
        Stencil::Points3([usize::MAX]),
        Stencil::Points5([65_536; 2]),
        Stencil::Points7([usize::MAX; 3]),
        Stencil::Points27([1 << 31; 3]),
    ] {
        let error = stencil.generate::<f32>().unwrap_err();
        assert!(matches!(error, synthetic::Error::Parameter { parameter: "grid", .. }), "{stencil}: {error}");
        // Only the sizes are asked for: no overflow.
        assert!(stencil.expected_bytes::<f64>() < u128::MAX || stencil.rows() == usize::MAX);
    }
    assert!(Stencil::new(6, &[4]).is_err());
    assert!(Stencil::new(27, &[4, 4]).is_err());
    assert!(Stencil::new(27, &[]).is_err());
}
