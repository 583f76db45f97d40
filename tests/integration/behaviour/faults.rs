//! Regressions: each of these tests failed before a fix.

use warp_spmv::executor::{Cpu, Emulated, Executor, Reference};
use warp_spmv::format::{FillLimit, Matrix};
use warp_spmv::verify::{exact, verify};
use warp_spmv::{Csr, Error, Format, Layout, Multivector, Plan};

/// The emulator tracks writes; it never mistakes a number for unwritten memory.
#[test]
fn numbers_that_look_unwritten_are_numbers() {
    let marks = [0xffa5_a5a5_ffa5_a5a5_u64, 0x7fa5_a5a5_7fa5_a5a5].map(f64::from_bits);
    assert!(marks.iter().all(|mark| mark.is_finite()));
    let values = [marks[0], 1.0, marks[1], marks[0], 2.0];
    let matrix = Csr::try_from_triplets(4, 4, &[0, 1, 1, 2, 3], &[1, 0, 2, 2, 3], &values).unwrap();
    let emulated = Emulated::new(3);
    let x = emulated.upload(vec![1e-300; 4]).unwrap();
    let expected = exact(&matrix, 1.0, &x, 0.0, &[0.0; 4]).unwrap();
    for &format in Format::ALL {
        let mut plan = Plan::with_format(&emulated, matrix.clone(), format).unwrap();
        let mut y = emulated.zeros(4).unwrap();
        plan.apply(1.0, &x, 0.0, &mut y).unwrap_or_else(|error| panic!("{format}: {error}"));
        assert!(verify(&y, &expected, format).unwrap().passed(), "{format}: {y:?}");
    }
}

/// A matrix stored in one format is not multiplied as another, whatever the product.
fn check_other_storage<E: Executor>(executor: &E) {
    let matrix = Csr::try_from_triplets(3, 3, &[0, 1, 2], &[1, 0, 2], &[1.0, 2.0, 3.0]).unwrap();
    let vector = || executor.upload(vec![1.0; 6]).unwrap();
    let refused = |what: &str, stored: Format, format: Format, result: Result<(), Error>| {
        let error = result.expect_err(&format!("{what}: stored as {stored}, multiplied as {format}"));
        assert!(matches!(error, Error::Structure { .. }), "{what}: {error}");
    };
    for &stored in Format::STANDARD {
        for &format in Format::STANDARD {
            if stored.storage() == format.storage() || !format.multiplies_transposed() {
                continue;
            }
            let there = Matrix::try_from_csr(matrix.clone(), stored, FillLimit::default()).unwrap();
            let mut plan = match Plan::from_matrix(executor, there, format) {
                Ok(plan) => plan,
                Err(Error::Structure { .. }) => continue,
                Err(error) => panic!("{error}"),
            };
            let short = executor.upload(vec![1.0; 3]).unwrap();
            let mut y = executor.upload(vec![1.0; 3]).unwrap();
            refused("product", stored, format, plan.apply(1.0, &short, 0.0, &mut y));
            refused("transposed", stored, format, plan.apply_transposed(1.0, &short, 0.0, &mut y));
            for layout in [Layout::RowMajor, Layout::ColumnMajor] {
                let shape = Multivector { vectors: 2, layout };
                refused(
                    "multivector",
                    stored,
                    format,
                    plan.apply_multivector(shape, 1.0, &vector(), 0.0, &mut vector()),
                );
            }
        }
    }
}

#[test]
fn a_matrix_is_not_multiplied_as_another_format() {
    check_other_storage(&Cpu::new());
    check_other_storage(&Reference::new());
    check_other_storage(&Emulated::new(0));
}
