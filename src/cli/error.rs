//! What ends the command without an answer, or with a wrong one.

use std::io;
use std::path::PathBuf;

use warp_spmv::solver::Outcome;
use warp_spmv::synthetic;
use warp_spmv::verify::Verification;

use super::interrupt;

/// Why the command failed. Each message becomes one line.
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
    #[error("{0}; run, solve, info and convert read them with --precision complex128")]
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
    /// What a file has of each unknown does not fit the matrix.
    #[error("{}: {found} unknowns, expected {expected} for the rows of the matrix", path.display())]
    UnknownsLength {
        /// The file.
        path: PathBuf,
        /// Unknowns that it has something of.
        found: usize,
        /// The number of rows.
        expected: usize,
    },
    /// With `--format all`, a format is wrong or failed.
    #[error("{}", of_formats(wrong, failed))]
    Formats {
        /// Those that gave a wrong answer.
        wrong: Vec<String>,
        /// Those that gave none, though the matrix can be stored so.
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
        /// The change in all.
        residual: f64,
        /// What it may be.
        tolerance: f64,
    },
    /// An iterative method did not come to the tolerance.
    #[error("not converged: {outcome}, after {iterations} iterations")]
    NotConverged {
        /// How it ended.
        outcome: String,
        /// Iterations done.
        iterations: usize,
    },
    /// A rank failed, and all others with it.
    #[error("rank {rank}: {reason}")]
    Rank {
        /// The rank that failed.
        rank: usize,
        /// Why.
        reason: String,
        /// Whether another process says so.
        heard: bool,
    },
    /// What ranks do together was refused or failed.
    #[error(transparent)]
    Distributed(#[from] warp_spmv::distributed::Error),
    /// Ctrl-C ended a solver.
    #[error("interrupted, after {iterations} iterations")]
    Interrupted {
        /// Iterations done.
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
    /// The results are not right.
    #[error(
        "wrong answer: {wrong} of {rows} elements of {vector} are farther off than rounding explains, worst in row {worst_row}"
    )]
    WrongAnswer {
        /// What is wrong: y, or the residual.
        vector: &'static str,
        /// Number of wrong elements.
        wrong: usize,
        /// Number of elements.
        rows: usize,
        /// The row of the largest error, counted from 0.
        worst_row: usize,
    },
}

impl Error {
    /// What a method that ended so is to be reported as; none if it converged. Only Ctrl-C stops one.
    pub fn of_outcome(outcome: Outcome, iterations: usize) -> Option<Self> {
        match outcome {
            Outcome::Converged => None,
            Outcome::Stopped => Some(Self::Interrupted { iterations }),
            outcome => Some(Self::NotConverged { outcome: outcome.to_string(), iterations }),
        }
    }

    /// What a vector of `rows` elements that was verified so is to be reported as; none if it is right.
    pub fn of_verification(verification: &Verification, vector: &'static str, rows: usize) -> Option<Self> {
        let Verification { wrong, worst_row, .. } = *verification;
        let worst_row = worst_row.unwrap_or(0);
        (!verification.passed()).then_some(Self::WrongAnswer { vector, wrong, rows, worst_row })
    }

    /// The exit code of the process: 1 for a wrong answer, 2 for none, 3 for one that is not good enough,
    /// 130 where it would have become better.
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
