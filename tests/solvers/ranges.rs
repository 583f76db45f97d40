//! Systems whose numbers have no representable squares, which were once reported as solved but were not.

use warp_spmv::executor::Executor;
use warp_spmv::solver::dense::Multicolumn;
use warp_spmv::solver::{
    Lobpcg, MethodName, Options, Outcome, Report, Solver, SpectralBounds, SpectrumEnd, power_iteration,
};
use warp_spmv::{Csr, Format, Plan};

pub fn diagonal(values: &[f64]) -> Csr<f64> {
    let places: Vec<u32> = (0..values.len() as u32).collect();
    Csr::try_from_triplets(values.len(), values.len(), &places, &places, values).unwrap()
}

pub fn options(relative_tolerance: f64) -> Options {
    Options { relative_tolerance, ..Options::default() }
}

/// Solves by every method that takes a symmetric positive definite matrix and needs no parameters.
pub fn by_each_method<E: Executor>(
    executor: &E,
    matrix: &Csr<f64>,
    b: &[f64],
    start: &[f64],
    tolerance: f64,
    mut check: impl FnMut(&str, Report, Vec<f64>),
) {
    for method in [MethodName::Cg, MethodName::PipelinedCg, MethodName::Gmres, MethodName::Bicgstab, MethodName::Minres]
    {
        let mut plan = Plan::with_format(executor, matrix.clone(), Format::CSR_SCALAR).unwrap();
        let b = executor.upload(b.to_vec()).unwrap();
        let mut x = executor.upload(start.to_vec()).unwrap();
        let mut solver = Solver::new(executor, &mut plan).options(options(tolerance));
        let report = method.solve(&mut solver, &b, &mut x).unwrap();
        check(method.name(), report, executor.download(&x).unwrap());
    }
}

/// Systems are solved whatever the magnitude of their numbers.
pub fn check_sizes<E: Executor>(executor: &E) {
    // Magnitudes of A and of b, and the initial x as a multiple of the solution.
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
                // The rounding error of such an x exceeds b: the solver must only not report convergence to a wrong x.
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
            // If a first attempt failed because of the magnitude of A, the solver continued from its current iterate.
            let begin = report.history[0] / (length * (1.0 - start));
            assert!(begin < 1.0 + 1e-10 && (of_matrix != 1.0 || begin > 1.0 - 1e-10), "{place}: {report:?}");
            assert!(report.residual_norm <= 1e-10 * report.right_hand_side_norm, "{place}: {report:?}");
        });
    }
}

/// Eigenvalues are found whatever their magnitude and that of the initial vectors.
pub fn check_eigenvalues<E: Executor>(executor: &E) {
    let plan = |matrix: &Csr<f64>| Plan::with_format(executor, matrix.clone(), Format::CSR_SCALAR).unwrap();
    for of_matrix in [1.0, 1e-170, 1e-300, 1e170, 1e300] {
        let values: Vec<f64> = (1..=30).map(|value| f64::from(value) * of_matrix).collect();
        let matrix = diagonal(&values);
        let largest = 30.0 * of_matrix;
        for of_x in [0.0, 1.0, 1e-200, 1e200] {
            let mut x = executor.upload(vec![of_x; 30]).unwrap();
            let options = Options { iteration_limit: 3000, ..options(1e-6) };
            let report = power_iteration(executor, &mut plan(&matrix), &mut x, &options, None).unwrap();
            let place = format!("A of {of_matrix:e}, x of {of_x:e}: {report:?}");
            assert!(report.outcome == Outcome::Converged && report.history.len() == report.iterations, "{place}");
            assert!((report.eigenvalues[0] / largest - 1.0).abs() < 1e-5, "{place}");
            assert!(report.residual_norms[0] <= 1.1e-6 * largest, "{place}");

            // Two equal columns are one direction.
            let other = (0..30).map(|place| of_x * f64::from(place % 7));
            let columns = std::iter::repeat_n(of_x, 30).chain(other).collect();
            let mut x = Multicolumn::from_array(executor.upload(columns).unwrap(), 30, 2).unwrap();
            let method = Lobpcg { end: SpectrumEnd::Largest, options };
            let report = method.solve(executor, &mut plan(&matrix), None, &mut x, None).unwrap();
            let place = format!("A of {of_matrix:e}, X of {of_x:e}: {report:?}");
            assert_eq!(report.outcome, Outcome::Converged, "{place}");
            for (value, expected) in report.eigenvalues.iter().zip([30.0, 29.0]) {
                assert!((value / (expected * of_matrix) - 1.0).abs() < 1e-5, "{place}");
            }
        }
        let bounds = SpectralBounds::estimate(executor, &mut plan(&matrix), None, 20).unwrap();
        assert!(bounds.largest >= 0.99 * largest && bounds.largest < 1.2 * largest, "{of_matrix:e}: {bounds:?}");
        assert!(bounds.smallest > 0.5 * of_matrix && bounds.smallest < 3.0 * of_matrix, "{of_matrix:e}: {bounds:?}");
    }
}
