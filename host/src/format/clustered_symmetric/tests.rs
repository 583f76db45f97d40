//! Tests of the pairs, of the order of entries, and of the conversion back.

use std::collections::HashSet;

use super::arrangement::Arranger;
use super::steps::{Assignment, WARPS_AT_A_TIME};
use super::*;
use crate::format::clustered::parts::{Kept, Parts};

const UNLIMITED: FillLimit = FillLimit { times_csr: f64::INFINITY };

/// Parts of 512 elements in float64: two slices, and 256 columns of the halo.
const SMALL: PartSize = PartSize { parts: 1 << 20, kilobytes: 4 };

/// The five-point stencil of a square grid; each point is coupled to itself by 4, and to its neighbours by `value` of
/// the two numbers.
fn grid(side: usize, value: impl Fn(usize, usize) -> f64) -> Csr<f64> {
    let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for point in 0..side * side {
        let (x, y) = (point % side, point / side);
        let near = [(x, y), (x.wrapping_sub(1), y), (x + 1, y), (x, y.wrapping_sub(1)), (x, y + 1)];
        for (x, y) in near.into_iter().filter(|&(x, y)| x < side && y < side) {
            let other = y * side + x;
            rows.push(point as u32);
            columns.push(other as u32);
            values.push(if other == point { 4.0 } else { value(point, other) });
        }
    }
    Csr::try_from_triplets(side * side, side * side, &rows, &columns, &values).unwrap()
}

/// The same value for both entries of a pair, and for no other.
fn symmetric(row: usize, column: usize) -> f64 {
    (row.min(column) * 10_000 + row.max(column)) as f64
}

/// The same matrix from its arrays, with other rows or columns.
fn again(
    stored: &ClusteredSymmetric<f64>,
    change: impl FnOnce(&mut [u32], &mut [u32]),
) -> Result<ClusteredSymmetric<f64>, Error> {
    let ClusteredSymmetric { rows, columns, part_size, warp_begins, mut row_numbers, .. } = stored.clone();
    let ClusteredSymmetric { halo_begins, halo_columns, slice_begins, mut local_columns, values, .. } = stored.clone();
    change(&mut row_numbers, &mut local_columns);
    ClusteredSymmetric::try_new(
        rows,
        columns,
        part_size,
        warp_begins,
        row_numbers,
        halo_begins,
        halo_columns,
        slice_begins,
        local_columns,
        values,
    )
}

fn checked(matrix: &Csr<f64>, size: PartSize) -> ClusteredSymmetric<f64> {
    let stored = ClusteredSymmetric::try_from_csr(matrix, size, UNLIMITED).unwrap();
    assert!(stored.to_csr().unwrap() == *matrix);
    assert_eq!(stored.nnz(), matrix.nnz());
    assert_eq!(predicted_bytes::<_, f64>(matrix, size).unwrap(), stored.bytes());
    assert!(again(&stored, |_, _| ()).unwrap() == stored);
    stored
}

/// Number of slots with an entry.
fn places(stored: &ClusteredSymmetric<f64>) -> usize {
    (0..stored.parts()).flat_map(|part| stored.places_in(part)).filter(|&(_, column, _)| column != NO_ENTRY).count()
}

#[test]
fn each_pair_in_a_part_is_stored_once() {
    let side = if cfg!(miri) { 9 } else { 61 };
    let matrix = grid(side, symmetric);
    let couplings = 4 * side * (side - 1);
    // In one part, all pairs are inside, and there is no halo.
    let stored = checked(&matrix, PartSize { parts: 1, kilobytes: 256 });
    assert_eq!((stored.parts(), stored.halo_columns().len()), (1, 0));
    assert_eq!(places(&stored), side * side + couplings / 2);
    // In many parts, pairs across borders are stored twice.
    let stored = checked(&matrix, SMALL);
    let inside = |part: usize| {
        let rows: HashSet<u32> = stored.rows_of(part).iter().copied().collect();
        let has = |row: u32, column: u32| column != row && rows.contains(&column);
        let of_row = |row: u32| matrix.row(row as usize).filter(|&(column, _)| has(row, column)).count();
        rows.iter().filter(|&&row| row != NO_ROW).map(|&row| of_row(row)).sum::<usize>()
    };
    let inside: usize = (0..stored.parts()).map(inside).sum();
    assert_eq!(places(&stored), matrix.nnz() - inside / 2);
    assert!(2 * inside > couplings || cfg!(miri), "{inside} of {couplings} in {} parts", stored.parts());
}

