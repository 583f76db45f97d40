//! Every kernel under many schedules of warps and blocks, on grids of several sizes: no fault, no race, right results,
//! and the same bits under every schedule if the format promises it.

mod others;
mod products;

use std::collections::{BTreeMap, BTreeSet};
use std::{env, thread};

use warp_spmv::executor::Emulated;
use warp_spmv::format::FillLimit;
use warp_spmv::{Complex, Format, Plan, Real, Scalar};

use self::others::{add_with_sum, analyse, estimate, look_at_numbers, mix, precondition, refine_once, run_others};
use self::products::{
    convert_long_row, convert_otherwise, convert_pairs, matrices, multiply_all, multiply_blocks,
    multiply_column_panels, multiply_few_and_many_rows, multiply_few_and_many_tiles, multiply_fused, multiply_narrow,
    multiply_sparse, multiply_transposes, multiply_wide,
};
use crate::scenarios::Numbers;
use crate::scenarios::multigrid::{check_levels, check_transposes_there};
use crate::scenarios::random::emulators;
use crate::solvers::dense::{check_columns, check_passes, check_programs, check_ranks_in_memory, check_stop};

/// Number of schedules per kernel, a quarter of them per grid size: 200, unless the environment variable `SCHEDULES` is
/// set. With fewer than 36, not every matrix meets every grid size and conversion.
fn schedule_count() -> u64 {
    let count = env::var("SCHEDULES").map_or(200, |text| text.parse().expect("SCHEDULES is a number"));
    assert!(count >= 36, "SCHEDULES is {count}, expected at least 36");
    count
}

/// Number of schedules of the complex kernels that share the code of the real ones.
const SCHEDULES_OF_TWINS: u64 = 24;

/// Number of schedules of the kernels with narrow values, which differ from the others by a conversion after each load.
const SCHEDULES_OF_NARROW: u64 = 8;

const UNLIMITED: FillLimit = FillLimit { times_csr: f64::INFINITY };

/// Entry points of all kernels shipped for GPUs.
fn entry_points() -> BTreeSet<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/gpu-kernels/ptx/warp-spmv-kernels.sm_75.zip");
    let mut archive = zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
    let index = std::io::read_to_string(archive.by_name("index").unwrap()).unwrap();
    let families = index.lines().filter(|line| !line.starts_with("//")).filter_map(|line| line.split_once(':'));
    families.flat_map(|(_, entries)| entries.split_whitespace()).map(str::to_owned).collect()
}

/// Whether `entry` is the instance of a conversion, or of a solve with factors, that makes 64-bit offsets though no
/// array had them: that needs 2^32 entries. The instance with 32-bit offsets is the same code.
fn is_of_huge_matrices(entry: &str) -> bool {
    const MAKE_OFFSETS: &[&str] = &[
        "add_offsets_",
        "csr_from_bcsr_",
        "csr_from_bellpack_",
        "csr_from_dia_",
        "csr_from_later_",
        "csr_from_padded_",
        "csr_from_sell_",
        "csr_from_sliced_",
        "padded_from_csr_",
        "strip_offsets_",
        "triangular_levels_",
    ];
    entry.contains("u64") && MAKE_OFFSETS.iter().any(|kernel| entry.starts_with(kernel))
}

/// Bits of the results, by the name of the work.
type Results = BTreeMap<String, Vec<u64>>;

fn bits<T: Scalar>(numbers: &[T]) -> Vec<u64> {
    numbers.iter().flat_map(|number| number.parts()).map(f64::to_bits).collect()
}

/// Number of schedules and of launches per kernel.
type Runs = BTreeMap<String, (u64, u64)>;

/// Runs products and conversions under `schedules` schedules, and `others` under each of them; results must be the same
/// on grids of the same size.
fn run_schedules<T: Scalar>(schedules: u64, others: impl Fn(&Emulated) -> Results) -> Runs {
    let matrices = matrices::<T>();
    let mut emulators = emulators();
    let mut first: BTreeMap<(usize, usize), Results> = BTreeMap::new();
    let mut runs = Runs::new();
    for schedule in 0..schedules {
        let size = (schedule % emulators.len() as u64) as usize;
        let emulator = &mut emulators[size];
        emulator.set_seed(schedule);
        // One matrix with 32-bit offsets and one with 64-bit offsets.
        let pair = (schedule / 4) as usize % (matrices.len() / 2);
        for place in [2 * pair, 2 * pair + 1] {
            let results = multiply_all(emulator, &matrices[place], schedule);
            convert_otherwise(emulator, &matrices[place]);
            multiply_wide(emulator, &matrices[place]);
            let first = first.entry((size, place)).or_default();
            for (what, bits) in results {
                let same = first.entry(what.clone()).or_insert_with(|| bits.clone()) == &bits;
                assert!(same, "{what}: the bits changed under schedule {schedule}");
            }
        }
        convert_long_row::<T>(emulator);
        convert_pairs::<T>(emulator);
        multiply_blocks::<T>(emulator);
        multiply_few_and_many_rows::<T>(emulator);
        multiply_few_and_many_tiles::<T>(emulator);
        multiply_column_panels::<T>(emulator);
        if schedule < SCHEDULES_OF_NARROW {
            multiply_narrow(emulator, &matrices[2 * pair..2 * pair + 2]);
        }
        multiply_sparse::<T>(emulator);
        look_at_numbers::<T>(emulator);
        check_transposes_there::<T, _>(emulator);
        let results = others(emulator);
        assert_eq!(first.entry((size, usize::MAX)).or_insert_with(|| results.clone()), &results);
        for (entry, launches) in emulator.take_launched() {
            let (schedules, all) = runs.entry(entry).or_default();
            (*schedules, *all) = (*schedules + 1, *all + launches);
        }
    }
    runs
}

