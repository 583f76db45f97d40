//! Requirements on every executor for the transposed and the conjugate transposed matrix.

use warp_spmv::executor::Executor;
use warp_spmv::format::Matrix;
use warp_spmv::verify::{exact, verify, verify_transposed};
use warp_spmv::{Csr, Error, Format, Plan, PlanOptions, Scalar, Transposed};

use super::{FACTORS, Numbers, as_stored, factor, plan, with_rows};

/// The transpose to multiply.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Which {
    /// Aᵀ.
    Transposed,
    /// Aᴴ.
    Conjugate,
}

impl Which {
    /// Returns the transposes that differ for this type.
    pub fn all<T: Scalar>() -> &'static [Self] {
        if T::COMPLEX { &[Self::Transposed, Self::Conjugate] } else { &[Self::Transposed] }
    }

    /// Returns the transpose of `matrix` as a matrix.
    pub fn stored<T: Scalar>(self, matrix: &Csr<T>) -> Csr<T> {
        let mut transposed = matrix.transposed().unwrap();
        if self == Self::Conjugate {
            transposed.values_mut().iter_mut().for_each(|value| *value = value.conjugate());
        }
        transposed
    }
}

/// Returns α Aᵀ x + β y, or the same with Aᴴ, computed from a y filled with NaN if β = 0, by a plan that was requested
/// in `format`; `None` if the plan reports that it does not multiply transposed.
pub fn apply_transposed<T: Scalar, E: Executor>(
    plan: &Plan<T, E>,
    (format, which): (Format, Which),
    (alpha, beta): (T, T),
    x: &[T],
    y: &[T],
) -> Option<Vec<T>> {
    let executor = plan.executor();
    let poisoned = vec![T::from_f64(f64::NAN); y.len()];
    let x = executor.upload(x.to_vec()).unwrap();
    let mut y = executor.upload(if beta == T::ZERO { poisoned } else { y.to_vec() }).unwrap();
    let applied = match which {
        Which::Transposed => plan.apply_transposed(alpha, &x, beta, &mut y),
        Which::Conjugate => plan.apply_conjugate_transposed(alpha, &x, beta, &mut y),
    };
    match applied {
        Err(error @ Error::Unsupported { .. }) => {
            assert_eq!(error.to_string(), format!("format {format} has no kernel for the transposed matrix"));
            assert!(!format.multiplies_transposed(), "{format} claims to multiply transposed");
            return None;
        }
        done => done.unwrap_or_else(|error| panic!("{format}: {error}")),
    }
    Some(executor.download(&y).unwrap())
}

/// A matrix and its transposes, stored as matrices.
struct Transposes<'a, T: Scalar> {
    name: &'a str,
    matrix: &'a Csr<T>,
    stored: Vec<(Which, Csr<T>)>,
}

impl<'a, T: Scalar> Transposes<'a, T> {
    fn new(name: &'a str, matrix: &'a Csr<T>) -> Self {
        Self { name, matrix, stored: Which::all::<T>().iter().map(|&which| (which, which.stored(matrix))).collect() }
    }

    /// Multiplies by one plan, and compares with the exact results of the stored transposes. In whatever order a column
    /// is summed, its length bounds the number of additions. Returns the worst error over its bound; `None` if the
    /// format refuses the matrix because of padding, or like [`apply_transposed`].
    fn check<E: Executor>(
        &self,
        executor: &E,
        format: Format,
        factors: impl Iterator<Item = (T, T)>,
        x: &[T],
        y: &[T],
    ) -> Option<f64> {
        let Self { name, matrix, stored } = self;
        let plan = match plan(executor, matrix, format) {
            Err(Error::Fill { .. }) => return None,
            plan => plan.unwrap(),
        };
        let mut worst = 0.0;
        for (alpha, beta) in factors {
            for (which, stored) in stored {
                let computed = apply_transposed(&plan, (format, *which), (alpha, beta), x, y)?;
                let exact = exact(stored, alpha, x, beta, y).unwrap();
                let result = verify_transposed(&computed, &exact).unwrap();
                assert!(result.passed(), "{name}, {format}, {}, {which:?}, α {alpha}, β {beta}: {result:?}", T::NAME);
                worst = f64::max(worst, result.worst);
            }
        }
        Some(worst)
    }
}

/// Compares products with each pair of factors with the exact results. Returns the worst error over its bound, or
/// `None` like [`Transposes::check`].
pub fn check_transposed<T: Scalar, E: Executor>(
    executor: &E,
    name: &str,
    matrix: &Csr<T>,
    format: Format,
) -> Option<f64> {
    let mut numbers = Numbers::new(17);
    let x = numbers.vector(matrix.rows());
    let y = numbers.vector(matrix.columns());
    let factors = FACTORS.iter().map(|&(alpha, beta)| (factor(alpha), factor(beta)));
    Transposes::new(name, matrix).check(executor, format, factors, &x, &y)
}

