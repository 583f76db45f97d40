//! Conversions between formats, and inputs that the formats refuse.

use crate::scenarios::{as_stored, matrices};
use warp_spmv::format::{Coo, Ell, FillLimit, LARGEST_DIMENSION, Matrix};
use warp_spmv::{Csr, Error, Format};

#[test]
fn every_format_gives_back_the_same_matrix() {
    for (name, matrix) in matrices::<f64>() {
        for &format in Format::ALL {
            match Matrix::try_from_csr(matrix.clone(), format, FillLimit::default()) {
                Ok(converted) => {
                    assert_eq!(converted.bytes(), format.bytes::<_, f64>(&matrix).unwrap(), "{name}, {format}");
                    let expected = as_stored(&matrix, format);
                    assert_eq!(converted.nnz(), expected.nnz(), "{name}, {format}");
                    assert_eq!(converted.into_csr().unwrap(), expected, "{name}, {format}");
                }
                Err(Error::Fill { predicted, .. }) => {
                    assert_eq!(predicted, format.bytes::<_, f64>(&matrix).unwrap(), "{name}, {format}");
                    assert!(!FillLimit::default().allows(predicted, matrix.bytes()), "{name}, {format}");
                }
                Err(error) => panic!("{name}, {format}: {error}"),
            }
        }
    }
}

#[test]
fn a_stored_zero_stays_an_entry() {
    let matrix = Csr::try_from_triplets(2, 2, &[0, 1, 1], &[0, 0, 1], &[0.0, 5.0, -0.0]).unwrap();
    for &format in Format::ALL {
        let back = Matrix::try_from_csr(matrix.clone(), format, FillLimit::default()).unwrap().into_csr().unwrap();
        assert_eq!(back.nnz(), 3, "{format}");
    }
}

/// Formats may mark slots without an entry with a NaN, but no NaN of the matrix is taken for such a mark.
#[test]
fn every_nan_stays_an_entry() {
    let similar_to_the_mark = [u64::MAX, u64::MAX - 1, u64::MAX << 32, f64::NAN.to_bits(), (-f64::NAN).to_bits()];
    let values = similar_to_the_mark.map(f64::from_bits);
    let matrix = Csr::try_from_triplets(3, 9, &[0, 0, 0, 2, 2], &[0, 1, 8, 3, 4], &values).unwrap();
    let single = Csr::try_from_triplets(1, 2, &[0, 0], &[0, 1], &[f32::from_bits(u32::MAX), 1.0]).unwrap();
    for &format in Format::ALL {
        let back = Matrix::try_from_csr(matrix.clone(), format, FillLimit::default()).unwrap().into_csr().unwrap();
        assert_eq!(back.column_indices(), matrix.column_indices(), "{format}");
        assert!(back.values().iter().all(|value| value.is_nan()), "{format}");
        let back = Matrix::try_from_csr(single.clone(), format, FillLimit::default()).unwrap().into_csr().unwrap();
        assert!(back.nnz() == 2 && back.values()[0].is_nan(), "{format}");
    }
}

#[test]
fn padding_beyond_the_limit_is_refused_with_the_bytes() {
    // One row of 100 000 entries among 100 000 rows: ELL would take 10^10 slots.
    let rows = 100_000;
    let columns: Vec<u32> = (0..rows).collect();
    let matrix = Csr::try_from_triplets(
        rows as usize,
        rows as usize,
        &vec![5; rows as usize],
        &columns,
        &vec![1.0; rows as usize],
    )
    .unwrap();
    let error = Ell::try_from_csr(&matrix, FillLimit::default()).map(|_| ()).unwrap_err();
    let Error::Fill { predicted, limit, .. } = error else { panic!("{error}") };
    assert_eq!(predicted, 100_000 * 100_000 * 12);
    assert_eq!(limit, 10 * matrix.bytes());
    assert!(error.to_string().starts_with("ELL would take 120000000000 bytes, more than "), "{error}");
}

