//! Multigrid: rate of convergence, hard matrices, and rejected input.

use warp_spmv::executor::{Cpu, Emulated, Executor, Reference};
use warp_spmv::solver::multigrid::{Multigrid, NearNullSpace};
use warp_spmv::solver::preconditioner::{Preconditioner, PreconditionerName, PreconditionerOptions};
use warp_spmv::solver::{MethodName, Operator, Options, Outcome, Report, Solver};
use warp_spmv::synthetic::{Elasticity, Generate, Generator};
use warp_spmv::{Complex, Csr, Format, Plan, Scalar};

use super::scenarios::Numbers;
use super::scenarios::solver::{convection, diagonal, helmholtz, hermitian, indefinite, laplacian, relative_residual};

const OPTIONS: Options = Options {
    relative_tolerance: 1e-8,
    absolute_tolerance: 0.0,
    iteration_limit: 300,
    time_limit: None,
    check_interval: 16,
    stagnation_window: None,
    fused_sums: true,
};

fn amg(options: &str) -> PreconditionerName {
    options.parse().unwrap()
}

/// Solves A x = b, starting from 0.
fn solve<T: Scalar, E: Executor>(
    executor: &E,
    method: MethodName,
    matrix: &Csr<T>,
    preconditioner: &mut Preconditioner<T, E>,
    b: &[T],
) -> (Report, Vec<T>) {
    let mut plan = Plan::with_format(executor, matrix.clone(), Format::CSR_TILED).unwrap();
    let (b, mut x) = (executor.upload(b.to_vec()).unwrap(), executor.zeros(matrix.rows()).unwrap());
    let mut solver = Solver::new(executor, &mut plan).preconditioner(preconditioner).options(OPTIONS);
    let report = method.solve(&mut solver, &b, &mut x).unwrap();
    (report, executor.download(&x).unwrap())
}

/// The number of iterations of a convergent method, for a random right-hand side.
#[track_caller]
fn iterations<T: Scalar>(method: MethodName, matrix: &Csr<T>, options: &str) -> usize {
    let cpu = Cpu::new();
    let [re, im] = [5, 6].map(|seed| Numbers::new(seed).vector::<f64>(matrix.rows()));
    let b: Vec<T> = re.into_iter().zip(im).map(|(re, im)| T::from_parts(re, im)).collect();
    let mut preconditioner = Preconditioner::new(&cpu, matrix, amg(options)).unwrap();
    let (report, x) = solve(&cpu, method, matrix, &mut preconditioner, &b);
    assert_eq!(report.outcome, Outcome::Converged, "{options}: {report:?}");
    let residual = relative_residual(matrix, &x, &b);
    assert!(residual <= 1.1 * OPTIONS.relative_tolerance, "{options}: {residual}");
    report.iterations
}

fn generated(text: &str) -> Csr<f64> {
    text.parse::<Generator>().unwrap().generate().unwrap()
}

#[test]
fn iterations_hardly_depend_on_the_size() {
    for (family, most) in [("stencil:5", 16), ("stencil:7", 14), ("stencil:27", 12)] {
        let flat = family == "stencil:5";
        let sizes = if flat { [40, 80, 160] } else { [10, 20, 40] };
        let counts = sizes.map(|size| iterations(MethodName::Cg, &generated(&format!("{family}:{size}")), "amg"));
        assert!(counts.iter().all(|&count| count <= most), "{family}: {counts:?}");
    }
}

