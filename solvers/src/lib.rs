//! Iterative solvers of A x = b over [operators](Operator), independent of formats, executors and kernels.
//!
//! Vectors and scalars stay in the executor's memory. An iteration never waits for the host: the method's scalar
//! arithmetic, the history of residual norms and the decision to stop run where the scalars are, and the host checks them
//! every few iterations ([`Options::check_interval`]). Neither the results nor the iteration at which it stops depend on
//! when the host checks. On a GPU the iteration is recorded as a CUDA graph.
//!
//! Read a matrix from a file and solve with conjugate gradients; with the feature `cuda`, `Cuda::new(0)?` instead of
//! `Cpu::new()` runs it on a GPU:
//!
//! ```
//! use files::read_matrix_market;
//! use host::executor::{Cpu, Executor};
//! use host::{Format, Plan};
//! use solvers::{Cg, Options, Outcome, Solver};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("spd.mtx");
//! # std::fs::write(&path, "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 4\n2 1 1\n2 2 3\n")?;
//! let (matrix, _) = read_matrix_market::<f64>(&path, None)?;
//! let executor = Cpu::new();
//! let b = executor.upload(vec![1.0; matrix.rows()])?;
//! let mut x = executor.zeros(matrix.columns())?;
//! let mut plan = Plan::with_format(&executor, matrix, Format::SELL_P)?;
//! let report = Solver::new(&executor, &mut plan).solve(&Cg, &b, &mut x)?;
//! assert_eq!(report.outcome, Outcome::Converged);
//! println!("{} iterations, residual norm {}", report.iterations, report.residual_norm);
//! # assert!(executor.download(&x)?.iter().zip([2.0 / 11.0, 3.0 / 11.0]).all(|(x, y)| (x - y).abs() < 1e-6));
//! # Ok(())
//! # }
//! ```
//!
//! Matrices are real or complex, on every executor: products of vectors are xᴴ y; norms, tolerances and eigenvalues are
//! real; methods for symmetric matrices accept Hermitian ones. [`BlockCg`] and [`Pagerank`] are for real matrices only.
//!
//! [`preconditioner`] has approximations of A⁻¹, and [`Refinement`] solves in 64 bits with corrections that a method
//! computes in 32 bits.
//!
//! # How to add a method
//! A struct with the method's parameters implements [`Method`]: it declares how many slots it takes and makes an
//! [`Iteration`], which holds the method's vectors and [programs](Space::program). [`Iteration::start`] initializes them
//! from the residual in [`Problem::residual`], and [`Iteration::advance`] queues one iteration: products with the operator,
//! [passes](Space::pass), and programs of which one ends with [`Problem::check`]. [`Solver`] handles the rest: limits,
//! history, callback, outcomes. A variant of [`MethodName`] makes the method available to the command. [`Cg`] is an
//! example.
#![deny(unsafe_code)]

mod bicgstab;
mod block_cg;
mod catalogue;
mod cg;
mod chebyshev;
mod complex_bicgstab;
mod complex_steps;
#[allow(unsafe_code, reason = "it launches kernels")]
pub mod dense;
mod drive;
mod gmres;
#[cfg(all(feature = "instances", not(test)))]
#[doc(hidden)]
pub mod instances;
mod lanczos;
mod levels;
mod lobpcg;
mod method;
mod minres;
pub mod multigrid;
pub mod operator;
mod options;
mod pagerank;
mod pipelined_cg;
mod power;
pub mod preconditioner;
mod range;
mod ranks;
mod rayleigh_ritz;
mod refinement;
mod report;
#[allow(unsafe_code, reason = "it launches kernels")]
mod triangular;
mod watch;
mod work;

pub use bicgstab::Bicgstab;
pub use block_cg::{BlockCg, Columnwise};
pub use catalogue::MethodName;
pub use cg::Cg;
pub use chebyshev::Chebyshev;
pub use drive::Solver;
pub use gmres::Gmres;
pub use lanczos::SpectralBounds;
pub use lobpcg::Lobpcg;
pub use method::{FIRST_METHOD_SLOT, Iteration, Method, Problem, Size, breakdown_code};
pub use minres::Minres;
pub use operator::Operator;
pub use options::Options;
pub use pagerank::{Pagerank, PagerankReport, weights_of_vertices};
pub use pipelined_cg::PipelinedCg;
pub use power::power_iteration;
pub use ranks::{FIRST_SUM, FLAG, Gathered, MOST_RANKS, Ranks, SumsInMemory};
pub use rayleigh_ritz::SpectrumEnd;
pub use refinement::Refinement;
pub use report::{EigenReport, Outcome, Progress, Report};
pub use watch::Callback;
pub use work::Work;

#[cfg(doc)]
use crate::dense::Space;
