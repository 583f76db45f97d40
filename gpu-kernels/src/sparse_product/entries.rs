//! The products of a row, in the order in which a team adds them up.
//!
//! The team takes the entries of A in order. The products of one entry with a row of B have distinct columns, so no two
//! lanes access the same sum before the team's next barrier; where that row repeats a column, they [take
//! turns](in_turns).

use cuda_std::warp::{lane_id, warp_match_any_32, warp_shuffle_idx, warp_vote_any};
use cuda_std::{Global, GpuScalar};

use super::table::EMPTY;
use super::team::Team;
use crate::Offset;

/// Rows of B whose first entries are in flight while an earlier one is added.
const AHEAD: u32 = 4;

/// A row of B times an entry of A.
#[derive(Clone, Copy)]
pub(super) struct Products<T, O> {
    pub factor: T,
    pub begin: O,
    pub end: O,
}

/// A column of a matrix, or [`EMPTY`] if the thread has none, and its value.
pub(super) type Entry<T> = (u32, T);

/// The entries of both matrices.
#[derive(Clone, Copy)]
pub(super) struct Entries<T, O> {
    pub left_columns: Global<u32>,
    pub left_values: Global<T>,
    pub right_offsets: Global<O>,
    pub right_columns: Global<u32>,
    pub right_values: Global<T>,
}

impl<T: GpuScalar, O: Offset> Entries<T, O> {
    /// The products of an entry of A; none if it is not before `end`.
    ///
    /// # Safety
    /// A has all entries before `end`.
    #[inline(always)]
    pub unsafe fn products_of(self, entry: O, end: O) -> Products<T, O> {
        self.products_with(self.left_entry(entry, end))
    }

    /// An entry of A; none if it is not before `end`.
    ///
    /// # Safety
    /// A has all entries before `end`.
    #[inline(always)]
    pub unsafe fn left_entry(self, place: O, end: O) -> Entry<T> {
        if place < end { (self.left_columns.load(place), self.left_values.load(place)) } else { (EMPTY, T::ZERO) }
    }

    /// The products of an entry of A, if there is one.
    ///
    /// # Safety
    /// B has the row.
    #[inline(always)]
    pub unsafe fn products_with(self, (inner, factor): Entry<T>) -> Products<T, O> {
        if inner == EMPTY {
            return Products { factor, begin: O::from(0), end: O::from(0) };
        }
        Products { factor, begin: self.right_offsets.load(inner), end: self.right_offsets.load(inner + 1) }
    }

    /// An entry of B; none if it is not before `end`.
    ///
    /// # Safety
    /// B has all entries before `end`.
    #[inline(always)]
    pub unsafe fn entry(self, place: O, end: O) -> Entry<T> {
        if place < end { (self.right_columns.load(place), self.right_values.load(place)) } else { (EMPTY, T::ZERO) }
    }

    /// Calls `visit` with each product of the entries of A from `first` to `end`, and its column. Each call is one step
    /// of the whole team, with neighbouring entries of one row of B; threads that have none get [`EMPTY`]. The team
    /// passes a barrier after each row of B.
    ///
    /// # Safety
    /// The whole team calls it, from 4 to 32 lanes; the matrices have the entries.
    #[inline(always)]
    pub unsafe fn for_each_step(self, team: Team, mut first: O, end: O, mut visit: impl FnMut(u32, T)) {
        let (step, lane) = (O::from(team.lanes), O::from(team.lane));
        while first < end {
            // Each lane looks up one entry of A.
            let own = self.products_of(first + lane, end);
            let fetch = |number: u32| {
                let (begin, end) = own.range_of_lane(team, number);
                self.entry(begin + lane, end)
            };
            // Never indexed by a variable, so that they stay in registers.
            let mut ahead = [fetch(0), fetch(1), fetch(2), fetch(3)];
            let mut number = 0;
            while number < team.lanes && first + O::from(number) < end {
                let mut entry = ahead[0];
                let later = number + AHEAD;
                let last = if later < team.lanes { fetch(later) } else { (EMPTY, T::ZERO) };
                ahead = [ahead[1], ahead[2], ahead[3], last];
                let products = own.of_lane(team, number);
                let mut place = products.begin;
                while place < products.end {
                    visit(entry.0, products.factor * entry.1);
                    place = place + step;
                    entry = self.entry(place + lane, products.end);
                }
                // Products of other threads go to the same columns next.
                team.sync();
                number += 1;
            }
            first = first + step;
        }
    }
}

impl<T: GpuScalar, O: Offset> Products<T, O> {
    /// The products of another lane of the team.
    ///
    /// # Safety
    /// The whole team calls it.
    #[inline(always)]
    unsafe fn of_lane(self, team: Team, lane: u32) -> Self {
        let factor = warp_shuffle_idx(team.mask, self.factor, lane, team.lanes).0;
        let (begin, end) = self.range_of_lane(team, lane);
        Self { factor, begin, end }
    }

    /// Their row of B only.
    ///
    /// # Safety
    /// As for [`of_lane`](Self::of_lane).
    #[inline(always)]
    unsafe fn range_of_lane(self, team: Team, lane: u32) -> (O, O) {
        let begin = warp_shuffle_idx(team.mask, self.begin, lane, team.lanes).0;
        (begin, warp_shuffle_idx(team.mask, self.end, lane, team.lanes).0)
    }
}

/// Calls `add` on each thread that has a column. If several may have the same one, they take turns, in the order of the
/// lanes, with a barrier of the team after each turn.
///
/// # Safety
/// The whole team calls it. If `repeats` is false, all columns of a team differ.
#[inline(always)]
pub(super) unsafe fn in_turns(team: Team, repeats: bool, column: u32, mut add: impl FnMut()) {
    if !repeats {
        if column != EMPTY {
            add();
        }
        return;
    }
    let same = warp_match_any_32(team.mask, column);
    let before = (same & ((1 << lane_id()) - 1)).count_ones();
    let mut turn = 0;
    while warp_vote_any(team.mask, column != EMPTY && before >= turn) {
        if column != EMPTY && before == turn {
            add();
        }
        team.sync();
        turn += 1;
    }
}
