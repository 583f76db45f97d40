//! What every executor must get right when it solves.

use std::ops::ControlFlow;

use warp_spmv::executor::Executor;
use warp_spmv::solver::{Method, Options, Outcome, Report, Solver};
use warp_spmv::verify::exact;
use warp_spmv::{Csr, Format, Plan, Real};

use super::Numbers;

/// Grids whose Laplacians are solved with: symmetric positive definite matrices.
pub const GRIDS: &[&[usize]] = &[&[60], &[12, 9], &[5, 6, 4]];

/// The Laplacian of a grid with so many points in each direction: twice their number on the diagonal, -1 for neighbours.
pub fn laplacian<T: Real>(grid: &[usize]) -> Csr<T> {
    let points = grid.iter().product::<usize>();
    let (mut rows, mut columns, mut values) = (vec![], vec![], vec![]);
    for point in 0..points {
        let mut entry = |column: usize, value| {
            rows.push(point as u32);
            columns.push(column as u32);
            values.push(T::from_f64(value));
        };
        entry(point, 2.0 * grid.len() as f64);
        let mut stride = 1;
        for side in grid {
            let place = point / stride % side;
            if place > 0 {
                entry(point - stride, -1.0);
            }
            if place + 1 < *side {
                entry(point + stride, -1.0);
            }
            stride *= side;
        }
    }
    Csr::try_from_triplets(points, points, &rows, &columns, &values).unwrap()
}

/// A square matrix with these on its diagonal and nothing else.
pub fn diagonal<T: Real>(values: &[f64]) -> Csr<T> {
    let places: Vec<u32> = (0..values.len() as u32).collect();
    let values: Vec<T> = values.iter().map(|&value| T::from_f64(value)).collect();
    Csr::try_from_triplets(values.len(), values.len(), &places, &places, &values).unwrap()
}

/// Options for a precision: a tolerance that it can reach.
pub fn options<T: Real>() -> Options {
    let relative_tolerance = if T::PRECISION == "float32" { 1e-4 } else { 1e-9 };
    Options { relative_tolerance, ..Options::default() }
}

/// Solves from x = `x`; gives the report and x.
pub fn solve<T: Real, E: Executor, M: Method<T, E>>(
    executor: &E,
    method: &M,
    (matrix, preconditioner): (&Csr<T>, Option<&Csr<T>>),
    (b, x): (&[T], &[T]),
    options: Options,
) -> (Report, Vec<T>) {
    let plan = |matrix: &Csr<T>| Plan::new(executor, matrix.clone(), Format::SellP).unwrap();
    let (mut plan, mut preconditioner) = (plan(matrix), preconditioner.map(plan));
    let (b, mut x) = (executor.upload(b.to_vec()).unwrap(), executor.upload(x.to_vec()).unwrap());
    let solver = Solver::new(executor, &mut plan).options(options);
    let report = match &mut preconditioner {
        Some(preconditioner) => solver.preconditioner(preconditioner).solve(method, &b, &mut x),
        None => { solver }.solve(method, &b, &mut x),
    };
    (report.unwrap(), executor.download(&x).unwrap())
}

/// ‖b − A x‖ / ‖b‖, exactly.
pub fn relative_residual<T: Real>(matrix: &Csr<T>, x: &[T], b: &[T]) -> f64 {
    let residual = exact(matrix, -T::ONE, x, T::ONE, b).unwrap();
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
    norm(&mut residual.iter().map(|value| value.value())) / norm(&mut b.iter().map(|value| value.to_f64()))
}

/// A report that agrees with itself.
#[track_caller]
pub fn check_report(report: &Report, options: &Options) {
    assert_eq!(report.history.len(), report.iterations + 1);
    assert!(report.iterations <= options.iteration_limit as usize);
    if report.outcome == Outcome::Converged {
        let tolerance = options.absolute_tolerance.max(options.relative_tolerance * report.right_hand_side_norm);
        assert!(report.residual_norm <= tolerance, "{report:?}");
    }
}

/// Systems that a method for definite matrices solves, with and without a preconditioner. Gives the most iterations.
pub fn check_definite<T: Real, E: Executor, M: Method<T, E>>(executor: &E, method: &M) -> usize {
    let mut most = 0;
    for grid in GRIDS {
        let matrix = laplacian::<T>(grid);
        let mut numbers = Numbers::new(31);
        let (b, x) = (numbers.vector(matrix.rows()), numbers.vector(matrix.rows()));
        let halves = diagonal(&vec![0.5; matrix.rows()]);
        for preconditioner in [None, Some(&halves)] {
            let options = options::<T>();
            let (report, x) = solve(executor, method, (&matrix, preconditioner), (&b, &x), options);
            check_report(&report, &options);
            assert_eq!(report.outcome, Outcome::Converged, "{grid:?}, {}: {report:?}", T::PRECISION);
            assert!(report.iterations > 3 && report.iterations <= matrix.rows() * 3, "{grid:?}: {report:?}");
            let residual = relative_residual(&matrix, &x, &b);
            assert!(residual <= options.relative_tolerance * 1.1, "{grid:?}, {}: {residual}", T::PRECISION);
            most = most.max(report.iterations);
        }
    }
    most
}

/// Neither x nor the number of iterations depends on when the host looks, and the callback hears of each iteration.
pub fn check_interval<T: Real, E: Executor, M: Method<T, E>>(executor: &E, method: &M) {
    let matrix = laplacian::<T>(&[12, 9]);
    let mut numbers = Numbers::new(41);
    let (b, x) = (numbers.vector(matrix.rows()), vec![T::ZERO; matrix.rows()]);
    let with = |check_interval| {
        let options = Options { check_interval, ..options::<T>() };
        let (report, x) = solve(executor, method, (&matrix, None), (&b, &x), options);
        (report.outcome, report.history, x)
    };
    let every = with(1);
    assert_eq!(every.0, Outcome::Converged);
    assert!(with(7) == every && with(100_000) == every);

    let mut plan = Plan::new(executor, matrix.clone(), Format::SellP).unwrap();
    let (b, mut x) = (executor.upload(b).unwrap(), executor.upload(x).unwrap());
    let mut heard = Vec::new();
    let mut callback = |progress: &warp_spmv::solver::Progress| {
        heard.push((progress.iteration, progress.residual_norm));
        ControlFlow::Continue(())
    };
    let report = Solver::new(executor, &mut plan)
        .options(options::<T>())
        .callback(&mut callback)
        .solve(method, &b, &mut x)
        .unwrap();
    assert_eq!(heard, (1..).zip(report.history[1..].iter().copied()).collect::<Vec<_>>());
}
