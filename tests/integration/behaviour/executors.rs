//! Every format on every executor that needs no GPU, against the exact result.

use crate::scenarios::parts::check_parts_of_arrays;
use crate::scenarios::random::emulators;
use crate::scenarios::tiles::check_tiles;
use crate::scenarios::{
    Numbers, Products, as_stored, check, check_reproducible, check_special_values, check_whole_numbers, matrices,
    multiply,
};
use gpu_kernels::{csr_tiled, csr_tiled_arriving};
use proptest::prelude::*;
use warp_spmv::device::Tuning;
use warp_spmv::executor::{Cpu, Emulated, Executor, HostExecutor, Reference};
use warp_spmv::format::{Bellpack, BlockSize, FillLimit, HybSplit, Matrix, PartitionRows};
use warp_spmv::verify::{exact, verify};
use warp_spmv::{Complex, Csr, Format, Layout, Multivector, Plan, PlanOptions, Scalar};

/// Factors for checks that run with all factors elsewhere: one pair ignores y, one reads it.
pub const TWO_FACTORS: &[(f64, f64)] = &[(1.0, 0.0), (0.75, -1.5)];

fn check_everything<T: Scalar, E: Executor>(executor: &E) {
    for (name, matrix) in matrices::<T>() {
        let products = Products::new(&name, &matrix);
        for &format in Format::ALL {
            products.check(executor, format);
        }
    }
    for &format in Format::ALL {
        check_special_values::<T, E>(executor, format);
        check_whole_numbers::<T, E>(executor, format);
        check_reproducible::<T, E>(executor, format);
    }
}

#[test]
fn reference_is_right() {
    check_everything::<f32, _>(&Reference::new());
    check_everything::<f64, _>(&Reference::new());
    check_everything::<Complex<f32>, _>(&Reference::new());
    check_everything::<Complex<f64>, _>(&Reference::new());
}

#[test]
fn cpu_is_right() {
    check_everything::<f32, _>(&Cpu::new());
    check_everything::<f64, _>(&Cpu::new());
    check_everything::<Complex<f32>, _>(&Cpu::new());
    check_everything::<Complex<f64>, _>(&Cpu::new());
}

#[test]
fn emulated_is_right_in_float32() {
    check_everything::<f32, _>(&Emulated::new(1));
}

#[test]
fn emulated_is_right_in_float64() {
    check_everything::<f64, _>(&Emulated::new(2));
}

/// The kernels of complex64 are the same code, and run under all schedules of `schedules`.
#[test]
fn emulated_is_right_in_complex128() {
    check_everything::<Complex<f64>, _>(&Emulated::new(4));
}

#[test]
fn parts_of_arrays_are_read_and_written() {
    check_parts_of_arrays(&Reference::new());
    check_parts_of_arrays(&Cpu::new());
    check_parts_of_arrays(&Emulated::new(3));
    check_parts_of_arrays(&HostExecutor::from(Cpu::new()));
}

#[test]
fn factors_that_are_not_finite_are_refused_by_every_product() {
    let executors: [HostExecutor; 3] = [Reference::new().into(), Cpu::new().into(), Emulated::new(0).into()];
    let matrix = Csr::try_from_triplets(2, 2, &[0, 1], &[0, 1], &[1.0, 2.0]).unwrap();
    let shape = Multivector { vectors: 1, layout: Layout::ColumnMajor };
    for executor in executors {
        let mut plan = Plan::with_format(&executor, matrix.clone(), Format::CSR_SCALAR).unwrap();
        let (x, mut y) = (vec![1.0; 2], vec![3.0; 2]);
        for (alpha, beta, what) in [
            (f64::NAN, 0.0, "alpha is NaN"),
            (f64::INFINITY, 1.0, "alpha is inf"),
            (1.0, f64::NEG_INFINITY, "beta is -inf"),
        ] {
            let expected = format!("{what}, expected a finite number");
            for result in [
                plan.apply(alpha, &x, beta, &mut y),
                plan.apply_multivector(shape, alpha, &x, beta, &mut y),
                plan.apply_transposed(alpha, &x, beta, &mut y),
            ] {
                assert_eq!(result.unwrap_err().to_string(), expected);
            }
        }
        assert_eq!(y, [3.0; 2]);
        plan.apply(f64::MAX, &x, -0.0, &mut y).unwrap();
        assert_eq!(y, [f64::MAX, f64::INFINITY]);
    }
}

