//! Sums that each GPU reads in the memory of the others: for ranks that are threads of one process.
//!
//! A rank writes its sums to two arrays in turn, and then its flag there. When it has queued that, it signals the others on
//! the host. No host thread waits for a GPU: the kernel that adds up the sums waits for the flags, which takes a microsecond
//! or two; with marks in streams, a sum took about twenty. If ranks share a GPU, whose kernels might wait for each other
//! forever, streams wait for marks nevertheless.
//!
//! A kernel that waits must not depend on work that is yet to be queued: a call of the driver may block until that kernel
//! has ended, on other GPUs, too. Hence the flag is set by the kernel that writes the sums, before the signal, and not by
//! the one that waits, behind the product that pipelined methods queue in between.
//!
//! Before a rank overwrites an array, it has waited for the next sums of all ranks, whose kernels follow those that read
//! this one.

use std::sync::Arc;
use std::time::Duration;

use host::Vector;
use host::executor::{Cuda, CudaBuffer, CudaMemory, Executor, Mark, PeerArray, PeerMemory};
use host::memory::with_capacity;
use solvers::{FIRST_SUM, Gathered, MOST_RANKS, SumsInMemory};

use super::choice::for_executor;
use super::signals::Signals;
use crate::communicator::Communicator;
use crate::error::Error;
use crate::timeline::as_cuda;

/// Arrays that are written in turn.
const TURNS: usize = 2;

/// The sums of ranks.
struct PeerSums {
    cuda: Cuda,
    rank: usize,
    own: [CudaBuffer<f64>; TURNS],
    /// The arrays of each rank, including this one.
    of_ranks: Vec<Peer>,
    signals: Signals,
    /// Whether no two ranks share a GPU.
    apart: bool,
    patience: Option<Duration>,
    /// Number of sums so far.
    number: u64,
}

/// A rank's arrays, and the marks set after writing them.
struct Peer {
    sums: [PeerArray<f64>; TURNS],
    shared: Arc<Shared>,
}

/// The part that other ranks access.
struct Shared {
    sums: [Arc<PeerMemory>; TURNS],
    written: [Mark; TURNS],
}

/// Creates an array of zeros that other GPUs can access, and its memory.
fn reachable_zeros(cuda: &Cuda, length: usize) -> Result<(CudaBuffer<f64>, Arc<PeerMemory>), Error> {
    let (mut array, memory) = cuda.reachable(length)?;
    cuda.copy(&cuda.zeros(length)?, &mut array)?;
    Ok((array, memory))
}

/// Sums in memory, up to `sums` at a time, if each GPU reaches the memory of all others. All ranks must make it together.
pub(crate) fn in_memory<E: Executor>(
    communicator: &Communicator,
    executor: &E,
    sums: usize,
) -> Result<Option<Box<dyn SumsInMemory<E>>>, Error> {
    let (rank, ranks) = (communicator.rank(), communicator.ranks());
    let Some(cuda) = as_cuda(executor).filter(|_| ranks <= MOST_RANKS) else { return Ok(None) };
    let length = sums.saturating_add(FIRST_SUM as usize);
    let array = || reachable_zeros(cuda, length);
    let ((first, first_memory), (second, second_memory)) = (array()?, array()?);
    // The zeros must be written before others read the arrays.
    cuda.synchronize()?;
    let shared = communicator.share(&Arc::new(Shared {
        sums: [first_memory, second_memory],
        written: [Mark::new(cuda)?, Mark::new(cuda)?],
    }))?;
    let mut of_ranks = with_capacity(ranks)?;
    for shared in shared {
        let [first, second] = &shared.sums;
        if let (Some(first), Some(second)) = (cuda.peer_array(first)?, cuda.peer_array(second)?) {
            of_ranks.push(Peer { sums: [first, second], shared });
        }
    }
    let mut all = [u8::from(of_ranks.len() == ranks)];
    communicator.reduce(&mut all, u8::min)?;
    if all == [0] {
        return Ok(None);
    }
    let mut gpus = communicator.all_gather(&cuda.identity()?)?;
    gpus.sort_unstable();
    let others: Vec<_> = (0..ranks).filter(|&other| other != rank).map(|other| (other, 1)).collect();
    let sums: Box<dyn SumsInMemory<Cuda>> = Box::new(PeerSums {
        cuda: cuda.clone(),
        rank,
        own: [first, second],
        of_ranks,
        signals: Signals::new(communicator, &others, &others),
        apart: gpus.windows(2).all(|pair| pair[0] != pair[1]),
        patience: communicator.transport().timeout(),
        number: 0,
    });
    Ok(Some(for_executor(sums)?))
}

impl PeerSums {
    fn turn(&self) -> usize {
        (self.number % TURNS as u64) as usize
    }

    /// What this rank's flag becomes with its next sums; 0 if marks are waited for.
    fn flag(&self) -> u64 {
        if self.apart { self.number + 1 } else { 0 }
    }
}

impl SumsInMemory<Cuda> for PeerSums {
    fn ranks(&self) -> usize {
        self.of_ranks.len()
    }

    fn own(&mut self) -> (&mut Vector<f64, Cuda>, u64) {
        let (turn, flag) = (self.turn(), self.flag());
        (&mut self.own[turn], flag)
    }

    fn announce(&mut self) -> Result<(), host::Error> {
        // Other ranks do not repeat what a recording repeats.
        self.cuda.refuse_to_record("adding up the sums of ranks")?;
        if !self.apart {
            self.cuda.set(&self.of_ranks[self.rank].shared.written[self.turn()])?;
        }
        Ok(self.signals.send(self.number)?)
    }

    fn gather(&mut self) -> Result<Gathered<'_, CudaMemory>, host::Error> {
        self.signals.receive(self.number)?;
        let (turn, flag) = (self.turn(), self.flag());
        self.number += 1;
        let Self { cuda, rank, of_ranks, apart, patience, .. } = self;
        let others = of_ranks.iter().enumerate().filter(|(other, _)| !*apart && *other != *rank);
        for (_, other) in others {
            cuda.wait_for(&other.shared.written[turn])?;
        }
        // Past the last rank, any array.
        let array_of = |rank: usize| of_ranks[rank.min(of_ranks.len() - 1)].sums[turn].array();
        let ranks = of_ranks.len();
        Ok(Gathered { ranks, of_ranks: std::array::from_fn(array_of), number: flag, patience: *patience })
    }
}
