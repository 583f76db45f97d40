//! Sparse matrices over several ranks: threads of one process, or processes of MPI.
//!
//! A [`Communicator`] connects a rank to the others. [`threads::run`] runs ranks as threads, and with the feature `mpi`,
//! `mpi::run` makes a rank of each process started by `mpirun`; the code of the ranks is the same. A [`DistributedMatrix`]
//! holds the rows of one rank, and multiplies by exchanging the elements of x that other ranks need. No rank holds the
//! whole matrix. It is an [operator](solvers::Operator): methods of [`solvers`] that all ranks call with it solve on all
//! ranks, with sums over all of them.
//!
//! ```
//! use host::executor::{Cpu, Executor};
//! use solvers::{Cg, Outcome, Solver};
//! use warp_spmv_distributed::{DistributedMatrix, Distribution, MatrixOptions, Ranges, Rows, threads};
//!
//! # fn main() -> Result<(), warp_spmv_distributed::Error> {
//! const ROWS: u64 = 100;
//! let iterations = threads::run(4, |communicator| {
//!     // Each rank makes its own rows: 2 on the diagonal, and -1 beside it.
//!     let ranges = Ranges::even(ROWS, communicator.ranks())?;
//!     let own = ranges.of(communicator.rank());
//!     let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
//!     for row in own.clone() {
//!         for column in row.saturating_sub(1)..=(row + 1).min(ROWS - 1) {
//!             columns.push(column);
//!             values.push(if column == row { 2.0 } else { -1.0 });
//!         }
//!         offsets.push(columns.len() as u64);
//!     }
//!     let rows = Rows::try_new(offsets, columns, values)?;
//!     let (cpu, distribution) = (Cpu::new(), Distribution::square(ranges));
//!     let mut matrix = DistributedMatrix::new(communicator, &cpu, distribution, rows, &MatrixOptions::default())?;
//!     let length = (own.end - own.start) as usize;
//!     let (b, mut x) = (cpu.upload(vec![1.0; length])?, cpu.zeros(length)?);
//!     let report = Solver::new(&cpu, &mut matrix).solve(&Cg, &b, &mut x)?;
//!     assert_eq!(report.outcome, Outcome::Converged);
//!     // Row r of the solution is (r + 1) (100 - r) / 2.
//!     assert!((x[0] - (own.start + 1) as f64 * (ROWS - own.start) as f64 / 2.0).abs() < 1e-3);
//!     Ok(report.iterations)
//! })?;
//! // All ranks stop in the same iteration.
//! assert!(iterations.iter().all(|&count| count == iterations[0]));
//! # Ok(())
//! # }
//! ```
//!
//! On GPUs (feature `cuda`), elements move between the GPUs' memory while the product runs: by peer copies between threads
//! and by NCCL between processes (feature `nccl`), both without waiting on the host, or by an MPI that accepts arrays of
//! GPUs. [`engine`](DistributedMatrix::engine) returns the [route](Route) in use.
//!
//! When a rank fails, panics, diverges from the others or is silent for [a time](Options::timeout), all ranks end with one
//! [`Error`] that names the rank and the reason.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]

mod alone;
mod column_set;
mod communicator;
mod deal;
mod division;
mod error;
mod exchange;
mod gathering;
mod halo;
mod matrix;
#[cfg(feature = "mpi")]
#[allow(unsafe_code, reason = "it calls MPI")]
pub mod mpi;
mod needed;
mod neighbours;
mod options;
mod outbox;
mod pagerank;
mod ranges;
mod reading;
mod remote;
mod renumber;
mod reorder;
mod rows;
mod slots;
mod source;
mod statistics;
pub mod threads;
mod timeline;
mod together;
mod transport;
mod transpose;
mod unpack;
mod writing;

pub use communicator::Communicator;
pub use deal::redistributed;
pub use error::Error;
#[cfg(feature = "nccl")]
pub use exchange::nccl_version;
pub use exchange::{Engine, Route};
pub use matrix::{DistributedMatrix, Distribution, MatrixOptions};
pub use neighbours::NeighbourExchange;
pub use options::Options;
pub use pagerank::{Transitions, transitions};
pub use ranges::Ranges;
pub use reading::{FileRows, portion_for, read_rows};
pub use remote::Remote;
pub use renumber::{renumber_elements, renumbered, renumbered_ranges, restore_elements};
pub use reorder::reverse_cuthill_mckee;
pub use rows::{Rows, own_block};
pub use source::RowSource;
pub use statistics::{Message, Part, Statistics};
pub use timeline::{Span, Timeline};
pub use transport::{Board, Channel, Exchange, MOST_SHOWN, Messages, Shown, Transport};
#[cfg(feature = "cuda")]
pub use transport::{GpuExchange, GpuMemory};
pub use transpose::{column_lengths, transposed, transposed_balanced};
pub use writing::{write_container, write_matrix_market};
