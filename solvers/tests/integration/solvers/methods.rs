//! Solvers on every executor that needs no GPU, with all their outcomes.

use std::ops::ControlFlow;
use std::time::Duration;

use warp_spmv::executor::{Cpu, Emulated, Executor, Reference};
use warp_spmv::solver::operator::{Closure, Multiple, Product, Sum};
use warp_spmv::solver::{
    Bicgstab, Cg, Chebyshev, Gmres, Method, Minres, Operator, Options, Outcome, PipelinedCg, Problem, Progress, Report,
    Size, Solver, SpectralBounds,
};
use warp_spmv::{Csr, Error, Format, Plan, Real};

use super::scenarios::Numbers;
use super::scenarios::solver::{
    Family, check_chebyshev, check_family, check_interval, check_report, convection, diagonal, indefinite, laplacian,
    laplacian_spectrum, options, relative_residual, solve,
};

/// Each method with its kinds of matrices.
fn check_methods<T: Real, E: Executor>(executor: &E) {
    fn check<T: Real, E: Executor, M: Method<T, E>>(executor: &E, method: M, families: &[Family<T>]) {
        for &family in families {
            check_family(executor, &method, family);
        }
        check_interval(executor, &method);
    }
    check::<T, _, _>(executor, Cg, &[laplacian]);
    check::<T, _, _>(executor, PipelinedCg, &[laplacian]);
    check::<T, _, _>(executor, Minres, &[laplacian, indefinite]);
    check::<T, _, _>(executor, Bicgstab, &[laplacian, convection]);
    check::<T, _, _>(executor, Gmres { cycle: CYCLE }, &[laplacian, indefinite, convection]);
    check_chebyshev::<T, E>(executor);
}

/// Iterations per cycle of GMRES.
const CYCLE: u32 = 60;

#[test]
fn the_reference_solves() {
    check_methods::<f32, _>(&Reference::new());
    check_methods::<f64, _>(&Reference::new());
}

#[test]
fn the_cpu_solves() {
    check_methods::<f32, _>(&Cpu::new());
    check_methods::<f64, _>(&Cpu::new());
}

#[test]
fn the_emulator_solves_in_float32() {
    check_methods::<f32, _>(&Emulated::new(1));
}

#[test]
fn the_emulator_solves_in_float64() {
    check_methods::<f64, _>(&Emulated::new(2));
}

/// Solves by a method on the CPU: matrix, b, x and options.
type Solve<'a> = &'a dyn Fn(&Csr<f64>, &[f64], &[f64], Options) -> (Report, Vec<f64>);

