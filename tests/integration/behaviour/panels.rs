//! COO-16 in panels of many sizes: tiny ones, so that small matrices have many, and the largest.

use super::stored::check_stored;
use crate::scenarios::random::emulators;
use crate::scenarios::{Numbers, as_stored, matrices, with_rows};
use warp_spmv::executor::{Cpu, Emulated, Executor};
use warp_spmv::format::{Coo16, FillLimit, Panels, coo_16};
use warp_spmv::{Csr, Format, Plan, Scalar};

const UNLIMITED: FillLimit = FillLimit { times_csr: f64::INFINITY };

/// Columns and slots per panel.
const SIZES: &[(usize, usize)] = &[(1, 1), (7, 3), (3, 1024), (64, 50), (1 << 14, 1), (1 << 14, 1024)];

/// The panels of [`SIZES`] that do not split a matrix into very many tiles.
fn panels<T: Scalar>(matrix: &Csr<T>) -> impl Iterator<Item = Panels> {
    let (most_slots, columns) = (matrix.rows() + matrix.nnz() / 64, matrix.columns());
    let all = SIZES.iter().map(|&(columns, slots)| Panels { columns, slots });
    all.filter(move |panels| columns.div_ceil(panels.columns) * most_slots.div_ceil(panels.slots) < 3000)
}

#[test]
fn kernels_convert_as_the_host_does() {
    let executor = Emulated::new(8);
    for (name, matrix) in matrices::<f64>() {
        for panels in panels(&matrix) {
            let expected = Coo16::try_with_panels(matrix.clone(), panels, UNLIMITED).unwrap();
            let converted = coo_16::with_panels(&executor, matrix.clone(), panels, UNLIMITED).unwrap();
            assert!(converted == expected, "{name}, {panels:?}");
            let stored = as_stored(&matrix, Format::Coo16);
            assert!(expected.to_csr().unwrap() == stored, "{name}, {panels:?}: back on the host");
            let back = coo_16::into_csr(&executor, converted).unwrap();
            assert!(back == stored, "{name}, {panels:?}: back");
        }
    }
}

fn check_product<T: Scalar, E: Executor>(executor: &E, name: &str, matrix: &Csr<T>, panels: Panels) {
    let coo = Coo16::try_with_panels(matrix.clone(), panels, UNLIMITED).unwrap();
    check_stored(executor, &format!("{name}, {panels:?}"), matrix, coo.into(), Format::Coo16);
}

fn check_products<T: Scalar>() {
    for (name, matrix) in matrices::<T>() {
        for panels in panels(&matrix) {
            check_product(&Cpu::new(), &name, &matrix, panels);
            check_product(&Emulated::new(9), &name, &matrix, panels);
        }
    }
}

#[test]
fn products_are_right_in_float32() {
    check_products::<f32>();
}

#[test]
fn products_are_right_in_float64() {
    check_products::<f64>();
}

/// Blocks that iterate over their share of the entries more than once, several and none per column panel; warps that
/// iterate over their tiles and groups more than once; on devices of several sizes.
#[test]
fn products_are_right_on_any_grid() {
    let mut numbers = Numbers::new(52);
    let matrix = with_rows::<f64>(2000, &[20, 0, 900, 3, 64].repeat(12), &mut numbers);
    for (executor, name) in emulators().iter().zip(["a warp", "64 threads", "three multiprocessors", "128 threads"]) {
        for (columns, slots) in [(2000, 7), (1000, 1024), (300, 40), (2, 1), (40, 1024)] {
            check_product(executor, name, &matrix, Panels { columns, slots });
        }
    }
}

/// A GPU of compute capability 7.5 refuses a large matrix before it multiplies.
#[test]
fn panels_beyond_the_shared_memory_are_refused() {
    let executor = Emulated::new(1).with_shared_bytes(64 << 10);
    let matrix = |columns| with_rows::<f64>(columns, &[3; 20], &mut Numbers::new(53));
    assert!(Plan::with_format(&executor, matrix(8000), Format::Coo16).is_ok());
    let error = Plan::with_format(&executor, matrix(100_000), Format::Coo16).map(|_| ()).unwrap_err();
    let says = "bytes of shared memory that COO-16 needs in a block is 98304, and the limit is 65536";
    assert_eq!(error.to_string(), format!("the number of {says}"));
}
