//! Products with matrices stored with parameters that a test chooses.

use crate::scenarios::Numbers;
use warp_spmv::executor::Executor;
use warp_spmv::format::Matrix;
use warp_spmv::verify::{exact, verify};
use warp_spmv::{Csr, Format, Plan, Scalar};

/// Checks a product of `stored`, which is `matrix` stored for `format`.
pub fn check_stored<T: Scalar, E: Executor>(
    executor: &E,
    name: &str,
    matrix: &Csr<T>,
    stored: Matrix<T>,
    format: Format,
) {
    let mut numbers = Numbers::new(51);
    let (x, y) = (numbers.vector::<T>(matrix.columns()), numbers.vector::<T>(matrix.rows()));
    let (alpha, beta) = (T::from_f64(0.75), T::from_f64(-1.5));
    let expected = exact(matrix, alpha, &x, beta, &y).unwrap();
    let mut plan = Plan::from_matrix(executor, stored, format).unwrap();
    let (x, mut y) = (executor.upload(x).unwrap(), executor.upload(y).unwrap());
    plan.apply(alpha, &x, beta, &mut y).unwrap();
    let result = verify(&executor.download(&y).unwrap(), &expected, format).unwrap();
    assert!(result.passed(), "{name}, {format}, {}: {result:?}", T::NAME);
}
