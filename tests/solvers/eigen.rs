//! Requirements on every executor for blocks of vectors, eigenvalues and PageRank.

use warp_spmv::executor::Executor;
use warp_spmv::format::Matrix;
use warp_spmv::solver::dense::Multicolumn;
use warp_spmv::solver::operator::Closure;
use warp_spmv::solver::{
    BlockCg, Columnwise, EigenReport, Lobpcg, Operator, Options, Outcome, Pagerank, Report, Solver, SpectrumEnd,
    power_iteration,
};
use warp_spmv::{Csr, Format, NarrowType, Plan, Real, ValueStorage, Vector};

use super::Numbers;
use super::solver::{check_report, diagonal, laplacian, laplacian_spectrum, options, relative_residual};

/// Solves for `columns` columns at once, from x = 0.
pub fn solve_block<T: Real, E: Executor>(
    executor: &E,
    (matrix, preconditioner): (&Csr<T>, Option<&Csr<T>>),
    (columns, b): (usize, &[T]),
    options: Options,
) -> (Report, Vec<T>) {
    let plan = |matrix: &Csr<T>| {
        Columnwise::new(Plan::with_format(executor, matrix.clone(), Format::CSR_SCALAR).unwrap(), columns)
    };
    let (mut operator, mut preconditioner) = (plan(matrix), preconditioner.map(plan));
    let (b, mut x) = (executor.upload(b.to_vec()).unwrap(), executor.zeros(b.len()).unwrap());
    let solver = Solver::new(executor, &mut operator).options(options);
    let method = BlockCg { columns: columns as u32 };
    let report = match &mut preconditioner {
        Some(preconditioner) => solver.preconditioner(preconditioner).solve(&method, &b, &mut x),
        None => { solver }.solve(&method, &b, &mut x),
    };
    (report.unwrap(), executor.download(&x).unwrap())
}

/// Block conjugate gradients solve for each column, in fewer iterations with more columns.
pub fn check_block_cg<T: Real, E: Executor>(executor: &E) {
    let matrix = laplacian::<T>(&[20, 15]);
    let rows = matrix.rows();
    let inverse = diagonal::<T>(&(0..rows).map(|row| 0.2 + 0.1 * (row % 2) as f64).collect::<Vec<_>>());
    let options = options::<T>();
    for preconditioner in [None, Some(&inverse)] {
        let mut before = usize::MAX;
        for columns in [1, 2, 4] {
            let b: Vec<T> = Numbers::new(61).vector(rows * columns);
            let (report, x) = solve_block(executor, (&matrix, preconditioner), (columns, &b), options);
            check_report(&report, &options);
            assert_eq!(report.outcome, Outcome::Converged, "{columns}: {report:?}");
            assert!(report.iterations < before, "{columns}: {} after {before}", report.iterations);
            before = report.iterations;
            for (x, b) in x.chunks(rows).zip(b.chunks(rows)) {
                assert!(relative_residual(&matrix, x, b) < options.relative_tolerance * 3.0, "{columns}");
            }
        }
    }
}

/// Computes eigenpairs of a matrix, with products of one vector at a time if `single`.
pub fn eigenpairs<T: Real, E: Executor>(
    executor: &E,
    method: &Lobpcg,
    (matrix, preconditioner): (&Csr<T>, Option<&Csr<T>>),
    pairs: usize,
    single: bool,
) -> (EigenReport, Vec<T>) {
    let (rows, format) = (matrix.rows(), Format::CSR_SCALAR);
    let mut plan = Plan::with_format(executor, matrix.clone(), format).unwrap();
    let mut preconditioner = preconditioner.map(|matrix| Plan::with_format(executor, matrix.clone(), format).unwrap());
    let preconditioner = preconditioner.as_mut().map(|plan| plan as &mut dyn Operator<T, E>);
    let mut x = Multicolumn::zeros(executor, rows, pairs).unwrap();
    let report = if single {
        let mut closure = Closure::new(rows, rows, |alpha, x: &Vector<T, E>, beta, y: &mut Vector<T, E>| {
            plan.apply(alpha, x, beta, y)
        });
        method.solve(executor, &mut closure, preconditioner, &mut x, None)
    } else {
        method.solve(executor, &mut plan, preconditioner, &mut x, None)
    };
    (report.unwrap(), executor.download(x.array()).unwrap())
}

