//! Nothing is left of what was made and dropped, however often. A program of its own, for it counts what it allocates.

use lab::memory::{CountingAllocator, used};
use warp_spmv::executor::{Cpu, Emulated, Executor};
use warp_spmv::synthetic::Generator;
use warp_spmv::{Csr, Format, Plan};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// How often a matrix is made, multiplied and dropped on the CPU; on the emulator it is a hundredth of that.
const CYCLES: usize = 100_000;

fn now() -> u64 {
    used().expect("the allocator counts").0
}

/// Makes, multiplies and drops, each time in another format.
fn cycles<E: Executor>(executor: &E, matrix: &Csr<f64>, count: usize) {
    let x = executor.upload(vec![1.0; matrix.columns()]).unwrap();
    for &format in Format::ALL.iter().cycle().take(count) {
        let mut plan = Plan::new(executor, matrix.clone(), format).unwrap();
        let mut y = executor.zeros(matrix.rows()).unwrap();
        plan.apply(1.0, &x, 0.0, &mut y).unwrap();
        assert_eq!(executor.to_csr(plan.into_matrix()).unwrap().nnz(), matrix.nnz());
    }
}

#[test]
fn nothing_is_left_of_what_was_dropped() {
    // Threads of pools keep what they need from their first work on.
    rayon::ThreadPoolBuilder::new().num_threads(2).build_global().unwrap();
    let matrix = "stencil:5:6x5".parse::<Generator>().unwrap().generate::<f64>().unwrap();
    let (cpu, emulated) = (Cpu::new(), Emulated::new(1));
    let work = |count| {
        cycles(&cpu, &matrix, count);
        cycles(&emulated, &matrix, count / 100);
    };
    work(20_000);
    let before = now();
    work(CYCLES);
    let left = now() as i64 - before as i64;
    println!("{CYCLES} cycles on the CPU, {} on the emulator: {left} bytes left", CYCLES / 100);
    // Queues of the thread pool grow by turns; a leak of one byte a cycle is more.
    assert!(left < CYCLES as i64 / 4, "{left} bytes are left after {CYCLES} cycles");
}
