//! Kernels without products, and kernels of solvers.

use cuda_std::launch::{Call, Grid, Launch};
use gpu_kernels::ceiling::{Gather, ReadOnly};
use gpu_kernels::convert::narrow::{LOSES_BFLOAT16, LOSES_FLOAT16, LOSES_FLOAT32, Losses};
use host::elements::{CopyElements, CopyOperands, Elements};
use host::occupied_rows::{AddOperands, AddToRows, OccupiedRows};
use warp_spmv::executor::{Emulated, Executor, KernelExecutor};
use warp_spmv::format::Matrix;
use warp_spmv::memory::Buffer;
use warp_spmv::select::Analysis;
use warp_spmv::solver::dense::{MixedOperands, MixedUpdate};
use warp_spmv::solver::preconditioner::Preconditioner;
use warp_spmv::solver::{Cg, Operator, Outcome, SpectralBounds};
use warp_spmv::verify::{exact, verify};
use warp_spmv::{Csr, Format, PartialSums, Plan, PlanOptions, Real, Scalar, ValueStorage};

use super::{Results, UNLIMITED, bits};
use crate::scenarios::conformance::conformance;
use crate::scenarios::{Numbers, with_rows};
use crate::solvers::dense::check_sum;
use crate::solvers::preconditioner::{dominant, names, refine, refinement_options};

