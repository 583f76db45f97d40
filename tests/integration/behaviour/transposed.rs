//! The transposed matrix on every executor that needs no GPU, against the exact result.

use proptest::prelude::*;
use warp_spmv::device::Tuning;
use warp_spmv::executor::{Cpu, Emulated, Executor, Reference};
use warp_spmv::{Complex, Csr, Format, Plan, PlanOptions, Real, Scalar};

use crate::behaviour::executors::any_matrix;
use crate::scenarios::transposed::{Which, check_transposed, check_transposed_special_values, multiply_transposed};
use crate::scenarios::{Numbers, matrices};

const STORAGES: [Format; 2] = [Format::CSR_SCALAR, Format::COO];

fn check_all<T: Scalar, E: Executor>(executor: &E) {
    for format in STORAGES {
        for (name, matrix) in matrices::<T>() {
            assert!(check_transposed(executor, &name, &matrix, format).is_some(), "{format} did not multiply");
        }
        check_transposed_special_values::<T, E>(executor, format);
    }
}

#[test]
fn the_cpu_multiplies_transposed_right() {
    check_all::<f32, _>(&Cpu::new());
    check_all::<f64, _>(&Cpu::new());
    check_all::<Complex<f32>, _>(&Cpu::new());
    check_all::<Complex<f64>, _>(&Cpu::new());
}

#[test]
fn the_reference_multiplies_transposed_right_in_any_format() {
    check_all::<f32, _>(&Reference::new());
    check_all::<Complex<f64>, _>(&Reference::new());
    let stencil = "stencil:5:9x7".parse::<warp_spmv::synthetic::Generator>().unwrap().generate::<f64>().unwrap();
    for &format in Format::ALL {
        assert!(check_transposed(&Reference::new(), "stencil", &stencil, format).is_some(), "{format}");
    }
}

#[test]
fn the_emulator_multiplies_transposed_right() {
    check_all::<f32, _>(&Emulated::new(1));
    check_all::<f64, _>(&Emulated::new(2));
    check_all::<Complex<f32>, _>(&Emulated::new(3));
    check_all::<Complex<f64>, _>(&Emulated::new(4));
}

/// As a GPU's units do: a sum in float32 that is subnormal comes out as 0, one in float64 does not.
#[test]
fn the_emulator_adds_atomically_as_a_gpu() {
    fn sum<T: Real>(value: f64, x: f64) -> f64 {
        let executor = Emulated::new(0);
        let matrix = Csr::try_new(1, 1, vec![0u32, 1], vec![0], vec![T::from_f64(value)]).unwrap();
        let x = executor.upload(vec![T::from_f64(x)]).unwrap();
        let mut y = executor.zeros(1).unwrap();
        let mut plan = Plan::with_format(&executor, matrix, Format::COO_ATOMIC).unwrap();
        plan.apply(T::from_f64(1.0), &x, T::from_f64(0.0), &mut y).unwrap();
        executor.download(&y).unwrap()[0].to_f64()
    }
    assert_eq!(sum::<f32>(1e-30, -1e-10), 0.0);
    assert_eq!(sum::<f32>(1e-30, 1e-5), f64::from(1e-30f32 * 1e-5f32));
    assert_eq!(sum::<f64>(1e-300, 1e-15), 1e-300 * 1e-15);
}

/// Larger and smaller grids than the default one cut the work elsewhere.
#[test]
fn transposed_is_right_on_other_grids() {
    for (seed, multiprocessors, threads, threads_per_block, waves) in
        [(3, 1, 32, 32, 1), (4, 3, 64, 32, 2), (5, 4, 1024, 256, 64)]
    {
        check_all::<f64, _>(
            &Emulated::with_size(seed, multiprocessors, threads, Tuning::new(threads_per_block, waves).unwrap())
                .unwrap(),
        );
    }
}

