use proptest::prelude::*;

use super::{SparseProduct, multiply};
use crate::Complex;
use crate::error::Error;
use crate::format::{Csr, Offsets};
use crate::real::Scalar;

/// The product by definition: entries in the order of their products, columns sorted.
pub(super) fn naive<T: Scalar>(left: &Csr<T>, right: &Csr<T>) -> Csr<T> {
    let (mut offsets, mut columns, mut values) = (vec![0_u64], Vec::new(), Vec::new());
    for row in 0..left.rows() {
        let mut sums = std::collections::BTreeMap::<u32, T>::new();
        for (inner, factor) in left.row(row) {
            for (column, value) in right.row(inner as usize) {
                let product = factor * value;
                sums.entry(column).and_modify(|sum| *sum = *sum + product).or_insert(product);
            }
        }
        columns.extend(sums.keys());
        values.extend(sums.values());
        offsets.push(columns.len() as u64);
    }
    Csr::try_new(left.rows(), right.columns(), Offsets::try_from(offsets).unwrap(), columns, values).unwrap()
}

/// A matrix with rows of these lengths, in no order and with columns more than once where there are few.
pub(super) fn mixed<T: Scalar>(lengths: &[usize], columns: usize, seed: u32) -> Csr<T> {
    let mut state = seed.wrapping_mul(2_654_435_769) | 1;
    let mut next = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    let mut offsets = vec![0_u32];
    let (mut column_indices, mut values) = (Vec::new(), Vec::new());
    for &length in lengths {
        for _ in 0..if columns == 0 { 0 } else { length } {
            column_indices.push(next() % columns as u32);
            let [re, im] = [next(), next()].map(|number| f64::from(number) / f64::from(1 << 23) - 1.0);
            values.push(T::from_parts(re, im));
        }
        offsets.push(column_indices.len() as u32);
    }
    Csr::try_new(lengths.len(), columns, offsets, column_indices, values).unwrap()
}

/// The same with 64-bit offsets.
pub(super) fn wide<T: Scalar>(matrix: &Csr<T>) -> Csr<T> {
    let offsets = (0..=matrix.rows()).map(|row| matrix.row_offsets().get(row) as u64).collect();
    Csr { row_offsets: Offsets::Wide(offsets), ..matrix.clone() }
}

/// Pairs of matrices that products are hard on.
pub(super) fn hard_pairs<T: Scalar>() -> Vec<(Csr<T>, Csr<T>)> {
    let around_warps = [31, 32, 33, 0, 1, 63, 64, 65, 2, 0];
    let mut pairs = vec![
        (mixed(&[], 0, 1), mixed(&[], 0, 2)),
        (mixed(&[], 5, 1), mixed(&[1, 0, 2, 3, 4], 7, 2)),
        (mixed(&[0, 0, 0], 0, 1), mixed(&[], 4, 2)),
        (mixed(&[2, 0, 1], 3, 1), mixed(&[0, 0, 0], 0, 2)),
        (mixed(&[2, 0, 1], 3, 1), mixed(&[0, 0, 0], 9, 2)),
        (mixed(&around_warps, 10, 3), mixed(&around_warps, 200, 4)),
        (mixed(&around_warps, 10, 5), mixed(&around_warps, 3, 6)),
        // One dense row and one dense column.
        (mixed(&[0, 90, 1, 0], 40, 7), mixed(&[3; 40], 1000, 8)),
        (mixed(&[1; 70], 1, 9), mixed(&[150], 100, 10)),
        (mixed(&[3; 50], 60, 11), mixed(&[1; 60], 1, 12)),
    ];
    // Sorted, with no column twice.
    let lengths: Vec<usize> = (0..40).map(|row| row * 7 % 12).collect();
    let (mut left, mut right) = (mixed(&lengths, 40, 13), mixed(&lengths, 40, 14));
    left.sort_and_sum().unwrap();
    right.sort_and_sum().unwrap();
    pairs.push((left, right));
    pairs
}

fn check<T: Scalar>(left: &Csr<T>, right: &Csr<T>) {
    let expected = naive(left, right);
    let product = multiply(left, right).unwrap();
    assert!(product == expected, "{left:?}\n{right:?}\n{product:?}\n{expected:?}");
    assert_eq!(product.row_offsets().width(), 4);
    assert!(multiply(&wide(left), &wide(right)).unwrap() == expected);
    let mut kept = SparseProduct::new(left, right).unwrap();
    let (mut new_left, mut new_right) = (left.clone(), right.clone());
    for values in [new_left.values_mut(), new_right.values_mut()] {
        values
            .iter_mut()
            .zip(1..)
            .for_each(|(value, number)| *value = *value * T::from_f64(f64::from(number)) - T::ONE);
    }
    assert!(*kept.compute(&new_left, &new_right).unwrap() == naive(&new_left, &new_right));
    assert!(*kept.compute(left, right).unwrap() == expected);
    assert!(kept.into_matrix() == expected);
}

