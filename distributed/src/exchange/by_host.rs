//! Exchange through the host's memory, by the communicator's messages.

use std::time::Instant;

use host::elements::{CopyElements, CopyOperands, Elements};
use host::executor::Executor;
use host::memory::{Buffer, reserve};
use host::{Scalar, Vector};

use super::{HaloExchange, Product};
use crate::communicator::Communicator;
use crate::error::Error;
use crate::halo::Halo;
use crate::neighbours::NeighbourExchange;
use crate::timeline::{Stamp, Step, Watch};
use crate::unpack::Unpack;

/// Elements are copied to the host, sent as messages, and copied to the receiving executor's memory.
pub(super) struct ByHost<T: Scalar, E: Executor> {
    communicator: Communicator,
    executor: E,
    /// Without its elements, which are in the next field.
    halo: Halo,
    elements: Elements<E::Memory>,
    /// One per vector of a product.
    exchanges: Vec<NeighbourExchange<T>>,
    /// Elements of other ranks in transit.
    on_host: Vec<T>,
    received: Vector<T, E>,
}

impl<T: Scalar, E: Executor> ByHost<T, E> {
    pub fn new(communicator: &Communicator, executor: &E, mut halo: Halo, length: usize) -> Result<Self, Error> {
        let elements = Elements::new(executor, length, std::mem::take(&mut halo.elements))?;
        let exchange = communicator.neighbour_exchange(&halo.to, &halo.from)?;
        Ok(Self {
            received: executor.zeros(halo.incoming())?,
            communicator: communicator.clone(),
            executor: executor.clone(),
            halo,
            elements,
            exchanges: vec![exchange],
            on_host: Vec::new(),
        })
    }
}

impl<T: Scalar, E: Executor> HaloExchange<T, E> for ByHost<T, E> {
    fn exchange(&mut self, product: Product<'_, T, E>, mut watch: Watch<'_, E>) -> Result<(), Error> {
        let Product { vectors, x, local, .. } = product;
        // Fails while a GPU's work is recorded: messages would be sent again when the recording is discarded.
        self.executor.synchronize()?;
        while self.exchanges.len() < vectors {
            reserve(&mut self.exchanges, 1)?;
            self.exchanges.push(self.communicator.neighbour_exchange(&self.halo.to, &self.halo.from)?);
        }
        if let Some(watch) = &mut watch {
            watch.begins(Step::Pack)?;
        }
        let exchanges = &mut self.exchanges[..vectors];
        let to = &mut exchanges.iter_mut().map(NeighbourExchange::outgoing);
        self.executor.run::<CopyElements<T>>(CopyOperands { elements: &self.elements, x, to })?;
        if let Some(watch) = &mut watch {
            watch.ends(Step::Pack)?;
            watch.set(Step::Exchange, 0, Stamp::Clock(Instant::now()));
        }
        exchanges.iter_mut().try_for_each(NeighbourExchange::start)?;
        let done = local(&mut watch);
        self.on_host.clear();
        for exchange in &mut self.exchanges[..vectors] {
            exchange.wait(&mut self.on_host)?;
        }
        if let Some(watch) = watch {
            watch.set(Step::Exchange, 1, Stamp::Clock(Instant::now()));
        }
        if self.halo.incoming() > 0 {
            self.executor.run::<Unpack<T>>((&mut self.on_host, &mut self.received))?;
        }
        done
    }

    fn received(&self, vectors: usize) -> Option<&Vector<T, E>> {
        (self.received.len() == self.halo.incoming() * vectors).then_some(&self.received)
    }
}
