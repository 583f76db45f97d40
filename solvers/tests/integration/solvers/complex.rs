//! Complex systems and Hermitian eigenproblems on every executor that needs no GPU.

use warp_spmv::executor::{Cpu, Emulated, Reference};
use warp_spmv::solver::preconditioner::PreconditionerName;
use warp_spmv::solver::{Bicgstab, Cg, Gmres, Method, Minres, Options, Outcome, PipelinedCg, Report};
use warp_spmv::{Complex, Csr, Scalar};

use super::scenarios::Numbers;
use super::scenarios::complex::{
    CYCLE, check_complex_methods, check_hermitian_eigenvalues, check_new_complex_values, check_turned_preconditioners,
};
use super::scenarios::preconditioner::solve_with;
use super::scenarios::solver::{
    check_report, check_system, complex_convection, helmholtz, hermitian, hermitian_indefinite, options,
    relative_residual, solve,
};

type C64 = Complex<f32>;
type C128 = Complex<f64>;

#[test]
fn the_reference_solves_complex_systems() {
    check_complex_methods::<C64, _>(&Reference::new());
    check_complex_methods::<C128, _>(&Reference::new());
}

#[test]
fn the_cpu_solves_complex_systems() {
    check_complex_methods::<C64, _>(&Cpu::new());
    check_complex_methods::<C128, _>(&Cpu::new());
}

/// With kernels for real numbers, and products with complex matrices.
#[test]
fn the_emulator_solves_complex_systems() {
    fn check<T: Scalar>(executor: &Emulated) {
        let grid = &[6, 5];
        check_system::<T, _, _>(executor, &Cg, hermitian, grid);
        check_system::<T, _, _>(executor, &Minres, hermitian_indefinite, grid);
        check_system::<T, _, _>(executor, &Bicgstab, complex_convection, grid);
        check_system::<T, _, _>(executor, &Gmres { cycle: 30 }, helmholtz, grid);
    }
    check::<C64>(&Emulated::new(1));
    check::<C128>(&Emulated::new(2));
}

#[test]
fn eigenvalues_of_hermitian_matrices_are_found() {
    check_hermitian_eigenvalues::<C64, _>(&Reference::new());
    check_hermitian_eigenvalues::<C64, _>(&Cpu::new());
    check_hermitian_eigenvalues::<C128, _>(&Cpu::new());
    check_hermitian_eigenvalues::<C128, _>(&Emulated::new(3));
}

#[test]
fn preconditioners_turn_with_their_matrices() {
    check_turned_preconditioners::<C64, _>(&Reference::new());
    check_turned_preconditioners::<C64, _>(&Cpu::new());
    check_turned_preconditioners::<C128, _>(&Cpu::new());
    check_turned_preconditioners::<C128, _>(&Emulated::new(4));
}

#[test]
fn complex_preconditioners_get_new_values() {
    check_new_complex_values::<C128, _>(&Reference::new());
    check_new_complex_values::<C64, _>(&Cpu::new());
    check_new_complex_values::<C128, _>(&Cpu::new());
    check_new_complex_values::<C64, _>(&Emulated::new(5));
}

/// The diagonal matrix of these values.
fn diagonal(values: &[C128]) -> Csr<C128> {
    let places: Vec<u32> = (0..values.len() as u32).collect();
    Csr::try_from_triplets(values.len(), values.len(), &places, &places, values).unwrap()
}

/// Coefficients are complex: real ones would take twice as many iterations.
#[test]
fn a_matrix_with_three_complex_eigenvalues_takes_three_iterations() {
    fn check<M: Method<C128, Cpu>>(method: M, eigenvalues: [C128; 3]) {
        let (matrix, b) = (diagonal(&eigenvalues.repeat(20)), Numbers::new(2).vector::<C128>(60));
        let (report, x) = solve(&Cpu::new(), &method, (&matrix, None), (&b, &[C128::ZERO; 60]), options::<C128>());
        assert_eq!((report.outcome, report.iterations), (Outcome::Converged, 3));
        let error = |(row, (x, b)): (usize, (&C128, &C128))| (x * eigenvalues[row % 3] - b).norm();
        assert!(x.iter().zip(&b).enumerate().map(error).all(|error| error < 1e-8));
    }
    let (real, complex) =
        ([1.0, 5.0, 9.0].map(C128::from), [C128::new(1.0, 0.0), C128::new(0.0, 5.0), C128::new(-3.0, 2.0)]);
    check(Cg, real);
    check(PipelinedCg, real);
    check(Minres, real);
    check(Bicgstab, complex);
    check(Gmres { cycle: CYCLE }, complex);
}

