//! Systems whose numbers have squares out of range, which were once reported as solved but were not.

use std::time::Duration;

use proptest::prelude::*;
use warp_spmv::executor::{Cpu, Emulated, Reference};
use warp_spmv::solver::operator::Closure;
use warp_spmv::solver::{Cg, Gmres, MethodName, Operator, Options, Outcome, Refinement, Solver};
use warp_spmv::{Format, Plan};

use super::scenarios::ranges::{by_each_method, check_eigenvalues, check_sizes, diagonal, options};

#[test]
fn systems_of_any_size_are_solved() {
    check_sizes(&Cpu::new());
    check_sizes(&Reference::new());
    check_sizes(&Emulated::new(0));
}

#[test]
fn eigenvalues_of_any_size_are_found() {
    check_eigenvalues(&Cpu::new());
}

/// A system that was once reported as solved by x = 0.
#[test]
fn a_small_right_hand_side_is_not_zero() {
    let cpu = Cpu::new();
    by_each_method(&cpu, &diagonal(&[1.0, 2.0]), &[1e-170, 1e-170], &[0.0; 2], 1e-6, |method, report, x| {
        assert!(report.iterations > 0 && report.residual_norm < 2e-176, "{method}: {report:?}");
        assert!((x[0] / 1e-170 - 1.0).abs() < 1e-5 && (x[1] / 5e-171 - 1.0).abs() < 1e-5, "{method}: {x:?}");
    });
    let mut plan = Plan::with_format(&cpu, diagonal(&[1.0, 2.0]), Format::CSR_SCALAR).unwrap();
    let mut x = vec![0.0; 2];
    let gmres = Gmres::default();
    let report = Solver::new(&cpu, &mut plan).options(options(1e-12)).solve(&gmres, &vec![1e-162, 3e-162], &mut x);
    assert_eq!(report.unwrap().outcome, Outcome::Converged);
    assert!((x[0] / 1e-162 - 1.0).abs() < 1e-11 && (x[1] / 1.5e-162 - 1.0).abs() < 1e-11, "{x:?}");
}

/// If the solution itself is out of range, no method reports it as solved.
#[test]
fn a_solution_beyond_the_range_is_no_solution() {
    let cpu = Cpu::new();
    for (of_matrix, of_b) in [(1e-200, 1e200), (1e200, 1e-200)] {
        by_each_method(&cpu, &diagonal(&[of_matrix; 2]), &[of_b; 2], &[0.0; 2], 1e-6, |method, report, x| {
            assert_ne!(report.outcome, Outcome::Converged, "{method}: {report:?}, {x:?}");
        });
    }
}

#[test]
fn a_callback_hears_of_norms_as_they_are() {
    let cpu = Cpu::new();
    let mut plan = Plan::with_format(&cpu, diagonal(&[1.0, 2.0, 3.0]), Format::CSR_SCALAR).unwrap();
    let mut heard = Vec::new();
    let mut callback = |progress: &warp_spmv::solver::Progress| {
        heard.push(progress.residual_norm);
        std::ops::ControlFlow::Continue(())
    };
    let mut x = vec![0.0; 3];
    let report = Solver::new(&cpu, &mut plan)
        .options(Options { absolute_tolerance: 1e-185, ..options(0.0) })
        .callback(&mut callback)
        .solve(&Cg, &vec![1e-180; 3], &mut x)
        .unwrap();
    assert_eq!((report.outcome, &heard[..]), (Outcome::Converged, &report.history[1..]));
    assert!(report.history[0] > 1e-180 && report.residual_norm <= 1e-185, "{report:?}");
}

