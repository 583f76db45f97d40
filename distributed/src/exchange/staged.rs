//! Exchange of GPUs through the host: elements pass through page-locked memory while the executor multiplies.

use host::elements::Elements;
use host::executor::{Cuda, CudaBuffer, CudaMemory};
use host::memory::{reserve, with_capacity};
use host::{Scalar, executor};

use super::peers::mark_on;
use super::{HaloExchange, Product};
use crate::communicator::Communicator;
use crate::error::Error;
use crate::halo::Halo;
use crate::neighbours::NeighbourExchange;
use crate::timeline::{Step, Watch};

/// Elements are copied to the host beside the executor's work, sent as messages, and copied to another GPU in the same way.
/// The host waits for both after it has queued the local product.
pub(super) struct Staged<T: Scalar> {
    communicator: Communicator,
    cuda: Cuda,
    /// Without its elements, which are in the next field.
    halo: Halo,
    elements: Elements<CudaMemory>,
    /// One per vector of a product.
    exchanges: Vec<NeighbourExchange<T>>,
    /// Elements of other ranks in transit.
    on_host: Vec<T>,
    /// One per number of vectors multiplied so far.
    lanes: Vec<(usize, executor::Staged<T>)>,
}

impl<T: Scalar> Staged<T> {
    pub fn new(communicator: &Communicator, cuda: &Cuda, mut halo: Halo, length: usize) -> Result<Self, Error> {
        let elements = Elements::new(cuda, length, std::mem::take(&mut halo.elements))?;
        let exchange = communicator.neighbour_exchange(&halo.to, &halo.from)?;
        let on_host = with_capacity(halo.incoming())?;
        Ok(Self {
            communicator: communicator.clone(),
            cuda: cuda.clone(),
            halo,
            elements,
            exchanges: vec![exchange],
            on_host,
            lanes: Vec::new(),
        })
    }

    fn lane(&mut self, vectors: usize) -> Result<usize, Error> {
        if let Some(place) = self.lanes.iter().position(|lane| lane.0 == vectors) {
            return Ok(place);
        }
        let count = |elements: usize| elements.saturating_mul(vectors);
        let lane = executor::Staged::new(&self.cuda, count(self.elements.len()), count(self.halo.incoming()))?;
        reserve(&mut self.lanes, 1)?;
        self.lanes.push((vectors, lane));
        Ok(self.lanes.len() - 1)
    }
}

impl<T: Scalar> HaloExchange<T, Cuda> for Staged<T> {
    fn exchange(&mut self, product: Product<'_, T, Cuda>, mut watch: Watch<'_, Cuda>) -> Result<(), Error> {
        let Product { vectors, x, local, .. } = product;
        // Messages would be sent again when the recording is discarded.
        self.cuda.refuse_to_record("exchanging elements with other ranks")?;
        while self.exchanges.len() < vectors {
            reserve(&mut self.exchanges, 1)?;
            self.exchanges.push(self.communicator.neighbour_exchange(&self.halo.to, &self.halo.from)?);
        }
        let place = self.lane(vectors)?;
        let lane = &mut self.lanes[place].1;
        if let Some(watch) = &mut watch {
            watch.begins(Step::Pack)?;
        }
        lane.pack(&self.elements, vectors, x)?;
        if let Some(watch) = &mut watch {
            watch.ends(Step::Pack)?;
            watch.begins(Step::Exchange)?;
        }
        let done = local(&mut watch);
        let (exchanges, mut packed) = (&mut self.exchanges[..vectors], lane.packed()?);
        for exchange in exchanges.iter_mut() {
            let (of_vector, rest) = packed.split_at(exchange.outgoing().len());
            exchange.outgoing().copy_from_slice(of_vector);
            packed = rest;
            exchange.start()?;
        }
        self.on_host.clear();
        for exchange in exchanges {
            exchange.wait(&mut self.on_host)?;
        }
        lane.bring(&self.on_host)?;
        if let Some(watch) = watch {
            watch.set(Step::Exchange, 1, mark_on(&self.cuda, lane.side())?);
        }
        done
    }

    fn received(&self, vectors: usize) -> Option<&CudaBuffer<T>> {
        self.lanes.iter().find(|lane| lane.0 == vectors).map(|lane| lane.1.received())
    }
}
