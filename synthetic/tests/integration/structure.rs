//! Dense, permutation, block-diagonal, uniform and rectangular matrices.

use host::{Csr, Scalar};
use synthetic::{
    BlockDiagonal, Dense, Generate, Generator, Permutation, Rectangle, RowLengths, Uniform, available_memory,
};

/// Checks what every matrix here has: ascending distinct columns, magnitudes from 1/2 to 1, and the predicted size.
fn checked<T: Scalar>(generator: &impl Generate) -> Csr<T> {
    let matrix: Csr<T> = generator.generate().unwrap();
    assert_eq!((matrix.rows(), matrix.columns()), (generator.rows(), generator.columns()), "{generator}");
    for row in 0..matrix.rows() {
        assert!(matrix.row(row).map(|(column, _)| column).is_sorted_by(|left, right| left < right), "{generator}");
    }
    assert!(matrix.values().iter().all(|value| (0.5..=1.0).contains(&value.parts()[0].abs())), "{generator}");
    matrix
}

fn column_lengths<T: Scalar>(matrix: &Csr<T>) -> Vec<usize> {
    let mut lengths = vec![0; matrix.columns()];
    for &column in matrix.column_indices() {
        lengths[column as usize] += 1;
    }
    lengths
}

#[test]
fn dense_has_every_entry() {
    for (rows, columns) in [(1, 1), (1, 3000), (3000, 1), (40, 50)] {
        let dense = Dense::new(rows, columns);
        let matrix: Csr<f64> = checked(&dense);
        assert_eq!(matrix.nnz(), rows * columns);
        assert!(matrix.row_lengths().all(|length| length == columns));
        assert_eq!(matrix.bytes(), dense.expected_bytes::<f64>());
    }
}

/// Bell & Garland 2009, Fig. 8; Koza et al. 2014, §6.2.
#[test]
fn dense_sizes_of_the_papers() {
    let sweep: Vec<_> = Dense::sweep(4_000_000).collect();
    assert_eq!((sweep[0].rows, sweep[0].columns), (1, 4_000_000));
    assert_eq!((sweep[10].rows, sweep[10].columns), (1024, 3906));
    assert_eq!((sweep[21].rows, sweep[21].columns), (1 << 21, 2));
    assert_eq!(sweep.len(), 22);
    assert!(sweep[..19].iter().all(|dense| dense.expected_nnz().abs_diff(4_000_000) < 300_000));
    assert!(Dense::sweep(0).next().is_none());
    assert_eq!("dense:rows=10000".parse::<Generator>().unwrap().expected_nnz(), 100_000_000);
}

#[test]
fn permutation_has_one_entry_in_each_row_and_column() {
    for rows in [1, 2, 3, 1000, 4097] {
        let matrix: Csr<f32> = checked(&Permutation::new(rows));
        assert!(matrix.row_lengths().all(|length| length == 1));
        assert!(column_lengths(&matrix).iter().all(|&length| length == 1));
        assert!(matrix.values().iter().all(|&value| value == 1.0));
    }
}

#[test]
fn block_diagonal_has_blocks_only() {
    for (blocks, size) in [(1, 1), (1, 70), (70, 1), (33, 32)] {
        let generator = BlockDiagonal::new(blocks, size);
        let matrix: Csr<f64> = checked(&generator);
        assert_eq!(matrix.nnz() as u128, generator.expected_nnz());
        for row in 0..matrix.rows() {
            let begin = (row / size * size) as u32;
            assert!(matrix.row(row).map(|(column, _)| column).eq(begin..begin + size as u32));
        }
    }
}

#[test]
fn uniform_rows_of_equal_length() {
    for (rows, columns, per_row) in [(3000, 500, 7.0), (3000, 500, 7.25), (3000, 20, 20.0), (3000, 500, 0.0)] {
        let matrix: Csr<f32> = checked(&Uniform::new(rows, columns, per_row));
        assert_eq!(matrix.nnz(), (rows as f64 * per_row) as usize);
        let floor = per_row as usize;
        assert!(matrix.row_lengths().all(|length| (floor..=floor + 1).contains(&length)), "{per_row}");
    }
}

/// Mean and variance of the lengths, and the fraction of empty rows, are those of the Poisson distribution.
#[test]
fn uniform_rows_of_poisson_length() {
    for per_row in [0.5, 4.0, 30.0] {
        let uniform = Uniform { lengths: RowLengths::Poisson, ..Uniform::new(20_000, 5000, per_row) };
        let matrix: Csr<f32> = checked(&uniform);
        let mean = matrix.nnz() as f64 / 2e4;
        assert!((mean - per_row).abs() < 5.0 * (per_row / 2e4).sqrt(), "{mean}");
        let variance = matrix.row_lengths().map(|length| (length as f64 - mean).powi(2)).sum::<f64>() / 2e4;
        // The variance of the sample variance is approximately (λ + 2 λ²) / n.
        let deviation = ((per_row + 2.0 * per_row * per_row) / 2e4).sqrt();
        assert!((variance - per_row).abs() < 5.0 * deviation, "{variance}");
        let empty = matrix.row_lengths().filter(|&length| length == 0).count() as f64;
        let expected = 2e4 * (-per_row).exp();
        assert!((empty - expected).abs() < 5.0 * expected.sqrt() + 1.0, "{empty} empty rows, expected {expected}");
    }
}

