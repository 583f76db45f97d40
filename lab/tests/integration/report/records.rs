//! Plausible results, including those that must not break a report.

use std::collections::BTreeMap;

use host::select::Analysis;
use host::{Csr, Layout, Multivector};
use lab::record::{
    AnalysisTime, Ceilings, Conversion, Entry, Environment, Optimal, Product, RowLengths, Run, SCHEMA, Times,
};
use lab::tuning::Asked;

/// Names of matrices, their families, rows, and entries per row.
const MATRICES: [(&str, &str, u64, u64); 7] = [
    ("stencil:27:200", "stencil", 8_000_000, 27),
    ("stencil:5:3000x1000", "stencil", 3_000_000, 5),
    ("banded:rows=4194304,bands=9", "banded", 4_194_304, 9),
    ("pareto:rows=1000000,k=1", "pareto", 1_000_000, 35),
    ("rmat:scale=22,edges-per-vertex=16", "graph", 4_194_304, 15),
    ("elasticity:width=100,voids=0.1", "finite elements", 3_000_000, 45),
    ("</script><script>document.title='broken'</script> & \"quotes\" 'äö' 矩阵 |`_`.mtx", "a <b>family</b>", 90_000, 7),
];

/// Names, libraries, and speeds relative to the copy's.
const RUNS: [(&str, &str, f64); 12] = [
    ("csr-vector", "warp-spmv", 0.85),
    ("csr-merge", "warp-spmv", 0.8),
    ("csr-scalar", "warp-spmv", 0.2),
    ("ell", "warp-spmv", 0.94),
    ("sell-p", "warp-spmv", 0.93),
    ("dia", "warp-spmv", 0.97),
    ("coo", "warp-spmv", 0.6),
    ("hyb-automatic", "warp-spmv", 0.75),
    ("cmrs", "warp-spmv", 0.7),
    ("cusparse-csr-alg1", "cuSPARSE 12.6", 0.72),
    ("cusparse-csr-alg2", "cuSPARSE 12.6", 0.66),
    ("auto", "warp-spmv", 0.85),
];

/// A reproducible pseudo-random number from 0.8 to 1.1.
fn noise(matrix: usize, run: usize, width: u64) -> f64 {
    let mixed = (matrix as u64 * 31 + run as u64 * 17 + width * 7).wrapping_mul(2_654_435_761);
    0.8 + 0.3 * ((mixed % 1_009) as f64 / 1_009.0)
}

/// Entries of all families in both precisions on a GPU, and one of a CPU without peers.
pub fn plausible() -> Vec<Entry> {
    let mut entries = Vec::new();
    for (precision, width) in [("float64", 8), ("float32", 4)] {
        for matrix in 0..MATRICES.len() {
            entries.push(entry(matrix, precision, width));
        }
    }
    let mut on_cpu = entry(1, "float64", 8);
    on_cpu.spmv.retain(|_, run| !run.is_peer());
    on_cpu.ceilings = None;
    on_cpu.env.executor = "cpu".into();
    on_cpu.env.device = "16 threads".into();
    on_cpu.env.ranks = Some(4);
    for run in on_cpu.spmv.values_mut() {
        run.time = run.time.map(|time| 20.0 * time);
    }
    // Fields that other programs may omit.
    let bare = Run { completed: true, time: Some(1e-4), ..Run::default() };
    let wrong = Run { time: Some(1e-9), ..Run::default() };
    let runs = [("csr-vector", bare), ("dia", Run::default()), ("ell", wrong)];
    let spmv = runs.map(|(name, run)| (name.to_owned(), run)).into();
    let bare = Entry { filename: "bare".into(), rows: 10, cols: 10, nonzeros: 12_345, spmv, ..Entry::default() };
    let missing = Entry { filename: "missing.mtx".into(), error: Some("no such file".into()), ..Entry::default() };
    entries.extend([on_cpu, bare, missing]);
    entries
}

