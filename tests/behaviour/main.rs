//! What formats and executors do, without a GPU.

mod conversions;
mod executors;
mod formats;
mod multivectors;
#[path = "../scenarios/mod.rs"]
mod scenarios;
mod select;
mod transposed;