/// Runs a test with a method.
fn with<M: Method<f64, Cpu>>(method: M, test: &impl Fn(Solve<'_>)) {
    test(&|matrix, b, x, options| {
        let (report, x) = solve(&Cpu::new(), &method, (matrix, None), (b, x), options);
        check_report(&report, &options);
        (report, x)
    });
}

/// Runs a test with each method that is only for definite matrices.
fn with_definite(test: impl Fn(Solve<'_>)) {
    with(Cg, &test);
    with(PipelinedCg, &test);
}

/// Runs a test with each method.
fn with_methods(test: impl Fn(Solve<'_>)) {
    with_definite(&test);
    with(Minres, &test);
    with(Bicgstab, &test);
    with(Gmres { cycle: CYCLE }, &test);
}

#[test]
fn a_matrix_with_three_eigenvalues_takes_three_iterations() {
    let matrix = diagonal::<f64>(&[1.0, 5.0, 9.0].repeat(20));
    let b = Numbers::new(2).vector(60);
    with_methods(|solve| {
        let (report, x) = solve(&matrix, &b, &[0.0; 60], options::<f64>());
        assert_eq!((report.outcome, report.iterations), (Outcome::Converged, 3));
        assert!(x.iter().zip(&b).enumerate().all(|(row, (x, b))| (x * [1.0, 5.0, 9.0][row % 3] - b).abs() < 1e-8));
    });
}

#[test]
fn a_good_preconditioner_saves_iterations() {
    // A badly scaled Laplacian; the preconditioner undoes the scaling.
    let stencil = laplacian::<f64>(&[15, 15]);
    let scale = |row: usize| 10f64.powi(row as i32 % 5);
    let (offsets, columns, mut values) = stencil.clone().into_parts();
    for row in 0..225 {
        for entry in offsets.get(row)..offsets.get(row + 1) {
            values[entry] *= scale(row) * scale(columns[entry] as usize);
        }
    }
    let matrix = Csr::try_new(225, 225, offsets, columns, values).unwrap();
    let inverse = diagonal(&(0..225).map(|row| scale(row).powi(-2)).collect::<Vec<_>>());
    let b = Numbers::new(8).vector(225);
    fn check<M: Method<f64, Cpu>>(method: M, matrix: &Csr<f64>, inverse: &Csr<f64>, b: &[f64]) {
        let run =
            |preconditioner| solve(&Cpu::new(), &method, (matrix, preconditioner), (b, &[0.0; 225]), options::<f64>());
        let (plain, (with, x)) = (run(None).0, run(Some(inverse)));
        assert_eq!(with.outcome, Outcome::Converged);
        assert!(relative_residual(matrix, &x, b) < 1.1e-9);
        assert!(with.iterations * 3 < plain.iterations, "{} and {}", with.iterations, plain.iterations);
    }
    check(Cg, &matrix, &inverse, &b);
    check(PipelinedCg, &matrix, &inverse, &b);
    check(Minres, &matrix, &inverse, &b);
    check(Bicgstab, &matrix, &inverse, &b);
    check(Gmres { cycle: CYCLE }, &matrix, &inverse, &b);
}

#[test]
fn an_indefinite_matrix_is_a_breakdown_and_x_stays_finite() {
    let matrix = diagonal::<f64>(&[1.0, -1.0, 2.0, -3.0, 0.5]);
    with_definite(|solve| {
        let (report, x) = solve(&matrix, &[1.0, 2.0, 0.0, 1.0, 1.0], &[0.0; 5], options::<f64>());
        let text = report.outcome.to_string();
        assert!(text.starts_with("breakdown: the matrix is not positive definite"), "{text}");
        assert!(x.iter().all(|x| x.is_finite()) && report.residual_norm.is_finite());
    });
}

#[test]
fn an_indefinite_preconditioner_is_a_breakdown() {
    let (matrix, minus) = (laplacian::<f64>(&[20]), diagonal(&[-1.0; 20]));
    let run = |(report, _): (Report, Vec<f64>)| {
        assert_eq!(report.outcome, Outcome::Breakdown("the preconditioner is not positive definite"));
        assert_eq!(report.iterations, 0);
    };
    run(solve(&Cpu::new(), &Cg, (&matrix, Some(&minus)), (&[1.0; 20], &[0.0; 20]), options::<f64>()));
    run(solve(&Cpu::new(), &PipelinedCg, (&matrix, Some(&minus)), (&[1.0; 20], &[0.0; 20]), options::<f64>()));
    run(solve(&Cpu::new(), &Minres, (&matrix, Some(&minus)), (&[1.0; 20], &[0.0; 20]), options::<f64>()));
}

#[test]
fn what_a_method_cannot_go_on_from_is_a_breakdown() {
    fn check<M: Method<f64, Cpu>>(method: M, entries: &[(u32, u32, f64)], reason: &'static str) {
        let (rows, (columns, values)): (Vec<_>, (Vec<_>, Vec<_>)) =
            entries.iter().map(|&(i, j, a)| (i, (j, a))).unzip();
        let matrix = Csr::try_from_triplets(2, 2, &rows, &columns, &values).unwrap();
        let (report, x) = solve(&Cpu::new(), &method, (&matrix, None), (&[1.0, 0.0], &[0.0; 2]), options::<f64>());
        assert_eq!((report.outcome, report.iterations, x), (Outcome::Breakdown(reason), 0, vec![0.0; 2]));
    }
    let rotation = [(0, 1, 1.0), (1, 0, -1.0)];
    check(Bicgstab, &rotation, "the first residual is orthogonal to the product with the direction");
    check(Gmres::default(), &[(0, 1, 1.0)], "the matrix is singular");
    check(Minres, &[(1, 1, 1.0)], "the matrix is singular");
    let matrix = Csr::<f64>::try_from_triplets(2, 2, &[0, 1], &[1, 0], &[1.0, -1.0]).unwrap();
    let (report, x) =
        solve(&Cpu::new(), &Gmres::default(), (&matrix, None), (&[1.0, 2.0], &[0.0; 2]), options::<f64>());
    assert_eq!((report.outcome, report.iterations), (Outcome::Converged, 2));
    assert!((x[0] + 2.0f64).abs() < 1e-12 && (x[1] - 1.0).abs() < 1e-12);
}

/// A cycle ends with a complete x, and the next one starts with its recomputed residual.
#[test]
fn gmres_goes_on_after_a_cycle() {
    let matrix = convection::<f64>(&[12, 9]);
    let b = Numbers::new(6).vector(108);
    let run = |cycle, options| solve(&Cpu::new(), &Gmres { cycle }, (&matrix, None), (&b, &[0.0; 108]), options);
    let (whole, _) = run(108, options::<f64>());
    for cycle in [1, 2, 5, 10] {
        let (report, _) = run(cycle, options::<f64>());
        assert_eq!((&report.outcome, report.restarts), (&Outcome::Converged, 0), "{cycle}");
        assert!(report.iterations > whole.iterations, "{cycle}: {}", report.iterations);
        assert_eq!(report.history[..=cycle as usize], whole.history[..=cycle as usize]);
        assert!(report.history.windows(2).all(|norms| norms[1] <= norms[0] * (1.0 + 1e-12)));
        for iteration_limit in [cycle * 3 - 1, cycle * 3, cycle * 3 + 1] {
            let (stopped, _) = run(cycle, Options { iteration_limit, ..options::<f64>() });
            let norm = report.history[iteration_limit as usize];
            assert!((stopped.residual_norm - norm).abs() <= 1e-10 * norm, "{} and {norm}", stopped.residual_norm);
        }
    }
}

#[test]
fn limits_end_it_where_they_say() {
    let matrix = laplacian::<f64>(&[300]);
    let b = Numbers::new(6).vector(300);
    with_methods(|solve| {
        for iteration_limit in [0, 1, 16, 17, 40] {
            let (report, _) = solve(&matrix, &b, &[0.0; 300], Options { iteration_limit, ..options::<f64>() });
            assert_eq!((report.outcome, report.iterations), (Outcome::IterationLimit, iteration_limit as usize));
        }
        let limit = Options { time_limit: Some(Duration::ZERO), check_interval: 5, ..options::<f64>() };
        let (report, _) = solve(&matrix, &b, &[0.0; 300], limit);
        assert_eq!(report.outcome, Outcome::TimeLimit);
        assert!([5, CYCLE as usize].contains(&report.iterations), "{}", report.iterations);
    });
}

#[test]
fn a_solver_goes_on_from_a_given_x() {
    let matrix = laplacian::<f64>(&[10, 10]);
    let b = Numbers::new(6).vector(100);
    with_methods(|solve| {
        let (whole, _) = solve(&matrix, &b, &[0.0; 100], options::<f64>());
        let (begun, x) = solve(&matrix, &b, &[0.0; 100], Options { relative_tolerance: 1e-3, ..options::<f64>() });
        let (rest, x) = solve(&matrix, &b, &x, options::<f64>());
        assert_eq!((begun.outcome, rest.outcome), (Outcome::Converged, Outcome::Converged));
        assert!(rest.history[0] <= 1e-3 * rest.right_hand_side_norm && rest.iterations < whole.iterations);
        let (none, same) = solve(&matrix, &b, &x, options::<f64>());
        assert_eq!((none.outcome, none.iterations, same), (Outcome::Converged, 0, x));
    });
}

#[test]
fn a_callback_can_stop_it() {
    let cpu = Cpu::new();
    let mut plan = Plan::with_format(&cpu, laplacian::<f64>(&[10, 10]), Format::CSR_SCALAR).unwrap();
    for (check_interval, expected) in [(1, 4), (3, 6)] {
        let mut calls = 0;
        let mut callback = |progress: &Progress| {
            calls += 1;
            if progress.iteration == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let mut solver = Solver::new(&cpu, &mut plan)
            .options(Options { check_interval, ..options::<f64>() })
            .callback(&mut callback);
        let report = solver.solve(&Cg, &vec![1.0; 100], &mut vec![0.0; 100]).unwrap();
        assert_eq!((report.outcome, report.iterations, calls), (Outcome::Stopped, expected, 4));
    }
}

#[test]
fn what_rounding_does_not_allow_is_stagnation() {
    let matrix = laplacian::<f64>(&[500]);
    let b = Numbers::new(6).vector(500);
    let test = |solve: Solve<'_>| {
        let (report, x) = solve(&matrix, &b, &[0.0; 500], Options { relative_tolerance: 1e-18, ..options::<f64>() });
        let rounding = Outcome::Breakdown("the matrix is not positive definite, or rounding errors have taken over");
        assert!([Outcome::Stagnated, rounding].contains(&report.outcome), "{}", report.outcome);
        assert!(report.restarts > 0);
        assert!(relative_residual(&matrix, &x, &b) < 1e-9);
    };
    with_definite(test);
    with(Minres, &test);
}

#[test]
fn a_window_without_progress_is_stagnation() {
    // The residual norm is about 10, then 50, then 0.
    let matrix = diagonal::<f64>(&[1.0, 100.0]);
    with_definite(|solve| {
        let with_window = |window| {
            let options = Options { stagnation_window: window, check_interval: 1, ..options::<f64>() };
            let report = solve(&matrix, &[10.0, 1.0], &[0.0; 2], options).0;
            (report.outcome, report.iterations)
        };
        assert_eq!(with_window(Some(1)), (Outcome::Stagnated, 1));
        assert_eq!(with_window(Some(2)), (Outcome::Converged, 2));
        assert_eq!(with_window(None), (Outcome::Converged, 2));
    });
}

#[test]
fn zero_is_solved_by_zero() {
    with_methods(|solve| {
        let (report, x) = solve(&laplacian::<f64>(&[20]), &[0.0; 20], &[3.0; 20], options::<f64>());
        assert_eq!(
            (report.outcome, report.iterations, report.residual_norm, x),
            (Outcome::Converged, 0, 0.0, vec![0.0; 20])
        );
        let (report, x) = solve(&diagonal::<f64>(&[]), &[], &[], options::<f64>());
        assert_eq!((report.outcome, report.iterations, x), (Outcome::Converged, 0, vec![]));
    });
}

#[test]
fn what_is_not_finite_is_a_breakdown() {
    let matrix = laplacian::<f64>(&[20]);
    let reason = "a number that is not finite: in b, x or A, or because of an overflow";
    with_methods(|solve| {
        for special in [f64::NAN, f64::INFINITY] {
            let mut vector = vec![1.0; 20];
            vector[7] = special;
            let mut values = vec![1.0; 20];
            values[7] = special;
            for (report, _) in [
                solve(&matrix, &vector, &[0.0; 20], options::<f64>()),
                solve(&matrix, &[1.0; 20], &vector, options::<f64>()),
                solve(&diagonal(&values), &[1.0; 20], &[0.0; 20], options::<f64>()),
            ] {
                assert_eq!((report.outcome, report.iterations), (Outcome::Breakdown(reason), 0));
            }
        }
    });
}

#[test]
fn bad_calls_are_errors() {
    let cpu = Cpu::new();
    let good = options::<f64>();
    let run = |matrix: Csr<f64>, preconditioner: Csr<f64>, (b, x): (usize, usize), options: Options| {
        let mut plan = Plan::with_format(&cpu, matrix, Format::CSR_SCALAR).unwrap();
        let mut preconditioner = Plan::with_format(&cpu, preconditioner, Format::CSR_SCALAR).unwrap();
        let mut solver = Solver::new(&cpu, &mut plan).preconditioner(&mut preconditioner).options(options);
        solver.solve(&Cg, &vec![1.0; b], &mut vec![0.0; x]).unwrap_err().to_string()
    };
    let square = |rows: usize| diagonal::<f64>(&vec![1.0; rows]);
    let wide = Csr::<f64>::try_from_triplets(4, 5, &[], &[], &[]).unwrap();
    assert_eq!(run(wide, square(4), (4, 4), good), "the operator has 4 rows and 5 columns, expected a square matrix");
    assert_eq!(run(square(4), square(5), (4, 4), good), "x of the preconditioner has length 5, expected 4");
    assert_eq!(run(square(4), square(4), (3, 4), good), "b has length 3, expected 4");
    assert_eq!(run(square(4), square(4), (4, 5), good), "x has length 5, expected 4");
    for (options, message) in [
        (Options { relative_tolerance: f64::NAN, ..good }, "the relative tolerance is NaN, expected 0 or more"),
        (Options { absolute_tolerance: -1.0, ..good }, "the absolute tolerance is -1, expected 0 or more"),
        (Options { check_interval: 0, ..good }, "the check interval is 0, expected 1 or more"),
        (Options { stagnation_window: Some(0), ..good }, "the stagnation window is 0, expected 1 or more"),
    ] {
        assert_eq!(run(square(4), square(4), (4, 4), options), message);
    }
    fn refused<M: Method<f64, Cpu>>(method: M) -> String {
        let cpu = Cpu::new();
        let mut plan = Plan::with_format(&cpu, diagonal(&[1.0; 4]), Format::CSR_SCALAR).unwrap();
        Solver::new(&cpu, &mut plan).solve(&method, &vec![1.0; 4], &mut vec![0.0; 4]).unwrap_err().to_string()
    }
    assert_eq!(refused(Gmres { cycle: 0 }), "the cycle of GMRES is 0, expected from 1 to 512");
    assert_eq!(refused(Gmres { cycle: 513 }), "the cycle of GMRES is 513, expected from 1 to 512");
    let spectrum = |smallest, largest| refused(Chebyshev { bounds: SpectralBounds { smallest, largest } });
    let message = "the spectrum is from 0 to 1, expected an interval of positive numbers";
    assert_eq!(spectrum(0.0, 1.0), message);
    assert_eq!(spectrum(2.0, 1.0), message.replace("0 to", "2 to"));
    assert_eq!(spectrum(1.0, f64::NAN), message.replace("0 to 1", "1 to NaN"));
    let mut negative = Plan::with_format(&cpu, diagonal::<f64>(&[-1.0; 4]), Format::CSR_SCALAR).unwrap();
    let mut plan = Plan::with_format(&cpu, square(4), Format::CSR_SCALAR).unwrap();
    let error = SpectralBounds::estimate(&cpu, &mut plan, Some(&mut negative), 5).unwrap_err().to_string();
    assert!(error.starts_with("the length of a Lanczos vector is NaN after 0 steps, expected"), "{error}");
    let mut endless = Closure::new(usize::MAX, usize::MAX, |_: f64, _: &Vec<f64>, _: f64, _: &mut Vec<f64>| Ok(()));
    let endless: &mut dyn Operator<f64, Cpu> = &mut endless;
    let error = SpectralBounds::estimate(&cpu, endless, None, 5).unwrap_err().to_string();
    assert!(error.starts_with("out of memory: "), "{error}");

    /// [`Cg`] that claims to take these resources.
    struct Greedy(Size);
    impl Method<f64, Cpu> for Greedy {
        type Iteration = <Cg as Method<f64, Cpu>>::Iteration;

        fn size(&self, _rows: usize) -> Size {
            self.0
        }

        fn prepare(&self, problem: &Problem<'_, f64, Cpu>) -> Result<Self::Iteration, Error> {
            Cg.prepare(problem)
        }
    }
    let greedy = |slots, sums, iterations_at_once| refused(Greedy(Size { slots, sums, iterations_at_once }));
    // Besides 8 slots for all methods and 17 for the history.
    assert_eq!(greedy(u32::MAX, 1, 1), "the number of slots is 4294967320, and the limit is 4294967295");
    assert_eq!(greedy(10, 1, u32::MAX), "the number of slots is 4294967313, and the limit is 4294967295");
    assert!(greedy(10, usize::MAX, 1).starts_with("out of memory: "));
}

/// The number of steps is arbitrary; with as many steps as rows, the spectrum is exact.
#[test]
fn a_spectrum_takes_a_step_at_least_and_no_more_than_there_are_rows() {
    let cpu = Cpu::new();
    let spectrum = laplacian_spectrum(&[12]);
    let mut plan = Plan::with_format(&cpu, laplacian::<f64>(&[12]), Format::CSR_SCALAR).unwrap();
    let mut solver = Solver::new(&cpu, &mut plan);
    assert_eq!(solver.estimate_spectrum(0).unwrap(), solver.estimate_spectrum(1).unwrap());
    let SpectralBounds { smallest, largest } = solver.estimate_spectrum(usize::MAX).unwrap();
    assert_eq!(SpectralBounds { smallest, largest }, solver.estimate_spectrum(12).unwrap());
    assert!((smallest - spectrum[0]).abs() < 1e-10 && (largest - spectrum[11]).abs() < 1e-10, "{smallest}, {largest}");
}

/// Compositions, closures and matrices act like the matrices that they represent.
#[test]
fn operators_are_what_they_are_made_of() {
    let cpu = Cpu::new();
    let a = Csr::<f64>::try_from_triplets(2, 3, &[0, 0, 1], &[0, 2, 1], &[1.0, 2.0, 3.0]).unwrap();
    let b = Csr::<f64>::try_from_triplets(3, 2, &[0, 1, 2, 2], &[1, 0, 0, 1], &[4.0, 5.0, 6.0, 7.0]).unwrap();
    let plan = |matrix: &Csr<f64>| Plan::with_format(&cpu, matrix.clone(), Format::CSR_SCALAR).unwrap();
    // A B = [12 18; 15 0]
    let mut product = Product::new(&cpu, plan(&a), plan(&b)).unwrap();
    let check = |operator: &mut dyn Operator<f64, Cpu>, matrix: [[f64; 2]; 2]| {
        assert_eq!((operator.rows(), operator.columns()), (2, 2));
        let (mut y, mut transposed) = (vec![f64::NAN; 2], vec![1.0; 2]);
        operator.apply(2.0, &vec![1.0, 10.0], 0.0, &mut y).unwrap();
        assert_eq!(y, matrix.map(|row| 2.0 * (row[0] + 10.0 * row[1])));
        operator.apply_transposed(2.0, &vec![1.0, 10.0], -1.0, &mut transposed).unwrap();
        assert_eq!(transposed, [0, 1].map(|column| 2.0 * (matrix[0][column] + 10.0 * matrix[1][column]) - 1.0));
        operator.apply(1.0, &vec![1.0, 0.0], 1.0, &mut y).unwrap();
        assert_eq!(y, matrix.map(|row| 2.0 * (row[0] + 10.0 * row[1]) + row[0]));
    };
    check(&mut product, [[12.0, 18.0], [15.0, 0.0]]);
    let identity = diagonal::<f64>(&[1.0, 1.0]);
    check(&mut Multiple::new(-0.5, plan(&identity)), [[-0.5, 0.0], [0.0, -0.5]]);
    check(&mut Sum::new(&mut product, Multiple::new(3.0, plan(&identity))).unwrap(), [[15.0, 18.0], [15.0, 3.0]]);

    let mut calls = 0;
    let mut closure = Closure::new(2, 2, |alpha: f64, x: &Vec<f64>, beta: f64, y: &mut Vec<f64>| {
        calls += 1;
        for (y, x) in y.iter_mut().zip(x) {
            *y = alpha * x * 2.0 + if beta == 0.0 { 0.0 } else { beta * *y };
        }
        Ok(())
    });
    let operator: &mut dyn Operator<f64, Cpu> = &mut closure;
    let (b, mut x) = (vec![2.0, 4.0], vec![0.0; 2]);
    let report = Solver::new(&cpu, operator).solve(&Cg, &b, &mut x).unwrap();
    assert_eq!((report.outcome, x), (Outcome::Converged, vec![1.0, 2.0]));
    assert_eq!(
        operator.apply(1.0, &vec![0.0; 3], 0.0, &mut vec![0.0; 2]).unwrap_err().to_string(),
        "x has length 3, expected 2"
    );
    let error = operator.apply_transposed(1.0, &vec![0.0; 2], 0.0, &mut vec![0.0; 2]).unwrap_err();
    assert_eq!(error.to_string(), "the operator has no transposed product");
    assert!(calls >= 3);

    let mut block = vec![f64::NAN; 4];
    Operator::apply_columns(&mut plan(&a), 2, 1.0, &vec![1.0, 1.0, 1.0, 0.0, 1.0, 0.0], 0.0, &mut block).unwrap();
    assert_eq!(block, [3.0, 3.0, 0.0, 3.0]);
    let tall = diagonal::<f64>(&[1.0; 3]);
    assert!(Sum::new::<f64, Cpu>(plan(&a), plan(&tall)).is_err());
    assert!(Product::<f64, Cpu, _, _>::new(&cpu, plan(&a), plan(&a)).is_err());
}
