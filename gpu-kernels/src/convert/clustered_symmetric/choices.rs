//! The entry that a row takes in a step: each row in turn, of what the rows before it have left.

use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, sync_warp, warp_shuffle_xor, warp_vote_ballot};

use super::steps::{EXPECTED, EXPECTED_BITS, Order, Team, of_lane};
use crate::clustered::SLICE_ROWS;

/// Entries of a row that are compared per step, if one of them can be taken.
pub const MOST_COMPARED: u32 = 16;

/// The last lane of a warp.
const LAST_LANE: u32 = WARP_LANES - 1;

/// A row that is to take an entry.
#[derive(Clone, Copy)]
struct Row {
    position: u32,
    /// Its number among the rows of all teams.
    number: u32,
    /// First of its entries.
    begin: u32,
    /// Number of its entries without a step, which come first.
    left: u32,
}

/// An entry that a row may take, one for each lane.
#[derive(Clone, Copy)]
struct Choice {
    /// Its number in the row.
    number: u32,
    entry: u32,
    /// The sum of its column, if the entry also stands for its image; otherwise 0.
    sum: u32,
    /// Its column's bank.
    bank: u32,
    /// Elements that this bank delivers already.
    given: u32,
}

/// How soon an entry is taken, more than 0: first if it is late, since as many others wait for its column as the
/// longest row has entries left, and then the more of them wait; otherwise the freer its bank is, and then the more
/// wait. At most 1,024 wait, all rows of the teams, and at most 32 lanes are free: 11 and 6 bits.
#[inline(always)]
fn rank_of(waits: u32, free: u32, longest: u32) -> u32 {
    if waits > 0 && waits + 1 >= longest { 1 << 18 | waits << 6 | free } else { 1 << 17 | free << 11 | waits }
}

impl Order {
    /// Lets each waiting row take an entry, if it may. What a row needs from memory is read in three stages, each one
    /// row earlier than the next, so that it arrives while other rows choose.
    ///
    /// # Safety
    /// All lanes of the warp call it, after a barrier of the warp; it ends with one.
    #[inline(always)]
    pub unsafe fn take_all(&self, count: u32, longest: u32, step: u32, team: &mut Team) {
        // The last row again, instead of those that do not exist.
        let place_of = |index: u32| self.waiting.load(index.min(count - 1));
        let mut next = self.row(place_of(0));
        let mut next_entry = self.entry_of_lane(next);
        let (mut second, mut third) = (self.row(place_of(1)), place_of(2));
        let mut index = 0;
        while index < count {
            let (row, entry) = (next, next_entry);
            next = second;
            next_entry = self.entry_of_lane(next);
            second = self.row(third);
            third = place_of(index + 3);
            let last = of_lane(entry, LAST_LANE);
            let (choice, is_taken, found) = self.best(row, entry, longest, step);
            // All lanes have read what is written now.
            sync_warp(ALL_LANES);
            if is_taken {
                self.take(row, choice, last, step);
            }
            team.left -= u32::from(found && lane_id() == row.number / SLICE_ROWS);
            sync_warp(ALL_LANES);
            index += 1;
        }
    }

    /// The row with this number and position.
    ///
    /// # Safety
    /// It is a waiting row.
    #[inline(always)]
    unsafe fn row(&self, place: u32) -> Row {
        let (position, number) = (place & 0xFFFF, place >> 16);
        Row { position, number, begin: self.row_begins.load(number), left: self.lengths.load(number) }
    }

    /// The entry of a row with this lane's number, if it has that many; in the last lane, its last.
    ///
    /// # Safety
    /// The row has entries.
    #[inline(always)]
    unsafe fn entry_of_lane(&self, row: Row) -> u32 {
        let number = if lane_id() < LAST_LANE { lane_id() } else { u32::MAX };
        self.left.load(row.begin + number.min(row.left - 1))
    }

    /// An entry of a row, with the state of its column and its bank.
    ///
    /// # Safety
    /// It is an entry of the row.
    #[inline(always)]
    unsafe fn choice(&self, row: Row, number: u32, entry: u32) -> Choice {
        let column = entry & 0xFFFF;
        let has_image = column < self.part.positions && column != row.position;
        let sum = if has_image { self.sums.load(column) } else { 0 };
        // A row's lane and half, and then the first of the banks that it may use.
        let (lane, half) = (row.position % WARP_LANES, row.position / WARP_LANES % 2);
        let first = (2 * (row.number / SLICE_ROWS) + half) * WARP_LANES + (lane & !(self.banks - 1));
        let bank = first + (column & (self.banks - 1));
        Choice { number, entry, sum, bank, given: self.given.load(bank) }
    }

