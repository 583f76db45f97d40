//! Each GPU copies from the memory of others: for ranks that are threads of one process.
//!
//! A rank has two arrays that it packs in turn, each with a mark behind the packing. When it has set the mark it tells its
//! neighbours on the host; they let their second stream wait for it, copy, and set a mark behind the copies, for which the
//! executor waits before it multiplies with them. Nobody waits on the host for a GPU. Before a rank packs an array again, its
//! executor waits for the copies of the last time: they were queued, because the neighbours have told of the exchange after
//! that.

use std::sync::Arc;

use host::Scalar;
use host::elements::{Elements, PackElements, PackOperands};
use host::executor::{Cuda, CudaBuffer, CudaMemory, Executor, Fetch, Mark, PeerMemory, Piece, SideStream};
use host::memory::{copy, reserve, with_capacity};

use super::signals::Signals;
use super::{Chosen, Engine, HaloExchange};
use crate::communicator::Communicator;
use crate::error::Error;
use crate::halo::Halo;
use crate::timeline::{Stamp, Step, Watch};

/// Arrays that are packed in turn.
const TURNS: usize = 2;

/// The exchange.
struct PeerCopies<T: Scalar> {
    communicator: Communicator,
    cuda: Cuda,
    side: Arc<SideStream>,
    elements: Elements<CudaMemory>,
    /// Ranks, and elements that go to them and come from them.
    to: Vec<(usize, usize)>,
    from: Vec<(usize, usize)>,
    signals: Signals,
    /// Exchanges so far.
    round: u64,
    /// One for each number of vectors that were multiplied so far.
    lanes: Vec<Lane<T>>,
}

/// What the exchange of some number of vectors takes.
struct Lane<T: Scalar> {
    vectors: usize,
    packed: [CudaBuffer<T>; TURNS],
    own: Arc<Shared>,
    /// Of the ranks that get elements of this one, and of those that they come from.
    readers: Vec<Arc<Shared>>,
    sources: Vec<Arc<Shared>>,
    fetch: Fetch<T>,
    round: usize,
}

/// What other ranks see of a rank's lane.
struct Shared {
    memory: [Arc<PeerMemory>; TURNS],
    /// Where each rank's elements begin among those of a vector.
    first: Vec<(usize, usize)>,
    /// Elements of a vector that go to all ranks.
    stride: usize,
    /// Behind the packing of each array.
    packed: [Mark; TURNS],
    /// Behind this rank's copies, in turn.
    taken: [Mark; TURNS],
}

/// The exchange of a halo between threads, of vectors of `length` elements. All ranks make it together.
pub(super) fn exchange<T: Scalar>(
    communicator: &Communicator,
    cuda: &Cuda,
    halo: &Halo,
    length: usize,
) -> Result<Chosen<T, Cuda>, Error> {
    let mut exchange = PeerCopies {
        communicator: communicator.clone(),
        cuda: cuda.clone(),
        side: Arc::new(SideStream::new(cuda)?),
        elements: Elements::new(cuda, length, copy(&halo.elements)?)?,
        to: copy(&halo.to)?,
        from: copy(&halo.from)?,
        signals: Signals::new(communicator, &halo.to, &halo.from),
        round: 0,
        lanes: Vec::new(),
    };
    let direct = exchange.lane(1)?.1;
    let mut all = [u8::from(direct)];
    communicator.reduce(&mut all, u8::min)?;
    Ok((Box::new(exchange), Engine::PeerCopies { direct: all == [1] }))
}

