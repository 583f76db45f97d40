//! Clustered matrices with parts so small that small matrices have many.

use super::stored::check_stored;
use crate::scenarios::random::emulators;
use crate::scenarios::{Numbers, matrices, with_rows};
use warp_spmv::executor::{Cpu, Emulated, Executor};
use warp_spmv::format::{Clustered, ClusteredSymmetric, FillLimit, PartSize};
use warp_spmv::{Complex, Csr, Format, Plan, Scalar};

const UNLIMITED: FillLimit = FillLimit { times_csr: f64::INFINITY };

/// Parts with few columns.
const SMALL: PartSize = PartSize { parts: u32::MAX, kilobytes: 1 };

fn check_product<T: Scalar, E: Executor>(executor: &E, name: &str, matrix: &Csr<T>, clustered: &Clustered<T>) {
    check_stored(executor, name, matrix, clustered.clone().into(), Format::Clustered(SMALL));
}

fn check_products<T: Scalar>() {
    let mut most = 0;
    for (name, matrix) in matrices::<T>() {
        // Some have a row longer than the number of columns of a part.
        let Ok(clustered) = Clustered::try_from_csr(&matrix, SMALL, UNLIMITED) else { continue };
        most = most.max(clustered.part_begins().len() - 1);
        assert!(clustered.to_csr().unwrap() == matrix, "{name}: back");
        check_product(&Cpu::new(), &name, &matrix, &clustered);
        check_product(&Emulated::new(62), &name, &matrix, &clustered);
    }
    assert!(most > 3, "{most} parts");
}

#[test]
fn products_are_right_in_float32() {
    check_products::<f32>();
}

#[test]
fn products_are_right_in_float64() {
    check_products::<f64>();
}

/// Parts with more and fewer slices than warps, on devices of several sizes: warps multiply whole slices, or divide them.
#[test]
fn products_are_right_on_any_grid() {
    let mut numbers = Numbers::new(63);
    for (name, columns, lengths) in [
        ("many rows of few columns", 60, [20, 0, 9, 3, 5].repeat(120)),
        ("many short rows", 40, vec![3; 4000]),
        ("long rows", 100, vec![90; 200]),
        ("a long row, short and empty ones", 120, [vec![110], [1, 0].repeat(100), vec![0; 2000]].concat()),
    ] {
        let matrix = with_rows::<f64>(columns, &lengths, &mut numbers);
        let clustered = Clustered::try_from_csr(&matrix, SMALL, UNLIMITED).unwrap();
        for executor in emulators() {
            check_product(&executor, name, &matrix, &clustered);
        }
    }
}

/// A file may hold slices in any order, and parts without any.
#[test]
fn products_are_right_whatever_the_order_of_the_slices() {
    let lengths = [vec![110], [9, 0].repeat(100), vec![0; 200]].concat();
    let matrix = with_rows::<f64>(120, &lengths, &mut Numbers::new(67));
    let sorted = Clustered::try_from_csr(&matrix, SMALL, UNLIMITED).unwrap();
    let (rows, widths) = (sorted.row_numbers(), sorted.slice_begins());
    let slices = widths.len() - 1;
    let (words, places) = (32, 64);
    for first in [0, 1, slices / 2, slices - 1] {
        let order: Vec<usize> = (0..slices).map(|slice| (slice + first) % slices).rev().collect();
        let of = |slice: usize| widths[slice] as usize..widths[slice + 1] as usize;
        let (mut begins, mut row_numbers, mut columns, mut values) = (vec![0], vec![], vec![], vec![]);
        for slice in order {
            row_numbers.extend_from_slice(&rows[slice * places..][..places]);
            columns.extend_from_slice(&sorted.local_columns()[of(slice).start * words..of(slice).end * words]);
            values.extend_from_slice(&sorted.values()[of(slice).start * places..of(slice).end * places]);
            begins.push(begins.last().unwrap() + of(slice).len() as u64);
        }
        let [part_begins, column_begins] =
            [slices as u64, sorted.column_numbers().len() as u64].map(|end| [0, 0, end, end]);
        let clustered = Clustered::try_new(
            matrix.rows(),
            matrix.columns(),
            SMALL,
            part_begins.map(|slices| slices as u32).to_vec(),
            row_numbers,
            column_begins.to_vec(),
            sorted.column_numbers().to_vec(),
            begins,
            columns,
            values,
        )
        .unwrap();
        for executor in emulators() {
            check_product(&executor, "slices in another order", &matrix, &clustered);
        }
    }
}