/// Infinities and NaNs in x reach the columns that their rows touch, and no other; those in y stay.
pub fn check_transposed_special_values<T: Scalar, E: Executor>(executor: &E, format: Format) {
    let mut numbers = Numbers::new(19);
    let lengths: Vec<usize> = (0..90).map(|row| row % 7).collect();
    let (offsets, columns, mut values) = with_rows::<T>(200, &lengths, &mut numbers).into_parts();
    values.iter_mut().step_by(5).for_each(|value| *value = T::ZERO);
    let matrix = as_stored(&Csr::try_new(90, 200, offsets, columns, values).unwrap(), format);
    let transposes = Transposes::new("special values", &matrix);
    for special in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        for place in [0, 1, 45, 89] {
            let mut x = numbers.vector::<T>(90);
            let mut y = numbers.vector::<T>(200);
            x[place] = T::from_f64(special);
            y[2 * place] = T::from_f64(special);
            let factors = [T::ZERO, T::ONE].map(|beta| (T::ONE, beta));
            transposes.check(executor, format, factors.into_iter(), &x, &y);
        }
    }
}

/// Returns options that store the transpose `which`.
pub fn stored(which: Which, format: Format, updates: bool) -> PlanOptions {
    let transposed = match which {
        Which::Transposed => Transposed::Stored(format),
        Which::Conjugate => Transposed::StoredConjugate(format),
    };
    PlanOptions { transposed, updates, reproducible: true, ..PlanOptions::default() }
}

/// Returns −1.5 Aᵀ x + 0.5 y, or the same with Aᴴ.
pub fn multiply_stored<T: Scalar, E: Executor>(
    executor: &E,
    plan: &Plan<T, E>,
    which: Which,
    x: &[T],
    y: &[T],
) -> Vec<T> {
    let (alpha, beta) = (T::from_f64(-1.5), T::from_f64(0.5));
    let (x, mut y) = (executor.upload(x.to_vec()).unwrap(), executor.upload(y.to_vec()).unwrap());
    match which {
        Which::Transposed => plan.apply_transposed(alpha, &x, beta, &mut y).unwrap(),
        Which::Conjugate => plan.apply_conjugate_transposed(alpha, &x, beta, &mut y).unwrap(),
    }
    executor.download(&y).unwrap()
}

/// Checks that a stored transpose is right within the bound of its format, with the same bits on all `executors`,
/// before and after the matrix gets new values.
pub fn check_stored<T: Scalar, E: Executor>(name: &str, matrix: &Csr<T>, format: Format, executors: &[E]) {
    let mut numbers = Numbers::new(23);
    let (x, y) = (numbers.vector::<T>(matrix.rows()), numbers.vector::<T>(matrix.columns()));
    let mut new = matrix.clone();
    new.values_mut().copy_from_slice(&numbers.vector::<T>(matrix.nnz()));
    for &which in Which::all::<T>() {
        let place = format!("{name}, {format}, {which:?}, {}", T::NAME);
        let mut first = None;
        for executor in executors {
            let options = stored(which, format, true);
            let mut plan = match Plan::with_options(executor, matrix.clone(), Format::CSR_SCALAR, options) {
                Err(Error::Fill { .. } | Error::Structure { .. }) => return,
                plan => plan.unwrap_or_else(|error| panic!("{place}: {error}")),
            };
            assert_eq!(plan.transpose_format(), Some(format), "{place}");
            let old = multiply_stored(executor, &plan, which, &x, &y);
            match plan.update_values(&executor.upload(new.values().clone()).unwrap()) {
                // Formats that depend on values may hold only one of the two matrices.
                Err(Error::Fill { .. } | Error::Structure { .. }) => return,
                updated => updated.unwrap_or_else(|error| panic!("{place}: {error}")),
            }
            let both = [old, multiply_stored(executor, &plan, which, &x, &y)];
            let fresh = Plan::with_options(executor, new.clone(), Format::CSR_SCALAR, stored(which, format, false));
            assert!(
                multiply_stored(executor, &fresh.unwrap(), which, &x, &y) == both[1],
                "{place}: differs from a new plan"
            );
            assert!(plan.into_matrix().download(executor).unwrap() == Matrix::Csr(new.clone()), "{place}");
            assert!(first.get_or_insert_with(|| both.clone()) == &both, "{place}: other bits");
        }
        for (matrix, computed) in [matrix, &new].into_iter().zip(first.unwrap()) {
            let exact = exact(&which.stored(matrix), T::from_f64(-1.5), &x, T::from_f64(0.5), &y).unwrap();
            let result = verify(&computed, &exact, format).unwrap();
            assert!(result.passed(), "{place}: {result:?}");
        }
    }
}
