//! The values of the rows of a product whose patterns fit into hash tables in shared memory.
//!
//! One row of the product per team of lanes. The team inserts the row's columns into its table and keeps a sum for each
//! slot. Sums are in the order of A's entries.

use cuda_std::shared::Shared;
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use super::classes::slots_apart;
use super::entries::{Entries, in_turns};
use super::table::{Table, array_of_team};
use super::team::Team;
use crate::Offset;

/// Sums the products of some rows, in the order of the left row's entries and, for each of these, of the right row's.
///
/// # Safety
/// The arrays are those of valid matrices, of which the left one has no column beyond the rows of the right one, and
/// the product has the left one's rows, each sorted; `rows` are `count` rows of it, each with fewer entries than
/// `slots`. If the only element of `repeats` is 0, no row of the right matrix has a column twice. `outside` has one
/// element. `lanes` is a power of two from 4 to 32; blocks are made of whole warps; `slots` is a power of two and at
/// least 32. Each team of `lanes` threads has shared memory for [`slots_apart`] columns and values.
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
    let sums: Shared<T> = array_of_team(team, slots_apart(slots, lanes), 4);
    let entries = Entries { left_columns, left_values, right_offsets, right_columns, right_values };
    let repeats = repeats.load(0u32) != 0;
    let mut number = team.in_grid();
    while number < count {
        let row = rows.load(number);
        let (begin, end) = (offsets.load(row), offsets.load(row + 1));
        table.clear(team);
        team.sync();
        let mut place = begin + O::from(team.lane);
        while place < end {
            if let (slot, true) = table.insert(columns.load(place), false) {
                // −0 is the number that leaves every other unchanged when added to it.
                sums.store(slot, -T::ZERO);
            }
            place = place + O::from(lanes);
        }
        team.sync();
        entries.for_each_step(team, left_offsets.load(row), left_offsets.load(row + 1), |column, product| {
            in_turns(team, repeats, column, || match table.find(column) {
                Some(slot) => sums.store(slot, sums.load(slot) + product),
                // The pattern is that of other matrices.
                None => outside.set_flag(0u32),
            });
        });
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
