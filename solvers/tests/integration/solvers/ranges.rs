//! Systems whose numbers have no squares: what was once said to be solved and was not.

use proptest::prelude::*;
use warp_spmv::executor::{Cpu, Emulated, Executor, Reference};
use warp_spmv::solver::dense::Multicolumn;
use warp_spmv::solver::{
    Cg, Gmres, Lobpcg, MethodName, Options, Outcome, Refinement, Report, Solver, SpectralBounds, SpectrumEnd,
    power_iteration,
};
use warp_spmv::{Csr, Format, HostMemory, Plan};

fn diagonal(values: &[f64]) -> Csr<f64> {
    let places: Vec<u32> = (0..values.len() as u32).collect();
    Csr::try_from_triplets(values.len(), values.len(), &places, &places, values).unwrap()
}

fn options(relative_tolerance: f64) -> Options {
    Options { relative_tolerance, ..Options::default() }
}

/// Solves by every method that takes a symmetric positive definite matrix and needs to be told nothing.
fn by_each_method<E: Executor<Memory = HostMemory>>(
    executor: &E,
    matrix: &Csr<f64>,
    b: &[f64],
    start: &[f64],
    tolerance: f64,
    mut check: impl FnMut(&str, Report, Vec<f64>),
) {
    for method in [MethodName::Cg, MethodName::PipelinedCg, MethodName::Gmres, MethodName::Bicgstab, MethodName::Minres]
    {
        let mut plan = Plan::new(executor, matrix.clone(), Format::CSR_SCALAR).unwrap();
        let mut x = start.to_vec();
        let mut solver = Solver::new(executor, &mut plan).options(options(tolerance));
        let report = method.solve(&mut solver, &b.to_vec(), &mut x).unwrap();
        check(method.name(), report, x);
    }
}

fn check_sizes<E: Executor<Memory = HostMemory>>(executor: &E) {
    // Of A, of b, and of the x to start from as a multiple of the solution.
    for (of_matrix, of_b, start) in [
        (1.0, 1.0, 0.0),
        (1.0, 1e-170, 0.0),
        (1.0, 1e-162, 0.0),
        (1.0, 1e-300, 0.0),
        (1.0, 1e170, 0.0),
        (1.0, 1e300, 0.0),
        (1e-170, 1e-170, 0.0),
        (1e-170, 1.0, 0.0),
        (1e-160, 1e140, 0.0),
        (1e170, 1.0, 0.0),
        (1e200, 1e200, 0.0),
        (1e150, 1e-150, 0.0),
        (1.0, 1e-170, 0.5),
        (1.0, 1.0, 1e200),
    ] {
        let matrix = diagonal(&[1.0, 2.0, 3.5].map(|value| value * of_matrix));
        let b = [1.0, 3.0, -7.0].map(|value| value * of_b);
        let expected: Vec<f64> = [1.0, 1.5, -2.0].map(|value| value * (of_b / of_matrix)).to_vec();
        let start_at: Vec<f64> = expected.iter().map(|x| x * start).collect();
        by_each_method(executor, &matrix, &b, &start_at, 1e-10, |method, report, x| {
            let place = format!("{method}, A of {of_matrix:e}, b of {of_b:e}, from {start:e}");
            if start > 1.0 {
                // Rounding of such an x is more than b: what matters is that nobody says otherwise.
                let error = x.iter().zip(&expected).map(|(x, expected)| (x - expected).abs()).fold(0.0, f64::max);
                assert!(report.outcome != Outcome::Converged || error < 1e-8, "{place}: {report:?}, {x:?}");
                return;
            }
            assert_eq!(report.outcome, Outcome::Converged, "{place}: {report:?}");
            for (x, expected) in x.iter().zip(&expected) {
                assert!((x / expected - 1.0).abs() < 1e-8, "{place}: {x:e}, expected {expected:e}");
            }
            let length = 59f64.sqrt() * of_b;
            assert!((report.right_hand_side_norm / length - 1.0).abs() < 1e-10, "{place}: {report:?}");
            // Where it failed first because of the size of A, it went on from the x that it had come to.
            let begin = report.history[0] / (length * (1.0 - start));
            assert!(begin < 1.0 + 1e-10 && (of_matrix != 1.0 || begin > 1.0 - 1e-10), "{place}: {report:?}");
            assert!(report.residual_norm <= 1e-10 * report.right_hand_side_norm, "{place}: {report:?}");
        });
    }
}

#[test]
fn systems_of_any_size_are_solved() {
    check_sizes(&Cpu::new());
    check_sizes(&Reference::new());
    check_sizes(&Emulated::new(0));
}

