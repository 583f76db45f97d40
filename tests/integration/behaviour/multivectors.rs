//! Several vectors at once on every executor that needs no GPU, against the exact result.

use proptest::prelude::*;
use warp_spmv::device::Tuning;
use warp_spmv::executor::{Cpu, Emulated, Executor, Reference};
use warp_spmv::{Complex, Csr, Format, Layout, Multivector, Plan, Scalar};

use crate::behaviour::executors::any_matrix;
use crate::scenarios::multivector::{Cases, VECTORS, Vectors, check_multivector_special_values, multiply_vectors};
use crate::scenarios::{Numbers, generated, matrices, multiply, with_rows, with_wide_offsets};

/// One format per kernel: most strategies of a storage format share it, as do HYB's splits and CMRS's heights.
fn storages() -> impl Iterator<Item = Format> {
    let first = |format: &Format| {
        let same = Format::ALL.iter().find(|other| other.storage() == format.storage());
        let shared = matches!(format, Format::Hyb(_) | Format::Cmrs(_)) && !in_standard(format);
        same == Some(format) && !shared
    };
    let first = Format::ALL.iter().copied().filter(first).filter(|format| format.multiplies_multivectors());
    first.chain([Format::CSR_TILED])
}

fn in_standard(format: &Format) -> bool {
    Format::STANDARD.contains(format)
}

/// A few vectors with every matrix, and every number of vectors with a matrix of short, long and empty rows.
fn check_all<T: Scalar, E: Executor>(executor: &E) {
    let mut checked = vec![0; storages().count()];
    for (name, matrix) in matrices::<T>() {
        let small = matrix.rows() + matrix.columns() + matrix.nnz() < 3000;
        for &vectors in if small { &[3, 33][..] } else { &[5] } {
            let cases = Cases::new(&matrix, vectors);
            for (checked, format) in checked.iter_mut().zip(storages()) {
                *checked += usize::from(cases.check(executor, &name, format).is_some());
            }
        }
    }
    for (checked, format) in checked.into_iter().zip(storages()) {
        // Some matrices are refused because of padding.
        assert!(checked > 30, "{format}: only {checked} were checked");
        check_multivector_special_values::<T, E>(executor, format);
    }
    let matrix = generated::<T>("pareto:rows=150,k=1.2,base=2");
    for &vectors in VECTORS {
        let cases = Cases::new(&matrix, vectors);
        for format in storages() {
            assert!(cases.check(executor, "pareto", format).is_some(), "{format}");
        }
    }
}

#[test]
fn the_cpu_multiplies_several_vectors_right() {
    check_all::<f32, _>(&Cpu::new());
    check_all::<f64, _>(&Cpu::new());
    check_all::<Complex<f32>, _>(&Cpu::new());
}

#[test]
fn the_reference_multiplies_several_vectors_right_in_any_format() {
    check_all::<f32, _>(&Reference::new());
    let stencil = "stencil:5:9x7".parse::<warp_spmv::synthetic::Generator>().unwrap().generate::<f64>().unwrap();
    let cases = Cases::new(&stencil, 3);
    for &format in Format::ALL {
        assert!(cases.check(&Reference::new(), "stencil", format).is_some(), "{format}");
    }
}

#[test]
fn the_emulator_multiplies_several_vectors_right_in_float32() {
    check_all::<f32, _>(&Emulated::new(1));
}

#[test]
fn the_emulator_multiplies_several_vectors_right_in_float64() {
    check_all::<f64, _>(&Emulated::new(2));
}

#[test]
fn the_emulator_multiplies_several_vectors_right_in_complex128() {
    check_all::<Complex<f64>, _>(&Emulated::new(3));
}

/// Rows that many blocks share, and blocks with nothing but empty rows, with offsets of both widths.
#[test]
fn long_and_empty_rows_are_multiplied_with_few_vectors() {
    fn check<T: Scalar>(seed: u64) {
        let mut numbers = Numbers::new(37);
        for lengths in [vec![5, 1000, 0, 3, 430], vec![0, 2000, 0, 1, 0], vec![0; 1000], vec![1; 1000]] {
            let matrix = with_rows::<T>(60, &lengths, &mut numbers);
            for matrix in [with_wide_offsets(&matrix), matrix] {
                for vectors in [1, 2, 3, 4, 6, 7, 8] {
                    let cases = Cases::new(&matrix, vectors);
                    assert!(cases.check(&Emulated::new(seed), "long or empty", Format::CSR_TILED).is_some());
                }
            }
        }
    }
    check::<f32>(6);
    check::<f64>(7);
    check::<Complex<f32>>(8);
    check::<Complex<f64>>(9);
}

/// Grids larger and smaller than the default one split the work elsewhere.
#[test]
fn several_vectors_are_multiplied_right_on_other_grids() {
    for (seed, multiprocessors, threads, threads_per_block, waves) in
        [(3, 1, 32, 32, 1), (4, 3, 64, 32, 2), (5, 4, 1024, 256, 64)]
    {
        let executor =
            Emulated::with_size(seed, multiprocessors, threads, Tuning::new(threads_per_block, waves).unwrap())
                .unwrap();
        // How the work is split does not depend on the block size of the format.
        let formats = || storages().filter(|format| !matches!(format, Format::Bellpack(_)) || in_standard(format));
        for (name, matrix) in matrices::<f64>().into_iter().filter(|(_, matrix)| matrix.nnz() < 1500) {
            let cases = Cases::new(&matrix, 6);
            for format in formats() {
                cases.check(&executor, &name, format);
            }
        }
    }
}

