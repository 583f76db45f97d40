//! Whole rows of a product, one per lane: columns and values in one pass, by a hash table for each lane.
//!
//! Each lane goes through the products of its row alone, in order, so it needs no barrier and no turns. Where rows are
//! many and have few different columns, that takes a fraction of the instructions of a [team](super::rows) per row.
//! When all lanes are done, the warp writes a few rows at a time, each column to its rank.

use cuda_std::shared::{Shared, dynamic};
use cuda_std::thread::block_dim_x;
use cuda_std::warp::{ALL_LANES, WARP_LANES, sync_warp, warp_shuffle_idx};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use super::entries::{Entries, Entry};
use super::rows::TOO_LONG;
use super::table::{EMPTY, first_slot};
use super::team::Team;
use crate::Offset;

/// Distance between a lane's slots, in elements: neither the lanes' own slots nor neighbouring slots of one lane are all
/// in the same bank.
const APART: u32 = WARP_LANES + 1;

/// Elements of each of a warp's two arrays.
pub const fn elements_of_warp(slots: u32) -> u32 {
    slots * APART
}

/// Computes some rows of a product: columns in ascending order, values in the order of the left row's entries and, for
/// each of these, of the right row's, and lengths. A row with more than `most` different columns is not written; its length
/// is then [`TOO_LONG`].
///
/// # Safety
/// The arrays are those of valid matrices, of which the left one has no column beyond the rows of the right one; `rows`
/// are `count` rows of it; `lengths` has an element for each row of the left matrix. `columns` and `values` have `most`
/// elements per row. `slots` is a power of two from 16 on, and more than `most`. Blocks are made of whole warps, each of
/// which has shared memory for [`elements_of_warp`] columns and values. `too_long` has an element.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn product_lane_rows<T: GpuScalar, O: Offset>(
    /// Number of rows to compute.
    count: u32,
    /// Slots of a row's hash table.
    slots: u32,
    /// The largest number of different columns, and the distance between the rows in the order of `rows`.
    most: u32,
    /// The rows.
    rows: Global<u32>,
    /// Where each row of the left matrix begins.
    left_offsets: Global<O>,
    /// The columns of the left matrix.
    left_columns: Global<u32>,
    /// The values of the left matrix.
    left_values: Global<T>,
    /// Where each row of the right matrix begins.
    right_offsets: Global<O>,
    /// The columns of the right matrix.
    right_columns: Global<u32>,
    /// The values of the right matrix.
    right_values: Global<T>,
    /// The columns of the product.
    columns: GlobalMut<u32>,
    /// The values of the product.
    values: GlobalMut<T>,
    /// The number of columns of each row.
    lengths: GlobalMut<u32>,
    /// Becomes 1 if a row has more than `most` different columns.
    too_long: GlobalMut<u32>,
) {
    let warp = Team::new(WARP_LANES);
    let entries = Entries { left_columns, left_values, right_offsets, right_columns, right_values };
    let tables = Tables::new(warp, slots);
    let own = tables.of_lane(warp.lane);
    let mut first = warp.in_grid() * WARP_LANES;
    while first < count {
        let number = first + warp.lane;
        own.clear();
        let mut found = 0;
        if number < count {
            let row = rows.load(number);
            found = own.add_row(entries, left_offsets.load(row), left_offsets.load(row + 1), most);
            lengths.store(row, found);
            if found == TOO_LONG {
                too_long.set_flag(0u32);
                found = 0;
            }
        }
        // The other lanes read what this one wrote.
        sync_warp(ALL_LANES);
        // Four rows at a time if they have few slots.
        let team = Team::new((slots / 4).clamp(8, WARP_LANES));
        let mut turn = 0;
        while turn < team.lanes {
            // Rows whose slots are in different banks.
            let lane = warp.lane - team.lane + turn;
            let count = warp_shuffle_idx(ALL_LANES, found, lane, WARP_LANES).0;
            let begin = u64::from(first + lane) * u64::from(most);
            tables.of_lane(lane).write(team, count, begin, columns, values);
            turn += 1;
        }
        // All is read before the tables are cleared.
        sync_warp(ALL_LANES);
        first += warp.count() * WARP_LANES;
    }
}

/// The hash tables of a warp's lanes.
#[derive(Clone, Copy)]
struct Tables<T> {
    columns: Shared<u32>,
    sums: Shared<T>,
    slots: u32,
}

impl<T: GpuScalar> Tables<T> {
    #[inline(always)]
    fn new(warp: Team, slots: u32) -> Self {
        let elements = elements_of_warp(slots);
        let columns_bytes = elements * size_of::<u32>() as u32;
        let sums_begin = block_dim_x() / WARP_LANES * columns_bytes;
        let columns = dynamic(warp.in_block() * columns_bytes);
        Self { columns, sums: dynamic(sums_begin + warp.in_block() * elements * size_of::<T>() as u32), slots }
    }

    #[inline(always)]
    fn of_lane(self, lane: u32) -> Table<T> {
        Table { tables: self, lane }
    }
}

/// The hash table of a row, in which at least one slot stays empty.
#[derive(Clone, Copy)]
struct Table<T> {
    tables: Tables<T>,
    lane: u32,
}

impl<T: GpuScalar> Table<T> {
    /// The place of a slot in the warp's arrays.
    #[inline(always)]
    fn place(self, slot: u32) -> u32 {
        slot * APART + self.lane
    }

