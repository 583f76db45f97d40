//! The benchmark lab: suites of matrices, timing, peers, the papers' experiments, and reports.

pub mod calibrate;
pub mod ceilings;
pub mod cmrs_model;
pub mod contests;
mod error;
pub mod figures;
pub mod folder;
pub mod measure;
pub mod memory;
pub mod peers;
pub mod record;
pub mod report;
pub mod results;
pub mod row_lengths;
pub mod scaling;
pub mod spy;
pub mod statistics;
pub mod subject;
pub mod suite;
pub mod sweeps;
pub mod timing;
pub mod tuning;
pub mod vectors;

pub use error::Error;
