//! What a solver says at the end, and on the way.

use std::fmt;
use std::time::Duration;

use super::work::Work;

/// How a solver ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The norm of the true residual b − A x, computed anew at the end, is within the tolerance.
    Converged,
    /// The iteration limit came first.
    IterationLimit,
    /// The time limit came first.
    TimeLimit,
    /// The callback said so.
    Stopped,
    /// Residual norms no longer went down: over the stagnation window, or because rounding does not let the true residual
    /// follow the one that the method computes.
    Stagnated,
    /// The method cannot go on, for this reason. x is as it was before.
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

/// What came of a solver.
#[derive(Clone, Debug)]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// Iterations done.
    pub iterations: usize,
    /// ‖b − A x‖ of the x returned, computed anew.
    pub residual_norm: f64,
    /// ‖b‖.
    pub right_hand_side_norm: f64,
    /// ‖b − A x‖ of the x given, then the norm of the residual after each iteration as the method computes it.
    pub history: Vec<f64>,
    /// How often the method was begun anew from the x that it had: because its own residual had lost touch with the true
    /// one, or it had broken down after it had made progress.
    pub restarts: usize,
    /// What an iteration takes.
    pub work: Work,
    /// Time in all.
    pub elapsed: Duration,
}

/// Where a solver is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The iteration, from 1 on.
    pub iteration: usize,
    /// The norm of the residual after it, as the method computes it.
    pub residual_norm: f64,
    /// Time since the beginning.
    pub elapsed: Duration,
}

/// What came of an eigenvalue solver.
#[derive(Clone, Debug)]
pub struct EigenReport {
    /// How it ended.
    pub outcome: Outcome,
    /// Iterations done.
    pub iterations: usize,
    /// The eigenvalues.
    pub eigenvalues: Vec<f64>,
    /// ‖A x − λ x‖ of each, for vectors of length 1.
    pub residual_norms: Vec<f64>,
    /// The largest residual norm after each iteration.
    pub history: Vec<f64>,
    /// Time in all.
    pub elapsed: Duration,
}
