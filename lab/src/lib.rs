//! The benchmark lab: suites of matrices, how a time is taken, peers, the papers' experiments, and reports.

mod error;
pub mod record;
pub mod results;

pub use error::Error;
