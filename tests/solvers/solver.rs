//! Requirements on every executor for solvers.

use std::ops::ControlFlow;

use warp_spmv::executor::Executor;
use warp_spmv::solver::{Chebyshev, Method, Options, Outcome, Report, Solver, SpectralBounds};
use warp_spmv::verify::{ExactElement, exact};
use warp_spmv::{Csr, Format, Plan, Real, Scalar};

use super::Numbers;

/// Grids whose matrices the checks use.
pub const GRIDS: &[&[usize]] = &[&[60], &[12, 9], &[5, 6, 4]];

/// Makes a matrix for the grid with the given number of points per direction.
pub type Family<T> = fn(&[usize]) -> Csr<T>;

/// Returns the Laplacian, symmetric and positive definite: twice the number of directions on the diagonal, -1 for
/// neighbours.
pub fn laplacian<T: Scalar>(grid: &[usize]) -> Csr<T> {
    stencil(grid, 0.0, 0.0)
}

/// Returns the eigenvalues of the [`laplacian`], sorted.
pub fn laplacian_spectrum(grid: &[usize]) -> Vec<f64> {
    let mut values = vec![0.0];
    for &side in grid {
        let of_side = |number: usize| 2.0 - 2.0 * (std::f64::consts::PI * number as f64 / (side + 1) as f64).cos();
        values = values.iter().flat_map(|value| (1..=side).map(move |number| value + of_side(number))).collect();
    }
    values.sort_by(f64::total_cmp);
    values
}

/// Convection and diffusion: not symmetric.
pub fn convection<T: Scalar>(grid: &[usize]) -> Csr<T> {
    stencil(grid, 0.0, 0.4)
}

/// A symmetric matrix with eigenvalues on both sides of 0, halfway between two of the Laplacian.
pub fn indefinite<T: Scalar>(grid: &[usize]) -> Csr<T> {
    stencil(grid, shift_between(grid), 0.0)
}

/// Returns the midpoint of the widest gap between the lowest eigenvalues of the Laplacian.
fn shift_between(grid: &[usize]) -> f64 {
    let spectrum = laplacian_spectrum(grid);
    let gap = spectrum[..8].windows(2).max_by(|a, b| (a[1] - a[0]).total_cmp(&(b[1] - b[0]))).unwrap();
    (gap[0] + gap[1]) / 2.0
}

/// Returns the Laplacian minus `shift` on the diagonal, with -1 - wind for the previous neighbour and -1 + wind for the
/// next.
fn stencil<T: Scalar>(grid: &[usize], shift: f64, wind: f64) -> Csr<T> {
    let beside = |point, neighbour| [if neighbour < point { -1.0 - wind } else { -1.0 + wind }, 0.0];
    lattice(grid, [2.0 * grid.len() as f64 - shift, 0.0], beside)
}

/// Returns the individual phase of a link of a lattice; the opposite direction has its negative.
fn phase(point: usize, neighbour: usize) -> f64 {
    let angle = 6.0 * (0.618_033_988_749_895 * (point.min(neighbour) * 7 + point.max(neighbour) * 31) as f64).fract();
    if neighbour < point { -angle } else { angle }
}

fn of_length_and_phase(length: f64, phase: f64) -> [f64; 2] {
    [length * phase.cos(), length * phase.sin()]
}

/// Hermitian and positive definite: the Laplacian with phases.
pub fn hermitian<T: Scalar>(grid: &[usize]) -> Csr<T> {
    let beside = |point, neighbour| of_length_and_phase(-1.0, phase(point, neighbour));
    lattice(grid, [2.0 * grid.len() as f64, 0.0], beside)
}

/// Hermitian with eigenvalues on both sides of 0: those of [`indefinite`], as the phases are differences of angles.
pub fn hermitian_indefinite<T: Scalar>(grid: &[usize]) -> Csr<T> {
    let angle = |point: usize| phase(point, 2 * point + 5);
    let beside = |point, neighbour| of_length_and_phase(-1.0, angle(point) - angle(neighbour));
    lattice(grid, [2.0 * grid.len() as f64 - shift_between(grid), 0.0], beside)
}

/// Waves with damping: complex symmetric.
pub fn helmholtz<T: Scalar>(grid: &[usize]) -> Csr<T> {
    lattice(grid, [2.0 * grid.len() as f64 - shift_between(grid), 0.3], |_, _| [-1.0, 0.0])
}

