//! What can go wrong, and on which rank.

use std::time::Duration;

/// An error of this crate, in one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A rank failed, and all others end with it.
    #[error("rank {rank}: {reason}")]
    Rank {
        /// The rank that failed.
        rank: usize,
        /// Why.
        reason: String,
        /// Whether another rank has reported it, which is the one to tell the user.
        heard: bool,
    },
    /// Two ranks are not at the same place of the program, or were not given the same.
    #[error("rank {rank}: disagrees with rank {other} about {what}: {found}, not {expected}")]
    Disagreement {
        /// The rank that differs.
        rank: usize,
        /// The rank that it differs from.
        other: usize,
        /// What they disagree about.
        what: &'static str,
        /// What `rank` has.
        found: String,
        /// What `other` has.
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
    /// Ranges do not divide what they are to divide among the ranks.
    #[error("ranges of {what}: {reason}")]
    Ranges {
        /// Of what the ranges are.
        what: &'static str,
        /// What is wrong with them.
        reason: String,
    },
    /// The rows of a rank contradict each other or the shape of the matrix.
    #[error("row {row}: {reason}")]
    Rows {
        /// The row, counted over all ranks from 0.
        row: u64,
        /// What is wrong there.
        reason: String,
    },
    /// A setting means nothing.
    #[error("{what} is {value}, expected {expected}")]
    Setting {
        /// Which setting.
        what: &'static str,
        /// Its value.
        value: String,
        /// What it can be.
        expected: &'static str,
    },
    /// Elements cannot go from rank to rank by the way that was asked for.
    #[error("exchange by {way}: {reason}")]
    Exchange {
        /// The way.
        way: &'static str,
        /// Why not.
        reason: String,
    },
    /// A function of NCCL failed.
    #[error("NCCL: {function}: {reason}")]
    Nccl {
        /// The function.
        function: &'static str,
        /// What NCCL says.
        reason: String,
    },
    /// A function of MPI failed.
    #[error("MPI: {function}: {reason}")]
    Mpi {
        /// The function.
        function: &'static str,
        /// What MPI says.
        reason: String,
    },
    /// What this rank did by itself failed.
    #[error(transparent)]
    Host(#[from] host::Error),
}

impl Error {
    /// The failure that all ranks hear of when `rank` ends with this error: the rank that is to blame, and the reason.
    pub(crate) fn blame(&self, rank: usize) -> (usize, String) {
        let rank = match self {
            Self::Rank { rank, .. } | Self::Disagreement { rank, .. } | Self::Timeout { rank, .. } => *rank,
            // What failed inside an operator may have come from another rank.
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
