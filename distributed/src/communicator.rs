//! Collective operations of ranks.

#[cfg(feature = "cuda")]
mod sharing;

use std::any::Any;
use std::mem;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::{Pod, cast_slice, cast_slice_mut};
use host::memory::{Element, copy, with_capacity, zeros};

use crate::alone::Alone;
use crate::error::Error;
use crate::gathering::{Post, gathered};
use crate::neighbours::NeighbourExchange;
use crate::transport::{Channel, Messages, Shown, Transport};

/// The connection of a rank to the others: a handle, whose clones are all the same rank.
///
/// All ranks call the same collectives in the same order. A rank that calls a different one is detected by the first rank
/// that receives a message from it. The result of a collective does not depend on the order in which messages arrive.
///
/// ```
/// use warp_spmv_distributed::Communicator;
///
/// # fn main() -> Result<(), warp_spmv_distributed::Error> {
/// let communicator = Communicator::alone();
/// let mut sums = [1.5, 2.5];
/// communicator.sum(&mut sums)?;
/// assert_eq!(sums, [1.5, 2.5]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Communicator(Arc<Inner>);

struct Inner {
    transport: Arc<dyn Transport>,
    /// Number of collectives so far; locked during each, because threads of a rank take turns.
    done: Mutex<u64>,
    exchanges: AtomicU32,
    kept: Mutex<Option<Kept>>,
}

/// An object that is expensive to make, and the key that it was made for.
type Kept = (Vec<u8>, Arc<dyn Any + Send + Sync>);

/// Collectives share one channel; each exchange has its own.
const COLLECTIVES: Channel = Channel(0);

/// The kind of operation that a message belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Collective {
    Barrier,
    AllGather,
    Sum,
    Agreement,
    Broadcast,
    Gather,
    AllToAll,
    End,
}

impl Collective {
    const ALL: [Self; 8] = [
        Self::Barrier,
        Self::AllGather,
        Self::Sum,
        Self::Agreement,
        Self::Broadcast,
        Self::Gather,
        Self::AllToAll,
        Self::End,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Barrier => "a barrier",
            Self::AllGather => "an all-gather",
            Self::Sum => "a sum",
            Self::Agreement => "an agreement",
            Self::Broadcast => "a broadcast",
            Self::Gather => "a gather",
            Self::AllToAll => "an all-to-all",
            Self::End => "the end of its work",
        }
    }
}

/// Bytes before the contents of each message: the kind of its collective, and the number of previous ones.
const HEADER: usize = 16;

/// A collective in progress.
struct Call<'c> {
    transport: &'c dyn Transport,
    collective: Collective,
    number: u64,
}

impl Post for Call<'_> {
    fn place(&self) -> (usize, usize) {
        (self.transport.rank(), self.transport.ranks())
    }

    fn send(&self, to: usize, contents: &[u8]) -> Result<(), Error> {
        let mut message = with_capacity(HEADER + contents.len())?;
        message.extend_from_slice(&(self.collective as u64).to_le_bytes());
        message.extend_from_slice(&self.number.to_le_bytes());
        message.extend_from_slice(contents);
        self.transport.send(to, COLLECTIVES, &message)
    }

    fn receive(&self, from: usize) -> Result<Vec<u8>, Error> {
        let mut message = self.transport.receive(from, COLLECTIVES)?;
        let word = |place: usize| message.get(8 * place..8 * place + 8)?.try_into().ok().map(u64::from_le_bytes);
        self.check(from, word(0), word(1))?;
        message.drain(..HEADER);
        Ok(message)
    }
}