#[test]
fn every_option_converges() {
    let matrix = generated("stencil:7:18");
    for (options, most) in [
        ("amg:smoother=chebyshev-2", 12),
        ("amg:values=float32", 16),
        ("amg:smoother=chebyshev-4", 9),
        ("amg:values=bfloat16", 20),
        ("amg:smoother=jacobi-1", 16),
        ("amg:smoother=jacobi-3", 11),
        ("amg:smoother=l1-jacobi-2", 20),
        ("amg:cycle=w", 13),
        ("amg:cycle=k", 13),
        ("amg:aggregation=plain", 35),
        ("amg:aggregation=plain,cycle=w", 25),
        ("amg:aggregation=plain,cycle=k", 18),
        ("amg:strength=0", 16),
        ("amg:strength=0.5", 16),
        ("amg:coarsest=20", 16),
        ("amg:coarsest=1,levels=2", 30),
        ("amg:levels=1", 80),
    ] {
        let count = iterations(MethodName::Cg, &matrix, options);
        assert!(count <= most, "{options}: {count} iterations");
    }
    // More steps of a smoother take fewer cycles, as do better cycles.
    let count = |options| iterations(MethodName::Cg, &matrix, options);
    assert!(count("amg:smoother=chebyshev-4") < count("amg:smoother=chebyshev-1"));
    assert!(count("amg:aggregation=plain,cycle=k") < count("amg:aggregation=plain"));
}

#[test]
fn rigid_body_modes_keep_elasticity_from_growing() {
    let cpu = Cpu::new();
    let count = |width: usize, with_modes: bool| {
        let mesh = Elasticity::new(width);
        let matrix: Csr<f64> = mesh.generate().unwrap();
        let options = PreconditionerOptions::default();
        let nodes = Multigrid { node: 3, ..Multigrid::default() };
        let mut preconditioner = if with_modes {
            let modes = NearNullSpace::rigid_body_modes(3, &mesh.positions().unwrap()).unwrap();
            Preconditioner::multigrid(&cpu, &matrix, nodes, modes, options)
        } else {
            Preconditioner::with_options(&cpu, &matrix, PreconditionerName::Amg(nodes), options)
        };
        let preconditioner = preconditioner.as_mut().unwrap();
        let (report, _) = solve(&cpu, MethodName::Cg, &matrix, preconditioner, &Numbers::new(1).vector(matrix.rows()));
        assert_eq!(report.outcome, Outcome::Converged);
        report.iterations
    };
    let (small, large) = (count(6, true), count(14, true));
    assert!(small <= 28 && large <= 30, "{small}, then {large}");
    assert!(large <= count(14, false));
}

#[test]
fn the_levels_are_reported() {
    let matrix = generated("stencil:7:20");
    let preconditioner = Preconditioner::new(&Cpu::new(), &matrix, amg("amg")).unwrap();
    let report = preconditioner.multigrid_report().unwrap();
    assert!(report.levels.len() >= 2, "{report:?}");
    assert_eq!((report.levels[0].rows, report.levels[0].nnz), (matrix.rows(), matrix.nnz()));
    assert!(report.levels.windows(2).all(|pair| 3 * pair[1].rows < pair[0].rows), "{report:?}");
    let (operator, grid) = (report.operator_complexity(), report.grid_complexity());
    assert!((1.0..2.0).contains(&operator) && (1.0..1.2).contains(&grid), "{report:?}");
    let largest = report.levels[0].largest_eigenvalue.unwrap();
    assert!((1.8..2.2).contains(&largest), "{report:?}");
    assert!(report.levels.iter().rev().skip(1).all(|level| level.coarsest.is_none()));
    assert_eq!(report.levels.last().unwrap().coarsest, Some("directly, by its inverse"));
    let jacobi = Preconditioner::new(&Cpu::new(), &matrix, PreconditionerName::Jacobi).unwrap();
    assert!(jacobi.multigrid_report().is_none());
}

/// The matrix with `more` additional rows and columns, with the diagonal entries from `entry`.
fn with_rows(matrix: &Csr<f64>, more: usize, entry: impl Fn(usize) -> Option<f64>) -> Csr<f64> {
    let (mut rows, mut columns, mut values) = (vec![], vec![], vec![]);
    for row in 0..matrix.rows() {
        for (column, value) in matrix.row(row) {
            rows.push(row as u32);
            columns.push(column);
            values.push(value);
        }
    }
    let all = matrix.rows() + more;
    for row in matrix.rows()..all {
        if let Some(value) = entry(row) {
            rows.push(row as u32);
            columns.push(row as u32);
            values.push(value);
        }
    }
    Csr::try_from_triplets(all, all, &rows, &columns, &values).unwrap()
}

