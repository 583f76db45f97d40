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

/// Cost of a step, in slots: the number read while a block waits at a barrier.
pub const SLOTS_OF_A_STEP: u32 = 300;

/// Bytes of shared memory of a block, besides 4 per position of its part.
pub const SHARED_BYTES: u32 = 4 * ARRAYS * ROWS;

/// Rows of the slices that all teams have at a time.
const ROWS: u32 = WARPS * SLICE_ROWS;

/// Arrays of [`ROWS`] elements in shared memory.
const ARRAYS: u32 = 4;

/// A team without a slice.
const NO_SLICE: u32 = u32::MAX;

/// Bits of the number of entries in a column that a sum expects; above them is the number of the step after the last
/// that adds to it. Each of the 1,024 rows of the teams' slices has one entry in a column at most.
pub(super) const EXPECTED_BITS: u32 = 11;

/// Mask of these bits.
pub(super) const EXPECTED: u32 = (1 << EXPECTED_BITS) - 1;

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
    let is_empty = |slice: u32| {
        let first = part.first + slice * SLICE_ROWS;
        begins.load(first + SLICE_ROWS) == begins.load(first)
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
            while next < part.slices() && is_empty(next) {
                next += 1;
            }
            if next < part.slices() {
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
    let mut slice = lane_id();
    while slice < part.slices() {
        if is_empty(slice) {
            starts.store(part.slice + slice, 0);
            widths.store(part.slice + slice, 0);
            teams.store(part.slice + slice, WARPS - 1);
        }
        slice += WARP_LANES;
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
pub(super) unsafe fn of_lane<T: WarpShuffleValue>(value: T, lane: u32) -> T {
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

/// The elements of a part's entries.
#[derive(Clone, Copy)]
pub(super) struct Span {
    array: GlobalMut<u32>,
    begin: u64,
}

impl Span {
    #[inline(always)]
    pub unsafe fn load(self, entry: u32) -> u32 {
        self.array.load(self.begin + u64::from(entry))
    }

    #[inline(always)]
    pub unsafe fn store(self, entry: u32, value: u32) {
        self.array.store(self.begin + u64::from(entry), value);
    }
}

/// A team of the part's block.
#[derive(Clone, Copy)]
pub(super) struct Team {
    /// Its slice, or [`NO_SLICE`].
    pub slice: u32,
    /// Number of the slice's entries without a step.
    pub left: u32,
    /// First step of the slice.
    pub start: u32,
}

/// The part whose entries are ordered.
pub(super) struct Order {
    pub part: Part,
    pub banks: u32,
    pub begins: Global<u64>,
    pub left: Span,
    pub steps: Span,
    /// Rows that wait, by their positions, and in the upper half how many entries less they have than the longest of
    /// their slice.
    pub waiting: Shared<u32>,
    /// Number of entries without a step of each row of a team.
    pub lengths: Shared<u32>,
    /// First of the entries of each of these.
    pub row_begins: Shared<u32>,
    /// Elements that each bank delivers to the lanes that are served together.
    pub given: Shared<u32>,
    /// For each position, how many entries are expected, and the step after the last that adds to it.
    pub sums: Shared<u32>,
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
}
