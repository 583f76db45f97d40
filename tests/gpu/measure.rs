//! Times of the kernels against the memory's own speed, and of conversions against the multiplications they are for.

use std::time::{Duration, Instant};

use cuda_std::GlobalMut;
use cuda_std::launch::{Grid, Kernel, Launch};
use gpu_kernels::ceiling::ReadOnly;
use warp_spmv::executor::{Cuda, CudaBuffer, Executor, KernelExecutor};
use warp_spmv::format::FillLimit;
use warp_spmv::memory::Buffer;
use warp_spmv::spmv::{Layout, Multivector};
use warp_spmv::synthetic::Generator;
use warp_spmv::verify::{Exact, exact, verify};
use warp_spmv::{Csr, Error, Format, Plan, Real};

use crate::scenarios::Numbers;

/// The matrices that are timed: none fits into the L2 cache.
const TIMED: &[&str] = &[
    "stencil:27:200",
    "stencil:7:300",
    "stencil:5:6000",
    "banded:rows=4000000,bands=9",
    "elasticity:width=110",
    "pareto:rows=1000000,k=1.5",
];

/// The formats that are timed: all block sizes, strip heights and splits would make the run too long. Conversions are
/// counted in multiplications of the first.
const TIMED_FORMATS: &[&str] = &[
    "csr-vector",
    "csr-scalar",
    "csr-vector-2",
    "csr-vector-4",
    "csr-vector-8",
    "csr-vector-16",
    "csr-vector-32",
    "csr-load-balanced",
    "csr-merge-path",
    "dia",
    "ell",
    "ell-subwarp",
    "sell-p",
    "sell-p-sorted",
    "sell-16",
    "bcsr-3x3",
    "bcsr-4x4",
    "bellpack-3x3",
    "coo",
    "coo-atomic",
    "hyb",
    "cmrs",
    "cmrs-padded",
];

/// The formats that several vectors and the transposed matrix are timed in.
const VECTOR_FORMATS: &[&str] = &["csr-vector", "coo", "sell-p", "bcsr-3x3"];

/// How often a conversion is timed, after once that loads the kernels.
const CONVERSIONS: usize = 3;

/// Times everything and prints it as Markdown.
pub fn measure(gpu: &Cuda) -> Result<(), Error> {
    let ceilings = Ceilings { copy: copy_bandwidth(gpu)?, read: read_bandwidth(gpu)? };
    println!("\nCeilings: copy (read + write) {:.2} TB/s, read only {:.2} TB/s.\n", ceilings.copy, ceilings.read);
    println!("| matrix | format | one vector, ms | 4, times one | 8 | 32 | transposed, times one |");
    println!("|---|---|---|---|---|---|---|");
    for text in ["stencil:27:100", "elasticity:width=60", "pareto:rows=1000000,k=1.5"] {
        let matrix = text.parse::<Generator>().unwrap().generate::<f64>().unwrap();
        for format in VECTOR_FORMATS {
            measure_vectors(gpu, text, &matrix, format.parse()?)?;
        }
    }
    println!();
    println!(
        "| matrix | precision | format | bytes, GB | median, ms | quartiles, ms | GFLOP/s | TB/s | of copy | of read \
         | conversion, csr-vector calls | and back |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    for text in TIMED {
        let matrix = text.parse::<Generator>().unwrap().generate::<f64>().unwrap();
        measure_matrix(gpu, text, &matrix, &ceilings)?;
        measure_matrix(gpu, text, &matrix.cast::<f32>(), &ceilings)?;
    }
    Ok(())
}

/// TB/s of the memory in the same run.
struct Ceilings {
    copy: f64,
    read: f64,
}

fn measure_matrix<T: Real>(gpu: &Cuda, name: &str, matrix: &Csr<T>, ceilings: &Ceilings) -> Result<(), Error> {
    let mut numbers = Numbers::new(2);
    let x: Vec<T> = numbers.vector(matrix.columns());
    let exact = exact(matrix, T::ONE, &x, T::ZERO, &vec![T::ZERO; matrix.rows()])?;
    let x = gpu.upload(x)?;
    let mut csr_vector = None;
    for format in TIMED_FORMATS {
        let format: Format = format.parse()?;
        let Measured { bytes, quartiles: [first, median, third], conversions } =
            match measure_format(gpu, matrix, format, &x, &exact) {
                Ok(measured) => measured,
                Err(error @ Error::Fill { .. }) => {
                    println!("| {name} | {} | {format} | {error} |||||||||", T::PRECISION);
                    continue;
                }
                Err(error) => return Err(error),
            };
        let rate = bytes as f64 / median.as_secs_f64() / 1e12;
        let unit = *csr_vector.get_or_insert(median);
        let [to, back] = conversions.map(|time| time.as_secs_f64() / unit.as_secs_f64());
        println!(
            "| {name} | {} | {format} | {:.3} | {:.4} | {:.4} to {:.4} | {:.0} | {rate:.2} | {:.2} | {:.2} | {to:.1} \
             | {back:.1} |",
            T::PRECISION,
            bytes as f64 / 1e9,
            milliseconds(median),
            milliseconds(first),
            milliseconds(third),
            2.0 * matrix.nnz() as f64 / median.as_secs_f64() / 1e9,
            rate / ceilings.copy,
            rate / ceilings.read,
        );
    }
    Ok(())
}

struct Measured {
    /// Bytes that one multiplication must move, the padding as well.
    bytes: u128,
    quartiles: [Duration; 3],
    /// From CSR and back, by the GPU, allocations included.
    conversions: [Duration; 2],
}

