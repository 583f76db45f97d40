//! Algebraic multigrid by smoothed aggregation (Vaněk, Mandel & Brezina 1996): the preconditioners `amg` and, for saddle
//! points, `saddle`.
//!
//! The levels of a matrix are set up on the executor, in 64 bits. [Strongly](Multigrid::strength) connected unknowns are
//! aggregated by distance-2 independent sets, the same ones on every executor (Kelley & Rajamanickam 2022). The
//! [near-null-space vectors](NearNullSpace), cut into these aggregates and smoothed, form the prolongation from a coarse
//! level to a fine one, and its Galerkin product is the matrix of the coarse level. The host inverts the coarsest level
//! and, on a GPU, analyses samples of the patterns to choose formats. The [cycle](Cycle) over the levels consists of
//! products, passes over vectors and, on the coarsest level, a product with a dense inverse.
//!
//! ```
//! use host::executor::Cpu;
//! use host::{Csr, Plan};
//! use solvers::preconditioner::{Preconditioner, PreconditionerName};
//! use solvers::{Cg, Outcome, Solver};
//!
//! # fn main() -> Result<(), host::Error> {
//! // A chain of 1000 springs, held at both ends.
//! let (mut rows, mut columns, mut values) = (vec![], vec![], vec![]);
//! for row in 0..1000_u32 {
//!     for column in row.saturating_sub(1)..1000.min(row + 2) {
//!         rows.push(row);
//!         columns.push(column);
//!         values.push(if row == column { 2.0 } else { -1.0 });
//!     }
//! }
//! let matrix = Csr::try_from_triplets(1000, 1000, &rows, &columns, &values)?;
//! let cpu = Cpu::new();
//! let mut amg = Preconditioner::new(&cpu, &matrix, "amg".parse::<PreconditionerName>()?)?;
//! let mut plan = Plan::new(&cpu, matrix)?;
//! let (b, mut x) = (vec![1.0; 1000], vec![0.0; 1000]);
//! let report = Solver::new(&cpu, &mut plan).preconditioner(&mut amg).solve(&Cg, &b, &mut x)?;
//! assert_eq!(report.outcome, Outcome::Converged);
//! assert!(report.iterations < 25); // and 500 without it
//! # Ok(())
//! # }
//! ```

mod aggregation;
mod coarsest;
mod cycle;
mod diagonal;
#[cfg(test)]
mod examples;
mod graph;
mod hierarchy;
mod k_cycle;
mod near_null_space;
mod options;
mod prolongation;
mod report;
mod rounding;
mod smoother;
mod spectrum;
mod start;
mod strength;

pub use near_null_space::NearNullSpace;
pub use options::{Aggregation, Cycle, Multigrid, Smoother};
pub use report::{LevelReport, MultigridReport};

pub(crate) use cycle::{Amg, recipe};

/// Rows, entries or nodes that a thread takes at a time.
const AT_ONCE: usize = 4096;