/// The label is true: a format either multiplies transposed or says that it does not.
#[test]
fn formats_without_a_kernel_say_so() {
    fn check<E: Executor>(executor: &E) {
        let stencil = "stencil:5:9x7".parse::<warp_spmv::synthetic::Generator>().unwrap().generate::<f64>().unwrap();
        for &format in Format::ALL {
            let checked = check_transposed(executor, "stencil", &stencil, format).is_some();
            assert_eq!(checked, format.multiplies_transposed(), "{format}");
        }
    }
    check(&Cpu::new());
    check(&Emulated::new(0));
}

/// The label is true: another order of warps and blocks gives other bits, unless the format promises the same ones. The
/// number of the CPU's threads never does.
#[test]
fn transposed_is_as_reproducible_as_it_says() {
    let pareto = "pareto:rows=300,k=1.2,base=300".parse::<warp_spmv::synthetic::Generator>().unwrap();
    let matrix = pareto.generate::<f64>().unwrap();
    let x = Numbers::new(5).vector(matrix.rows());
    let y = vec![0.0; matrix.columns()];
    for &format in Format::ALL.iter().filter(|format| format.multiplies_transposed()) {
        let emulated = |seed| {
            multiply_transposed(&Emulated::new(seed), &matrix, (format, Which::Transposed), (1.0, 0.0), &x, &y).unwrap()
        };
        let first = emulated(0);
        assert_eq!((1..6).all(|seed| emulated(seed) == first), format.reproducible_transposed(), "{format}");
        let cpu = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                multiply_transposed(&Cpu::new(), &matrix, (format, Which::Transposed), (1.0, 0.0), &x, &y).unwrap()
            })
        };
        let first = cpu(1);
        assert!(cpu(2) == first && cpu(7) == first, "{format}");
    }
}

#[test]
fn transposed_is_refused_where_the_same_bits_are_demanded() {
    let options = PlanOptions { reproducible: true, ..PlanOptions::default() };
    let matrix = Csr::try_from_triplets(2, 3, &[0, 1], &[2, 0], &[1.0, 2.0]).unwrap();
    for &format in Format::ALL.iter().filter(|format| format.reproducible()) {
        let cpu = Cpu::new();
        let plan = Plan::with_options(&cpu, matrix.clone(), format, options).unwrap();
        let error = plan.apply_transposed(1.0, &vec![1.0; 2], 0.0, &mut vec![0.0; 3]).unwrap_err().to_string();
        let resolved = plan.format();
        if format.multiplies_transposed() {
            let instead = "make a plan of Csr::transposed, or do not ask for the same bits every run";
            assert_eq!(error, format!("{resolved}, transposed, is not reproducible: {instead}"));
        } else {
            assert_eq!(error, format!("format {resolved} has no kernel for the transposed matrix"));
        }
    }
}

#[test]
fn vectors_that_do_not_fit_the_transpose_are_refused() {
    fn check<E: Executor>(executor: &E) {
        let matrix = Csr::try_from_triplets(2, 3, &[0, 1], &[2, 0], &[1.0, 2.0]).unwrap();
        for format in STORAGES {
            let plan = Plan::with_format(executor, matrix.clone(), format).unwrap();
            let upload = |length| executor.upload(vec![1.0; length]).unwrap();
            for (x, y, message) in [(3, 3, "x has length 3, expected 2"), (2, 2, "y has length 2, expected 3")] {
                let error = plan.apply_transposed(1.0, &upload(x), 0.0, &mut upload(y)).unwrap_err();
                assert_eq!(error.to_string(), message, "{format}");
            }
            let mut y = upload(3);
            plan.apply_transposed(2.0, &upload(2), 1.0, &mut y).unwrap();
            assert_eq!(executor.download(&y).unwrap(), [5.0, 1.0, 3.0], "{format}");
        }
    }
    check(&Reference::new());
    check(&Cpu::new());
    check(&Emulated::new(0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_matrix_is_multiplied_transposed(matrix in any_matrix(), seed in 0u64..1000) {
        for format in STORAGES {
            check_transposed(&Cpu::new(), "random", &matrix, format);
            check_transposed(&Emulated::new(seed), "random", &matrix.cast::<f32>().unwrap(), format);
        }
    }
}
