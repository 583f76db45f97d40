//! The values of the rows of a product whose patterns fit into hash tables in shared memory.
//!
//! One row of the product per team of lanes. The team inserts the row's columns into its table and keeps a sum for each
//! slot. It takes the entries of A in order; the products of one entry with a row of B have different columns, so no
//! two lanes access the same sum. Sums are in the order of A's entries.

use cuda_std::shared::{Shared, dynamic};
use cuda_std::thread::block_dim_x;
use cuda_std::warp::{lane_id, warp_match_any_32, warp_shuffle_idx, warp_vote_any};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use super::classes::slots_apart;
use super::table::{EMPTY, Table};
use super::team::Team;
use crate::Offset;

/// A row of B times an entry of A.
#[derive(Clone, Copy)]
struct Products<T, O> {
    factor: T,
    begin: O,
    end: O,
}

/// A column of B, or [`EMPTY`] if the thread has none, and its value.
type Entry<T> = (u32, T);

/// The entries of both matrices.
#[derive(Clone, Copy)]
struct Entries<T, O> {
    left_columns: Global<u32>,
    left_values: Global<T>,
    right_offsets: Global<O>,
    right_columns: Global<u32>,
    right_values: Global<T>,
}

impl<T: GpuScalar, O: Offset> Entries<T, O> {
    /// The products of an entry of A; none if it is not before `end`.
    ///
    /// # Safety
    /// A has all entries before `end`.
    #[inline(always)]
    unsafe fn products_of(self, entry: O, end: O) -> Products<T, O> {
        if entry >= end {
            return Products { factor: T::ZERO, begin: O::from(0), end: O::from(0) };
        }
        let inner = self.left_columns.load(entry);
        Products {
            factor: self.left_values.load(entry),
            begin: self.right_offsets.load(inner),
            end: self.right_offsets.load(inner + 1),
        }
    }

    /// An entry of B; none if it is not before `end`.
    ///
    /// # Safety
    /// B has all entries before `end`.
    #[inline(always)]
    unsafe fn entry(self, place: O, end: O) -> Entry<T> {
        if place < end { (self.right_columns.load(place), self.right_values.load(place)) } else { (EMPTY, T::ZERO) }
    }
}

impl<T: GpuScalar, O: Offset> Products<T, O> {
    /// The products of another lane of the team.
    ///
    /// # Safety
    /// The whole team calls it.
    #[inline(always)]
    unsafe fn of_lane(self, team: Team, lane: u32) -> Self {
        Self {
            factor: warp_shuffle_idx(team.mask, self.factor, lane, team.lanes).0,
            begin: warp_shuffle_idx(team.mask, self.begin, lane, team.lanes).0,
            end: warp_shuffle_idx(team.mask, self.end, lane, team.lanes).0,
        }
    }
}

/// The sums of a row's columns.
#[derive(Clone, Copy)]
struct Sums<T> {
    team: Team,
    table: Table,
    /// One sum for each slot of the table.
    sums: Shared<T>,
    /// Whether a row of B may have a column more than once.
    repeats: bool,
    outside: GlobalMut<u32>,
}

impl<T: GpuScalar> Sums<T> {
    /// Adds a product, if the thread has one.
    ///
    /// # Safety
    /// The team has passed a barrier since the columns were inserted, and no other thread adds to the same column
    /// before its next barrier.
    #[inline(always)]
    unsafe fn add_one(self, column: u32, product: T) {
        if column == EMPTY {
            return;
        }
        match self.table.find(column) {
            Some(slot) => self.sums.store(slot, self.sums.load(slot) + product),
            // The pattern is that of other matrices.
            None => self.outside.set_flag(0u32),
        }
    }

    /// Adds a product of each thread that has one; those of the same column in the order of the lanes.
    ///
    /// # Safety
    /// The whole team calls it, and has passed a barrier since the columns were inserted and since it added others of
    /// the same columns.
    #[inline(always)]
    unsafe fn add(self, factor: T, (column, value): Entry<T>) {
        let product = factor * value;
        if !self.repeats {
            self.add_one(column, product);
            return;
        }
        // The first product of each column in one step, then the second.
        let same = warp_match_any_32(self.team.mask, column);
        let before = (same & ((1 << lane_id()) - 1)).count_ones();
        let mut turn = 0;
        while warp_vote_any(self.team.mask, column != EMPTY && before >= turn) {
            if before == turn {
                self.add_one(column, product);
            }
            self.team.sync();
            turn += 1;
        }
    }

