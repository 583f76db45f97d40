//! The values of the short rows of a product, whose columns are found by binary search in shared memory.
//!
//! One row of the product per team of lanes, which copies the row's columns, already sorted, and keeps a sum for each.
//! A search takes a few more steps than a hash table does. But nothing is inserted, and a list takes less of the shared
//! memory, so that more warps wait for entries of B at a time.

use cuda_std::shared::Shared;
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use super::classes::slots_apart;
use super::entries::{Entries, in_turns};
use super::table::{EMPTY, array_of_team};
use super::team::Team;
use crate::Offset;

/// The index of a column among `length` columns in ascending order, at least one, if it is there.
///
/// # Safety
/// There are as many columns, written before the team's last barrier.
#[inline(always)]
unsafe fn find(columns: Shared<u32>, length: u32, column: u32) -> Option<u32> {
    let (mut first, mut left) = (0, length);
    while left > 1 {
        let half = left / 2;
        if columns.load(first + half) <= column {
            first += half;
        }
        left -= half;
    }
    if columns.load(first) == column { Some(first) } else { None }
}

/// Sums the products of some short rows, in the order of the left row's entries and, for each of these, of the right
/// row's.
///
/// # Safety
/// As for [`product_values`](super::values::product_values), but no row is empty or has more than three quarters of
/// `slots` entries, and each team has shared memory for three quarters of [`slots_apart`] columns and values.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn product_short_values<T: GpuScalar, O: Offset>(
    /// Number of rows to compute.
    count: u32,
    /// Threads that share a row of the product.
    lanes: u32,
    /// Slots that a row's hash table would have.
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
    let apart = slots_apart(slots, lanes) / 4 * 3;
    let list: Shared<u32> = array_of_team(team, apart, 0);
    let sums: Shared<T> = array_of_team(team, apart, 4);
    let entries = Entries { left_columns, left_values, right_offsets, right_columns, right_values };
    let repeats = repeats.load(0u32) != 0;
    let mut number = team.in_grid();
    while number < count {
        let row = rows.load(number);
        let begin = offsets.load(row);
        let length = (offsets.load(row + 1) - begin).widen() as u32;
        let mut place = team.lane;
        while place < length {
            let there = (length - place).div_ceil(lanes).min(4);
            let own = columns.load_streaming_apart(begin + O::from(place), lanes.into(), there, EMPTY);
            let keep = |index: u32| {
                if index < there {
                    list.store(place + index * lanes, own[index as usize]);
                    // −0 is the number that leaves every other unchanged when added to it.
                    sums.store(place + index * lanes, -T::ZERO);
                }
            };
            keep(0);
            keep(1);
            keep(2);
            keep(3);
            place += 4 * lanes;
        }
        team.sync();
        entries.for_each_step(team, left_offsets.load(row), left_offsets.load(row + 1), |column, product| {
            in_turns(team, repeats, column, || match find(list, length, column) {
                Some(place) => sums.store(place, sums.load(place) + product),
                // The pattern is that of other matrices.
                None => outside.set_flag(0u32),
            });
        });
        let mut place = team.lane;
        while place < length {
            values.store(begin + O::from(place), sums.load(place));
            place += lanes;
        }
        // All sums are read before they begin anew.
        team.sync();
        number += team.count();
    }
}