/// Applies preconditioners whose triangular factors have short, longer and long rows.
pub fn precondition<T: Real>(executor: &Emulated) -> Results {
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

/// Estimates a spectrum, starting from pseudo-random numbers.
pub fn estimate<T: Real>(executor: &Emulated) -> [u64; 2] {
    let matrix = dominant::<T>(70, 3, true);
    let mut plan = Plan::with_format(executor, matrix, Format::CSR_SCALAR).unwrap();
    let bounds = SpectralBounds::estimate(executor, &mut plan, None, 4).unwrap();
    assert!(0.0 < bounds.smallest && bounds.smallest < bounds.largest, "{bounds:?}");
    [bounds.smallest.to_bits(), bounds.largest.to_bits()]
}

/// Analyses a matrix of which only the sampled entries are copied: its rows are short, so that they are few of many.
pub fn analyse(executor: &Emulated) {
    let matrix = with_rows::<f32>(9000, &[3; 50_000], &mut Numbers::new(38));
    let expected = Analysis { clusters: None, narrow: None, ..Analysis::new(&matrix).unwrap() };
    assert_eq!(Analysis::in_memory(executor, &matrix).unwrap(), expected);
}

/// Kernels that pass from one precision to the other.
pub fn refine_once(executor: &Emulated) {
    let matrix = dominant::<f64>(20, 2, true);
    let b = Numbers::new(26).vector(20);
    let (report, _) = refine(executor, &Cg, (&matrix, None), &b, refinement_options());
    assert_eq!(report.outcome, Outcome::Converged, "{report:?}");
}

/// The kernel that passes from one precision to the other, here between equal ones: 3 x − y / 2.
pub fn mix<T: Real>(executor: &Emulated) {
    let numbers: Vec<T> = (0..300).map(|number| T::from_f64(f64::from(number))).collect();
    let x = executor.upload(numbers.clone()).unwrap();
    let mut y = executor.upload(numbers).unwrap();
    executor.run::<MixedUpdate<_, _>>(MixedOperands { alpha: 3.0, x: &x, beta: -0.5, y: &mut y }).unwrap();
    let y = executor.download(&y).unwrap();
    assert!(y.iter().zip(0..).all(|(&y, number)| y.to_f64() == 2.5 * f64::from(number)), "{y:?}");
}

/// The kernel that adds to some rows of a product and to the sum over it, with more rows than a grid has threads.
pub fn add_with_sum<T: Real>(executor: &Emulated) {
    let length = 3000;
    let mut numbers = Numbers::new(37);
    let (w, old): (Vec<T>, Vec<T>) = (numbers.vector(length), numbers.vector(length));
    let lengths: Vec<usize> = (0..length).map(|row| usize::from(row % 3 != 1)).collect();
    let (rows, _) = OccupiedRows::of(executor, with_rows::<T>(9, &lengths, &mut numbers)).unwrap();
    let terms: Vec<T> = numbers.vector(rows.count());
    let (mut y, mut sum) = (old.clone(), PartialSums::new(executor, 1).unwrap());
    sum.set(&[5.0]).unwrap();
    let alpha = T::from_f64(-0.75);
    let operands = AddOperands { rows: &rows, vectors: 1, alpha, sums: &terms, y: &mut y, sum: Some((&w, &mut sum)) };
    executor.run::<AddToRows<T>>(operands).unwrap();
    let mut expected = old.clone();
    let elements = (0..length).filter(|row| row % 3 != 1);
    for (element, &term) in elements.zip(&terms) {
        expected[element] = cuda_std::GpuScalar::mul_add(alpha, term, expected[element]);
    }
    assert_eq!(bits(&y), bits(&expected));
    let differences = y.iter().zip(&old).map(|(new, old)| new.to_f64() - old.to_f64());
    let products = w.iter().map(|w| w.to_f64()).zip(differences).chain([(5.0, 1.0)]);
    check_sum(sum.totals(executor).unwrap()[0], products, T::NAME);
}

/// Kernels that look for a lossless narrow type, copy elements of a vector, add to rows, and store new values at their
/// places.
pub fn look_at_numbers<T: Scalar>(executor: &Emulated) {
    let numbers = Numbers::new(33).vector::<T>(700);
    let columns: Vec<u32> = (0..700).collect();
    let matrix = Csr::try_new(1, 700, vec![0_u32, 700], columns.clone(), numbers.clone()).unwrap();
    let options = PlanOptions { values: ValueStorage::Lossless, ..PlanOptions::default() };
    let plan = Plan::with_options(executor, matrix, Format::CSR_SCALAR, options).unwrap();
    assert!(matches!(plan.matrix(), Matrix::Csr(_)), "no narrow type is lossless");
    // On a grid of few warps, the host determines that, so the kernel is launched here.
    let mut losses = executor.unwritten::<u32>(4).unwrap();
    let parts = numbers.global_parts();
    let kernel = Losses { count: parts.length() as u64, values: parts, losses: losses.global_mut() };
    let grid = Grid { blocks: 2, threads_per_block: 64, shared_bytes: 0 };
    // SAFETY: the arrays have the lengths that the kernel requires, and outlive the launch.
    unsafe { executor.launch(&Launch { grid, call: Call::new(kernel) }) }.unwrap();
    let loses_float32 = if size_of::<T::Real>() == 8 { LOSES_FLOAT32 } else { 0 };
    assert_eq!(losses, [LOSES_FLOAT16 + LOSES_BFLOAT16 + loses_float32; 4]);
    let elements = Elements::new(executor, 700, columns.into_iter().rev().step_by(3).collect()).unwrap();
    let mut copied = vec![T::ZERO; elements.len()];
    let to = &mut std::iter::once(copied.as_mut_slice());
    executor.run::<CopyElements<T>>(CopyOperands { elements: &elements, x: &numbers, to }).unwrap();
    assert!(copied.iter().eq(numbers.iter().rev().step_by(3)));
    // Every fourth row has entries, and adds to an element of y.
    let lengths: Vec<usize> = (0..400).map(|row| if row % 4 == 2 { 18 } else { 0 }).collect();
    let matrix = with_rows::<T>(150, &lengths, &mut Numbers::new(36));
    let (x, mut y) = (numbers[..150].to_vec(), numbers[150..550].to_vec());
    let expected = exact(&matrix, T::ONE, &x, T::ONE, &y).unwrap();
    let (rows, occupied) = OccupiedRows::of(executor, matrix).unwrap();
    let mut sums = vec![T::ZERO; 100];
    Plan::with_format(executor, occupied, Format::CSR_VECTOR).unwrap().apply(T::ONE, &x, T::ZERO, &mut sums).unwrap();
    let operands = AddOperands { rows: &rows, vectors: 1, alpha: T::ONE, sums: &sums, y: &mut y, sum: None };
    executor.run::<AddToRows<T>>(operands).unwrap();
    assert!(verify(&y, &expected, Format::CSR_SCALAR).unwrap().passed());
    // New values at their places: adjacent ones, and entries with a block each.
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

/// Runs the kernels without products.
pub fn run_others(executor: &Emulated) -> Results {
    let grid = Grid { blocks: 2, threads_per_block: 64, shared_bytes: 0 };
    let from = vec![1.0; 1024];
    let mut results = Results::new();
    let mut sums = executor.unwritten::<f64>(128).unwrap();
    let read: Call = Call::new(ReadOnly { count: 1024, from: from.global(), sums: sums.global_mut() });
    // SAFETY: the arrays have the lengths that the kernel requires, and outlive the launch.
    unsafe { executor.launch(&Launch { grid, call: read }) }.unwrap();
    assert_eq!(sums.iter().sum::<f64>(), 1024.0);
    let gather = Gather { count: 300, sectors: 256, from: from.global(), sums: sums.global_mut() };
    // SAFETY: `from` has all elements that the kernel gathers from, and both arrays outlive the launch.
    unsafe { executor.launch(&Launch::new(grid, gather)) }.unwrap();
    assert_eq!(sums.iter().sum::<f64>(), 300.0);
    results.insert("conformance".into(), conformance(executor).unwrap());
    results
}
