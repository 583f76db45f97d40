//! Exchange by the communicator's messages between the memory of GPUs.
//!
//! The sender of messages does not support streams: the host waits for the packing before it sends, and for the received
//! elements before it queues the product with them. The local product is queued before both.

use std::sync::Arc;
use std::time::Instant;

use host::Scalar;
use host::elements::Elements;
use host::executor::{Cuda, CudaBuffer, Mark, Packing, SideStream};
use host::memory::{copy, reserve, with_capacity};

use super::choice::first_reason;
use super::peers::multiply_beside;
use super::{Chosen, Engine, HaloExchange, Product};
use crate::communicator::Communicator;
use crate::error::Error;
use crate::halo::Halo;
use crate::timeline::{Stamp, Step, Watch};
use crate::transport::{GpuExchange, GpuMemory, Messages};

/// The exchange.
struct GpuMessages<T: Scalar> {
    communicator: Communicator,
    cuda: Cuda,
    side: Arc<SideStream>,
    packing: Packing,
    /// Set after the packing.
    packed: Mark,
    to: Vec<(usize, usize)>,
    from: Vec<(usize, usize)>,
    /// One per number of vectors multiplied so far.
    lanes: Vec<Lane<T>>,
}

/// State for exchanging a given number of vectors.
struct Lane<T: Scalar> {
    vectors: usize,
    exchange: Box<dyn GpuExchange>,
    outgoing: CudaBuffer<T>,
    received: CudaBuffer<T>,
}

/// Creates an exchange of vectors of `length` elements, or the reason why there is none: the same on all ranks, which must
/// call it together.
pub(super) fn exchange<T: Scalar>(
    communicator: &Communicator,
    cuda: &Cuda,
    halo: &Halo,
    length: usize,
) -> Result<Result<Chosen<T, Cuda>, String>, Error> {
    let reason = communicator.transport().reaches_gpus().err().unwrap_or_default();
    if let Some(reason) = first_reason(communicator, &reason)? {
        return Ok(Err(reason));
    }
    let side = Arc::new(SideStream::new(cuda)?);
    let exchange = GpuMessages::<T> {
        communicator: communicator.clone(),
        cuda: cuda.clone(),
        packing: Packing::new(cuda, &side, Elements::new(cuda, length, copy(&halo.elements)?)?)?,
        side,
        packed: Mark::new(cuda)?,
        to: copy(&halo.to)?,
        from: copy(&halo.from)?,
        lanes: Vec::new(),
    };
    Ok(Ok((Box::new(exchange), Engine::Mpi)))
}

/// Returns the messages of several vectors, vector by vector.
fn messages<T>(vectors: usize, ranks: &[(usize, usize)]) -> Result<Vec<(usize, usize)>, Error> {
    let mut messages = with_capacity(vectors.saturating_mul(ranks.len()))?;
    for _ in 0..vectors {
        messages.extend(ranks.iter().map(|&(rank, count)| (rank, count * size_of::<T>())));
    }
    Ok(messages)
}

impl<T: Scalar> GpuMessages<T> {
    /// Returns the lane for a number of vectors; all ranks make a missing one together.
    fn lane(&mut self, vectors: usize) -> Result<usize, Error> {
        if let Some(place) = self.lanes.iter().position(|lane| lane.vectors == vectors) {
            return Ok(place);
        }
        let incoming: usize = self.from.iter().map(|&(_, count)| count).sum();
        let (outgoing, sent) = self.cuda.reachable::<T>(self.packing.count().saturating_mul(vectors))?;
        let (received, come) = self.cuda.reachable::<T>(incoming.saturating_mul(vectors))?;
        let messages = Messages { to: messages::<T>(vectors, &self.to)?, from: messages::<T>(vectors, &self.from)? };
        let memory = GpuMemory { outgoing: sent, incoming: come };
        let exchange = self.communicator.transport().gpu_exchange(self.communicator.channel(), messages, memory)?;
        reserve(&mut self.lanes, 1)?;
        self.lanes.push(Lane { vectors, exchange, outgoing, received });
        Ok(self.lanes.len() - 1)
    }
}

impl<T: Scalar> HaloExchange<T, Cuda> for GpuMessages<T> {
    fn exchange(&mut self, product: Product<'_, T, Cuda>, watch: Watch<'_, Cuda>) -> Result<(), Error> {
        // Messages would be sent again when the recording is discarded.
        self.cuda.refuse_to_record("exchanging elements with other ranks")?;
        let place = self.lane(product.vectors)?;
        let Self { cuda, side, packing, packed, lanes, .. } = self;
        let Lane { exchange, outgoing, received, .. } = &mut lanes[place];
        multiply_beside((cuda, packing, side), product, outgoing, watch, |watch| {
            side.set(packed)?;
            // Also after the last product, which has read the previous elements.
            packed.wait()?;
            if let Some(watch) = watch {
                watch.set(Step::Exchange, 0, Stamp::Clock(Instant::now()));
            }
            exchange.start()?;
            exchange.wait()?;
            if let Some(watch) = watch {
                watch.set(Step::Exchange, 1, Stamp::Clock(Instant::now()));
            }
            Ok(received)
        })
    }

    fn received(&self, vectors: usize) -> Option<&CudaBuffer<T>> {
        self.lanes.iter().find(|lane| lane.vectors == vectors).map(|lane| &lane.received)
    }
}
