//! Requirements on every executor for preconditioners.

use std::collections::BTreeMap;

use warp_spmv::executor::{Executor, Reference};
use warp_spmv::solver::multigrid::Multigrid;
use warp_spmv::solver::preconditioner::{
    Preconditioner, PreconditionerName, PreconditionerOptions, Read, SpectralBound, TriangularSolver, order_of_colours,
};
use warp_spmv::solver::{Cg, Method, MethodName, Operator, Options, Outcome, Refinement, Report, Solver};
use warp_spmv::{Complex, Csr, Format, NarrowType, Plan, PlanOptions, Real, Scalar, ValueStorage, Vector};

use super::Numbers;
use super::solver::{GRIDS, check_report, diagonal, laplacian, options, relative_residual};

/// Returns the preconditioners to check: all, and some with other parameters.
pub fn names() -> Vec<PreconditionerName> {
    let others = ["block-jacobi-1", "block-jacobi-5", "block-jacobi-32", "neumann-0", "chebyshev-0", "ic0-sweeps-1"];
    let others = others.iter().map(|name| name.parse().unwrap());
    PreconditionerName::ALL.iter().copied().chain(others).collect()
}

/// Returns a matrix with random entries beside the diagonal, `each` per row and at the transposed positions, and a
/// dominant diagonal; symmetric, or only in its pattern.
pub fn dominant<T: Real>(rows: usize, each: usize, symmetric: bool) -> Csr<T> {
    let mut numbers = Numbers::new(rows as u64 + 77);
    let mut entries = BTreeMap::new();
    let mut sums = vec![0.0; rows];
    for row in 0..rows {
        for _ in 0..each {
            let (column, value) = (numbers.below(rows), numbers.real::<f64>());
            let transposed = if symmetric { value } else { numbers.real::<f64>() };
            if column != row && !entries.contains_key(&(row, column)) {
                entries.insert((row, column), value);
                entries.insert((column, row), transposed);
                [row, column].iter().for_each(|&place| sums[place] += value.abs().max(transposed.abs()));
            }
        }
    }
    entries.extend(sums.iter().enumerate().map(|(row, sum)| ((row, row), 1.2 * sum + 0.5)));
    from_entries(rows, &entries)
}

fn from_entries<T: Real>(rows: usize, entries: &BTreeMap<(usize, usize), f64>) -> Csr<T> {
    let (row_indices, column_indices): (Vec<u32>, Vec<u32>) =
        entries.keys().map(|&(row, column)| (row as u32, column as u32)).unzip();
    let values: Vec<T> = entries.values().map(|&value| T::from_f64(value)).collect();
    Csr::try_from_triplets(rows, rows, &row_indices, &column_indices, &values).unwrap()
}

/// Two halves of the rows that depend only on each other: two levels.
fn two_levels<T: Real>(half: usize) -> Csr<T> {
    let mut entries = BTreeMap::new();
    for row in 0..half {
        entries.insert((row, row), 4.0 + (row % 7) as f64);
        entries.insert((half + row, half + row), 5.0);
        for column in [half + row, half + (row * 13 + 5) % half] {
            entries.insert((row, column), -1.0);
            entries.insert((column, row), -1.0);
        }
    }
    from_entries(2 * half, &entries)
}

/// Rows with entries in any order, and some repeated.
fn unsorted<T: Real>() -> Csr<T> {
    let columns = vec![1, 0, 0, 2, 1, 0, 1, 2];
    let values = [1.0, 2.0, 3.0, -1.0, 6.0, 1.0, -1.0, 4.0].map(T::from_f64).to_vec();
    Csr::try_new(3, 3, vec![0u32, 3, 6, 8], columns, values).unwrap()
}

/// Returns matrices with their names and whether they are symmetric.
fn matrices<T: Real>() -> Vec<(&'static str, bool, Csr<T>)> {
    let mut list: Vec<_> = GRIDS.iter().map(|grid| ("grid", true, laplacian(grid))).collect();
    list.push(("no row", true, diagonal(&[])));
    list.push(("one row", true, diagonal(&[3.0])));
    list.push(("diagonal", true, diagonal(&(0..70).map(|row| 1.0 + row as f64).collect::<Vec<_>>())));
    list.push(("two levels of more rows than a block has threads", true, two_levels(1000)));
    list.push(("two levels that are too large for one block", true, two_levels(2100)));
    list.push(("symmetric", true, dominant(150, 3, true)));
    list.push(("nonsymmetric", false, dominant(130, 5, false)));
    list.push(("nearly dense", true, dominant(90, 60, true)));
    list.push(("unsorted", false, unsorted()));
    list
}

