//! Errors, and the rank that causes them.

use std::time::Duration;

/// An error of this crate, displayed on one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A rank failed, which ends all others.
    #[error("rank {rank}: {reason}")]
    Rank {
        /// The rank that failed.
        rank: usize,
        /// The reason.
        reason: String,
        /// Whether another rank has reported it, which then tells the user.
        heard: bool,
    },
    /// Two ranks are at different points of the program, or have different arguments.
    #[error("rank {rank}: disagrees with rank {other} about {what}: {found}, not {expected}")]
    Disagreement {
        /// The rank that differs.
        rank: usize,
        /// The rank that it differs from.
        other: usize,
        /// The subject of the disagreement.
        what: &'static str,
        /// The value of `rank`.
        found: String,
        /// The value of `other`.
        expected: String,
    },
    /// A rank waited too long for another.
    #[error("rank {rank}: sent nothing for {} s while rank {waiting} waited for it", after.as_secs_f64())]
    Timeout {
        /// The rank that was silent.
        rank: usize,
        /// The rank that waited.
        waiting: usize,
        /// How long it waited.
        after: Duration,
    },
    /// Ranges do not divide their subject among the ranks.
    #[error("ranges of {what}: {reason}")]
    Ranges {
        /// The subject of the ranges.
        what: &'static str,
        /// The reason.
        reason: String,
    },
    /// The rows of a rank contradict each other or the shape of the matrix.
    #[error("row {row}: {reason}")]
    Rows {
        /// The row, numbered over all ranks, starting at 0.
        row: u64,
        /// The reason.
        reason: String,
    },
    /// A setting is invalid.
    #[error("{what} is {value}, expected {expected}")]
    Setting {
        /// The setting.
        what: &'static str,
        /// Its value.
        value: String,
        /// The expected values.
        expected: &'static str,
    },
    /// Elements cannot be exchanged in the requested way.
    #[error("exchange by {way}: {reason}")]
    Exchange {
        /// The way.
        way: &'static str,
        /// The reason.
        reason: String,
    },
    /// A function of NCCL failed.
    #[error("NCCL: {function}: {reason}")]
    Nccl {
        /// The function.
        function: &'static str,
        /// NCCL's description.
        reason: String,
    },
    /// A function of MPI failed.
    #[error("MPI: {function}: {reason}")]
    Mpi {
        /// The function.
        function: &'static str,
        /// MPI's description.
        reason: String,
    },
    /// An operation of this rank alone failed.
    #[error(transparent)]
    Host(#[from] host::Error),
}

impl Error {
    /// Returns the failure that all ranks receive when `rank` ends with this error: the rank to blame, and the reason.
    pub(crate) fn blame(&self, rank: usize) -> (usize, String) {
        let rank = match self {
            Self::Rank { rank, .. } | Self::Disagreement { rank, .. } | Self::Timeout { rank, .. } => *rank,
            // An error inside an operator may have come from another rank.
            Self::Host(host::Error::Operation(error)) => match error.downcast_ref::<Self>() {
                Some(error) => return error.blame(rank),
                None => rank,
            },
            _ => rank,
        };
        let text = self.to_string();
        let reason = text.strip_prefix(&format!("rank {rank}: ")).unwrap_or(&text);
        (rank, reason.into())
    }
}

impl From<Error> for host::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Host(error) => error,
            other => Self::Operation(Box::new(other)),
        }
    }
}