#[test]
fn hard_shapes_have_the_bits_of_the_definition() {
    fn check_all<T: Scalar>() {
        hard_pairs::<T>().iter().for_each(|(left, right)| check(left, right));
    }
    check_all::<f32>();
    check_all::<f64>();
    check_all::<Complex<f32>>();
    check_all::<Complex<f64>>();
}

#[test]
fn entries_that_cancel_stay() {
    let left = Csr::<f64>::try_new(1, 2, vec![0_u32, 2], vec![0, 1], vec![1.0, -1.0]).unwrap();
    let right = Csr::try_new(2, 2, vec![0_u32, 1, 3], vec![1, 1, 0], vec![5.0, 5.0, -0.0]).unwrap();
    let product = multiply(&left, &right).unwrap();
    let expected = Csr::try_new(1, 2, vec![0_u32, 2], vec![0, 1], vec![0.0, 0.0]).unwrap();
    assert_eq!(product, expected);
    // The first product begins the sum: -0 stays.
    let right = Csr::try_new(2, 2, vec![0_u32, 1, 1], vec![0], vec![-0.0]).unwrap();
    let product = multiply(&left, &right).unwrap();
    assert_eq!(product.values()[0].to_bits(), (-0.0_f64).to_bits());
    let mut kept = SparseProduct::new(&left, &right).unwrap();
    assert_eq!(kept.compute(&left, &right).unwrap().values()[0].to_bits(), (-0.0_f64).to_bits());
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let rows = if cfg!(miri) { 60 } else { 1000 };
    let lengths: Vec<usize> = (0..rows).map(|row| if row == 77 { 400 } else { row * 5 % 9 }).collect();
    let (left, right) = (mixed::<f32>(&lengths, rows, 1), mixed::<f32>(&lengths, 300, 2));
    let expected = naive(&left, &right);
    for threads in [1, 2, 7] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert!(pool.install(|| multiply(&left, &right)).unwrap() == expected, "{threads} threads");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let left = mixed::<f64>(&[2, 2], 3, 1);
    let right = mixed::<f64>(&[1, 1, 1], 4, 2);
    let error = multiply(&right, &right).unwrap_err().to_string();
    assert_eq!(error, "each column of the right matrix has length 3, expected 4");
    let mut kept = SparseProduct::new(&left, &right).unwrap();
    let refused = [
        (mixed(&[2, 2], 4, 1), mixed(&[1, 1, 1, 1], 4, 2)),
        (mixed(&[2, 2, 0], 3, 1), right.clone()),
        (left.clone(), mixed(&[1, 1, 1], 5, 2)),
        (mixed(&[2, 3], 3, 1), right.clone()),
        (left.clone(), mixed(&[1, 1, 2], 4, 2)),
    ];
    for (left, right) in refused {
        assert!(matches!(kept.compute(&left, &right), Err(Error::Length { .. })));
    }
    // As many entries, elsewhere.
    let [mut left, mut right] = [left, right];
    left.column_indices.fill(0);
    let mut kept = SparseProduct::new(&left, &right).unwrap();
    right.column_indices.iter_mut().for_each(|column| *column = (*column + 1) % 4);
    let error = kept.compute(&left, &right).unwrap_err().to_string();
    assert!(error.contains("kept pattern"), "{error}");
}

fn any_pair() -> impl Strategy<Value = (Csr<f64>, Csr<f64>)> {
    let lengths = |rows| prop::collection::vec(0..12_usize, rows);
    (0..20_usize, 0..20_usize, 0..40_usize, any::<u32>()).prop_flat_map(move |(rows, inner, columns, seed)| {
        (lengths(rows), lengths(inner))
            .prop_map(move |(left, right)| (mixed(&left, inner, seed), mixed(&right, columns, !seed)))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 5 } else { 256 }, ..ProptestConfig::default() })]

    #[test]
    fn any_product_has_the_bits_of_the_definition((left, right) in any_pair()) {
        check(&left, &right);
    }
}
