//! Requirements on every executor: the same list for the CPU, the emulator and the GPU.

pub mod conformance;
pub mod fused;
mod matrices;
pub mod multigrid;
pub mod multivector;
pub mod narrow;
mod numbers;
pub mod parts;
pub mod random;
pub mod sparse_product;
pub mod threads;
pub mod tiles;
pub mod transposed;
pub mod updates;

pub use matrices::*;
pub use numbers::Numbers;
use warp_spmv::executor::Executor;
use warp_spmv::format::{FillLimit, Matrix};
use warp_spmv::verify::{Verification, exact, verify};
use warp_spmv::{Csr, Error, Format, Plan, PlanOptions, Scalar};

/// Returns the matrix as `format` stores it: some formats sort its rows, and some of them have one slot for duplicate
/// entries.
pub fn as_stored<T: Scalar>(matrix: &Csr<T>, format: Format) -> Csr<T> {
    let mut matrix = matrix.clone();
    if format.sorts_rows() {
        matrix.sort_rows().unwrap();
    }
    if format.sums_duplicates() {
        matrix.sum_duplicates().unwrap();
    }
    matrix
}

/// Converts `matrix` to `format` and back on the executor. Both conversions give the same arrays, bit for bit, as on
/// the host, or the same error.
pub fn check_conversion<T: Scalar, E: Executor>(executor: &E, name: &str, matrix: &Csr<T>, format: Format) {
    let place = format!("{name}, {format}, {}", T::NAME);
    let convert = || matrix.clone().upload(executor)?.convert(executor, format, FillLimit::default());
    let expected = match Matrix::try_from_csr(matrix.clone(), format, FillLimit::default()) {
        Err(expected) => {
            let error = convert().map(|_| ()).expect_err(&place);
            assert_eq!(error.to_string(), expected.to_string(), "{place}");
            return;
        }
        Ok(expected) => expected,
    };
    let same = |converted: &Matrix<T, E::Memory>, expected: &Matrix<T>, what: &str| {
        let converted = converted.to_host(executor).unwrap();
        assert!(converted == *expected, "{place}: {what}");
        // Equal row offsets may differ in width.
        assert_eq!(converted.bytes(), expected.bytes(), "{place}: {what}");
    };
    let converted = convert().unwrap_or_else(|error| panic!("{place}: {error}"));
    same(&converted, &expected, "from CSR");
    let back = converted.into_csr_on(executor).unwrap_or_else(|error| panic!("{place}: {error}"));
    same(&Matrix::Csr(back), &Matrix::Csr(expected.into_csr().unwrap()), "back to CSR");
}

/// Returns a plan for a matrix converted on the host; [`check_conversion`] checks that the executor converts it to the
/// same arrays.
pub fn plan<T: Scalar, E: Executor>(executor: &E, matrix: &Csr<T>, format: Format) -> Result<Plan<T, E>, Error> {
    plan_within(FillLimit::default(), executor, matrix, format)
}

/// [`plan`] with another limit on padding.
pub fn plan_within<T: Scalar, E: Executor>(
    limit: FillLimit,
    executor: &E,
    matrix: &Csr<T>,
    format: Format,
) -> Result<Plan<T, E>, Error> {
    let converted = Matrix::try_from_csr(matrix.clone(), format, limit)?;
    Plan::from_matrix(executor, converted, format)
}

/// Checks a product with a matrix that the executor itself converted.
pub fn check_converted_product<T: Scalar, E: Executor>(executor: &E, format: Format) {
    let mut numbers = Numbers::new(13);
    let lengths: Vec<usize> = (0..400).map(|row| if row == 77 { 350 } else { row * 5 % 9 }).collect();
    let matrix = with_rows::<T>(200, &lengths, &mut numbers);
    let (x, y) = (numbers.vector::<T>(200), vec![T::ZERO; 400]);
    let expected = exact(&matrix, T::ONE, &x, T::ZERO, &y).unwrap();
    let fill_limit = FillLimit { times_csr: f64::INFINITY };
    let options = PlanOptions { fill_limit, ..PlanOptions::default() };
    let mut plan = Plan::with_options(executor, matrix.clone(), format, options).unwrap();
    assert_eq!(plan.format(), format.resolve(&matrix));
    let (x, mut y) = (executor.upload(x).unwrap(), executor.upload(y).unwrap());
    plan.apply(T::ONE, &x, T::ZERO, &mut y).unwrap();
    let result = verify(&executor.download(&y).unwrap(), &expected, plan.format()).unwrap();
    assert!(result.passed(), "{format}, {}: {result:?}", T::NAME);
}

