//! Algebraic multigrid by smoothed aggregation (Vaněk, Mandel & Brezina 1996).
//!
//! [`hierarchy`] makes the levels of a matrix on the host, in 64 bits: [`strength`] finds which unknowns are strongly
//! connected, [`aggregation`] puts neighbours together, and [`prolongation`] makes of the aggregates the way from a coarse
//! level to a fine one, whose Galerkin product is the matrix of the next level. [`cycle`] runs on an executor.

mod aggregation;
mod coarsest;
mod cycle;
mod hierarchy;
mod k_cycle;
mod near_null_space;
mod options;
mod prolongation;
mod report;
mod smoother;
mod spectrum;
mod strength;

pub use near_null_space::NearNullSpace;
pub use options::{Aggregation, Cycle, Multigrid, Smoother};
pub use report::{LevelReport, MultigridReport};

pub(crate) use cycle::{Amg, recipe};

/// Rows, entries or nodes that a thread takes at a time.
const AT_ONCE: usize = 4096;
