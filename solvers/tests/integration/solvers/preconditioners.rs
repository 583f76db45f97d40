//! Preconditioners on every executor that needs no GPU, and rejected input.

use warp_spmv::executor::{Cpu, Emulated, Executor, Reference};
use warp_spmv::solver::preconditioner::{Preconditioner, PreconditionerName, PreconditionerOptions};
use warp_spmv::solver::{Cg, Operator, Outcome, PipelinedCg};
use warp_spmv::{Csr, Real};

use super::scenarios::Numbers;
use super::scenarios::preconditioner::{
    check_new_values, check_preconditioned, check_preconditioners, dominant, names, solve_with,
};
use super::scenarios::solver::{diagonal, laplacian};

fn check_all<T: Real, E: Executor>(executor: &E) {
    assert!(check_preconditioners::<T, E>(executor) > 100);
    check_preconditioned::<T, E>(executor);
}

#[test]
fn the_reference_preconditions() {
    check_all::<f32, _>(&Reference::new());
    check_all::<f64, _>(&Reference::new());
}

#[test]
fn the_cpu_preconditions() {
    check_all::<f32, _>(&Cpu::new());
    check_all::<f64, _>(&Cpu::new());
}

#[test]
fn the_emulator_preconditions_in_float32() {
    check_preconditioners::<f32, _>(&Emulated::new(1));
}

#[test]
fn the_emulator_preconditions_in_float64() {
    check_preconditioners::<f64, _>(&Emulated::new(2));
}

#[test]
fn the_emulator_solves_with_preconditioners() {
    check_preconditioned::<f64, _>(&Emulated::new(3));
}

#[test]
fn preconditioners_get_new_values() {
    check_new_values::<f64, _>(&Reference::new());
    check_new_values::<f64, _>(&Cpu::new());
    check_new_values::<f32, _>(&Cpu::new());
    check_new_values::<f32, _>(&Emulated::new(4));
}

/// M r for a preconditioner.
fn apply<E: Executor>(executor: &E, matrix: &Csr<f64>, name: PreconditionerName, r: &[f64]) -> Vec<f64> {
    let mut preconditioner = Preconditioner::new(executor, matrix, name).unwrap();
    let (r, mut z) = (executor.upload(r.to_vec()).unwrap(), executor.zeros(r.len()).unwrap());
    preconditioner.apply(1.0, &r, 0.0, &mut z).unwrap();
    executor.download(&z).unwrap()
}

#[test]
fn nothing_depends_on_the_schedule() {
    let matrix = dominant::<f64>(300, 4, true);
    let r = Numbers::new(2).vector(300);
    for name in names() {
        let one = apply(&Emulated::new(0), &matrix, name, &r);
        assert!((1..4).all(|seed| apply(&Emulated::new(seed), &matrix, name, &r) == one), "{name}");
    }
}

#[test]
fn nothing_depends_on_the_number_of_threads() {
    let matrix = laplacian::<f64>(&[70, 70, 3]);
    let r = Numbers::new(2).vector(matrix.rows());
    for name in names() {
        let with_threads = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| apply(&Cpu::new(), &matrix, name, &r))
        };
        let one = with_threads(1);
        assert!((2..4).all(|threads| with_threads(threads) == one), "{name}");
    }
}

#[test]
fn incomplete_factors_of_a_tridiagonal_matrix_are_complete() {
    let matrix = laplacian::<f64>(&[400]);
    let b = Numbers::new(3).vector(400);
    for name in ["ic0", "ilu0", "ic0-sweeps-100", "block-jacobi-32"] {
        let name = name.parse().unwrap();
        let run = |report: (warp_spmv::solver::Report, _)| (report.0.outcome, report.0.iterations);
        let preconditioner = Some((name, PreconditionerOptions::default()));
        let iterations = run(solve_with(&Cpu::new(), &Cg, &matrix, preconditioner, &b));
        let pipelined = run(solve_with(&Cpu::new(), &PipelinedCg, &matrix, preconditioner, &b));
        if name.to_string().contains('-') {
            // These are not exact.
            assert!(iterations.1 > 5, "{name}");
        } else {
            assert_eq!((iterations, pipelined), ((Outcome::Converged, 1), (Outcome::Converged, 1)), "{name}");
        }
    }
    // One sweep less than there are levels is exact, too.
    let (matrix, r) = (laplacian::<f64>(&[101]), Numbers::new(4).vector(101));
    let [levels, sweeps] = ["ic0", "ic0-sweeps-100"].map(|name| apply(&Cpu::new(), &matrix, name.parse().unwrap(), &r));
    assert!(levels.iter().zip(sweeps).all(|(a, b)| (a - b).abs() < 1e-9 * a.abs().max(1.0)));
}

