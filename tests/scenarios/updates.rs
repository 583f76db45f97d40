//! New values for the matrix of a plan: the arrays must equal those of the new matrix.

use warp_spmv::executor::Executor;
use warp_spmv::format::{FillLimit, Matrix};
use warp_spmv::{Csr, Error, Format, Plan, PlanOptions, Real};

use super::{Numbers, matrices};

/// Updates every `step`-th matrix in every format that can hold it.
pub fn check_updates<T: Real, E: Executor>(executor: &E, step: usize) {
    let mut numbers = Numbers::new(7);
    for (name, old) in matrices::<T>().into_iter().step_by(step) {
        let mut new = old.clone();
        new.values_mut().copy_from_slice(&numbers.vector::<T>(old.nnz()));
        for &format in Format::ALL {
            let Ok(expected) = Matrix::try_from_csr(new.clone(), format, FillLimit::default()) else { continue };
            check_update(executor, &format!("{name}, {format}, {}", T::NAME), old.clone(), format, &new, &expected);
        }
    }
}

fn check_update<T: Real, E: Executor>(
    executor: &E,
    place: &str,
    old: Csr<T>,
    format: Format,
    new: &Csr<T>,
    expected: &Matrix<T>,
) {
    let options = PlanOptions { updates: true, ..PlanOptions::default() };
    let mut plan = match Plan::with_options(executor, old, format, options) {
        // Formats that depend on values may hold only one of the two matrices.
        Err(Error::Fill { .. } | Error::Structure { .. }) => return,
        plan => plan.unwrap_or_else(|error| panic!("{place}: {error}")),
    };
    let in_order = plan.format().storage() == "CSR" || plan.format().storage() == "COO";
    let pattern = new.row_offsets().bytes() + 4 * new.nnz() as u128;
    assert_eq!(plan.update_bytes(), if in_order { 0 } else { pattern }, "{place}");

    for length in [new.nnz() + 1, new.nnz().saturating_sub(1)] {
        if length != new.nnz() {
            let wrong = executor.zeros(length).unwrap();
            let error = plan.update_values(&wrong).unwrap_err().to_string();
            assert_eq!(error, format!("values has length {length}, expected {}", new.nnz()), "{place}");
        }
    }
    let values = executor.upload(new.values().clone()).unwrap();
    plan.update_values(&values).unwrap_or_else(|error| panic!("{place}: {error}"));
    let x: Vec<T> = Numbers::new(3).vector(new.columns());
    let (x, mut y) = (executor.upload(x).unwrap(), executor.zeros(new.rows()).unwrap());
    plan.apply(T::ONE, &x, T::ZERO, &mut y).unwrap();
    if format.reproducible() {
        let mut again = executor.zeros(new.rows()).unwrap();
        let mut fresh = Plan::with_format(executor, new.clone(), format).unwrap();
        fresh.apply(T::ONE, &x, T::ZERO, &mut again).unwrap();
        let [y, again] = [&y, &again].map(|y| executor.download(y).unwrap());
        assert!(y == again, "{place}");
    }
    assert!(plan.into_matrix().download(executor).unwrap() == *expected, "{place}");
}

/// Updates every `step`-th matrix in every format, in plans that keep the places of entries: the matrix must be the
/// same as without them. Returns the number of pairs of format and matrix for which places were kept.
pub fn check_kept_places<T: Real, E: Executor>(executor: &E, step: usize) -> usize {
    let mut numbers = Numbers::new(7);
    let mut kept = 0;
    for (name, old) in matrices::<T>().into_iter().step_by(step) {
        let mut new = old.clone();
        new.values_mut().copy_from_slice(&numbers.vector::<T>(old.nnz()));
        // A stored zero is an entry, and its sign must survive.
        new.values_mut().iter_mut().step_by(3).for_each(|value| *value = T::from_f64(-0.0));
        for &format in Format::ALL {
            let place = format!("{name}, {format}, {}", T::NAME);
            let Ok(expected) = Matrix::try_from_csr(new.clone(), format, FillLimit::default()) else { continue };
            let options = PlanOptions { updates: true, keep_places: true, ..PlanOptions::default() };
            let mut plan = match Plan::with_options(executor, old.clone(), format, options) {
                Err(Error::Fill { .. } | Error::Structure { .. }) => continue,
                plan => plan.unwrap_or_else(|error| panic!("{place}: {error}")),
            };
            let pattern = new.row_offsets().bytes() + 4 * new.nnz() as u128;
            if plan.update_bytes() != pattern && plan.update_bytes() > 0 {
                kept += 1;
            }
            let wrong = executor.zeros(new.nnz() + 1).unwrap();
            let error = plan.update_values(&wrong).unwrap_err().to_string();
            assert_eq!(error, format!("values has length {}, expected {}", new.nnz() + 1, new.nnz()), "{place}");
            plan.update_values(&executor.upload(new.values().clone()).unwrap())
                .unwrap_or_else(|error| panic!("{place}: {error}"));
            assert!(plan.into_matrix().download(executor).unwrap() == expected, "{place}");
        }
    }
    kept
}
