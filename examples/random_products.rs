//! Multiplies random small matrices and compares each product with the exact one: `random_products [--executor
//! EXECUTOR] [--count N] [--seed N]`. Fails with the first that differs by more than rounding explains.

#[allow(dead_code, reason = "tests use the rest")]
#[path = "../tests/scenarios/mod.rs"]
mod scenarios;

use clap::Parser;
use rayon::prelude::*;
use scenarios::random::{Tally, check_random, emulators};
use warp_spmv::executor::{Executor, ExecutorName, ExecutorVisitor};

#[derive(Parser)]
struct Arguments {
    /// The executor: reference, cpu, emulated or cuda.
    #[arg(long, default_value = "emulated")]
    executor: ExecutorName,
    /// Number of matrices.
    #[arg(long, default_value_t = 1000)]
    count: u64,
    /// Number of the first matrix. The emulator draws its schedules from the matrices' numbers.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// All matrices on one executor.
struct Products(std::ops::Range<u64>);

impl ExecutorVisitor for Products {
    type Output = Result<Tally, String>;

    fn visit<E: Executor>(self, executor: &E) -> Self::Output {
        let mut tally = Tally::default();
        for number in self.0 {
            check_random(executor, number, &mut tally)?;
        }
        Ok(tally)
    }
}

/// Number of matrices that one set of emulators multiplies.
const AT_ONCE: u64 = 500;

/// All matrices on emulators of several sizes, each with its own schedule; in parallel.
fn emulated(numbers: std::ops::Range<u64>) -> Result<Tally, String> {
    let parts = (numbers.end - numbers.start).div_ceil(AT_ONCE);
    let tallies = (0..parts).into_par_iter().map(|part| {
        let first = numbers.start + part * AT_ONCE;
        let mut emulators = emulators();
        let mut tally = Tally::default();
        for number in first..numbers.end.min(first.saturating_add(AT_ONCE)) {
            let emulator = &mut emulators[(number % 4) as usize];
            emulator.set_seed(number);
            check_random(emulator, number, &mut tally)?;
        }
        Ok(tally)
    });
    tallies.try_reduce(Tally::default, |one, other| Ok(one.and(other)))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Arguments { executor, count, seed } = Arguments::parse();
    let numbers = seed..seed.saturating_add(count);
    let tally = match executor {
        ExecutorName::Emulated => emulated(numbers)?,
        other => other.with(Products(numbers))??,
    };
    print!("{tally}");
    Ok(())
}
