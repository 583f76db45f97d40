//! Conversions by kernels, against those of the host.

use crate::scenarios::{check_conversion, matrices, with_wide_offsets};
use proptest::prelude::*;
use warp_spmv::executor::{Cpu, Emulated, Executor, Reference};
use warp_spmv::spmv::Tuning;
use warp_spmv::{Csr, Format, Real};

fn check_all<T: Real, E: Executor>(executor: &E) {
    for (name, matrix) in matrices::<T>() {
        for &format in Format::ALL {
            check_conversion(executor, &name, &matrix, format);
        }
    }
}

#[test]
fn emulated_conversions_are_those_of_the_host_in_float32() {
    check_all::<f32, _>(&Emulated::new(1));
}

#[test]
fn emulated_conversions_are_those_of_the_host_in_float64() {
    check_all::<f64, _>(&Emulated::new(2));
}

#[test]
fn executors_of_the_host_convert_as_formats_do() {
    check_all::<f64, _>(&Reference::new());
    check_all::<f64, _>(&Cpu::new());
}

#[test]
fn conversions_take_wide_row_offsets() {
    for (name, matrix) in matrices::<f64>() {
        for &format in Format::ALL {
            check_conversion(&Emulated::new(3), &name, &with_wide_offsets(&matrix), format);
        }
    }
}

/// Larger and smaller grids than the default one cut the work elsewhere.
#[test]
fn conversions_do_not_depend_on_the_grid() {
    for (multiprocessors, threads, threads_per_block, waves) in [(1, 32, 32, 1), (3, 64, 32, 2), (4, 1024, 256, 64)] {
        check_all::<f64, _>(&Emulated::with_size(9, multiprocessors, threads, Tuning { threads_per_block, waves }));
    }
}

/// Any small matrix; the columns of a row in any order, some of them more than once.
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
        sorted.sort_rows();
        for &format in Format::ALL {
            check_conversion(&Emulated::new(seed), "random", &matrix, format);
            check_conversion(&Emulated::new(seed), "random, sorted", &sorted, format);
        }
    }
}
