//! The transposed matrix on every executor that needs no GPU, against the exact result.

use proptest::prelude::*;
use warp_spmv::device::Tuning;
use warp_spmv::executor::{Cpu, Emulated, Executor, HostExecutor, Reference};
use warp_spmv::select::{Measure, Selection};
use warp_spmv::{Complex, Csr, Error, Format, Plan, PlanOptions, Real, Scalar};

use crate::behaviour::executors::any_matrix;
use crate::scenarios::transposed::{
    Which, apply_transposed, check_stored, check_transposed, check_transposed_special_values, multiply_stored, stored,
};
use crate::scenarios::{Numbers, matrices, plan};

/// Returns Aᵀ x.
fn multiply<E: Executor>(executor: &E, matrix: &Csr<f64>, format: Format, x: &[f64], y: &[f64]) -> Vec<f64> {
    let plan = plan(executor, matrix, format).unwrap();
    apply_transposed(&plan, (format, Which::Transposed), (1.0, 0.0), x, y).unwrap()
}

const STORAGES: [Format; 2] = [Format::CSR_SCALAR, Format::COO];

fn check_all<T: Scalar, E: Executor>(executor: &E) {
    for (name, matrix) in matrices::<T>() {
        for format in STORAGES {
            assert!(check_transposed(executor, &name, &matrix, format).is_some(), "{format} did not multiply");
        }
    }
    for format in STORAGES {
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

/// Like the units of a GPU: a subnormal sum in float32 becomes 0, one in float64 does not.
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

/// Grids larger and smaller than the default one split the work elsewhere.
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

/// The label is true: a format either multiplies transposed or reports that it does not.
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

/// The label is true: another order of warps and blocks changes the bits, unless the format promises the same ones. The
/// number of CPU threads never does.
#[test]
fn transposed_is_as_reproducible_as_it_says() {
    let pareto = "pareto:rows=300,k=1.2,base=300".parse::<warp_spmv::synthetic::Generator>().unwrap();
    let matrix = pareto.generate::<f64>().unwrap();
    let x = Numbers::new(5).vector(matrix.rows());
    let y = vec![0.0; matrix.columns()];
    for &format in Format::ALL.iter().filter(|format| format.multiplies_transposed()) {
        let emulated = |seed| multiply(&Emulated::new(seed), &matrix, format, &x, &y);
        let first = emulated(0);
        assert_eq!((1..6).all(|seed| emulated(seed) == first), format.reproducible_transposed(), "{format}");
        let cpu = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| multiply(&Cpu::new(), &matrix, format, &x, &y))
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
            let instead =
                "store the transpose, by `transposed` in the options, or do not request the same bits every run";
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

#[test]
fn a_stored_transpose_gives_the_same_bits_under_every_schedule() {
    let emulated: Vec<Emulated> = (0..12).map(Emulated::new).collect();
    let pareto = "pareto:rows=90,k=1.2,base=100".parse::<warp_spmv::synthetic::Generator>().unwrap();
    for &format in Format::STANDARD.iter().filter(|format| format.reproducible()) {
        check_stored("pareto", &pareto.generate::<f64>().unwrap(), format, &emulated);
    }
    for format in [Format::CSR_TILED, Format::SELL_P] {
        check_stored("pareto", &pareto.generate::<Complex<f32>>().unwrap(), format, &emulated);
    }
}

#[test]
fn a_stored_transpose_is_right_on_every_executor() {
    for (name, matrix) in matrices::<f64>().into_iter().step_by(3) {
        for format in [Format::CSR_TILED, Format::SELL_P, Format::COO, Format::ELL] {
            check_stored(&name, &matrix, format, &[Reference::new()]);
            check_stored(&name, &matrix, format, &[Cpu::new()]);
            check_stored(&name, &matrix, format, &[Emulated::new(1)]);
        }
    }
    for (name, matrix) in matrices::<Complex<f64>>().into_iter().step_by(5) {
        check_stored(&name, &matrix, Format::CSR_VECTOR, &[Cpu::new()]);
        check_stored(&name, &matrix, Format::CSR_VECTOR, &[Emulated::new(1)]);
    }
}

/// The stored transpose does not serve for the other one.
#[test]
fn the_other_transpose_of_a_complex_matrix_is_not_stored() {
    let matrix = Csr::try_from_triplets(1, 1, &[0], &[0], &[Complex::new(0.0, 1.0)]).unwrap();
    let (executor, x) = (Emulated::new(0), vec![Complex::new(1.0, 0.0)]);
    for which in [Which::Transposed, Which::Conjugate] {
        let options = stored(which, Format::CSR_SCALAR, false);
        let plan = Plan::with_options(&executor, matrix.clone(), Format::CSR_SCALAR, options).unwrap();
        let mut y = vec![Complex::default()];
        let other = match which {
            Which::Transposed => plan.apply_conjugate_transposed(x[0], &x, y[0], &mut y),
            Which::Conjugate => plan.apply_transposed(x[0], &x, y[0], &mut y),
        };
        assert!(matches!(other, Err(Error::NotReproducible { .. })), "{which:?}");
        let options = PlanOptions { reproducible: false, ..options };
        let plan = Plan::with_options(&executor, matrix.clone(), Format::CSR_SCALAR, options).unwrap();
        plan.apply_transposed(x[0], &x, y[0], &mut y).unwrap();
        assert_eq!(y[0], Complex::new(0.0, 1.0));
        plan.apply_conjugate_transposed(x[0], &x, Complex::default(), &mut y).unwrap();
        assert_eq!(y[0], Complex::new(0.0, -1.0));
    }
}

#[test]
fn a_stored_transpose_is_updated_only_in_a_plan_for_updates() {
    let matrix = Csr::try_from_triplets(2, 3, &[0, 1], &[2, 0], &[1.0, 2.0]).unwrap();
    let cpu = Cpu::new();
    let plan = |updates| {
        let options = stored(Which::Transposed, Format::SELL_P, updates);
        Plan::with_options(&cpu, matrix.clone(), Format::COO, options).unwrap()
    };
    let product = |plan: &Plan<f64, Cpu>| {
        let mut y = vec![0.0; 3];
        plan.apply_transposed(1.0, &vec![1.0, 10.0], 0.0, &mut y).unwrap();
        y
    };
    let mut fixed = plan(false);
    assert_eq!(fixed.update_bytes(), 0);
    let error = fixed.update_values(&vec![3.0, 4.0]).unwrap_err();
    assert!(matches!(error, Error::NotUpdatable { format: "sell-p" }), "{error}");
    assert_eq!(product(&fixed), [20.0, 0.0, 1.0]);
    let mut updatable = plan(true);
    // The pattern of the transpose, and the order of its entries.
    assert_eq!(updatable.update_bytes(), 4 * 4 + 2 * 4 + (2 + 3) * 4 + 16);
    let error = updatable.update_values(&vec![3.0]).unwrap_err().to_string();
    assert_eq!(error, "values has length 1, expected 2");
    assert_eq!(product(&updatable), [20.0, 0.0, 1.0]);
    updatable.update_values(&vec![3.0, 4.0]).unwrap();
    assert_eq!(product(&updatable), [40.0, 0.0, 3.0]);
    let mut y = vec![0.0; 2];
    updatable.apply(1.0, &vec![1.0, 10.0, 100.0], 0.0, &mut y).unwrap();
    assert_eq!(y, [300.0, 4.0]);
}

#[test]
fn formats_that_add_atomically_do_not_store_a_reproducible_transpose() {
    let matrix = Csr::try_from_triplets(2, 3, &[0, 1], &[2, 0], &[1.0, 2.0]).unwrap();
    let options = stored(Which::Transposed, Format::COO_ATOMIC, false);
    let error = Plan::with_options(&Cpu::new(), matrix, Format::COO, options).map(drop).unwrap_err();
    assert!(error.to_string().starts_with("coo-atomic is not reproducible: "), "{error}");
}

#[test]
fn where_the_format_is_chosen_the_same_bits_take_a_stored_transpose() {
    let matrix: Csr<f64> = "stencil:9:30".parse::<warp_spmv::synthetic::Generator>().unwrap().generate().unwrap();
    let selection = Selection { transposed: true, measure: Measure::Never, store: None, ..Selection::default() };
    let plan = |selection: &Selection| Plan::automatic(&Emulated::new(0), matrix.clone(), selection);
    let free = plan(&selection).unwrap();
    assert!(free.transpose_format().is_some_and(Format::reproducible));
    let atomic = plan(&Selection { reproducible: false, ..selection.clone() }).unwrap();
    assert!(atomic.transpose_format().is_none() && atomic.format().multiplies_transposed());

    // Room for both in CSR, then too little for both in any format.
    let enough = 2 * matrix.bytes() as u64;
    let with_budget = |budget| plan(&Selection { memory_budget: Some(budget), ..selection.clone() });
    let tight = with_budget(enough).unwrap();
    let bytes = tight.matrix().bytes() + tight.transpose_bytes();
    assert!(tight.transpose_bytes() > 0 && bytes <= enough.into(), "{bytes} of {enough}");
    let error = with_budget(matrix.bytes() as u64).map(drop).unwrap_err();
    assert!(matches!(error, Error::TransposeMemory { budget, .. } if budget == matrix.bytes() as u64), "{error}");
    assert!(error.to_string().starts_with("the matrix and its transpose take "), "{error}");

    let selection = Selection { updates: true, ..selection };
    let mut plan = Plan::automatic(&Cpu::new(), matrix.clone(), &selection).unwrap();
    plan.update_values(&matrix.values().iter().map(|value| 2.0 * value).collect()).unwrap();
    let (x, mut y) = (vec![1.0; matrix.rows()], vec![0.0; matrix.columns()]);
    plan.apply_transposed(0.5, &x, 0.0, &mut y).unwrap();
    let mut expected = vec![0.0; matrix.columns()];
    let stored = Plan::with_format(&Cpu::new(), matrix.transposed().unwrap(), plan.transpose_format().unwrap());
    stored.unwrap().apply(1.0, &x, 0.0, &mut expected).unwrap();
    assert_eq!(y, expected);
}

/// Threads take turns with the stored transpose.
#[test]
fn threads_multiply_with_a_stored_transpose_at_the_same_time() {
    let pareto = "pareto:rows=300,k=1.2,base=300".parse::<warp_spmv::synthetic::Generator>().unwrap();
    let matrix = pareto.generate::<f64>().unwrap();
    let (x, y) = (Numbers::new(5).vector(matrix.rows()), vec![1.0; matrix.columns()]);
    for executor in [HostExecutor::from(Cpu::new()), Emulated::new(1).into()] {
        let options = stored(Which::Transposed, Format::CSR_TILED, false);
        let plan = Plan::with_options(&executor, matrix.clone(), Format::CSR_TILED, options).unwrap();
        let expected = multiply_stored(&executor, &plan, Which::Transposed, &x, &y);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| assert!(multiply_stored(&executor, &plan, Which::Transposed, &x, &y) == expected));
            }
        });
    }
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