/// Rows as maps from column to value.
type Rows = Vec<BTreeMap<usize, f64>>;

fn rows_of<T: Real>(matrix: &Csr<T>) -> Rows {
    let mut rows = vec![BTreeMap::new(); matrix.rows()];
    for (row, map) in rows.iter_mut().enumerate() {
        matrix.row(row).for_each(|(column, value)| *map.entry(column as usize).or_insert(0.0) += value.to_f64());
    }
    rows
}

fn product(rows: &Rows, x: &[f64]) -> Vec<f64> {
    rows.iter().map(|row| row.iter().map(|(&column, value)| value * x[column]).sum()).collect()
}

/// Solves with one triangle of a matrix and a diagonal, exactly or by sweeps.
fn solve_triangular(
    rows: &Rows,
    lower: bool,
    solver: TriangularSolver,
    diagonal: &dyn Fn(usize) -> f64,
    b: &[f64],
) -> Vec<f64> {
    let beside = |row: usize, x: &[f64]| -> f64 {
        let entries = rows[row].iter().filter(|&(&column, _)| if lower { column < row } else { column > row });
        entries.map(|(&column, value)| value * x[column]).sum()
    };
    let element = |row: usize, x: &[f64]| (b[row] - beside(row, x)) / diagonal(row);
    let mut x = vec![0.0; b.len()];
    match solver {
        // In the order of the given rows.
        TriangularSolver::Levels | TriangularSolver::Colours if lower => {
            (0..b.len()).for_each(|row| x[row] = element(row, &x))
        }
        TriangularSolver::Levels | TriangularSolver::Colours => {
            (0..b.len()).rev().for_each(|row| x[row] = element(row, &x))
        }
        // The first sweep starts from 0.
        TriangularSolver::Sweeps(sweeps) => {
            (0..=sweeps).for_each(|_| x = (0..b.len()).map(|row| element(row, &x)).collect());
        }
    }
    x
}

/// Returns the rows below the diagonal per column.
fn below(rows: &Rows) -> Vec<Vec<usize>> {
    let mut below = vec![vec![]; rows.len()];
    for (row, entries) in rows.iter().enumerate() {
        entries.range(..row).for_each(|(&column, _)| below[column].push(row));
    }
    below
}

/// Returns L and U in one, computed column by column (the right-looking variant; the library's is left-looking).
fn ilu0(mut rows: Rows) -> Rows {
    for (pivot_row, below) in below(&rows).iter().enumerate() {
        let pivot_entries = rows[pivot_row].clone();
        for &row in below {
            let factor = rows[row][&pivot_row] / pivot_entries[&pivot_row];
            rows[row].insert(pivot_row, factor);
            for (column, value) in pivot_entries.range(pivot_row + 1..) {
                if let Some(entry) = rows[row].get_mut(column) {
                    *entry -= factor * value;
                }
            }
        }
    }
    rows
}

/// Returns L and Lᵀ in one, computed column by column.
fn ic0(mut rows: Rows) -> Rows {
    for (pivot_row, below) in below(&rows).iter().enumerate() {
        let pivot = rows[pivot_row][&pivot_row].sqrt();
        rows[pivot_row].insert(pivot_row, pivot);
        for &row in below {
            let value = rows[row][&pivot_row] / pivot;
            rows[row].insert(pivot_row, value);
            rows[pivot_row].insert(row, value);
        }
        for &row in below {
            for &column in below.iter().filter(|&&column| column <= row) {
                let update = rows[row][&pivot_row] * rows[column][&pivot_row];
                if let Some(entry) = rows[row].get_mut(&column) {
                    *entry -= update;
                }
            }
        }
    }
    rows
}

