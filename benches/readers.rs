//! Times of the readers on the same matrix: `cargo bench --bench readers`. Throughput is in bytes of the file.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use warp_spmv::io::{ReadOptions, read, write};
use warp_spmv::synthetic::Generator;

/// Its Matrix Market file is about 20 MB long.
const MATRIX: &str = "uniform:rows=80000,per-row=8";

fn readers(criterion: &mut Criterion) {
    let matrix = MATRIX.parse::<Generator>().unwrap().generate::<f64>().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut group = criterion.benchmark_group("read");
    group.sample_size(20);
    for extension in ["mtx", "mtx.gz", "npz", "wspmv"] {
        let path = folder.path().join("matrix").with_extension(extension);
        write(&path, &matrix).unwrap();
        group.throughput(Throughput::Bytes(path.metadata().unwrap().len()));
        group.bench_function(BenchmarkId::from_parameter(extension), |bencher| {
            bencher.iter(|| read::<f64>(&path, &ReadOptions::default()).unwrap());
        });
        assert!(read::<f64>(&path, &ReadOptions::default()).unwrap().matrix == matrix);
    }
    group.finish();
}

criterion_group!(benches, readers);
criterion_main!(benches);
