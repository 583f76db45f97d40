//! Every kernel under many schedules of warps and blocks, on grids of several sizes: no fault, no race, right results,
//! and the same bits under every schedule where the format promises it.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use cuda_std::launch::{Call, Grid, Launch};
use gpu_kernels::ceiling::{Gather, ReadOnly};
use gpu_kernels::convert::narrow::{LOSES_BFLOAT16, LOSES_FLOAT16, LOSES_FLOAT32, Losses};
use host::elements::{CopyElements, CopyOperands, Elements};
use warp_spmv::executor::{Emulated, Executor, KernelExecutor};
use warp_spmv::format::{
    Bcsr, BlockSize, Cmrs, CmrsPadded, Coo16, FillLimit, Matrix, Offsets, Panels, SellP, Slicing, StripHeight,
    StripOrder, bcsr, cmrs, coo_16, sell_p,
};
use warp_spmv::memory::Buffer;
use warp_spmv::solver::dense::{MixedOperands, MixedUpdate};
use warp_spmv::solver::preconditioner::Preconditioner;
use warp_spmv::solver::{Cg, Operator, Outcome};
use warp_spmv::verify::{exact, verify};
use warp_spmv::{Complex, Csr, Format, Layout, Multivector, Plan, PlanOptions, Real, Scalar, ValueStorage};

use crate::scenarios::conformance::conformance;
use crate::scenarios::fused::check_plan;
use crate::scenarios::narrow::{held_by, types_of};
use crate::scenarios::random::emulators;
use crate::scenarios::transposed::Which;
use crate::scenarios::{Numbers, as_stored, factor, with_rows, with_wide_offsets};
use crate::solvers::dense::{check_columns, check_passes, check_programs, check_stop};
use crate::solvers::preconditioner::{dominant, names, refine, refinement_options};

/// Under so many schedules each kernel runs, a quarter of them on each size of grid.
const SCHEDULES: u64 = 200;

/// Schedules of the complex kernels whose code is that of the real ones.
const SCHEDULES_OF_TWINS: u64 = 24;

/// Schedules of the kernels with narrow values, which differ from those without in a conversion after each load.
const SCHEDULES_OF_NARROW: u64 = 8;

const UNLIMITED: FillLimit = FillLimit { times_csr: f64::INFINITY };

/// The entry points of all kernels that a GPU gets.
fn entry_points() -> BTreeSet<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/gpu-kernels/ptx/warp-spmv-kernels.sm_75.zip");
    let mut archive = zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
    let index = std::io::read_to_string(archive.by_name("index").unwrap()).unwrap();
    let families = index.lines().filter(|line| !line.starts_with("//")).filter_map(|line| line.split_once(':'));
    families.flat_map(|(_, entries)| entries.split_whitespace()).map(str::to_owned).collect()
}

/// Whether this is the instance of a conversion, or of a solve with factors, that makes 64-bit offsets where no array had
/// them: it takes 2^32 entries. The instance with 32-bit ones is the same code.
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

/// Rows that several warps share, empty ones, columns in no order and some of them twice; more rows than a block has
/// threads, or so few that most threads have none.
fn matrices<T: Scalar>() -> Vec<Csr<T>> {
    let mut numbers = Numbers::new(21);
    let mut shared = vec![3, 0, 1, 2];
    shared.extend([150, 0, 33, 1].iter().chain(&[2; 20]));
    let mut short: Vec<usize> = (0..140).map(|row| row * 7 % 4).collect();
    short[77] = 70;
    let around_a_warp = [31, 0, 32, 33, 64, 1, 65].repeat(3);
    let narrow: Vec<Csr<T>> =
        [(70, shared), (90, short), (50, around_a_warp)].iter().map(|(c, l)| with_rows(*c, l, &mut numbers)).collect();
    narrow.iter().flat_map(|matrix| [matrix.clone(), with_wide_offsets(matrix)]).collect()
}

/// The bits of results by what gave them.
type Results = BTreeMap<String, Vec<u64>>;

fn bits<T: Scalar>(numbers: &[T]) -> Vec<u64> {
    numbers.iter().flat_map(|number| number.parts()).map(f64::to_bits).collect()
}