/// Builds multigrid levels, in 64 bits whatever the type.
fn make_levels<T: Scalar>(emulator: &Emulated) -> Results {
    check_levels::<T, _>(emulator).into_iter().map(|(name, z)| (name, bits(&z))).collect()
}

/// Runs the kernels that solvers use for real numbers.
fn solve<T: Real>(emulator: &Emulated) -> Results {
    check_passes::<T, _>(emulator);
    check_columns::<T, _>(emulator);
    check_stop::<T, _>(emulator);
    check_programs(emulator);
    check_ranks_in_memory(emulator);
    mix::<T>(emulator);
    add_with_sum::<T>(emulator);
    let mut results = precondition::<T>(emulator);
    results.extend(multiply_fused::<T>(emulator));
    results.insert("a spectrum".into(), estimate::<T>(emulator).to_vec());
    results
}

/// Runs the complex kernels without a twin for real numbers.
fn run_conjugates<T: Scalar>() -> Runs {
    let matrices = matrices::<T>();
    let mut emulators = emulators();
    let mut runs = Runs::new();
    for schedule in 0..schedule_count() {
        let emulator = &mut emulators[schedule as usize % 4];
        emulator.set_seed(schedule);
        let pair = (schedule / 4) as usize % (matrices.len() / 2);
        for matrix in &matrices[2 * pair..2 * pair + 2] {
            let mut numbers = Numbers::new(31);
            let (x, y) = (numbers.vector::<T>(matrix.rows()), numbers.vector::<T>(matrix.columns()));
            assert!(matrix.conjugate_transposed_on(&*emulator).is_ok_and(|transpose| transpose.nnz() == matrix.nnz()));
            for format in [Format::CSR_SCALAR, Format::COO] {
                let plan = Plan::with_format(&*emulator, matrix.clone(), format).unwrap();
                multiply_transposes(&plan, matrix, &x, &y);
            }
        }
        for (entry, launches) in emulator.take_launched() {
            let (schedules, all) = runs.entry(entry).or_default();
            (*schedules, *all) = (*schedules + 1, *all + launches);
        }
    }
    runs
}

/// Whether a kernel takes values stored narrower than computed with: its name has a part such as `f64of32`.
fn is_narrow(entry: &str) -> bool {
    entry.split('_').any(|part| part.starts_with(['f', 'c']) && part[1..].contains("of"))
}

/// Whether a kernel shares its code with one for real numbers.
fn is_twin(entry: &str) -> bool {
    let alone = ["conjugate", "conformance"].iter().any(|name| entry.contains(name));
    (entry.contains("_c32") || entry.contains("_c64")) && !alone
}

#[test]
fn every_kernel_is_right_under_many_schedules() {
    let all_schedules = schedule_count();
    let others = |emulator: &Emulated| {
        refine_once(emulator);
        analyse(emulator);
        let mut results = run_others(emulator);
        results.extend(solve::<f32>(emulator));
        results
    };
    let mut runs = Runs::new();
    let all = thread::scope(|scope| {
        let single = scope.spawn(|| run_schedules::<f32>(all_schedules, others));
        let double = scope.spawn(|| {
            run_schedules::<f64>(all_schedules, |emulator| {
                let mut results = solve::<f64>(emulator);
                results.extend(make_levels::<f64>(emulator));
                results
            })
        });
        let complex = scope.spawn(|| {
            let nothing = |_: &Emulated| Results::new();
            let single = run_schedules::<Complex<f32>>(SCHEDULES_OF_TWINS, nothing);
            let double = run_schedules::<Complex<f64>>(SCHEDULES_OF_TWINS, make_levels::<Complex<f64>>);
            [single, double, run_conjugates::<Complex<f32>>(), run_conjugates::<Complex<f64>>()]
        });
        let join = |runs: thread::Result<_>| runs.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let complex = complex.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        [join(single.join()), join(double.join())].into_iter().chain(complex).collect::<Vec<_>>()
    });
    for (entry, (schedules, launches)) in all.into_iter().flatten() {
        // Kernels without values run for every type, under the same schedules.
        let (known, all) = runs.entry(entry).or_default();
        (*known, *all) = (schedules.max(*known), launches + *all);
    }
    let needed = |entry: &str| match entry {
        entry if is_narrow(entry) => SCHEDULES_OF_NARROW,
        entry if is_twin(entry) => SCHEDULES_OF_TWINS,
        _ => all_schedules,
    };
    let schedules = |entry: &str| runs.get(entry).map_or(0, |&(schedules, _)| schedules);
    let (huge, missed): (Vec<_>, Vec<_>) = entry_points()
        .into_iter()
        .filter(|entry| schedules(entry) < needed(entry))
        .partition(|entry| is_of_huge_matrices(entry) && schedules(&entry.replace("u64", "u32")) >= needed(entry));
    let launches: u64 = runs.values().map(|&(_, launches)| launches).sum();
    let narrow = runs.keys().filter(|entry| is_narrow(entry)).count();
    let twins = runs.keys().filter(|entry| is_twin(entry) && !is_narrow(entry)).count();
    println!(
        "{} kernels under {all_schedules} schedules each, {launches} launches with those of their twins",
        runs.len() - twins - narrow
    );
    println!("{twins} more under {SCHEDULES_OF_TWINS}: the same code with complex numbers");
    println!("{narrow} more under {SCHEDULES_OF_NARROW}: the same code with narrow values");
    println!("{} more are the same with 64-bit offsets, for matrices of 2^32 entries", huge.len());
    assert!(missed.is_empty(), "kernels that no case runs under enough schedules: {missed:?}");
}
