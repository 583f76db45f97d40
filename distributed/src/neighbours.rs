//! Exchanges with some of the other ranks.

use bytemuck::{cast_slice, cast_slice_mut};
use host::memory::{Element, reserve};

use crate::error::Error;
use crate::transport::Exchange;

/// An exchange of elements with neighbours; see
/// [`neighbour_exchange`](crate::Communicator::neighbour_exchange).
pub struct NeighbourExchange<T> {
    pub(crate) exchange: Box<dyn Exchange>,
    pub(crate) outgoing: Vec<T>,
    pub(crate) incoming: usize,
    pub(crate) under_way: bool,
}

impl<T: Element> NeighbourExchange<T> {
    /// Returns the elements for the neighbours, neighbour by neighbour: to be written before [`start`](Self::start).
    pub fn outgoing(&mut self) -> &mut [T] {
        &mut self.outgoing
    }

    /// Returns the number of elements received from all neighbours.
    pub fn incoming(&self) -> usize {
        self.incoming
    }

    /// Sends the [`outgoing`](Self::outgoing) elements, and returns immediately.
    ///
    /// # Errors
    /// When the previous exchange was not waited for, or a rank fails.
    pub fn start(&mut self) -> Result<(), Error> {
        if self.under_way {
            return Err(Error::Setting {
                what: "the exchange",
                value: "in progress".into(),
                expected: "one that was waited for",
            });
        }
        self.under_way = true;
        self.exchange.start(cast_slice(&self.outgoing))
    }

    /// Waits for the elements of the neighbours, and appends them to `received`, neighbour by neighbour.
    ///
    /// # Errors
    /// When it was not started, a rank fails, or memory runs out.
    pub fn wait(&mut self, received: &mut Vec<T>) -> Result<(), Error> {
        if !self.under_way {
            let value = "not in progress".into();
            return Err(Error::Setting { what: "the exchange", value, expected: "one that was started" });
        }
        self.under_way = false;
        let first = received.len();
        reserve(received, self.incoming)?;
        received.resize(first + self.incoming, T::default());
        self.exchange.wait(cast_slice_mut(&mut received[first..]))
    }
}
