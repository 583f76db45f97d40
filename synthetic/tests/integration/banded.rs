//! The diagonals of `Banded`.

use std::collections::BTreeSet;

use host::Csr;
use host::format::LARGEST_DIMENSION;
use synthetic::{Banded, Generate};

#[test]
fn fills_the_diagonals_around_the_main_one() {
    for (bands, offsets) in [(1, 0..=0), (2, 0..=1), (3, -1..=1), (4, -1..=2), (9, -4..=4), (39, -19..=19)] {
        let banded = Banded::new(20, bands);
        let matrix: Csr<f64> = banded.generate().unwrap();
        let mut expected = BTreeSet::new();
        for row in 0..20i64 {
            expected.extend(offsets.clone().map(|offset| (row, row + offset)).filter(|(_, c)| (0..20).contains(c)));
        }
        let entries = (0..20).flat_map(|row| matrix.row(row).map(move |(column, _)| (row as i64, i64::from(column))));
        assert!(entries.eq(expected.iter().copied()), "{banded}");
        assert_eq!((matrix.rows(), matrix.columns()), (20, 20));
        assert_eq!(matrix.nnz() as u128, banded.expected_nnz(), "{banded}");
        assert!(matrix.values().iter().all(|value| (0.5..=1.0).contains(&value.abs())));
    }
}

/// Bell & Garland 2009, §4.2: 256 K rows.
#[test]
fn the_papers_size() {
    let matrix: Csr<f32> = Banded::new(262_144, 7).generate().unwrap();
    assert_eq!(matrix.nnz(), 7 * 262_144 - 2 * (1 + 2 + 3));
    assert!((3..262_144 - 3).all(|row| matrix.range(row).len() == 7));
}

#[test]
fn refuses_bands_outside_the_matrix() {
    for (rows, bands) in [(0, 1), (20, 0), (20, 40), (1, 2), (usize::MAX, 1), (5, usize::MAX)] {
        let error = Banded::new(rows, bands).generate::<f32>().unwrap_err();
        assert!(matches!(error, synthetic::Error::Parameter { .. }), "{rows} {bands}: {error}");
    }
}

#[test]
fn refuses_a_size_that_no_machine_has_before_allocating() {
    let error = Banded::new(LARGEST_DIMENSION, 2 * LARGEST_DIMENSION - 1).generate::<f64>().unwrap_err();
    assert!(matches!(error, synthetic::Error::Matrix(host::Error::TooLarge { .. })), "{error}");
}
