//! Blocks of vectors, eigenvalues and PageRank on every executor that needs no GPU, with all their outcomes.

use std::ops::ControlFlow;
use std::time::Duration;

use warp_spmv::executor::{Cpu, Emulated, Executor, Reference};
use warp_spmv::solver::dense::Multicolumn;
use warp_spmv::solver::{
    BlockCg, EigenReport, Lobpcg, Options, Outcome, Pagerank, Progress, Solver, SpectrumEnd, power_iteration,
};
use warp_spmv::{Csr, Format, Plan, Real};

use super::scenarios::Numbers;
use super::scenarios::eigen::{
    check_block_cg, check_lobpcg, check_pagerank, check_power, eigenpairs, graph, solve_block,
};
use super::scenarios::solver::{check_report, diagonal, laplacian, options};

fn check_all<T: Real, E: Executor>(executor: &E) {
    check_block_cg::<T, E>(executor);
    check_lobpcg::<T, E>(executor);
    check_power::<T, E>(executor);
    check_pagerank::<T, E>(executor);
}

#[test]
fn the_reference_finds_eigenvalues() {
    check_all::<f32, _>(&Reference::new());
    check_all::<f64, _>(&Reference::new());
}

#[test]
fn the_cpu_finds_eigenvalues() {
    check_all::<f32, _>(&Cpu::new());
    check_all::<f64, _>(&Cpu::new());
}

#[test]
fn the_emulator_finds_eigenvalues_in_float32() {
    check_all::<f32, _>(&Emulated::new(1));
}

#[test]
fn the_emulator_finds_eigenvalues_in_float64() {
    check_all::<f64, _>(&Emulated::new(2));
}

#[test]
fn columns_that_are_dependent_are_a_breakdown() {
    let matrix = laplacian::<f64>(&[12, 9]);
    let column = Numbers::new(5).vector::<f64>(108);
    let b = [&column[..], &column].concat();
    let (report, x) = solve_block(&Cpu::new(), (&matrix, None), (2, &b), options::<f64>());
    check_report(&report, &options::<f64>());
    let reason = "the directions are linearly dependent, or the matrix is not positive definite";
    assert_eq!((report.outcome, report.iterations, x), (Outcome::Breakdown(reason), 0, vec![0.0; 216]));
    let b = Numbers::new(5).vector::<f64>(8);
    let (report, _) = solve_block(&Cpu::new(), (&diagonal(&[1.0, -1.0, 2.0, -3.0]), None), (2, &b), options::<f64>());
    assert_eq!(report.outcome, Outcome::Breakdown(reason));
}

#[test]
fn limits_end_the_search_for_eigenvalues_where_they_say() {
    let cpu = Cpu::new();
    let matrix = laplacian::<f64>(&[12, 9]);
    let lobpcg = |options| {
        let method = Lobpcg { end: SpectrumEnd::Smallest, options };
        let (report, _) = eigenpairs(&cpu, &method, (&matrix, None), 3, false);
        report
    };
    let power = |options| {
        let mut plan = Plan::with_format(&cpu, matrix.clone(), Format::CSR_SCALAR).unwrap();
        power_iteration(&cpu, &mut plan, &mut vec![0.0; 108], &options, None).unwrap()
    };
    let graph = graph::<f64>(150);
    let pagerank = |options| {
        let (_, report) =
            Pagerank::with_format(&cpu, &graph, Format::CSR_SCALAR).unwrap().rank(0.99, None, &options, None).unwrap();
        (report.outcome, report.iterations, report.history.len())
    };
    let ends = |EigenReport { outcome, iterations, history, .. }| (outcome, iterations, history.len());
    let strict = Options { relative_tolerance: 1e-10, check_interval: 1, ..options::<f64>() };
    for limit in [1, 4] {
        let options = Options { iteration_limit: limit, ..strict };
        let expected = (Outcome::IterationLimit, limit as usize, limit as usize);
        assert_eq!((ends(lobpcg(options)), ends(power(options)), pagerank(options)), (expected, expected, expected));
    }
    let options = Options { time_limit: Some(Duration::ZERO), ..strict };
    assert_eq!((ends(power(options)), pagerank(options)), ((Outcome::TimeLimit, 1, 1), (Outcome::TimeLimit, 1, 1)));
    assert_eq!(lobpcg(options).outcome, Outcome::TimeLimit);
    let impossible = Options { relative_tolerance: 0.0, stagnation_window: Some(30), ..strict };
    assert_eq!(lobpcg(impossible).outcome, Outcome::Stagnated);
    assert!(lobpcg(impossible).residual_norms.iter().all(|&norm| norm < 1e-8));
}

