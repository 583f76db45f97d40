//! The Laplacians of `Stencil`.

use host::Csr;
use synthetic::{Boundary, Generate, Points, Stencil};

/// Grids with edges of 1, 2, 3 and more, in any order.
const GRIDS: [[usize; 3]; 10] =
    [[1, 1, 1], [1, 1, 7], [1, 7, 1], [7, 1, 1], [2, 2, 2], [3, 1, 2], [1, 4, 5], [5, 4, 1], [4, 3, 5], [6, 2, 3]];

fn stencils() -> Vec<Stencil> {
    let boundaries = [Boundary::Dirichlet, Boundary::Neumann, Boundary::Periodic];
    let mut all = Vec::new();
    for grid @ [x, y, z] in GRIDS {
        all.push(Points::Points3([x]));
        all.push(Points::Points3([y]));
        all.push(Points::Points5([x, y]));
        all.push(Points::Points9([x, y]));
        all.push(Points::Points9([z, x]));
        all.push(Points::Points7(grid));
        all.push(Points::Points27(grid));
    }
    let with = |&points: &Points| boundaries.map(|boundary| Stencil { points, boundary });
    all.iter().flat_map(with).filter(|stencil| stencil.check().is_ok()).collect()
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

/// Tries every pair of points.
fn brute_force(stencil: Stencil) -> Vec<Vec<(u32, f64)>> {
    let points = points(stencil.points.edges());
    let edges = stencil.points.edges();
    let near = |a: &[usize], b: &[usize]| {
        let distances = a.iter().zip(b).zip(edges).map(|((&a, &b), &edge)| match stencil.boundary {
            Boundary::Periodic => a.abs_diff(b).min(edge - a.abs_diff(b)),
            Boundary::Dirichlet | Boundary::Neumann => a.abs_diff(b),
        });
        match stencil.points {
            Points::Points9(_) | Points::Points27(_) => distances.max() <= Some(1),
            _ => distances.sum::<usize>() <= 1,
        }
    };
    let row = |a: &Vec<usize>| {
        let columns: Vec<_> = (0..points.len()).filter(|&column| near(a, &points[column])).collect();
        let neighbours = if stencil.boundary == Boundary::Neumann { columns.len() } else { stencil.points.count() } - 1;
        let value = |column: usize| if points[column] == *a { neighbours as f64 } else { -1.0 };
        columns.into_iter().map(|column| (column as u32, value(column))).collect()
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
        for (row, point) in points(stencil.points.edges()).iter().enumerate() {
            let inside = stencil.boundary != Boundary::Dirichlet
                || point.iter().zip(stencil.points.edges()).all(|(&at, &edge)| 0 < at && at + 1 < edge);
            let sum: f64 = matrix.row(row).map(|(_, value)| value).sum();
            assert_eq!(sum == 0.0, inside, "{stencil}, row {row}: {sum}");
            assert!(sum >= 0.0, "{stencil}, row {row}: {sum}");
        }
    }
}

/// Bell & Garland 2009, Table 2.
#[test]
fn the_papers_sizes() {
    for (stencil, nnz) in [
        (Points::Points3([1_000_000]), 2_999_998),
        (Points::Points5([1000; 2]), 4_996_000),
        (Points::Points7([100; 3]), 6_940_000),
        (Points::Points9([1000; 2]), 8_988_004),
        (Points::Points27([100; 3]), 26_463_592),
    ] {
        let stencil = Stencil::from(stencil);
        assert_eq!(stencil.rows(), 1_000_000);
        assert_eq!(stencil.expected_nnz(), nnz);
    }
    let matrix: Csr<f32> = Stencil::from(Points::Points7([100; 3])).generate().unwrap();
    assert_eq!(matrix.nnz(), 6_940_000);
}

#[test]
fn one_edge_stands_for_all() {
    assert_eq!(Points::new(7, &[4]).unwrap(), Points::Points7([4; 3]));
    assert_eq!(Points::new(9, &[4, 5]).unwrap(), Points::Points9([4, 5]));
}

#[test]
fn refuses_grids_that_no_matrix_can_index() {
    for stencil in [
        Points::Points5([0, 3]),
        Points::Points27([3, 3, 0]),
        Points::Points3([usize::MAX]),
        Points::Points5([65_536; 2]),
        Points::Points7([usize::MAX; 3]),
        Points::Points27([1 << 31; 3]),
    ] {
        let stencil = Stencil::from(stencil);
        let error = stencil.generate::<f32>().unwrap_err();
        assert!(matches!(error, synthetic::Error::Parameter { parameter: "grid", .. }), "{stencil}: {error}");
        // Computes only the sizes: no overflow.
        assert!(stencil.expected_bytes::<f64>() < u128::MAX || stencil.rows() == usize::MAX);
    }
    assert!(Points::new(6, &[4]).is_err());
    assert!(Points::new(27, &[4, 4]).is_err());
    assert!(Points::new(27, &[]).is_err());
}

#[test]
fn a_periodic_grid_has_three_points_each_way() {
    for points in [Points::Points3([2]), Points::Points9([3, 1]), Points::Points7([2, 3, 3])] {
        let stencil = Stencil { boundary: Boundary::Periodic, ..points.into() };
        let error = stencil.generate::<f32>().unwrap_err();
        assert!(matches!(error, synthetic::Error::Parameter { parameter: "grid", .. }), "{stencil}: {error}");
    }
}

#[test]
fn grows_along_the_slowest_coordinate() {
    let stencil = Stencil::from(Points::Points27([10, 11, 12]));
    assert_eq!(stencil.times(16).unwrap().points, Points::Points27([10, 11, 192]));
    assert_eq!(stencil.times(16).unwrap().rows(), 16 * stencil.rows());
}
