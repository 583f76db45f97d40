//! Cost of the choice of a format before anything is multiplied: `cargo bench --bench analysis`, with `-- --quick` for
//! a first look. Each group has the analysis of a matrix and a multiplication by `csr-vector` on the same threads, and
//! ends with the quotient of the best samples.

use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use warp_spmv::executor::Cpu;
use warp_spmv::select::Analysis;
use warp_spmv::synthetic::Generator;
use warp_spmv::{Csr, Format, Plan};

const MATRICES: &[&str] = &[
    "stencil:5:1000",
    "stencil:27:60",
    "banded:rows=200000,bands=25",
    "elasticity:width=30",
    "pareto:rows=300000,k=2.5",
    "uniform:rows=1000000,per-row=3,lengths=poisson",
    "rmat:scale=18",
    "dense:rows=2000",
];

fn analysis(criterion: &mut Criterion) {
    let cpu = Cpu::new();
    for text in MATRICES {
        let matrix: Csr<f64> = text.parse::<Generator>().unwrap().generate().unwrap();
        let mut group = criterion.benchmark_group(*text);
        group.throughput(Throughput::Elements(matrix.nnz() as u64)).warm_up_time(Duration::from_secs(1));
        let analysis = best(&mut group, "analysis", || Analysis::new(&matrix).unwrap());
        let unit = Format::CSR_VECTOR;
        let mut plan = Plan::with_format(&cpu, matrix.clone(), unit).unwrap();
        let (x, mut y) = (vec![1.0; matrix.columns()], vec![f64::NAN; matrix.rows()]);
        let multiplication = best(&mut group, unit.name(), || plan.apply(1.0, &x, 0.0, &mut y).unwrap());
        group.finish();
        println!("{text}: the analysis takes {:.2} multiplications by {unit}\n", analysis / multiplication);
    }
}

/// Times `work`, and returns the shortest sample in seconds.
fn best<O>(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, mut work: impl FnMut() -> O) -> f64 {
    let mut best = f64::INFINITY;
    group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
        bencher.iter_custom(|iterations| {
            let start = Instant::now();
            for _ in 0..iterations {
                std::hint::black_box(work());
            }
            let taken = start.elapsed();
            best = best.min(taken.as_secs_f64() / iterations as f64);
            taken
        });
    });
    best
}

criterion_group!(benches, analysis);
criterion_main!(benches);
