//! Tests of the parts and the arrays.

use std::collections::HashSet;

use super::*;
use crate::executor::{Emulated, Executor};
use crate::format::Matrix;
use crate::select::{Analysis, Selection, choose};

const UNLIMITED: FillLimit = FillLimit { times_csr: f64::INFINITY };

/// Parts of 128 columns in float64.
const SMALL: PartSize = PartSize { parts: 1 << 20, kilobytes: 1 };

/// The five-point stencil of a square grid, whose rows and columns are numbered by `number`.
fn grid(side: usize, number: impl Fn(usize) -> usize) -> Csr<f64> {
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    for point in 0..side * side {
        let (x, y) = (point % side, point / side);
        let near = [(x, y), (x.wrapping_sub(1), y), (x + 1, y), (x, y.wrapping_sub(1)), (x, y + 1)];
        for (x, y) in near.into_iter().filter(|&(x, y)| x < side && y < side) {
            rows.push(number(point) as u32);
            columns.push(number(y * side + x) as u32);
        }
    }
    let values: Vec<f64> = (1..=rows.len()).map(|entry| entry as f64).collect();
    Csr::try_from_triplets(side * side, side * side, &rows, &columns, &values).unwrap()
}

/// A numbering of `count` numbers without order; `count` must not be a multiple of 7919.
fn without_order(count: usize) -> impl Fn(usize) -> usize {
    move |number| number * 7919 % count
}

fn checked(matrix: &Csr<f64>, size: PartSize) -> Clustered<f64> {
    let clustered = Clustered::try_from_csr(matrix, size, UNLIMITED).unwrap();
    assert_eq!(clustered.to_csr().unwrap(), *matrix);
    let Clustered { rows, columns, part_begins, row_numbers, column_begins, .. } = clustered.clone();
    let Clustered { column_numbers, slice_begins, local_columns, values, .. } = clustered.clone();
    let arrays = (part_begins, row_numbers, column_begins, column_numbers, slice_begins, local_columns, values);
    let (parts, rows_of, begins, columns_of, slices, local, values) = arrays;
    let again = Clustered::try_new(rows, columns, size, parts, rows_of, begins, columns_of, slices, local, values);
    assert!(again.unwrap() == clustered);
    assert_eq!(predicted_bytes::<_, f64>(matrix, size).unwrap(), clustered.bytes());
    clustered
}

#[test]
fn a_part_has_what_is_near_whatever_the_numbers() {
    let side = if cfg!(miri) { 17 } else { 61 };
    let count = side * side;
    for matrix in [grid(side, |point| point), grid(side, without_order(count))] {
        let clustered = checked(&matrix, SMALL);
        let parts = clustered.parts();
        let columns: usize = (0..parts).map(|part| clustered.columns_of(part).len()).sum();
        assert!((0..parts).all(|part| (1..=128).contains(&clustered.columns_of(part).len())));
        // A square of 64 points has 32 neighbours; without an order each row would have its own five columns.
        assert!(columns < 5 * count / 2, "{columns} columns of {parts} parts of {count} rows");
    }
}

