//! Times of the CPU executor, and of sprs and faer on the same arrays: `cargo bench --bench spmv --features peers`,
//! with `-- --quick` for a first look, or `-- stencil` for some of the groups. Without the feature the peers are left
//! out. A group has one matrix in one precision; throughput is in stored entries, so that padding does not count.
//!
//! How to read the three numbers: the middle one is criterion's estimate of the time of one multiplication; the outer
//! ones bound it with 95 % confidence, as far as this run shows. They do not cover differences between runs, such as
//! the clock of the processor and other load on the machine: compare only within one run, run it twice before believing
//! a difference of less than 10 %, and take "performance has changed" against an older run as a hint. The peers use one
//! thread; this project's executor uses rayon's threads, or one with `RAYON_NUM_THREADS=1`.

use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use lab::peers::WithPeers;
use warp_spmv::executor::{Cpu, HostExecutor};
use warp_spmv::synthetic::Generator;
use warp_spmv::{Csr, Format, Plan, Real, ValueStorage};

const MATRICES: &[&str] = &[
    "stencil:27:60",
    "stencil:5:600",
    "pareto:rows=60000,k=1.5",
    "uniform:rows=200000,per-row=10",
    "elasticity:width=25",
];

/// One format per storage: on the CPU, formats that share it are multiplied alike. Unsuitable formats are left out.
fn formats() -> Vec<Format> {
    let mut formats = Format::STANDARD.to_vec();
    formats.dedup_by_key(|format| format.storage());
    formats
}

fn cpu(criterion: &mut Criterion) {
    for text in MATRICES {
        let matrix = text.parse::<Generator>().unwrap().generate::<f64>().unwrap();
        multiply(criterion, text, &matrix);
        multiply(criterion, text, &matrix.cast::<f32>().expect("there is memory"));
    }
}

fn multiply<T: Real>(criterion: &mut Criterion, text: &str, matrix: &Csr<T>) {
    let cpu = HostExecutor::from(Cpu::new());
    let x: Vec<T> = (0..matrix.columns()).map(|column| T::from_f64((column as f64).sin())).collect();
    let mut y = vec![T::from_f64(f64::NAN); matrix.rows()];
    let mut group = criterion.benchmark_group(format!("{text}, {}", T::NAME));
    group.throughput(Throughput::Elements(matrix.nnz() as u64)).warm_up_time(Duration::from_secs(1));
    for format in formats() {
        let Ok(mut plan) = Plan::with_format(&cpu, matrix.clone(), format) else { continue };
        time(&mut group, format.name(), &mut y, |y| plan.apply(T::ONE, &x, T::ZERO, y).unwrap());
    }
    for peer in cpu.peers::<T>(ValueStorage::Full).present {
        let mut prepared = peer.prepare(matrix, &x, &mut y).unwrap();
        time(&mut group, peer.name(), &mut y, |y| prepared.multiply(T::ONE, &x, T::ZERO, y).unwrap());
    }
    group.finish();
}

fn time<T: Real>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    y: &mut Vec<T>,
    mut multiply: impl FnMut(&mut Vec<T>),
) {
    group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
        y.fill(T::from_f64(f64::NAN));
        bencher.iter(|| multiply(y));
        assert!(y.iter().all(|y| y.to_f64().is_finite()), "{name}");
    });
}

criterion_group!(benches, cpu);
criterion_main!(benches);