#[test]
fn what_has_no_image_is_stored_for_itself() {
    // Values that depend on the direction, and pairs that differ in only one bit.
    for other in [
        |row: usize, column: usize| (row * 10_000 + column) as f64,
        |row: usize, column: usize| {
            if row < column { 0.0 } else { -0.0 }
        },
    ] {
        let matrix = grid(20, other);
        let stored = checked(&matrix, PartSize { parts: 1, kilobytes: 256 });
        assert_eq!(places(&stored), matrix.nnz());
        // All columns, because each has entries in other rows.
        assert_eq!(stored.halo_columns().len(), 400);
    }
    // Some pairs, and entries without any counterpart.
    let (rows, columns) = ([0, 1, 1, 2, 0, 2], [1, 0, 2, 1, 2, 2]);
    let matrix = Csr::try_from_triplets(3, 3, &rows, &columns, &[5.0, 5.0, 6.0, 7.0, 8.0, 9.0]).unwrap();
    let stored = checked(&matrix, PartSize::SYMMETRIC);
    assert_eq!((places(&stored), &stored.halo_columns()[..]), (5, &[1, 2][..]));
    // A matrix that is not square has no pairs.
    let matrix = Csr::try_from_triplets(2, 3, &[0, 1], &[1, 0], &[5.0, 5.0]).unwrap();
    assert_eq!(places(&checked(&matrix, PartSize::SYMMETRIC)), 2);
}

#[test]
fn no_step_adds_to_an_element_twice_and_few_rows_wait() {
    let side = if cfg!(miri) { 9 } else { 61 };
    let matrix = grid(side, symmetric);
    // `try_new` checks this.
    let stored = checked(&matrix, PartSize { parts: 1, kilobytes: 256 });
    let of_entries = places(&stored);
    assert!(stored.places() < of_entries + of_entries / 4 || cfg!(miri), "{} for {of_entries}", stored.places());
    // A full row and a full column, in one part: the other rows store all pairs of the first row.
    let count = 200;
    let others = 1..count as u32;
    let rows: Vec<u32> = others.clone().map(|_| 0).chain(others.clone()).collect();
    let columns: Vec<u32> = others.clone().chain(others.map(|_| 0)).collect();
    let matrix = Csr::try_from_triplets(count, count, &rows, &columns, &vec![1.0; rows.len()]).unwrap();
    let stored = checked(&matrix, PartSize::SYMMETRIC);
    assert_eq!(places(&stored), count - 1);
}

/// Values on a grid of which some pairs are equal, and its parts.
fn uneven(size: PartSize) -> (Csr<f64>, Parts) {
    let side = if cfg!(miri) { 9 } else { 61 };
    let matrix = grid(side, |row, column| if row % 3 == 0 { row as f64 } else { symmetric(row, column) });
    let parts = Parts::new(&matrix, size, size_of::<f64>(), Kept::RowsAndColumns).unwrap();
    (matrix, parts)
}