/// Solves with a dense diagonal block by elimination without pivoting: the matrices are diagonally dominant.
fn solve_block(rows: &Rows, block: std::ops::Range<usize>, b: &[f64]) -> Vec<f64> {
    let value = |row: usize, column: usize| rows[row].get(&column).copied().unwrap_or(0.0);
    let mut dense: Vec<Vec<f64>> =
        block.clone().map(|row| block.clone().map(|column| value(row, column)).chain([b[row]]).collect()).collect();
    let size = block.len();
    for pivot in 0..size {
        let pivot_row = dense[pivot].clone();
        for (_, entries) in dense.iter_mut().enumerate().filter(|&(row, _)| row != pivot) {
            let factor = entries[pivot] / pivot_row[pivot];
            entries.iter_mut().zip(&pivot_row).for_each(|(entry, above)| *entry -= factor * above);
        }
    }
    (0..size).map(|row| dense[row][size] / dense[row][row]).collect()
}

/// Returns the expected M r, and possibly a matrix: the computed M r must then be multiplied by it before the comparison.
fn expected<T: Real>(name: PreconditionerName, matrix: &Csr<T>, r: &[f64]) -> (Vec<f64>, Option<Rows>) {
    let rows = rows_of(matrix);
    match name {
        PreconditionerName::Ilu0(TriangularSolver::Colours) => {
            (in_order(name, &rows, &order_of_colours(matrix, Read::All).unwrap(), r), None)
        }
        PreconditionerName::Ic0(TriangularSolver::Colours) => {
            (in_order(name, &rows, &order_of_colours(matrix, Read::Lower).unwrap(), r), None)
        }
        _ => expected_of_rows(name, &rows, r),
    }
}

/// Returns the expected M r if the rows are factorised in `order`.
fn in_order(name: PreconditionerName, rows: &Rows, order: &[u32], r: &[f64]) -> Vec<f64> {
    let mut places = vec![0; rows.len()];
    order.iter().enumerate().for_each(|(place, &row)| places[row as usize] = place);
    let moved = |row: &u32| rows[*row as usize].iter().map(|(&column, &value)| (places[column], value)).collect();
    let r: Vec<f64> = order.iter().map(|&row| r[row as usize]).collect();
    let (z, _) = expected_of_rows(name, &order.iter().map(moved).collect(), &r);
    places.iter().map(|&place| z[place]).collect()
}