    /// The entry that a row takes in a step, in the one lane that gets `true` with it, and in the lanes of teams
    /// whether there is one. The entry that most others wait for comes first, if it is late; then the bank decides,
    /// then how many wait.
    ///
    /// # Safety
    /// All lanes of the warp call it, after a barrier of the warp.
    #[inline(always)]
    unsafe fn best(&self, row: Row, entry: u32, longest: u32, step: u32) -> (Choice, bool, bool) {
        let may_take = |choice: Choice| choice.sum >> EXPECTED_BITS != step + 1;
        let choice = self.choice(row, lane_id(), entry);
        let mut rank = 0;
        if lane_id() < row.left.min(MOST_COMPARED) && may_take(choice) {
            let (waits, free) = (choice.sum & EXPECTED, WARP_LANES - choice.given);
            // Of equal entries, the first.
            rank = rank_of(waits, free, longest) << 4 | (MOST_COMPARED - 1 - lane_id());
        }
        let mut highest = rank;
        let mut distance = MOST_COMPARED / 2;
        while distance > 0 {
            highest = highest.max(warp_shuffle_xor(ALL_LANES, highest, distance, WARP_LANES).0);
            distance /= 2;
        }
        let is_taken = rank > 0 && rank == highest;
        if row.left > MOST_COMPARED && warp_vote_ballot(ALL_LANES, is_taken) == 0 {
            // The first of the others, some of which are in the lanes that are left.
            let is_other = (MOST_COMPARED..row.left.min(LAST_LANE)).contains(&lane_id());
            let may = warp_vote_ballot(ALL_LANES, is_other && may_take(choice));
            if may == 0 && row.left > LAST_LANE {
                return self.first(row, step);
            }
            return (choice, may.trailing_zeros() == lane_id(), may != 0);
        }
        (choice, is_taken, highest > 0)
    }

    /// As [`best`](Self::best), the first entry that may be taken of those that no lane has read.
    ///
    /// # Safety
    /// As for [`best`](Self::best).
    #[inline(always)]
    unsafe fn first(&self, row: Row, step: u32) -> (Choice, bool, bool) {
        let mut begin = LAST_LANE;
        loop {
            let number = (begin + lane_id()).min(row.left - 1);
            let choice = self.choice(row, number, self.left.load(row.begin + number));
            let may_take = warp_vote_ballot(ALL_LANES, choice.sum >> EXPECTED_BITS != step + 1);
            begin += WARP_LANES;
            if may_take != 0 || begin >= row.left {
                // The lowest of these lanes is the first with its entry.
                return (choice, may_take.trailing_zeros() == lane_id(), may_take != 0);
            }
        }
    }

    /// Gives a chosen entry this step, in place of which the row gets its last one.
    ///
    /// # Safety
    /// One lane calls it, after a barrier of the warp and before the next one.
    #[inline(always)]
    unsafe fn take(&self, row: Row, choice: Choice, last: u32, step: u32) {
        let place = row.begin + row.left - 1;
        self.left.store(row.begin + choice.number, last);
        self.left.store(place, choice.entry);
        self.steps.store(place, step);
        self.lengths.store(row.number, row.left - 1);
        let column = choice.entry & 0xFFFF;
        if column < self.part.positions && column != row.position {
            self.sums.store(column, (step + 1) << EXPECTED_BITS | ((choice.sum & EXPECTED) - 1));
        }
        self.given.store(choice.bank, choice.given + 1);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::rank_of;

    #[test]
    fn ranks_are_in_the_order_of_what_they_are_made_of() {
        let longest = 500;
        let choices = [0, 1, 2, 498, 499, 500, 1023, 1024].into_iter().flat_map(|waits| {
            (1..=32).map(move |free| {
                let is_urgent = waits + 1 >= longest;
                ((if is_urgent { waits } else { 0 }, free, waits), rank_of(waits, free, longest))
            })
        });
        let mut choices: std::vec::Vec<_> = choices.collect();
        choices.sort_unstable();
        assert!(choices.is_sorted_by(|(_, left), (_, right)| left < right) && choices[0].1 > 0);
    }
}