/// Grids larger and smaller than the default one split the work elsewhere, whatever the factors.
fn check_on_grid(multiprocessors: u32, threads: u32, threads_per_block: u32, waves: u32) {
    let executor =
        Emulated::with_size(9, multiprocessors, threads, Tuning::new(threads_per_block, waves).unwrap()).unwrap();
    for (name, matrix) in matrices::<f64>() {
        let products = Products::with_factors(&name, &matrix, TWO_FACTORS);
        for &format in Format::ALL {
            products.check(&executor, format);
        }
    }
}

/// Blocks of csr-tiled have twice as many threads as others, and tiles that arrive have as few items as suits the matrix.
#[test]
fn emulated_is_right_where_tiles_share_rows() {
    let items = [64, 128, 64, 256].map(csr_tiled::tile_items);
    let mut cases: Vec<_> = emulators().into_iter().zip(items).map(|(executor, items)| (executor, items, 33)).collect();
    // On a device that runs many blocks at a time, they arrive, which replaces a second launch. The more items, the larger
    // the tiles.
    let [least, most] = [csr_tiled_arriving::least_items(64), csr_tiled_arriving::most_items(64)];
    for (items, many) in [(least, 33), (200, 100), (most, 120)] {
        cases.push((Emulated::with_size(0, 64, 128, Tuning::new(32, 1).unwrap()).unwrap(), items, many));
    }
    for (mut executor, items, many) in cases {
        for seed in 0..4 {
            executor.set_seed(seed);
            check_tiles::<f64, _>(&executor, items as usize, many);
        }
        check_tiles::<f32, _>(&executor, items as usize, many);
        check_tiles::<Complex<f64>, _>(&executor, items as usize, many);
    }
}

#[test]
fn emulated_is_right_on_one_warp() {
    check_on_grid(1, 32, 32, 1);
}

#[test]
fn emulated_is_right_on_a_few_warps() {
    check_on_grid(3, 64, 32, 2);
}

#[test]
fn emulated_is_right_with_a_thread_for_everything() {
    check_on_grid(4, 1024, 256, 64);
}

/// The result of a reproducible format does not depend on the order in which warps and blocks run. That of any other
/// format does: otherwise its label would be wrong.
#[test]
fn emulated_gives_the_same_bits_under_every_schedule_in_reproducible_formats() {
    // Long rows, so that more than two warps share one, and few of them, so that many do; of different lengths, so that
    // part of them is in the COO part of HYB.
    let matrices = ["pareto:rows=300,k=1.2,base=300", "pareto:rows=3,columns=9000,k=1.2,base=500,scale=900"]
        .map(|text| text.parse::<warp_spmv::synthetic::Generator>().unwrap().generate::<f64>().unwrap());
    for &format in Format::ALL {
        let same = matrices.iter().all(|matrix| {
            let x = Numbers::new(5).vector(matrix.columns());
            let y = vec![0.0; matrix.rows()];
            let run = |seed| multiply(&Emulated::new(seed), matrix, format, (1.0, 0.0), &x, &y).unwrap();
            let first = run(0);
            (1..12).all(|seed| run(seed) == first)
        });
        assert_eq!(same, format.reproducible(), "{format}");
    }
}

#[test]
fn what_is_not_reproducible_is_refused_where_that_is_demanded() {
    let options = PlanOptions { reproducible: true, ..PlanOptions::default() };
    for &format in Format::ALL {
        let matrix = Csr::try_from_triplets(2, 3, &[0, 1], &[2, 0], &[1.0, 2.0]).unwrap();
        match Plan::with_options(&Cpu::new(), matrix, format, options) {
            Ok(plan) => assert!(format.reproducible() && plan.format().reproducible(), "{format}"),
            Err(error) => {
                assert!(!format.reproducible(), "{format}");
                assert!(error.to_string().starts_with(&format!("{format} is not reproducible: ")), "{error}");
            }
        }
    }
}