/// LOBPCG finds both ends of the spectrum of the Laplacian, including multiple eigenvalues.
pub fn check_lobpcg<T: Real, E: Executor>(executor: &E) {
    // The square grid has double eigenvalues.
    for (grid, pairs, single) in
        [(&[60][..], 3, false), (&[8, 8], 6, false), (&[8, 8], 10, true), (&[5, 6, 4], 10, false)]
    {
        let (matrix, mut spectrum) = (laplacian::<T>(grid), laplacian_spectrum(grid));
        let rows = matrix.rows();
        let norm = spectrum[rows - 1];
        let halves = diagonal::<T>(&vec![0.5; rows]);
        for (end, preconditioner) in [(SpectrumEnd::Smallest, Some(&halves)), (SpectrumEnd::Largest, None)] {
            let options = Options { relative_tolerance: options::<T>().relative_tolerance / 10.0, ..options::<T>() };
            let place = format!("{grid:?}, {end:?}, {}", T::NAME);
            let method = Lobpcg { end, options };
            let (report, x) = eigenpairs(executor, &method, (&matrix, preconditioner), pairs, single);
            assert_eq!(report.outcome, Outcome::Converged, "{place}: {report:?}");
            assert!(report.history.len() == report.iterations && report.iterations > 3, "{place}: {report:?}");
            for pair in 0..pairs {
                let (value, vector) = (report.eigenvalues[pair], &x[pair * rows..][..rows]);
                // The error of an eigenvalue is at most the residual norm.
                let error = (value - spectrum[pair]).abs();
                assert!(error <= options.relative_tolerance * norm * 1.1, "{place}, pair {pair}: {value}");
                let scaled: Vec<T> = vector.iter().map(|x| T::from_f64(x.to_f64() * value)).collect();
                let residual = relative_residual(&matrix, vector, &scaled) * value;
                assert!(residual <= options.relative_tolerance * norm * 1.5, "{place}, pair {pair}: {residual}");
                for other in 0..=pair {
                    let products = x[other * rows..][..rows].iter().zip(vector).map(|(a, b)| a.to_f64() * b.to_f64());
                    let expected = if other == pair { 1.0 } else { 0.0 };
                    let product = products.sum::<f64>();
                    assert!((product - expected).abs() < 1e3 * T::UNIT_ROUNDOFF, "{place}, {other}, {pair}: {product}");
                }
            }
            spectrum.reverse();
        }
    }
}

/// Power iteration finds the dominant eigenpair, of either sign.
pub fn check_power<T: Real, E: Executor>(executor: &E) {
    let dominant = |sign: f64| diagonal::<T>(&[1.0, -0.5, 3.0 * sign, 2.0, 0.0, 1.5]);
    for (matrix, expected) in [(dominant(1.0), 3.0), (dominant(-1.0), -3.0)] {
        for begin in [vec![T::ZERO; 6], vec![T::ONE; 6]] {
            let mut plan = Plan::with_format(executor, matrix.clone(), Format::CSR_SCALAR).unwrap();
            let mut x = executor.upload(begin).unwrap();
            let options = options::<T>();
            let report = power_iteration(executor, &mut plan, &mut x, &options, None).unwrap();
            assert_eq!(report.outcome, Outcome::Converged);
            assert!((report.eigenvalues[0] - expected).abs() <= options.relative_tolerance * 3.0, "{report:?}");
            assert!(report.residual_norms[0] <= options.relative_tolerance * 3.01);
            assert_eq!(
                (report.history.len(), report.history.last()),
                (report.iterations, report.residual_norms.first())
            );
            let x = executor.download(&x).unwrap();
            assert!(x.iter().enumerate().all(|(place, x)| {
                (x.to_f64().abs() - if place == 2 { 1.0 } else { 0.0 }).abs() < options.relative_tolerance * 10.0
            }));
        }
    }
}

/// Returns a graph with weights, vertices without edges, and self-loops.
pub fn graph<T: Real>(vertices: usize) -> Csr<T> {
    let mut numbers = Numbers::new(71);
    let (mut rows, mut columns, mut values) = (vec![], vec![], vec![]);
    for row in (0..vertices).filter(|row| row % 7 != 3) {
        for _ in 0..1 + numbers.below(6) {
            rows.push(row as u32);
            // Few vertices have most edges.
            columns.push((numbers.below(vertices) * numbers.below(vertices) / vertices) as u32);
            values.push(T::from_f64(1.0 + numbers.below(4) as f64));
        }
    }
    Csr::try_from_triplets(vertices, vertices, &rows, &columns, &values).unwrap()
}

