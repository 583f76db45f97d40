//! Matrices and vectors of other crates, converted there and back.

mod faer;
mod nalgebra_sparse;
mod ndarray;
mod sprs;

use ::host::Csr;
use ::host::executor::Cpu;
use ::host::{Format, Plan};
use proptest::collection::vec;
use proptest::prelude::*;

/// Small matrices of every shape with sorted rows and no duplicate entries, some of them empty.
fn matrices() -> impl Strategy<Value = Csr<f64>> {
    (0..9_usize, 0..9_usize, vec((0..9_u32, 0..9_u32, -9..9_i8), 0..40)).prop_map(|(rows, columns, mut entries)| {
        entries.retain(|&(row, column, _)| (row as usize) < rows && (column as usize) < columns);
        let rows_of: Vec<_> = entries.iter().map(|&(row, ..)| row).collect();
        let columns_of: Vec<_> = entries.iter().map(|&(_, column, _)| column).collect();
        let values: Vec<_> = entries.iter().map(|&(.., value)| f64::from(value)).collect();
        Csr::try_from_triplets(rows, columns, &rows_of, &columns_of, &values).unwrap()
    })
}

/// The second row is not sorted.
fn unsorted() -> Csr<f64> {
    Csr::try_new(2, 3, vec![0_u32, 1, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0]).unwrap()
}

/// The first row has a duplicate entry.
fn twice() -> Csr<f64> {
    Csr::try_new(2, 3, vec![0_u32, 2, 3], vec![1, 1, 0], vec![1.0, 2.0, 3.0]).unwrap()
}

/// Checks the message about the rows of [`unsorted`] or [`twice`].
fn check_refused<M>(result: Result<M, ::host::Error>, row: usize) {
    let error = result.err().unwrap().to_string();
    let start = format!("CSR matrix: row {row} is not sorted by column or has duplicate entries");
    assert!(error.starts_with(&start), "{error}");
}

/// Checks the message about too many rows or columns.
fn check_too_large<M>(result: Result<M, ::host::Error>, what: &str) {
    let error = result.err().unwrap().to_string();
    assert_eq!(error, format!("the number of {what} is 3000000000, and the limit is 2147483647"));
}

/// A x.
fn product(matrix: &Csr<f64>, x: &[f64]) -> Vec<f64> {
    let mut y = vec![0.0; matrix.rows()];
    let mut plan = Plan::with_format(&Cpu::new(), matrix.clone(), Format::CSR_SCALAR).unwrap();
    plan.apply_slices(1.0, x, 0.0, &mut y).unwrap();
    y
}
