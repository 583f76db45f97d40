//! What carries messages from one rank to another.

use std::any::Any;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[cfg(feature = "cuda")]
use host::executor::PeerMemory;

use crate::error::Error;
use crate::options::Options;

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

    /// An error if any rank has failed, without waiting for anything.
    ///
    /// # Errors
    /// Then.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Whether a rank is known to have ended its work, after which it sends nothing more.
    fn has_ended(&self, _rank: usize) -> bool {
        false
    }

    /// How long ranks may be silent until they are taken for dead; none where for ever.
    fn timeout(&self) -> Option<Duration> {
        Options::default().timeout
    }

    /// Shows all ranks a few bytes, and waits for what they show; none where the transport has no faster way for that than
    /// messages. All ranks that do it do it in the same order.
    ///
    /// # Errors
    /// As for [`receive`](Self::receive).
    fn show(&self, _shown: &Shown) -> Result<Option<Vec<Shown>>, Error> {
        Ok(None)
    }

    /// Where ranks that share their memory leave values for each other; none where they do not.
    fn board(&self) -> Option<&Board> {
        None
    }

    /// An exchange of messages with neighbours whose lengths are always the same, for a channel of its own.
    ///
    /// # Errors
    /// When memory runs out.
    fn exchange(&self, channel: Channel, messages: Messages) -> Result<Box<dyn Exchange>, Error>;

    /// Whether it brings messages from one GPU's memory to another's without a copy of them on the host, or why not.
    ///
    /// # Errors
    /// The reason.
    #[cfg(feature = "cuda")]
    fn reaches_gpus(&self) -> Result<(), String> {
        Err("messages of these ranks go through the host".into())
    }

    /// The same as [`exchange`](Self::exchange) between arrays of GPUs.
    ///
    /// # Errors
    /// When it does not [reach](Self::reaches_gpus) them, an array is too short, or memory runs out.
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

/// The most bytes that a rank [shows](Transport::show).
pub const MOST_SHOWN: usize = 64;

/// What a rank shows to all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// What it does.
    pub collective: u64,
    /// How many it has done before.
    pub number: u64,
    /// How many of the bytes count; none where they are too many to be shown.
    pub length: Option<usize>,
    /// What it shows.
    pub bytes: [u8; MOST_SHOWN],
}

impl Shown {
    /// What is shown of these bytes: all, or that they are too many.
    pub fn new(collective: u64, number: u64, contents: &[u8]) -> Self {
        let mut bytes = [0; MOST_SHOWN];
        let length = (contents.len() <= MOST_SHOWN).then_some(contents.len());
        if let Some(length) = length {
            bytes[..length].copy_from_slice(contents);
        }
        Self { collective, number, length, bytes }
    }

    /// The bytes, where they are not too many.
    pub fn contents(&self) -> Option<&[u8]> {
        self.bytes.get(..self.length?)
    }
}

/// A value that each rank leaves for the others, in their order.
pub type Board = Mutex<Vec<Option<Arc<dyn Any + Send + Sync>>>>;

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

/// Arrays of a GPU that messages come from and go to, one message after the other.
#[cfg(feature = "cuda")]
#[derive(Clone)]
pub struct GpuMemory {
    /// What is sent.
    pub outgoing: Arc<PeerMemory>,
    /// What comes.
    pub incoming: Arc<PeerMemory>,
}

/// An exchange with neighbours between the memory of GPUs that is done again and again, on a thread whose current context is that
/// of this rank's GPU.
#[cfg(feature = "cuda")]
pub trait GpuExchange: Send {
    /// Sends what each neighbour gets. The GPU has written it, and does not use what came the last time any more.
    ///
    /// # Errors
    /// When any rank has failed.
    fn start(&mut self) -> Result<(), Error>;

    /// Waits for what each neighbour sends.
    ///
    /// # Errors
    /// When any rank has failed, or a message does not come within the time that the ranks may take.
    fn wait(&mut self) -> Result<(), Error>;
}