/// L Lᵀ, where L has 1 on its diagonal and `below` next to it: the powers of D⁻¹ N are those of `below`.
fn bidiagonal_squared(rows: u32, below: f64) -> Csr<f64> {
    let mut entries = vec![];
    for row in 0..rows {
        entries.push((row, row, if row == 0 { 1.0 } else { 1.0 + below * below }));
        if row > 0 {
            entries.extend([(row, row - 1, below), (row - 1, row, below)]);
        }
    }
    let [row_indices, columns] = [0, 1].map(|side| -> Vec<u32> {
        entries.iter().map(|&(row, column, _)| if side == 0 { row } else { column }).collect()
    });
    let values: Vec<f64> = entries.iter().map(|entry| entry.2).collect();
    Csr::try_from_triplets(rows as usize, rows as usize, &row_indices, &columns, &values).unwrap()
}

#[test]
fn sweeps_that_make_the_error_larger_are_refused_before_a_method_stagnates() {
    let cpu = Cpu::new();
    let [contracts, grows] = [0.8, 1.3].map(|below| bidiagonal_squared(20, below));
    let b = Numbers::new(3).vector(20);
    for name in ["ic0-coloured", "ilu0-coloured", "ic0", "ilu0"] {
        let preconditioner = Some((name.parse().unwrap(), PreconditionerOptions::default()));
        assert_eq!(solve_with(&cpu, &Cg, &grows, preconditioner, &b).0.outcome, Outcome::Converged, "{name}");
    }
    for name in ["ic0-sweeps-1", "ic0-sweeps-5", "ic0-sweeps-16", "ilu0-sweeps-1", "ilu0-sweeps-16"] {
        let name: PreconditionerName = name.parse().unwrap();
        let check = |error: warp_spmv::Error| {
            let error = error.to_string();
            let start = "the factor by which sweeps multiply the error of a triangular solve is ";
            assert!(
                error.starts_with(start) && error.contains("expected less than 1: ic0-coloured"),
                "{name}: {error}"
            );
        };
        check(Preconditioner::new(&cpu, &grows, name).map(drop).unwrap_err());
        let options = PreconditionerOptions { updates: true, ..PreconditionerOptions::default() };
        let mut preconditioner = Preconditioner::with_options(&cpu, &contracts, name, options).unwrap();
        let apply = |preconditioner: &mut Preconditioner<f64, Cpu>| {
            let mut z = vec![0.0; 20];
            preconditioner.apply(1.0, &b, 0.0, &mut z).unwrap();
            z
        };
        let before = apply(&mut preconditioner);
        check(preconditioner.update_values(grows.values()).unwrap_err());
        assert!(apply(&mut preconditioner) == before, "{name}: changed by values that it refused");
    }
    // One sweep less than there are levels.
    assert!(Preconditioner::new(&cpu, &grows, "ic0-sweeps-19".parse().unwrap()).is_ok());
}

