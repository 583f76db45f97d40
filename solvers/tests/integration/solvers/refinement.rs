//! Refinement on every executor that needs no GPU, with all its outcomes.

use std::ops::ControlFlow;
use std::time::Duration;

use warp_spmv::executor::{Cpu, Emulated, Reference};
use warp_spmv::solver::preconditioner::{Preconditioner, PreconditionerName, PreconditionerOptions};
use warp_spmv::solver::{Cg, MethodName, Options, Outcome, PipelinedCg, Progress, Refinement, Solver};
use warp_spmv::{Csr, Format, NarrowType, Plan, ValueStorage};

use super::scenarios::Numbers;
use super::scenarios::preconditioner::{
    check_complex_corrections, check_refinement, check_rounded_corrections, refine, refinement_options,
};
use super::scenarios::solver::{diagonal, laplacian, relative_residual};

#[test]
fn every_executor_refines() {
    check_refinement(&Reference::new());
    check_refinement(&Cpu::new());
    check_refinement(&Emulated::new(4));
}

#[test]
fn numbers_that_32_bits_do_not_have_are_no_obstacle() {
    let matrix = laplacian::<f64>(&[30]);
    for scale in [1e-60, 1e60] {
        let b: Vec<f64> = Numbers::new(6).vector(30).iter().map(|b: &f64| b * scale).collect();
        let (report, x) = refine(&Cpu::new(), &PipelinedCg, (&matrix, None), &b, refinement_options());
        assert_eq!(report.outcome, Outcome::Converged, "{report:?}");
        assert!(relative_residual(&matrix, &x, &b) <= 1.1e-13);
    }
}

#[test]
fn the_method_alone_does_not_come_as_far() {
    let cpu = Cpu::new();
    let mut plan = Plan::with_format(&cpu, laplacian::<f32>(&[20, 16]), Format::SELL_P).unwrap();
    let report = Solver::new(&cpu, &mut plan)
        .options(refinement_options())
        .solve(&Cg, &Numbers::new(6).vector(320), &mut vec![0.0; 320])
        .unwrap();
    assert!(report.outcome != Outcome::Converged && report.residual_norm > 1e-8, "{report:?}");
}

#[test]
fn limits_end_it_where_they_say() {
    let matrix = laplacian::<f64>(&[20, 16]);
    let b = Numbers::new(6).vector(320);
    let run = |options| refine(&Cpu::new(), &Cg, (&matrix, None), &b, options).0;
    let whole = run(refinement_options());
    // The last iterations only add a margin to the tolerance.
    for iteration_limit in [0, 1, 50, whole.iterations as u32 * 3 / 4] {
        let report = run(Options { iteration_limit, ..refinement_options() });
        assert_eq!((report.outcome, report.iterations), (Outcome::IterationLimit, iteration_limit as usize));
        assert_eq!(report.history, whole.history[..=report.iterations]);
    }
    let report = run(Options { time_limit: Some(Duration::ZERO), ..refinement_options() });
    assert_eq!((report.outcome, report.iterations), (Outcome::TimeLimit, 0));
    let report = run(Options { relative_tolerance: 0.0, ..refinement_options() });
    assert_eq!(report.outcome, Outcome::Stagnated);
    assert!(report.residual_norm < 1e-13);
}

