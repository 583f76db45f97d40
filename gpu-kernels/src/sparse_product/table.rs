//! The columns of a row of a product in a hash table in shared memory.

use cuda_std::shared::{Shared, SharedValue, dynamic};
use cuda_std::thread::block_dim_x;

use super::classes::slots_apart;
use super::team::Team;

/// An empty slot; greater than all columns.
pub(super) const EMPTY: u32 = u32::MAX;

/// A team's array, among those of all teams of the block, `apart` elements each. Arrays before it have `before` bytes
/// for each of these.
#[inline(always)]
pub(super) fn array_of_team<T: SharedValue>(team: Team, apart: u32, before: u32) -> Shared<T> {
    let begin = block_dim_x() / team.lanes * apart * before;
    dynamic(begin + team.in_block() * apart * size_of::<T>() as u32)
}

/// The slot at which the search for a column begins, of `count` slots, a power of two. Fibonacci hashing: consecutive
/// columns are far apart.
#[inline(always)]
pub(super) fn first_slot(column: u32, count: u32) -> u32 {
    column.wrapping_mul(0x9e37_79b9) >> (count.leading_zeros() + 1)
}

/// The slots of a team's hash table, one of which stays empty.
#[derive(Clone, Copy)]
pub(super) struct Table {
    pub slots: Shared<u32>,
    /// A power of two, at least 32.
    pub count: u32,
}

impl Table {
    /// The table of a team. The tables of a block's teams are contiguous, from the start of its shared memory.
    #[inline(always)]
    pub fn new(team: Team, slots: u32) -> Self {
        Self { slots: array_of_team(team, slots_apart(slots, team.lanes), 0), count: slots }
    }

    /// Removes all columns.
    ///
    /// # Safety
    /// The whole team calls it; it has passed a barrier since it used the table, and passes another before it does so
    /// again.
    #[inline(always)]
    pub unsafe fn clear(self, team: Team) {
        let mut slot = team.lane;
        while slot < self.count {
            self.slots.store(slot, EMPTY);
            slot += team.lanes;
        }
    }

    /// Returns the slot of a column, which is inserted if the table lacks it, and whether it was. `most_are_there`
    /// affects only speed: if most columns are already present, it reads before it writes.
    ///
    /// # Safety
    /// The table has an empty slot or the column, and its slots were written before the team's last barrier; since then
    /// threads do nothing else with them.
    #[inline(always)]
    pub unsafe fn insert(self, column: u32, most_are_there: bool) -> (u32, bool) {
        let mut slot = first_slot(column, self.count);
        loop {
            let mut before = if most_are_there { self.slots.peek(slot) } else { EMPTY };
            if before == EMPTY {
                before = self.slots.compare_and_swap(slot, EMPTY, column);
                if before == EMPTY {
                    return (slot, true);
                }
            }
            if before == column {
                return (slot, false);
            }
            slot = (slot + 1) & (self.count - 1);
        }
    }

    /// The slot of a column, if it is in the table.
    ///
    /// # Safety
    /// The table has an empty slot, and the team has passed a barrier since its columns were inserted.
    #[inline(always)]
    pub unsafe fn find(self, column: u32) -> Option<u32> {
        let mut slot = first_slot(column, self.count);
        loop {
            let there = self.slots.load(slot);
            if there == column {
                return Some(slot);
            }
            if there == EMPTY {
                return None;
            }
            slot = (slot + 1) & (self.count - 1);
        }
    }
}
