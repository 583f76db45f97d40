//! Times of the CPU executor on each storage format: `cargo bench`. Throughput is in stored entries.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use warp_spmv::executor::{Cpu, Executor};
use warp_spmv::synthetic::Generator;
use warp_spmv::{Format, Plan};

const MATRICES: &[&str] = &["stencil:27:60", "stencil:5:600", "pareto:rows=30000,k=1.5", "banded:rows=262144,bands=9"];

/// On the CPU, formats that share their storage are multiplied alike.
const FORMATS: &[Format] = &[Format::CsrScalar, Format::Ell, Format::Coo];

fn cpu(criterion: &mut Criterion) {
    let cpu = Cpu::new();
    for text in MATRICES {
        let matrix = text.parse::<Generator>().unwrap().generate::<f64>().unwrap();
        let x: Vec<f64> = (0..matrix.columns()).map(|column| 1.0 / (column + 1) as f64).collect();
        let mut group = criterion.benchmark_group(*text);
        group.throughput(Throughput::Elements(matrix.nnz() as u64));
        for &format in FORMATS {
            let Ok(mut plan) = Plan::new(&cpu, matrix.clone(), format) else { continue };
            let mut y = cpu.upload(vec![f64::NAN; matrix.rows()]).unwrap();
            group.bench_function(BenchmarkId::new("cpu", format), |bencher| {
                bencher.iter(|| plan.apply(1.0, &x, 0.0, &mut y).unwrap());
            });
            assert!(y.iter().all(|y| y.is_finite()));
        }
        group.finish();
    }
}

criterion_group!(benches, cpu);
criterion_main!(benches);