/// The label is true: a format either multiplies several vectors or reports that it does not.
#[test]
fn formats_without_a_kernel_say_so() {
    fn check<E: Executor>(executor: &E) {
        let stencil = "stencil:5:9x7".parse::<warp_spmv::synthetic::Generator>().unwrap().generate::<f64>().unwrap();
        let cases = Cases::new(&stencil, 3);
        for &format in Format::ALL {
            let checked = cases.check(executor, "stencil", format).is_some();
            assert_eq!(checked, format.multiplies_multivectors(), "{format}");
        }
    }
    check(&Cpu::new());
    check(&Emulated::new(0));
}

/// The result depends neither on the order of warps and blocks nor on the number of threads.
#[test]
fn several_vectors_give_the_same_bits_every_time() {
    let pareto = "pareto:rows=300,k=1.2,base=30".parse::<warp_spmv::synthetic::Generator>().unwrap();
    let matrix = pareto.generate::<f64>().unwrap();
    let x = Numbers::new(5).vector(matrix.columns() * 7);
    let y = vec![0.0; matrix.rows() * 7];
    for layout in [Layout::RowMajor, Layout::ColumnMajor] {
        let shape = Multivector { vectors: 7, layout };
        let vectors = Vectors { shape, factors: (1.0, 0.0), x: &x, y: &y };
        for format in storages() {
            let emulated = |seed| multiply_vectors(&Emulated::new(seed), &matrix, format, &vectors);
            // One format refuses the matrix because of padding.
            let Some(first) = emulated(0) else {
                assert_eq!(format, Format::Dia);
                continue;
            };
            assert!((1..6).all(|seed| emulated(seed).unwrap() == first), "{format}");
            let cpu = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| multiply_vectors(&Cpu::new(), &matrix, format, &vectors).unwrap())
            };
            let first = cpu(1);
            assert!(cpu(2) == first && cpu(7) == first, "{format}");
        }
    }
}

/// The workspace for the carries of many vectors is allocated on demand, and also serves one vector.
#[test]
fn a_plan_takes_one_vector_and_several_by_turns() {
    let pareto = "pareto:rows=300,k=1.2,base=30".parse::<warp_spmv::synthetic::Generator>().unwrap();
    let matrix = pareto.generate::<f64>().unwrap();
    let executor = Emulated::new(0);
    let x: Vec<f64> = Numbers::new(5).vector(matrix.columns() * 40);
    for format in [Format::CSR_TILED, Format::COO] {
        let zeros = vec![0.0; matrix.rows()];
        let one = multiply(&executor, &matrix, format, (1.0, 0.0), &x[..matrix.columns()], &zeros).unwrap().unwrap();
        let mut plan = Plan::with_format(&executor, matrix.clone(), format).unwrap();
        for vectors in [1, 40, 2, 4, 8, 3, 4] {
            let shape = Multivector { vectors, layout: Layout::ColumnMajor };
            let x = x[..matrix.columns() * vectors].to_vec();
            plan.apply_multivector(shape, 1.0, &x, 0.0, &mut vec![0.0; matrix.rows() * vectors]).unwrap();
            let mut y = zeros.clone();
            plan.apply(1.0, &x[..matrix.columns()].to_vec(), 0.0, &mut y).unwrap();
            assert_eq!(y, one, "{format}");
        }
    }
}

#[test]
fn several_vectors_that_do_not_fit_are_refused() {
    fn check<E: Executor>(executor: &E) {
        let matrix = Csr::try_from_triplets(2, 3, &[0, 1], &[2, 0], &[1.0, 2.0]).unwrap();
        let shape = Multivector { vectors: 4, layout: Layout::RowMajor };
        let mut plan = Plan::with_format(executor, matrix, Format::CSR_SCALAR).unwrap();
        let mut refused = |shape, x, y| {
            let upload = |length| executor.upload(vec![0.0; length]).unwrap();
            plan.apply_multivector(shape, 1.0, &upload(x), 0.0, &mut upload(y)).unwrap_err().to_string()
        };
        assert_eq!(refused(shape, 11, 8), "X has length 11, expected 12");
        assert_eq!(refused(shape, 12, 9), "Y has length 9, expected 8");
        let endless = Multivector { vectors: usize::MAX, ..shape };
        assert_eq!(
            refused(endless, 12, 8),
            format!("the number of vectors is {}, and the limit is 2147483647", usize::MAX)
        );
    }
    check(&Reference::new());
    check(&Cpu::new());
    check(&Emulated::new(0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_matrix_is_multiplied_with_several_vectors(matrix in any_matrix(), seed in 0u64..1000, vectors in 0usize..40) {
        let narrow = matrix.cast::<f32>().unwrap();
        let (cases, narrow) = (Cases::new(&matrix, vectors), Cases::new(&narrow, vectors));
        for format in storages() {
            cases.check(&Cpu::new(), "random", format);
            narrow.check(&Emulated::new(seed), "random", format);
        }
    }
}