/// Whether kernels convert to a format, too, under a schedule. Those for blocks are the same for all sizes, so that a third of
/// the sizes takes its turn.
fn is_converted(format: Format, schedule: u64) -> bool {
    let size = match format {
        Format::Bcsr(size) => size,
        Format::Bellpack(strategy) => strategy.size,
        _ => return true,
    };
    (size as u64 + schedule / 12).is_multiple_of(3)
}

/// Multiplies in every format and every way, and converts there and back.
fn multiply_all<T: Scalar>(executor: &Emulated, matrix: &Csr<T>, schedule: u64) -> Results {
    let mut results = Results::new();
    let options = PlanOptions { fill_limit: UNLIMITED, ..PlanOptions::default() };
    let mut numbers = Numbers::new(22);
    let (x, y) = (numbers.vector::<T>(matrix.columns() * 3), numbers.vector::<T>(matrix.rows() * 3));
    let (alpha, beta) = (factor::<T>(0.75), factor::<T>(-1.5));
    let expected = exact(matrix, alpha, &x[..matrix.columns()], beta, &y[..matrix.rows()]).unwrap();
    for &format in Format::ALL {
        let mut plan = if is_converted(format, schedule) {
            Plan::with_options(executor, matrix.clone(), format, options).unwrap()
        } else {
            plan(executor, matrix, format)
        };
        let mut result = y[..matrix.rows()].to_vec();
        plan.apply(alpha, &x[..matrix.columns()].to_vec(), beta, &mut result)
            .unwrap_or_else(|e| panic!("{format}: {e}"));
        let verification = verify(&result, &expected, plan.format()).unwrap();
        assert!(verification.passed(), "{format}: {verification:?}");
        if format.reproducible() {
            results.insert(format!("{format}"), bits(&result));
        }
        for layout in [Layout::RowMajor, Layout::ColumnMajor] {
            if format.multiplies_multivectors() {
                let mut result = y.clone();
                let shape = Multivector { vectors: 3, layout };
                plan.apply_multivector(shape, alpha, &x, beta, &mut result).unwrap_or_else(|e| panic!("{format}: {e}"));
                results.insert(format!("{format}, {layout:?}"), bits(&result));
            }
        }
        if format.multiplies_transposed() {
            multiply_transposes(&plan, matrix, &y[..matrix.rows()], &x[..matrix.columns()]);
        }
        if !is_converted(format, schedule) {
            continue;
        }
        let back = plan.into_matrix().into_csr_on(executor).unwrap_or_else(|e| panic!("{format}: {e}"));
        let mut stored = as_stored(matrix, format);
        // CMRS has the entries of a strip by column, and a row of it in that order.
        let mut sorted = back.clone();
        for matrix in [&mut stored, &mut sorted] {
            matrix.sort_rows().unwrap();
        }
        assert!(sorted == stored, "{format}: there and back");
        results.insert(format!("{format}, back"), bits(back.values()));
    }
    multiply_many(executor, matrix, &expected, (alpha, beta), &x[..matrix.columns()], &y[..matrix.rows()]);
    results
}

/// Enough vectors one after the other to be moved first, and enough side by side for a lane to have two: each of X is x, and
/// each of Y is y.
fn multiply_many<T: Scalar>(
    executor: &Emulated,
    matrix: &Csr<T>,
    expected: &[T::Exact],
    (alpha, beta): (T, T),
    x: &[T],
    y: &[T],
) {
    for format in [Format::CSR_SCALAR, Format::CSR_TILED] {
        let mut plan = Plan::with_format(executor, matrix.clone(), format).unwrap();
        for (vectors, layout) in [(9, Layout::ColumnMajor), (16, Layout::RowMajor)] {
            let shape = Multivector { vectors, layout };
            let all = |one: &[T]| match layout {
                Layout::ColumnMajor => one.repeat(vectors),
                Layout::RowMajor => one.iter().flat_map(|&element| vec![element; vectors]).collect(),
            };
            let mut results = all(y);
            plan.apply_multivector(shape, alpha, &all(x), beta, &mut results).unwrap();
            for vector in 0..vectors {
                let element = |row| results[shape.place(y.len(), row, vector)];
                let result: Vec<T> = (0..y.len()).map(element).collect();
                assert!(verify(&result, expected, Format::CSR_SCALAR).unwrap().passed(), "{format}, {shape:?}");
            }
        }
    }
}

