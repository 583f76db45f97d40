//! Shared by the tests of several peers.

use host::verify::{exact, verify};
use host::{Csr, Scalar};
use synthetic::Generator;

use super::BOUND;

pub fn generated<T: Scalar>(text: &str) -> Csr<T> {
    text.parse::<Generator>().unwrap().generate().unwrap()
}

/// Small matrices of several structures.
pub fn matrices<T: Scalar>() -> Vec<(String, Csr<T>)> {
    let generators = [
        "stencil:27:9x7x5",
        "stencil:5:20x31",
        "elasticity:width=4",
        "pareto:rows=400,k=1.2,base=3",
        "rectangle:rows=90,columns=700,per-row=11",
        "rectangle:rows=1000,columns=8,per-row=2",
    ];
    let mut matrices: Vec<_> = generators.iter().map(|text| (text.to_string(), generated(text))).collect();
    // Empty rows at both ends, and a long one.
    let rows: Vec<u32> = (0..300).map(|entry| if entry % 7 == 0 { 5 + entry / 7 } else { 40 }).collect();
    let columns: Vec<u32> = (0..300).collect();
    let values: Vec<T> = (0..300).map(|entry| T::from_f64(f64::from(entry) / 7.0 - 20.0)).collect();
    let csr = |rows, columns, entries: [&[u32]; 2], values| {
        Csr::try_from_triplets(rows, columns, entries[0], entries[1], values).unwrap()
    };
    matrices.push(("empty rows".into(), csr(100, 300, [&rows, &columns], &values)));
    matrices.push(("1 x 1".into(), csr(1, 1, [&[0], &[0]], &[T::from_f64(-1.5)])));
    matrices
}

pub fn vector<T: Scalar>(length: usize) -> Vec<T> {
    (0..length).map(|place| T::from_f64((place as f64 + 0.5).sin())).collect()
}

/// Checks a multiplication y ← y + A x with y = 0.
pub fn verified<T: Scalar>(name: &str, matrix: &Csr<T>, multiply: impl FnOnce(&[T], &mut [T])) {
    let x = vector(matrix.columns());
    let mut y = vec![T::ZERO; matrix.rows()];
    multiply(&x, &mut y);
    let exact = exact(matrix, T::ONE, &x, T::ZERO, &y).unwrap();
    let verification = verify(&y, &exact, BOUND).unwrap();
    assert!(verification.passed(), "{name}: {verification:?}");
}
