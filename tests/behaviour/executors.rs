//! Every format on every executor that needs no GPU, against the exact result.

use crate::scenarios::{
    Numbers, check, check_reproducible, check_special_values, check_whole_numbers, matrices, multiply,
};
use proptest::prelude::*;
use warp_spmv::executor::{Cpu, Emulated, Executor, Reference};
use warp_spmv::spmv::Tuning;
use warp_spmv::{Csr, Format, Plan, Real};

fn check_everything<T: Real, E: Executor>(executor: &E) {
    for &format in Format::ALL {
        for (name, matrix) in matrices::<T>() {
            check(executor, &name, &matrix, format);
        }
        check_special_values::<T, E>(executor, format);
        check_whole_numbers::<T, E>(executor, format);
        check_reproducible::<T, E>(executor, format);
    }
}

#[test]
fn reference_is_right() {
    check_everything::<f32, _>(&Reference::new());
    check_everything::<f64, _>(&Reference::new());
}

#[test]
fn cpu_is_right() {
    check_everything::<f32, _>(&Cpu::new());
    check_everything::<f64, _>(&Cpu::new());
}

#[test]
fn emulated_is_right_in_float32() {
    check_everything::<f32, _>(&Emulated::new(1));
}

#[test]
fn emulated_is_right_in_float64() {
    check_everything::<f64, _>(&Emulated::new(2));
}

/// Larger and smaller grids than the default one cut the work elsewhere.
#[test]
fn emulated_is_right_on_other_grids() {
    for (multiprocessors, threads, threads_per_block, waves) in [(1, 32, 32, 1), (3, 64, 32, 2), (4, 1024, 256, 64)] {
        let executor = Emulated::with_size(9, multiprocessors, threads, Tuning { threads_per_block, waves });
        for &format in Format::ALL {
            for (name, matrix) in matrices::<f64>() {
                check(&executor, &name, &matrix, format);
            }
        }
    }
}

/// No kernel's result depends on the order in which warps and blocks run.
#[test]
fn emulated_gives_the_same_bits_under_every_schedule() {
    for &format in Format::ALL {
        let matrix = "pareto:rows=300,k=1.2,base=3"
            .parse::<warp_spmv::synthetic::Generator>()
            .unwrap()
            .generate::<f64>()
            .unwrap();
        let x = Numbers::new(5).vector(matrix.columns());
        let y = vec![0.0; matrix.rows()];
        let run = |seed| multiply(&Emulated::new(seed), &matrix, format, (1.0, 0.0), &x, &y).unwrap();
        let first = run(0);
        for seed in 1..12 {
            assert_eq!(run(seed), first, "{format}, seed {seed}");
        }
    }
}

/// The CPU's results do not depend on the number of threads.
#[test]
fn cpu_gives_the_same_bits_for_any_number_of_threads() {
    let matrix =
        "pareto:rows=20000,k=1.2,base=3".parse::<warp_spmv::synthetic::Generator>().unwrap().generate::<f64>().unwrap();
    let x = Numbers::new(5).vector(matrix.columns());
    let y = vec![0.0; matrix.rows()];
    for &format in Format::ALL {
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| multiply(&Cpu::new(), &matrix, format, (1.0, 0.0), &x, &y).unwrap())
        };
        let first = run(1);
        assert_eq!(run(2), first, "{format}");
        assert_eq!(run(7), first, "{format}");
    }
}

#[test]
fn vectors_that_do_not_fit_are_refused() {
    fn check<E: Executor>(executor: &E) {
        for &format in Format::ALL {
            let matrix = Csr::try_from_triplets(2, 3, &[0, 1], &[2, 0], &[1.0, 2.0]).unwrap();
            let mut plan = Plan::new(executor, matrix, format).unwrap();
            let upload = |length| executor.upload(vec![0.0; length]).unwrap();
            for (x, y, message) in [
                (2, 2, "x has length 2, expected 3"),
                (4, 2, "x has length 4, expected 3"),
                (3, 3, "y has length 3, expected 2"),
                (3, 0, "y has length 0, expected 2"),
            ] {
                let error = plan.apply(1.0, &upload(x), 0.0, &mut upload(y)).unwrap_err();
                assert_eq!(error.to_string(), message, "{format}");
            }
            plan.apply(1.0, &upload(3), 0.0, &mut upload(2)).unwrap();
        }
    }
    check(&Reference::new());
    check(&Cpu::new());
    check(&Emulated::new(0));
}

/// Any small matrix, as entries in no order, some of them more than once.
fn any_matrix() -> impl Strategy<Value = Csr<f64>> {
    (0usize..80, 0usize..80).prop_flat_map(|(rows, columns)| {
        let most = if rows * columns == 0 { 0 } else { 300 };
        let entry = (0..rows.max(1) as u32, 0..columns.max(1) as u32, -1e3..1e3);
        prop::collection::vec(entry, 0..=most).prop_map(move |entries| {
            let row_indices: Vec<_> = entries.iter().map(|entry| entry.0).collect();
            let column_indices: Vec<_> = entries.iter().map(|entry| entry.1).collect();
            let values: Vec<_> = entries.iter().map(|entry| entry.2).collect();
            Csr::try_from_triplets(rows, columns, &row_indices, &column_indices, &values).unwrap()
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_matrix_is_multiplied_right(matrix in any_matrix(), seed in 0u64..1000) {
        for &format in Format::ALL {
            check(&Cpu::new(), "random", &matrix, format);
            check(&Emulated::new(seed), "random", &matrix, format);
            check(&Emulated::new(seed), "random", &matrix.cast::<f32>(), format);
        }
    }
}
