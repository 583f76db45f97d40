//! Conversions by kernels, compared with those of the host.

use crate::scenarios::{check_conversion, check_converted_product, matrices};
use proptest::prelude::*;
use warp_spmv::device::Tuning;
use warp_spmv::executor::{Cpu, Emulated, Executor, Reference};
use warp_spmv::format::{
    BellpackStrategy, BlockSize, Cmrs, FillLimit, Matrix, Panels, SellP, Slicing, StripOrder, cmrs, cmrs_padded,
    coo_16, sell_p,
};
use warp_spmv::{Complex, Csr, Error, Format, Scalar};

const UNLIMITED: FillLimit = FillLimit { times_csr: f64::INFINITY };

/// Returns one format per storage: the others share its arrays.
fn storages() -> Vec<Format> {
    let mut formats: Vec<Format> = Vec::new();
    for &format in Format::ALL {
        if formats.iter().all(|other| other.storage() != format.storage()) {
            formats.push(format);
        }
    }
    formats
}

fn check_all<T: Scalar, E: Executor>(executor: &E, formats: &[Format]) {
    for (name, matrix) in matrices::<T>() {
        for &format in formats {
            check_conversion(executor, &name, &matrix, format);
        }
    }
}

/// [`storages`] with blocks of one size instead of all.
fn storages_with_one_block_size() -> Vec<Format> {
    let other_size = |format| matches!(format, Format::Bcsr(size) | Format::Bellpack(BellpackStrategy { size, .. }) if size != BlockSize::B2x3);
    storages().into_iter().filter(|&format| !other_size(format)).collect()
}

#[test]
fn emulated_conversions_are_those_of_the_host_in_float32() {
    check_all::<f32, _>(&Emulated::new(1), &storages_with_one_block_size());
}

#[test]
fn emulated_conversions_are_those_of_the_host_in_float64() {
    check_all::<f64, _>(&Emulated::new(2), &storages());
}

#[test]
fn emulated_conversions_are_those_of_the_host_in_complex128() {
    check_all::<Complex<f64>, _>(&Emulated::new(3), &storages_with_one_block_size());
}

#[test]
fn executors_of_the_host_convert_as_formats_do() {
    check_all::<f64, _>(&Reference::new(), &storages());
    check_all::<f64, _>(&Cpu::new(), &storages());
}

/// Grids larger and smaller than the default one split the work elsewhere.
#[test]
fn conversions_do_not_depend_on_the_grid() {
    for (multiprocessors, threads, threads_per_block, waves) in [(1, 32, 32, 1), (3, 64, 32, 2), (4, 1024, 256, 64)] {
        let tuning = Tuning::new(threads_per_block, waves).unwrap();
        let executor = Emulated::with_size(9, multiprocessors, threads, tuning).unwrap();
        check_all::<f32, _>(&executor, &storages_with_one_block_size());
    }
}

#[test]
fn converted_matrices_are_multiplied_where_they_are() {
    for &format in Format::ALL {
        check_converted_product::<f64, _>(&Cpu::new(), format);
        check_converted_product::<f64, _>(&Emulated::new(4), format);
        check_converted_product::<f32, _>(&Emulated::new(5), format);
        check_converted_product::<Complex<f32>, _>(&Emulated::new(6), format);
        check_converted_product::<Complex<f64>, _>(&Emulated::new(7), format);
    }
}

/// Parameters that no format of the catalogue has.
#[test]
fn sell_p_is_converted_with_any_slicing() {
    let executor = Emulated::new(6);
    for (name, matrix) in matrices::<f64>() {
        for (slice_size, stride_factor, sigma) in [(1, 1, 1), (3, 2, 9), (5, 4, 1), (64, 1, 64), (40, 3, 4000)] {
            let slicing = Slicing { slice_size, stride_factor, sigma };
            let expected = SellP::try_from_csr(&matrix, slicing, UNLIMITED).unwrap();
            let converted = sell_p::from_csr(&executor, &matrix, slicing, UNLIMITED).unwrap();
            assert!(converted == expected, "{name}, {slicing:?}");
            assert!(sell_p::into_csr(&executor, converted).unwrap() == matrix, "{name}, {slicing:?}");
        }
    }
}

