//! What formats and executors do, without a GPU.

mod conversion_memory;
mod conversions;
mod executors;
mod formats;
mod multivectors;
mod panels;
mod random;
#[path = "../scenarios/mod.rs"]
mod scenarios;
mod schedules;
mod select;
#[path = "../solvers"]
#[allow(dead_code, reason = "the tests of `host` take the rest")]
mod solvers {
    pub mod dense;
    pub mod preconditioner;
    pub mod solver;

    use super::scenarios::Numbers;
}
mod threads;
mod transposed;