#[test]
fn pivots_that_nothing_can_be_divided_by_are_errors() {
    let cpu = Cpu::new();
    let matrix = |entries: &[(u32, u32, f64)]| {
        let rows: Vec<u32> = entries.iter().map(|entry| entry.0).collect();
        let columns: Vec<u32> = entries.iter().map(|entry| entry.1).collect();
        let values: Vec<f64> = entries.iter().map(|entry| entry.2).collect();
        Csr::try_from_triplets(3, 3, &rows, &columns, &values).unwrap()
    };
    let make = |matrix: &Csr<f64>, name: &str, diagonal_shift| {
        let options = PreconditionerOptions { diagonal_shift, ..PreconditionerOptions::default() };
        Preconditioner::with_options(&cpu, matrix, name.parse().unwrap(), options)
            .map(|_| ())
            .map_err(|e| e.to_string())
    };
    // Row 1 has no diagonal element.
    let missing = matrix(&[(0, 0, 2.0), (1, 2, 1.0), (2, 1, 1.0), (2, 2, 4.0)]);
    let not_zero = "expected a finite number other than 0";
    for (name, operation) in [
        ("jacobi", "Jacobi"),
        ("neumann", "Neumann polynomial"),
        ("chebyshev", "Chebyshev polynomial"),
        ("ilu0", "ILU(0)"),
    ] {
        assert_eq!(make(&missing, name, 0.0).unwrap_err(), format!("{operation}: the pivot of row 1 is 0, {not_zero}"));
    }
    let positive =
        "expected a finite number greater than 0: a diagonal shift may help if the matrix is positive definite";
    assert_eq!(make(&missing, "ic0", 0.0).unwrap_err(), format!("IC(0): the pivot of row 1 is 0, {positive}"));
    // The block of rows 0 to 2 is invertible nevertheless; that of row 1 alone is not.
    assert_eq!(make(&missing, "block-jacobi-3", 0.0), Ok(()));
    let error = format!("block Jacobi: the pivot of row 1 is 0, {not_zero}, because its block must be invertible");
    assert_eq!(make(&missing, "block-jacobi-1", 0.0).unwrap_err(), error);
    assert_eq!(make(&missing, "ilu0", 1.0), Ok(()));

    // Eliminating row 0 leaves 0 or less in row 1.
    for (element, pivot) in [(1.0, "0"), (0.5, "-0.5")] {
        let singular = matrix(&[(0, 0, 1.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, element), (2, 2, 1.0)]);
        let error = make(&singular, "ic0-sweeps", 0.0).unwrap_err();
        assert_eq!(error, format!("IC(0): the pivot of row 1 is {pivot}, {positive}"));
        assert_eq!(make(&singular, "ilu0-sweeps", 0.0).is_err(), element == 1.0);
        for name in ["ic0", "ilu0"] {
            assert_eq!(make(&singular, name, 2.0), Ok(()));
        }
    }
    // Of many singular blocks, the first is named, whichever a thread finds first.
    let many = diagonal(&(0..5000).map(|row| if row < 7 { 1.0 } else { 0.0 }).collect::<Vec<_>>());
    let error = format!("block Jacobi: the pivot of row 7 is 0, {not_zero}, because its block must be invertible");
    assert_eq!(make(&many, "block-jacobi-4", 0.0).unwrap_err(), error);
    for broken in [f64::NAN, f64::INFINITY] {
        let broken = matrix(&[(0, 0, 1.0), (1, 1, 1.0), (2, 2, broken)]);
        for name in names() {
            let error = make(&broken, &name.to_string(), 0.0).unwrap_err();
            assert!(error.contains("the pivot of row 2 is"), "{name}: {error}");
        }
    }
    let good = matrix(&[(0, 0, 1.0), (1, 1, 1.0), (2, 2, 1.0)]);
    for (shift, text) in [(-1.0, "-1"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
        assert_eq!(make(&good, "ic0", shift).unwrap_err(), format!("the diagonal shift is {text}, expected 0 or more"));
    }
    let wide = Csr::<f64>::try_from_triplets(2, 3, &[], &[], &[]).unwrap();
    assert_eq!(make(&wide, "ilu0", 0.0).unwrap_err(), "the matrix has 2 rows and 3 columns, expected a square matrix");
    let large = Preconditioner::new(&cpu, &good, PreconditionerName::BlockJacobi { size: 0 }).err().unwrap();
    assert_eq!(large.to_string(), "the block size is 0, expected 1 to 32");
}