#[test]
fn a_callback_hears_of_each_iteration_and_can_stop_it() {
    let cpu = Cpu::new();
    let matrix = laplacian::<f64>(&[20, 16]);
    let mut inner = Plan::with_format(&cpu, matrix.cast::<f32>().unwrap(), Format::SELL_P).unwrap();
    let mut plan = Plan::with_format(&cpu, matrix, Format::SELL_P).unwrap();
    let b = Numbers::new(6).vector(320);
    let mut run = |last: usize| {
        let mut heard = Vec::new();
        let mut callback = |progress: &Progress| {
            heard.push((progress.iteration, progress.residual_norm));
            if progress.iteration == last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let mut refinement = Refinement::new(&cpu, &mut plan, &mut inner)
            .options(Options { check_interval: 1, ..refinement_options() })
            .callback(&mut callback);
        let report = refinement.solve(&Cg, &b, &mut vec![0.0; 320]).unwrap();
        assert_eq!(heard, (1..).zip(report.history[1..].iter().copied()).collect::<Vec<_>>());
        report
    };
    let whole = run(usize::MAX);
    let last = whole.iterations * 3 / 4;
    let stopped = run(last);
    assert_eq!((stopped.outcome, stopped.iterations), (Outcome::Stopped, last));
}

#[test]
fn what_the_method_says_is_the_outcome() {
    let run = |matrix: &Csr<f64>, b: &[f64]| {
        let (report, x) = refine(&Cpu::new(), &Cg, (matrix, None), b, refinement_options());
        assert!(x.iter().all(|x| x.is_finite()));
        report.outcome
    };
    assert_eq!(run(&diagonal(&[1.0, -1.0]), &[0.0, 1.0]), Outcome::Breakdown("the matrix is not positive definite"));
    assert_eq!(run(&diagonal(&[1.0, 2.0]), &[0.0, 0.0]), Outcome::Converged);
    let no_number = Outcome::Breakdown("a number that is not finite: in b, x or A, or because of an overflow");
    assert_eq!(run(&diagonal(&[1.0, 2.0]), &[f64::NAN, 0.0]), no_number);
    // This element is out of range in 32 bits.
    assert_eq!(run(&diagonal(&[1.0, 1e60]), &[1.0, 1.0]), no_number);
}

#[test]
fn every_executor_refines_complex_systems() {
    check_complex_corrections(&Cpu::new(), MethodName::ALL);
    check_complex_corrections(&Reference::new(), &[MethodName::Cg]);
    check_complex_corrections(&Emulated::new(3), &[MethodName::Cg, MethodName::Gmres]);
}

#[test]
fn every_executor_refines_with_rounded_values() {
    check_rounded_corrections(&Cpu::new(), MethodName::ALL);
    check_rounded_corrections(&Reference::new(), &[MethodName::Cg]);
    check_rounded_corrections(&Emulated::new(3), &[MethodName::Cg, MethodName::Gmres]);
}

#[test]
fn a_preconditioner_with_narrow_values_takes_no_new_ones() {
    let values = ValueStorage::Rounded(NarrowType::Float32);
    let options = PreconditionerOptions { values, updates: true, ..PreconditionerOptions::default() };
    let name = PreconditionerName::Chebyshev { degree: 2 };
    let error = Preconditioner::with_options(&Cpu::new(), &laplacian::<f64>(&[5]), name, options).map(|_| ());
    assert_eq!(error.unwrap_err().to_string(), "format csr-tiled has no kernel for new values in a narrow type");
}

#[test]
fn bad_calls_are_errors() {
    let cpu = Cpu::new();
    let error = |inner_rows: usize, tolerance| {
        let mut plan = Plan::with_format(&cpu, laplacian::<f64>(&[5]), Format::SELL_P).unwrap();
        let mut inner = Plan::with_format(&cpu, laplacian::<f32>(&[inner_rows]), Format::SELL_P).unwrap();
        let mut refinement = Refinement::new(&cpu, &mut plan, &mut inner).inner_tolerance(tolerance);
        refinement.solve(&Cg, &vec![1.0; 5], &mut vec![0.0; 5]).unwrap_err().to_string()
    };
    assert_eq!(error(4, 0.1), "x of the inner operator has length 4, expected 5");
    for (tolerance, text) in [(0.0, "0"), (1.0, "1"), (f64::NAN, "NaN")] {
        let expected = format!("the inner tolerance is {text}, expected more than 0 and less than 1");
        assert_eq!(error(5, tolerance), expected);
    }
}