fn expected_of_rows(name: PreconditionerName, rows: &Rows, r: &[f64]) -> (Vec<f64>, Option<Rows>) {
    let scaled: Rows = rows
        .iter()
        .enumerate()
        .map(|(row, entries)| entries.iter().map(|(&column, value)| (column, value / entries[&row])).collect())
        .collect();
    let begin: Vec<f64> = (0..rows.len()).map(|row| r[row] / rows[row][&row]).collect();
    let bound = scaled.iter().map(|row| row.values().map(|value| value.abs()).sum::<f64>()).fold(0.0, f64::max);
    let combine =
        |a: f64, x: &[f64], b: f64, y: &[f64]| -> Vec<f64> { x.iter().zip(y).map(|(x, y)| a * x + b * y).collect() };
    let z = match name {
        PreconditionerName::Jacobi => begin,
        PreconditionerName::BlockJacobi { size } => {
            let size = size as usize;
            let blocks = (0..rows.len()).step_by(size);
            blocks.flat_map(|first| solve_block(rows, first..(first + size).min(rows.len()), r)).collect()
        }
        PreconditionerName::Neumann { degree } => {
            // The sum of the powers of I - ω B.
            let omega = 1.5 / bound;
            let (mut power, mut sum) = (begin.clone(), begin);
            for _ in 0..degree {
                power = combine(1.0, &power, -omega, &product(&scaled, &power));
                sum = combine(1.0, &sum, 1.0, &power);
            }
            combine(omega, &sum, 0.0, &sum)
        }
        PreconditionerName::Chebyshev { degree } => {
            // The residual polynomial is the Chebyshev polynomial of the interval, scaled to 1 at 0.
            let (center, half) = (bound * (1.0 + 1.0 / 30.0) / 2.0, bound * (1.0 - 1.0 / 30.0) / 2.0);
            let mapped = |x: &[f64]| combine(center / half, x, -1.0 / half, &product(&scaled, x));
            let (mut before, mut now) = (begin.clone(), mapped(&begin));
            let (mut before_at_0, mut at_0) = (1.0, center / half);
            for _ in 0..degree {
                (before, now) = (now.clone(), combine(2.0, &mapped(&now), -1.0, &before));
                (before_at_0, at_0) = (at_0, 2.0 * center / half * at_0 - before_at_0);
            }
            return (combine(1.0, &begin, -1.0 / at_0, &now), Some(scaled));
        }
        PreconditionerName::Ilu0(solver) => {
            let factors = ilu0(rows.clone());
            let between = solve_triangular(&factors, true, solver, &|_| 1.0, r);
            solve_triangular(&factors, false, solver, &|row| factors[row][&row], &between)
        }
        PreconditionerName::Ic0(solver) => {
            let factors = ic0(rows.clone());
            let between = solve_triangular(&factors, true, solver, &|row| factors[row][&row], r);
            solve_triangular(&factors, false, solver, &|row| factors[row][&row], &between)
        }
        // One level, which is solved directly. If all diagonal elements are positive, the first block of a saddle point
        // is the whole matrix.
        PreconditionerName::Amg(Multigrid { coarsest, .. })
        | PreconditionerName::Saddle(Multigrid { coarsest, .. })
            if rows.len() <= coarsest as usize =>
        {
            solve_block(rows, 0..rows.len(), r)
        }
        PreconditionerName::Amg(_) | PreconditionerName::Saddle(_) => {
            let entries = rows
                .iter()
                .enumerate()
                .flat_map(|(row, entries)| entries.iter().map(move |(&column, &value)| ((row, column), value)));
            let matrix = from_entries::<f64>(rows.len(), &entries.collect());
            let mut z = vec![0.0; rows.len()];
            let mut there = Preconditioner::new(&Reference::new(), &matrix, name).unwrap();
            there.apply(1.0, &r.to_vec(), 0.0, &mut z).unwrap();
            z
        }
    };
    (z, None)
}

#[track_caller]
fn assert_near<T: Real>(computed: &[f64], expected: &[f64], what: &str) {
    let largest = expected.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    // The matrices are well conditioned, so a few hundred roundings suffice.
    let bound = 500.0 * T::UNIT_ROUNDOFF * largest;
    assert_eq!(computed.len(), expected.len(), "{what}");
    for (row, (computed, expected)) in computed.iter().zip(expected).enumerate() {
        assert!((computed - expected).abs() <= bound, "{what}, row {row}: {computed}, expected {expected}");
    }
}

fn wide<T: Real>(vector: &[T]) -> Vec<f64> {
    vector.iter().map(|value| value.to_f64()).collect()
}

/// Each preconditioner is the M of its definition, gives the same bits every time, and is a complete operator.
pub fn check_preconditioners<T: Real, E: Executor>(executor: &E) -> usize {
    let mut checked = 0;
    for (matrix_name, symmetric, matrix) in matrices::<T>() {
        let mut numbers = Numbers::new(9);
        let (r, before) = (numbers.vector::<T>(matrix.rows()), numbers.vector::<T>(matrix.rows()));
        let r_there = executor.upload(r.clone()).unwrap();
        for name in names() {
            if !symmetric && matches!(name, PreconditionerName::Ic0(_)) {
                continue;
            }
            let what = format!("{name}, {matrix_name} of {} rows, {}", matrix.rows(), T::NAME);
            let mut preconditioner = Preconditioner::new(executor, &matrix, name).unwrap();
            let mut apply = |alpha: f64, beta: f64, y: &[T]| {
                let mut y = executor.upload(y.to_vec()).unwrap();
                preconditioner.apply(T::from_f64(alpha), &r_there, T::from_f64(beta), &mut y).unwrap();
                executor.download(&y).unwrap()
            };
            let nan = vec![T::from_f64(f64::NAN); matrix.rows()];
            let z = apply(1.0, 0.0, &nan);
            let (expected, factor) = expected(name, &matrix, &wide(&r));
            let compared = factor.map_or_else(|| wide(&z), |factor| product(&factor, &wide(&z)));
            assert_near::<T>(&compared, &expected, &what);
            assert!(apply(1.0, 0.0, &nan) == z, "{what}: not the same bits twice");
            assert_near::<T>(
                &wide(&apply(-0.5, 0.0, &nan)),
                &wide(&z).iter().map(|z| -0.5 * z).collect::<Vec<_>>(),
                &what,
            );
            let sum: Vec<f64> = wide(&z).iter().zip(wide(&before)).map(|(z, y)| 3.0 * z + 2.0 * y).collect();
            assert_near::<T>(&wide(&apply(3.0, 2.0, &before)), &sum, &what);

            let mut transposed = executor.upload(nan).unwrap();
            let promised = matches!(name, PreconditionerName::Jacobi | PreconditionerName::Ic0(_));
            match preconditioner.apply_transposed(T::ONE, &r_there, T::ZERO, &mut transposed) {
                Ok(()) => assert!(promised && executor.download(&transposed).unwrap() == z, "{what}"),
                Err(error) => assert!(!promised && error.to_string().contains("no transposed product"), "{what}"),
            }
            let mut short = executor.zeros(matrix.rows() + 1).unwrap();
            let error = preconditioner.apply(T::ONE, &r_there, T::ZERO, &mut short).unwrap_err().to_string();
            assert_eq!(error, format!("y has length {}, expected {}", matrix.rows() + 1, matrix.rows()));
            checked += 1;
        }
    }
    checked
}