/// Pairs of α and β with which each matrix is multiplied.
pub const FACTORS: &[(f64, f64)] = &[(1.0, 0.0), (1.0, 1.0), (-1.0, 0.0), (0.0, -1.0), (0.75, -1.5), (2.5, 0.0)];

/// Returns α A x + β y, computed from a y filled with NaN if β = 0; `None` if the format refuses the matrix because of
/// padding.
pub fn multiply<T: Scalar, E: Executor>(
    executor: &E,
    matrix: &Csr<T>,
    format: Format,
    (alpha, beta): (T, T),
    x: &[T],
    y: &[T],
) -> Result<Option<Vec<T>>, Error> {
    match plan(executor, matrix, format) {
        Err(Error::Fill { .. }) => Ok(None),
        plan => apply(&mut plan?, (alpha, beta), x, y).map(Some),
    }
}

/// [`multiply`] with a given plan.
pub fn apply<T: Scalar, E: Executor>(
    plan: &mut Plan<T, E>,
    (alpha, beta): (T, T),
    x: &[T],
    y: &[T],
) -> Result<Vec<T>, Error> {
    let executor = plan.executor().clone();
    let poisoned = vec![T::from_f64(f64::NAN); y.len()];
    let x = executor.upload(x.to_vec())?;
    let mut y = executor.upload(if beta == T::ZERO { poisoned } else { y.to_vec() })?;
    plan.apply(alpha, &x, beta, &mut y)?;
    executor.download(&y)
}

/// Operands of a matrix and the exact results, the same for all formats.
pub struct Products<'a, T: Scalar> {
    name: &'a str,
    matrix: &'a Csr<T>,
    x: Vec<T>,
    y: Vec<T>,
    factors: &'static [(f64, f64)],
    /// Exact result per pair of factors.
    exact: Vec<Vec<T::Exact>>,
}

impl<'a, T: Scalar> Products<'a, T> {
    pub fn new(name: &'a str, matrix: &'a Csr<T>) -> Self {
        Self::with_factors(name, matrix, FACTORS)
    }

    pub fn with_factors(name: &'a str, matrix: &'a Csr<T>, factors: &'static [(f64, f64)]) -> Self {
        let mut numbers = Numbers::new(7);
        let x = numbers.vector(matrix.columns());
        let y = numbers.vector(matrix.rows());
        let exact = |&(alpha, beta)| exact(matrix, factor(alpha), &x, factor(beta), &y).unwrap();
        let exact = factors.iter().map(exact).collect();
        Self { name, matrix, x, y, factors, exact }
    }

    /// Multiplies with each pair of factors, by one plan, and compares with the exact result. Returns the worst error
    /// over its bound; `None` if the format does not apply.
    pub fn check<E: Executor>(&self, executor: &E, format: Format) -> Option<f64> {
        let Self { name, matrix, x, y, factors, exact } = self;
        let mut plan = match plan(executor, matrix, format) {
            Err(Error::Fill { .. }) => return None,
            plan => plan.unwrap_or_else(|error| panic!("{name}, {format}, {}: {error}", T::NAME)),
        };
        let mut worst = 0.0;
        for (&(alpha, beta), exact) in factors.iter().zip(exact) {
            let (alpha, beta) = (factor::<T>(alpha), factor(beta));
            let place = format!("{name}, {format}, {}, alpha {alpha}, beta {beta}", T::NAME);
            let computed = apply(&mut plan, (alpha, beta), x, y).unwrap_or_else(|error| panic!("{place}: {error}"));
            let Verification { wrong, worst: here, worst_row, .. } = verify(&computed, exact, format).unwrap();
            assert_eq!(wrong, 0, "{place}: rows are wrong, the worst is {worst_row:?}, off by {here} bounds");
            worst = f64::max(worst, here);
        }
        Some(worst)
    }
}