/// [`convection`] with phases, which has no symmetry.
pub fn complex_convection<T: Scalar>(grid: &[usize]) -> Csr<T> {
    let beside = |point, neighbour| {
        of_length_and_phase(if neighbour < point { -1.4 } else { -0.6 }, phase(point, neighbour) / 2.0)
    };
    lattice(grid, [2.0 * grid.len() as f64, 0.4], beside)
}

/// Returns the matrix of a lattice with the given number on the diagonal, and `beside(point, neighbour)` off it.
fn lattice<T: Scalar>(grid: &[usize], [re, im]: [f64; 2], beside: impl Fn(usize, usize) -> [f64; 2]) -> Csr<T> {
    let points = grid.iter().product::<usize>();
    let (mut rows, mut columns, mut values) = (vec![], vec![], vec![]);
    for point in 0..points {
        let mut entry = |column: usize, [re, im]: [f64; 2]| {
            rows.push(point as u32);
            columns.push(column as u32);
            values.push(T::from_parts(re, im));
        };
        entry(point, [re, im]);
        let mut stride = 1;
        for side in grid {
            let place = point / stride % side;
            if place > 0 {
                entry(point - stride, beside(point, point - stride));
            }
            if place + 1 < *side {
                entry(point + stride, beside(point, point + stride));
            }
            stride *= side;
        }
    }
    Csr::try_from_triplets(points, points, &rows, &columns, &values).unwrap()
}

/// Returns a square diagonal matrix.
pub fn diagonal<T: Scalar>(values: &[f64]) -> Csr<T> {
    let places: Vec<u32> = (0..values.len() as u32).collect();
    let values: Vec<T> = values.iter().map(|&value| T::from_f64(value)).collect();
    Csr::try_from_triplets(values.len(), values.len(), &places, &places, &values).unwrap()
}

/// Returns options with a tolerance that the precision can reach.
pub fn options<T: Scalar>() -> Options {
    let relative_tolerance = if T::Real::NAME == "float32" { 1e-4 } else { 1e-9 };
    Options { relative_tolerance, ..Options::default() }
}

/// Solves from the initial `x`, and returns the report and the solution.
pub fn solve<T: Scalar, E: Executor, M: Method<T, E>>(
    executor: &E,
    method: &M,
    (matrix, preconditioner): (&Csr<T>, Option<&Csr<T>>),
    (b, x): (&[T], &[T]),
    options: Options,
) -> (Report, Vec<T>) {
    let plan = |matrix: &Csr<T>| Plan::with_format(executor, matrix.clone(), Format::SELL_P).unwrap();
    let (mut plan, mut preconditioner) = (plan(matrix), preconditioner.map(plan));
    let (b, mut x) = (executor.upload(b.to_vec()).unwrap(), executor.upload(x.to_vec()).unwrap());
    let solver = Solver::new(executor, &mut plan).options(options);
    let report = match &mut preconditioner {
        Some(preconditioner) => solver.preconditioner(preconditioner).solve(method, &b, &mut x),
        None => { solver }.solve(method, &b, &mut x),
    };
    (report.unwrap(), executor.download(&x).unwrap())
}

/// Returns ‖b − A x‖ / ‖b‖ with an exact residual.
pub fn relative_residual<T: Scalar>(matrix: &Csr<T>, x: &[T], b: &[T]) -> f64 {
    let residual = exact(matrix, -T::ONE, x, T::ONE, b).unwrap();
    let norm = |values: &mut dyn Iterator<Item = T>| values.map(|value| value.magnitude().powi(2)).sum::<f64>().sqrt();
    norm(&mut residual.iter().map(|value| value.rounded())) / norm(&mut b.iter().copied())
}

/// Checks that a report is consistent.
#[track_caller]
pub fn check_report(report: &Report, options: &Options) {
    assert_eq!(report.history.len(), report.iterations + 1);
    assert!(report.iterations <= options.iteration_limit as usize);
    if report.outcome == Outcome::Converged {
        let tolerance = options.absolute_tolerance.max(options.relative_tolerance * report.right_hand_side_norm);
        assert!(report.residual_norm <= tolerance, "{report:?}");
    }
}