impl Call<'_> {
    /// Returns an error unless the other rank performs the same collective.
    fn check(&self, from: usize, collective: Option<u64>, number: Option<u64>) -> Result<(), Error> {
        if (collective, number) == (Some(self.collective as u64), Some(self.number)) {
            return Ok(());
        }
        let name = collective.and_then(|code| Collective::ALL.get(usize::try_from(code).ok()?));
        let at = |name: &str, number: u64| format!("{name}, collective {number}");
        Err(Error::Disagreement {
            rank: from,
            other: self.transport.rank(),
            what: "what to do",
            found: at(name.map_or("no collective", |name| name.name()), number.unwrap_or(0)),
            expected: at(self.collective.name(), self.number),
        })
    }

    /// Returns the contributions of all ranks, in rank order: small ones through the transport's board, if it has one,
    /// others by messages.
    fn gathered(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let shown = Shown::new(self.collective as u64, self.number, own);
        let Some(all) = self.transport.show(&shown)? else { return gathered(self, own) };
        for (rank, shown) in all.iter().enumerate() {
            self.check(rank, Some(shown.collective), Some(shown.number))?;
        }
        let mut parts = with_capacity(all.len())?;
        for shown in &all {
            match shown.contents() {
                Some(contents) => parts.push(copy(contents)?),
                None => return gathered(self, own),
            }
        }
        Ok(parts)
    }
}

impl Communicator {
    /// Creates the communicator of a rank.
    pub fn new(transport: impl Transport + 'static) -> Self {
        Self(Arc::new(Inner {
            transport: Arc::new(transport),
            done: Mutex::new(0),
            exchanges: AtomicU32::new(0),
            kept: Mutex::default(),
        }))
    }

    /// Creates the communicator of the only rank.
    pub fn alone() -> Self {
        Self::new(Alone)
    }

    /// This rank, starting at 0.
    pub fn rank(&self) -> usize {
        self.0.transport.rank()
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        self.0.transport.ranks()
    }

    /// Fails all ranks: whatever they wait for, now or later, returns an error with this reason.
    pub fn fail(&self, reason: &str) {
        self.0.transport.fail(reason);
    }

    /// Blocks until every rank has called it.
    ///
    /// # Errors
    /// When a rank fails.
    pub fn barrier(&self) -> Result<(), Error> {
        self.collective(Collective::Barrier, |call| call.gathered(&[])).map(drop)
    }

    /// Returns the values of each rank, in rank order; each may have a different number. Each of P ranks sends log₂ P
    /// messages.
    ///
    /// # Errors
    /// When a rank fails, or memory runs out.
    pub fn all_gather<T: Pod>(&self, values: &[T]) -> Result<Vec<Vec<T>>, Error> {
        let parts = self.collective(Collective::AllGather, |call| call.gathered(cast_slice(values)))?;
        parts.iter().enumerate().map(|(rank, part)| self.values(rank, part)).collect()
    }

    /// Replaces each number by its sum over all ranks, added up in rank order: the same bits on every rank, and every time
    /// for the same number of ranks.
    ///
    /// # Errors
    /// When a rank fails or passes a different number of values, or memory runs out.
    pub fn sum(&self, sums: &mut [f64]) -> Result<(), Error> {
        self.reduce(sums, |sum, next| sum + next)
    }

    /// Replaces each number by the combination of those of all ranks, in rank order.
    ///
    /// # Errors
    /// As for [`sum`](Self::sum).
    pub fn reduce<T: Pod>(&self, values: &mut [T], combine: impl Fn(T, T) -> T) -> Result<(), Error> {
        let parts = self.collective(Collective::Sum, |call| call.gathered(cast_slice(values)))?;
        for (rank, part) in parts.iter().enumerate() {
            let part: Vec<T> = self.values(rank, part)?;
            if part.len() != values.len() {
                return Err(self.disagrees(rank, "the number of sums", part.len(), values.len()));
            }
            match rank {
                0 => values.copy_from_slice(&part),
                _ => values.iter_mut().zip(part).for_each(|(value, next)| *value = combine(*value, next)),
            }
        }
        Ok(())
    }

