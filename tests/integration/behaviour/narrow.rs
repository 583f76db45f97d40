//! Values stored narrower than computed with, on every executor that needs no GPU.

use warp_spmv::executor::{Cpu, Emulated, Executor, Reference};
use warp_spmv::format::{Matrix, NarrowType};
use warp_spmv::{Complex, Csr, Error, Format, Layout, Multivector, Plan, PlanOptions, Scalar, ValueStorage};

use crate::scenarios::matrices;
use crate::scenarios::narrow::{check_narrow, check_rounded};

/// Formats that support narrow values, and some that do not.
fn formats() -> Vec<Format> {
    let narrow = Format::ALL.iter().copied().filter(|format| format.multiplies_narrow());
    narrow.chain([Format::COO, Format::CSR_LOAD_BALANCED, Format::CSR_AUTOMATIC]).collect()
}

fn check_all<T: Scalar>(executor: &impl Executor, formats: &[Format], most: usize) {
    for (name, matrix) in matrices::<T>().iter().filter(|(_, matrix)| matrix.nnz() <= most) {
        for &format in formats {
            check_narrow(executor, name, matrix, format);
        }
    }
    for &format in formats.iter().filter(|format| format.multiplies_narrow()) {
        check_rounded::<T, _>(executor, format);
    }
}

#[test]
fn narrow_values_give_the_same_bits_on_the_cpu() {
    check_all::<f32>(&Cpu::new(), &formats(), 3000);
    check_all::<f64>(&Cpu::new(), &formats(), usize::MAX);
    check_all::<Complex<f32>>(&Cpu::new(), &formats(), 1000);
    check_all::<Complex<f64>>(&Cpu::new(), &formats(), 1000);
}

#[test]
fn narrow_values_give_the_same_bits_in_twice_the_precision() {
    check_all::<f64>(&Reference::new(), &[Format::CSR_TILED, Format::Sell16, Format::COO], 500);
}

#[test]
fn narrow_values_give_the_same_bits_on_the_emulator() {
    check_all::<f32>(&Emulated::new(3), &formats(), 200);
    check_all::<f64>(&Emulated::new(4), &formats(), 200);
}

#[test]
fn what_narrow_values_cannot_do_is_an_error() {
    let matrix = Csr::try_new(2, 2, vec![0_u32, 1, 2], vec![0, 1], vec![1.0, 3e300]).unwrap();
    let with = |format, values, updates| {
        let options = PlanOptions { values, updates, ..PlanOptions::default() };
        Plan::with_options(&Cpu::new(), matrix.clone(), format, options)
    };
    let error = |plan: Result<Plan<f64, Cpu>, Error>| plan.map(|_| ()).unwrap_err().to_string();
    let float32 = ValueStorage::Rounded(NarrowType::Float32);
    assert_eq!(
        error(with(Format::CSR_TILED, float32, false)),
        "float32 cannot hold 1 of the values: the first is 3e300 in row 1, column 1, beyond its range"
    );
    assert_eq!(
        error(with(Format::COO, float32, false)),
        "format coo has no kernel for values stored narrower than computed with"
    );
    assert_eq!(
        error(with(Format::CSR_TILED, ValueStorage::Lossless, true)),
        "format csr-tiled has no kernel for new values in a narrow type"
    );
    // The mark for slots without an entry takes one code.
    let diagonal: Vec<u32> = (0..256).collect();
    let values: Vec<f64> = diagonal.iter().map(|&number| f64::from(number) + 0.1).collect();
    let many = Csr::try_from_triplets(256, 256, &diagonal, &diagonal, &values).unwrap();
    let with_many = |format, values| {
        let options = PlanOptions { values, ..PlanOptions::default() };
        Plan::with_options(&Cpu::new(), many.clone(), format, options)
    };
    assert!(matches!(with_many(Format::ELL, ValueStorage::Lossless).unwrap().matrix(), Matrix::Narrow(_)));
    assert!(matches!(with_many(Format::Dia, ValueStorage::Lossless).unwrap().matrix(), Matrix::Dia(_)));
    assert_eq!(
        error(with_many(Format::Dia, ValueStorage::Rounded(NarrowType::Table))),
        "the matrix has more than 255 different values: store them in another type"
    );
    let mut plan = with(Format::CSR_TILED, ValueStorage::Lossless, false).unwrap();
    let Matrix::Narrow(narrow) = plan.matrix() else { panic!("not narrow") };
    assert_eq!((narrow.narrow_type(), narrow.largest_change(), narrow.nnz()), (NarrowType::Table, 0.0, 2));
    let (x, mut y) = (vec![1.0; 4], vec![0.0; 4]);
    let several = plan.apply_multivector(Multivector { vectors: 2, layout: Layout::RowMajor }, 1.0, &x, 0.0, &mut y);
    let expected = "format csr-tiled has no kernel for several vectors or the transpose, with values stored narrower \
                    than computed with";
    assert_eq!(several.unwrap_err().to_string(), expected);
    let transposed = plan.apply_transposed(1.0, &vec![1.0; 2], 0.0, &mut vec![0.0; 2]);
    assert_eq!(transposed.unwrap_err().to_string(), expected);
    assert!(plan.update_values(&vec![1.0; 2]).is_err());
}