/// Products with an epilogue in every format that has a kernel for it, and in one that has none.
fn multiply_fused<T: Real>(executor: &Emulated) -> Results {
    let (mut results, mut numbers) = (Results::new(), Numbers::new(34));
    // So few that all such formats do, few, and more than there are threads.
    for rows in [2, 20, 300] {
        let lengths: Vec<usize> = (0..rows).map(|row| [3, 0, 4, 5, 17, 1][row % 6]).collect();
        let matrix = with_rows::<T>(40, &lengths, &mut numbers);
        for &format in Format::ALL {
            let mut plan = plan(executor, &matrix, format);
            if plan.fuses() || format == Format::CSR_TILED {
                let bits = check_plan(&mut plan, "schedules", format, true, &[(-1.5, Some(0.5), 2)]);
                results.insert(format!("{format}, {rows} rows, fused"), bits);
            }
        }
    }
    results
}

/// y ← α Aᵀ x + β y, and the same with Aᴴ.
fn multiply_transposes<T: Scalar>(plan: &Plan<T, Emulated>, matrix: &Csr<T>, x: &[T], y: &[T]) {
    let (x, format) = (x.to_vec(), plan.format());
    let (alpha, beta) = (factor::<T>(0.75), factor::<T>(-1.5));
    for &which in Which::all::<T>() {
        let mut result = y.to_vec();
        let expected = exact(&which.stored(matrix), alpha, &x, beta, y).unwrap();
        match which {
            Which::Transposed => plan.apply_transposed(alpha, &x, beta, &mut result),
            Which::Conjugate => plan.apply_conjugate_transposed(alpha, &x, beta, &mut result),
        }
        .unwrap_or_else(|e| panic!("{format}: {e}"));
        assert!(verify(&result, &expected, Format::CSR_SCALAR).unwrap().passed(), "{format}, {which:?}");
    }
}

/// Conversions with parameters that no format of the catalogue has.
fn convert_otherwise<T: Scalar>(executor: &Emulated, matrix: &Csr<T>) {
    for order in [StripOrder::ByRow, StripOrder::ByColumn] {
        let converted = cmrs::with_height(executor, matrix.clone(), 5, order).unwrap();
        let back = cmrs::into_csr(executor, converted).unwrap();
        assert_eq!(back.nnz(), matrix.nnz());
    }
    let slicing = Slicing { slice_size: 5, stride_factor: 4, sigma: 40 };
    let converted = sell_p::from_csr(executor, matrix, slicing, UNLIMITED).unwrap();
    assert!(converted == SellP::try_from_csr(matrix, slicing, UNLIMITED).unwrap());
    let panels = Panels { columns: 7, slots: 3 };
    let converted = coo_16::with_panels(executor, matrix.clone(), panels, UNLIMITED).unwrap();
    assert!(converted == Coo16::try_with_panels(matrix.clone(), panels, UNLIMITED).unwrap());
}

/// A row so long that its blocks are found in another way.
fn convert_long_row<T: Scalar>(executor: &Emulated) {
    let matrix = with_rows::<T>(3000, &[1100, 3], &mut Numbers::new(27));
    let expected = Bcsr::try_from_csr(&matrix, BlockSize::B2x3, UNLIMITED).unwrap();
    for matrix in [with_wide_offsets(&matrix), matrix] {
        assert!(bcsr::from_csr(executor, matrix, BlockSize::B2x3, UNLIMITED).unwrap() == expected);
    }
}

/// Matrices with few, some and many blocks in a block row, of whatever size, for which BCSR takes other kernels.
fn multiply_blocks<T: Scalar>(executor: &Emulated) {
    let mut numbers = Numbers::new(23);
    for length in [3, 40, 150] {
        let matrix = with_rows::<T>(3000, &[length; 2], &mut numbers);
        multiply_in(executor, &matrix, |format| matches!(format, Format::Bcsr(_)));
    }
}