#[test]
fn rows_of_zeros_and_dirichlet_rows() {
    let matrix = with_rows(&laplacian::<f64>(&[24, 24]), 40, |row| (row % 2 == 0).then_some(3.0));
    let cpu = Cpu::new();
    let mut b = Numbers::new(3).vector(matrix.rows());
    (0..matrix.rows()).filter(|&row| matrix.row(row).len() == 0).for_each(|row| b[row] = 0.0);
    for options in ["amg", "amg:smoother=l1-jacobi-2", "amg:levels=1"] {
        let mut preconditioner = Preconditioner::new(&cpu, &matrix, amg(options)).unwrap();
        let (report, x) = solve(&cpu, MethodName::Cg, &matrix, &mut preconditioner, &b);
        assert_eq!(report.outcome, Outcome::Converged, "{options}: {report:?}");
        assert!(relative_residual(&matrix, &x, &b) <= 1.1e-8, "{options}");
    }
    // Stored zeros connect nothing, and a row of them counts as a row of zeros.
    let mut zeros = matrix.clone();
    let first = zeros.range(0);
    zeros.values_mut()[first].fill(0.0);
    assert!(Preconditioner::new(&cpu, &zeros, amg("amg")).is_ok());
    let nothing = Csr::<f64>::try_new(300, 300, vec![0u32; 301], vec![], vec![]).unwrap();
    let mut preconditioner = Preconditioner::new(&cpu, &nothing, amg("amg")).unwrap();
    let mut z = vec![f64::NAN; 300];
    preconditioner.apply(1.0, &vec![1.0; 300], 0.0, &mut z).unwrap();
    assert!(z.iter().all(|&z| z == 0.0));
}

#[test]
fn several_components_and_one_unknown() {
    let (left, right) = (laplacian::<f64>(&[30, 17]), laplacian::<f64>(&[500]));
    let mut triplets = (vec![], vec![], vec![]);
    for (first, part) in [(0, &left), (left.rows(), &right)] {
        for row in 0..part.rows() {
            for (column, value) in part.row(row) {
                triplets.0.push((first + row) as u32);
                triplets.1.push(first as u32 + column);
                triplets.2.push(value);
            }
        }
    }
    let all = left.rows() + right.rows();
    let both = Csr::try_from_triplets(all, all, &triplets.0, &triplets.1, &triplets.2).unwrap();
    assert!(iterations(MethodName::Cg, &both, "amg") <= 25);
    assert_eq!(iterations(MethodName::Cg, &diagonal::<f64>(&[3.0]), "amg"), 1);
    let cpu = Cpu::new();
    assert!(Preconditioner::new(&cpu, &diagonal::<f64>(&[]), amg("amg")).is_ok());
}

/// Every row sums to 0: the constant vector is in the null space.
#[test]
fn pure_neumann_problems() {
    let mut matrix = laplacian::<f64>(&[26, 21]);
    for row in 0..matrix.rows() {
        let beside = (matrix.row(row).len() - 1) as f64;
        let place = matrix.range(row).find(|&place| matrix.column_indices()[place] as usize == row).unwrap();
        matrix.values_mut()[place] = beside;
    }
    let mut b: Vec<f64> = Numbers::new(3).vector(matrix.rows());
    let mean = b.iter().sum::<f64>() / b.len() as f64;
    b.iter_mut().for_each(|b| *b -= mean);
    let cpu = Cpu::new();
    for coarsest in [20, 600] {
        let name = amg(&format!("amg:coarsest={coarsest}"));
        let mut preconditioner = Preconditioner::new(&cpu, &matrix, name).unwrap();
        let (report, x) = solve(&cpu, MethodName::Cg, &matrix, &mut preconditioner, &b);
        assert!(report.outcome == Outcome::Converged && report.iterations <= 15, "{coarsest}: {report:?}");
        assert!(relative_residual(&matrix, &x, &b) <= 1.1e-8, "{coarsest}");
    }
}

