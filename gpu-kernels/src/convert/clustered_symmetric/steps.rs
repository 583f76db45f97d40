//! The step in which each entry of a part is multiplied: no two entries of a step add to the same element of y.
//!
//! Each of a part's warps, here *teams*, has a slice at a time. In each step, the rows that have entries left come by
//! urgency, and each takes one of its entries. What a row may take depends on the rows before it, so one warp decides
//! for all; its lanes compare a row's entries side by side.

use cuda_std::shared::{Shared, dynamic};
use cuda_std::thread::{block_idx_x, grid_dim_x};
use cuda_std::warp::{
    ALL_LANES, WARP_LANES, WarpShuffleValue, lane_id, sync_warp, warp_shuffle_idx, warp_shuffle_xor, warp_vote_ballot,
};
use cuda_std::{Global, GlobalMut, kernel};

use super::Part;
use crate::clustered::SLICE_ROWS;
use crate::clustered_symmetric::WARPS;

/// Entries of a row that are compared per step, if one of them can be taken.
pub const MOST_COMPARED: u32 = 16;

/// Cost of a step, in slots: the number read while a block waits at a barrier.
pub const SLOTS_OF_A_STEP: u32 = 300;

/// Bytes of shared memory of a block, besides 4 per position of its part.
pub const SHARED_BYTES: u32 = 4 * ARRAYS * ROWS;

/// Rows of the slices that all teams have at a time.
const ROWS: u32 = WARPS * SLICE_ROWS;

/// Arrays of [`ROWS`] elements in shared memory.
const ARRAYS: u32 = 4;

/// The last lane of a warp.
const LAST_LANE: u32 = WARP_LANES - 1;

/// A team without a slice.
const NO_SLICE: u32 = u32::MAX;

/// Bits of the number of entries in a column that a sum expects; above them is the number of the step after the last
/// that adds to it. Each of the 1,024 rows of the teams' slices has one entry in a column at most.
const EXPECTED_BITS: u32 = 11;

/// Mask of these bits.
const EXPECTED: u32 = (1 << EXPECTED_BITS) - 1;

/// Steps that these numbers have room for.
const MOST_STEPS: u32 = (1 << (32 - EXPECTED_BITS)) - 2;

/// Orders the entries of parts, of all or of some that are evenly spaced. One warp per part.
///
/// # Safety
/// `entries` are those of [`symmetric_entries`](super::entries::symmetric_entries), whose `part_begins` and `begins`
/// these are, for `parts` parts; `left` and `steps` have an element for each of these, `starts`, `widths` and `teams`
/// for each slice, `costs` two for each block. `banks` is a power of two up to 32, `teams_at_a_time` at most
/// [`WARPS`]. There are blocks of one warp, at most one for each part, with [`SHARED_BYTES`] and 4 bytes per position
/// of any part.
#[kernel]
pub unsafe fn symmetric_steps(
    /// Number of parts.
    parts: u32,
    /// Lanes that shared memory serves at a time.
    banks: u32,
    /// Teams that multiply at a time.
    teams_at_a_time: u32,
    /// Number of slices before each part.
    part_begins: Global<u32>,
    /// Number of stored entries before each position.
    begins: Global<u64>,
    /// The stored entries.
    entries: Global<u32>,
    /// The entries of each row in the order of their steps, the last first.
    left: GlobalMut<u32>,
    /// The step of each of these.
    steps: GlobalMut<u32>,
    /// The first step of each slice.
    starts: GlobalMut<u32>,
    /// The number of steps of each slice.
    widths: GlobalMut<u32>,
    /// The team of each slice.
    teams: GlobalMut<u32>,
    /// For each block, the cost of its part's slots and steps, [`u64::MAX`] if there are too many steps, and the
    /// number of its entries.
    costs: GlobalMut<u64>,
) {
    let number = u64::from(block_idx_x()) * u64::from(parts) / u64::from(grid_dim_x());
    let part = Part::new(part_begins, number as u32);
    let entry_begin = begins.load(part.first);
    let count = (begins.load(part.first + part.positions) - entry_begin) as u32;
    let left = Span { array: left, begin: entry_begin };
    let mut entry = lane_id();
    while entry < count {
        left.store(entry, entries.load(entry_begin + u64::from(entry)));
        entry += WARP_LANES;
    }
    let array = |number: u32| dynamic::<u32>(4 * number * ROWS);
    let sums = array(ARRAYS);
    let mut position = lane_id();
    while position < part.positions {
        sums.store(position, 0);
        position += WARP_LANES;
    }
    sync_warp(ALL_LANES);

    let order = Order {
        part,
        banks,
        begins,
        left,
        steps: Span { array: steps, begin: entry_begin },
        waiting: array(0),
        lengths: array(1),
        row_begins: array(2),
        given: array(3),
        sums,
    };
    // The state of team l is in lane l.
    let mut team = Team { slice: NO_SLICE, left: 0, start: 0 };
    let (mut next, mut step, mut cost) = (0, 0, 0);
    loop {
        let mut idle = warp_vote_ballot(ALL_LANES, lane_id() < teams_at_a_time && team.left == 0);
        while idle != 0 {
            let number = idle.trailing_zeros();
            idle &= idle - 1;
            let done = of_lane(team.slice, number);
            if lane_id() == number && done != NO_SLICE {
                widths.store(part.slice + done, step - team.start);
                team.slice = NO_SLICE;
            }
            // After a slice without entries come only such slices.
            let first = part.first + next * SLICE_ROWS;
            if next < part.slices() && begins.load(first + 1) > begins.load(first) {
                let opened = order.open(number, next, done, step);
                if lane_id() == number {
                    team = Team { slice: next, left: opened, start: step };
                    teams.store(part.slice + next, number);
                    starts.store(part.slice + next, step);
                }
                next += 1;
            }
        }
        let active = warp_vote_ballot(ALL_LANES, team.slice != NO_SLICE);
        if active == 0 {
            break;
        }
        if step == MOST_STEPS {
            cost = u64::MAX;
            break;
        }
        cost += u64::from(active.count_ones() * SLICE_ROWS + SLOTS_OF_A_STEP);
        let (waiting, longest) = order.begin_step(active, team.slice);
        order.number_rows(waiting, team.slice);
        order.take_all(waiting, longest, step, &mut team);
        step += 1;
    }
    // Slices without entries go behind the last.
    next += lane_id();
    while next < part.slices() {
        starts.store(part.slice + next, 0);
        widths.store(part.slice + next, 0);
        teams.store(part.slice + next, WARPS - 1);
        next += WARP_LANES;
    }
    if lane_id() == 0 {
        costs.store(2 * block_idx_x(), cost);
        costs.store(2 * block_idx_x() + 1, u64::from(count));
    }
}

