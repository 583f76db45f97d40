//! Many repetitions: creating and dropping leaks no memory, threads get the same bits as one, random products are right.

use warp_spmv::executor::{Cuda, Executor};
use warp_spmv::synthetic::Generator;
use warp_spmv::{Format, Plan};

use crate::scenarios::random::{Tally, check_random};
use crate::scenarios::threads::{THREADS, check_threads};

/// Number of repetitions of each check.
pub struct Times {
    pub cycles: usize,
    pub products: u64,
    pub by_each_thread: usize,
}

impl Times {
    pub const ALL: Self = Self { cycles: 100_000, products: 10_000, by_each_thread: 50 };
    pub const QUICK: Self = Self { cycles: 1000, products: 1000, by_each_thread: 5 };
}

/// Threads that share an executor, and threads with one each.
pub fn check_many_threads(times: &Times) {
    check_threads(|| Cuda::new(0).unwrap(), times.by_each_thread);
    println!("- {THREADS} threads, on one executor and on one each: the same bits as on one thread");
}

/// Random products, against exact results.
pub fn check_products(gpu: &Cuda, times: &Times) {
    let mut tally = Tally::default();
    for number in 0..times.products {
        check_random(gpu, number, &mut tally).unwrap_or_else(|error| panic!("{error}"));
    }
    println!("\n{tally}");
}

/// Creates, converts, multiplies and drops matrices, each time in another format.
pub fn check_leaks(gpu: &Cuda, times: &Times) {
    let cycles = times.cycles;
    let matrix = "stencil:5:40x30".parse::<Generator>().unwrap().generate::<f64>().unwrap();
    let cycle = |format| {
        let x = gpu.upload(vec![1.0; matrix.columns()]).unwrap();
        let mut y = gpu.zeros(matrix.rows()).unwrap();
        let mut plan = Plan::with_format(gpu, matrix.clone(), format).unwrap();
        plan.apply(1.0, &x, 0.0, &mut y).unwrap();
        gpu.download(&y).unwrap();
    };
    // The driver compiles each kernel at its first launch, and keeps pools.
    Format::ALL.iter().copied().for_each(cycle);
    let (arrays, free) = (gpu.memory_use().now, gpu.free_memory().unwrap());
    Format::ALL.iter().copied().cycle().take(cycles).for_each(cycle);
    assert_eq!(gpu.memory_use().now, arrays, "arrays are leaked");
    let after = gpu.free_memory().unwrap();
    assert!(after >= free, "{} bytes of the GPU are leaked after {cycles} cycles", free - after);
    println!(
        "- {cycles} times made, converted, multiplied, dropped: {free} bytes of the GPU free before, {after} after"
    );
}