/// A plan reports the strategy that the automatic one chose, and every executor can run it.
#[test]
fn automatic_csr_follows_the_rows() {
    let with_rows = |rows: usize, longest: usize| {
        let offsets: Vec<u32> = (0..=rows).map(|row| if row == 0 { 0 } else { longest as u32 }).collect();
        Csr::try_new(rows, 1, offsets, vec![0; longest], vec![1.0; longest]).unwrap()
    };
    for (rows, longest, expected) in [
        (0, 0, Format::CSR_SCALAR),
        (10, 64, Format::CSR_SCALAR),
        (10, 65, Format::CSR_LOAD_BALANCED_ATOMIC),
        (1_000_000, 1, Format::CSR_SCALAR),
        (1_000_001, 1, Format::CSR_LOAD_BALANCED_ATOMIC),
    ] {
        let cpu = Cpu::new();
        let plan = Plan::with_format(&cpu, with_rows(rows, longest), Format::CSR_AUTOMATIC).unwrap();
        assert_eq!(plan.format(), expected, "{rows} rows, the longest of {longest}");
    }
}

/// Kernels that look up rows by entry must jump over empty ones: walking would make this test endless.
#[test]
fn emulated_jumps_over_long_runs_of_empty_rows() {
    let rows = 200_000u32;
    let row_indices: Vec<u32> = (0..rows).step_by(5_000).flat_map(|row| [row, row, row + 1]).collect();
    let columns: Vec<u32> = (0..row_indices.len() as u32).collect();
    let values = vec![1.5; columns.len()];
    let matrix = Csr::try_from_triplets(rows as usize, columns.len(), &row_indices, &columns, &values).unwrap();
    for format in [
        Format::CSR_LOAD_BALANCED,
        Format::CSR_LOAD_BALANCED_ATOMIC,
        Format::CSR_MERGE_PATH,
        Format::CSR_TILED,
        Format::hyb(HybSplit::ColumnLimit(1)),
    ] {
        check(&Emulated::with_size(3, 1, 64, Tuning::new(64, 1).unwrap()).unwrap(), "mostly empty", &matrix, format);
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

/// Partitions of sizes other than the default one.
#[test]
fn bellpack_is_right_with_any_partition() {
    let size = BlockSize::B2x3;
    let format = Format::bellpack(size);
    let unlimited = FillLimit { times_csr: f64::INFINITY };
    for (name, matrix) in matrices::<f64>() {
        let x = Numbers::new(5).vector(matrix.columns());
        let expected = exact(&matrix, 1.0, &x, 0.0, &vec![0.0; matrix.rows()]).unwrap();
        for &partition in PartitionRows::ALL {
            let stored = Bellpack::try_from_csr(&matrix, size, partition, unlimited).unwrap();
            assert_eq!(stored.to_csr().unwrap(), as_stored(&matrix, format), "{name}, {partition:?}");
            let emulated = Emulated::new(3);
            let mut plan = Plan::from_matrix(&emulated, Matrix::Bellpack(stored), format).unwrap();
            let mut y = vec![f64::NAN; matrix.rows()];
            plan.apply(1.0, &x, 0.0, &mut y).unwrap();
            assert!(verify(&y, &expected, format).unwrap().passed(), "{name}, {partition:?}");
        }
    }
}

#[test]
fn vectors_that_do_not_fit_are_refused() {
    fn check<E: Executor>(executor: &E) {
        for &format in Format::ALL {
            let matrix = Csr::try_from_triplets(2, 3, &[0, 1], &[2, 0], &[1.0, 2.0]).unwrap();
            let mut plan = Plan::with_format(executor, matrix, format).unwrap();
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

/// Any small matrix, from entries in any order, possibly repeated.
pub fn any_matrix() -> impl Strategy<Value = Csr<f64>> {
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
        let (products, narrow) = (Products::new("random", &matrix), matrix.cast::<f32>().unwrap());
        let in_float32 = Products::new("random", &narrow);
        for &format in Format::ALL {
            products.check(&Cpu::new(), format);
            products.check(&Emulated::new(seed), format);
            in_float32.check(&Emulated::new(seed), format);
        }
    }
}
