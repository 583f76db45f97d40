//! Reorderings of rows and columns.

use host::Csr;
use proptest::prelude::*;
use synthetic::Generator;
use synthetic::reorder::{Ordering, bandwidth, by_row_length, reverse_cuthill_mckee, shuffle};

fn generate(text: &str) -> Csr<f64> {
    text.parse::<Generator>().unwrap().generate().unwrap()
}

fn multiply(matrix: &Csr<f64>, x: &[f64]) -> Vec<f64> {
    (0..matrix.rows()).map(|row| matrix.row(row).map(|(column, value)| value * x[column as usize]).sum()).collect()
}

const SQUARE: [&str; 6] = [
    "stencil:5:30x20",
    "elasticity:width=6,voids=0.5",
    "rmat:scale=9,edges-per-vertex=3",
    "uniform:rows=700,per-row=0.8,lengths=poisson",
    "permutation:rows=300",
    "pareto:rows=400,base=1,k=1",
];

fn orderings(matrix: &Csr<f64>) -> [Ordering; 3] {
    [reverse_cuthill_mckee(matrix).unwrap(), by_row_length(matrix).unwrap(), shuffle(matrix.rows(), 3).unwrap()]
}

fn assert_valid(ordering: &Ordering, length: usize) {
    assert_eq!(ordering.len(), length);
    assert_eq!(&Ordering::try_new(ordering.old_places().to_vec()).unwrap(), ordering);
}

#[test]
fn are_permutations_that_inverses_undo() {
    for text in SQUARE {
        let matrix = generate(text);
        for ordering in orderings(&matrix) {
            assert_valid(&ordering, matrix.rows());
            let reordered = ordering.apply_symmetric(&matrix).unwrap();
            assert!(ordering.inverse().unwrap().apply_symmetric(&reordered).unwrap() == matrix, "{text}");
            let rows = ordering.apply_rows(&matrix).unwrap();
            assert!(ordering.inverse().unwrap().apply_rows(&rows).unwrap() == matrix, "{text}");
            assert_eq!(ordering.inverse().unwrap().inverse().unwrap(), ordering);
        }
    }
}

#[test]
fn products_are_permuted_alike() {
    for text in SQUARE {
        let matrix = generate(text);
        let x: Vec<f64> = (0..matrix.columns()).map(|column| ((column * 7 + 3) as f64).sin()).collect();
        let y = multiply(&matrix, &x);
        for ordering in orderings(&matrix) {
            let expected = ordering.apply(&y).unwrap();
            // Rows only: the same sums in the same order.
            assert_eq!(multiply(&ordering.apply_rows(&matrix).unwrap(), &x), expected, "{text}");
            let symmetric = multiply(&ordering.apply_symmetric(&matrix).unwrap(), &ordering.apply(&x).unwrap());
            for (found, expected) in symmetric.iter().zip(&expected) {
                assert!((found - expected).abs() <= 1e-10, "{text}: {found}, expected {expected}");
            }
            assert_eq!(ordering.inverse().unwrap().apply(&expected).unwrap(), y, "{text}");
        }
    }
}

#[test]
fn cuthill_mckee_brings_a_shuffled_mesh_back_near_the_diagonal() {
    for (text, best) in
        [("stencil:5:40x15", 15), ("stencil:27:8x8x40", 73), ("stencil:3:1000", 1), ("banded:rows=500,bands=7", 3)]
    {
        let natural = generate(text);
        let shuffled = shuffle(natural.rows(), 1).unwrap().apply_symmetric(&natural).unwrap();
        let reordered = reverse_cuthill_mckee(&shuffled).unwrap().apply_symmetric(&shuffled).unwrap();
        assert!(bandwidth(&natural) >= best, "{text}");
        let [before, after] = [&shuffled, &reordered].map(bandwidth);
        assert!(before > natural.rows() / 2 && after <= 3 * best, "{text}: {before}, then {after}");
    }
    // A line comes back as it was, or reversed.
    let line = generate("stencil:3:1000");
    let shuffled = shuffle(1000, 1).unwrap().apply_symmetric(&line).unwrap();
    assert!(reverse_cuthill_mckee(&shuffled).unwrap().apply_symmetric(&shuffled).unwrap() == line);
}

/// Entries above the diagonal only, rows without entries, and disconnected components.
#[test]
fn cuthill_mckee_of_any_square_matrix() {
    let matrix = Csr::try_from_triplets(7, 7, &[0, 0, 2, 3], &[6, 0, 5, 5], &[1.0; 4]).unwrap();
    let ordering = reverse_cuthill_mckee(&matrix).unwrap();
    assert_valid(&ordering, 7);
    assert_eq!(bandwidth(&ordering.apply_symmetric(&matrix).unwrap()), 1);
    for rows in [0, 1, 5] {
        let empty: Csr<f64> = Csr::try_from_triplets(rows, rows, &[], &[], &[]).unwrap();
        assert_valid(&reverse_cuthill_mckee(&empty).unwrap(), rows);
        assert_eq!(bandwidth(&empty), 0);
    }
}

#[test]
fn longest_rows_come_first() {
    let matrix = generate("pareto:rows=2000,base=0,k=1,seed=4");
    let sorted = by_row_length(&matrix).unwrap().apply_rows(&matrix).unwrap();
    assert!(sorted.row_lengths().collect::<Vec<_>>().is_sorted_by(|left, right| left >= right));
    assert!(!matrix.row_lengths().collect::<Vec<_>>().is_sorted_by(|left, right| left >= right));
    let equal = generate("banded:rows=9,bands=1");
    assert!(by_row_length(&equal).unwrap().old_places().iter().copied().eq(0..9));
}

#[test]
fn refuses_what_does_not_fit() {
    for bad in [vec![0, 0], vec![1, 2], vec![u32::MAX]] {
        let error = Ordering::try_new(bad).unwrap_err();
        assert!(matches!(error, host::Error::Structure { .. }), "{error}");
    }
    let wide = generate("rectangle:rows=9,columns=20,per-row=3");
    let ordering = shuffle(9, 0).unwrap();
    assert!(reverse_cuthill_mckee(&wide).is_err());
    assert!(ordering.apply_symmetric(&wide).is_err());
    assert!(ordering.apply_rows(&wide).is_ok());
    assert!(ordering.apply_rows(&generate("dense:rows=8")).is_err());
    assert!(ordering.apply(&[0; 8]).is_err());
    assert!(shuffle(usize::MAX, 0).is_err());
    assert!(shuffle(0, 0).unwrap().is_empty());
    assert!(shuffle(99, 0).unwrap() != shuffle(99, 1).unwrap());
}

proptest! {
    #[test]
    fn any_square_matrix_is_reordered_and_back(
        entries in (1u32..40).prop_flat_map(|n| (Just(n), prop::collection::vec((0..n, 0..n), 0..120))),
    ) {
        let (n, entries) = entries;
        let (rows, columns): (Vec<u32>, Vec<u32>) = entries.into_iter().unzip();
        let values: Vec<f64> = (0..rows.len()).map(|value| value as f64).collect();
        let matrix = Csr::try_from_triplets(n as usize, n as usize, &rows, &columns, &values).unwrap();
        for ordering in orderings(&matrix) {
            assert_valid(&ordering, n as usize);
            let there = ordering.apply_symmetric(&matrix).unwrap();
            prop_assert!(ordering.inverse().unwrap().apply_symmetric(&there).unwrap() == matrix);
        }
    }
}
