//! The GPU program: checks every kernel on a real GPU against the exact result, then measures times.
//!
//! `cargo test --release --features cuda --test gpu` runs it, and reports that it was skipped if there is no GPU. The
//! program can also be copied to another machine:
//! `gpu [--quick] [--only=PART ...] [--format=FORMAT ...] [MATRIX.mtx ...]`; it needs nothing from the source tree. It
//! prints Markdown, and exits with a non-zero status if anything is wrong.

mod borrowed;
mod endurance;
mod failures;
mod measure;
#[cfg(feature = "peers")]
mod peers;
mod ranks;
#[path = "../scenarios/mod.rs"]
mod scenarios;
#[cfg(feature = "peers")]
mod sparse_product_times;
#[path = "../solvers"]
mod solvers {
    pub mod complex;
    pub mod dense;
    pub mod eigen;
    pub mod preconditioner;
    pub mod ranges;
    pub mod solver;

    use super::scenarios::Numbers;
}
mod solving;

use std::process::ExitCode;

use borrowed::check_borrowed;
use endurance::{Times, check_leaks, check_many_threads, check_products};
use failures::check_failures;
use gpu_kernels::conformance::RESULTS;
use gpu_kernels::{csr_tiled, csr_tiled_arriving};
use scenarios::conformance::{GRID, conformance};
use scenarios::fused::check_fused;
use scenarios::multigrid::{check_levels, check_transposes_there};
use scenarios::multivector::{Cases, VECTORS, Vectors, check_multivector_special_values, multiply_vectors};
use scenarios::narrow::{check_narrow, check_rounded};
use scenarios::sparse_product::{check_sparse_product, check_sparse_products, larger_pairs};
use scenarios::tiles::check_tiles;
use scenarios::transposed::{check_stored, check_transposed, check_transposed_special_values};
use scenarios::updates::{check_kept_places, check_updates};
use scenarios::{
    Numbers, Products, check, check_conversion, check_converted_product, check_reproducible, check_special_values,
    check_whole_numbers, generated, matrices,
};
use solvers::dense::{check_columns, check_lengths, check_passes, check_programs, check_ranks_in_memory, check_stop};
use solvers::eigen::{check_block_cg, check_lobpcg, check_pagerank, check_power};
use solvers::preconditioner::{check_complex_corrections, check_refinement, check_rounded_corrections};
use solvers::ranges::{check_eigenvalues, check_sizes};
use solvers::solver::{check_chebyshev, convection, indefinite, laplacian};
use solving::{check_complex_solvers, check_method, check_preconditioning};
use warp_spmv::executor::{Cuda, Emulated, Executor};
use warp_spmv::solver::{Bicgstab, Cg, Gmres, MethodName, Minres, PipelinedCg};
use warp_spmv::{Complex, Format, Layout, Multivector, Real, Scalar};

/// Command-line arguments.
struct Arguments {
    quick: bool,
    /// Names of [`PARTS`]; empty for all.
    only: Vec<String>,
    /// Formats checked by the parts that iterate over formats.
    formats: Vec<Format>,
    files: Vec<String>,
}

impl Arguments {
    fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut parsed = Self { quick: false, only: Vec::new(), formats: Vec::new(), files: Vec::new() };
        for argument in arguments {
            if argument == "--quick" {
                parsed.quick = true;
            } else if let Some(name) = argument.strip_prefix("--only=") {
                if PARTS.iter().all(|part| part.0 != name) {
                    let names: Vec<_> = PARTS.iter().map(|part| part.0).collect();
                    return Err(format!("unknown part '{name}': expected {}", names.join(", ")));
                }
                parsed.only.push(name.to_owned());
            } else if let Some(name) = argument.strip_prefix("--format=") {
                parsed.formats.push(name.parse().map_err(|error: warp_spmv::Error| error.to_string())?);
            } else if argument.ends_with(".mtx") {
                parsed.files.push(argument);
            }
            // Ignores what else `cargo test` passes to every test program.
        }
        if parsed.formats.is_empty() {
            parsed.formats = Format::ALL.to_vec();
        }
        Ok(parsed)
    }

    fn times(&self) -> &'static Times {
        if self.quick { &Times::QUICK } else { &Times::ALL }
    }

    /// A grid whose solution takes long enough for recorded launches to matter, except under a sanitizer.
    fn cube(&self) -> &'static str {
        if self.quick { "stencil:7:20" } else { "stencil:7:64" }
    }
}