/// Matrices with few and with many rows for the device, for which ELL and SELL-P take other kernels.
fn multiply_few_and_many_rows<T: Scalar>(executor: &Emulated) {
    let mut numbers = Numbers::new(28);
    for rows in [20, 1100] {
        let lengths: Vec<usize> = (0..rows).map(|row| [3, 0, 4, 5, 17, 1][row % 6]).collect();
        let matrix = with_rows::<T>(40, &lengths, &mut numbers);
        multiply_in(executor, &matrix, |format| matches!(format, Format::Ell(_) | Format::SellP(_)));
    }
}

/// Few and many tiles for the device: blocks of csr-tiled arrive, or another launch adds up what they share.
fn multiply_few_and_many_tiles<T: Scalar>(executor: &Emulated) {
    let mut numbers = Numbers::new(30);
    for lengths in [vec![5, 1000, 0, 3, 430], vec![4000, 0, 4200, 3]] {
        let matrix = with_rows::<T>(60, &lengths, &mut numbers);
        for matrix in [with_wide_offsets(&matrix), matrix] {
            multiply_in(executor, &matrix, |format| *format == Format::CSR_TILED);
        }
    }
}

/// Multiplies with values in every type that is narrower than `T`, in every format that can, and compares with the same
/// values as they are.
fn multiply_narrow<T: Scalar>(executor: &Emulated, patterns: &[Csr<T>]) {
    let mut numbers = Numbers::new(32);
    let few_and_many_rows = [20, 1100].map(|rows: usize| (0..rows).map(|row| [3, 0, 4, 5, 17, 1][row % 6]).collect());
    let few_and_many_tiles = [vec![5, 1000, 0, 3, 430], vec![4000, 0, 4200, 3]];
    let others = few_and_many_rows.iter().chain(&few_and_many_tiles);
    let others: Vec<_> = others.map(|lengths| with_rows::<T>(60, lengths, &mut numbers)).collect();
    let blocks = [3, 40, 150].map(|length| with_rows::<T>(3000, &[length; 2], &mut numbers));
    let wide: Vec<_> = others[2..].iter().map(with_wide_offsets).collect();
    // What others differ in, apart from small matrices, is their number of rows or of tiles.
    let any: fn(&Format) -> bool = |format| !matches!(format, Format::Bcsr(_) | Format::Bellpack(_));
    let by_blocks: fn(&Format) -> bool = |format| matches!(format, Format::Bcsr(_) | Format::Bellpack(_));
    let by_rows: fn(&Format) -> bool = |format| matches!(format, Format::Ell(_) | Format::SellP(_));
    let by_tiles: fn(&Format) -> bool = |format| *format == Format::CSR_TILED;
    let patterns = patterns.iter().map(|pattern| (pattern, any));
    let patterns = patterns.chain(others[..2].iter().map(|pattern| (pattern, by_rows)));
    let patterns = patterns.chain(blocks.iter().map(|pattern| (pattern, by_blocks)));
    for (pattern, is_for_it) in patterns.chain(others[2..].iter().chain(&wide).map(|pattern| (pattern, by_tiles))) {
        // Of entries that are added up, the sum need not be in the type.
        let mut once = pattern.clone();
        once.sort_rows().unwrap();
        once.sum_duplicates().unwrap();
        for &narrow_type in types_of::<T>() {
            let [matrix, once] = [pattern, &once].map(|pattern| held_by(pattern, narrow_type, &mut numbers));
            let x = numbers.vector::<T>(matrix.columns());
            let formats = Format::ALL.iter().filter(|format| format.multiplies_narrow() && is_for_it(format));
            for &format in formats {
                let matrix = if format.sums_duplicates() { &once } else { &matrix };
                let [full, narrow] = [ValueStorage::Full, ValueStorage::Rounded(narrow_type)].map(|values| {
                    let options = PlanOptions { fill_limit: UNLIMITED, values, ..PlanOptions::default() };
                    let mut plan = Plan::with_options(executor, matrix.clone(), format, options).unwrap();
                    let mut result = vec![T::from_f64(f64::NAN); matrix.rows()];
                    plan.apply(T::ONE, &x, T::ZERO, &mut result).unwrap_or_else(|e| panic!("{format}: {e}"));
                    let back = plan.into_matrix().into_csr_on(executor).unwrap_or_else(|e| panic!("{format}: {e}"));
                    (bits(&result), bits(back.values()))
                });
                assert!(full == narrow, "{format}, {} as {narrow_type:?}: other bits", T::NAME);
            }
        }
    }
}

