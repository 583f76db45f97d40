use ::sprs::{CsMatI, CsMatViewI};
use host::Csr;
use host::format::Offsets;
use proptest::prelude::*;

use super::{check_refused, check_too_large, matrices, product, twice, unsorted};

/// Conversion there and back with each pair of index and offset types, in rows and in columns.
macro_rules! check_types {
    ($matrix:ident: $($index:ty, $offset:ty;)*) => {$({
        let theirs: CsMatI<f64, $index, $offset> = $matrix.clone().try_into().unwrap();
        prop_assert!(theirs.is_csr() && theirs.shape() == ($matrix.rows(), $matrix.columns()));
        let entry = |row, column, value| $matrix.row(row).any(|entry| entry == (column, value));
        prop_assert!(theirs.iter().all(|(&value, (row, column))| entry(row as usize, column as u32, value)));
        prop_assert_eq!(theirs.nnz(), $matrix.nnz());
        prop_assert_eq!(&Csr::try_from(theirs.view()).unwrap(), &$matrix);
        prop_assert_eq!(&Csr::try_from(theirs.to_csc()).unwrap(), &$matrix);
        prop_assert_eq!(&Csr::try_from(theirs.to_csc().view()).unwrap(), &$matrix);
        prop_assert_eq!(&Csr::try_from(theirs.transpose_view()).unwrap(), &$matrix.transposed().unwrap());
        prop_assert_eq!(&Csr::try_from(theirs).unwrap(), &$matrix);
    })*};
}

proptest! {
    #[test]
    fn matrices_go_there_and_back(matrix in matrices()) {
        check_types!(matrix: u32, u32; usize, usize; u64, u64; i32, i32; i64, i64; u32, u64; i32, usize;);
    }

    #[test]
    fn views_multiply_the_same(matrix in matrices()) {
        let view: CsMatViewI<f64, u32> = (&matrix).try_into().unwrap();
        let x: Vec<_> = (0..matrix.columns()).map(|column| column as f64 - 3.0).collect();
        let mut y = vec![0.0; matrix.rows()];
        sprs::prod::mul_acc_mat_vec_csr(view, &x[..], &mut y[..]);
        prop_assert_eq!(y, product(&matrix, &x));
    }

    #[test]
    fn some_rows_of_a_view_are_a_matrix(matrix in matrices(), first in 0..9_usize, count in 0..9_usize) {
        let first = first.min(matrix.rows());
        let count = count.min(matrix.rows() - first);
        let view: CsMatViewI<f64, u32> = (&matrix).try_into().unwrap();
        let rows = Csr::try_from(view.slice_outer(first..first + count)).unwrap();
        prop_assert_eq!((rows.rows(), rows.columns()), (count, matrix.columns()));
        prop_assert!((0..count).all(|row| rows.row(row).eq(matrix.row(first + row))));
    }
}

#[test]
fn arrays_of_the_same_types_are_not_copied() {
    let matrix = Csr::try_from_triplets(2, 3, &[0, 1], &[2, 1], &[1.0, 2.0]).unwrap();
    let (columns, values) = (matrix.column_indices().as_ptr(), matrix.values().as_ptr());
    let view: CsMatViewI<f64, u32> = (&matrix).try_into().unwrap();
    assert_eq!((view.indices().as_ptr(), view.data().as_ptr()), (columns, values));

    let theirs: CsMatI<f64, u32> = matrix.try_into().unwrap();
    let offsets = theirs.indptr().raw_storage().as_ptr();
    assert_eq!((theirs.indices().as_ptr(), theirs.data().as_ptr()), (columns, values));
    let matrix = Csr::try_from(theirs).unwrap();
    let Offsets::Narrow(narrow) = matrix.row_offsets() else { panic!("few entries") };
    assert_eq!(
        (narrow.as_ptr(), matrix.column_indices().as_ptr(), matrix.values().as_ptr()),
        (offsets, columns, values)
    );

    // With other index types, the values are moved.
    let theirs: CsMatI<f64, usize> = matrix.try_into().unwrap();
    assert_eq!(theirs.data().as_ptr(), values);
    assert_eq!(Csr::try_from(theirs).unwrap().values().as_ptr(), values);
}

#[test]
fn what_sprs_cannot_hold_is_an_error() {
    check_refused(CsMatI::<f64, u32>::try_from(unsorted()), 1);
    check_refused(CsMatI::<f64, usize>::try_from(twice()), 0);
    check_refused(CsMatViewI::<f64, u32>::try_from(&unsorted()), 1);
    let matrix = Csr::try_new(1, 1, vec![0_u32, 1], vec![0], vec![1.0]).unwrap();
    let error = CsMatViewI::<f64, u32, u64>::try_from(&matrix).unwrap_err().to_string();
    assert_eq!(error, "CSR matrix: the row offsets are u32, but those of the view are not");
    // As for matrices of more than 2^32 entries.
    let matrix = Csr::try_new(1, 1, Offsets::Wide(vec![0, 1]), vec![0], vec![1.0]).unwrap();
    let error = CsMatViewI::<f64, u32>::try_from(&matrix).unwrap_err().to_string();
    assert_eq!(error, "CSR matrix: the row offsets are u64, but those of the view are not");
    assert_eq!(CsMatViewI::<f64, u32, u64>::try_from(&matrix).unwrap().data(), [1.0]);
    assert_eq!(CsMatI::<f64, u32>::try_from(matrix).unwrap().data(), [1.0]);
}

#[test]
fn a_matrix_that_is_too_large_is_an_error() {
    let wide = CsMatI::<f64, u64>::new((1, 3_000_000_000), vec![0, 1], vec![2_999_999_999], vec![1.0]);
    check_too_large(Csr::try_from(wide.view()), "columns");
    check_too_large(Csr::try_from(wide.transpose_view()), "rows");
    check_too_large(Csr::try_from(wide), "columns");
}