/// Returns the same matrix with the entries of each row in reverse, each split into one third and two thirds.
pub fn in_parts<T: Real>(matrix: &Csr<T>) -> Csr<T> {
    let (mut offsets, mut columns, mut values) = (vec![0u32], vec![], vec![]);
    for row in 0..matrix.rows() {
        let entries: Vec<_> = matrix.row(row).collect();
        for part in [1.0 / 3.0, 2.0 / 3.0] {
            columns.extend(entries.iter().rev().map(|&(column, _)| column));
            values.extend(entries.iter().rev().map(|&(_, value)| T::from_f64(part * value.to_f64())));
        }
        offsets.push(columns.len() as u32);
    }
    Csr::try_new(matrix.rows(), matrix.columns(), offsets, columns, values).unwrap()
}

/// A preconditioner with new values has the bits of a new one, and stays unchanged if it cannot take them.
pub fn check_new_values<T: Real, E: Executor>(executor: &E) {
    let small = dominant::<T>(50, 3, true);
    for (symmetric, matrix) in [(true, in_parts(&small)), (true, small), (false, dominant(70, 4, false))] {
        let mut new = matrix.clone();
        for row in 0..matrix.rows() {
            for place in matrix.range(row) {
                let column = matrix.column_indices()[place] as usize;
                let factor = if column == row { 2.0 } else { 0.5 + ((row + column) % 5) as f64 / 10.0 };
                new.values_mut()[place] = T::from_f64(factor * matrix.values()[place].to_f64());
            }
        }
        let last = matrix.rows() - 1;
        let diagonal = matrix.range(last).find(|&place| matrix.column_indices()[place] as usize == last).unwrap();
        let mut broken = new.values().clone();
        broken[diagonal] = T::from_f64(f64::NAN);
        let r = executor.upload(Numbers::new(8).vector::<T>(matrix.rows())).unwrap();
        for (name, format) in names().into_iter().flat_map(|name| [(name, Format::CSR_TILED), (name, Format::SELL_P)]) {
            if !symmetric && matches!(name, PreconditionerName::Ic0(_)) {
                continue;
            }
            let what = format!("{name}, {format}, {} rows, {}", matrix.rows(), T::NAME);
            let make = |matrix: &Csr<T>, updates| {
                let options =
                    PreconditionerOptions { format: Some(format), updates, ..PreconditionerOptions::default() };
                Preconditioner::with_options(executor, matrix, name, options).unwrap()
            };
            let product = |preconditioner: &mut Preconditioner<T, E>| {
                let mut z = executor.zeros(matrix.rows()).unwrap();
                preconditioner.apply(T::ONE, &r, T::ZERO, &mut z).unwrap();
                executor.download(&z).unwrap()
            };
            let [old, expected] = [&matrix, &new].map(|matrix| product(&mut make(matrix, false)));
            assert!(old != expected, "{what}: new values change nothing");
            let mut preconditioner = make(&matrix, true);
            assert!(product(&mut preconditioner) == old, "{what}: made for updates");
            preconditioner.update_values(new.values()).unwrap();
            assert!(product(&mut preconditioner) == expected, "{what}: differs from a new one");
            let error = preconditioner.update_values(&broken).unwrap_err().to_string();
            assert!(error.contains(&format!("the pivot of row {last} is")), "{what}: {error}");
            let error = preconditioner.update_values(&broken[1..]).unwrap_err().to_string();
            assert_eq!(error, format!("values has length {}, expected {}", broken.len() - 1, broken.len()), "{what}");
            assert!(product(&mut preconditioner) == expected, "{what}: changed by values that it refused");
            preconditioner.update_values(matrix.values()).unwrap();
            assert!(product(&mut preconditioner) == old, "{what}: differs from the first time");

            let error = make(&matrix, false).update_values(new.values()).unwrap_err().to_string();
            let expected = "true for a preconditioner whose values are updated";
            assert_eq!(error, format!("`updates` in the options is false, expected {expected}"), "{what}");
        }
    }
}

