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
mod threads;
mod transposed;