/// [`Products::check`] in one format.
pub fn check<T: Scalar, E: Executor>(executor: &E, name: &str, matrix: &Csr<T>, format: Format) -> Option<f64> {
    Products::new(name, matrix).check(executor, format)
}

/// Infinities and NaNs in x reach the rows that touch them, and no other: padding never enters the arithmetic.
pub fn check_special_values<T: Scalar, E: Executor>(executor: &E, format: Format) {
    let mut numbers = Numbers::new(3);
    let lengths: Vec<usize> = (0..200).map(|row| row % 7).collect();
    let (offsets, columns, mut values) = with_rows::<T>(90, &lengths, &mut numbers).into_parts();
    // A stored zero is not padding: times infinity, it is NaN.
    values.iter_mut().step_by(5).for_each(|value| *value = T::ZERO);
    // Summing duplicates matters: 2 · ∞ - 1 · ∞ is NaN, but (2 - 1) · ∞ is not.
    let matrix = as_stored(&Csr::try_new(200, 90, offsets, columns, values).unwrap(), format);
    for special in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        for place in [0, 1, 45, 89] {
            let mut x = numbers.vector::<T>(90);
            x[place] = T::from_f64(special);
            let y = numbers.vector(200);
            for beta in [T::ZERO, T::ONE] {
                let computed = multiply(executor, &matrix, format, (T::ONE, beta), &x, &y).unwrap().unwrap();
                let exact = exact(&matrix, T::ONE, &x, beta, &y).unwrap();
                let result = verify(&computed, &exact, format).unwrap();
                assert!(result.passed(), "{format}: {special} in x[{place}]: {result:?}");
            }
        }
    }
    // In y, they stay in their rows, and with β = 0 they vanish.
    let x = numbers.vector::<T>(90);
    let y = vec![T::from_f64(f64::INFINITY); 200];
    let computed = multiply(executor, &matrix, format, (T::ONE, T::ONE), &x, &y).unwrap().unwrap();
    assert!(computed.iter().all(|y| y.parts()[0] == f64::INFINITY), "{format}");
}

/// With small whole numbers, every sum is exact, so every format gives the same bits.
pub fn check_whole_numbers<T: Scalar, E: Executor>(executor: &E, format: Format) {
    let mut numbers = Numbers::new(11);
    let lengths: Vec<usize> = (0..300).map(|row| row * 7 % 100).collect();
    let (offsets, columns, values) = with_rows::<T>(123, &lengths, &mut numbers).into_parts();
    let values = values.iter().map(|_| numbers.whole()).collect();
    let matrix = Csr::<T>::try_new(300, 123, offsets, columns, values).unwrap();
    let x: Vec<T> = (0..123).map(|_| numbers.whole()).collect();
    let y: Vec<T> = (0..300).map(|_| numbers.whole()).collect();
    let (alpha, beta) = (T::from_parts(-3.0, 1.0), T::from_parts(2.0, -1.0));
    let computed = multiply(executor, &matrix, format, (alpha, beta), &x, &y).unwrap().unwrap();
    for (row, &computed) in computed.iter().enumerate() {
        let sum = matrix.row(row).fold(T::ZERO, |sum, (column, value)| sum + value * x[column as usize]);
        assert_eq!(computed, alpha * sum + beta * y[row], "{format}, row {row}");
    }
}

/// The same call twice gives the same bits if the format promises it.
pub fn check_reproducible<T: Scalar, E: Executor>(executor: &E, format: Format) {
    if !format.reproducible() {
        return;
    }
    let matrix = generated::<T>("pareto:rows=500,k=1.2,base=3");
    let x = Numbers::new(5).vector(matrix.columns());
    let y = vec![T::ZERO; matrix.rows()];
    let once = || multiply(executor, &matrix, format, (T::ONE, T::ZERO), &x, &y).unwrap();
    assert_eq!(once(), once(), "{format}");
}