/// Checks a method on systems of a family, with and without a preconditioner. Returns the largest number of iterations.
pub fn check_family<T: Scalar, E: Executor, M: Method<T, E>>(executor: &E, method: &M, family: Family<T>) -> usize {
    GRIDS.iter().map(|grid| check_system(executor, method, family, grid)).max().unwrap_or(0)
}

/// [`check_family`] for one grid.
pub fn check_system<T: Scalar, E: Executor, M: Method<T, E>>(
    executor: &E,
    method: &M,
    family: Family<T>,
    grid: &[usize],
) -> usize {
    let mut most = 0;
    let matrix = family(grid);
    let mut numbers = Numbers::new(31);
    let (b, x) = (numbers.vector(matrix.rows()), numbers.vector(matrix.rows()));
    let halves = diagonal(&vec![0.5; matrix.rows()]);
    for preconditioner in [None, Some(&halves)] {
        let options = options::<T>();
        let (report, x) = solve(executor, method, (&matrix, preconditioner), (&b, &x), options);
        check_report(&report, &options);
        assert_eq!(report.outcome, Outcome::Converged, "{grid:?}, {}: {report:?}", T::NAME);
        assert!(report.iterations > 3 && report.iterations <= matrix.rows() * 3, "{grid:?}: {report:?}");
        let residual = relative_residual(&matrix, &x, &b);
        assert!(residual <= options.relative_tolerance * 1.1, "{grid:?}, {}: {residual}", T::NAME);
        most = most.max(report.iterations);
    }
    most
}

/// Neither x nor the number of iterations depends on the check interval, and the callback is called for each iteration.
pub fn check_interval<T: Scalar, E: Executor, M: Method<T, E>>(executor: &E, method: &M) {
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
    // Once within the iterations, and once long after the last one.
    let seldom = 2 * every.1.len() as u32;
    assert!(with(7) == every && with(seldom) == every);

    let mut plan = Plan::with_format(executor, matrix.clone(), Format::SELL_P).unwrap();
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

/// Chebyshev iteration with the exact and the estimated spectrum, with and without a preconditioner.
pub fn check_chebyshev<T: Scalar, E: Executor>(executor: &E) {
    for grid in GRIDS {
        let (matrix, spectrum) = (laplacian::<T>(grid), laplacian_spectrum(grid));
        let exact = SpectralBounds { smallest: spectrum[0], largest: spectrum[spectrum.len() - 1] };
        let rows = matrix.rows();
        let scale = |row: usize| 1.0 + (row % 3) as f64;
        let inverse = diagonal::<T>(&(0..rows).map(|row| 1.0 / scale(row)).collect::<Vec<_>>());
        let plan = |matrix: &Csr<T>| Plan::with_format(executor, matrix.clone(), Format::SELL_P).unwrap();
        let plain = SpectralBounds::estimate(executor, &mut plan(&matrix), None, 20).unwrap();
        let within = plain.smallest >= exact.smallest * 0.999 && plain.smallest < exact.largest / 3.0;
        assert!(within && plain.largest >= exact.largest * 0.999, "{plain:?} for {exact:?}");
        assert!(plain.largest < exact.largest * 1.5, "{plain:?} for {exact:?}");
        let scaled = SpectralBounds::estimate(executor, &mut plan(&matrix), Some(&mut plan(&inverse)), 20).unwrap();
        let b = Numbers::new(51).vector(rows);
        for (bounds, preconditioner) in [(exact, None), (plain, None), (scaled, Some(&inverse))] {
            // The condition number of the longest grid, 1500, times the roundoff of float32 is 1e-4.
            let reachable = if T::Real::UNIT_ROUNDOFF > 1e-9 { 1e-3 } else { 0.0 };
            let options = options::<T>();
            let options = Options { relative_tolerance: options.relative_tolerance.max(reachable), ..options };
            let method = Chebyshev { bounds };
            let (report, x) = solve(executor, &method, (&matrix, preconditioner), (&b, &vec![T::ZERO; rows]), options);
            check_report(&report, &options);
            assert_eq!(report.outcome, Outcome::Converged, "{grid:?}, {bounds:?}");
            assert!(relative_residual(&matrix, &x, &b) <= options.relative_tolerance * 1.1);
        }
    }
}
