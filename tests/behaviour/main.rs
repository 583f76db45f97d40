//! What formats and executors do, without a GPU.

mod conversion_memory;
mod conversions;
mod executors;
mod formats;
mod multivectors;
mod random;
#[path = "../scenarios/mod.rs"]
mod scenarios;
mod schedules;
mod select;
#[path = "../solvers"]
mod solvers {
    #[allow(dead_code, reason = "the tests of `host` take the rest")]
    pub mod dense;

    use super::scenarios::Numbers;
}
mod threads;
mod transposed;