fn entry(matrix: usize, precision: &str, width: u64) -> Entry {
    let (filename, family, rows, per_row) = MATRICES[matrix];
    let nonzeros = rows * per_row;
    let ceilings = Ceilings {
        copy_gbps: 4_100.0,
        read_gbps: 4_500.0,
        gather_gbps: 900.0,
        cached_gather_gbps: Some(5_000.0),
        launch: 2e-6,
        call: 2.5e-6,
        queue: Some(2.25e-6),
        recorded: Some(1e-6),
    };
    let csr_bytes = nonzeros * (width + 4) + rows * (4 + 2 * width);
    let csr_time = csr_bytes as f64 / (0.85 * noise(matrix, 0, width) * ceilings.copy_gbps * 1e9);
    let run = |place: usize, library: &str, near: f64| {
        let irregular = ["pareto", "graph"].contains(&family);
        if irregular && ["dia", "ell"].contains(&RUNS[place].0) {
            return Run {
                library: Some(library.into()),
                error: Some("would take 2000000000000 bytes, more than 1000000000 allowed".into()),
                refused: true,
                ..Run::default()
            };
        }
        let bytes = csr_bytes - nonzeros * u64::from(place % 3 == 2);
        let near = near * noise(matrix, place, width) * if irregular { 0.5 } else { 1.0 };
        let time = bytes as f64 / (near * ceilings.copy_gbps * 1e9);
        let quartiles = [0.99 * time, 1.02 * time];
        let own = library == "warp-spmv";
        let warm = (2.0 + 3.0 * place as f64) * csr_time;
        let samples = vec![quartiles[0], time, quartiles[1]];
        Run {
            completed: true,
            error: None,
            refused: false,
            storage: Some(bytes),
            max_relative_norm2: Some(1e-16),
            time: Some(time),
            repetitions: Some(50),
            library: Some(library.into()),
            strategy: Some("32 lanes a row".into()),
            multiplications: (RUNS[place].0 == "auto").then_some(1000),
            reproducible: Some(true),
            quartiles: Some(quartiles),
            samples: samples.clone(),
            // A small one is slower with cold caches.
            cold: (rows < 100_000).then_some(Times { time: 1.5 * time, quartiles, repetitions: 50, samples }),
            gflops: Some(2.0 * nonzeros as f64 / time / 1e9),
            gbps: Some(bytes as f64 / time / 1e9),
            eta: Some(near),
            eta_read: Some(near * 4.1 / 4.5),
            bytes_needed: Some(bytes),
            bytes_stored: Some(bytes),
            values: (own && place == 1).then(|| "table".into()),
            fill_ratio: Some(1.0),
            conversion: (own && place > 0).then(|| Conversion {
                first: 3.0 * warm,
                warm,
                back: Some(0.5 * warm),
                peak_bytes: Some(2 * bytes),
                csr_calls: Some(warm / csr_time),
            }),
            break_even: (own && place > 0 && time < csr_time).then(|| warm / (csr_time - time)),
            error_of_bound: Some(0.01),
        }
    };
    let runs = RUNS.iter().enumerate();
    let spmv: BTreeMap<_, _> =
        runs.map(|(place, &(name, library, near))| (name.to_owned(), run(place, library, near))).collect();
    let products = spmv.iter().take(3).map(|(name, run)| {
        let shape = Multivector { vectors: 4, layout: Layout::RowMajor };
        (name.clone(), vec![Product::new(shape, Some(run), run.clone())])
    });
    Entry {
        schema: SCHEMA,
        filename: filename.into(),
        family: Some(family.into()),
        rows,
        cols: rows,
        nonzeros,
        analysis: Some(Analysis::new(&Csr::try_from_triplets(2, 2, &[0, 1], &[0, 1], &[1.0, 2.0]).unwrap()).unwrap()),
        analysis_time: Some(AnalysisTime { seconds: 1e-4, csr_calls: Some(1.5) }),
        error: None,
        row_lengths: Some(RowLengths {
            shortest: per_row / 2,
            longest: 2 * per_row,
            mean: per_row as f64,
            deviation: (matrix * matrix) as f64,
            histogram: vec![0, 3, rows / 1_000, rows / 20, rows / 2, rows / 3, rows / 200, 1],
        }),
        products: products.collect(),
        spmv,
        optimal: Some(Optimal { spmv: "dia".into() }),
        ceilings: Some(ceilings),
        env: Environment {
            executor: "cuda".into(),
            precision: precision.into(),
            device: "NVIDIA H200".into(),
            driver: Some("570.86".into()),
            clocks: Some(lab::record::Clocks { multiprocessor_mhz: 1_980, memory_mhz: 3_201 }),
            cache_bytes: Some(50 << 20),
            resident_threads: Some(132 * 2048),
            ranks: None,
            tuning: Asked { threads_per_block: Some(128), ..Asked::default() }.if_any(),
            threads: 16,
            system: "linux x86_64".into(),
            build: "release".into(),
            version: "0.1.0".into(),
            commit: Some("0123abc".into()),
            index_width: 32,
            seed: 1,
            timer: "CUDA events".into(),
            unix_time: 1_790_000_000,
            command: vec!["warp-spmv".into(), "bench".into()],
        },
    }
}