#[test]
fn a_callback_can_stop_the_search_for_eigenvalues() {
    let cpu = Cpu::new();
    let options = Options { check_interval: 1, ..options::<f64>() };
    let mut heard = Vec::new();
    let mut callback = |progress: &Progress| {
        heard.push(progress.iteration);
        if progress.iteration == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut plan = Plan::with_format(&cpu, laplacian::<f64>(&[12, 9]), Format::CSR_SCALAR).unwrap();
    let report = power_iteration(&cpu, &mut plan, &mut vec![0.0; 108], &options, Some(&mut callback)).unwrap();
    assert_eq!((report.outcome, report.iterations), (Outcome::Stopped, 3));
    let mut x = Multicolumn::zeros(&cpu, 108, 2).unwrap();
    let method = Lobpcg { end: SpectrumEnd::Largest, options };
    let report = method.solve(&cpu, &mut plan, None, &mut x, Some(&mut callback)).unwrap();
    assert_eq!((report.outcome, report.iterations), (Outcome::Stopped, 3));
    let mut pagerank = Pagerank::with_format(&cpu, &graph::<f64>(150), Format::CSR_SCALAR).unwrap();
    let (_, report) = pagerank.rank(0.85, None, &options, Some(&mut callback)).unwrap();
    assert_eq!((report.outcome, report.iterations), (Outcome::Stopped, 3));
    assert_eq!(heard, [1, 2, 3].repeat(3));
}

#[test]
fn eigenvalues_of_what_has_none_to_find() {
    let cpu = Cpu::new();
    // A x = 0 in the first iteration.
    let mut zero = Plan::with_format(&cpu, diagonal::<f64>(&[0.0; 4]), Format::CSR_SCALAR).unwrap();
    let mut x = vec![3.0, 0.0, 4.0, 0.0];
    let report = power_iteration(&cpu, &mut zero, &mut x, &options::<f64>(), None).unwrap();
    assert_eq!((report.outcome, report.iterations, &report.eigenvalues[..]), (Outcome::Converged, 1, &[0.0][..]));
    assert!((x[0] - 0.6f64).abs() < 1e-15 && (x[2] - 0.8f64).abs() < 1e-15);
    // Eigenvalues i and −i.
    let rotation = Csr::<f64>::try_from_triplets(2, 2, &[0, 1], &[1, 0], &[1.0, -1.0]).unwrap();
    let mut rotation = Plan::with_format(&cpu, rotation, Format::CSR_SCALAR).unwrap();
    let options = Options { stagnation_window: Some(5), ..options::<f64>() };
    let report = power_iteration(&cpu, &mut rotation, &mut vec![1.0, 0.0], &options, None).unwrap();
    assert_eq!((report.outcome, report.eigenvalues[0]), (Outcome::Stagnated, 0.0));
    let not_finite = "a number that is not finite: in b, x or A, or because of an overflow";
    let mut special = Plan::with_format(&cpu, diagonal::<f64>(&[1.0, f64::NAN, 2.0]), Format::CSR_SCALAR).unwrap();
    let report = power_iteration(&cpu, &mut special, &mut vec![0.0; 3], &options, None).unwrap();
    assert_eq!(report.outcome, Outcome::Breakdown(not_finite));
    let method = Lobpcg { end: SpectrumEnd::Largest, options };
    let (report, _) = eigenpairs(&cpu, &method, (&diagonal::<f64>(&[1.0, f64::NAN, 2.0, 5.0]), None), 1, false);
    assert!(report.outcome.to_string().starts_with("breakdown: the columns of X are linearly dependent, or a number"));
}

#[test]
fn pagerank_of_special_graphs() {
    let cpu = Cpu::new();
    let rank = |vertices: usize, edges: &[(u32, u32)]| {
        let (rows, columns): (Vec<_>, Vec<_>) = edges.iter().copied().unzip();
        let graph = Csr::try_from_triplets(vertices, vertices, &rows, &columns, &vec![1.0; edges.len()]).unwrap();
        let (ranks, report) = Pagerank::with_format(&cpu, &graph, Format::CSR_SCALAR)
            .unwrap()
            .rank(0.85, None, &options::<f64>(), None)
            .unwrap();
        assert_eq!(report.outcome, Outcome::Converged);
        ranks
    };
    assert!(rank(0, &[]).is_empty());
    assert_eq!(rank(1, &[]), [1.0]);
    assert_eq!(rank(4, &[]), [0.25; 4]);
    assert_eq!(rank(4, &[(0, 1), (1, 2), (2, 3), (3, 0)]), [0.25; 4]);
    // x₁ = (1 − d) / 2 + d (x₀ + x₁ / 2), as vertex 1 has no edges.
    let x: Vec<f64> = rank(2, &[(0, 1)]);
    assert!((x[0] - (0.075 + 0.425 * x[1])).abs() < 1e-8 && (x[0] + x[1] - 1.0).abs() < 1e-15, "{x:?}");
}

#[test]
fn bad_calls_for_eigenvalues_are_errors() {
    let cpu = Cpu::new();
    let mut plan = Plan::with_format(&cpu, laplacian::<f64>(&[12]), Format::CSR_SCALAR).unwrap();
    let method = Lobpcg { end: SpectrumEnd::Largest, options: options::<f64>() };
    for (rows, pairs, message) in [
        (11, 2, "a column of X has length 11, expected 12"),
        (12, 0, "the number of pairs is 0, expected from 1 to 32, and a third of the rows at most"),
        (12, 5, "the number of pairs is 5, expected from 1 to 32, and a third of the rows at most"),
    ] {
        let mut x = Multicolumn::zeros(&cpu, rows, pairs).unwrap();
        assert_eq!(method.solve(&cpu, &mut plan, None, &mut x, None).unwrap_err().to_string(), message);
    }
    let error = power_iteration(&cpu, &mut plan, &mut vec![1.0; 11], &options::<f64>(), None).unwrap_err();
    assert_eq!(error.to_string(), "x has length 11, expected 12");
    let mut empty = Plan::with_format(&cpu, diagonal::<f64>(&[]), Format::CSR_SCALAR).unwrap();
    let error = power_iteration(&cpu, &mut empty, &mut vec![], &options::<f64>(), None).unwrap_err();
    assert_eq!(error.to_string(), "the number of rows is 0, expected 1 or more");
    for (columns, message) in [
        (0, "the number of columns is 0, expected from 1 to 32"),
        (33, "the number of columns is 33, expected from 1 to 32"),
        (5, "the block of vectors has length 12, expected 10"),
    ] {
        let mut solver = Solver::new(&cpu, &mut plan);
        let error = solver.solve(&BlockCg { columns }, &vec![1.0; 12], &mut vec![0.0; 12]).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    let graph = |weight| Csr::<f64>::try_from_triplets(2, 2, &[1], &[0], &[weight]).unwrap();
    for weight in [-1.0, f64::INFINITY] {
        let error =
            Pagerank::with_format(&cpu, &graph(weight), Format::CSR_SCALAR).map(|_| ()).unwrap_err().to_string();
        assert_eq!(error, format!("CSR matrix: row 1, column 0: weight {weight} is not finite and non-negative"));
    }
    let mut pagerank = Pagerank::with_format(&cpu, &graph(1.0), Format::CSR_SCALAR).unwrap();
    for (damping, personalization, message) in [
        (1.0, None, "the damping is 1, expected from 0 to below 1"),
        (f64::NAN, None, "the damping is NaN, expected from 0 to below 1"),
        (0.5, Some(&[1.0][..]), "the personalization has length 1, expected 2"),
        (
            0.5,
            Some(&[1.0, -1.0]),
            "the personalization is -1, expected finite, non-negative numbers that do not add up to 0",
        ),
        (
            0.5,
            Some(&[0.0, 0.0]),
            "the personalization is 0 in all, expected finite, non-negative numbers that do not add up to 0",
        ),
    ] {
        let error = pagerank.rank(damping, personalization, &options::<f64>(), None).map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    // Rounds to 1 in 32 bits.
    let narrow = Csr::<f32>::try_from_triplets(2, 2, &[1], &[0], &[1.0]).unwrap();
    let mut pagerank = Pagerank::with_format(&cpu, &narrow, Format::CSR_SCALAR).unwrap();
    let error = pagerank.rank(1.0 - 1e-9, None, &options::<f32>(), None).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "the damping is 1, expected from 0 to below 1");
    let wide = Csr::<f64>::try_from_triplets(2, 3, &[], &[], &[]).unwrap();
    let error = Pagerank::with_format(&cpu, &wide, Format::CSR_SCALAR).map(|_| ()).unwrap_err().to_string();
    assert_eq!(error, "the graph has 2 rows and 3 columns, expected a square matrix");
}