/// A plan for a matrix that was converted on the host, where only the product counts.
fn plan<T: Scalar>(executor: &Emulated, matrix: &Csr<T>, format: Format) -> Plan<T, Emulated> {
    let converted = Matrix::try_from_csr(matrix.clone(), format, UNLIMITED).unwrap();
    Plan::from_matrix(executor, converted, format).unwrap_or_else(|e| panic!("{format}: {e}"))
}

/// Multiplies in those formats of the catalogue that are `chosen`.
fn multiply_in<T: Scalar>(executor: &Emulated, matrix: &Csr<T>, chosen: impl Fn(&Format) -> bool) {
    let x = Numbers::new(29).vector::<T>(matrix.columns());
    let expected = exact(matrix, T::ONE, &x, T::ZERO, &vec![T::ZERO; matrix.rows()]).unwrap();
    for &format in Format::ALL.iter().filter(|format| chosen(format)) {
        let mut result = vec![T::from_f64(f64::NAN); matrix.rows()];
        let mut plan = plan(executor, matrix, format);
        plan.apply(T::ONE, &x, T::ZERO, &mut result).unwrap_or_else(|e| panic!("{format}: {e}"));
        assert!(verify(&result, &expected, format).unwrap().passed(), "{format}");
    }
}

/// CMRS with 64-bit offsets, which conversions make of 2^32 entries only, multiplied and converted back.
fn multiply_wide<T: Scalar>(executor: &Emulated, matrix: &Csr<T>) {
    let x = Numbers::new(24).vector::<T>(matrix.columns());
    let expected = exact(matrix, T::ONE, &x, T::ZERO, &vec![T::ZERO; matrix.rows()]).unwrap();
    let (rows, columns) = (matrix.rows(), matrix.columns());
    let wide = |offsets: &Offsets| Offsets::Wide((0..offsets.len()).map(|place| offsets.get(place) as u64).collect());
    let padded = CmrsPadded::try_from_csr(matrix, UNLIMITED).unwrap();
    let offsets = wide(padded.strip_offsets());
    let padded =
        CmrsPadded::try_new(rows, columns, offsets, padded.words().to_vec(), padded.values().to_vec()).unwrap();
    let mut wide_matrices = vec![(Matrix::CmrsPadded(padded), Format::CmrsPadded)];
    for height in [2, 4, 8, 16] {
        let cmrs = Cmrs::try_with_height(matrix.clone(), height, StripOrder::ByColumn).unwrap();
        wide_matrices.push((Matrix::Cmrs(cmrs.clone()), Format::Cmrs(StripHeight::ByTraffic)));
        let offsets = wide(cmrs.strip_offsets());
        let cmrs =
            Cmrs::try_new(rows, columns, height, offsets, cmrs.words().to_vec(), cmrs.values().to_vec()).unwrap();
        wide_matrices.push((Matrix::Cmrs(cmrs), Format::Cmrs(StripHeight::ByTraffic)));
    }
    for (matrix, format) in wide_matrices {
        let mut result = vec![T::ZERO; rows];
        let csr = matrix.clone().into_csr().unwrap();
        let mut plan = Plan::from_matrix(executor, matrix, format).unwrap();
        plan.apply(T::ONE, &x, T::ZERO, &mut result).unwrap_or_else(|e| panic!("{format}: {e}"));
        assert!(verify(&result, &expected, format).unwrap().passed(), "{format}, wide");
        let shape = Multivector { vectors: 2, layout: Layout::ColumnMajor };
        let mut results = vec![T::ZERO; 2 * rows];
        plan.apply_multivector(shape, T::ONE, &[&*x, &x].concat(), T::ZERO, &mut results)
            .unwrap_or_else(|e| panic!("{format}: {e}"));
        for vector in 0..2 {
            let result = &results[vector * rows..(vector + 1) * rows];
            assert!(verify(result, &expected, Format::CSR_SCALAR).unwrap().passed(), "{format}, wide, several vectors");
        }
        assert!(plan.into_matrix().into_csr_on(executor).unwrap() == csr, "{format}, wide, back");
    }
}