/// A cycle ends with a complete x, even if it ends early, and the next one starts with its residual.
#[test]
fn gmres_goes_on_after_a_cycle_of_complex_numbers() {
    let matrix = complex_convection::<C128>(&[12, 9]);
    let b = Numbers::new(6).vector::<C128>(108);
    let run = |cycle, options: Options| -> (Report, Vec<C128>) {
        solve(&Cpu::new(), &Gmres { cycle }, (&matrix, None), (&b, &[C128::ZERO; 108]), options)
    };
    let (whole, _) = run(108, options::<C128>());
    for cycle in [1, 2, 5] {
        let (report, x) = run(cycle, options::<C128>());
        check_report(&report, &options::<C128>());
        assert_eq!((&report.outcome, report.restarts), (&Outcome::Converged, 0), "{cycle}");
        assert!(relative_residual(&matrix, &x, &b) < 1.1e-9);
        assert_eq!(report.history[..=cycle as usize], whole.history[..=cycle as usize]);
        assert!(report.history.windows(2).all(|norms| norms[1] <= norms[0] * (1.0 + 1e-12)));
        for iteration_limit in [cycle * 3 - 1, cycle * 3, cycle * 3 + 1] {
            let (stopped, _) = run(cycle, Options { iteration_limit, ..options::<C128>() });
            let norm = report.history[iteration_limit as usize];
            assert!((stopped.residual_norm - norm).abs() <= 1e-10 * norm, "{} and {norm}", stopped.residual_norm);
        }
    }
}

#[test]
fn breakdowns_leave_complex_vectors_as_they_were() {
    fn check<M: Method<C128, Cpu>>(method: M, values: [C128; 4], reason: &'static str) {
        let matrix = Csr::try_from_triplets(2, 2, &[0, 0, 1, 1], &[0, 1, 0, 1], &values).unwrap();
        let b = [C128::new(0.0, 1.0), C128::ZERO];
        let (report, x) = solve(&Cpu::new(), &method, (&matrix, None), (&b, &[C128::ZERO; 2]), options::<C128>());
        assert_eq!((report.outcome, report.iterations, x), (Outcome::Breakdown(reason), 0, vec![C128::ZERO; 2]));
    }
    let (zero, one, i) = (C128::ZERO, C128::ONE, C128::I);
    check(Bicgstab, [zero, i, i, zero], "the first residual is orthogonal to the product with the direction");
    check(Gmres::default(), [zero, i, zero, zero], "the matrix is singular");
    check(Minres, [zero, zero, zero, one], "the matrix is singular");
    check(Cg, [zero, i, -i, zero], "the matrix is not positive definite");
}

/// Factors of a tridiagonal matrix omit nothing.
#[test]
fn incomplete_factors_of_complex_tridiagonal_matrices_are_complete() {
    let run = |matrix: &Csr<C128>, name: &str| {
        let b = Numbers::new(3).vector::<C128>(matrix.rows());
        let preconditioner = Some((name.parse::<PreconditionerName>().unwrap(), Default::default()));
        let (report, x) = solve_with(&Cpu::new(), &Gmres::default(), matrix, preconditioner, &b);
        assert!(relative_residual(matrix, &x, &b) < 1.1e-9);
        (report.outcome, report.iterations)
    };
    let once = (Outcome::Converged, 1);
    assert_eq!(run(&complex_convection(&[300]), "ilu0"), once);
    assert_eq!(run(&hermitian(&[300]), "ilu0"), once);
    assert_eq!(run(&hermitian(&[300]), "ic0"), once);
}
