//! Transport of messages between ranks.

use std::any::Any;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[cfg(feature = "cuda")]
use host::executor::PeerMemory;

use crate::error::Error;
use crate::options::Options;

/// A sequence of messages between two ranks. Messages of one channel arrive in sending order; those of different channels
/// do not wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Channel(pub u32);

/// Sends bytes from one rank to another: all that an engine must provide. [`Communicator`](crate::Communicator) builds
/// collectives on it.
pub trait Transport: Send + Sync {
    /// This rank.
    fn rank(&self) -> usize;

    /// Returns the number of ranks.
    fn ranks(&self) -> usize;

    /// Sends a message to another rank, without waiting for it to be received.
    ///
    /// # Errors
    /// When any rank has failed, or memory runs out.
    fn send(&self, to: usize, channel: Channel, message: &[u8]) -> Result<(), Error>;

    /// Blocks until the next message of another rank arrives, and returns it.
    ///
    /// # Errors
    /// When any rank has failed, or the message does not arrive within the ranks' timeout.
    fn receive(&self, from: usize, channel: Channel) -> Result<Vec<u8>, Error>;

    /// Makes everything that other ranks wait for, now or later, fail with this reason.
    fn fail(&self, reason: &str);

    /// Returns an error if any rank has failed. Does not block.
    ///
    /// # Errors
    /// When any rank has failed.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Returns whether a rank is known to have ended, after which it sends nothing.
    fn has_ended(&self, _rank: usize) -> bool {
        false
    }

    /// Returns how long ranks may be silent before they are considered dead; `None` for no limit.
    fn timeout(&self) -> Option<Duration> {
        Options::default().timeout
    }

    /// Shows a few bytes to all ranks, and waits for theirs; returns `None` if the transport has no faster way than
    /// messages. All ranks that call it do so in the same order.
    ///
    /// # Errors
    /// As for [`receive`](Self::receive).
    fn show(&self, _shown: &Shown) -> Result<Option<Vec<Shown>>, Error> {
        Ok(None)
    }

    /// Returns the board on which ranks with shared memory leave values for each other; `None` for other ranks.
    fn board(&self) -> Option<&Board> {
        None
    }

    /// Creates an exchange of messages of fixed lengths with neighbours, on its own channel.
    ///
    /// # Errors
    /// When memory runs out.
    fn exchange(&self, channel: Channel, messages: Messages) -> Result<Box<dyn Exchange>, Error>;

    /// Returns whether it transfers messages from one GPU's memory to another's without a copy on the host, or the reason
    /// why not.
    ///
    /// # Errors
    /// The reason.
    #[cfg(feature = "cuda")]
    fn reaches_gpus(&self) -> Result<(), String> {
        Err("messages of these ranks go through the host".into())
    }

    /// Like [`exchange`](Self::exchange), between arrays of GPUs.
    ///
    /// # Errors
    /// When it does not [reach](Self::reaches_gpus) the GPUs, an array is too short, or memory runs out.
    #[cfg(feature = "cuda")]
    fn gpu_exchange(
        &self,
        _channel: Channel,
        _messages: Messages,
        _memory: GpuMemory,
    ) -> Result<Box<dyn GpuExchange>, Error> {
        let reason = self.reaches_gpus().err().unwrap_or_default();
        Err(Error::Exchange { way: "mpi", reason })
    }
}

/// Most bytes that a rank can [show](Transport::show).
pub const MOST_SHOWN: usize = 64;

/// The data that a rank shows to all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The kind of collective.
    pub collective: u64,
    /// The number of previous collectives.
    pub number: u64,
    /// Number of valid bytes; `None` if there are too many to be shown.
    pub length: Option<usize>,
    /// The bytes.
    pub bytes: [u8; MOST_SHOWN],
}

impl Shown {
    /// Shows `contents`, or that they are too long.
    pub fn new(collective: u64, number: u64, contents: &[u8]) -> Self {
        let mut bytes = [0; MOST_SHOWN];
        let length = (contents.len() <= MOST_SHOWN).then_some(contents.len());
        if let Some(length) = length {
            bytes[..length].copy_from_slice(contents);
        }
        Self { collective, number, length, bytes }
    }

    /// Returns the bytes, unless they are too many.
    pub fn contents(&self) -> Option<&[u8]> {
        self.bytes.get(..self.length?)
    }
}

/// A value per rank for the others, in rank order.
pub type Board = Mutex<Vec<Option<Arc<dyn Any + Send + Sync>>>>;

/// The neighbours of a rank, with the length of the message to and from each.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    /// Receiving ranks, and numbers of bytes.
    pub to: Vec<(usize, usize)>,
    /// Sending ranks, and numbers of bytes.
    pub from: Vec<(usize, usize)>,
}

/// A repeatable exchange with neighbours.
pub trait Exchange: Send {
    /// Sends the messages for the neighbours, stored consecutively in `outgoing`.
    ///
    /// # Errors
    /// When any rank has failed.
    fn start(&mut self, outgoing: &[u8]) -> Result<(), Error>;

    /// Waits for the messages of the neighbours, and stores them consecutively in `incoming`.
    ///
    /// # Errors
    /// When any rank has failed, or a message does not arrive within the ranks' timeout.
    fn wait(&mut self, incoming: &mut [u8]) -> Result<(), Error>;
}

/// Arrays on a GPU for sent and received messages, stored consecutively.
#[cfg(feature = "cuda")]
#[derive(Clone)]
pub struct GpuMemory {
    /// The messages to be sent.
    pub outgoing: Arc<PeerMemory>,
    /// The received messages.
    pub incoming: Arc<PeerMemory>,
}

/// A repeatable exchange with neighbours between the memory of GPUs, on a thread whose current context is that of this
/// rank's GPU.
#[cfg(feature = "cuda")]
pub trait GpuExchange: Send {
    /// Sends the messages for the neighbours. The GPU must have written them, and must not use the previously received ones
    /// any more.
    ///
    /// # Errors
    /// When any rank has failed.
    fn start(&mut self) -> Result<(), Error>;

    /// Waits for the messages of the neighbours.
    ///
    /// # Errors
    /// When any rank has failed, or a message does not arrive within the ranks' timeout.
    fn wait(&mut self) -> Result<(), Error>;
}
