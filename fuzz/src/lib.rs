//! The bodies of the fuzz targets, compiled once for all of them.

pub mod any;
pub mod container;
pub mod generator;
pub mod gzip;
pub mod matrix_market;
pub mod npz;
pub mod rutherford_boeing;
pub mod vector;