/// Connections are strong in one direction: a threshold makes aggregates follow it.
#[test]
fn anisotropic_problems() {
    let (width, weak) = (60, 1e-3);
    let mut matrix = laplacian::<f64>(&[width, width]);
    for row in 0..matrix.rows() {
        for place in matrix.range(row) {
            let apart = (matrix.column_indices()[place] as usize).abs_diff(row);
            if apart == width {
                matrix.values_mut()[place] = -weak;
            } else if apart == 0 {
                matrix.values_mut()[place] = 2.0 + 2.0 * weak;
            }
        }
    }
    let [plain, along] = ["amg:strength=0", "amg"].map(|options| iterations(MethodName::Cg, &matrix, options));
    assert!(along <= 22 && 2 * along < plain, "{plain} and {along}");
}

#[test]
fn matrices_that_are_not_symmetric() {
    let matrix = convection::<f64>(&[40, 40]);
    for method in [MethodName::Bicgstab, MethodName::Gmres] {
        let count = iterations(method, &matrix, "amg");
        assert!(count <= 25, "{method}: {count}");
    }
}

#[test]
fn complex_matrices() {
    // Phases that no constant vector matches make poor aggregates, but not wrong ones.
    let smooth = |matrix: Csr<f64>| {
        let mut matrix = matrix.cast::<Complex<f64>>().unwrap();
        for row in 0..matrix.rows() {
            for place in matrix.range(row) {
                let angle = 0.02 * (row as f64 - f64::from(matrix.column_indices()[place]));
                let turn = Complex::from_parts(angle.cos(), angle.sin());
                let value = &mut matrix.values_mut()[place];
                *value *= turn;
            }
        }
        matrix
    };
    let count = iterations(MethodName::Cg, &smooth(laplacian(&[30, 30])), "amg");
    assert!(count <= 25, "{count}");
    assert!(iterations(MethodName::Cg, &hermitian::<Complex<f64>>(&[24, 24]), "amg:cycle=w") <= 200);
    assert!(iterations(MethodName::Gmres, &helmholtz::<Complex<f64>>(&[20, 20]), "amg") <= 200);
    let error = |matrix: &Csr<Complex<f64>>, options| {
        Preconditioner::new(&Cpu::new(), matrix, amg(options)).err().unwrap().to_string()
    };
    let k = error(&hermitian(&[4]), "amg:cycle=k");
    assert_eq!(k, "the cycle of a complex matrix is k, expected v or w");
}

/// Levels that cannot be made coarser are smoothed: rows that are connected to nothing, or to everything.
#[test]
fn levels_that_cannot_be_made_coarser() {
    let apart = diagonal::<f64>(&(0..900).map(|row| 1.0 + f64::from(row % 10)).collect::<Vec<_>>());
    let cpu = Cpu::new();
    let preconditioner = Preconditioner::new(&cpu, &apart, amg("amg")).unwrap();
    let report = preconditioner.multigrid_report().unwrap();
    assert_eq!(report.levels.len(), 1);
    assert_eq!(report.levels[0].coarsest, Some("by smoothing, because it cannot be coarsened"));
    assert!(iterations(MethodName::Cg, &apart, "amg") <= 20);
    let mut dense = diagonal::<f64>(&[0.0; 0]);
    for (rows, beside) in [(250, -0.5)] {
        let (mut row_indices, mut columns, mut values) = (vec![], vec![], vec![]);
        for row in 0..rows {
            for column in 0..rows {
                row_indices.push(row);
                columns.push(column);
                values.push(if row == column { f64::from(rows) } else { beside });
            }
        }
        let rows = rows as usize;
        dense = Csr::try_from_triplets(rows, rows, &row_indices, &columns, &values).unwrap();
    }
    assert!(iterations(MethodName::Cg, &dense, "amg") <= 5);
}