/// Solves A x = b from x = 0, with or without a preconditioner.
pub fn solve_with<T: Scalar, E: Executor, M: Method<T, E>>(
    executor: &E,
    method: &M,
    matrix: &Csr<T>,
    preconditioner: Option<(PreconditionerName, PreconditionerOptions)>,
    b: &[T],
) -> (Report, Vec<T>) {
    let mut plan = Plan::with_format(executor, matrix.clone(), Format::SELL_P).unwrap();
    let mut preconditioner =
        preconditioner.map(|(name, options)| Preconditioner::with_options(executor, matrix, name, options).unwrap());
    let (b, mut x) = (executor.upload(b.to_vec()).unwrap(), executor.zeros(matrix.rows()).unwrap());
    let solver = Solver::new(executor, &mut plan).options(options::<T>());
    let mut solver = match &mut preconditioner {
        Some(preconditioner) => solver.preconditioner(preconditioner),
        None => solver,
    };
    let report = solver.solve(method, &b, &mut x).unwrap();
    (report, executor.download(&x).unwrap())
}

/// Checks that each preconditioner reduces the iterations of conjugate gradients as promised, and returns their numbers.
pub fn check_preconditioned<T: Real, E: Executor>(executor: &E) -> Vec<(PreconditionerName, usize)> {
    let matrix = laplacian::<T>(&[20, 16]);
    let b = Numbers::new(5).vector(matrix.rows());
    let plain = solve_with(executor, &Cg, &matrix, None, &b).0.iterations;
    let mut iterations = vec![];
    for &name in PreconditionerName::ALL {
        for bound in [SpectralBound::Gershgorin, SpectralBound::PowerSteps(20)] {
            let preconditioner_options = PreconditionerOptions { bound, ..PreconditionerOptions::default() };
            let (report, x) = solve_with(executor, &Cg, &matrix, Some((name, preconditioner_options)), &b);
            check_report(&report, &options::<T>());
            assert_eq!(report.outcome, Outcome::Converged, "{name}");
            assert!(relative_residual(&matrix, &x, &b) <= 1.1 * options::<T>().relative_tolerance, "{name}");
            let most = match name {
                // The diagonal is constant.
                PreconditionerName::Jacobi => 1.05,
                PreconditionerName::BlockJacobi { .. } => 0.9,
                PreconditionerName::Neumann { .. } => 0.7,
                PreconditionerName::Chebyshev { .. } => 0.4,
                PreconditionerName::Ilu0(_) | PreconditionerName::Ic0(_) => 0.6,
                PreconditionerName::Amg(_) | PreconditionerName::Saddle(_) => 0.3,
            };
            let now = report.iterations;
            assert!(now as f64 <= most * plain as f64, "{name}, {}: {now} of {plain} iterations", T::NAME);
            iterations.push((name, now));
        }
    }
    iterations
}

/// Returns options for refinement: a tolerance that 32 bits alone do not reach.
pub fn refinement_options() -> Options {
    Options { relative_tolerance: 1e-13, ..Options::default() }
}

