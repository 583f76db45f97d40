//! Products of two sparse matrices: the same bits as on the CPU.

use warp_spmv::executor::{Cpu, Executor};
use warp_spmv::format::Matrix;
use warp_spmv::sparse_product::{SparseProduct, multiply};
use warp_spmv::{Csr, Scalar};

use super::{Numbers, generated, with_rows, with_wide_offsets};

/// Returns pairs of small matrices: row lengths around a warp, unsorted and with repeated columns; no, one and all
/// columns; sorted rows; rows for tables of several sizes.
pub fn pairs<T: Scalar>() -> Vec<(Csr<T>, Csr<T>)> {
    let mut numbers = Numbers::new(41);
    let mut pair = |inner, left: &[usize], columns, right: &[usize]| {
        (with_rows(inner, left, &mut numbers), with_rows(columns, right, &mut numbers))
    };
    let around_a_warp = [31, 32, 33, 0, 1, 63, 64, 65, 2, 0];
    let mut pairs = vec![
        pair(1, &[], 5, &[2]),
        pair(1, &[0, 0], 5, &[0]),
        pair(10, &around_a_warp, 200, &around_a_warp),
        pair(10, &[1, 0, 3, 40], 3, &around_a_warp),
        pair(1, &[1; 40], 100, &[90]),
        pair(60, &[3; 30], 1, &[1; 60]),
    ];
    let mut sorted = pair(30, &[4, 0, 9, 1, 25, 2, 2], 700, &[5, 0, 12, 1, 7, 3].repeat(5));
    sorted.0.sort_rows().unwrap();
    sorted.1.sort_rows().unwrap();
    sorted.1.sum_duplicates().unwrap();
    pairs.push(sorted);
    pairs
}

/// Returns pairs with enough work for a GPU: squares of stencils and of long rows, and a dense row.
#[allow(dead_code, reason = "the GPU program takes them")]
pub fn larger_pairs<T: Scalar>() -> Vec<(String, Csr<T>, Csr<T>)> {
    let mut pairs = Vec::new();
    for name in [
        "stencil:5:300x200",
        "stencil:7:40",
        "stencil:27:25",
        "pareto:rows=20000,k=1.2,base=3",
        "barabasi-albert:vertices=20000,edges-per-vertex=4",
    ] {
        let matrix = generated::<T>(name);
        pairs.push((format!("the square of {name}"), matrix.clone(), matrix));
    }
    let mut numbers = Numbers::new(42);
    let mut rows = vec![3; 2000];
    rows[7] = 40_000;
    let (left, right) = (with_rows(2000, &rows, &mut numbers), with_rows(300_000, &[20; 2000], &mut numbers));
    pairs.push(("one dense row".into(), left, right));
    // Rows of the product with up to all columns: tables of every size, and bits for the longest rows.
    let lengths: Vec<usize> = (0..18).flat_map(|size| [(3 << size) / 4, (3 << size) / 4 + 1]).collect();
    let right = with_rows(1_000_000, &lengths, &mut numbers);
    pairs.push(("rows of every size".into(), with_rows(lengths.len(), &[1; 400], &mut numbers), right));
    pairs
}

/// Multiplies, then computes the product with new values: both have the same bits as on the CPU.
pub fn check_sparse_product<T: Scalar, E: Executor>(executor: &E, name: &str, left: &Csr<T>, right: &Csr<T>) {
    let expected = multiply(left, right).unwrap();
    let place = format!("{name}, {}", T::NAME);
    let upload = |matrix: &Csr<T>| matrix.clone().upload(executor).unwrap();
    let (on_left, on_right) = (upload(left), upload(right));
    let mut product =
        SparseProduct::new(executor, &on_left, &on_right).unwrap_or_else(|error| panic!("{place}: {error}"));
    let same = |product: &Csr<T, E::Memory>, expected: &Csr<T>, what: &str| {
        let copy = Matrix::Csr(product.duplicate(executor).unwrap());
        assert!(copy.download(executor).unwrap().into_csr().unwrap() == *expected, "{place}: {what} has other bits");
    };
    same(product.matrix(), &expected, "the product");
    let mut new = right.clone();
    new.values_mut().iter_mut().for_each(|value| *value = *value * T::from_f64(0.75) - T::ONE);
    let expected = SparseProduct::new(&Cpu::new(), left, &new).unwrap().into_matrix();
    let computed =
        product.compute(executor, &on_left, &upload(&new)).unwrap_or_else(|error| panic!("{place}: {error}"));
    same(computed, &expected, "the product with new values");
}

/// [`check_sparse_product`] of the small pairs, with offsets of both widths. Returns the number of products.
pub fn check_sparse_products<T: Scalar, E: Executor>(executor: &E) -> usize {
    let pairs = pairs::<T>();
    for (number, (left, right)) in pairs.iter().enumerate() {
        check_sparse_product(executor, &format!("pair {number}"), left, right);
        let [left, right] = [left, right].map(with_wide_offsets);
        check_sparse_product(executor, &format!("pair {number}, wide"), &left, &right);
    }
    2 * pairs.len()
}