/// The value of a lane, for all.
///
/// # Safety
/// All lanes of the warp call it.
#[inline(always)]
unsafe fn of_lane<T: WarpShuffleValue>(value: T, lane: u32) -> T {
    warp_shuffle_idx(ALL_LANES, value, lane, WARP_LANES).0
}

/// The largest value of all lanes, for all.
///
/// # Safety
/// All lanes of the warp call it.
#[inline(always)]
unsafe fn largest(mut value: u32) -> u32 {
    let mut distance = WARP_LANES / 2;
    while distance > 0 {
        value = value.max(warp_shuffle_xor(ALL_LANES, value, distance, WARP_LANES).0);
        distance /= 2;
    }
    value
}

/// How soon an entry is taken, more than 0: first if it is late, since as many others wait for its column as the
/// longest row has entries left, and then the more of them wait; otherwise the freer its bank is, and then the more
/// wait. At most 1,024 wait, all rows of the teams, and at most 32 lanes are free: 11 and 6 bits.
#[inline(always)]
fn rank_of(waits: u32, free: u32, longest: u32) -> u32 {
    if waits > 0 && waits + 1 >= longest { 1 << 18 | waits << 6 | free } else { 1 << 17 | free << 11 | waits }
}

/// The elements of a part's entries.
#[derive(Clone, Copy)]
struct Span {
    array: GlobalMut<u32>,
    begin: u64,
}

impl Span {
    #[inline(always)]
    unsafe fn load(self, entry: u32) -> u32 {
        self.array.load(self.begin + u64::from(entry))
    }

    #[inline(always)]
    unsafe fn store(self, entry: u32, value: u32) {
        self.array.store(self.begin + u64::from(entry), value);
    }
}

/// A team of the part's block.
#[derive(Clone, Copy)]
struct Team {
    /// Its slice, or [`NO_SLICE`].
    slice: u32,
    /// Number of the slice's entries without a step.
    left: u32,
    /// First step of the slice.
    start: u32,
}

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

/// The part whose entries are ordered.
struct Order {
    part: Part,
    banks: u32,
    begins: Global<u64>,
    left: Span,
    steps: Span,
    /// Rows that wait, by their positions, and in the upper half how many entries less they have than the longest of
    /// their slice.
    waiting: Shared<u32>,
    /// Number of entries without a step of each row of a team.
    lengths: Shared<u32>,
    /// First of the entries of each of these.
    row_begins: Shared<u32>,
    /// Elements that each bank delivers to the lanes that are served together.
    given: Shared<u32>,
    /// For each position, how many entries are expected, and the step after the last that adds to it.
    sums: Shared<u32>,
}

