//! Tests of the conversion by kernels.

use std::collections::BTreeMap;

use super::*;
use crate::complex::Complex;
use crate::executor::Emulated;
use crate::format::Matrix;

const UNLIMITED: FillLimit = FillLimit { times_csr: f64::INFINITY };

/// A square matrix: row i has the columns that `neighbours` gives it, as far as they exist, and of those the entry in
/// column j has the value for (i, j).
fn matrix<T: Scalar>(
    rows: usize,
    neighbours: impl Fn(usize) -> Vec<usize>,
    value: impl Fn(usize, usize) -> T,
) -> Csr<T> {
    let (mut of_rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..rows {
        let mut neighbours = neighbours(row);
        neighbours.sort_unstable();
        neighbours.dedup();
        for column in neighbours.into_iter().filter(|&column| column < rows) {
            of_rows.push(row as u32);
            columns.push(column as u32);
            values.push(value(row, column));
        }
    }
    Csr::try_from_triplets(rows, rows, &of_rows, &columns, &values).unwrap()
}

/// A number that looks random.
fn mixed(number: usize) -> usize {
    (number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) ^ number
}

/// Checks that the kernels give the same arrays as the host, under several schedules, and returns how often each was
/// launched.
fn check<T: Scalar>(name: &str, matrix: &Csr<T>, size: PartSize) -> BTreeMap<String, u64> {
    let expected = ClusteredSymmetric::try_from_csr(matrix, size, UNLIMITED).unwrap();
    let mut launches = BTreeMap::new();
    for seed in 0..3 {
        let executor = Emulated::new(seed);
        let converted = from_csr(&executor, matrix.clone().upload(&executor).unwrap(), size, UNLIMITED).unwrap();
        let launched = executor.take_launched();
        assert!(launched.keys().any(|entry| entry.starts_with("symmetric_write")), "{name}: {launched:?}");
        assert!(Matrix::ClusteredSymmetric(converted) == Matrix::ClusteredSymmetric(expected.clone()), "{name}");
        launches = launched;
    }
    launches
}

/// Whether two rows are within a distance in a ring in which some are far apart.
fn near(rows: usize, reach: usize) -> impl Fn(usize) -> Vec<usize> {
    move |row| (0..=2 * reach).map(|step| (row + rows + step - reach) % rows).collect()
}

fn symmetric(row: usize, column: usize) -> f64 {
    (row.min(column) * 10_000 + row.max(column)) as f64
}

const ONE: PartSize = PartSize { parts: 1, kilobytes: 112 };
const MANY: PartSize = PartSize { parts: 1 << 20, kilobytes: 16 };

#[test]
fn kernels_give_the_same_arrays() {
    // Rows of all lengths, rows without entries, and pairs that differ.
    let neighbours = |row: usize| {
        let reach = mixed(row) % 24;
        let of_row = (0..reach).map(|step| row.saturating_sub(step * step % 90));
        of_row.chain((0..mixed(row + 7) % 9).map(|step| row + step)).collect()
    };
    let value = |row, column| if (row + column) % 7 == 0 { row as f64 } else { symmetric(row, column) };
    check("uneven", &matrix(900, |row| if row % 11 == 0 { vec![] } else { neighbours(row) }, value), ONE);
    for size in [ONE, MANY] {
        check("ring", &matrix(700, near(700, 3), symmetric), size);
        check("of 32 bits", &matrix(500, near(500, 9), |row, column| symmetric(row, column) as f32), size);
        let complex = |row, column| Complex { re: symmetric(row, column), im: if row < column { 0.0 } else { -0.0 } };
        check("complex", &matrix(300, near(300, 2), complex), size);
        check("not a number", &matrix(300, near(300, 2), |_, _| f64::NAN), size);
    }
}

#[test]
fn rows_that_share_columns_have_fewer_warps() {
    // All rows have entries in the columns of a few: most of 16 warps would wait, even for these rows' pieces.
    let neighbours = |row: usize| if row < 3 { (0..1500).collect() } else { vec![0, 1, 2, row] };
    let runs = check("arrows", &matrix(1500, neighbours, symmetric), ONE)["symmetric_steps"];
    assert!(runs > 1, "{runs}");
    assert_eq!(check("ring", &matrix(3000, near(3000, 2), symmetric), ONE)["symmetric_steps"], 1);
}

#[test]
fn rows_in_pieces() {
    // Of 1, 2, 4 and 8 pieces, with pairs that differ.
    let neighbours = |row: usize| {
        let size = [16, 30, 60, 120][row / 120 % 4];
        (row / size * size..row / size * size + size).collect()
    };
    let value = |row, column| if (row + column) % 7 == 0 { row as f64 } else { symmetric(row, column) };
    check("blocks", &matrix(480, neighbours, value), ONE);
    check("small blocks", &matrix(480, neighbours, symmetric), MANY);
}

#[test]
fn a_row_with_many_entries_finds_one_that_is_free() {
    let neighbours = |row: usize| if row < 3 { (0..400).collect() } else { vec![0, 1, 2, row] };
    check("arrows", &matrix(400, neighbours, symmetric), ONE);
}

#[test]
fn parts_without_images_need_an_element_for_each_column() {
    let matrix = matrix(600, near(600, 3), |row, column| (row * 10_000 + column) as f64);
    // Parts that count on images are too large, which is noticed before the steps.
    let size = PartSize { parts: 1 << 20, kilobytes: 4 };
    let launches = check("no images", &matrix, size);
    assert_eq!(launches["symmetric_pairs_f64_u32"], 2);
}

#[test]
fn what_kernels_do_not_convert_is_converted_on_the_host() {
    let executor = Emulated::new(1);
    let unsorted = Csr::try_new(2, 2, vec![0u32, 3, 4], vec![1, 0, 1, 0], vec![1.0, 2.0, 3.0, 4.0]).unwrap();
    let rectangular = Csr::try_from_triplets(2, 3, &[0, 1], &[1, 0], &[5.0, 5.0]).unwrap();
    let size = PartSize { parts: 1 << 20, kilobytes: 4 };
    for matrix in [unsorted, rectangular] {
        let expected = ClusteredSymmetric::try_from_csr(&matrix, size, UNLIMITED).unwrap();
        let converted = from_csr(&executor, matrix, size, UNLIMITED).unwrap();
        assert!(Matrix::ClusteredSymmetric(converted) == Matrix::ClusteredSymmetric(expected));
        assert!(!executor.take_launched().keys().any(|entry| entry.starts_with("symmetric_write")));
    }
}
