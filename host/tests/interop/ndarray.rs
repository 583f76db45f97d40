use ::ndarray::{Array1, Array2, array, s};
use host::executor::Cpu;
use host::interop::ndarray::into_vec;
use host::{Csr, Format, Plan};
use proptest::prelude::*;

use super::{matrices, product};

proptest! {
    #[test]
    fn views_are_multiplied_where_they_lie(matrix in matrices(), before in 0..3_usize, after in 0..3_usize) {
        let x = Array1::from_iter((0..before + matrix.columns() + after).map(|place| place as f64 - 4.0));
        let mut y = Array1::from_elem(before + matrix.rows() + after, 7.0);
        let mut plan = Plan::with_format(&Cpu::new(), matrix.clone(), Format::CSR_SCALAR).unwrap();
        let x = x.slice(s![before..before + matrix.columns()]);
        plan.apply_arrays(1.0, x, 0.0, y.slice_mut(s![before..before + matrix.rows()])).unwrap();
        let mut expected = vec![7.0; before];
        expected.extend(product(&matrix, x.as_slice().unwrap()));
        expected.extend(vec![7.0; after]);
        prop_assert_eq!(into_vec(y).unwrap(), expected);
    }

    #[test]
    fn arrays_of_any_layout_become_vectors(length in 0..20_isize, first in 0..5_isize, step in 1..4_isize, back: bool) {
        let array = Array1::from_iter((0..length).map(|place| place as f64));
        let first = first.min(length);
        let cut = array.slice_move(s![first..;if back { -step } else { step }]);
        let expected: Vec<_> = cut.iter().copied().collect();
        prop_assert_eq!(into_vec(cut).unwrap(), expected);
    }
}

#[test]
fn an_array_is_moved() {
    let x = array![1.0, 2.0, 3.0];
    let elements = x.as_ptr();
    let vector = into_vec(x).unwrap();
    assert_eq!(vector.as_ptr(), elements);
    assert_eq!(Array1::from(vector).as_ptr(), elements);
}

#[test]
fn elements_that_lie_apart_are_an_error() {
    let matrix = Csr::try_from_triplets(2, 2, &[0, 1], &[0, 1], &[1.0, 2.0]).unwrap();
    let mut plan = Plan::with_format(&Cpu::new(), matrix, Format::CSR_SCALAR).unwrap();
    let (mut table, x) = (Array2::from_elem((2, 3), 5.0), array![1.0, 2.0]);
    let error = plan.apply_arrays(1.0, table.column(0), 0.0, x.clone().view_mut()).unwrap_err();
    assert_eq!(error.to_string(), "the stride of x is 3, expected 1: contiguous elements");
    let error = plan.apply_arrays(1.0, x.view(), 0.0, table.column_mut(1)).unwrap_err();
    assert_eq!(error.to_string(), "the stride of y is 3, expected 1: contiguous elements");
    let error = plan.apply_arrays(1.0, x.slice(s![..;-1]), 0.0, x.clone().view_mut()).unwrap_err();
    assert_eq!(error.to_string(), "the stride of x is -1, expected 1: contiguous elements");
    assert_eq!(table, Array2::from_elem((2, 3), 5.0));
}