#[test]
fn parts_before_do_not_matter() {
    let (matrix, parts) = uneven(SMALL);
    let new = |most| Arranger::new(&matrix, size_of::<f64>(), most).unwrap();
    let slots = |arranger: &mut Arranger<'_, f64>, part: usize| {
        let arranged = arranger.arrange(parts.of(part), WARPS).unwrap()?;
        let mut words = vec![0; arranged.slots.words()];
        let mut values = vec![0.0; 2 * words.len()];
        arranged.write(&matrix, &mut words, &mut values).unwrap();
        Some((arranged.row_numbers().collect::<Vec<_>>(), arranged.halo, words, values))
    };
    let elements = |part: usize| new(usize::MAX).arrange(parts.of(part), WARPS).unwrap().unwrap().elements();
    // Some parts are refused between the others.
    let most = (0..parts.count()).map(elements).max().unwrap() - 1;
    let mut one = new(most);
    let mut refused = 0;
    for part in (0..parts.count()).chain((0..parts.count()).rev()) {
        let found = slots(&mut one, part);
        refused += usize::from(found.is_none());
        assert!(found == slots(&mut new(most), part), "part {part}");
    }
    assert!(refused > 0 && refused < 2 * parts.count() || cfg!(miri), "{refused} of {}", parts.count());
}

#[test]
fn no_number_of_warps_costs_less_than_the_least() {
    let mut assignment = Assignment::default();
    for size in [SMALL, PartSize { parts: 1, kilobytes: 256 }] {
        let (matrix, parts) = uneven(size);
        for part in 0..parts.count() {
            let arranger = Arranger::new(&matrix, size_of::<f64>(), usize::MAX).unwrap();
            let rows = arranger.into_entries(parts.of(part)).unwrap().unwrap();
            for warps in WARPS_AT_A_TIME {
                assignment.run(&rows, size_of::<f64>(), warps).unwrap();
                let (cost, least) = (assignment.cost(), rows.least_cost(warps));
                assert!(least <= cost, "part {part}, {warps} warps: {cost}, at least {least}");
            }
        }
    }
}

/// Blocks of rows that share all columns, of several sizes, with values of pairs or others.
fn blocks(sizes: &[usize], value: impl Fn(usize, usize) -> f64) -> Csr<f64> {
    let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let mut first = 0;
    for &size in sizes {
        for row in first..first + size {
            for column in first..first + size {
                rows.push(row as u32);
                columns.push(column as u32);
                values.push(value(row, column));
            }
        }
        first += size;
    }
    Csr::try_from_triplets(first, first, &rows, &columns, &values).unwrap()
}

const ONE: PartSize = PartSize { parts: 1, kilobytes: 256 };

#[test]
fn a_long_row_has_adjacent_positions_in_one_half_of_a_slice() {
    // Pieces of at most 16 entries: 3, 1, 2 and 4 of them would do, but their number is a power of two.
    let sizes = [40, 16, 20, 50];
    for value in [symmetric, |row: usize, column: usize| (row * 10_000 + column) as f64] {
        let matrix = blocks(&sizes, value);
        let stored = checked(&matrix, ONE);
        let mut found = Vec::new();
        for half in stored.row_numbers().chunks_exact(WORDS) {
            for pieces in half.chunk_by(|left, right| left == right).filter(|pieces| pieces[0] != NO_ROW) {
                found.push((pieces[0] as usize, pieces.len()));
            }
        }
        found.sort_unstable();
        let expected = [4, 1, 2, 4];
        let expected = sizes.iter().zip(expected).flat_map(|(&size, pieces)| vec![pieces; size]);
        assert_eq!(found, expected.enumerate().collect::<Vec<_>>());
    }
}

#[test]
#[cfg_attr(miri, ignore = "many entries")]
fn rows_that_share_columns_do_not_wait() {
    let matrix = blocks(&[80; 24], symmetric);
    let stored = checked(&matrix, ONE);
    let steps = |warp: usize| stored.slices_of_warp(warp).map(|slice| stored.places_of(slice).len()).sum::<usize>();
    let most = (0..WARPS).map(steps).max().unwrap();
    // In one piece, a row would take 40 steps of one of two warps.
    let least = places(&stored).div_ceil(WARPS * ROWS);
    assert!(most <= least + least / 4 + 2, "{most} steps, {least} at least");
}

