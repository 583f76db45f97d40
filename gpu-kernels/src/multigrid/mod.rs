//! The levels of multigrid by smoothed aggregation (Vaněk, Mandel & Brezina 1996): connections, aggregates,
//! prolongations. All row offsets have 64 bits: those of 32 bits are widened first, because their bytes are few
//! compared with those of the entries.

pub mod aggregates;
pub mod connections;
pub mod diagonal;
pub mod independent_set;
pub mod numbers;
pub mod smoothing;
pub mod start;
pub mod tentative;