/// Preconditioners, with triangular factors of short, longer and long rows.
fn precondition<T: Real>(executor: &Emulated) -> Results {
    let mut results = Results::new();
    for each in [1, 6, 60] {
        let matrix = dominant::<T>(70, each, true);
        let r = Numbers::new(25).vector::<T>(70);
        for name in names() {
            let mut preconditioner = Preconditioner::new(executor, &matrix, name).unwrap();
            let mut z = r.clone();
            preconditioner.apply(T::ONE, &r, T::ONE, &mut z).unwrap_or_else(|e| panic!("{name}: {e}"));
            results.insert(format!("{name}, {each}"), bits(&z));
        }
    }
    results
}

/// What passes from one precision to the other.
fn refine_once(executor: &Emulated) {
    let matrix = dominant::<f64>(20, 2, true);
    let b = Numbers::new(26).vector(20);
    let (report, _) = refine(executor, &Cg, (&matrix, None), &b, refinement_options());
    assert_eq!(report.outcome, Outcome::Converged, "{report:?}");
}

/// What passes from one precision to the other, to the same: 3 x − y / 2.
fn mix<T: Real>(executor: &Emulated) {
    let numbers: Vec<T> = (0..300).map(|number| T::from_f64(f64::from(number))).collect();
    let x = executor.upload(numbers.clone()).unwrap();
    let mut y = executor.upload(numbers).unwrap();
    executor.run::<MixedUpdate<_, _>>(MixedOperands { alpha: 3.0, x: &x, beta: -0.5, y: &mut y }).unwrap();
    let y = executor.download(&y).unwrap();
    assert!(y.iter().zip(0..).all(|(&y, number)| y.to_f64() == 2.5 * f64::from(number)), "{y:?}");
}

/// What looks for a type that keeps values, and copies elements of a vector.
fn look_at_numbers<T: Scalar>(executor: &Emulated) {
    let numbers = Numbers::new(33).vector::<T>(700);
    let columns: Vec<u32> = (0..700).collect();
    let matrix = Csr::try_new(1, 700, vec![0_u32, 700], columns.clone(), numbers.clone()).unwrap();
    let options = PlanOptions { values: ValueStorage::Lossless, ..PlanOptions::default() };
    let plan = Plan::with_options(executor, matrix, Format::CSR_SCALAR, options).unwrap();
    assert!(matches!(plan.matrix(), Matrix::Csr(_)), "no narrow type keeps them");
    // On a grid of few warps the host finds that out.
    let mut losses = executor.unwritten::<u32>(4).unwrap();
    let parts = numbers.global_parts();
    let kernel = Losses { count: parts.length() as u64, values: parts, losses: losses.global_mut() };
    let grid = Grid { blocks: 2, threads_per_block: 64, shared_bytes: 0 };
    // SAFETY: the arrays are as long as the kernel asks for, and outlive the launch.
    unsafe { executor.launch(&Launch { grid, call: Call::new(kernel) }) }.unwrap();
    let loses_float32 = if size_of::<T::Real>() == 8 { LOSES_FLOAT32 } else { 0 };
    assert_eq!(losses, [LOSES_FLOAT16 + LOSES_BFLOAT16 + loses_float32; 4]);
    let elements = Elements::new(executor, 700, columns.into_iter().rev().step_by(3).collect()).unwrap();
    let mut copied = vec![T::ZERO; elements.len()];
    let to = &mut std::iter::once(copied.as_mut_slice());
    executor.run::<CopyElements<T>>(CopyOperands { elements: &elements, x: &numbers, to }).unwrap();
    assert!(copied.iter().eq(numbers.iter().rev().step_by(3)));
    // New values at their places: of neighbours that lie together, and of entries with a block each.
    let lengths: Vec<usize> = (0..40).map(|row| row * 7 % 5).collect();
    let neighbours = with_rows::<T>(30, &lengths, &mut Numbers::new(35));
    let diagonal: Vec<u32> = (0..40).map(|block| 8 * block).collect();
    let apart = Csr::try_from_triplets(320, 320, &diagonal, &diagonal, &numbers[..40]).unwrap();
    for (mut matrix, format) in [(neighbours, Format::SELL_P), (apart, "bcsr-8x8".parse().unwrap())] {
        let options = PlanOptions { updates: true, keep_places: true, fill_limit: UNLIMITED, ..PlanOptions::default() };
        let mut plan = Plan::with_options(executor, matrix.clone(), format, options).unwrap();
        let new = &numbers[..matrix.nnz()];
        matrix.values_mut().copy_from_slice(new);
        plan.update_values(&new.to_vec()).unwrap();
        assert!(plan.into_matrix() == Matrix::try_from_csr(matrix, format, UNLIMITED).unwrap());
    }
}

