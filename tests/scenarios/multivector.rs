//! Requirements on every executor for several vectors at once.

use warp_spmv::executor::Executor;
use warp_spmv::verify::{exact, verify};
use warp_spmv::{Csr, Error, Format, Layout, Multivector, Plan, Scalar};

use super::{Numbers, as_stored, factor, plan, with_rows};

/// Numbers of vectors around the sizes of tiles.
pub const VECTORS: &[usize] = &[0, 1, 2, 3, 8, 13, 31, 32, 33, 70];

/// Operands of a product: α, β, X and Y.
pub struct Vectors<'a, T> {
    pub shape: Multivector,
    pub factors: (T, T),
    pub x: &'a [T],
    pub y: &'a [T],
}

/// Returns α A X + β Y, computed from a Y filled with NaN if β = 0; `None` if the format refuses the matrix because of
/// padding, or reports that it does not multiply several vectors.
pub fn multiply_vectors<T: Scalar, E: Executor>(
    executor: &E,
    matrix: &Csr<T>,
    format: Format,
    vectors: &Vectors<'_, T>,
) -> Option<Vec<T>> {
    match plan(executor, matrix, format) {
        Err(Error::Fill { .. }) => None,
        plan => apply_to_vectors(&mut plan.unwrap(), format, vectors),
    }
}

/// [`multiply_vectors`] with a plan that was requested in `format`.
fn apply_to_vectors<T: Scalar, E: Executor>(
    plan: &mut Plan<T, E>,
    format: Format,
    vectors: &Vectors<'_, T>,
) -> Option<Vec<T>> {
    let &Vectors { shape, factors: (alpha, beta), x, y } = vectors;
    let executor = plan.executor().clone();
    let poisoned = vec![T::from_f64(f64::NAN); y.len()];
    let x = executor.upload(x.to_vec()).unwrap();
    let mut y = executor.upload(if beta == T::ZERO { poisoned } else { y.to_vec() }).unwrap();
    match plan.apply_multivector(shape, alpha, &x, beta, &mut y) {
        Err(error @ Error::Unsupported { .. }) => {
            assert_eq!(error.to_string(), format!("format {format} has no kernel for several right-hand sides"));
            assert!(!format.multiplies_multivectors(), "{format} claims to multiply several vectors");
            return None;
        }
        done => done.unwrap_or_else(|error| panic!("{format}, {shape:?}: {error}")),
    }
    Some(executor.download(&y).unwrap())
}

/// Operands of a matrix and the exact result of each vector, the same for all formats.
struct Case<T: Scalar> {
    shape: Multivector,
    factors: (T, T),
    x: Vec<T>,
    y: Vec<T>,
    exact: Vec<Vec<T::Exact>>,
}

impl<T: Scalar> Case<T> {
    fn new(matrix: &Csr<T>, shape: Multivector, factors: (T, T), x: Vec<T>, y: Vec<T>) -> Self {
        let (alpha, beta) = factors;
        let exact = |vector| {
            let (x, y) = (vector_of(shape, &x, vector), vector_of(shape, &y, vector));
            exact(matrix, alpha, &x, beta, &y).unwrap()
        };
        let exact = (0..shape.vectors).map(exact).collect();
        Self { shape, factors, x, y, exact }
    }

    /// Multiplies by a plan of the matrix that was requested in `format`, and compares each vector with the exact
    /// result. Returns the worst error over its bound, or `None` like [`multiply_vectors`].
    fn check<E: Executor>(&self, plan: &mut Plan<T, E>, name: &str, format: Format) -> Option<f64> {
        let &Self { shape, factors, ref x, ref y, ref exact } = self;
        let computed = apply_to_vectors(plan, format, &Vectors { shape, factors, x, y })?;
        let mut worst = 0.0;
        for (vector, exact) in exact.iter().enumerate() {
            // Whatever the format, a lane or a thread has one chain of additions per row.
            let result = verify(&vector_of(shape, &computed, vector), exact, Format::CSR_SCALAR).unwrap();
            let beta = factors.1;
            assert!(result.passed(), "{name}, {format}, {}, {shape:?}, vector {vector}, β {beta}: {result:?}", T::NAME);
            worst = f64::max(worst, result.worst);
        }
        Some(worst)
    }
}

/// Returns one of several vectors.
fn vector_of<T: Copy>(shape: Multivector, values: &[T], vector: usize) -> Vec<T> {
    let length = values.len() / shape.vectors;
    (0..length).map(|element| values[shape.place(length, element, vector)]).collect()
}

/// Products with a number of vectors, in both layouts, with and without Y, and their exact results.
pub struct Cases<'a, T: Scalar> {
    matrix: &'a Csr<T>,
    cases: Vec<Case<T>>,
}

impl<'a, T: Scalar> Cases<'a, T> {
    pub fn new(matrix: &'a Csr<T>, vectors: usize) -> Self {
        let mut numbers = Numbers::new(13);
        let layouts = [Layout::RowMajor, Layout::ColumnMajor].into_iter();
        let cases =
            layouts.flat_map(|layout| [(layout, 1.0, 0.0), (layout, -0.5, 2.0)]).map(|(layout, alpha, beta)| {
                let x = numbers.vector(matrix.columns() * vectors);
                let y = numbers.vector(matrix.rows() * vectors);
                let factors = (factor(alpha), factor(beta));
                Case::new(matrix, Multivector { vectors, layout }, factors, x, y)
            });
        Self { matrix, cases: cases.collect() }
    }

    /// Multiplies in `format`, by one plan, and returns the worst error over its bound, or `None` like [`multiply_vectors`].
    pub fn check<E: Executor>(&self, executor: &E, name: &str, format: Format) -> Option<f64> {
        let mut plan = match plan(executor, self.matrix, format) {
            Err(Error::Fill { .. }) => return None,
            plan => plan.unwrap(),
        };
        self.cases.iter().try_fold(0.0, |worst, case| Some(f64::max(worst, case.check(&mut plan, name, format)?)))
    }
}

/// Infinities and NaNs in X reach the rows that touch them, in their own vector, and nothing else; those in Y stay.
pub fn check_multivector_special_values<T: Scalar, E: Executor>(executor: &E, format: Format) {
    let mut numbers = Numbers::new(3);
    let lengths: Vec<usize> = (0..200).map(|row| row % 7).collect();
    let (offsets, columns, mut values) = with_rows::<T>(90, &lengths, &mut numbers).into_parts();
    values.iter_mut().step_by(5).for_each(|value| *value = T::ZERO);
    let matrix = as_stored(&Csr::try_new(200, 90, offsets, columns, values).unwrap(), format);
    for layout in [Layout::RowMajor, Layout::ColumnMajor] {
        let shape = Multivector { vectors: 5, layout };
        for special in [f64::INFINITY, f64::NAN] {
            let mut x = numbers.vector::<T>(90 * 5);
            let mut y = numbers.vector::<T>(200 * 5);
            for (element, vector) in [(0, 0), (45, 2), (89, 4)] {
                x[shape.place(90, element, vector)] = T::from_f64(special);
                y[shape.place(200, 2 * element, vector)] = T::from_f64(special);
            }
            for beta in [T::ZERO, T::ONE] {
                let case = Case::new(&matrix, shape, (T::ONE, beta), x.clone(), y.clone());
                case.check(&mut plan(executor, &matrix, format).unwrap(), "special values", format);
            }
        }
    }
}
