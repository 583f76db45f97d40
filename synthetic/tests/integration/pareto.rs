//! The power-law rows of `Pareto`.

use host::Csr;
use host::format::LARGEST_DIMENSION;
use synthetic::{Generate, Pareto};

/// The number of rows at least `base + d` long, against P(δ >= d) = (scale / d)^k. The seed is fixed, and a wrong
/// distribution misses by far more than five standard deviations.
#[test]
fn lengths_follow_the_distribution() {
    for k in [1.0, 1.5, 2.0, 4.0] {
        for (base, scale) in [(32, 1.0), (3, 1.0), (0, 2.5)] {
            let pareto = Pareto { base, scale, seed: 11, ..Pareto::new(30_000, k) };
            let matrix: Csr<f32> = pareto.generate().unwrap();
            let smallest = base + scale as usize;
            assert_eq!(matrix.row_lengths().min(), Some(smallest));
            for d in [2, 3, 4, 8, 16, 100, 1000] {
                let probability = (scale / f64::from(d)).powf(k).min(1.0);
                let found = matrix.row_lengths().filter(|&length| length >= base + d as usize).count() as f64;
                let expected = 30_000.0 * probability;
                let deviation = (expected * (1.0 - probability)).sqrt();
                assert!(
                    (found - expected).abs() <= 5.0 * deviation + 1.0,
                    "{pareto}: {found} rows of {base} + {d} or more, expected {expected} with deviation {deviation}"
                );
            }
        }
    }
}

/// With scale 1, E⌊δ⌋ = Σ_{d ≥ 1} P(δ ≥ d) = ζ(k); its variance is 2ζ(k−1) − ζ(k) − ζ(k)².
#[test]
fn mean_length() {
    const ZETA: [f64; 3] = [1.644_934_066_848_226_4, 1.202_056_903_159_594_2, 1.082_323_233_711_138_2];
    for (k, zeta, before) in [(3.0, ZETA[1], ZETA[0]), (4.0, ZETA[2], ZETA[1])] {
        let matrix: Csr<f32> = Pareto { base: 3, ..Pareto::new(100_000, k) }.generate().unwrap();
        let mean = matrix.nnz() as f64 / 1e5 - 3.0;
        let deviation = ((2.0 * before - zeta - zeta * zeta) / 1e5).sqrt();
        assert!((mean - zeta).abs() <= 5.0 * deviation, "k {k}: {mean}, expected {zeta} with deviation {deviation}");
    }
}

/// The estimate against the exact mean E min(⌊δ⌋, room) = Σ P(δ ≥ d) over d = 1 to room, and that against the
/// matrix, with the variance from E min(⌊δ⌋, room)² = Σ (2d − 1) P(δ ≥ d).
#[test]
fn expected_entries() {
    for k in [0.5, 1.0, 1.000_001, 1.5, 4.0, 50.0] {
        for (base, columns, scale) in [(32, 30_000, 1.0), (0, 2000, 3.5), (32, 40, 1.0), (32, 34, 5.0), (50, 40, 1.0)] {
            let pareto = Pareto { base, columns, scale, ..Pareto::new(30_000, k) };
            let (mut mean, mut square) = (0.0, 0.0);
            for d in 1..=columns.saturating_sub(base) {
                let probability = (scale / d as f64).powf(k).min(1.0);
                mean += probability;
                square += (2 * d - 1) as f64 * probability;
            }
            let deviation = (30_000.0 * (square - mean * mean).max(0.0)).sqrt();
            let mean = 30_000.0 * (base.min(columns) as f64 + mean);
            let estimate = pareto.expected_nnz() as f64;
            // δ is not rounded down in the estimate: up to one entry a row.
            assert!((mean - 1.0..=mean + 30_000.0).contains(&estimate), "{pareto}: {estimate}, mean {mean}");
            let found = pareto.generate::<f32>().unwrap().nnz() as f64;
            assert!(
                (found - mean).abs() <= 5.0 * deviation + 1e-3,
                "{pareto}: {found} entries, expected {mean} with deviation {deviation}"
            );
        }
    }
}

#[test]
fn columns_are_distinct_sorted_and_capped() {
    for (base, columns, k) in [(32, 40, 1.0), (32, 32, 1.0), (32, 10, 2.0), (0, 1, 0.1), (100, 1000, 0.3)] {
        let matrix: Csr<f64> = Pareto { base, columns, ..Pareto::new(3000, k) }.generate().unwrap();
        assert_eq!((matrix.rows(), matrix.columns()), (3000, columns));
        // These are so small or so heavy-tailed that some row is full.
        assert_eq!(matrix.longest_row(), columns);
        for row in 0..3000 {
            let entries: Vec<_> = matrix.row(row).collect();
            assert!(entries.is_sorted_by(|left, right| left.0 < right.0), "row {row}");
            assert!(entries.iter().all(|(_, value)| (0.5..=1.0).contains(&value.abs())), "row {row}");
        }
    }
}

/// A scale below 1 leaves rows without entries.
#[test]
fn empty_rows() {
    let matrix: Csr<f32> = Pareto { base: 0, scale: 0.5, ..Pareto::new(10_000, 1.0) }.generate().unwrap();
    let empty = matrix.row_lengths().filter(|&length| length == 0).count();
    // P(δ < 1) = 1/2: standard deviation 50.
    assert!((4750..=5250).contains(&empty), "{empty}");
}

/// Short rows are drawn by rejection, dense ones by selection; neither prefers a part of the matrix.
#[test]
fn columns_are_uniform() {
    for (base, columns) in [(32, 30_000), (500, 1000)] {
        let matrix: Csr<f32> = Pareto { base, columns, ..Pareto::new(3000, 4.0) }.generate().unwrap();
        let mut tenths = [0usize; 10];
        for &column in matrix.column_indices() {
            tenths[column as usize * 10 / columns] += 1;
        }
        let expected = matrix.nnz() as f64 / 10.0;
        for count in tenths {
            // Drawing without replacement spreads less than this.
            assert!((count as f64 - expected).abs() <= 5.0 * expected.sqrt(), "{tenths:?}");
        }
    }
}

#[test]
fn refuses_parameters_out_of_range() {
    let good = Pareto::new(10, 1.0);
    for (parameter, bad) in [
        ("rows", Pareto { rows: 0, ..good }),
        ("rows", Pareto { rows: usize::MAX, ..good }),
        ("columns", Pareto { columns: 0, ..good }),
        ("columns", Pareto { columns: LARGEST_DIMENSION + 1, ..good }),
        ("base", Pareto { base: usize::MAX, ..good }),
        ("k", Pareto { k: 0.0, ..good }),
        ("k", Pareto { k: f64::NAN, ..good }),
        ("k", Pareto { k: f64::INFINITY, ..good }),
        ("scale", Pareto { scale: -1.0, ..good }),
    ] {
        match bad.generate::<f32>() {
            Err(synthetic::Error::Parameter { parameter: named, .. }) => assert_eq!(named, parameter, "{bad}"),
            other => panic!("{bad}: {other:?}"),
        }
    }
}

#[test]
fn refuses_a_size_that_no_machine_has_before_allocating() {
    let pareto = Pareto { base: 100_000, ..Pareto::new(LARGEST_DIMENSION, 1.0) };
    let error = pareto.generate::<f64>().unwrap_err();
    assert!(matches!(error, synthetic::Error::Matrix(host::Error::TooLarge { .. })), "{error}");
}
