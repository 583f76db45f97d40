//! The transport of a single rank.

use crate::error::Error;
use crate::transport::{Channel, Exchange, Messages, Transport};

/// A single rank, without others to send to.
pub(crate) struct Alone;

impl Transport for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn ranks(&self) -> usize {
        1
    }

    fn send(&self, to: usize, _: Channel, _: &[u8]) -> Result<(), Error> {
        Err(no_such_rank(to))
    }

    fn receive(&self, from: usize, _: Channel) -> Result<Vec<u8>, Error> {
        Err(no_such_rank(from))
    }

    fn fail(&self, _: &str) {}

    fn exchange(&self, _: Channel, messages: Messages) -> Result<Box<dyn Exchange>, Error> {
        match messages.to.first().or(messages.from.first()) {
            Some(&(rank, _)) => Err(no_such_rank(rank)),
            None => Ok(Box::new(Nothing)),
        }
    }
}

fn no_such_rank(rank: usize) -> Error {
    Error::Setting { what: "the rank of a neighbour", value: rank.to_string(), expected: "another rank" }
}

/// An exchange without neighbours.
struct Nothing;

impl Exchange for Nothing {
    fn start(&mut self, _: &[u8]) -> Result<(), Error> {
        Ok(())
    }

    fn wait(&mut self, _: &mut [u8]) -> Result<(), Error> {
        Ok(())
    }
}
