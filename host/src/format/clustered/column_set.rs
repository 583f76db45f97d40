//! The columns of a part while it grows.

use crate::error::Error;
use crate::memory::filled;

/// Mark of an empty slot; not a valid column.
const EMPTY: u32 = u32::MAX;

/// A set of columns in a hash table with linear probing. It stays in a core's own cache, whatever the size of the
/// matrix. The most recent insertions can be undone.
pub(super) struct ColumnSet {
    slots: Vec<u32>,
    /// Number of hash bits that are dropped; the remaining bits index the slots.
    shift: u32,
}

impl ColumnSet {
    /// Creates an empty set with room for `most` columns.
    pub fn new(most: usize) -> Result<Self, Error> {
        // At least half of the slots stay empty, so probes are short.
        let slots = (2 * most).next_power_of_two().max(2);
        Ok(Self { slots: filled(slots, EMPTY)?, shift: u32::BITS - slots.trailing_zeros() })
    }

    /// Returns the slot of a column, or the one where it would go.
    fn slot(&self, column: u32) -> usize {
        // Fibonacci hashing: consecutive columns are far apart.
        let mut slot = (column.wrapping_mul(0x9e37_79b9) >> self.shift) as usize;
        while self.slots[slot] != column && self.slots[slot] != EMPTY {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        slot
    }

    /// Adds a column and returns whether it is new. There must be room.
    pub fn insert(&mut self, column: u32) -> bool {
        let slot = self.slot(column);
        std::mem::replace(&mut self.slots[slot], column) == EMPTY
    }

    pub fn contains(&self, column: u32) -> bool {
        self.slots[self.slot(column)] == column
    }

    /// Removes the columns that were added last, given in the order of insertion.
    pub fn take_back(&mut self, last: &[u32]) {
        // No probe went past a slot that was filled later.
        for &column in last.iter().rev() {
            let slot = self.slot(column);
            self.slots[slot] = EMPTY;
        }
    }

    pub fn clear(&mut self) {
        self.slots.fill(EMPTY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn it_has_what_was_added_and_not_taken_back() {
        let most = if cfg!(miri) { 20 } else { 100 };
        let mut set = ColumnSet::new(most).unwrap();
        for stride in [1, 7, 64, 1 << 20] {
            let columns: Vec<u32> = (0..most as u32).map(|column| column * stride).collect();
            let (kept, taken) = columns.split_at(most * 3 / 5);
            for &column in &columns {
                assert!(set.insert(column) && !set.insert(column));
            }
            set.take_back(taken);
            let expected: HashSet<_> = kept.iter().collect();
            assert!(columns.iter().all(|column| set.contains(*column) == expected.contains(column)));
            assert!(taken.iter().all(|&column| set.insert(column)));
            set.clear();
            assert!(!columns.iter().any(|&column| set.contains(column)));
        }
    }
}