fn measure_format<T: Real>(
    gpu: &Cuda,
    matrix: &Csr<T>,
    format: Format,
    x: &CudaBuffer<T>,
    exact: &[Exact],
) -> Result<Measured, Error> {
    let mut csr = gpu.upload_csr(matrix.clone())?;
    let mut times = [vec![], vec![]];
    for _ in 0..=CONVERSIONS {
        let start = Instant::now();
        let converted = gpu.convert(csr, format, FillLimit::default())?;
        gpu.synchronize()?;
        let middle = Instant::now();
        csr = gpu.to_csr(converted)?;
        gpu.synchronize()?;
        times[0].push(middle - start);
        times[1].push(middle.elapsed());
    }
    let conversions = times.map(|mut times| {
        times[1..].sort();
        times[1 + CONVERSIONS / 2]
    });

    let converted = gpu.convert(csr, format, FillLimit::default())?;
    let mut plan = Plan::from_converted(gpu, converted, format)?;
    let mut y = gpu.upload(vec![T::from_f64(f64::NAN); matrix.rows()])?;
    let quartiles = quartiles(gpu, || plan.apply(T::ONE, x, T::ZERO, &mut y))?;
    let result = verify(&gpu.download(&y)?, exact, format)?;
    assert!(result.passed(), "{format}, {}: {result:?}", T::PRECISION);
    let vectors = (matrix.rows() + matrix.columns()) * size_of::<T>();
    Ok(Measured { bytes: plan.matrix().bytes() + vectors as u128, quartiles, conversions })
}

/// Several vectors in row-major layout, and the transposed matrix. That they are right is checked elsewhere.
fn measure_vectors(gpu: &Cuda, name: &str, matrix: &Csr<f64>, format: Format) -> Result<(), Error> {
    let mut plan = Plan::new(gpu, matrix.clone(), format)?;
    let mut numbers = Numbers::new(2);
    let x = gpu.upload(numbers.vector::<f64>(matrix.columns()))?;
    let mut y = gpu.zeros(matrix.rows())?;
    let [_, one, _] = quartiles(gpu, || plan.apply(1.0, &x, 0.0, &mut y))?;
    print!("| {name} | {format} | {:.4} |", milliseconds(one));
    let times_one = |time: Duration| time.as_secs_f64() / one.as_secs_f64();
    for vectors in [4, 8, 32] {
        let shape = Multivector { vectors, layout: Layout::RowMajor };
        let x = gpu.upload(numbers.vector::<f64>(matrix.columns() * vectors))?;
        let mut y = gpu.zeros(matrix.rows() * vectors)?;
        let [_, median, _] = quartiles(gpu, || plan.apply_multivector(shape, 1.0, &x, 0.0, &mut y))?;
        print!(" {:.2} |", times_one(median));
    }
    if !format.multiplies_transposed() {
        println!(" |");
        return Ok(());
    }
    let x = gpu.upload(numbers.vector::<f64>(matrix.rows()))?;
    let mut y = gpu.zeros(matrix.columns())?;
    let [_, median, _] = quartiles(gpu, || plan.apply_transposed(1.0, &x, 0.0, &mut y))?;
    println!(" {:.2} |", times_one(median));
    Ok(())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// First quartile, median and third quartile of 50 runs after 5 that warm up.
fn quartiles(gpu: &Cuda, mut work: impl FnMut() -> Result<(), Error>) -> Result<[Duration; 3], Error> {
    for _ in 0..5 {
        work()?;
    }
    let mut times = Vec::new();
    for _ in 0..50 {
        times.push(gpu.time(&mut work)?);
    }
    times.sort();
    Ok([times[12], times[25], times[37]])
}

/// Bytes of the arrays that the ceilings are measured with.
const CEILING_BYTES: usize = 4 << 30;

/// TB/s of the driver's own copy from device to device, bytes read and written.
fn copy_bandwidth(gpu: &Cuda) -> Result<f64, Error> {
    let from = gpu.upload(Numbers::new(3).vector::<f64>(CEILING_BYTES / 8))?;
    let mut to = gpu.upload(vec![0.0; CEILING_BYTES / 8])?;
    let [_, median, _] = quartiles(gpu, || gpu.copy(&from, &mut to))?;
    Ok(2.0 * CEILING_BYTES as f64 / median.as_secs_f64() / 1e12)
}

/// TB/s of reading alone: SpMV is almost all reads.
fn read_bandwidth(gpu: &Cuda) -> Result<f64, Error> {
    let from = gpu.upload(Numbers::new(3).vector::<f64>(CEILING_BYTES / 8))?;
    let device = gpu.device();
    let best = [1, 2, 4].into_iter().map(|waves| {
        let blocks = device.multiprocessors * device.threads_per_multiprocessor / 512 * waves;
        let grid = Grid { blocks, threads_per_block: 512, shared_bytes: 0 };
        let mut sums = gpu.upload(vec![0.0; (grid.blocks * grid.threads_per_block) as usize])?;
        let sums: GlobalMut<f64> = sums.global_mut();
        let kernel = ReadOnly { count: (CEILING_BYTES / 8) as u64, from: from.global(), sums };
        let launch = Launch { grid, kernel: Box::new(kernel) as Box<dyn Kernel> };
        // SAFETY: the arrays have the lengths that the kernel asks for and outlive the launches, which `quartiles`
        // waits for.
        let [_, median, _] = quartiles(gpu, || unsafe { gpu.launch(&launch) })?;
        Ok(CEILING_BYTES as f64 / median.as_secs_f64() / 1e12)
    });
    best.collect::<Result<Vec<f64>, Error>>().map(|rates| rates.into_iter().fold(0.0, f64::max))
}