impl<T: Scalar> PeerCopies<T> {
    /// The place of the lane for a number of vectors, which all ranks make together where there is none; and whether it was
    /// found that this GPU reaches all others that it copies from.
    fn lane(&mut self, vectors: usize) -> Result<(usize, bool), Error> {
        if let Some(place) = self.lanes.iter().position(|lane| lane.vectors == vectors) {
            return Ok((place, true));
        }
        let cuda = &self.cuda;
        let sent = self.elements.len();
        let incoming: usize = self.from.iter().map(|&(_, count)| count).sum();
        let packed =
            [cuda.reachable::<T>(sent.saturating_mul(vectors))?, cuda.reachable(sent.saturating_mul(vectors))?];
        let memory = |array: &CudaBuffer<T>| {
            let none = || Error::Exchange { way: "peer-copies", reason: "an array cannot be reached".into() };
            array.memory().cloned().ok_or_else(none)
        };
        let mut first = with_capacity(self.to.len())?;
        let mut stride = 0;
        for &(rank, count) in &self.to {
            first.push((rank, stride));
            stride += count;
        }
        let own = Arc::new(Shared {
            memory: [memory(&packed[0])?, memory(&packed[1])?],
            first,
            stride,
            packed: [Mark::new(cuda)?, Mark::new(cuda)?],
            taken: [Mark::new(cuda)?, Mark::new(cuda)?],
        });
        let all = self.communicator.share(&own)?;
        let of = |ranks: &[(usize, usize)]| ranks.iter().map(|&(rank, _)| all[rank].clone()).collect::<Vec<_>>();
        let (readers, sources) = (of(&self.to), of(&self.from));
        let (mut pieces, mut direct) = ([Vec::new(), Vec::new()], true);
        for (turn, pieces) in pieces.iter_mut().enumerate() {
            let mut to = 0;
            for (&(rank, count), source) in self.from.iter().zip(&sources) {
                let begin = source.first.iter().find(|first| first.0 == self.communicator.rank());
                let Some(&(_, begin)) = begin else {
                    return Err(self.disagreement(rank, count));
                };
                let memory = &source.memory[turn];
                direct &= cuda.reach(memory)?;
                reserve(pieces, vectors)?;
                for vector in 0..vectors {
                    let first = vector * source.stride + begin;
                    pieces.push(Piece { memory: memory.clone(), first, count, to: vector * incoming + to });
                }
                to += count;
            }
        }
        let into = cuda.reachable(incoming.saturating_mul(vectors))?;
        let fetch = Fetch::new(&self.side, pieces.into(), into)?;
        reserve(&mut self.lanes, 1)?;
        self.lanes.push(Lane { vectors, packed, own, readers, sources, fetch, round: 0 });
        Ok((self.lanes.len() - 1, direct))
    }

    fn disagreement(&self, rank: usize, count: usize) -> Error {
        Error::Disagreement {
            rank,
            other: self.communicator.rank(),
            what: "the elements that it sends",
            found: "none".into(),
            expected: count.to_string(),
        }
    }
}

impl<T: Scalar> HaloExchange<T, Cuda> for PeerCopies<T> {
    fn start(&mut self, vectors: usize, x: &CudaBuffer<T>, mut watch: Watch<'_, Cuda>) -> Result<(), Error> {
        // Others do not repeat what a recording repeats.
        self.cuda.refuse_to_record("exchanging elements with other ranks")?;
        let place = self.lane(vectors)?.0;
        let lane = &mut self.lanes[place];
        let turn = lane.round % TURNS;
        for reader in &lane.readers {
            self.cuda.wait_for(&reader.taken[turn])?;
        }
        if let Some(watch) = &mut watch {
            watch.begins(Step::Pack)?;
        }
        let to = &mut lane.packed[turn];
        self.cuda.run::<PackElements<T>>(PackOperands { elements: &self.elements, vectors, x, to })?;
        if let Some(watch) = &mut watch {
            watch.ends(Step::Pack)?;
        }
        self.cuda.set(&lane.own.packed[turn])?;
        // What comes is written where the last product reads.
        self.side.wait_for(&lane.own.packed[turn])?;
        self.signals.send(self.round)
    }

    fn finish(&mut self, vectors: usize, watch: Watch<'_, Cuda>) -> Result<(), Error> {
        self.signals.receive(self.round)?;
        self.round += 1;
        let place = self.lane(vectors)?.0;
        let lane = &mut self.lanes[place];
        let turn = lane.round % TURNS;
        lane.round += 1;
        let begin = match &watch {
            Some(_) => Some(mark_on(&self.cuda, &self.side)?),
            None => None,
        };
        for source in &lane.sources {
            self.side.wait_for(&source.packed[turn])?;
        }
        lane.fetch.queue(turn)?;
        if let (Some(watch), Some(begin)) = (watch, begin) {
            watch.set(Step::Exchange, 0, begin);
            watch.set(Step::Exchange, 1, mark_on(&self.cuda, &self.side)?);
        }
        self.side.set(&lane.own.taken[turn])?;
        Ok(self.cuda.wait_for(&lane.own.taken[turn])?)
    }

    fn received(&self, vectors: usize) -> Option<&CudaBuffer<T>> {
        self.lanes.iter().find(|lane| lane.vectors == vectors).map(|lane| lane.fetch.array())
    }
}

/// When what the second stream has queued will be done.
pub(super) fn mark_on(cuda: &Cuda, side: &SideStream) -> Result<Stamp, Error> {
    let mark = Mark::with_time(cuda)?;
    side.set(&mark)?;
    Ok(Stamp::Mark(mark))
}
