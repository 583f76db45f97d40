//! Host memory: repeated creation and dropping leaks nothing, conversions stay within their bounds, and calls fail if
//! there is no memory. A separate program, since it counts its allocations.

mod extremes;
mod refusing;
mod without_memory;

use std::sync::{Mutex, MutexGuard};

use lab::memory::{CountingAllocator, reset_peak, used};
use refusing::Refusing;
use warp_spmv::executor::{Cpu, Emulated, Executor};
use warp_spmv::format::{FillLimit, Matrix};
use warp_spmv::synthetic::Generator;
use warp_spmv::{Csr, Format, Plan};

#[global_allocator]
static ALLOCATOR: Refusing<CountingAllocator> = Refusing(CountingAllocator);

/// Held by the running test: concurrent tests would count each other's allocations and suffer each other's refusals.
static TURN: Mutex<()> = Mutex::new(());

/// The turn of a test, which ends when this is dropped.
struct Turn {
    _alone: MutexGuard<'static, ()>,
}

impl Turn {
    /// Waits for the turn.
    fn wait() -> Self {
        let alone = TURN.lock().unwrap();
        refusing::spare_this_thread(false);
        Self { _alone: alone }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        refusing::spare_this_thread(true);
    }
}

/// How often a matrix is made, multiplied and dropped on the CPU; a hundredth of that on the emulator.
const CYCLES: usize = 100_000;

fn now() -> u64 {
    used().expect("the allocator counts").0
}

/// Makes, multiplies and drops, each time in another format.
fn cycles<E: Executor>(executor: &E, matrix: &Csr<f64>, count: usize) {
    let x = executor.upload(vec![1.0; matrix.columns()]).unwrap();
    for &format in Format::ALL.iter().cycle().take(count) {
        let mut plan = Plan::with_format(executor, matrix.clone(), format).unwrap();
        let mut y = executor.zeros(matrix.rows()).unwrap();
        plan.apply(1.0, &x, 0.0, &mut y).unwrap();
        assert_eq!(plan.into_matrix().into_csr_on(executor).unwrap().nnz(), matrix.nnz());
    }
}

#[test]
fn nothing_is_left_of_what_was_dropped() {
    let _turn = Turn::wait();
    let matrix = "stencil:5:6x5".parse::<Generator>().unwrap().generate::<f64>().unwrap();
    let (cpu, emulated) = (Cpu::new(), Emulated::new(1));
    let work = |count| {
        cycles(&cpu, &matrix, count);
        cycles(&emulated, &matrix, count / 100);
    };
    work(20_000);
    // What the emulator keeps of the places in kernels grows with the schedules that it has seen, up to some 50 KB.
    cycles(&emulated, &matrix, 4000);
    let before = now();
    work(CYCLES);
    let left = now() as i64 - before as i64;
    println!("{CYCLES} cycles on the CPU, {} on the emulator: {left} bytes leaked", CYCLES / 100);
    // Queues of the thread pool grow now and then; a leak of one byte per cycle is more.
    assert!(left < CYCLES as i64 / 4, "{left} bytes are leaked after {CYCLES} cycles");
}

/// Besides the arrays of both formats: a second copy of the entries, 24 bytes per row and per column, and a constant.
#[test]
fn conversions_on_the_host_take_little_besides_the_two_formats() {
    const FIXED: u64 = 1 << 16;
    let _turn = Turn::wait();
    let unlimited = FillLimit { times_csr: f64::INFINITY };
    for generator in ["pareto:rows=20000,k=2,base=5,columns=3000", "stencil:9:120x110"] {
        let matrix = generator.parse::<Generator>().unwrap().generate::<f64>().unwrap();
        let beside = (12 * matrix.nnz() + 24 * (matrix.rows() + matrix.columns())) as u64 + FIXED;
        let csr = matrix.bytes() as u64;
        // DIA is for matrices with few diagonals.
        let formats = Format::ALL.iter().filter(|&&format| format != Format::Dia || generator.starts_with("stencil"));
        for &format in formats {
            let copy = matrix.clone();
            let before = now() - csr;
            reset_peak();
            let converted = Matrix::try_from_csr(copy, format, unlimited).unwrap();
            let peak = used().expect("the allocator counts").1 - before;
            let both = csr + converted.bytes() as u64;
            println!("{generator}, {format}: {peak} bytes, the formats {both}, allowed {}", both + beside);
            assert!(peak <= both + beside, "{generator}, {format}: {peak} bytes, the formats {both}");
            reset_peak();
            let back = converted.into_csr().unwrap();
            let peak = used().expect("the allocator counts").1 - before;
            assert!(peak <= both + beside, "{generator}, {format}, back: {peak} bytes, the formats {both}");
            drop(back);
        }
    }
}
