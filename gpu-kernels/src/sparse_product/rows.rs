//! Whole rows of a product, columns and values in one pass, by a hash table in shared memory.
//!
//! One row of the product per team of lanes. The table has a sum for each slot, and the columns are also listed in the
//! order in which they are found: sorted, the list is the row's pattern. Sums are in the order of A's entries.

use cuda_std::shared::Shared;
use cuda_std::warp::{lane_id, warp_vote_ballot};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use super::classes::slots_apart;
use super::entries::{Entries, in_turns};
use super::sort::sort;
use super::table::{Table, array_of_team};
use super::team::Team;
use crate::Offset;

/// The length of a row with more different columns than expected, which was not written.
pub const TOO_LONG: u32 = u32::MAX;

/// Computes some rows of a product: columns in ascending order, values in the order of the left row's entries and, for
/// each of these, of the right row's, and lengths. A row with more than `stride` different columns is not written if
/// `stride` is not 0; its length is then [`TOO_LONG`].
///
/// # Safety
/// The arrays are those of valid matrices, of which the left one has no column beyond the rows of the right one; `rows`
/// are `count` rows of it; `lengths` has an element for each row of the left matrix. Either each of the rows has fewer
/// different columns in the product than `slots`, or `stride` is not 0 and `stride + lanes` at most `slots`. If the only element of
/// `repeats` is 0, no row of the right matrix has a column twice.
/// `columns` and `values` have room for each row where it begins: `stride` entries, or as many as it has different
/// columns if `stride` is 0, when `offsets` has an element for each row; `count` times `stride` fits 32 bits. `lanes`
/// is a power of two from 4 to 32; blocks are made of whole warps; `slots` is a power of two and at least 32. Each team
/// of `lanes` threads has shared memory for [`slots_apart`] times two columns and a value.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn product_rows<T: GpuScalar, O: Offset>(
    /// Number of rows to compute.
    count: u32,
    /// Threads that share a row of the product.
    lanes: u32,
    /// Slots of a row's hash table.
    slots: u32,
    /// Distance between the rows in the order of `rows`; 0 if they begin at their offsets.
    stride: u32,
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
    /// Where each row of the product begins; not read if `stride` is not 0.
    offsets: Global<O>,
    /// The columns of the product.
    columns: GlobalMut<u32>,
    /// The values of the product.
    values: GlobalMut<T>,
    /// The number of columns of each row.
    lengths: GlobalMut<u32>,
    /// Becomes 1 if a row has more than `stride` different columns, and `stride` is not 0.
    too_long: GlobalMut<u32>,
) {
    let team = Team::new(lanes);
    let most = if stride == 0 { u32::MAX } else { stride };
    let table = Table::new(team, slots);
    let apart = slots_apart(slots, lanes);
    let list: Shared<u32> = array_of_team(team, apart, 4);
    let sums: Shared<T> = array_of_team(team, apart, 8);
    let entries = Entries { left_columns, left_values, right_offsets, right_columns, right_values };
    let repeats = repeats.load(0u32) != 0;
    let lanes_before = (1_u32 << lane_id()) - 1;
    let mut number = team.in_grid();
    while number < count {
        let row = rows.load(number);
        let begin = if stride == 0 { offsets.load(row) } else { O::from(number * stride) };
        table.clear(team);
        team.sync();
        let mut found = 0;
        entries.for_each_step(team, left_offsets.load(row), left_offsets.load(row + 1), |column, product| {
            // `found` is the same on all lanes, so the whole team returns.
            if found > most {
                return;
            }
            let mut is_new = false;
            in_turns(team, repeats, column, || {
                // Until the next barrier no other lane has this column, so a new sum needs none before it is used.
                let (slot, inserted) = table.insert(column, true);
                sums.store(slot, if inserted { product } else { sums.load(slot) + product });
                is_new |= inserted;
            });
            let new = warp_vote_ballot(team.mask, is_new) & team.mask;
            if is_new {
                list.store(found + (new & lanes_before).count_ones(), column);
            }
            found += new.count_ones();
        });
        let is_too_long = found > most;
        if !is_too_long {
            sort(team, list, found);
        }
        let mut place = if is_too_long { found } else { team.lane };
        while place < found {
            let column = list.load(place);
            columns.store(begin + O::from(place), column);
            if let Some(slot) = table.find(column) {
                values.store(begin + O::from(place), sums.load(slot));
            }
            place += lanes;
        }
        if team.lane == 0 {
            lengths.store(row, if is_too_long { TOO_LONG } else { found });
            if is_too_long {
                too_long.set_flag(0u32);
            }
        }
        // All sums are read before the table is cleared.
        team.sync();
        number += team.count();
    }
}

/// Copies rows from where [`product_rows`] or [`product_lane_rows`](super::lane_rows::product_lane_rows) wrote them,
/// `stride` apart, to their places in the product; not those with more than `stride` entries.
///
/// # Safety
/// `rows` are `count` rows of the product, whose `offsets` are those of a valid matrix with `columns` and `values`;
/// `from_columns` and `from_values` have `stride` elements for each. `lanes` is a power of
/// two up to 32; blocks are made of whole warps.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn product_compact<T: GpuScalar, O: Offset>(
    /// Number of rows to copy.
    count: u32,
    /// Threads that share a row.
    lanes: u32,
    /// Distance between the rows in `from_columns` and `from_values`.
    stride: u32,
    /// The rows.
    rows: Global<u32>,
    /// Where each row of the product begins.
    offsets: Global<O>,
    /// The columns of each row.
    from_columns: Global<u32>,
    /// The values of each row.
    from_values: Global<T>,
    /// The columns of the product.
    columns: GlobalMut<u32>,
    /// The values of the product.
    values: GlobalMut<T>,
) {
    let team = Team::new(lanes);
    let mut number = team.in_grid();
    while number < count {
        let row = rows.load(number);
        let begin = offsets.load(row);
        let length = (offsets.load(row + 1) - begin).widen() as u32;
        let entry = |place: u32| {
            let from = number * stride + place;
            if place < length {
                (from_columns.load_streaming(from), from_values.load_streaming(from))
            } else {
                (0, T::ZERO)
            }
        };
        let mut place = if length <= stride { team.lane } else { length };
        while place < length {
            // Two at a time.
            let second = place + lanes;
            let (own, other) = (entry(place), entry(second));
            columns.store(begin + O::from(place), own.0);
            values.store(begin + O::from(place), own.1);
            if second < length {
                columns.store(begin + O::from(second), other.0);
                values.store(begin + O::from(second), other.1);
            }
            place += 2 * lanes;
        }
        number += team.count();
    }
}