/// [`check_method`] in both precisions.
macro_rules! check_solver {
    ($gpu:expr, $arguments:expr, $method:expr, $($family:ident),+) => {{
        check_method::<f32, _>($gpu, $arguments.cube(), $method, &[$($family),+]);
        check_method::<f64, _>($gpu, $arguments.cube(), $method, &[$($family),+]);
    }};
}

/// A check of a method with its own criterion.
macro_rules! in_both_precisions {
    ($gpu:expr, $check:ident) => {{
        $check::<f32, _>($gpu);
        $check::<f64, _>($gpu);
        println!("- {}, float32 and float64: right", stringify!($check));
    }};
}

/// A check in every number type.
macro_rules! in_all_types {
    ($check:ident $arguments:tt) => {{
        $check::<f32> $arguments;
        $check::<f64> $arguments;
        $check::<Complex<f32>> $arguments;
        $check::<Complex<f64>> $arguments;
    }};
}

type Part = (&'static str, fn(&Cuda, &Arguments));

/// All checks, in order.
const PARTS: &[Part] = &[
    ("conformance", |gpu, _| check_conformance(gpu)),
    ("formats", |gpu, arguments| {
        in_all_types!(check_scenarios(gpu, &arguments.formats));
    }),
    ("narrow", |gpu, arguments| {
        in_all_types!(check_narrow_values(gpu, &arguments.formats));
    }),
    ("updates", |gpu, _| {
        check_updates::<f32, _>(gpu, 1);
        check_updates::<f64, _>(gpu, 1);
        let kept = check_kept_places::<f32, _>(gpu, 1) + check_kept_places::<f64, _>(gpu, 1);
        println!("- new values in every format, float32 and float64: the bits of a new plan; {kept} by kept places");
    }),
    ("fused", |gpu, arguments| {
        check_epilogues::<f32>(gpu, &arguments.formats);
        check_epilogues::<f64>(gpu, &arguments.formats);
    }),
    ("multivectors", |gpu, arguments| {
        in_all_types!(check_multivectors(gpu, &arguments.formats));
    }),
    ("transposes", |gpu, arguments| {
        in_all_types!(check_transposes(gpu, &arguments.formats));
        in_all_types!(check_stored_transposes(gpu));
    }),
    ("sparse-products", |gpu, _| {
        in_all_types!(check_sparse(gpu));
    }),
    ("multigrid", |gpu, _| {
        in_all_types!(check_multigrid(gpu));
    }),
    ("dense", |gpu, _| {
        check_dense::<f32>(gpu);
        check_dense::<f64>(gpu);
    }),
    ("conjugate-gradients", |gpu, arguments| {
        check_solver!(gpu, arguments, Cg, laplacian);
        check_solver!(gpu, arguments, PipelinedCg, laplacian);
    }),
    ("minres", |gpu, arguments| check_solver!(gpu, arguments, Minres, laplacian, indefinite)),
    ("bicgstab", |gpu, arguments| check_solver!(gpu, arguments, Bicgstab, laplacian, convection)),
    ("gmres", |gpu, arguments| check_solver!(gpu, arguments, Gmres { cycle: 60 }, laplacian, indefinite, convection)),
    ("chebyshev", |gpu, _| in_both_precisions!(gpu, check_chebyshev)),
    ("block-cg", |gpu, _| in_both_precisions!(gpu, check_block_cg)),
    ("lobpcg", |gpu, _| in_both_precisions!(gpu, check_lobpcg)),
    ("power", |gpu, _| in_both_precisions!(gpu, check_power)),
    ("pagerank", |gpu, _| in_both_precisions!(gpu, check_pagerank)),
    ("preconditioners", |gpu, arguments| {
        check_preconditioning::<f32>(gpu, arguments.cube());
        check_preconditioning::<f64>(gpu, arguments.cube());
        check_refinement(gpu);
        check_rounded_corrections(gpu, MethodName::ALL);
        check_complex_corrections(gpu, MethodName::ALL);
        println!("- refinement in float64 of solutions that Cg finds in float32: right");
    }),
    ("complex-solvers", |gpu, _| {
        check_complex_solvers::<Complex<f32>>(gpu);
        check_complex_solvers::<Complex<f64>>(gpu);
    }),
    ("ranges", |gpu, _| {
        check_sizes(gpu);
        check_eigenvalues(gpu);
        println!("- systems and eigenproblems of numbers from 1e-300 to 1e300: right");
    }),
    #[cfg(feature = "peers")]
    ("peers", |gpu, _| {
        peers::check_peers::<f32>(gpu);
        peers::check_peers::<f64>(gpu);
        peers::check_peers::<Complex<f32>>(gpu);
        peers::check_peers::<Complex<f64>>(gpu);
        peers::check_narrow_peers(gpu);
        peers::check_multivector_peers::<f32>(gpu);
        peers::check_multivector_peers::<f64>(gpu);
        peers::check_multivector_peers::<Complex<f64>>(gpu);
        peers::check_peer_solvers::<f32>(gpu);
        peers::check_peer_solvers::<f64>(gpu);
    }),
    ("failures", |gpu, _| check_failures(gpu)),
    ("borrowed", |_, _| check_borrowed()),
    ("ranks", |_, _| ranks::check_ranks()),
    ("threads", |_, arguments| check_many_threads(arguments.times())),
    ("products", |gpu, arguments| check_products(gpu, arguments.times())),
    ("cycles", |gpu, arguments| check_leaks(gpu, arguments.times())),
    ("files", |gpu, arguments| check_files(gpu, &arguments.files)),
    ("times", |gpu, arguments| {
        if !arguments.quick {
            measure::measure(gpu).unwrap_or_else(|error| panic!("{error}"));
        }
    }),
    #[cfg(feature = "peers")]
    ("sparse-product-times", |gpu, arguments| {
        // Only on request.
        if !arguments.only.is_empty() {
            sparse_product_times::time_sparse_products::<f32>(gpu);
            sparse_product_times::time_sparse_products::<f64>(gpu);
        }
    }),
];

fn main() -> ExitCode {
    if let Some(failure) = std::env::args().find_map(|flag| flag.strip_prefix(failures::FLAG).map(str::to_owned)) {
        return failures::fail(&failure);
    }
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    let gpu = match Cuda::new(0) {
        Ok(gpu) => gpu,
        Err(error) => {
            println!("skipped: {error}");
            return ExitCode::SUCCESS;
        }
    };
    println!("Device: {} ({} multiprocessors)\n", gpu.device().name, gpu.device().multiprocessors);
    for (name, check) in PARTS {
        if arguments.only.is_empty() || arguments.only.iter().any(|only| only == name) {
            check(&gpu, &arguments);
        }
    }
    ExitCode::SUCCESS
}

/// Every operation of `cuda_std` gives the same bits on the emulator and on the GPU.
fn check_conformance(gpu: &Cuda) {
    let threads = (GRID.blocks * GRID.threads_per_block) as usize;
    let (results, emulated) = (conformance(gpu).unwrap(), conformance(&Emulated::new(4)).unwrap());
    for (place, (gpu, emulated)) in results.iter().zip(&emulated).enumerate() {
        let (result, thread) = (place / threads, place % threads);
        assert_eq!(gpu, emulated, "conformance: result {result} of thread {thread}: GPU and emulator differ");
    }
    println!("- conformance: {RESULTS} operations on {threads} threads, the same bits as on the emulator");
}

fn check_scenarios<T: Scalar>(gpu: &Cuda, formats: &[Format]) {
    let matrices = matrices::<T>();
    let products: Vec<_> = matrices.iter().map(|(name, matrix)| Products::new(name, matrix)).collect();
    for &format in formats {
        let (mut checked, mut refused, mut worst) = (0, 0, 0.0);
        for ((name, matrix), products) in matrices.iter().zip(&products) {
            check_conversion(gpu, name, matrix, format);
            match products.check(gpu, format) {
                Some(error) => (checked, worst) = (checked + 1, f64::max(worst, error)),
                None => refused += 1,
            }
        }
        check_converted_product::<T, _>(gpu, format);
        check_special_values::<T, _>(gpu, format);
        check_whole_numbers::<T, _>(gpu, format);
        check_reproducible::<T, _>(gpu, format);
        if format == Format::CSR_TILED {
            // One launch, with small tiles, larger ones, and several waves of them, and two launches.
            let [least, most] = [csr_tiled_arriving::least_items(256), csr_tiled_arriving::most_items(256)];
            for (items, many) in [(least, 33), (1000, 800), (most, 1000), (most, 3500)] {
                check_tiles::<T, _>(gpu, items as usize, many);
            }
            check_tiles::<T, _>(gpu, csr_tiled::tile_items(512) as usize, 3000);
        }
        let factors = scenarios::FACTORS.len();
        println!(
            "- {format}, {}: {checked} matrices x {factors} factors right, worst error {worst:.2} of its bound; \
             {refused} refused for padding; conversions to it and back, special values, whole numbers, same bits twice: right",
            T::NAME
        );
    }
}

/// Values in every type narrower than `T`, in every format that supports it: the same bits as with those values in `T`.
fn check_narrow_values<T: Scalar>(gpu: &Cuda, formats: &[Format]) {
    // The last two have many tiles, and more rows than threads at a time.
    let mut matrices = matrices::<T>();
    matrices.extend(["stencil:27:40", "stencil:7:90"].map(|name| (name.into(), generated(name))));
    for &format in formats {
        let right: usize = matrices.iter().map(|(name, matrix)| check_narrow(gpu, name, matrix, format)).sum();
        if format.multiplies_narrow() {
            check_rounded::<T, _>(gpu, format);
            println!(
                "- {format}, {}: {right} products with narrow values have the same bits as with full ones",
                T::NAME
            );
        }
    }
}

/// Products with an epilogue, in a kernel of the format or in a pass after it.
fn check_epilogues<T: Real>(gpu: &Cuda, formats: &[Format]) {
    let mut matrices = matrices::<T>();
    // More rows than threads at a time.
    matrices.push(("stencil:7:90".into(), generated("stencil:7:90")));
    for &format in formats {
        let once = || matrices.iter().map(|(name, matrix)| check_fused(gpu, name, matrix, format, true));
        let results: Vec<_> = once().collect();
        assert!(!format.reproducible() || once().eq(results.iter().cloned()), "{format}: not the same bits twice");
        let right = results.iter().flatten().count();
        println!("- {format}, {}: {right} products with an addend and sums right, same bits twice", T::NAME);
    }
}

/// Several vectors at once, in every format that has a kernel for them.
fn check_multivectors<T: Scalar>(gpu: &Cuda, formats: &[Format]) {
    let pareto = generated::<T>("pareto:rows=500,k=1.2,base=3");
    let matrices = matrices::<T>();
    let mut cases: Vec<_> = matrices.iter().map(|(name, matrix)| (&**name, Cases::new(matrix, 13))).collect();
    cases.extend(VECTORS.iter().map(|&vectors| ("pareto", Cases::new(&pareto, vectors))));
    for &format in formats.iter().filter(|format| format.multiplies_multivectors()) {
        let errors: Vec<_> = cases.iter().filter_map(|(name, cases)| cases.check(gpu, name, format)).collect();
        let (checked, worst) = (errors.len(), errors.into_iter().fold(0.0, f64::max));
        check_multivector_special_values::<T, _>(gpu, format);
        let shape = Multivector { vectors: 33, layout: Layout::RowMajor };
        let x = Numbers::new(5).vector(pareto.columns() * 33);
        let y = vec![T::ZERO; pareto.rows() * 33];
        let vectors = Vectors { shape, factors: (T::ONE, T::ZERO), x: &x, y: &y };
        let once = || multiply_vectors(gpu, &pareto, format, &vectors);
        assert!(once() == once(), "{format}: several vectors: not the same bits twice");
        println!(
            "- {format}, {}, several vectors: {checked} cases in both layouts right, worst error {worst:.2} of its \
             bound; special values, same bits twice: right",
            T::NAME
        );
    }
}

/// The transposed matrix, in every format that has a kernel for it.
fn check_transposes<T: Scalar>(gpu: &Cuda, formats: &[Format]) {
    for &format in formats.iter().filter(|format| format.multiplies_transposed()) {
        let (mut checked, mut worst) = (0, 0.0);
        for (name, matrix) in matrices::<T>() {
            if let Some(error) = check_transposed(gpu, &name, &matrix, format) {
                (checked, worst) = (checked + 1, f64::max(worst, error));
            }
        }
        check_transposed_special_values::<T, _>(gpu, format);
        println!(
            "- {format}, {}, transposed: {checked} matrices right, conjugate too where there are imaginary parts, \
             worst error {worst:.2} of its bound; special values: right",
            T::NAME
        );
    }
}

/// The transpose stored beside the matrix: right, the same bits twice, and with new values.
fn check_stored_transposes<T: Scalar>(gpu: &Cuda) {
    let formats = [Format::CSR_TILED, Format::SELL_P, Format::COO, Format::ELL];
    for (name, matrix) in matrices::<T>() {
        formats.iter().for_each(|&format| check_stored(&name, &matrix, format, &[gpu.clone(), gpu.clone()]));
    }
    println!("- stored transposes, {}: right, the same bits twice, also with new values", T::NAME);
}

/// Multigrid levels equal those of the CPU, and a cycle over them gives the same bits every time.
fn check_multigrid<T: Scalar>(gpu: &Cuda) {
    check_transposes_there::<T, _>(gpu);
    let first = check_levels::<T, _>(gpu);
    assert!((0..10).all(|_| check_levels::<T, _>(gpu) == first));
    println!("- transposes and levels of multigrid, {}: equal to those of the CPU, the same bits every time", T::NAME);
}

/// Products of two sparse matrices.
fn check_sparse<T: Scalar>(gpu: &Cuda) {
    let small = check_sparse_products::<T, _>(gpu);
    let larger = larger_pairs::<T>();
    for (name, left, right) in &larger {
        check_sparse_product(gpu, name, left, right);
    }
    println!(
        "- products of sparse matrices, {}: {small} small ones and {} larger ones have the bits of the CPU's, with new \
         values too",
        T::NAME,
        larger.len()
    );
}

/// Operations on dense vectors that solvers need.
fn check_dense<T: Real>(gpu: &Cuda) {
    check_passes::<T, _>(gpu);
    check_columns::<T, _>(gpu);
    check_stop::<T, _>(gpu);
    check_lengths::<T, _>(gpu);
    check_programs(gpu);
    check_ranks_in_memory(gpu);
    println!("- dense vectors, {}: passes, sums, blocks of columns, programs, stops, bad operands: right", T::NAME);
}

fn check_files(gpu: &Cuda, files: &[String]) {
    for file in files {
        match warp_spmv::io::read_matrix_market::<f64>(file, None) {
            Ok((matrix, _)) => {
                for &format in Format::ALL {
                    check(gpu, file, &matrix, format);
                    check(gpu, file, &matrix.cast::<f32>().unwrap(), format);
                }
                let (rows, columns, nnz) = (matrix.rows(), matrix.columns(), matrix.nnz());
                println!("- {file}: {rows} x {columns}, {nnz} entries: right in every format and precision");
            }
            Err(error) => println!("- {file}: not read: {error}"),
        }
    }
}