    /// Adds up the products of the entries of A from `first` to `end`.
    ///
    /// # Safety
    /// The whole team calls it, and has passed a barrier since the columns were inserted; the matrices have the
    /// entries.
    #[inline(always)]
    unsafe fn add_up<O: Offset>(self, entries: Entries<T, O>, mut first: O, end: O) {
        let team = self.team;
        let (step, lane) = (O::from(team.lanes), O::from(team.lane));
        while first < end {
            // Each lane looks up one entry of A.
            let own = entries.products_of(first + lane, end);
            let mut products = own.of_lane(team, 0);
            let mut entry = entries.entry(products.begin + lane, products.end);
            let (mut number, mut more) = (0, true);
            while more {
                number += 1;
                more = number < team.lanes && first + O::from(number) < end;
                // Those of the next entry are in flight while these are added.
                let (next_products, next_entry) = if more {
                    let next = own.of_lane(team, number);
                    (next, entries.entry(next.begin + lane, next.end))
                } else {
                    (products, entry)
                };
                self.add(products.factor, entry);
                let mut place = products.begin + step;
                while place < products.end {
                    self.add(products.factor, entries.entry(place + lane, products.end));
                    place = place + step;
                }
                // Products of other threads go to the same columns next.
                team.sync();
                (products, entry) = (next_products, next_entry);
            }
            first = first + step;
        }
    }
}

/// Sums the products of some rows, in the order of the left row's entries and, for each of these, of the right row's.
///
/// # Safety
/// The arrays are those of valid matrices, of which the left one has no column beyond the rows of the right one, and
/// the product has the left one's rows, each sorted; `rows` are `count` rows of it, each with fewer entries than
/// `slots`. If the only element of `repeats` is 0, no row of the right matrix has a column twice. `outside` has one
/// element. `lanes` is a power of two up to 32; blocks are made of whole warps; `slots` is a power of two and at least
/// 32. Each team of `lanes` threads has shared memory for [`slots_apart`] columns and values.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn product_values<T: GpuScalar, O: Offset>(
    /// Number of rows to compute.
    count: u32,
    /// Threads that share a row of the product.
    lanes: u32,
    /// Slots of a row's hash table.
    slots: u32,
    /// Whether a row of the right matrix may have a column more than once.
    repeats: Global<u32>,
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
    /// Where each row of the product begins.
    offsets: Global<O>,
    /// The columns of the product.
    columns: Global<u32>,
    /// The values of the product.
    values: GlobalMut<T>,
    /// Becomes 1 if the product lacks an entry that the matrices require.
    outside: GlobalMut<u32>,
) {
    let team = Team::new(lanes);
    let table = Table::new(team, slots);
    let apart = slots_apart(slots, lanes);
    let behind_tables = block_dim_x() / lanes * apart * size_of::<u32>() as u32;
    let sums = dynamic::<T>(behind_tables + team.in_block() * apart * size_of::<T>() as u32);
    let row_sums = Sums { team, table, sums, repeats: repeats.load(0u32) != 0, outside };
    let entries = Entries { left_columns, left_values, right_offsets, right_columns, right_values };
    let mut number = team.in_grid();
    while number < count {
        let row = rows.load(number);
        let (begin, end) = (offsets.load(row), offsets.load(row + 1));
        table.clear(team);
        team.sync();
        let mut place = begin + O::from(team.lane);
        while place < end {
            if let Some(slot) = table.insert(columns.load(place), false) {
                // −0 is the number that leaves every other unchanged when added to it.
                sums.store(slot, -T::ZERO);
            }
            place = place + O::from(lanes);
        }
        team.sync();
        row_sums.add_up(entries, left_offsets.load(row), left_offsets.load(row + 1));
        let mut place = begin + O::from(team.lane);
        while place < end {
            if let Some(slot) = table.find(columns.load(place)) {
                values.store(place, sums.load(slot));
            }
            place = place + O::from(lanes);
        }
        // All sums are read before the table is cleared.
        team.sync();
        number += team.count();
    }
}
