//! What carries messages from one rank to another.

use crate::error::Error;

/// One of the sequences of messages between two ranks. Messages of one channel arrive in the order in which they were
/// sent; those of different channels do not wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Channel(pub u32);

/// The way of bytes from one rank to another: all that an engine has to bring.
/// [`Communicator`](crate::Communicator) makes collectives of it.
pub trait Transport: Send + Sync {
    /// This rank.
    fn rank(&self) -> usize;

    /// Number of ranks.
    fn ranks(&self) -> usize;

    /// Sends a message to another rank, without waiting for it to be received.
    ///
    /// # Errors
    /// When any rank has failed, or memory runs out.
    fn send(&self, to: usize, channel: Channel, message: &[u8]) -> Result<(), Error>;

    /// Waits for the next message of another rank.
    ///
    /// # Errors
    /// When any rank has failed, or the message does not come within the time that the ranks may take.
    fn receive(&self, from: usize, channel: Channel) -> Result<Vec<u8>, Error>;

    /// Makes all that other ranks wait for, now or later, an error for this reason.
    fn fail(&self, reason: &str);

    /// An exchange of messages with neighbours whose lengths are always the same, for a channel of its own.
    ///
    /// # Errors
    /// When memory runs out.
    fn exchange(&self, channel: Channel, messages: Messages) -> Result<Box<dyn Exchange>, Error>;
}

/// The neighbours of a rank and the length of the message to each of them and from each of them.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    /// Ranks, and bytes that they get.
    pub to: Vec<(usize, usize)>,
    /// Ranks, and bytes that come from them.
    pub from: Vec<(usize, usize)>,
}

/// An exchange with neighbours that is done again and again.
pub trait Exchange: Send {
    /// Sends what each neighbour gets, one after the other in `outgoing`.
    ///
    /// # Errors
    /// When any rank has failed.
    fn start(&mut self, outgoing: &[u8]) -> Result<(), Error>;

    /// Waits for what each neighbour sends, and puts it into `incoming`, one after the other.
    ///
    /// # Errors
    /// When any rank has failed, or a message does not come within the time that the ranks may take.
    fn wait(&mut self, incoming: &mut [u8]) -> Result<(), Error>;
}
