//! The patterns of the two factors of a product.

use cuda_std::Global;
use cuda_std::warp::{WARP_LANES, lane_id, warp_shuffle_idx, warp_vote_ballot};

use super::table::EMPTY;
use super::team::Team;
use crate::Offset;

/// Number of entries of a row of B above which all lanes of a team in a warp take it together, however short others
/// are.
const LONG: u32 = 256;

/// The patterns of A and B.
#[derive(Clone, Copy)]
pub(super) struct Sides<O> {
    pub left_offsets: Global<O>,
    pub left_columns: Global<u32>,
    pub right_offsets: Global<O>,
    pub right_columns: Global<u32>,
}

impl<O: Offset> Sides<O> {
    /// Calls `visit` with the column of each product of a row, divided among a team: `together` neighbouring lanes, a
    /// power of two that divides the team's lanes in a warp, take a row of B at a time; all of these take one longer
    /// than [`LONG`] together. Each lane looks up the row of B for one entry of A.
    ///
    /// # Safety
    /// The matrices are valid, and A has the row. The whole team calls it.
    #[inline(always)]
    pub unsafe fn for_each_column(self, team: Team, together: u32, row: u32, mut visit: impl FnMut(u32)) {
        let lanes = team.lanes.min(WARP_LANES);
        let (lane, warp) = (lane_id() % lanes, team.lane / lanes);
        let (groups, groups_of_warp) = (team.lanes / together, lanes / together);
        // Groups take entries in turn; the entries of a warp's groups in the first turn are looked up by its first
        // lanes.
        let own = lane / groups_of_warp * groups + warp * groups_of_warp + lane % groups_of_warp;
        let (mut first, end) = (self.left_offsets.load(row), self.left_offsets.load(row + 1));
        while first < end {
            let entry = first + O::from(own);
            let (mut right_begin, mut right_end) = (O::from(0), O::from(0));
            if entry < end {
                let inner = self.left_columns.load(entry);
                (right_begin, right_end) = (self.right_offsets.load(inner), self.right_offsets.load(inner + 1));
            }
            let mut long = warp_vote_ballot(team.mask, right_end - right_begin > O::from(LONG)) & team.mask;
            while long != 0 {
                let from = long.trailing_zeros() % lanes;
                let begin = warp_shuffle_idx(team.mask, right_begin, from, lanes).0;
                self.for_each_column_of_long(
                    begin,
                    warp_shuffle_idx(team.mask, right_end, from, lanes).0,
                    lanes,
                    &mut visit,
                );
                if lane == from {
                    right_end = right_begin;
                }
                long &= long - 1;
            }
            let row_of = |turn: u32| {
                let from = turn * groups_of_warp + lane / together;
                let begin = warp_shuffle_idx(team.mask, right_begin, from, lanes).0;
                (begin + O::from(lane % together), warp_shuffle_idx(team.mask, right_end, from, lanes).0)
            };
            let column_at =
                |place: O, place_end: O| if place < place_end { self.right_columns.load(place) } else { EMPTY };
            let (mut place, mut place_end) = row_of(0);
            let mut column = column_at(place, place_end);
            let (mut turn, mut more) = (0, true);
            while more {
                turn += 1;
                more = turn < together && first + O::from(turn * groups) < end;
                // The next row is in flight while this one is visited.
                let next = if more { row_of(turn) } else { (place_end, place_end) };
                let next_column = column_at(next.0, next.1);
                while place < place_end {
                    let current = column;
                    place = place + O::from(together);
                    column = column_at(place, place_end);
                    visit(current);
                }
                (place, place_end, column) = (next.0, next.1, next_column);
            }
            first = first + O::from(team.lanes);
        }
    }

    /// Calls `visit` with the columns of B from `begin` to `end`, divided among `lanes` lanes, with several of each in
    /// flight.
    ///
    /// # Safety
    /// B has the entries; `lanes` is a power of two up to 32.
    #[inline(always)]
    unsafe fn for_each_column_of_long(self, begin: O, end: O, lanes: u32, visit: &mut impl FnMut(u32)) {
        let mut place = begin + O::from(lane_id() % lanes);
        while place < end {
            let column = |step: u32| {
                let place = place + O::from(step * lanes);
                if place < end { self.right_columns.load(place) } else { EMPTY }
            };
            // Never indexed by a variable, so that they stay in registers.
            let mut columns = [column(0), column(1), column(2), column(3)];
            while columns[0] != EMPTY {
                visit(columns[0]);
                columns = [columns[1], columns[2], columns[3], EMPTY];
            }
            place = place + O::from(4 * lanes);
        }
    }
}