/// The system of which it was said that it is solved by x = 0.
#[test]
fn a_small_right_hand_side_is_not_zero() {
    let cpu = Cpu::new();
    by_each_method(&cpu, &diagonal(&[1.0, 2.0]), &[1e-170, 1e-170], &[0.0; 2], 1e-6, |method, report, x| {
        assert!(report.iterations > 0 && report.residual_norm < 2e-176, "{method}: {report:?}");
        assert!((x[0] / 1e-170 - 1.0).abs() < 1e-5 && (x[1] / 5e-171 - 1.0).abs() < 1e-5, "{method}: {x:?}");
    });
    let mut plan = Plan::new(&cpu, diagonal(&[1.0, 2.0]), Format::CSR_SCALAR).unwrap();
    let mut x = vec![0.0; 2];
    let gmres = Gmres::default();
    let report = Solver::new(&cpu, &mut plan).options(options(1e-12)).solve(&gmres, &vec![1e-162, 3e-162], &mut x);
    assert_eq!(report.unwrap().outcome, Outcome::Converged);
    assert!((x[0] / 1e-162 - 1.0).abs() < 1e-11 && (x[1] / 1.5e-162 - 1.0).abs() < 1e-11, "{x:?}");
}

/// Where the solution itself is no number, nothing is said to be solved.
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
    let mut plan = Plan::new(&cpu, diagonal(&[1.0, 2.0, 3.0]), Format::CSR_SCALAR).unwrap();
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

#[test]
fn refinement_solves_systems_of_any_size() {
    let cpu = Cpu::new();
    let matrix = diagonal(&[1.0, 2.0, 3.5]);
    for of_b in [1.0, 1e-170, 1e-300, 1e170] {
        let mut outer = Plan::new(&cpu, matrix.clone(), Format::CSR_SCALAR).unwrap();
        let mut inner = Plan::new(&cpu, matrix.cast::<f32>(), Format::CSR_SCALAR).unwrap();
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

#[test]
fn eigenvalues_of_any_size_are_found() {
    let cpu = Cpu::new();
    let plan = |matrix: &Csr<f64>| Plan::new(&cpu, matrix.clone(), Format::CSR_SCALAR).unwrap();
    for of_matrix in [1.0, 1e-170, 1e-300, 1e170, 1e300] {
        let values: Vec<f64> = (1..=30).map(|value| f64::from(value) * of_matrix).collect();
        let matrix = diagonal(&values);
        let largest = 30.0 * of_matrix;
        for of_x in [0.0, 1.0, 1e-200, 1e200] {
            let mut x = vec![of_x; 30];
            let options = Options { iteration_limit: 3000, ..options(1e-6) };
            let report = power_iteration(&cpu, &mut plan(&matrix), &mut x, &options, None).unwrap();
            let place = format!("A of {of_matrix:e}, x of {of_x:e}: {report:?}");
            assert!(report.outcome == Outcome::Converged && report.history.len() == report.iterations, "{place}");
            assert!((report.eigenvalues[0] / largest - 1.0).abs() < 1e-5, "{place}");
            assert!(report.residual_norms[0] <= 1.1e-6 * largest, "{place}");

            let mut x = Multicolumn::from_array(vec![of_x; 60], 30, 2).unwrap();
            // Two columns that are the same are one direction.
            x.write(|array: &mut Vec<f64>| {
                array[30..].iter_mut().zip(1..).for_each(|(x, place)| *x *= f64::from(place % 7));
                Ok(())
            })
            .unwrap();
            let method = Lobpcg { end: SpectrumEnd::Largest, options };
            let report = method.solve(&cpu, &mut plan(&matrix), None, &mut x, None).unwrap();
            let place = format!("A of {of_matrix:e}, X of {of_x:e}: {report:?}");
            assert_eq!(report.outcome, Outcome::Converged, "{place}");
            for (value, expected) in report.eigenvalues.iter().zip([30.0, 29.0]) {
                assert!((value / (expected * of_matrix) - 1.0).abs() < 1e-5, "{place}");
            }
        }
        let bounds = SpectralBounds::estimate(&cpu, &mut plan(&matrix), None, 20).unwrap();
        assert!(bounds.largest >= 0.99 * largest && bounds.largest < 1.2 * largest, "{of_matrix:e}: {bounds:?}");
        assert!(bounds.smallest > 0.5 * of_matrix && bounds.smallest < 3.0 * of_matrix, "{of_matrix:e}: {bounds:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Powers of two round nothing, so a system solved by way of another scale has the same bits.
    #[test]
    fn the_scale_does_not_change_a_bit(exponent in -900i32..900, seed in 0u64..50) {
        let cpu = Cpu::new();
        let values: Vec<f64> = (0..12).map(|place| 1.0 + ((seed + place) * 7919 % 97) as f64 / 10.0).collect();
        let matrix = diagonal(&values);
        let b: Vec<f64> = (0..12).map(|place| ((seed * 31 + place) * 104_729 % 89) as f64 - 40.0).collect();
        let solve = |factor: f64, tolerance| {
            let mut plan = Plan::new(&cpu, matrix.clone(), Format::CSR_SCALAR).unwrap();
            let mut x = vec![0.0; 12];
            let b: Vec<f64> = b.iter().map(|b| b * factor).collect();
            let report = Solver::new(&cpu, &mut plan).options(options(tolerance)).solve(&Cg, &b, &mut x).unwrap();
            (x.iter().map(|x| x / factor).collect::<Vec<_>>(), report.iterations, report.outcome)
        };
        prop_assert_eq!(solve(2f64.powi(exponent), 1e-9), solve(1.0, 1e-9));
    }
}