#[test]
fn rows_of_a_part_come_longest_first_and_then_in_order() {
    let matrix = Csr::try_from_triplets(4, 9, &[1, 1, 2, 3, 3], &[8, 2, 2, 5, 2], &[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
    let clustered = checked(&matrix, PartSize::DEFAULT);
    assert_eq!((clustered.parts(), clustered.most_columns()), (1, 3));
    assert_eq!(clustered.row_numbers()[..5], [1, 3, 2, 0, NO_ROW]);
    assert_eq!((&clustered.column_numbers()[..], &clustered.slice_begins()[..]), (&[2, 5, 8][..], &[0, 2][..]));
    let words = [0, 1, 2, 3, 32, 33, 34].map(|word| clustered.local_columns()[word]);
    let none = NO_ENTRY << 16 | NO_ENTRY;
    let first = |column: u32| NO_ENTRY << 16 | column;
    // The entries of a row keep their order.
    let column = |entry: usize| matrix.column_indices()[entry] / 3;
    assert_eq!(words, [first(column(0)), first(column(3)), first(0), none, first(column(1)), first(column(4)), none]);
    assert_eq!([0, 2, 4, 64, 66].map(|place| clustered.values()[place]).iter().sum::<f64>(), 15.0);
    // Positions 0 and 32 share a word.
    let rows: Vec<u32> = (0..40).collect();
    let matrix = Csr::try_from_triplets(40, 40, &rows, &rows, &[1.0; 40]).unwrap();
    let clustered = checked(&matrix, PartSize::DEFAULT);
    assert_eq!(
        clustered.local_columns()[..9],
        std::array::from_fn::<u32, 9, _>(|lane| {
            let second = if lane < 8 { lane as u32 + 32 } else { NO_ENTRY };
            second << 16 | lane as u32
        })
    );
    let needed = Matrix::from(clustered.clone()).bytes_needed();
    assert_eq!(needed, clustered.bytes() + 8 * 80);
    assert_eq!(clustered.bytes(), 2 * 4 + 64 * 4 + 2 * 8 + 40 * 4 + 2 * 8 + 32 * 4 + 64 * 8);
}

#[test]
fn parts_grow_through_columns_where_rows_have_other_numbers() {
    // Each column is in two rows that are far apart.
    let count = if cfg!(miri) { 600 } else { 3000 };
    let number = without_order(count);
    let rows: Vec<u32> = (0..3 * count).map(|entry| number(entry / 3) as u32).collect();
    let columns: Vec<u32> = (0..3 * count).map(|entry| (number(entry / 3 / 2) * 3 + entry % 3) as u32).collect();
    let matrix = Csr::try_from_triplets(count, 3 * count, &rows, &columns, &vec![1.0; rows.len()]).unwrap();
    let clustered = checked(&matrix, SMALL);
    let all: usize = (0..clustered.parts()).map(|part| clustered.columns_of(part).len()).sum();
    let distinct = columns.iter().collect::<HashSet<_>>().len();
    assert!(all < distinct + distinct / 10, "{all} of {distinct}");
}

#[test]
fn columns_without_entries_take_nothing() {
    // 100 rows with 3 entries each, far apart in 2^31 - 1 columns.
    let rows: Vec<u32> = (0..300).map(|entry| entry / 3).collect();
    let columns: Vec<u32> = (0..300).map(|entry| (entry * 7919 % 300) * 7_000_000 + 5).collect();
    let matrix = Csr::try_from_triplets(100, (1 << 31) - 1, &rows, &columns, &[1.0; 300]).unwrap();
    assert!(checked(&matrix, SMALL).parts() > 2);
    assert_eq!(checked(&matrix, PartSize::DEFAULT).most_columns(), 300);
}

#[test]
fn rows_without_entries_and_matrices_without_rows() {
    for (rows, columns) in [(0, 0), (0, 5), (5, 0), (200, 3)] {
        let matrix = Csr::<f64>::try_from_triplets(rows, columns, &[], &[], &[]).unwrap();
        let clustered = checked(&matrix, PartSize::DEFAULT);
        assert_eq!((clustered.parts(), clustered.places(), clustered.most_columns()), (rows.min(1), 0, 0));
    }
}

#[test]
#[cfg_attr(miri, ignore = "it takes many rows until there are several parts")]
fn rows_without_entries_are_shared_out() {
    let entries: Vec<u32> = (0..300).collect();
    let rows: Vec<u32> = entries.iter().map(|entry| entry / 3).collect();
    let matrix = Csr::try_from_triplets(5_000, 300, &rows, &entries, &[1.0; 300]).unwrap();
    let slices = |parts| {
        let clustered = checked(&matrix, PartSize { parts, ..PartSize::DEFAULT });
        clustered.part_begins().windows(2).map(|part| part[1] - part[0]).collect::<Vec<_>>()
    };
    assert_eq!(slices(4), [40, 39]);
    // A part has at least 2,048 rows, however many parts were asked for.
    assert_eq!(slices(1_000), [32, 32, 15]);
}

#[test]
fn a_row_with_more_columns_than_a_part_may_have() {
    let row = |length: u32| {
        let columns: Vec<u32> = (0..length).collect();
        Csr::try_from_triplets(3, 200, &vec![1; columns.len()], &columns, &vec![1.0; columns.len()]).unwrap()
    };
    checked(&row(128), SMALL);
    let error = Clustered::try_from_csr(&row(129), SMALL, UNLIMITED).map(|_| ()).unwrap_err().to_string();
    let says =
        "the number of columns of a row, which must fit the shared memory of a block, is 129, and the limit is 128";
    assert_eq!(error, says);
    // Entries of one column count once.
    let twice = Csr::try_new(1, 200, vec![0u32, 200], (0..200).map(|entry| entry / 2).collect(), vec![1.0; 200]);
    assert_eq!(checked(&twice.unwrap(), SMALL).most_columns(), 100);
}

#[test]
fn sizes_that_contradict_themselves() {
    let matrix = grid(3, |point| point);
    for (parts, kilobytes) in [(0, 96), (1, 0), (1, 257)] {
        let size = PartSize { parts, kilobytes };
        let error = Clustered::try_from_csr(&matrix, size, UNLIMITED).map(|_| ()).unwrap_err().to_string();
        let says = format!("{parts} parts of {kilobytes} KiB, expected at least 1 part of 1 to 256 KiB");
        assert_eq!(error, format!("Clustered matrix: {says}"));
    }
    // The choice predicts times with them all the same; the conversion would refuse them.
    let size = crate::Format::Clustered(PartSize { parts: 0, kilobytes: 96 });
    let selection = Selection { among: vec![size], store: None, ..Selection::default() };
    let choice = choose(&Analysis::new(&matrix).unwrap(), Emulated::new(1).device(), &selection).unwrap();
    assert_eq!(choice.format, size);
}

/// Several territories, shared out among threads.
#[test]
#[cfg_attr(miri, ignore = "it takes many entries until there are several")]
fn parts_are_the_same_on_any_number_of_threads() {
    let count = 40_000;
    let rows: Vec<u32> = (0..8 * count).map(|entry| (entry / 8) as u32).collect();
    let columns: Vec<u32> =
        (0..8 * count).map(|entry| ((entry / 8 * 7919 + entry % 8 * entry % 30_011) % count) as u32).collect();
    let without_neighbours = Csr::try_from_triplets(count, count, &rows, &columns, &vec![1.0; rows.len()]).unwrap();
    let columns: Vec<u32> = (0..8 * count).map(|entry| (entry / 8 * 3 / 4 + entry % 8 * 31) as u32 % 30_000).collect();
    let not_square = Csr::try_from_triplets(count, 30_000, &rows, &columns, &vec![1.0; rows.len()]).unwrap();
    let side = 250;
    for matrix in [grid(side, without_order(side * side)), without_neighbours, not_square] {
        let size = PartSize { parts: 40, kilobytes: 96 };
        let transposed = (matrix.rows() != matrix.columns()).then(|| matrix.transposed().unwrap());
        let territories = territories::Territories::new(&matrix, transposed.as_ref(), 64).unwrap();
        assert!(territories.count() > 2);
        // None is much longer than the others, or most threads would wait for one.
        for (entries, _) in (0..territories.count()).filter_map(|number| territories.share(number)) {
            assert!((entries * territories.count()).abs_diff(matrix.nnz()) < matrix.nnz() / 8, "{entries}");
        }
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| checked(&matrix, size))
        };
        let one = on(1);
        assert!((30..=40).contains(&one.parts()), "{}", one.parts());
        assert!(one == on(2) && one == on(7));
    }
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no lanes")]
fn kernels_give_the_same_arrays() {
    // Rows of all lengths, and rows without entries; of both shapes; duplicates and rows out of order.
    for (rows, columns) in [(500, 500), (300, 900), (900, 200), (1, 1), (0, 4), (70, 0)] {
        let of_row = |row: usize| if columns == 0 { 0 } else { row * row % 23 };
        let (mut offsets, mut indices) = (vec![0u32], Vec::new());
        for row in 0..rows {
            indices.extend(
                (0..of_row(row)).map(|entry| ((row / 3 + entry * entry * 7 + 40 * (entry % 2)) % columns) as u32),
            );
            offsets.push(indices.len() as u32);
        }
        let values = (0..indices.len()).map(|entry| entry as f64).collect();
        let matrix = Csr::try_new(rows, columns, offsets, indices, values).unwrap();
        for size in [PartSize::DEFAULT, PartSize { parts: 1 << 20, kilobytes: 1 }] {
            let expected = Clustered::try_from_csr(&matrix, size, UNLIMITED).unwrap();
            for seed in 0..3 {
                let executor = Emulated::new(seed);
                let converted = by_kernels::from_csr(&executor, &matrix, size, UNLIMITED).unwrap();
                assert!(converted == expected, "{rows} rows, {columns} columns, {size:?}");
                let launched = executor.take_launched();
                assert!(launched.keys().any(|entry| entry.starts_with("clustered_from_csr")), "{launched:?}");
            }
        }
    }
}