/// Solves A x = b from x = 0 in 64 bits, by a method in 32 bits with or without a preconditioner.
pub fn refine<E: Executor, M: Method<f32, E>>(
    executor: &E,
    method: &M,
    (matrix, preconditioner): (&Csr<f64>, Option<PreconditionerName>),
    b: &[f64],
    options: Options,
) -> (Report, Vec<f64>) {
    let narrow = matrix.cast::<f32>().unwrap();
    let mut preconditioner = preconditioner.map(|name| Preconditioner::new(executor, &narrow, name).unwrap());
    let mut plan = Plan::with_format(executor, matrix.clone(), Format::SELL_P).unwrap();
    let mut inner = Plan::with_format(executor, narrow, Format::SELL_P).unwrap();
    let (b, mut x) = (executor.upload(b.to_vec()).unwrap(), executor.zeros(matrix.rows()).unwrap());
    let refinement = Refinement::new(executor, &mut plan, &mut inner).options(options);
    let mut refinement = match &mut preconditioner {
        Some(preconditioner) => refinement.preconditioner(preconditioner),
        None => refinement,
    };
    let report = refinement.solve(method, &b, &mut x).unwrap();
    (report, executor.download(&x).unwrap())
}

/// A method in 32 bits reaches a solution in 64 bits.
pub fn check_refinement<E: Executor>(executor: &E) {
    let matrix = laplacian::<f64>(&[20, 16]);
    let b = Numbers::new(6).vector(matrix.rows());
    let options = refinement_options();
    for preconditioner in
        [None, Some(PreconditionerName::Jacobi), Some(PreconditionerName::Ic0(TriangularSolver::Levels))]
    {
        let (report, x) = refine(executor, &Cg, (&matrix, preconditioner), &b, options);
        check_report(&report, &options);
        assert_eq!(report.outcome, Outcome::Converged, "{report:?}");
        assert!((1..=8).contains(&report.restarts), "{report:?}");
        assert!(relative_residual(&matrix, &x, &b) <= 1.1 * options.relative_tolerance);
    }
}

/// Returns a scaled Laplacian whose values no narrower type holds.
fn uneven(grid: &[usize]) -> Csr<f64> {
    let mut matrix = laplacian::<f64>(grid);
    let scales: Vec<f64> = Numbers::new(8).vector(matrix.rows()).iter().map(|scale: &f64| 1.0 + scale.abs()).collect();
    scale(&mut matrix, |row, column| scales[row] * scales[column]);
    matrix
}

/// Multiplies each value by a number that depends on its row and column.
fn scale<T: Scalar>(matrix: &mut Csr<T>, factor: impl Fn(usize, usize) -> T) {
    for row in 0..matrix.rows() {
        let (range, columns) =
            (matrix.range(row), matrix.row(row).map(|(column, _)| column as usize).collect::<Vec<_>>());
        for (value, column) in matrix.values_mut()[range].iter_mut().zip(columns) {
            *value = factor(row, column) * *value;
        }
    }
}

/// Returns the Hermitian matrix Dᴴ A D for the [`uneven`] A and a diagonal matrix D of numbers of magnitude 1.
fn uneven_phases(grid: &[usize]) -> Csr<Complex<f64>> {
    let mut matrix = uneven(grid).cast::<Complex<f64>>().unwrap();
    let phases: Vec<Complex<f64>> = Numbers::new(9)
        .vector(matrix.rows())
        .iter()
        .map(|&angle: &f64| Complex::new(angle.cos(), angle.sin()))
        .collect();
    scale(&mut matrix, |row, column| Complex::new(phases[row].re, -phases[row].im) * phases[column]);
    matrix
}