/// The kernels that multiply nothing.
fn run_others(executor: &Emulated) -> Results {
    let grid = Grid { blocks: 2, threads_per_block: 64, shared_bytes: 0 };
    let from = vec![1.0; 1024];
    let mut results = Results::new();
    let mut sums = executor.unwritten::<f64>(128).unwrap();
    let read: Call = Call::new(ReadOnly { count: 1024, from: from.global(), sums: sums.global_mut() });
    // SAFETY: the arrays are as long as the kernel asks for, and outlive the launch.
    unsafe { executor.launch(&Launch { grid, call: read }) }.unwrap();
    assert_eq!(sums.iter().sum::<f64>(), 1024.0);
    let gather = Gather { count: 300, sectors: 256, from: from.global(), sums: sums.global_mut() };
    // SAFETY: `from` has more elements than the kernel gathers from, and both arrays outlive the launch.
    unsafe { executor.launch(&Launch::new(grid, gather)) }.unwrap();
    assert_eq!(sums.iter().sum::<f64>(), 300.0);
    results.insert("conformance".into(), conformance(executor).unwrap());
    results
}

/// Under how many schedules each kernel ran, and how often in all.
type Runs = BTreeMap<String, (u64, u64)>;

/// Runs products and conversions under this many schedules, and after those of each what else is to be run under it, whose
/// results must be the same on the same size of grid.
fn run_schedules<T: Scalar>(schedules: u64, others: impl Fn(&Emulated) -> Results) -> Runs {
    let matrices = matrices::<T>();
    let mut emulators = emulators();
    let mut first: BTreeMap<(usize, usize), Results> = BTreeMap::new();
    let mut runs = Runs::new();
    for schedule in 0..schedules {
        let size = (schedule % emulators.len() as u64) as usize;
        let emulator = &mut emulators[size];
        emulator.set_seed(schedule);
        // One matrix with offsets of 32 bits and one with those of 64.
        let pair = (schedule / 4) as usize % (matrices.len() / 2);
        for place in [2 * pair, 2 * pair + 1] {
            let results = multiply_all(emulator, &matrices[place], schedule);
            convert_otherwise(emulator, &matrices[place]);
            multiply_wide(emulator, &matrices[place]);
            let first = first.entry((size, place)).or_default();
            for (what, bits) in results {
                let same = first.entry(what.clone()).or_insert_with(|| bits.clone()) == &bits;
                assert!(same, "{what}: other bits under schedule {schedule} than before");
            }
        }
        convert_long_row::<T>(emulator);
        multiply_blocks::<T>(emulator);
        multiply_few_and_many_rows::<T>(emulator);
        multiply_few_and_many_tiles::<T>(emulator);
        if schedule < SCHEDULES_OF_NARROW {
            multiply_narrow(emulator, &matrices[2 * pair..2 * pair + 2]);
        }
        look_at_numbers::<T>(emulator);
        let results = others(emulator);
        assert_eq!(first.entry((size, usize::MAX)).or_insert_with(|| results.clone()), &results);
        for (entry, launches) in emulator.take_launched() {
            let (schedules, all) = runs.entry(entry).or_default();
            (*schedules, *all) = (*schedules + 1, *all + launches);
        }
    }
    runs
}