/// The squares of the ends of the spectrum may be out of range.
#[test]
fn chebyshev_solves_with_spectra_of_any_size() {
    let cpu = Cpu::new();
    for of_matrix in [1e-200, 1e-160, 1.0, 1e160, 1e200] {
        let matrix = diagonal(&[1.0, 2.0, 3.5].map(|value| value * of_matrix));
        let mut plan = Plan::with_format(&cpu, matrix, Format::CSR_SCALAR).unwrap();
        let mut solver = Solver::new(&cpu, &mut plan).options(options(1e-10));
        let mut x = vec![0.0; 3];
        let report = MethodName::Chebyshev.solve(&mut solver, &vec![1.0, 3.0, -7.0], &mut x).unwrap();
        assert_eq!(report.outcome, Outcome::Converged, "{of_matrix:e}: {report:?}");
        for (x, expected) in x.iter().zip([1.0, 1.5, -2.0]) {
            assert!((x * of_matrix / expected - 1.0).abs() < 1e-8, "{of_matrix:e}: {x:e}");
        }
    }
}

/// The time of a rescaled solve includes the failed attempt.
#[test]
fn the_time_is_that_of_all_attempts() {
    const OF_PRODUCT: Duration = Duration::from_millis(5);
    let (cpu, mut calls) = (Cpu::new(), 0);
    let mut closure = Closure::new(2, 2, |alpha: f64, x: &Vec<f64>, beta: f64, y: &mut Vec<f64>| {
        calls += 1;
        std::thread::sleep(OF_PRODUCT);
        for (y, x) in y.iter_mut().zip(x) {
            *y = alpha * x + if beta == 0.0 { 0.0 } else { beta * *y };
        }
        Ok(())
    });
    let operator: &mut dyn Operator<f64, Cpu> = &mut closure;
    let mut x = vec![0.0; 2];
    let report = Solver::new(&cpu, operator).solve(&Cg, &vec![1e-170, 2e-170], &mut x).unwrap();
    assert_eq!((report.outcome, x), (Outcome::Converged, vec![1e-170, 2e-170]));
    // The last product, which measures the loss of x by scaling, follows the last attempt.
    assert!(calls > 3 && report.elapsed >= OF_PRODUCT * (calls - 1), "{calls} products, {report:?}");
}

#[test]
fn refinement_solves_systems_of_any_size() {
    let cpu = Cpu::new();
    let matrix = diagonal(&[1.0, 2.0, 3.5]);
    for of_b in [1.0, 1e-170, 1e-300, 1e170] {
        let mut outer = Plan::with_format(&cpu, matrix.clone(), Format::CSR_SCALAR).unwrap();
        let mut inner = Plan::with_format(&cpu, matrix.cast::<f32>().unwrap(), Format::CSR_SCALAR).unwrap();
        let mut x = vec![0.0; 3];
        let b = [1.0, 3.0, -7.0].map(|value| value * of_b).to_vec();
        let report = Refinement::new(&cpu, &mut outer, &mut inner).options(options(1e-13)).solve(&Cg, &b, &mut x);
        let report = report.unwrap();
        assert_eq!(report.outcome, Outcome::Converged, "{of_b:e}: {report:?}");
        for (x, expected) in x.iter().zip([1.0, 1.5, -2.0]) {
            assert!((x / (expected * of_b) - 1.0).abs() < 1e-12, "{of_b:e}: {x:e}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Scaling by powers of two is exact, so a rescaled solve has the same bits.
    #[test]
    fn the_scale_does_not_change_a_bit(exponent in -900i32..900, seed in 0u64..50) {
        let cpu = Cpu::new();
        let values: Vec<f64> = (0..12).map(|place| 1.0 + ((seed + place) * 7919 % 97) as f64 / 10.0).collect();
        let matrix = diagonal(&values);
        let b: Vec<f64> = (0..12).map(|place| ((seed * 31 + place) * 104_729 % 89) as f64 - 40.0).collect();
        let solve = |factor: f64, tolerance| {
            let mut plan = Plan::with_format(&cpu, matrix.clone(), Format::CSR_SCALAR).unwrap();
            let mut x = vec![0.0; 12];
            let b: Vec<f64> = b.iter().map(|b| b * factor).collect();
            let report = Solver::new(&cpu, &mut plan).options(options(tolerance)).solve(&Cg, &b, &mut x).unwrap();
            (x.iter().map(|x| x / factor).collect::<Vec<_>>(), report.iterations, report.outcome)
        };
        prop_assert_eq!(solve(2f64.powi(exponent), 1e-9), solve(1.0, 1e-9));
    }
}