impl Order {
    /// Gives a slice to a team that is done with another, or had none. Returns the number of its entries.
    ///
    /// # Safety
    /// All lanes of the warp call it, after a barrier of the warp; it ends with one.
    #[inline(always)]
    unsafe fn open(&self, team: u32, slice: u32, done: u32, step: u32) -> u32 {
        let mut row = lane_id();
        let mut total = 0;
        while row < SLICE_ROWS {
            if done != NO_SLICE {
                // In this step, the team adds its rows' own sums.
                let position = done * SLICE_ROWS + row;
                self.sums.store(position, (step + 1) << EXPECTED_BITS | self.sums.load(position) & EXPECTED);
            }
            let position = self.part.first + slice * SLICE_ROWS + row;
            let begin = self.begins.load(position);
            let length = (self.begins.load(position + 1) - begin) as u32;
            self.row_begins.store(team * SLICE_ROWS + row, (begin - self.left.begin) as u32);
            self.lengths.store(team * SLICE_ROWS + row, length);
            total += length;
            row += WARP_LANES;
        }
        sync_warp(ALL_LANES);
        let mut row = 0;
        while row < SLICE_ROWS {
            let begin = self.row_begins.load(team * SLICE_ROWS + row);
            let end = begin + self.lengths.load(team * SLICE_ROWS + row);
            let mut entry = begin + lane_id();
            while entry < end {
                let column = self.left.load(entry) & 0xFFFF;
                if column < self.part.positions && column != slice * SLICE_ROWS + row {
                    // A row has one entry in a column.
                    self.sums.store(column, self.sums.load(column) + 1);
                }
                entry += WARP_LANES;
            }
            sync_warp(ALL_LANES);
            row += 1;
        }
        crate::reduction::sum_over_groups(total, WARP_LANES)
    }

    /// Finds the rows that wait, the most urgent first. Returns their number, and the largest number of entries of any.
    ///
    /// # Safety
    /// All lanes of the warp call it, after a barrier of the warp; it ends with one.
    #[inline(always)]
    unsafe fn begin_step(&self, mut active: u32, slice: u32) -> (u32, u32) {
        let mut bank = lane_id();
        while bank < ROWS {
            self.given.store(bank, 0);
            bank += WARP_LANES;
        }
        let (mut count, mut longest) = (0, 0);
        while active != 0 {
            let team = active.trailing_zeros();
            active &= active - 1;
            let first = of_lane(slice, team) * SLICE_ROWS + lane_id();
            let left = [0, WARP_LANES].map(|half| self.lengths.load(team * SLICE_ROWS + half + lane_id()));
            let most = largest(left[0].max(left[1]));
            longest = longest.max(most);
            let mut add = |left: u32, position: u32| {
                let waiting = warp_vote_ballot(ALL_LANES, left > 0);
                if left > 0 {
                    let before = (waiting & ((1 << lane_id()) - 1)).count_ones();
                    self.waiting.store(count + before, (most - left) << 16 | position);
                }
                count += waiting.count_ones();
            };
            add(left[0], first);
            add(left[1], first + WARP_LANES);
        }
        self.sort(count);
        (count, longest)
    }

    /// Sorts the waiting rows.
    ///
    /// # Safety
    /// All lanes of the warp call it; it ends with a barrier of the warp.
    #[inline(always)]
    unsafe fn sort(&self, count: u32) {
        let size = count.next_power_of_two();
        let mut index = count + lane_id();
        while index < size {
            self.waiting.store(index, u32::MAX);
            index += WARP_LANES;
        }
        sync_warp(ALL_LANES);
        let mut run = 2;
        while run <= size {
            let mut distance = run / 2;
            while distance > 0 {
                let mut pair = lane_id();
                while pair < size / 2 {
                    let low = 2 * pair - (pair & (distance - 1));
                    let (left, right) = (self.waiting.load(low), self.waiting.load(low + distance));
                    if (left > right) == (low & run == 0) {
                        self.waiting.store(low, right);
                        self.waiting.store(low + distance, left);
                    }
                    pair += WARP_LANES;
                }
                sync_warp(ALL_LANES);
                distance /= 2;
            }
            run *= 2;
        }
    }

    /// Puts the number of each waiting row among the rows of all teams in the upper half of its place.
    ///
    /// # Safety
    /// All lanes of the warp call it, after a barrier of the warp; it ends with one.
    #[inline(always)]
    unsafe fn number_rows(&self, count: u32, slice: u32) {
        let mut first = 0;
        while first < count {
            let index = first + lane_id();
            let position = if index < count { self.waiting.load(index) & 0xFFFF } else { 0 };
            let (mut team, mut of_row) = (0, 0);
            while team < WARPS {
                of_row = if of_lane(slice, team) == position / SLICE_ROWS { team } else { of_row };
                team += 1;
            }
            if index < count {
                self.waiting.store(index, (of_row * SLICE_ROWS + position % SLICE_ROWS) << 16 | position);
            }
            first += WARP_LANES;
        }
        sync_warp(ALL_LANES);
    }

    /// Lets each waiting row take an entry, if it may. What a row needs from memory is read in three stages, each one
    /// row earlier than the next, so that it arrives while other rows choose.
    ///
    /// # Safety
    /// All lanes of the warp call it, after a barrier of the warp; it ends with one.
    #[inline(always)]
    unsafe fn take_all(&self, count: u32, longest: u32, step: u32, team: &mut Team) {
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
