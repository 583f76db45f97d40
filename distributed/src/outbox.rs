//! Lists that are filled item by item, one per rank.

use bytemuck::Pod;
use host::memory::{reserve, with_capacity};

use crate::communicator::Communicator;
use crate::error::Error;

/// Items to be sent to each rank. Keeps its memory after sending.
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

    /// Sorts the items for each rank, and keeps the first of those with equal keys.
    pub fn keep_first<K: PartialEq>(&mut self, key: impl Fn(&T) -> K) {
        for list in &mut self.lists {
            list.sort_unstable();
            list.dedup_by_key(|item| key(item));
        }
    }

    /// Returns whether there are no items for any rank.
    pub fn is_empty(&self) -> bool {
        self.lists.iter().all(Vec::is_empty)
    }

    /// Sends each rank its items, which empties the lists. Returns the items that each rank has sent to this one.
    pub fn send(&mut self, communicator: &Communicator) -> Result<Vec<Vec<T>>, Error> {
        let received = communicator.all_to_all(&self.lists)?;
        self.lists.iter_mut().for_each(Vec::clear);
        Ok(received)
    }
}