    /// Verifies that all ranks have the same value.
    ///
    /// # Errors
    /// When a rank's value differs from rank 0's, or a rank fails.
    pub fn agree(&self, what: &'static str, value: &str) -> Result<(), Error> {
        let values = self.collective(Collective::Agreement, |call| call.gathered(value.as_bytes()))?;
        match values.iter().position(|other| *other != values[0]) {
            None => Ok(()),
            Some(rank) => {
                let text = |rank: usize| String::from_utf8_lossy(&values[rank]).into_owned();
                Err(Error::Disagreement { rank, other: 0, what, found: text(rank), expected: text(0) })
            }
        }
    }

    /// Returns the values of rank `root`, on every rank; those of the others are ignored.
    ///
    /// # Errors
    /// When there is no such rank, a rank fails, or memory runs out.
    pub fn broadcast<T: Pod>(&self, root: usize, values: &[T]) -> Result<Vec<T>, Error> {
        self.check_rank(root)?;
        let bytes = self.collective(Collective::Broadcast, |call| {
            let (rank, ranks) = (call.transport.rank(), call.transport.ranks());
            // Relative to the root, rank r receives from r without its lowest bit, and sends to r plus lower bits.
            let place = (rank + ranks - root) % ranks;
            let at = |place: usize| (place + root) % ranks;
            let lowest = if place == 0 { ranks.next_power_of_two() } else { place & place.wrapping_neg() };
            let received = match place {
                0 => None,
                _ => Some(call.receive(at(place - lowest))?),
            };
            let bytes = received.as_deref().unwrap_or(cast_slice(values));
            let mut step = lowest / 2;
            while step > 0 {
                if place + step < ranks {
                    call.send(at(place + step), bytes)?;
                }
                step /= 2;
            }
            Ok(received)
        })?;
        match bytes {
            Some(bytes) => self.values(root, &bytes),
            None => Ok(copy_of(values)?),
        }
    }

