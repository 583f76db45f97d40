//! Exchange by NVIDIA's library NCCL, which is loaded on demand.
#![allow(unsafe_code, reason = "it calls NCCL")]

mod comm;
mod flights;
mod library;

use std::sync::Arc;

use host::Scalar;
use host::elements::Elements;
use host::executor::{Cuda, CudaBuffer, Packing, SideStream};
use host::memory::{copy, reserve, with_capacity};

use super::choice::first_reason;
use super::peers::{mark_on, multiply_beside};
use super::{Chosen, Engine, HaloExchange, Product};
use crate::communicator::Communicator;
use crate::error::Error;
use crate::halo::Halo;
use crate::timeline::{Step, Watch};
use comm::{Comm, Message};
use flights::Flights;
use library::library;

/// Returns the version of the library, or the reason why it cannot be used.
pub(super) fn version() -> Result<String, String> {
    library().map(library::Library::version)
}

/// An exchange by NCCL, or the reason why there is none: the same on all ranks, which must call it together.
pub(super) type Found<T> = Result<Chosen<T, Cuda>, String>;

/// Looks for NCCL, and makes an exchange.
pub(super) fn exchange<T: Scalar>(
    communicator: &Communicator,
    cuda: &Cuda,
    halo: &Halo,
    length: usize,
) -> Result<Found<T>, Error> {
    let library = library();
    let reason = library.as_ref().err().map_or("", String::as_str);
    if let Some(reason) = first_reason(communicator, reason)? {
        return Ok(Err(reason));
    }
    let identities = communicator.all_gather(&cuda.identity()?)?;
    for (rank, identity) in identities.iter().enumerate() {
        if let Some(other) = identities[..rank].iter().position(|other| other == identity) {
            return Ok(Err(format!("ranks {other} and {rank} share a GPU, which NCCL does not support")));
        }
    }
    // No rank's library is missing here.
    let Ok(library) = library else { return Ok(Err("the library is missing".into())) };
    let side = Arc::new(SideStream::new(cuda)?);
    let comm = communicator.kept(|| Comm::new(communicator, library, &side), &cuda.identity()?)?;
    let neighbours = |ranks: &[(usize, usize)]| ranks.iter().map(|&(rank, _)| rank).collect::<Vec<_>>();
    let mut all = [neighbours(&halo.to), neighbours(&halo.from)].concat();
    all.sort_unstable();
    all.dedup();
    let flights = Arc::new(Flights::new(cuda, all)?);
    comm.look_after(&flights);
    let exchange = Nccl::<T> {
        packing: Packing::new(cuda, &side, Elements::new(cuda, length, copy(&halo.elements)?)?)?,
        side,
        comm,
        flights,
        cuda: cuda.clone(),
        to: copy(&halo.to)?,
        from: copy(&halo.from)?,
        lanes: Vec::new(),
    };
    Ok(Ok((Box::new(exchange), Engine::Nccl { version: library.version() })))
}

/// The exchange.
struct Nccl<T: Scalar> {
    side: Arc<SideStream>,
    comm: Arc<Comm>,
    flights: Arc<Flights>,
    cuda: Cuda,
    packing: Packing,
    to: Vec<(usize, usize)>,
    from: Vec<(usize, usize)>,
    /// One per number of vectors multiplied so far.
    lanes: Vec<Lane<T>>,
}

/// The arrays for exchanging a given number of vectors.
struct Lane<T: Scalar> {
    vectors: usize,
    outgoing: CudaBuffer<T>,
    received: CudaBuffer<T>,
    to: Vec<Message>,
    from: Vec<Message>,
}

/// Returns the messages for the parts of an array, one per vector and rank.
fn messages<T: Scalar>(array: &CudaBuffer<T>, vectors: usize, ranks: &[(usize, usize)]) -> Result<Vec<Message>, Error> {
    let mut messages = with_capacity(vectors.saturating_mul(ranks.len()))?;
    let mut first = 0;
    for _ in 0..vectors {
        for &(rank, count) in ranks {
            let address = array.address() + (first * size_of::<T>()) as u64;
            messages.push(Message { rank, address, bytes: count * size_of::<T>() });
            first += count;
        }
    }
    Ok(messages)
}

impl<T: Scalar> Nccl<T> {
    fn lane(&mut self, vectors: usize) -> Result<usize, Error> {
        if let Some(place) = self.lanes.iter().position(|lane| lane.vectors == vectors) {
            return Ok(place);
        }
        let incoming: usize = self.from.iter().map(|&(_, count)| count).sum();
        let (outgoing, _) = self.cuda.reachable::<T>(self.packing.count().saturating_mul(vectors))?;
        let (received, _) = self.cuda.reachable::<T>(incoming.saturating_mul(vectors))?;
        let to = messages(&outgoing, vectors, &self.to)?;
        let from = messages(&received, vectors, &self.from)?;
        reserve(&mut self.lanes, 1)?;
        self.lanes.push(Lane { vectors, outgoing, received, to, from });
        Ok(self.lanes.len() - 1)
    }
}

impl<T: Scalar> HaloExchange<T, Cuda> for Nccl<T> {
    fn exchange(&mut self, product: Product<'_, T, Cuda>, watch: Watch<'_, Cuda>) -> Result<(), Error> {
        // Other ranks do not repeat what a recording repeats.
        self.cuda.refuse_to_record("exchanging elements with other ranks")?;
        self.flights.make_room(|| self.comm.check())?;
        let place = self.lane(product.vectors)?;
        let Self { cuda, side, comm, flights, packing, lanes, .. } = self;
        let Lane { outgoing, received, to, from, .. } = &mut lanes[place];
        // The last elements were sent: the executor has waited for that exchange, and the packing follows it.
        multiply_beside((cuda, packing, side), product, outgoing, watch, |watch| {
            if let Some(watch) = watch {
                watch.set(Step::Exchange, 0, mark_on(cuda, side)?);
            }
            if !to.is_empty() || !from.is_empty() {
                // SAFETY: the messages are parts of the lane's arrays, which `drop` keeps until the stream has finished.
                // They follow the packing and the last product, and the executor uses the arrays again only after
                // everything that the second stream does meanwhile.
                unsafe { comm.exchange(side, to, from)? };
            }
            flights.queued(side)?;
            if let Some(watch) = watch {
                watch.set(Step::Exchange, 1, mark_on(cuda, side)?);
            }
            Ok(received)
        })
    }

    fn received(&self, vectors: usize) -> Option<&CudaBuffer<T>> {
        self.lanes.iter().find(|lane| lane.vectors == vectors).map(|lane| &lane.received)
    }
}

impl<T: Scalar> Drop for Nccl<T> {
    fn drop(&mut self) {
        // If waiting fails, the context is gone with the queued work. The watchdog ensures that it ends.
        let _ = self.side.synchronize();
    }
}
