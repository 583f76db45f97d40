//! The elements of x exchanged between ranks.

use host::memory::{collect, with_capacity};

use crate::communicator::Communicator;
use crate::error::Error;
use crate::ranges::Ranges;

/// The elements of x that a rank receives from others and sends to them. Each rank has only its own part.
#[derive(Debug)]
pub(crate) struct Halo {
    /// Ranks that receive elements of this one, with their numbers of elements.
    pub to: Vec<(usize, usize)>,
    /// The elements sent, rank by rank, relative to this rank's first.
    pub elements: Vec<u32>,
    /// Ranks that elements are received from, with their numbers of elements.
    pub from: Vec<(usize, usize)>,
}

impl Halo {
    /// Returns the number of elements received from all ranks.
    pub fn incoming(&self) -> usize {
        self.from.iter().map(|&(_, count)| count).sum()
    }

    /// Makes the halo from the columns of other ranks that this rank needs, in ascending order.
    pub fn new(communicator: &Communicator, columns: &Ranges, needed: &[u64]) -> Result<Self, Error> {
        let rank = communicator.rank();
        let own = columns.of(rank);
        let mut requests = with_capacity(communicator.ranks())?;
        let (mut from, mut rest) = (Vec::new(), needed);
        for other in 0..communicator.ranks() {
            let range = columns.of(other);
            let (of_other, after) = rest.split_at(rest.partition_point(|&column| column < range.end));
            if !of_other.is_empty() {
                from.push((other, of_other.len()));
            }
            requests.push(collect(of_other.iter().map(|column| column - range.start))?);
            rest = after;
        }
        let requested = communicator.exchange_lists(requests)?;
        let mut to = Vec::new();
        let mut elements = with_capacity(requested.iter().map(Vec::len).sum())?;
        for (other, request) in requested.iter().enumerate().filter(|(_, request)| !request.is_empty()) {
            to.push((other, request.len()));
            for &element in request {
                if element >= own.end - own.start {
                    return Err(Error::Disagreement {
                        rank: other,
                        other: rank,
                        what: "the columns that a rank has",
                        found: format!("column {element} of them"),
                        expected: format!("one of {}", own.end - own.start),
                    });
                }
                elements.push(element as u32);
            }
        }
        Ok(Self { to, elements, from })
    }
}
