//! Exchange by peer copies between GPUs: for ranks that are threads of one process.
//!
//! A rank has two arrays that it packs in turn on its second stream, and sets a mark after each packing. It then signals
//! its neighbours on the host; their second streams wait for the mark, copy, and set a mark after the copies. The executor
//! waits for its second stream before it multiplies with the received elements. No host thread waits for a GPU. Before a
//! rank packs an array again, its second stream waits for the previous copies from it: they have been queued, because the
//! neighbours have signalled a later exchange since.

use std::sync::Arc;

use host::Scalar;
use host::elements::Elements;
use host::executor::{Cuda, CudaBuffer, Fetch, Mark, Packing, PeerMemory, Piece, SideStream};
use host::memory::{copy, reserve, with_capacity};

use super::signals::Signals;
use super::{Chosen, Engine, HaloExchange, Product};
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
    packing: Packing,
    /// Ranks, and numbers of elements sent to them and received from them.
    to: Vec<(usize, usize)>,
    from: Vec<(usize, usize)>,
    signals: Signals,
    /// Number of exchanges so far.
    round: u64,
    /// One per number of vectors multiplied so far.
    lanes: Vec<Lane<T>>,
}

/// State for exchanging a given number of vectors.
struct Lane<T: Scalar> {
    vectors: usize,
    packed: [CudaBuffer<T>; TURNS],
    own: Arc<Shared>,
    /// Of the ranks that receive this rank's elements, and of those that it receives from.
    readers: Vec<Arc<Shared>>,
    sources: Vec<Arc<Shared>>,
    fetch: Fetch<T>,
    round: usize,
}

/// The part of a lane that other ranks access.
struct Shared {
    memory: [Arc<PeerMemory>; TURNS],
    /// The offset of each rank's elements among those of a vector.
    first: Vec<(usize, usize)>,
    /// Elements of a vector sent to all ranks together.
    stride: usize,
    /// Set after the packing of each array.
    packed: [Mark; TURNS],
    /// Set after this rank's copies, in turn.
    taken: [Mark; TURNS],
}

/// Creates the exchange of a halo between threads, for vectors of `length` elements. All ranks must make it together.
pub(super) fn exchange<T: Scalar>(
    communicator: &Communicator,
    cuda: &Cuda,
    halo: &Halo,
    length: usize,
) -> Result<Chosen<T, Cuda>, Error> {
    let side = Arc::new(SideStream::new(cuda)?);
    let mut exchange = PeerCopies {
        communicator: communicator.clone(),
        cuda: cuda.clone(),
        packing: Packing::new(cuda, &side, Elements::new(cuda, length, copy(&halo.elements)?)?)?,
        side,
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
    /// Returns the index of the lane for a number of vectors, which all ranks make together if missing, and whether this
    /// GPU reaches all others that it copies from.
    fn lane(&mut self, vectors: usize) -> Result<(usize, bool), Error> {
        if let Some(place) = self.lanes.iter().position(|lane| lane.vectors == vectors) {
            return Ok((place, true));
        }
        let cuda = &self.cuda;
        let sent = self.packing.count();
        let incoming: usize = self.from.iter().map(|&(_, count)| count).sum();
        let array = || cuda.reachable::<T>(sent.saturating_mul(vectors));
        let ((first_packed, first_memory), (second_packed, second_memory)) = (array()?, array()?);
        let mut first = with_capacity(self.to.len())?;
        let mut stride = 0;
        for &(rank, count) in &self.to {
            first.push((rank, stride));
            stride += count;
        }
        let own = Arc::new(Shared {
            memory: [first_memory, second_memory],
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
        let (into, _) = cuda.reachable(incoming.saturating_mul(vectors))?;
        let fetch = Fetch::new(&self.side, pieces.into(), into)?;
        reserve(&mut self.lanes, 1)?;
        let packed = [first_packed, second_packed];
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
    fn exchange(&mut self, product: Product<'_, T, Cuda>, watch: Watch<'_, Cuda>) -> Result<(), Error> {
        // Other ranks do not repeat what a recording repeats.
        self.cuda.refuse_to_record("exchanging elements with other ranks")?;
        let place = self.lane(product.vectors)?.0;
        let Self { cuda, side, packing, signals, round: number, lanes, .. } = self;
        let Lane { packed, own, readers, sources, fetch, round, .. } = &mut lanes[place];
        let turn = *round % TURNS;
        for reader in readers.iter() {
            side.wait_for(&reader.taken[turn])?;
        }
        // Received elements overwrite those that the last product reads, after which the second stream packs.
        multiply_beside((cuda, packing, side), product, &mut packed[turn], watch, |watch| {
            side.set(&own.packed[turn])?;
            signals.send(*number)?;
            signals.receive(*number)?;
            let begin = match &watch {
                Some(_) => Some(mark_on(cuda, side)?),
                None => None,
            };
            for source in sources.iter() {
                side.wait_for(&source.packed[turn])?;
            }
            fetch.queue(turn)?;
            if let (Some(watch), Some(begin)) = (watch, begin) {
                watch.set(Step::Exchange, 0, begin);
                watch.set(Step::Exchange, 1, mark_on(cuda, side)?);
            }
            side.set(&own.taken[turn])?;
            *round += 1;
            *number += 1;
            Ok(fetch.array())
        })
    }

    fn received(&self, vectors: usize) -> Option<&CudaBuffer<T>> {
        self.lanes.iter().find(|lane| lane.vectors == vectors).map(|lane| lane.fetch.array())
    }
}

/// Packs on the second stream, queues the local product, fetches the elements of other ranks, and multiplies with them on
/// the second stream if that can run beside the local product. Records the times if the product is watched.
pub(super) fn multiply_beside<'product: 'env, 'env, T: Scalar>(
    (cuda, packing, side): (&'env Cuda, &'env mut Packing, &'env SideStream),
    product: Product<'product, T, Cuda>,
    to: &'env mut CudaBuffer<T>,
    mut watch: Watch<'_, Cuda>,
    bring: impl FnOnce(&mut Watch<'_, Cuda>) -> Result<&'env CudaBuffer<T>, Error>,
) -> Result<(), Error> {
    let times = match watch {
        Some(_) => Some([Mark::with_time(cuda)?, Mark::with_time(cuda)?]),
        None => None,
    };
    let Product { vectors, x, local, remote } = product;
    let done = packing.beside(vectors, x, to, times.as_ref(), |beside| {
        // At once: the product hides later work of the host, such as the 100 µs that NCCL takes.
        let done = local(&mut watch);
        let received = bring(&mut watch)?;
        if let Some(remote) = remote {
            let begin = match watch {
                Some(_) => Some(mark_on(cuda, side)?),
                None => None,
            };
            if let (true, Some(begin), Some(watch)) = (remote.multiply_beside(beside, received)?, begin, &mut watch) {
                watch.set(Step::Remote, 0, begin);
                watch.set(Step::Remote, 1, mark_on(cuda, side)?);
            }
        }
        done
    })?;
    if let (Some(watch), Some([begin, end])) = (watch, times) {
        watch.set(Step::Pack, 0, Stamp::Mark(begin));
        watch.set(Step::Pack, 1, Stamp::Mark(end));
    }
    done
}

/// Returns a stamp of when the work queued on the second stream has finished.
pub(super) fn mark_on(cuda: &Cuda, side: &SideStream) -> Result<Stamp, Error> {
    let mark = Mark::with_time(cuda)?;
    side.set(&mark)?;
    Ok(Stamp::Mark(mark))
}
