//! The tests that share a process: one program, so the library is linked once. `reader_memory`, which counts
//! allocations, is a program of its own.

mod any_file;
#[path = "../common/mod.rs"]
mod common;
mod complex;
mod container;
mod container_formats;
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
