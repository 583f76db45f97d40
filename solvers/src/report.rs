//! Reports of solvers, at the end and during the iterations.

use std::fmt;
use std::time::Duration;

use super::work::Work;

/// How a solver ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The norm of the true residual b − A x, recomputed at the end, is within the tolerance.
    Converged,
    /// The iteration limit was reached first.
    IterationLimit,
    /// The time limit was reached first.
    TimeLimit,
    /// The callback stopped the solver.
    Stopped,
    /// Residual norms no longer decreased: over the stagnation window, or because rounding keeps the true residual from
    /// following the one that the method computes.
    Stagnated,
    /// The method cannot continue, for this reason. x keeps its previous value.
    Breakdown(&'static str),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Converged => f.write_str("converged"),
            Self::IterationLimit => f.write_str("iteration limit"),
            Self::TimeLimit => f.write_str("time limit"),
            Self::Stopped => f.write_str("stopped by the caller"),
            Self::Stagnated => f.write_str("stagnated"),
            Self::Breakdown(reason) => write!(f, "breakdown: {reason}"),
        }
    }
}

/// The result of a solver.
#[derive(Clone, Debug)]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// Number of iterations.
    pub iterations: usize,
    /// ‖b − A x‖ for the returned x, recomputed.
    pub residual_norm: f64,
    /// ‖b‖.
    pub right_hand_side_norm: f64,
    /// ‖b − A x‖ for the given x, followed by the norm of the residual after each iteration as computed by the method.
    pub history: Vec<f64>,
    /// Number of restarts of the method from the current x: because its own residual had deviated from the true one, or
    /// because of a breakdown after some progress.
    pub restarts: usize,
    /// The work of an iteration.
    pub work: Work,
    /// Total time.
    pub elapsed: Duration,
}

/// The progress of a solver.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The number of the iteration, starting at 1.
    pub iteration: usize,
    /// The norm of the residual after it, as computed by the method.
    pub residual_norm: f64,
    /// Time since the start.
    pub elapsed: Duration,
}

/// The result of an eigenvalue solver.
#[derive(Clone, Debug)]
pub struct EigenReport {
    /// How it ended.
    pub outcome: Outcome,
    /// Number of iterations.
    pub iterations: usize,
    /// The eigenvalues.
    pub eigenvalues: Vec<f64>,
    /// ‖A x − λ x‖ for each eigenpair, with vectors of length 1.
    pub residual_norms: Vec<f64>,
    /// The largest residual norm after each iteration.
    pub history: Vec<f64>,
    /// Total time.
    pub elapsed: Duration,
}
