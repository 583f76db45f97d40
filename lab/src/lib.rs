//! The benchmark lab: suites of matrices, how a time is taken, peers, the papers' experiments, and reports.

pub mod record;
