//! What formats and executors do, without a GPU.

mod conversions;
mod executors;
mod formats;
mod multivectors;
mod random;
#[path = "../scenarios/mod.rs"]
mod scenarios;
mod schedules;
mod transposed;