    /// Returns the values of all ranks, in rank order, on rank `root`, and `None` on the others.
    ///
    /// # Errors
    /// When there is no such rank, a rank fails, or memory runs out.
    pub fn gather<T: Pod>(&self, root: usize, values: &[T]) -> Result<Option<Vec<Vec<T>>>, Error> {
        self.check_rank(root)?;
        if self.rank() != root {
            self.collective(Collective::Gather, |call| call.send(root, cast_slice(values)))?;
            return Ok(None);
        }
        let of_rank = |call: &Call<'_>, rank| match rank == root {
            true => copy_of(values),
            false => self.values(rank, &call.receive(rank)?),
        };
        self.collective(Collective::Gather, |call| (0..self.ranks()).map(|rank| of_rank(call, rank)).collect())
            .map(Some)
    }

    /// Sends each rank its own list, the one at its index, and returns the lists that the ranks have sent to this one. Each
    /// rank sends a message to each other rank.
    ///
    /// # Errors
    /// When the number of lists is not the number of ranks, a rank fails, or memory runs out.
    pub fn all_to_all<T: Pod>(&self, lists: &[Vec<T>]) -> Result<Vec<Vec<T>>, Error> {
        self.lists_to_all(lists, lists.get(self.rank()).map_or(Ok(Vec::new()), |own| copy_of(own)))
    }

    /// [`all_to_all`](Self::all_to_all) without a copy of the list that stays with this rank.
    pub(crate) fn exchange_lists<T: Pod>(&self, mut lists: Vec<Vec<T>>) -> Result<Vec<Vec<T>>, Error> {
        let own = lists.get_mut(self.rank()).map(mem::take).unwrap_or_default();
        self.lists_to_all(&lists, Ok(own))
    }

    fn lists_to_all<T: Pod>(&self, lists: &[Vec<T>], mut own: Result<Vec<T>, Error>) -> Result<Vec<Vec<T>>, Error> {
        let (rank, ranks) = (self.rank(), self.ranks());
        if lists.len() != ranks {
            let value = lists.len().to_string();
            return Err(Error::Setting { what: "the number of lists", value, expected: "one for each rank" });
        }
        self.collective(Collective::AllToAll, |call| {
            for step in 1..ranks {
                let to = (rank + step) % ranks;
                call.send(to, cast_slice(&lists[to]))?;
            }
            let of_rank = |from: usize| match from == rank {
                true => mem::replace(&mut own, Ok(Vec::new())),
                false => self.values(from, &call.receive(from)?),
            };
            (0..ranks).map(of_rank).collect()
        })
    }

    /// Creates a repeatable exchange with neighbours: this rank sends a number of elements to each rank of `to`, and
    /// receives a number from each rank of `from`. All ranks make their exchanges in the same order.
    ///
    /// # Errors
    /// When a rank does not exist or is this one, or memory runs out.
    pub fn neighbour_exchange<T: Element>(
        &self,
        to: &[(usize, usize)],
        from: &[(usize, usize)],
    ) -> Result<NeighbourExchange<T>, Error> {
        for &(rank, _) in to.iter().chain(from) {
            self.check_rank(rank)?;
            if rank == self.rank() {
                let value = rank.to_string();
                return Err(Error::Setting { what: "the rank of a neighbour", value, expected: "another rank" });
            }
        }
        let channel = self.channel();
        let bytes = |neighbours: &[(usize, usize)]| {
            let with_bytes = |&(rank, elements): &(usize, usize)| (rank, elements.saturating_mul(size_of::<T>()));
            neighbours.iter().map(with_bytes).filter(|&(_, bytes)| bytes > 0).collect()
        };
        let elements = |neighbours: &[(usize, usize)]| neighbours.iter().map(|&(_, elements)| elements).sum();
        Ok(NeighbourExchange {
            exchange: self.0.transport.exchange(channel, Messages { to: bytes(to), from: bytes(from) })?,
            outgoing: zeros(elements(to))?,
            incoming: elements(from),
            under_way: false,
        })
    }

    /// Drops the object that is kept for exchanges.
    pub(crate) fn release(&self) {
        *self.0.kept.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns a new channel for an exchange: all ranks must take theirs in the same order.
    pub(crate) fn channel(&self) -> Channel {
        Channel(self.0.exchanges.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Blocks until all ranks have finished their work.
    #[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "threads know when a thread has ended"))]
    pub(crate) fn end(&self) -> Result<(), Error> {
        self.collective(Collective::End, |call| call.gathered(&[])).map(drop)
    }

    fn check_rank(&self, rank: usize) -> Result<(), Error> {
        if rank < self.ranks() {
            return Ok(());
        }
        Err(Error::Setting { what: "the rank", value: rank.to_string(), expected: "less than the number of ranks" })
    }

    fn collective<R>(
        &self,
        collective: Collective,
        work: impl FnOnce(&Call<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let mut done = self.0.done.lock().unwrap_or_else(PoisonError::into_inner);
        let call = Call { transport: &*self.0.transport, collective, number: *done };
        *done += 1;
        work(&call)
    }

    fn disagrees(&self, rank: usize, what: &'static str, found: usize, expected: usize) -> Error {
        let (found, expected) = (found.to_string(), expected.to_string());
        Error::Disagreement { rank, other: self.rank(), what, found, expected }
    }

    /// Decodes the values of a rank's message.
    fn values<T: Pod>(&self, rank: usize, bytes: &[u8]) -> Result<Vec<T>, Error> {
        let length = bytes.len() / size_of::<T>();
        if length * size_of::<T>() != bytes.len() {
            return Err(self.disagrees(rank, "the bytes of a value", bytes.len(), size_of::<T>()));
        }
        let mut values = zeros::<T>(length)?;
        cast_slice_mut(&mut values).copy_from_slice(bytes);
        Ok(values)
    }
}

fn copy_of<T: Clone>(values: &[T]) -> Result<Vec<T>, Error> {
    Ok(copy(values)?)
}