/// What solvers take of real numbers.
fn solve<T: Real>(emulator: &Emulated) -> Results {
    check_passes::<T, _>(emulator);
    check_columns::<T, _>(emulator);
    check_stop::<T, _>(emulator);
    check_programs(emulator);
    mix::<T>(emulator);
    let mut results = precondition::<T>(emulator);
    results.extend(multiply_fused::<T>(emulator));
    results
}

/// The kernels that real numbers have no twins of.
fn run_conjugates<T: Scalar>() -> Runs {
    let matrices = matrices::<T>();
    let mut emulators = emulators();
    let mut runs = Runs::new();
    for schedule in 0..SCHEDULES {
        let emulator = &mut emulators[schedule as usize % 4];
        emulator.set_seed(schedule);
        let pair = (schedule / 4) as usize % (matrices.len() / 2);
        for matrix in &matrices[2 * pair..2 * pair + 2] {
            let mut numbers = Numbers::new(31);
            let (x, y) = (numbers.vector::<T>(matrix.rows()), numbers.vector::<T>(matrix.columns()));
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

/// Whether a kernel takes values that are stored narrower than computed with: a part of its name is such as `f64of32`.
fn is_narrow(entry: &str) -> bool {
    entry.split('_').any(|part| part.starts_with(['f', 'c']) && part[1..].contains("of"))
}

/// Whether a kernel is the same code as one of real numbers.
fn is_twin(entry: &str) -> bool {
    let alone = ["conjugate", "conformance"].iter().any(|name| entry.contains(name));
    (entry.contains("_c32") || entry.contains("_c64")) && !alone
}

#[test]
fn every_kernel_is_right_under_many_schedules() {
    let others = |emulator: &Emulated| {
        refine_once(emulator);
        let mut results = run_others(emulator);
        results.extend(solve::<f32>(emulator));
        results
    };
    let mut runs = Runs::new();
    let all = thread::scope(|scope| {
        let single = scope.spawn(|| run_schedules::<f32>(SCHEDULES, others));
        let double = scope.spawn(|| run_schedules::<f64>(SCHEDULES, solve::<f64>));
        let complex = scope.spawn(|| {
            let nothing = |_: &Emulated| Results::new();
            let single = run_schedules::<Complex<f32>>(SCHEDULES_OF_TWINS, nothing);
            let double = run_schedules::<Complex<f64>>(SCHEDULES_OF_TWINS, nothing);
            [single, double, run_conjugates::<Complex<f32>>(), run_conjugates::<Complex<f64>>()]
        });
        let join = |runs: thread::Result<_>| runs.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let complex = complex.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        [join(single.join()), join(double.join())].into_iter().chain(complex).collect::<Vec<_>>()
    });
    for (entry, (schedules, launches)) in all.into_iter().flatten() {
        // Kernels without values run for each type, under the same schedules.
        let (known, all) = runs.entry(entry).or_default();
        (*known, *all) = (schedules.max(*known), launches + *all);
    }
    let needed = |entry: &str| match entry {
        entry if is_narrow(entry) => SCHEDULES_OF_NARROW,
        entry if is_twin(entry) => SCHEDULES_OF_TWINS,
        _ => SCHEDULES,
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
        "{} kernels under {SCHEDULES} schedules each, {launches} launches with those of their twins",
        runs.len() - twins - narrow
    );
    println!("{twins} more under {SCHEDULES_OF_TWINS}: the same code with complex numbers");
    println!("{narrow} more under {SCHEDULES_OF_NARROW}: the same code with narrow values");
    println!("{} more are the same with 64-bit offsets, for matrices of 2^32 entries", huge.len());
    assert!(missed.is_empty(), "kernels that no case here runs under enough schedules: {missed:?}");
}