/// Computes PageRank by its definition, with a dense matrix.
fn dense_pagerank<T: Real>(graph: &Csr<T>, damping: f64, personalization: &[f64]) -> Vec<f64> {
    let vertices = graph.rows();
    let total: f64 = personalization.iter().sum();
    let v: Vec<f64> = personalization.iter().map(|weight| weight / total).collect();
    let mut google = vec![vec![0.0; vertices]; vertices];
    for (row, shares) in google.iter_mut().enumerate() {
        let weights: f64 = graph.row(row).map(|(_, weight)| weight.to_f64()).sum();
        if weights > 0.0 {
            graph.row(row).for_each(|(column, weight)| shares[column as usize] += damping * weight.to_f64() / weights);
        }
        let rest = if weights == 0.0 { 1.0 } else { 1.0 - damping };
        shares.iter_mut().zip(&v).for_each(|(share, v)| *share += rest * v);
    }
    let mut x = v;
    for _ in 0..400 {
        x = (0..vertices).map(|to| (0..vertices).map(|from| google[from][to] * x[from]).sum()).collect();
    }
    x
}

/// Returns the same graph with equal weights for all edges of a vertex, zero for some vertices.
fn with_equal_edges<T: Real>(mut graph: Csr<T>) -> Csr<T> {
    for row in 0..graph.rows() {
        let range = graph.range(row);
        graph.values_mut()[range].fill(T::from_f64([3.0, 0.1, 0.0, 1.0][row % 4]));
    }
    graph
}

/// PageRank agrees with its definition in every format, with the same bits twice, even if the transition matrix stores
/// no values.
pub fn check_pagerank<T: Real, E: Executor>(executor: &E) {
    let graph = graph::<T>(150);
    check_ranks(executor, &graph, ValueStorage::Full, false);
    // The values may or may not fit a table.
    check_ranks(executor, &graph, ValueStorage::Lossless, false);
    check_ranks(executor, &with_equal_edges(graph), ValueStorage::Lossless, true);
}

fn check_ranks<T: Real, E: Executor>(executor: &E, graph: &Csr<T>, values: ValueStorage, without_values: bool) {
    let options = Options { relative_tolerance: if T::NAME == "float32" { 1e-6 } else { 1e-12 }, ..Options::default() };
    let weights: Vec<T> = (0..150).map(|vertex| T::from_f64((vertex % 5) as f64)).collect();
    for format in [Format::CSR_SCALAR, Format::SELL_P, Format::COO, Format::CSR_TILED] {
        let mut pagerank = Pagerank::with_values(executor, graph, format, values).unwrap();
        let is_same = |matrix: &Matrix<T, E::Memory>| match matrix {
            Matrix::Narrow(narrow) => narrow.narrow_type() == NarrowType::Same,
            _ => false,
        };
        let narrow = without_values && format.multiplies_narrow();
        assert_eq!(is_same(pagerank.transitions().matrix()), narrow, "{format}");
        for (damping, personalization) in [(0.85, None), (0.85, Some(&weights[..])), (0.5, None), (0.0, None)] {
            let place = format!("{format}, {}, {values:?}, damping {damping}", T::NAME);
            let mut run = || {
                let (ranks, report) = pagerank.rank(damping, personalization, &options, None).unwrap();
                (executor.download(&ranks).unwrap(), report)
            };
            let ((ranks, report), (again, _)) = (run(), run());
            assert_eq!((&report.outcome, report.history.len()), (&Outcome::Converged, report.iterations), "{place}");
            assert!(ranks == again, "{place}: not the same bits twice");
            let of = personalization.map_or(vec![1.0; 150], |weights| weights.iter().map(|x| x.to_f64()).collect());
            let expected = dense_pagerank(graph, damping, &of);
            let error: f64 = ranks.iter().zip(&expected).map(|(rank, expected)| (rank.to_f64() - expected).abs()).sum();
            assert!(error <= options.relative_tolerance * 10.0, "{place}: {error}");
            let total: f64 = ranks.iter().map(|rank| rank.to_f64()).sum();
            assert!((total - 1.0).abs() <= 150.0 * T::UNIT_ROUNDOFF, "{place}: {total}");
        }
    }
}
