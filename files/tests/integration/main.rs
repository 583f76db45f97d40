//! The tests that share a process: as one program, the library is linked only once. `reader_memory`, which counts
//! allocations, is a separate program.

mod any_file;
#[path = "../common/mod.rs"]
mod common;
mod complex;
mod container;
mod container_formats;
mod container_rules;
mod gzip;
mod matrix_market;
mod matrix_market_files;
mod matrix_market_random;
mod matrix_market_write;
mod npz;
mod npz_scipy;
mod rutherford_boeing;
#[path = "../../../tests/scipy/mod.rs"]
mod scipy;
