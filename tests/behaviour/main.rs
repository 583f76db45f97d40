//! What formats and executors do, without a GPU.

mod executors;
mod formats;
#[path = "../scenarios/mod.rs"]
mod scenarios;