#[test]
fn padding_that_memory_cannot_hold_is_an_error() {
    // 2^22 - 1 rows, the longest with 2^20 entries: no machine has memory for 2^42 slots, and nothing may be allocated.
    let mut offsets = vec![1u32 << 20; 1 << 22];
    offsets[0] = 0;
    let rows = offsets.len() - 1;
    let matrix = Csr::try_new(rows, 1, offsets, vec![0; 1 << 20], vec![1.0f32; 1 << 20]).unwrap();
    let unlimited = FillLimit { times_csr: f64::INFINITY };
    let error = Ell::try_from_csr(&matrix, unlimited).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { bytes, .. } if bytes == (1u128 << 42) * 8), "{error}");
}

#[test]
fn csr_refuses_arrays_that_contradict_each_other() {
    let refused = |rows, columns, offsets: &[u64], indices: &[u32], message: &str| {
        let error = Csr::try_new(rows, columns, offsets.to_vec(), indices.to_vec(), vec![1.0; 3]).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    };
    refused(2, 3, &[0, 1, 3], &[0, 1, 3], "entry 2 is in column 3 of 3");
    refused(2, 3, &[0, 3], &[0, 1, 2], "2 row offsets for 2 rows");
    refused(2, 3, &[1, 2, 3], &[0, 1, 2], "the first row offset is 1");
    refused(2, 3, &[0, 4, 3], &[0, 1, 2], "row 1 ends before it begins");
    refused(2, 3, &[0, 1, 2], &[0, 1, 2], "the last row offset is 2, expected 3");
    refused(2, 3, &[0, 1, 1 << 40], &[0, 1, 2], "the last row offset is 1099511627776");
    refused(2, 3, &[0, 1, 3], &[0, 1], "values has length 3, expected 2");
    refused(LARGEST_DIMENSION + 1, 3, &[0], &[], "number of rows is 2147483648");
    refused(2, LARGEST_DIMENSION + 1, &[0], &[], "number of columns is 2147483648");
}

#[test]
fn coo_refuses_arrays_that_contradict_each_other() {
    let refused = |rows: &[u32], columns: &[u32], message: &str| {
        let error = Coo::try_new(2, 3, rows.to_vec(), columns.to_vec(), vec![1.0; 3]).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    };
    refused(&[0, 1, 0], &[0, 1, 2], "entry 2 is in an earlier row than entry 1");
    refused(&[0, 1, 2], &[0, 1, 2], "the last entry is in row 2 of 2");
    refused(&[0, 1, 1], &[0, 3, 2], "entry 1 is in column 3 of 3");
    refused(&[0, 1], &[0, 1, 2], "column_indices has length 3, expected 2");
}

#[test]
fn triplets_are_sorted_and_duplicates_summed() {
    let matrix = Csr::try_from_triplets(3, 4, &[2, 0, 2, 2, 0], &[3, 1, 0, 3, 1], &[1.0, 2.0, 4.0, 8.0, 16.0]).unwrap();
    let rows: Vec<Vec<_>> = (0..3).map(|row| matrix.row(row).collect()).collect();
    assert_eq!(rows, [vec![(1, 18.0)], vec![], vec![(0, 4.0), (3, 9.0)]]);
    let error = Csr::try_from_triplets(3, 4, &[0, 3], &[0, 0], &[1.0, 1.0]).unwrap_err();
    assert_eq!(error.to_string(), "triplet matrix: entry 1 is in row 3 of 3");
    assert!(Csr::try_from_triplets(3, 4, &[0], &[4], &[1.0]).is_err());
}

#[test]
fn names_are_read_back_and_unknown_ones_list_what_exists() {
    for &format in Format::ALL {
        assert_eq!(format.name().parse::<Format>().unwrap(), format);
    }
    let error = "csrr".parse::<Format>().unwrap_err().to_string();
    assert!(error.starts_with("unknown format 'csrr': expected csr-scalar, csr-vector,"), "{error}");
}
