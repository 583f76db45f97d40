//! The columns of those rows of a product that have hash tables in shared memory.

use cuda_std::shared::dynamic;
use cuda_std::warp::{WARP_LANES, lane_id, warp_vote_ballot};
use cuda_std::{Global, GlobalMut, kernel};

use super::side::Sides;
use super::sort::sort_in_place;
use super::table::{EMPTY, Table};
use super::team::Team;
use crate::Offset;

impl Table {
    /// Inserts the columns of a row's products into the table, each once, and returns the number of those that this
    /// thread found first.
    ///
    /// # Safety
    /// As for [`product_lengths`]; the whole team calls it, and does not access the table concurrently.
    #[inline(always)]
    unsafe fn fill<O: Offset>(self, team: Team, together: u32, sides: Sides<O>, row: u32) -> u32 {
        // The table of the previous row has been read.
        team.sync();
        self.clear(team);
        team.sync();
        let mut found = 0;
        sides.for_each_column(team, together, row, |column| found += u32::from(self.insert(column, true).1));
        team.sync();
        found
    }

    /// Moves the columns to the first slots and sorts them.
    ///
    /// # Safety
    /// The whole team calls it, after a barrier of the team.
    #[inline(always)]
    unsafe fn sort(self, team: Team) {
        let count = if team.lanes > WARP_LANES { self.count } else { self.gather(team) };
        sort_in_place(team, self.slots, count);
    }

    /// Moves the columns to the first slots, followed by empty ones up to a power of two, which it returns.
    ///
    /// # Safety
    /// The whole team calls it, after a barrier of the team; the team is at most a warp.
    #[inline(always)]
    unsafe fn gather(self, team: Team) -> u32 {
        let lanes_before = team.mask & ((1 << lane_id()) - 1);
        let (mut kept, mut first) = (0, 0);
        while first < self.count {
            let column = self.slots.load(first + team.lane);
            let there = warp_vote_ballot(team.mask, column != EMPTY) & team.mask;
            // All lanes have read their columns before any of these slots is overwritten.
            team.sync();
            if column != EMPTY {
                self.slots.store(kept + (there & lanes_before).count_ones(), column);
            }
            kept += there.count_ones();
            first += team.lanes;
        }
        let count = kept.next_power_of_two();
        let mut slot = kept + team.lane;
        while slot < count {
            self.slots.store(slot, EMPTY);
            slot += team.lanes;
        }
        team.sync();
        count
    }
}

/// Counts the different columns of some rows of a product.
///
/// # Safety
/// The arrays are those of valid matrices, of which the left one has no column beyond the rows of the right one; `rows`
/// are `count` rows of it, none of which has more than `slots` different columns in the product; `lengths` has an
/// element for each row of the left matrix. `lanes` is a power of two up to 32, or the number of threads of a block,
/// which are whole warps; `together` is a power of two up to 32 that divides it, and `slots` a power of two and at
/// least 32. There are [`slots_apart`](super::classes::slots_apart) times 4 bytes of shared memory per team of `lanes`
/// threads, and 4 bytes per warp.
#[kernel(O: [u32, u64])]
pub unsafe fn product_lengths<O: Offset>(
    /// Number of rows to count.
    count: u32,
    /// Threads that share a row of the product.
    lanes: u32,
    /// Threads that share a row of the right matrix.
    together: u32,
    /// Slots of a row's hash table.
    slots: u32,
    /// The rows.
    rows: Global<u32>,
    /// Where each row of the left matrix begins.
    left_offsets: Global<O>,
    /// The columns of the left matrix.
    left_columns: Global<u32>,
    /// Where each row of the right matrix begins.
    right_offsets: Global<O>,
    /// The columns of the right matrix.
    right_columns: Global<u32>,
    /// The number of columns of each row.
    lengths: GlobalMut<u32>,
) {
    let team = Team::new(lanes);
    let sides = Sides { left_offsets, left_columns, right_offsets, right_columns };
    let table = Table::new(team, slots);
    let mut number = team.in_grid();
    while number < count {
        let row = rows.load(number);
        let found = table.fill(team, together, sides, row);
        let length = team.sum(found, dynamic(slots * size_of::<u32>() as u32));
        if team.lane == 0 {
            lengths.store(row, length);
        }
        number += team.count();
    }
}

/// Writes the different columns of some rows of a product, in ascending order.
///
/// # Safety
/// As for [`product_lengths`], except for the memory per warp; `offsets` holds the offset of each row in `columns`,
/// with room for exactly its different columns.
#[kernel(O: [u32, u64])]
pub unsafe fn product_columns<O: Offset>(
    /// Number of rows to write.
    count: u32,
    /// Threads that share a row of the product.
    lanes: u32,
    /// Threads that share a row of the right matrix.
    together: u32,
    /// Slots of a row's hash table.
    slots: u32,
    /// The rows.
    rows: Global<u32>,
    /// Where each row of the left matrix begins.
    left_offsets: Global<O>,
    /// The columns of the left matrix.
    left_columns: Global<u32>,
    /// Where each row of the right matrix begins.
    right_offsets: Global<O>,
    /// The columns of the right matrix.
    right_columns: Global<u32>,
    /// Where each row of the product begins.
    offsets: Global<O>,
    /// The columns of the product.
    columns: GlobalMut<u32>,
) {
    let team = Team::new(lanes);
    let sides = Sides { left_offsets, left_columns, right_offsets, right_columns };
    let table = Table::new(team, slots);
    let mut number = team.in_grid();
    while number < count {
        let row = rows.load(number);
        table.fill(team, together, sides, row);
        table.sort(team);
        let begin = offsets.load(row);
        let length = (offsets.load(row + 1) - begin).widen() as u32;
        let mut place = team.lane;
        while place < length {
            columns.store(begin + O::from(place), table.slots.load(place));
            place += lanes;
        }
        number += team.count();
    }
}