    /// The column in a slot.
    ///
    /// # Safety
    /// The table has the slot, which was written, if by another lane, before the last barrier.
    #[inline(always)]
    unsafe fn column(self, slot: u32) -> u32 {
        self.tables.columns.load(self.place(slot))
    }

    /// Fills a slot.
    ///
    /// # Safety
    /// The table has the slot, and no other lane uses it until the next barrier.
    #[inline(always)]
    unsafe fn set(self, slot: u32, column: u32, sum: T) {
        self.tables.columns.store(self.place(slot), column);
        self.tables.sums.store(self.place(slot), sum);
    }

    /// Removes all columns.
    ///
    /// # Safety
    /// No other lane uses the table until the next barrier.
    #[inline(always)]
    unsafe fn clear(self) {
        let mut slot = 0;
        while slot < self.tables.slots {
            self.tables.columns.store(self.place(slot), EMPTY);
            slot += 1;
        }
    }

    /// Adds up the products of the entries of A from `first` to `end`, and moves the columns to the first slots. Returns
    /// their number, or [`TOO_LONG`] if these are more than `most`.
    ///
    /// # Safety
    /// The matrices have the entries. The table is empty and has more than `most` slots; no other lane uses it until the
    /// next barrier.
    #[inline(always)]
    unsafe fn add_row<O: Offset>(self, entries: Entries<T, O>, first: O, end: O, most: u32) -> u32 {
        // Loads run ahead by a row of B and by three entries of A, so that dependent loads do not wait for each other.
        let (mut row, mut following) = (entries.products_of(first, end), entries.products_of(first + O::from(1), end));
        let mut left = entries.left_entry(first + O::from(2), end);
        let four = |begin: O, end: O| [0, 1, 2, 3].map(|step| entries.entry(begin + O::from(step), end));
        let mut batch = four(row.begin, row.end);
        let (mut entry, mut found) = (first, 0);
        while entry < end {
            let (this, mut now) = (row, batch);
            row = following;
            batch = four(row.begin, row.end);
            following = entries.products_with(left);
            left = entries.left_entry(entry + O::from(3), end);
            let mut place = this.begin;
            loop {
                // Never indexed by a variable, so that they stay in registers.
                found = self.add(now[0], this.factor, found, most);
                found = self.add(now[1], this.factor, found, most);
                found = self.add(now[2], this.factor, found, most);
                found = self.add(now[3], this.factor, found, most);
                place = place + O::from(4);
                if place >= this.end {
                    break;
                }
                now = four(place, this.end);
            }
            if found > most {
                return TOO_LONG;
            }
            entry = entry + O::from(1);
        }
        self.gather();
        found
    }

    /// Adds an entry of B times a factor, if there is one. Returns the number of columns, of which there were `found`; new
    /// ones beyond `most` are only counted.
    ///
    /// # Safety
    /// The table has more than `most` slots; no other lane uses it until the next barrier.
    #[inline(always)]
    unsafe fn add(self, (column, value): Entry<T>, factor: T, found: u32, most: u32) -> u32 {
        if column == EMPTY {
            return found;
        }
        let product = factor * value;
        let mut slot = first_slot(column, self.tables.slots);
        loop {
            let there = self.column(slot);
            if there == column {
                self.tables.sums.store(self.place(slot), self.tables.sums.load(self.place(slot)) + product);
                return found;
            }
            if there == EMPTY {
                if found < most {
                    self.set(slot, column, product);
                }
                return found + 1;
            }
            slot = (slot + 1) & (self.tables.slots - 1);
        }
    }

    /// Moves the columns and their sums to the first slots.
    ///
    /// # Safety
    /// No other lane uses the table until the next barrier.
    #[inline(always)]
    unsafe fn gather(self) {
        let (mut kept, mut slot) = (0, 0);
        while slot < self.tables.slots {
            let column = self.column(slot);
            if column != EMPTY {
                self.set(kept, column, self.tables.sums.load(self.place(slot)));
                kept += 1;
            }
            slot += 1;
        }
    }

    /// Writes the row, sorted: `count` columns and values from `begin` on. A column's rank is the number of smaller ones.
    ///
    /// # Safety
    /// The whole team calls it, after a barrier; the columns are in the first slots, and the arrays have the elements.
    #[inline(always)]
    unsafe fn write(self, team: Team, count: u32, begin: u64, columns: GlobalMut<u32>, values: GlobalMut<T>) {
        let mut first = team.lane;
        while first < count {
            // Two at a time share the loads of the others.
            let second = first + team.lanes;
            let own = [self.column(first), if second < count { self.column(second) } else { EMPTY }];
            let (mut ranks, mut slot) = ([0, 0], 0);
            while slot < count {
                let other = self.column(slot);
                ranks = [ranks[0] + u32::from(other < own[0]), ranks[1] + u32::from(other < own[1])];
                slot += 1;
            }
            columns.store(begin + u64::from(ranks[0]), own[0]);
            values.store(begin + u64::from(ranks[0]), self.tables.sums.load(self.place(first)));
            if second < count {
                columns.store(begin + u64::from(ranks[1]), own[1]);
                values.store(begin + u64::from(ranks[1]), self.tables.sums.load(self.place(second)));
            }
            first += 2 * team.lanes;
        }
    }
}
