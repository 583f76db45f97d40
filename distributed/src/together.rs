//! One error for all ranks.

use crate::communicator::Communicator;
use crate::error::Error;

/// Ends all ranks with the error of the first failed rank, in rank order, whichever failed first in time. Every rank must
/// call it with its own result.
pub(crate) fn together<R>(communicator: &Communicator, result: Result<R, Error>) -> Result<R, Error> {
    let failed = communicator.all_gather(&[u8::from(result.is_err())])?;
    match (failed.iter().position(|failed| failed == &[1]), result) {
        (None, result) => result,
        (Some(rank), Err(error)) if rank == communicator.rank() => Err(error),
        (Some(rank), _) => Err(heard(communicator, rank)),
    }
}

/// Returns the error that another rank is about to end with: waits for its report.
pub(crate) fn heard(communicator: &Communicator, rank: usize) -> Error {
    match communicator.barrier() {
        Err(error) => error,
        // It has not ended.
        Ok(()) => Error::Rank { rank, reason: "failed, but continued".into(), heard: true },
    }
}