#[test]
fn cmrs_is_converted_with_any_height_and_order() {
    let executor = Emulated::new(7);
    for (name, matrix) in matrices::<f64>() {
        for height in [1, 5, 16] {
            for order in [StripOrder::ByRow, StripOrder::ByColumn] {
                let expected = Cmrs::try_with_height(matrix.clone(), height, order).unwrap();
                let converted = cmrs::with_height(&executor, matrix.clone(), height, order).unwrap();
                assert!(converted == expected, "{name}, {height} rows, {order:?}");
                let back = cmrs::into_csr(&executor, converted).unwrap();
                assert!(back == expected.into_csr().unwrap(), "{name}, {height} rows, {order:?}");
            }
        }
    }
}

/// Kernels refuse what the host refuses before it allocates, with the same message.
#[test]
fn conversions_refuse_what_the_host_refuses() {
    let executor = Emulated::new(8);
    let matrix = || Csr::try_from_triplets(2, (1 << 28) + 1, &[0, 1], &[0, 1 << 28], &[1.0, 2.0]).unwrap();
    let refused = |error: Result<(), Error>, message: &str| assert_eq!(error.unwrap_err().to_string(), message);
    let order = StripOrder::ByRow;
    let message = "the number of columns of a CMRS matrix is 268435457, and the limit is 268435456";
    refused(cmrs::with_height(&executor, matrix(), 4, order).map(|_| ()), message);
    let message = "CMRS matrix: strips of 17 rows, expected 1 to 16";
    refused(cmrs::with_height(&executor, matrix(), 17, order).map(|_| ()), message);
    let message = "the number of columns of a CMRS matrix is 268435457, and the limit is 268435455";
    refused(cmrs_padded::from_csr(&executor, &matrix(), UNLIMITED).map(|_| ()), message);
    let message = "COO-16 matrix: panels of 1025 slots, expected 1 to 1024";
    let panels = Panels { columns: 8, slots: 1025 };
    refused(coo_16::with_panels(&executor, matrix(), panels, UNLIMITED).map(|_| ()), message);
    let slicing = Slicing { slice_size: 64, stride_factor: 1, sigma: 96 };
    let message = "SELL-P matrix: sigma is 96, neither 1 nor a multiple of 64 rows";
    refused(sell_p::from_csr(&executor, &matrix(), slicing, UNLIMITED).map(|_| ()), message);
    let slicing = Slicing { stride_factor: u32::MAX, ..Slicing::UNSORTED };
    let message = "the number of slots of a row is 4294967296, and the limit is 4294967295";
    refused(sell_p::from_csr(&executor, &matrix(), slicing, UNLIMITED).map(|_| ()), message);
    // Almost all padding, in all padded formats.
    let lengths = (0..70_000).map(|row| if row == 69_000 { 9000 } else { 0 });
    let offsets: Vec<u32> = std::iter::once(0)
        .chain(lengths.scan(0, |end, length| {
            *end += length;
            Some(*end)
        }))
        .collect();
    let matrix = Csr::try_new(70_000, 9000, offsets, (0..9000).collect(), vec![1.0; 9000]).unwrap();
    let formats: Vec<Format> = storages()
        .into_iter()
        .filter(|&format| Matrix::try_from_csr(matrix.clone(), format, FillLimit::default()).is_err())
        .collect();
    assert!(formats.len() > 10, "{formats:?}");
    for format in formats {
        check_conversion(&executor, "one long row", &matrix, format);
    }
}

/// Any small matrix, with the columns of a row in any order and possibly repeated.
fn any_matrix() -> impl Strategy<Value = Csr<f64>> {
    (prop::collection::vec(0usize..60, 0..90), 1usize..300).prop_flat_map(|(lengths, columns)| {
        let nnz = lengths.iter().sum::<usize>();
        prop::collection::vec(0..columns as u32, nnz).prop_map(move |column_indices| {
            let ends = lengths.iter().scan(0, |end, length| {
                *end += length;
                Some(*end as u32)
            });
            let offsets: Vec<u32> = std::iter::once(0).chain(ends).collect();
            let values = (1..=column_indices.len()).map(|entry| entry as f64).collect();
            Csr::try_new(lengths.len(), columns, offsets, column_indices, values).unwrap()
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_matrix_is_converted_right(matrix in any_matrix(), seed in 0u64..1000) {
        let mut sorted = matrix.clone();
        sorted.sort_rows().unwrap();
        for format in storages() {
            check_conversion(&Emulated::new(seed), "random", &matrix, format);
            check_conversion(&Emulated::new(seed), "random, sorted", &sorted, format);
        }
    }
}
