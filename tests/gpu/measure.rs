//! Times that `warp-spmv bench` does not measure: several vectors, the transposed matrix, new values, and copies
//! between host and GPU.

use std::time::{Duration, Instant};

use warp_spmv::executor::{Cuda, Executor, KernelExecutor};
use warp_spmv::synthetic::Generator;
use warp_spmv::{Csr, Error, Format, Layout, Multivector, Plan, PlanOptions};

use crate::scenarios::Numbers;

/// Formats in which several vectors and the transposed matrix are timed.
const VECTOR_FORMATS: &[&str] = &["csr-vector", "coo", "sell-p", "bcsr-3x3"];

/// Formats in which new values are timed.
const UPDATED_FORMATS: &[&str] =
    &["csr-tiled", "coo", "ell", "sell-p", "sell-16", "dia", "bcsr-3x3", "bellpack-3x3", "cmrs-8", "hyb", "coo-16"];

/// Sizes in bytes of the copied arrays: the driver copies some, others go through page-locked memory.
const COPIED: &[usize] = &[1 << 20, 16 << 20, 256 << 20, 2 << 30];

/// Times everything and prints it as Markdown.
pub fn measure(gpu: &Cuda) -> Result<(), Error> {
    println!("\n| matrix | format | one vector, ms | 4, times one | 8 | 32 | transposed, times one |");
    println!("|---|---|---|---|---|---|---|");
    for text in ["stencil:27:100", "elasticity:width=60", "pareto:rows=1000000,k=1.5"] {
        let matrix = text.parse::<Generator>().unwrap().generate::<f64>().unwrap();
        for format in VECTOR_FORMATS {
            measure_vectors(gpu, text, &matrix, format.parse()?)?;
        }
    }
    println!(
        "\n| matrix | format | one product, ms | new values by conversion, times one | by places | bytes for them |"
    );
    println!("|---|---|---|---|---|---|");
    for text in ["stencil:27:100", "elasticity:width=60"] {
        let matrix = text.parse::<Generator>().unwrap().generate::<f64>().unwrap();
        for format in UPDATED_FORMATS {
            measure_updates(gpu, text, &matrix, format.parse()?)?;
        }
    }
    println!("\n| bytes | to the GPU, GB/s | back, GB/s | allocating and freeing an array, ms |\n|---|---|---|---|");
    for &bytes in COPIED {
        measure_copies(gpu, bytes)?;
    }
    Ok(())
}

/// Times new values for the same pattern, by converting again and by the kept places.
fn measure_updates(gpu: &Cuda, name: &str, matrix: &Csr<f64>, format: Format) -> Result<(), Error> {
    let values = gpu.upload(Numbers::new(3).vector::<f64>(matrix.nnz()))?;
    let x = gpu.upload(Numbers::new(2).vector::<f64>(matrix.columns()))?;
    let mut y = gpu.zeros(matrix.rows())?;
    let (mut one, mut updates, mut bytes) = (Duration::ZERO, Vec::new(), 0);
    for keep_places in [false, true] {
        let options = PlanOptions { updates: true, keep_places, ..PlanOptions::default() };
        let mut plan = match Plan::with_options(gpu, matrix.clone(), format, options) {
            // Another matrix suits the format.
            Err(Error::Fill { .. }) => return Ok(()),
            plan => plan?,
        };
        [_, one, _] = quartiles(gpu, || plan.apply(1.0, &x, 0.0, &mut y))?;
        updates.push(quartiles(gpu, || plan.update_values(&values))?[1]);
        bytes = plan.update_bytes();
    }
    let times_one = |time: Duration| time.as_secs_f64() / one.as_secs_f64();
    let [converted, places] = [updates[0], updates[1]].map(times_one);
    println!("| {name} | {format} | {:.4} | {converted:.2} | {places:.2} | {bytes} |", milliseconds(one));
    Ok(())
}

/// Times several vectors in row-major layout, and the transposed matrix. Their results are checked elsewhere.
fn measure_vectors(gpu: &Cuda, name: &str, matrix: &Csr<f64>, format: Format) -> Result<(), Error> {
    let mut plan = Plan::with_format(gpu, matrix.clone(), format)?;
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

/// Measures the rate of copies, including allocation, and the time of an allocation: the fastest of 5 runs.
fn measure_copies(gpu: &Cuda, bytes: usize) -> Result<(), Error> {
    let array: Vec<f64> = Numbers::new(3).vector(bytes / size_of::<f64>());
    let mut best = [Duration::MAX; 3];
    for _ in 0..5 {
        let start = Instant::now();
        drop(gpu.unwritten::<f64>(array.len())?);
        best[2] = best[2].min(start.elapsed());
        let copy = array.clone();
        let start = Instant::now();
        let uploaded = gpu.upload(copy)?;
        gpu.synchronize()?;
        best[0] = best[0].min(start.elapsed());
        let start = Instant::now();
        let downloaded = gpu.download(&uploaded)?;
        best[1] = best[1].min(start.elapsed());
        assert_eq!(downloaded, array);
    }
    let [to, back, _] = best.map(|time| bytes as f64 / time.as_secs_f64() / 1e9);
    println!("| {bytes} | {to:.1} | {back:.1} | {:.3} |", milliseconds(best[2]));
    Ok(())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// First quartile, median and third quartile of 50 runs after 5 warm-up runs.
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
