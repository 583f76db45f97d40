use ::faer::sparse::linalg::matmul::sparse_dense_matmul;
use ::faer::sparse::{SparseColMat, SparseRowMat, SparseRowMatRef, SymbolicSparseRowMat};
use ::faer::{Accum, MatMut, MatRef, Par};
use host::Csr;
use proptest::prelude::*;

use super::{check_refused, check_too_large, matrices, product, twice, unsorted};

/// Conversion there and back with each index type, in rows and in columns.
macro_rules! check_types {
    ($matrix:ident: $($index:ty)*) => {$({
        let theirs: SparseRowMat<$index, f64> = $matrix.clone().try_into().unwrap();
        prop_assert_eq!(theirs.shape(), ($matrix.rows(), $matrix.columns()));
        for row in 0..$matrix.rows() {
            prop_assert!($matrix.row(row).all(|(column, value)| theirs.get(row, column as usize) == Some(&value)));
        }
        let columns: SparseColMat<$index, f64> = $matrix.clone().try_into().unwrap();
        prop_assert_eq!(columns.shape(), theirs.shape());
        prop_assert_eq!(&Csr::try_from(columns.as_ref()).unwrap(), &$matrix);
        prop_assert_eq!(&Csr::try_from(columns).unwrap(), &$matrix);
        prop_assert_eq!(&Csr::try_from(theirs.as_ref()).unwrap(), &$matrix);
        prop_assert_eq!(&Csr::try_from(theirs).unwrap(), &$matrix);
    })*};
}

proptest! {
    #[test]
    fn matrices_go_there_and_back(matrix in matrices()) {
        check_types!(matrix: u32 u64 usize);
    }

    #[test]
    fn views_multiply_the_same(matrix in matrices()) {
        let view: SparseRowMatRef<u32, f64> = (&matrix).try_into().unwrap();
        let x: Vec<_> = (0..matrix.columns()).map(|column| column as f64 - 3.0).collect();
        let mut y = vec![0.0; matrix.rows()];
        let (rows, columns) = (matrix.rows(), matrix.columns());
        let result = MatMut::from_column_major_slice_mut(&mut y, rows, 1);
        sparse_dense_matmul(
            result, Accum::Add, view, MatRef::from_column_major_slice(&x, columns, 1), 1.0, Par::Seq,
        );
        prop_assert_eq!(y, product(&matrix, &x));
    }
}

#[test]
fn arrays_of_the_same_types_are_not_copied() {
    let matrix = Csr::try_from_triplets(2, 3, &[0, 1], &[2, 1], &[1.0, 2.0]).unwrap();
    let (columns, values) = (matrix.column_indices().as_ptr(), matrix.values().as_ptr());
    let view: SparseRowMatRef<u32, f64> = (&matrix).try_into().unwrap();
    assert_eq!((view.symbolic().col_idx().as_ptr(), view.val().as_ptr()), (columns, values));

    let theirs: SparseRowMat<u32, f64> = matrix.try_into().unwrap();
    assert_eq!((theirs.symbolic().col_idx().as_ptr(), theirs.val().as_ptr()), (columns, values));
    let matrix = Csr::try_from(theirs).unwrap();
    assert_eq!((matrix.column_indices().as_ptr(), matrix.values().as_ptr()), (columns, values));

    // With other index types, the values are moved.
    let theirs: SparseRowMat<usize, f64> = matrix.try_into().unwrap();
    assert_eq!(theirs.val().as_ptr(), values);
    assert_eq!(Csr::try_from(theirs).unwrap().values().as_ptr(), values);
}

#[test]
fn what_lies_between_rows_is_left_out() {
    // The first row has room for two entries and has one; one slot before and one after belong to no row.
    let symbolic =
        SymbolicSparseRowMat::<u32>::new_checked(2, 4, vec![1, 3, 5], Some(vec![1, 2]), vec![9, 3, 9, 0, 2, 9]);
    let matrix = SparseRowMat::new(symbolic, vec![-1.0, 1.0, -1.0, 2.0, 3.0, -1.0]);
    let expected = Csr::try_new(2, 4, vec![0_u32, 1, 3], vec![3, 0, 2], vec![1.0, 2.0, 3.0]).unwrap();
    assert_eq!(Csr::try_from(matrix.as_ref()).unwrap(), expected);
    assert_eq!(Csr::try_from(matrix).unwrap(), expected);
}

#[test]
fn what_faer_cannot_hold_is_an_error() {
    check_refused(SparseRowMat::<u32, f64>::try_from(unsorted()), 1);
    check_refused(SparseRowMat::<usize, f64>::try_from(twice()), 0);
    check_refused(SparseRowMatRef::<u32, f64>::try_from(&unsorted()), 1);
    // Transposing sorts, and duplicate entries remain, in column 1.
    assert!(SparseColMat::<u32, f64>::try_from(unsorted()).is_ok());
    check_refused(SparseColMat::<u32, f64>::try_from(twice()), 1);
}

#[test]
fn a_matrix_that_is_too_large_is_an_error() {
    let symbolic = SymbolicSparseRowMat::new_checked(1, 3_000_000_000, vec![0, 1], None, vec![2_999_999_999_u64]);
    let wide = SparseRowMat::new(symbolic, vec![1.0]);
    check_too_large(Csr::try_from(wide.as_ref()), "columns");
    check_too_large(Csr::try_from(wide.transpose()), "rows");
    check_too_large(Csr::try_from(wide), "columns");
}