#[test]
fn uniform_columns_are_uniform() {
    let matrix: Csr<f32> = checked(&Uniform::new(30_000, 1000, 10.0));
    let lengths = column_lengths(&matrix);
    let chi_squared: f64 = lengths.iter().map(|&length| (length as f64 - 300.0).powi(2) / 300.0).sum();
    // 999 degrees of freedom: standard deviation 44.7; drawing without replacement takes a hundredth off.
    assert!((989.0 - 224.0..989.0 + 224.0).contains(&chi_squared), "{chi_squared}");
}

/// The r-th longest of n rows has (1 − β) (r / n)^−β times the mean.
#[test]
fn rectangle_skews_rows_and_columns() {
    let wide = Rectangle { row_skew: 0.5, column_skew: 0.4, ..Rectangle::new(2000, 100_000, 300.0) };
    let tall = Rectangle { row_skew: 0.3, column_skew: 0.4, ..Rectangle::new(50_000, 1000, 12.0) };
    for generator in [wide, tall, Rectangle::new(300, 40, 4.0)] {
        let matrix: Csr<f32> = checked(&generator);
        assert_eq!(matrix.nnz() as u128, generator.expected_nnz(), "{generator}");
        let mut rows: Vec<_> = matrix.row_lengths().collect();
        // Long rows are not first.
        assert_eq!(rows.is_sorted_by(|left, right| left >= right), generator.row_skew == 0.0 && rows[0] == rows[299]);
        rows.sort_unstable_by(|left, right| right.cmp(left));
        for (share, slack) in [(0.01, 0.05), (0.1, 0.03), (0.5, 0.02)] {
            let count = (rows.len() as f64 * share) as usize;
            let expected = share.powf(1.0 - generator.row_skew);
            let found = rows[..count].iter().sum::<usize>() as f64 / matrix.nnz() as f64;
            assert!(
                (found - expected).abs() < slack,
                "{generator}: {found} in the {share} longest, expected {expected}"
            );
        }
    }
    let mut columns = column_lengths(&checked::<f32>(&wide));
    assert!(!columns.is_sorted_by(|left, right| left >= right));
    columns.sort_unstable_by(|left, right| right.cmp(left));
    let found = columns[..10_000].iter().sum::<usize>() as f64 / 600_000.0;
    // Sorting by the drawn lengths raises the fraction above the requested one.
    let expected = 0.1f64.powf(0.6);
    assert!((expected - 0.01..expected + 0.06).contains(&found), "{found}, expected {expected}");
}

#[test]
fn refuses_what_does_not_fit_into_memory_before_allocating() {
    // 2.6 TB: less than the limit of this crate, more than machines have.
    let text = "uniform:rows=2000000000,per-row=100";
    let generator: Generator = text.parse().unwrap();
    let bytes = generator.expected_bytes::<f64>();
    assert!(available_memory().is_none_or(|available| available < bytes), "this machine is too large for the test");
    if available_memory().is_some() {
        for text in [text, "barabasi-albert:vertices=2000000000,edges-per-vertex=50", "webbase-like:times=2000"] {
            match text.parse::<Generator>().unwrap().generate::<f64>() {
                Err(error @ synthetic::Error::Memory { .. }) => assert_eq!(error.to_string().lines().count(), 1),
                other => panic!("{text}: {:?}", other.map(|matrix| matrix.nnz())),
            }
        }
    }
}

#[test]
fn every_generator_grows() {
    for text in [
        "stencil:7:10",
        "pareto:rows=4000,k=3",
        "banded:rows=1000,bands=5",
        "dense:rows=50",
        "permutation:rows=99",
        "uniform:rows=999,per-row=2.5",
        "rmat:scale=14,a=0.3,b=0.25,c=0.25",
        "small-world:vertices=999,neighbours=4,rewired=0.1",
        "barabasi-albert:vertices=999,edges-per-vertex=3",
        "rectangle:rows=40,columns=3000,per-row=99,row-skew=0.2",
        "block-diagonal:blocks=7,size=5",
        "elasticity:width=9",
        "harbor-like:",
        "qcd-like:",
        "epidemiology-like:",
    ] {
        let one: Generator = text.parse().unwrap();
        let four = one.times(4).unwrap();
        assert_eq!(four, format!("{text},times=4").replace(":,", ":").parse().unwrap());
        assert_eq!(four.rows(), 4 * one.rows(), "{text}");
        let [small, large] = [one, four].map(|generator| {
            let matrix: Csr<f32> = generator.generate().unwrap();
            let foretold = generator.expected_nnz() as f64;
            assert!((matrix.nnz() as f64 - foretold).abs() <= 0.02 * foretold, "{generator}: {}", matrix.nnz());
            matrix.nnz() as f64
        });
        assert!((large / small - 4.0).abs() < 0.35, "{text}: {small} and {large}");
    }
    assert!("banded:rows=9,bands=1".parse::<Generator>().unwrap().times(usize::MAX).is_err());
}