/// An indefinite matrix results in a breakdown or a correct solution, never in a wrong one.
#[test]
fn indefinite_matrices() {
    let matrix = indefinite::<f64>(&[30, 30]);
    let cpu = Cpu::new();
    let b = Numbers::new(2).vector(matrix.rows());
    for method in [MethodName::Cg, MethodName::Minres, MethodName::Gmres] {
        let mut preconditioner = Preconditioner::new(&cpu, &matrix, amg("amg")).unwrap();
        let (report, x) = solve(&cpu, method, &matrix, &mut preconditioner, &b);
        let residual = relative_residual(&matrix, &x, &b);
        assert!((report.outcome == Outcome::Converged) == (residual <= 1.1e-8), "{method}: {report:?}, {residual}");
    }
    // A zero diagonal element in a nonzero row.
    let saddle = Csr::try_from_triplets(2, 2, &[0, 0, 1], &[0, 1, 0], &[1.0, 2.0, 2.0]).unwrap();
    let error = Preconditioner::new(&cpu, &saddle, amg("amg:coarsest=1")).err().unwrap().to_string();
    let expected = "a finite number other than 0 on each level's diagonal, unless its row is 0";
    assert_eq!(error, format!("multigrid: the pivot of row 1 is 0, expected {expected}"));
    // A level that is solved directly does not divide by it.
    let mut inverse = Preconditioner::new(&cpu, &saddle, amg("amg")).unwrap();
    let mut z = vec![0.0_f64; 2];
    inverse.apply(1.0, &vec![5.0, 2.0], 0.0, &mut z).unwrap();
    assert!((z[0] - 1.0).abs() < 1e-12 && (z[1] - 2.0).abs() < 1e-12, "{z:?}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let cpu = Cpu::new();
    let matrix = laplacian::<f64>(&[7]);
    let error = Preconditioner::new(&cpu, &matrix, amg("amg:node=2")).err().unwrap().to_string();
    assert_eq!(error, "the number of unknowns of a node is 2, expected a divisor of the number of rows, 1 to 32");
    let vectors = NearNullSpace::constants(6, 1).unwrap();
    let options = PreconditionerOptions::default();
    let error = Preconditioner::multigrid(&cpu, &matrix, Multigrid::default(), vectors, options).err().unwrap();
    assert_eq!(error.to_string(), "a near-null-space vector has length 6, expected 7");
    let wide = Csr::<f64>::try_from_triplets(2, 3, &[], &[], &[]).unwrap();
    let error = Preconditioner::new(&cpu, &wide, amg("amg")).err().unwrap().to_string();
    assert_eq!(error, "the matrix has 2 rows and 3 columns, expected a square matrix");
}

/// A grid of velocities with two components and a grid of pressures, connected by the divergence of velocities.
fn stokes(width: usize, stabilization: f64) -> Csr<f64> {
    let cells = width * width;
    let (mut rows, mut columns, mut values) = (vec![], vec![], vec![]);
    let mut entry = |row: usize, column: usize, value: f64| {
        rows.push(row as u32);
        columns.push(column as u32);
        values.push(value);
    };
    let laplacian = laplacian::<f64>(&[width, width]);
    for cell in 0..cells {
        for (column, value) in laplacian.row(cell) {
            for component in 0..2 {
                // Numbered so that the blocks are interleaved.
                entry(3 * cell + component, 3 * column as usize + component, value);
            }
        }
        let (x, y) = (cell % width, cell / width);
        for (component, inside, next) in [(0, x + 1 < width, cell + 1), (1, y + 1 < width, cell + width)] {
            for (velocity, value) in [(Some(cell), -1.0), (inside.then_some(next), 1.0)] {
                if let Some(velocity) = velocity {
                    entry(3 * velocity + component, 3 * cell + 2, value);
                    entry(3 * cell + 2, 3 * velocity + component, value);
                }
            }
        }
        entry(3 * cell + 2, 3 * cell + 2, -stabilization);
    }
    Csr::try_from_triplets(3 * cells, 3 * cells, &rows, &columns, &values).unwrap()
}

#[test]
fn saddle_points() {
    for stabilization in [0.0, 0.1] {
        let count = |width| iterations(MethodName::Minres, &stokes(width, stabilization), "saddle");
        let (small, large) = (count(16), count(40));
        assert!(large <= 90 && 2 * large <= 3 * small, "{stabilization}: {small}, then {large}");
    }
    let count = iterations(MethodName::Gmres, &stokes(16, 0.1), "saddle:cycle=w,strength=0.25");
    assert!(count <= 90, "{count}");
    let matrix = Csr::try_from_triplets(2, 2, &[0], &[0], &[1.0]).unwrap();
    let error = Preconditioner::new(&Cpu::new(), &matrix, amg("saddle")).err().unwrap().to_string();
    let expected = "a finite number other than 0: every row of the second block has entries in the first";
    assert_eq!(error, format!("saddle point: the pivot of row 1 is 0, expected {expected}"));
}

/// M r on an executor.
fn apply<T: Scalar, E: Executor>(executor: &E, matrix: &Csr<T>, options: &str, r: &[T]) -> Vec<T> {
    let mut preconditioner = Preconditioner::new(executor, matrix, amg(options)).unwrap();
    let (r, mut z) = (executor.upload(r.to_vec()).unwrap(), executor.zeros(r.len()).unwrap());
    preconditioner.apply(T::ONE, &r, T::ZERO, &mut z).unwrap();
    executor.download(&z).unwrap()
}

/// All cycles on the emulator agree with the host, and have the same bits under any schedule.
#[test]
fn the_emulator_visits_the_same_levels() {
    let matrix = laplacian::<f64>(&[23, 22]);
    let r: Vec<f64> = Numbers::new(4).vector(matrix.rows());
    for options in ["amg:coarsest=20", "amg:coarsest=20,cycle=w", "amg:coarsest=20,cycle=k,aggregation=plain"] {
        let there = apply(&Reference::new(), &matrix, options, &r);
        let emulated = apply(&Emulated::new(0), &matrix, options, &r);
        let largest = there.iter().fold(0.0, |largest: f64, z| largest.max(z.abs()));
        for (row, (&there, &emulated)) in there.iter().zip(&emulated).enumerate() {
            assert!((there - emulated).abs() <= 1e-12 * largest, "{options}, row {row}: {emulated} and not {there}");
        }
        assert!(apply(&Emulated::new(1), &matrix, options, &r) == emulated, "{options}: another schedule");
    }
    let matrix = hermitian::<Complex<f32>>(&[16, 15]);
    let r: Vec<_> = Numbers::new(4).vector::<f32>(matrix.rows()).into_iter().map(|r| Complex::new(r, 1.0)).collect();
    let [there, emulated] =
        [apply(&Reference::new(), &matrix, "amg:cycle=w", &r), apply(&Emulated::new(2), &matrix, "amg:cycle=w", &r)];
    let largest = there.iter().fold(0.0, |largest: f64, z| largest.max(z.magnitude()));
    assert!(there.iter().zip(&emulated).all(|(&a, &b)| (a - b).magnitude() <= 1e-5 * largest));
}

/// M is symmetric and positive definite if A is, as conjugate gradients require.
#[test]
fn the_cycle_is_symmetric() {
    let matrix = laplacian::<f64>(&[19, 18]);
    let cpu = Cpu::new();
    let mut numbers = Numbers::new(6);
    let (u, v): (Vec<f64>, Vec<f64>) = (numbers.vector(matrix.rows()), numbers.vector(matrix.rows()));
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    for options in ["amg", "amg:cycle=w", "amg:smoother=jacobi-1", "amg:strength=0.3", "amg:coarsest=5"] {
        let (mu, mv) = (apply(&cpu, &matrix, options, &u), apply(&cpu, &matrix, options, &v));
        let (left, right) = (dot(&mu, &v), dot(&u, &mv));
        assert!((left - right).abs() <= 1e-12 * left.abs().max(dot(&u, &mu)), "{options}: {left} and {right}");
        assert!(dot(&u, &mu) > 0.0 && dot(&v, &mv) > 0.0, "{options}");
    }
}