#[test]
fn pieces_that_the_kernel_would_not_add_up_are_refused() {
    let matrix = blocks(&[40], symmetric);
    let stored = checked(&matrix, ONE);
    let fails =
        |change: &dyn Fn(&mut [u32], &mut [u32])| again(&stored, change).map(|_| ()).map_err(|error| error.to_string());
    // Two positions before, some pieces of a row are in the other half.
    let row = stored.row_numbers()[32];
    let shifted = fails(&|rows, _| rows[..64].rotate_left(2));
    assert_eq!(shifted, Err(format!("ClusteredSymmetric matrix: row {row} occurs twice, the second time at 32")));
    let apart = fails(&|rows, _| rows.swap(1, 5));
    let first = stored.row_numbers()[0];
    assert_eq!(apart, Err(format!("ClusteredSymmetric matrix: row {first} occurs twice, the second time at 2")));
    // A slot of the first position in the column of the second, which is of the same row.
    let own = fails(&|_, columns| columns[0] = columns[0] & !0xFFFF | 1);
    let says = "ClusteredSymmetric matrix: a slot of position 0 is in the column of another piece of its row";
    assert_eq!(own, Err(says.to_owned()));
}

#[test]
fn duplicates_are_summed_and_rows_sorted() {
    let columns = vec![1, 0, 1, 0];
    let matrix = Csr::try_new(2, 2, vec![0u32, 3, 4], columns, vec![1.0, 2.0, 3.0, 4.0]).unwrap();
    let expected = Csr::try_new(2, 2, vec![0u32, 2, 3], vec![0, 1, 0], vec![2.0, 4.0, 4.0]).unwrap();
    let stored = ClusteredSymmetric::try_from_csr(&matrix, PartSize::SYMMETRIC, UNLIMITED).unwrap();
    assert!(stored.to_csr().unwrap() == expected);
    // The sum has an image.
    assert_eq!(places(&stored), 2);
}

#[test]
fn rows_without_entries_and_matrices_without_rows() {
    for (rows, columns) in [(0, 0), (0, 5), (5, 0), (200, 3), (200, 200)] {
        let matrix = Csr::<f64>::try_from_triplets(rows, columns, &[], &[], &[]).unwrap();
        let stored = checked(&matrix, PartSize::SYMMETRIC);
        assert_eq!((stored.parts(), stored.places(), stored.halo_columns().len()), (rows.min(1), 0, 0));
    }
}

#[test]
fn a_row_with_more_columns_than_a_part_may_have() {
    let row = |length: u32| {
        let columns: Vec<u32> = (0..length).collect();
        Csr::try_from_triplets(3, 2000, &vec![1; columns.len()], &columns, &vec![1.0; columns.len()]).unwrap()
    };
    checked(&row(384), SMALL);
    let error = ClusteredSymmetric::try_from_csr(&row(385), SMALL, UNLIMITED).map(|_| ()).unwrap_err().to_string();
    let says =
        "the number of columns of a row, which must fit the shared memory of a block, is 385, and the limit is 384";
    assert_eq!(error, says);
}

/// Columns of the part's own rows that have an entry without an image take room that is only known once images are.
#[test]
fn a_part_that_needs_more_elements_than_it_seemed() {
    let side = 40;
    for matrix in [grid(side, |row, column| (row * 10_000 + column) as f64), grid(side, symmetric)] {
        let stored = checked(&matrix, SMALL);
        assert!((0..stored.parts()).all(|part| stored.elements_of(part) <= 512));
    }
}

#[test]
fn sizes_that_contradict_themselves() {
    let matrix = grid(3, symmetric);
    let size = PartSize { parts: 0, kilobytes: 112 };
    let error = ClusteredSymmetric::try_from_csr(&matrix, size, UNLIMITED).map(|_| ()).unwrap_err().to_string();
    assert_eq!(error, "ClusteredSymmetric matrix: 0 parts of 112 KiB, expected at least 1 part of 1 to 256 KiB");
}
