//! The values of a product whose pattern is known.

use cuda_std::warp::{lane_id, warp_match_any_32, warp_vote_any};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use super::team::Team;
use crate::Offset;

/// A row of the product: its columns, in ascending order, and their sums.
#[derive(Clone, Copy)]
struct Row<T, O> {
    columns: Global<u32>,
    values: GlobalMut<T>,
    begin: O,
    length: u32,
    outside: GlobalMut<u32>,
}

impl<T: GpuScalar, O: Offset> Row<T, O> {
    /// Adds a product to the sum of its column.
    ///
    /// # Safety
    /// The row exists, and no other lane adds to the same column at the same time.
    #[inline(always)]
    unsafe fn add(self, column: u32, product: T) {
        let (mut low, mut count) = (0, self.length);
        while count > 0 {
            let half = count / 2;
            if self.columns.load(self.begin + O::from(low + half)) < column {
                low += half + 1;
                count -= half + 1;
            } else {
                count = half;
            }
        }
        // A pattern of other matrices may lack the column.
        if low < self.length && self.columns.load(self.begin + O::from(low)) == column {
            let place = self.begin + O::from(low);
            self.values.store(place, self.values.load(place) + product);
        } else {
            self.outside.set_flag(0u32);
        }
    }
}

/// Adds up the products of each row, in the order of the left row's entries and, among those of one, of the right row's.
///
/// # Safety
/// The arrays are those of valid matrices, of which the left one and the product have `rows` rows, and the left one no column
/// beyond the rows of the right one; each row of the product is sorted. Where `repeats` is 0, no row of the right matrix has
/// a column twice. `outside` has one element. `lanes` is a power of two up to 32; blocks are made of whole warps.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn product_values<T: GpuScalar, O: Offset>(
    /// Rows of the product.
    rows: u32,
    /// Lanes that share a row.
    lanes: u32,
    /// Whether a row of the right matrix may have a column more than once.
    repeats: u32,
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
    /// Becomes 1 where the product has no entry at the place of products.
    outside: GlobalMut<u32>,
) {
    let team = Team::new(lanes);
    let mut number = team.in_grid();
    while number < rows {
        let begin = offsets.load(number);
        let length = (offsets.load(number + 1) - begin).widen() as u32;
        let row = Row { columns, values, begin, length, outside };
        let mut place = team.lane;
        while place < length {
            // Of all numbers, this one added to any other leaves it as it is.
            values.store(begin + O::from(place), -T::ZERO);
            place += lanes;
        }
        team.sync();
        let (mut entry, end) = (left_offsets.load(number), left_offsets.load(number + 1));
        while entry < end {
            let (inner, factor) = (left_columns.load(entry), left_values.load(entry));
            let (mut first, last) = (right_offsets.load(inner), right_offsets.load(inner + 1));
            while first < last {
                let place = first + O::from(team.lane);
                let there = place < last;
                let column = if there { right_columns.load(place) } else { u32::MAX };
                let product = if there { factor * right_values.load(place) } else { T::ZERO };
                if repeats == 0 {
                    if there {
                        row.add(column, product);
                    }
                } else {
                    add_in_turn(team, row, there, column, product);
                }
                first = first + O::from(lanes);
            }
            // Other lanes' products come to the same columns next.
            team.sync();
            entry = entry + O::from(1);
        }
        number += team.count();
    }
}

/// Adds the products of a team's lanes, where several may have the same column: the first of each at once, then the second.
///
/// # Safety
/// As for [`Row::add`], apart from the other lanes of the team, all of which call it.
#[inline(always)]
unsafe fn add_in_turn<T: GpuScalar, O: Offset>(team: Team, row: Row<T, O>, there: bool, column: u32, product: T) {
    let same = warp_match_any_32(team.mask, column);
    let before = (same & ((1 << lane_id()) - 1)).count_ones();
    let mut turn = 0;
    while warp_vote_any(team.mask, there && before >= turn) {
        if there && before == turn {
            row.add(column, product);
        }
        team.sync();
        turn += 1;
    }
}
