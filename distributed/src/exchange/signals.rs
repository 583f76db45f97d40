//! Signals between neighbouring ranks on the host, which tell what the others have queued.

use std::sync::Arc;

use crate::communicator::Communicator;
use crate::error::Error;
use crate::transport::{Channel, Transport};

/// Numbers that a rank and its neighbours send each other, the same on all of them each time.
pub(super) struct Signals {
    transport: Arc<dyn Transport>,
    channel: Channel,
    neighbours: Vec<usize>,
}

impl Signals {
    /// Between a rank and those that it sends to or receives from. All ranks must make theirs in the same order.
    pub fn new(communicator: &Communicator, to: &[(usize, usize)], from: &[(usize, usize)]) -> Self {
        let mut neighbours: Vec<usize> = to.iter().chain(from).map(|&(rank, _)| rank).collect();
        neighbours.sort_unstable();
        neighbours.dedup();
        Self { transport: communicator.transport(), channel: communicator.channel(), neighbours }
    }

    /// Signals all neighbours.
    pub fn send(&self, number: u64) -> Result<(), Error> {
        self.neighbours.iter().try_for_each(|&rank| self.transport.send(rank, self.channel, &number.to_le_bytes()))
    }

    /// Blocks until all neighbours have sent the same number.
    pub fn receive(&self, number: u64) -> Result<(), Error> {
        for &rank in &self.neighbours {
            let message = self.transport.receive(rank, self.channel)?;
            let found = message.as_slice().try_into().ok().map(u64::from_le_bytes);
            if found != Some(number) {
                return Err(Error::Disagreement {
                    rank,
                    other: self.transport.rank(),
                    what: "the exchange of a product",
                    found: found.map_or("no number".to_owned(), |found| found.to_string()),
                    expected: number.to_string(),
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads;

    #[test]
    fn neighbours_tell_each_other_the_same_number() {
        let ring = |communicator: &Communicator, last: u64| {
            let (rank, ranks) = (communicator.rank(), communicator.ranks());
            let signals = Signals::new(communicator, &[((rank + 1) % ranks, 3)], &[((rank + ranks - 1) % ranks, 1)]);
            for number in 0..100 {
                signals.send(number)?;
                signals.receive(number)?;
            }
            signals.send(last)?;
            signals.receive(last)
        };
        for ranks in [2, 3, 4, 7] {
            threads::run(ranks, |communicator| ring(communicator, 100)).unwrap();
        }
        let wrong = |communicator: &Communicator| ring(communicator, 100 + u64::from(communicator.rank() == 2));
        let error = threads::run(3, wrong).unwrap_err().to_string();
        assert!(error.contains("about the exchange of a product: 10") && error.contains("rank 2"), "{error}");
    }
}
