//! The columns of the rows of a product that have hash tables in shared memory.

use cuda_std::shared::{Shared, dynamic};
use cuda_std::{Global, GlobalMut, kernel};

use super::side::Sides;
use super::team::Team;
use crate::Offset;

/// A slot without a column, and more than all columns.
const EMPTY: u32 = u32::MAX;

/// The slots of a team's hash table.
#[derive(Clone, Copy)]
struct Table {
    slots: Shared<u32>,
    /// A power of two.
    count: u32,
}

/// The sums of a block's warps lie behind the tables.
#[inline(always)]
fn table_of(team: Team, slots: u32) -> Table {
    Table { slots: dynamic(team.in_block() * slots * size_of::<u32>() as u32), count: slots }
}

impl Table {
    /// Puts the columns of a row's products in the table, each once, and gives the number of those that this thread found
    /// first.
    ///
    /// # Safety
    /// As for [`product_lengths`]; the whole team calls it, and does not touch the table in between.
    #[inline(always)]
    unsafe fn fill<O: Offset>(self, team: Team, together: u32, sides: Sides<O>, row: u32) -> u32 {
        // The row before has been read.
        team.sync();
        let mut slot = team.lane;
        while slot < self.count {
            self.slots.store(slot, EMPTY);
            slot += team.lanes;
        }
        team.sync();
        let mut found = 0;
        sides.for_each_column(team, together, row, |column| found += self.insert(column));
        team.sync();
        found
    }

    /// Puts a column in the table. 1 if it is new, 0 if not.
    ///
    /// # Safety
    /// There is room.
    #[inline(always)]
    unsafe fn insert(self, column: u32) -> u32 {
        // Fibonacci hashing: columns that follow each other are far apart.
        let mut slot = column.wrapping_mul(0x9e37_79b9) >> (self.count.leading_zeros() + 1);
        loop {
            let before = self.slots.compare_and_swap(slot, EMPTY, column);
            if before == EMPTY {
                return 1;
            }
            if before == column {
                return 0;
            }
            slot = (slot + 1) & (self.count - 1);
        }
    }

    /// Sorts the slots by Batcher's bitonic sort: columns in ascending order come before what is empty.
    ///
    /// # Safety
    /// The whole team calls it, after it has met.
    #[inline(always)]
    unsafe fn sort(self, team: Team) {
        let mut run = 2;
        while run <= self.count {
            let mut distance = run / 2;
            while distance > 0 {
                let mut pair = team.lane;
                while pair < self.count / 2 {
                    let low = 2 * pair - (pair & (distance - 1));
                    let (first, second) = (self.slots.load(low), self.slots.load(low + distance));
                    if (first > second) == (low & run == 0) {
                        self.slots.store(low, second);
                        self.slots.store(low + distance, first);
                    }
                    pair += team.lanes;
                }
                team.sync();
                distance /= 2;
            }
            run *= 2;
        }
    }
}

/// The number of different columns of some rows of a product.
///
/// # Safety
/// The arrays are those of valid matrices, of which the left one has no column beyond the rows of the right one; `rows` are
/// `count` rows of it, none of which has more than `slots` different columns in the product; `lengths` has an element for
/// each row of the left matrix. `lanes` is a power of two up to 32, or the threads of a block, which are whole warps;
/// `together` a power of two up to 32 that divides it, `slots` one from 32 on. There are `slots` times 4 bytes of shared
/// memory for each team of `lanes` threads and 4 for each warp.
#[kernel(O: [u32, u64])]
pub unsafe fn product_lengths<O: Offset>(
    /// Number of rows that are counted.
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
    let table = table_of(team, slots);
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

/// The different columns of some rows of a product, in ascending order.
///
/// # Safety
/// As for [`product_lengths`], but for the memory for each warp; `offsets` say where the columns of each row go among
/// `columns`, and are as far apart as there are different ones.
#[kernel(O: [u32, u64])]
pub unsafe fn product_columns<O: Offset>(
    /// Number of rows that are written.
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
    let table = table_of(team, slots);
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
