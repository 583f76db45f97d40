//! Errors that end the command without an answer, or with a wrong one.

use std::io;
use std::path::PathBuf;

use warp_spmv::solver::Outcome;
use warp_spmv::synthetic;
use warp_spmv::verify::Verification;

use super::interrupt;

/// The reason why the command failed. Each message is one line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The arguments do not make sense.
    #[error("{0}")]
    Usage(String),
    /// The library refused or failed.
    #[error(transparent)]
    Library(#[from] warp_spmv::Error),
    /// A generator refused or failed.
    #[error(transparent)]
    Generator(#[from] synthetic::Error),
    /// The lab refused or failed.
    #[error(transparent)]
    Lab(#[from] lab::Error),
    /// A missing file whose name could be meant as a generator.
    #[error("{}: no such file, and no generator of that name: expected one of {expected}", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// The names of all generators.
        expected: String,
    },
    /// Complex values where real ones are expected.
    #[error("{0}; run, solve, bench, info and convert read them with --precision complex128")]
    ComplexValues(String),
    /// The vector of a file does not fit the matrix.
    #[error("{}: a vector of length {found}, expected {expected} for the columns of the matrix", path.display())]
    VectorLength {
        /// The file.
        path: PathBuf,
        /// The vector's length.
        found: usize,
        /// The number of columns.
        expected: usize,
    },
    /// A file's data of unknowns does not fit the matrix.
    #[error("{}: {found} unknowns, expected {expected} for the rows of the matrix", path.display())]
    UnknownsLength {
        /// The file.
        path: PathBuf,
        /// Number of unknowns in the file.
        found: usize,
        /// The number of rows.
        expected: usize,
    },
    /// With `--format all`, a format is wrong or failed.
    #[error("{}", of_formats(wrong, failed))]
    Formats {
        /// Formats that gave a wrong answer.
        wrong: Vec<String>,
        /// Formats that gave none although they can store the matrix.
        failed: Vec<String>,
    },
    /// A matrix that must be square is not.
    #[error("{}: {rows} rows and {columns} columns, expected a square matrix", name)]
    NotSquare {
        /// The matrix.
        name: String,
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        columns: usize,
    },
    /// Ranks do not satisfy their equation.
    #[error("wrong ranks: another iteration changes them by {residual:e}, more than the {tolerance:e} allowed")]
    WrongRanks {
        /// The total change.
        residual: f64,
        /// The largest acceptable change.
        tolerance: f64,
    },
    /// An iterative method did not reach the tolerance.
    #[error("not converged: {outcome}, after {iterations} iterations")]
    NotConverged {
        /// The outcome.
        outcome: String,
        /// Number of iterations.
        iterations: usize,
    },
    /// A rank failed, and all others with it.
    #[error("rank {rank}: {reason}")]
    Rank {
        /// The rank that failed.
        rank: usize,
        /// The reason.
        reason: String,
        /// Whether another process reports it.
        heard: bool,
    },
    /// A collective operation of ranks was refused or failed.
    #[error(transparent)]
    Distributed(#[from] warp_spmv::distributed::Error),
    /// Ctrl-C ended a solver.
    #[error("interrupted, after {iterations} iterations")]
    Interrupted {
        /// Number of iterations.
        iterations: usize,
    },
    /// Something on this machine fails.
    #[error("broken: {}", .0.join(", "))]
    Broken(Vec<String>),
    /// A table of a document differs from the results that it is made from.
    #[error("{document}:{line}: not what the results give; warp-spmv report --document {document} updates it")]
    OutdatedDocument {
        /// The document.
        document: String,
        /// The first line that differs, counted from 1.
        line: usize,
    },
    /// The results could not be printed.
    #[error("standard output: {0}")]
    Stdout(io::Error),
    /// The results are wrong.
    #[error(
        "wrong answer: {wrong} of {rows} elements of {vector} differ by more than rounding explains, most in row {worst_row}"
    )]
    WrongAnswer {
        /// The wrong vector: y, or the residual.
        vector: &'static str,
        /// Number of wrong elements.
        wrong: usize,
        /// Number of elements.
        rows: usize,
        /// The zero-based row of the largest error.
        worst_row: usize,
    },
}

impl Error {
    /// The error of a method with this outcome; none if it converged. Only Ctrl-C stops one.
    pub fn of_outcome(outcome: Outcome, iterations: usize) -> Option<Self> {
        match outcome {
            Outcome::Converged => None,
            Outcome::Stopped => Some(Self::Interrupted { iterations }),
            outcome => Some(Self::NotConverged { outcome: outcome.to_string(), iterations }),
        }
    }

    /// The error of a vector of `rows` elements with this verification; none if it is right.
    pub fn of_verification(verification: &Verification, vector: &'static str, rows: usize) -> Option<Self> {
        let Verification { wrong, worst_row, .. } = *verification;
        let worst_row = worst_row.unwrap_or(0);
        (!verification.passed()).then_some(Self::WrongAnswer { vector, wrong, rows, worst_row })
    }

    /// The exit code of the process: 1 for a wrong answer, 2 for none, 3 for one that is not good enough, 130 for one
    /// that was interrupted.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::WrongAnswer { .. } | Self::WrongRanks { .. } | Self::Broken(_) | Self::OutdatedDocument { .. } => 1,
            Self::NotConverged { .. } => 3,
            Self::Interrupted { .. } => interrupt::EXIT_CODE,
            Self::Formats { wrong, .. } if !wrong.is_empty() => 1,
            _ => 2,
        }
    }
}

fn of_formats(wrong: &[String], failed: &[String]) -> String {
    let told = [("wrong answer", wrong), ("failed", failed)];
    let told = told.iter().filter(|(_, formats)| !formats.is_empty());
    told.map(|(what, formats)| format!("{what}: {}", formats.join(", "))).collect::<Vec<_>>().join("; ")
}
