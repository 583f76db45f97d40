//! aggregates
