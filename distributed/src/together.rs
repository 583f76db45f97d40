//! One error of all ranks.

use crate::communicator::Communicator;
use crate::error::Error;

/// Ends all ranks with the error of the first that has one, in their order, whoever of them is the first in time: every
/// rank calls it with what it has done by itself.
pub(crate) fn together<R>(communicator: &Communicator, result: Result<R, Error>) -> Result<R, Error> {
    let failed = communicator.all_gather(&[u8::from(result.is_err())])?;
    match (failed.iter().position(|failed| failed == &[1]), result) {
        (None, result) => result,
        (Some(rank), Err(error)) if rank == communicator.rank() => Err(error),
        (Some(rank), _) => Err(heard(communicator, rank)),
    }
}

/// The error that another rank is about to end with: waits for it to say why.
pub(crate) fn heard(communicator: &Communicator, rank: usize) -> Error {
    match communicator.barrier() {
        Err(error) => error,
        // It has not ended after all.
        Ok(()) => Error::Rank { rank, reason: "failed, and went on".into(), heard: true },
    }
}
