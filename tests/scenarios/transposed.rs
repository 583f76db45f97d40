//! What every executor must get right with the transposed matrix.

use warp_spmv::executor::Executor;
use warp_spmv::verify::{exact, verify_transposed};
use warp_spmv::{Csr, Error, Format, Real};

use super::{FACTORS, Numbers, as_stored, plan, with_rows};

/// α Aᵀ x + β y from a y that is poisoned with NaN if β = 0. `None` if the format refuses the matrix for its padding, or
/// says that it does not multiply transposed.
pub fn multiply_transposed<T: Real, E: Executor>(
    executor: &E,
    matrix: &Csr<T>,
    format: Format,
    (alpha, beta): (T, T),
    x: &[T],
    y: &[T],
) -> Option<Vec<T>> {
    let plan = match plan(executor, matrix, format) {
        Err(Error::Fill { .. }) => return None,
        plan => plan.unwrap(),
    };
    let poisoned = vec![T::from_f64(f64::NAN); y.len()];
    let x = executor.upload(x.to_vec()).unwrap();
    let mut y = executor.upload(if beta == T::ZERO { poisoned } else { y.to_vec() }).unwrap();
    match plan.apply_transposed(alpha, &x, beta, &mut y) {
        Err(error @ Error::Unsupported { .. }) => {
            assert_eq!(error.to_string(), format!("format {format} has no kernel for the transposed matrix"));
            assert!(!format.multiplies_transposed(), "{format} says that it can");
            return None;
        }
        done => done.unwrap_or_else(|error| panic!("{format}: {error}")),
    }
    Some(executor.download(&y).unwrap())
}

/// Multiplies and compares with the exact result of the stored transpose. In whatever order a column is added up, its
/// length bounds the additions.
fn check_against_transpose<T: Real, E: Executor>(
    executor: &E,
    name: &str,
    matrix: &Csr<T>,
    format: Format,
    (alpha, beta): (T, T),
    x: &[T],
    y: &[T],
) -> Option<f64> {
    let computed = multiply_transposed(executor, matrix, format, (alpha, beta), x, y)?;
    let exact = exact(&matrix.transposed().unwrap(), alpha, x, beta, y).unwrap();
    let result = verify_transposed(&computed, &exact).unwrap();
    assert!(result.passed(), "{name}, {format}, {}, α {alpha}, β {beta}: {result:?}", T::NAME);
    Some(result.worst)
}

/// With each pair of factors against the exact result. Gives the worst error over its bound, `None` as
/// [`multiply_transposed`] does.
pub fn check_transposed<T: Real, E: Executor>(
    executor: &E,
    name: &str,
    matrix: &Csr<T>,
    format: Format,
) -> Option<f64> {
    let mut numbers = Numbers::new(17);
    let x = numbers.vector(matrix.rows());
    let y = numbers.vector(matrix.columns());
    let mut worst = 0.0;
    for &(alpha, beta) in FACTORS {
        let factors = (T::from_f64(alpha), T::from_f64(beta));
        worst = f64::max(worst, check_against_transpose(executor, name, matrix, format, factors, &x, &y)?);
    }
    Some(worst)
}

/// Infinities and NaNs in x reach the columns that their rows touch, and no other; those in y stay.
pub fn check_transposed_special_values<T: Real, E: Executor>(executor: &E, format: Format) {
    let mut numbers = Numbers::new(19);
    let lengths: Vec<usize> = (0..90).map(|row| row % 7).collect();
    let (offsets, columns, mut values) = with_rows::<T>(200, &lengths, &mut numbers).into_parts();
    values.iter_mut().step_by(5).for_each(|value| *value = T::ZERO);
    let matrix = as_stored(&Csr::try_new(90, 200, offsets, columns, values).unwrap(), format);
    for special in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        for place in [0, 1, 45, 89] {
            let mut x = numbers.vector::<T>(90);
            let mut y = numbers.vector::<T>(200);
            x[place] = T::from_f64(special);
            y[2 * place] = T::from_f64(special);
            for beta in [T::ZERO, T::ONE] {
                check_against_transpose(executor, "special values", &matrix, format, (T::ONE, beta), &x, &y);
            }
        }
    }
}