/// A GPU with too little shared memory refuses the matrix before it multiplies.
#[test]
fn parts_beyond_the_shared_memory_are_refused() {
    let executor = Emulated::new(1).with_shared_bytes(64 << 10);
    let matrix = |columns| with_rows::<f64>(columns, &[150; 64], &mut Numbers::new(64));
    assert!(Plan::with_format(&executor, matrix(8000), Format::CLUSTERED).is_ok());
    let error = Plan::with_format(&executor, matrix(1 << 20), Format::CLUSTERED).map(|_| ()).unwrap_err().to_string();
    let says = "the number of bytes of shared memory that a clustered matrix needs in a block is ";
    assert!(error.starts_with(says) && error.ends_with(", and the limit is 65536"), "{error}");
}

/// Returns the sum of `matrix` and its transpose: symmetric to the last bit, since each sum has the same two operands.
fn symmetric<T: Scalar>(matrix: &Csr<T>) -> Csr<T> {
    let (mut rows, mut columns, mut values) = (vec![], vec![], vec![]);
    for row in 0..matrix.rows() {
        for (column, value) in matrix.row(row) {
            rows.extend([row as u32, column]);
            columns.extend([column, row as u32]);
            values.extend([value, value]);
        }
    }
    Csr::try_from_triplets(matrix.rows(), matrix.columns(), &rows, &columns, &values).unwrap()
}

/// Checks each matrix as it is and, if square, made symmetric.
fn check_pairs<T: Scalar>() {
    // Larger parts in complex128 keep the number of elements: emulating the block of a part is slow, however small the part.
    let size = PartSize { parts: u32::MAX, kilobytes: (size_of::<T>() as u32 / 2).max(4) };
    let (mut most, mut pairs) = (0, 0);
    for (name, matrix) in matrices::<T>() {
        let mut both = vec![matrix];
        both[0].sort_rows().unwrap();
        both[0].sum_duplicates().unwrap();
        if both[0].rows() == both[0].columns() {
            both.push(symmetric(&both[0]));
        }
        for matrix in both {
            let Ok(stored) = ClusteredSymmetric::try_from_csr(&matrix, size, UNLIMITED) else { continue };
            most = most.max(stored.halo_begins().len() - 1);
            pairs += matrix.nnz() - stored.local_columns().iter().map(|&word| entries_of(word)).sum::<usize>();
            assert!(stored.to_csr().unwrap() == matrix, "{name}: back");
            for executor in [Emulated::new(65), Emulated::new(66)] {
                check_stored(&executor, &name, &matrix, stored.clone().into(), Format::ClusteredSymmetric(size));
            }
            check_stored(&Cpu::new(), &name, &matrix, stored.into(), Format::ClusteredSymmetric(size));
        }
    }
    assert!(most > 3 && pairs > 1000, "{most} parts, {pairs} pairs");
}

/// Returns the number of entries in a word of two columns.
fn entries_of(word: u32) -> usize {
    [word & 0xFFFF, word >> 16].into_iter().filter(|&column| column != 0xFFFF).count()
}

#[test]
fn products_with_pairs_stored_once_are_right_in_float32() {
    check_pairs::<f32>();
}

#[test]
fn products_with_pairs_stored_once_are_right_in_float64() {
    check_pairs::<f64>();
}

#[test]
fn products_with_pairs_stored_once_are_right_in_complex128() {
    check_pairs::<Complex<f64>>();
}
