//! Lists that are filled item by item, one for each rank.

use bytemuck::Pod;
use host::memory::{reserve, with_capacity};

use crate::communicator::Communicator;
use crate::error::Error;

/// What a rank is about to send to each rank. It keeps its memory from one sending to the next.
pub(crate) struct Outbox<T> {
    lists: Vec<Vec<T>>,
}

impl<T: Pod + Ord> Outbox<T> {
    pub fn new(ranks: usize) -> Result<Self, Error> {
        let mut lists = with_capacity(ranks)?;
        lists.extend((0..ranks).map(|_| Vec::new()));
        Ok(Self { lists })
    }

    /// Adds an item for a rank.
    pub fn push(&mut self, rank: usize, item: T) -> Result<(), Error> {
        reserve(&mut self.lists[rank], 1)?;
        self.lists[rank].push(item);
        Ok(())
    }

    /// Sorts the items for each rank, and keeps the first of those that `key` says are of one thing.
    pub fn keep_first<K: PartialEq>(&mut self, key: impl Fn(&T) -> K) {
        for list in &mut self.lists {
            list.sort_unstable();
            list.dedup_by_key(|item| key(item));
        }
    }

    /// Whether there is nothing for any rank.
    pub fn is_empty(&self) -> bool {
        self.lists.iter().all(Vec::is_empty)
    }

    /// Sends each rank its items, and is empty then. What each rank has sent to this one.
    pub fn send(&mut self, communicator: &Communicator) -> Result<Vec<Vec<T>>, Error> {
        let received = communicator.all_to_all(&self.lists)?;
        self.lists.iter_mut().for_each(Vec::clear);
        Ok(received)
    }
}
