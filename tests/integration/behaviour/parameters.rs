//! Formats with parameters, which have no name of their own.

use crate::behaviour::executors::TWO_FACTORS;
use crate::scenarios::{Products, check_conversion, check_converted_product, check_reproducible, matrices};
use warp_spmv::executor::{Cpu, Emulated, Executor, Reference};
use warp_spmv::format::{FillLimit, Matrix, Slicing};
use warp_spmv::{Complex, Format, Scalar};

const TEXTS: [&str; 17] = [
    "cmrs:height=1",
    "cmrs:height=5",
    "cmrs:height=11",
    "sell-p:slice=1",
    "sell-p:slice=32,stride=4",
    "sell-p:slice=40,stride=3,sigma=400",
    "hyb:quantile=1/2",
    "hyb-atomic:quantile=1/2",
    "hyb-q0:coo=coo-match",
    "hyb-bell-garland:coo=coo-atomic",
    "hyb-column-limit:columns=3",
    "hyb-imbalance-bounded:quantile=1/2,rows=1/50",
    "bellpack-2x3:rows=64",
    "bellpack-2x3:rows=128",
    "bellpack-3x3:rows=256",
    "column-panels:kilobytes=1",
    "column-panels:kilobytes=3",
];

fn formats() -> impl Iterator<Item = Format> {
    TEXTS.iter().map(|text| text.parse().unwrap())
}

fn check_all<T: Scalar, E: Executor>(executor: &E) {
    for (name, matrix) in matrices::<T>() {
        let products = Products::with_factors(&name, &matrix, TWO_FACTORS);
        formats().for_each(|format| _ = products.check(executor, format));
    }
    for format in formats() {
        check_converted_product::<T, _>(executor, format);
        check_reproducible::<T, _>(executor, format);
    }
}

#[test]
fn every_executor_of_the_host_takes_them() {
    check_all::<f64, _>(&Reference::new());
    check_all::<f32, _>(&Cpu::new());
    check_all::<f64, _>(&Cpu::new());
    check_all::<Complex<f64>, _>(&Cpu::new());
}

#[test]
fn kernels_take_them() {
    check_all::<f32, _>(&Emulated::new(1));
}

#[test]
fn kernels_convert_as_the_host_does() {
    for (name, matrix) in matrices::<f64>() {
        formats().for_each(|format| check_conversion(&Emulated::new(2), &name, &matrix, format));
    }
}

/// A matrix counts as stored in the formats that share its arrays, and in no other format of the same storage.
#[test]
fn formats_share_arrays_where_all_parameters_are_the_same() {
    let generator: warp_spmv::synthetic::Generator = "pareto:rows=2000,k=1.5".parse().unwrap();
    let csr = generator.generate::<f64>().unwrap();
    let unlimited = FillLimit { times_csr: f64::INFINITY };
    for format in formats() {
        let matrix = Matrix::try_from_csr(csr.clone(), format, unlimited).unwrap();
        assert_eq!(matrix.bytes(), format.bytes::<_, f64>(&csr).unwrap(), "{format}");
        for other in formats().chain(Format::ALL.iter().copied()) {
            let shares = format.shares_arrays(other);
            assert_eq!(shares, other.shares_arrays(format), "{format}, {other}");
            assert!(!shares || matrix.is_stored_as(other).unwrap(), "{format}, {other}");
            // Two rules may happen to split rows at the same entry.
            let is_hyb = format.storage().starts_with("HYB");
            assert!(is_hyb || shares == matrix.is_stored_as(other).unwrap(), "{format}, {other}");
        }
    }
    let [hyb, atomic, coo] = ["hyb", "hyb-atomic", "coo"].map(|text| text.parse::<Format>().unwrap());
    assert!(hyb.shares_arrays(atomic) && !hyb.shares_arrays(coo) && Format::Auto.shares_arrays(Format::Auto));
    assert!(!atomic.reproducible() && hyb.reproducible() && !Format::Auto.shares_arrays(hyb));
}

/// Programs can pass parameters that text cannot express.
#[test]
fn slices_that_contradict_themselves_are_refused() {
    let matrix = "stencil:5:4".parse::<warp_spmv::synthetic::Generator>().unwrap().generate::<f64>().unwrap();
    let format = Format::SellP(Slicing { slice_size: 0, ..Slicing::UNSORTED });
    let message = "SELL-P matrix: the slice size and the stride factor must be at least 1";
    assert_eq!(format.bytes::<_, f64>(&matrix).unwrap_err().to_string(), message);
    let error = Matrix::try_from_csr(matrix, format, FillLimit::default()).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), message);
}