/// Corrections with complex values of fewer bits, by the same matrix in narrow values and in the narrower precision.
pub fn check_complex_corrections<E: Executor>(executor: &E, methods: &[MethodName]) {
    let matrix = uneven_phases(&[9, 8]);
    let (b, options) = (Numbers::new(6).vector(72), Options { relative_tolerance: 1e-12, ..Options::default() });
    let mut plan = Plan::with_format(executor, matrix.clone(), Format::SELL_P).unwrap();
    let mut rounded = narrow(executor, &matrix, NarrowType::Complex64);
    let mut inner = Plan::with_format(executor, matrix.cast::<Complex<f32>>().unwrap(), Format::SELL_P).unwrap();
    let on_device = executor.upload(b.clone()).unwrap();
    let residual = |x: &Vector<_, E>| relative_residual(&matrix, &executor.download(x).unwrap(), &b);
    for &method in methods {
        let mut x = executor.zeros(72).unwrap();
        let alone = method.solve(&mut Solver::new(executor, &mut rounded).options(options), &on_device, &mut x);
        assert_eq!(alone.unwrap().outcome, Outcome::Converged, "{method}");
        assert!(residual(&x) > 1e-9, "{method}: {}", residual(&x));
        let [mut by_values, mut by_precision] = [(); 2].map(|()| executor.zeros(72).unwrap());
        let mut solver = Refinement::with_narrow_values(executor, &mut plan, &mut rounded).options(options);
        let report_of_values = method.refine(&mut solver, &on_device, &mut by_values).unwrap();
        let mut solver = Refinement::new(executor, &mut plan, &mut inner).options(options);
        let report_of_precision = method.refine(&mut solver, &on_device, &mut by_precision).unwrap();
        for (report, x) in [(report_of_values, by_values), (report_of_precision, by_precision)] {
            let place = format!("{method}: {report:?}");
            assert!(report.outcome == Outcome::Converged && report.restarts > 0, "{place}");
            assert!(report.work.products >= 1.0 && residual(&x) <= 1.1e-12, "{place}");
        }
    }
}

fn narrow<T: Scalar, E: Executor>(executor: &E, matrix: &Csr<T>, narrow_type: NarrowType) -> Plan<T, E> {
    let options = PlanOptions { values: ValueStorage::Rounded(narrow_type), ..PlanOptions::default() };
    Plan::with_options(executor, matrix.clone(), Format::CSR_TILED, options).unwrap()
}

/// Each method, with and without a preconditioner with rounded values, reaches a residual that the rounded matrix alone
/// does not reach.
pub fn check_rounded_corrections<E: Executor>(executor: &E, methods: &[MethodName]) {
    let matrix = uneven(&[9, 8]);
    let (b, options) = (Numbers::new(6).vector(72), Options { relative_tolerance: 1e-12, ..Options::default() });
    let mut plan = Plan::with_format(executor, matrix.clone(), Format::SELL_P).unwrap();
    let on_device = executor.upload(b.clone()).unwrap();
    for narrow_type in [NarrowType::Float32, NarrowType::BFloat16] {
        let mut rounded = narrow(executor, &matrix, narrow_type);
        for &method in methods {
            let mut x = executor.zeros(72).unwrap();
            let alone = method.solve(&mut Solver::new(executor, &mut rounded).options(options), &on_device, &mut x);
            assert_eq!(alone.unwrap().outcome, Outcome::Converged, "{method}");
            let residual = |x: &Vector<f64, E>| relative_residual(&matrix, &executor.download(x).unwrap(), &b);
            assert!(residual(&x) > 1e-9, "{method}: {}", residual(&x));
            for name in [None, Some(PreconditionerName::Chebyshev { degree: 2 })] {
                let values = ValueStorage::Rounded(narrow_type);
                let preconditioner_options = PreconditionerOptions { values, ..PreconditionerOptions::default() };
                let mut preconditioner = name
                    .map(|name| Preconditioner::with_options(executor, &matrix, name, preconditioner_options).unwrap());
                let mut x = executor.zeros(72).unwrap();
                let solver = Refinement::with_narrow_values(executor, &mut plan, &mut rounded).options(options);
                let mut solver = match &mut preconditioner {
                    Some(preconditioner) => solver.preconditioner(preconditioner),
                    None => solver,
                };
                let report = method.refine(&mut solver, &on_device, &mut x).unwrap();
                let place = format!("{method}, {name:?}, {narrow_type:?}: {report:?}");
                assert_eq!(report.outcome, Outcome::Converged, "{place}");
                assert!(report.restarts > 0 && report.work.products >= 1.0, "{place}");
                assert_eq!(report.work.preconditionings > 0.0, name.is_some(), "{place}");
                assert!(residual(&x) <= 1.1e-12, "{place}");
            }
        }
    }
}
