//! Requirements on many threads at once.

use std::thread;

use warp_spmv::executor::Executor;
use warp_spmv::synthetic::Generator;
use warp_spmv::{Csr, Format, Plan};

use super::Numbers;

/// Number of threads that multiply concurrently.
pub const THREADS: usize = 16;

/// Returns one format per storage without blocks or diagonals, and one that distributes the entries of CSR.
fn formats() -> Vec<Format> {
    let mut formats: Vec<_> = Format::STANDARD.iter().copied().filter(|format| !format.sums_duplicates()).collect();
    formats.dedup_by_key(|format| format.storage());
    formats.push(Format::CSR_LOAD_BALANCED);
    formats
}

/// Makes plans on an executor and multiplies with each of them `times` times. Returns the bits of the results, which
/// must be the same every time.
fn multiply<E: Executor>(executor: &E, matrix: &Csr<f64>, times: usize) -> Vec<Vec<u64>> {
    let x = executor.upload(Numbers::new(31).vector(matrix.columns())).unwrap();
    formats()
        .into_iter()
        .map(|format| {
            let mut plan = Plan::with_format(executor, matrix.clone(), format).unwrap();
            let mut once = || {
                let mut y = executor.zeros(matrix.rows()).unwrap();
                plan.apply(0.5, &x, 0.0, &mut y).unwrap();
                executor.download(&y).unwrap().into_iter().map(f64::to_bits).collect::<Vec<_>>()
            };
            let first = once();
            (1..times).for_each(|time| assert!(once() == first, "{format}: other bits at time {time}"));
            first
        })
        .collect()
}

/// Each of [`THREADS`] threads, on a shared executor and on its own, gets the same bits as a single thread; a plan made
/// on one thread works on others.
pub fn check_threads<E: Executor>(make: impl Fn() -> E + Sync, times: usize) {
    let matrix = "pareto:rows=300,k=1.2,base=3".parse::<Generator>().unwrap().generate::<f64>().unwrap();
    let shared = make();
    let expected = multiply(&shared, &matrix, 1);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                assert!(multiply(&shared, &matrix, times) == expected, "on the shared executor");
                assert!(multiply(&make(), &matrix, times) == expected, "on an executor of its own");
            });
        }
    });
    // Threads take turns with one plan, which needs a lock.
    let x = shared.upload(Numbers::new(31).vector(matrix.columns())).unwrap();
    let plan = std::sync::Mutex::new(Plan::with_format(&shared, matrix.clone(), formats()[0]).unwrap());
    let results: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    let mut y = shared.zeros(matrix.rows()).unwrap();
                    plan.lock().unwrap().apply(0.5, &x, 0.0, &mut y).unwrap();
                    // The array is read and freed on this thread, which did not make the executor.
                    shared.download(&y).unwrap()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for result in results {
        assert!(result.into_iter().map(f64::to_bits).eq(expected[0].iter().copied()), "taking turns with one plan");
    }
}
