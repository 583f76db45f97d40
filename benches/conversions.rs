//! Times of the conversions from CSR and back on the CPU: `cargo bench --bench conversions`, with `-- --quick` for a
//! first look. The time includes the allocation of the new arrays, but not that of the consumed matrix.
//!
//! Each group is followed by a list in multiplications by `csr-vector`, timed in the same group. Those are quotients of
//! the best of criterion's samples, without an interval; `benches/spmv.rs` explains how to read criterion's own
//! numbers.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use warp_spmv::executor::Cpu;
use warp_spmv::format::FillLimit;
use warp_spmv::synthetic::Generator;
use warp_spmv::{Format, Plan};

const MATRICES: &[&str] = &["stencil:27:50", "pareto:rows=40000,k=1.5", "elasticity:width=20"];

/// One format for each storage except CSR.
fn formats() -> Vec<Format> {
    let mut formats = Format::STANDARD.to_vec();
    formats.dedup_by_key(|format| format.storage());
    formats.retain(|format| format.storage() != Format::CSR_SCALAR.storage());
    formats
}

fn cpu(criterion: &mut Criterion) {
    let cpu = Cpu::new();
    for text in MATRICES {
        let matrix = text.parse::<Generator>().unwrap().generate::<f64>().unwrap();
        let mut group = Group { group: criterion.benchmark_group(*text), best: BTreeMap::new() };
        group.group.throughput(Throughput::Elements(matrix.nnz() as u64)).warm_up_time(Duration::from_secs(1));

        let unit = Format::CSR_VECTOR;
        let mut plan = Plan::with_format(&cpu, matrix.clone(), unit).unwrap();
        let (x, mut y) = (vec![1.0; matrix.columns()], vec![f64::NAN; matrix.rows()]);
        group.time(unit.name(), || (), |()| plan.apply(1.0, &x, 0.0, &mut y).unwrap());

        for format in formats() {
            let convert = |matrix: warp_spmv::Csr<f64>| matrix.convert(&cpu, format, FillLimit::default());
            // Unsuitable formats are left out.
            if convert(matrix.clone()).is_err() {
                continue;
            }
            group.time(&format!("{format} from CSR"), || matrix.clone(), |matrix| convert(matrix).unwrap());
            let converted = || convert(matrix.clone()).unwrap();
            group.time(&format!("{format} to CSR"), converted, |matrix| matrix.into_csr_on(&cpu).unwrap());
        }
        group.finish(unit.name());
    }
}

struct Group<'c> {
    group: BenchmarkGroup<'c, WallTime>,
    /// The shortest time of each benchmark, in seconds.
    best: BTreeMap<String, f64>,
}

impl Group<'_> {
    /// Times `work` on the result of `prepare`; dropping either's result is not timed.
    fn time<I, O>(&mut self, name: &str, mut prepare: impl FnMut() -> I, mut work: impl FnMut(I) -> O) {
        let best = &mut self.best;
        self.group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
            bencher.iter_custom(|iterations| {
                let mut total = Duration::ZERO;
                for _ in 0..iterations {
                    let input = prepare();
                    let start = Instant::now();
                    let output = work(input);
                    total += start.elapsed();
                    drop(output);
                }
                let mean = total.as_secs_f64() / iterations as f64;
                best.entry(name.into()).and_modify(|best| *best = best.min(mean)).or_insert(mean);
                total
            });
        });
    }

    fn finish(self, unit: &str) {
        self.group.finish();
        // It may be missing because of a filter on the command line.
        let Some(&call) = self.best.get(unit) else { return };
        for (name, seconds) in self.best.iter().filter(|(name, _)| *name != unit) {
            println!("{name}: {:.1} {unit} calls", seconds / call);
        }
        println!();
    }
}

criterion_group!(benches, cpu);
criterion_main!(benches);
