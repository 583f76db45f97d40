use ::nalgebra_sparse::{CscMatrix, CsrMatrix};
use host::Csr;
use proptest::prelude::*;

use super::{check_refused, check_too_large, matrices, twice, unsorted};

proptest! {
    #[test]
    fn matrices_go_there_and_back(matrix in matrices()) {
        let theirs: CsrMatrix<f64> = matrix.clone().try_into().unwrap();
        prop_assert_eq!((theirs.nrows(), theirs.ncols(), theirs.nnz()), (matrix.rows(), matrix.columns(), matrix.nnz()));
        let entry = |row, column, value| matrix.row(row).any(|entry| entry == (column as u32, value));
        prop_assert!(theirs.triplet_iter().all(|(row, column, &value)| entry(row, column, value)));
        let columns: CscMatrix<f64> = matrix.clone().try_into().unwrap();
        prop_assert!(columns.triplet_iter().all(|(row, column, &value)| entry(row, column, value)));
        prop_assert_eq!(columns.nnz(), matrix.nnz());
        prop_assert_eq!(&Csr::try_from(&columns).unwrap(), &matrix);
        prop_assert_eq!(&Csr::try_from(columns.clone()).unwrap(), &matrix);
        prop_assert_eq!(&Csr::try_from(columns.transpose_as_csr()).unwrap(), &matrix.transposed().unwrap());
        prop_assert_eq!(&Csr::try_from(&theirs).unwrap(), &matrix);
        prop_assert_eq!(&Csr::try_from(theirs).unwrap(), &matrix);
    }
}

#[test]
fn values_are_not_copied() {
    let matrix = Csr::try_from_triplets(2, 3, &[0, 1], &[2, 1], &[1.0, 2.0]).unwrap();
    let values = matrix.values().as_ptr();
    let theirs: CsrMatrix<f64> = matrix.try_into().unwrap();
    assert_eq!(theirs.values().as_ptr(), values);
    assert_eq!(Csr::try_from(theirs).unwrap().values().as_ptr(), values);
}

#[test]
fn what_nalgebra_cannot_hold_is_an_error() {
    check_refused(CsrMatrix::try_from(unsorted()), 1);
    check_refused(CsrMatrix::try_from(twice()), 0);
    // Transposing sorts, and duplicate entries remain, in column 1.
    assert!(CscMatrix::try_from(unsorted()).is_ok());
    check_refused(CscMatrix::try_from(twice()), 1);
}

#[test]
fn a_matrix_that_is_too_large_is_an_error() {
    let arrays = || (vec![0, 1], vec![2_999_999_999], vec![1.0]);
    let (offsets, indices, values) = arrays();
    let wide = CsrMatrix::try_from_csr_data(1, 3_000_000_000, offsets, indices, values).unwrap();
    check_too_large(Csr::try_from(&wide), "columns");
    check_too_large(Csr::try_from(wide), "columns");
    let (offsets, indices, values) = arrays();
    let tall = CscMatrix::try_from_csc_data(3_000_000_000, 1, offsets, indices, values).unwrap();
    check_too_large(Csr::try_from(&tall), "rows");
    check_too_large(Csr::try_from(tall), "rows");
}
