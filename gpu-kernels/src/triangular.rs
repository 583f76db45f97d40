//! Solves with triangular matrices, level by level.
//!
//! A row waits for the rows whose elements of x it uses. Level 0 consists of the rows that use none; each other row is
//! one level above the highest one that it waits for, so the rows of a level can be solved at the same time (Saad 2003,
//! §11.6.2).

use cuda_std::thread::{grid_threads, index_1d, sync_threads};
use cuda_std::warp::{WARP_LANES, lane_id};
use cuda_std::{Global, GlobalMut, GpuFloat, kernel};

use crate::Offset;
use crate::block::unrolled;
use crate::reduction::sum_over_lanes;

/// Number of entries that a lane loads at the same time.
const AT_ONCE: u32 = 4;

/// What a lane loads for its row before it reads x.
#[derive(Clone, Copy)]
struct Row<O> {
    /// Whether this lane has a row.
    inside: bool,
    number: u32,
    /// The lane's next entry, and the end of the row.
    entry: O,
    end: O,
    /// The columns of that entry and of the lane's next ones.
    columns: [u32; AT_ONCE as usize],
}

impl<O: Offset> Row<O> {
    fn none() -> Self {
        Self { inside: false, number: 0, entry: O::from(0), end: O::from(0), columns: [0; AT_ONCE as usize] }
    }
}

/// Computes the elements of x = T⁻¹ b in the rows of some levels, after all levels before them. `LANES` lanes share a
/// row. A single level can have any grid; several take one block, which goes from level to level by barriers, and loads
/// what it needs of the next row before it finishes the last one, because a level's time is mostly memory latency.
///
/// # Safety
/// The grid has one block unless `end_level` is `first_level` + 1; blocks are made of whole warps. `level_offsets` has
/// an element for each level and one more, and `order` the rows, level by level; row offsets, entries and inverses of
/// the diagonal are in that order as well, entries without the diagonal. Entries are in columns whose rows are in
/// levels before that of their own row. `b` and `x` are different arrays with an element for each row.
#[kernel(T: reals, O: [u32, u64], LANES: [1, 4, 16])]
pub unsafe fn triangular_levels<T: GpuFloat, O: Offset, const LANES: u32>(
    /// The first level to solve.
    first_level: u32,
    /// The level after the last one.
    end_level: u32,
    /// Offset of each level among the rows.
    level_offsets: Global<u32>,
    /// The row at each position in the order of levels.
    order: Global<u32>,
    /// Offset of the entries of each position.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// One over the diagonal element of each position.
    inverse_diagonal: Global<T>,
    /// The right-hand side.
    b: Global<T>,
    /// The result.
    x: GlobalMut<T>,
) {
    let lane = lane_id() % LANES;
    // The begin of this warp in a level, and its stride. The warp stays together for the sums over its lanes.
    let (first, stride) = (index_1d() / WARP_LANES * (WARP_LANES / LANES), grid_threads() / LANES);
    let columns_from = |entry: O, end: O| columns_from::<O, LANES>(column_indices, entry, end);
    let factors_from = |row: &Row<O>| factors_from::<T, O, LANES>(values, x, row);
    let load_row = |place: u32, end_place: u32| {
        let mut row = Row { inside: place < end_place, ..Row::none() };
        if row.inside {
            (row.entry, row.end) = (row_offsets.load(place) + O::from(lane), row_offsets.load(place + 1));
            row.number = order.load(place);
            row.columns = columns_from(row.entry, row.end);
        }
        row
    };
    let mut level = first_level;
    let mut end_place = level_offsets.load(level + 1);
    let mut place = level_offsets.load(level) + first;
    let mut row = load_row(place + lane_id() / LANES, end_place);
    while level < end_level {
        let mut factors = factors_from(&row);
        let (mut right_hand_side, mut inverse) = (T::ZERO, T::ZERO);
        if row.inside {
            (right_hand_side, inverse) = (b.load(row.number), inverse_diagonal.load(place + lane_id() / LANES));
        }
        // Meanwhile, load the data of the next row that do not depend on this one.
        let (mut next_level, mut next_place) = (level, place + stride);
        if next_place >= end_place {
            (next_level, next_place) = (level + 1, end_place + first);
            end_place = if next_level < end_level { level_offsets.load(next_level + 1) } else { 0 };
        }
        let next_row = load_row(next_place + lane_id() / LANES, end_place);

        let mut sum = T::ZERO;
        while row.entry < row.end {
            unrolled(AT_ONCE, |n| {
                if row.entry + O::from(n * LANES) < row.end {
                    let (value, element) = factors[n as usize];
                    sum = value.mul_add(element, sum);
                }
            });
            row.entry = row.entry + O::from(AT_ONCE * LANES);
            row.columns = columns_from(row.entry, row.end);
            factors = factors_from(&row);
        }
        let sum = sum_over_lanes::<T, LANES>(sum);
        if lane == 0 && row.inside {
            x.store(row.number, (right_hand_side - sum) * inverse);
        }
        if level < next_level && next_level < end_level {
            // What this level wrote is read from here on.
            sync_threads();
        }
        (level, place, row) = (next_level, next_place, next_row);
    }
}

/// The columns of a lane's next entries; 0 past the end of the row.
///
/// # Safety
/// The entries before `end` exist.
#[inline(always)]
unsafe fn columns_from<O: Offset, const LANES: u32>(
    column_indices: Global<u32>,
    entry: O,
    end: O,
) -> [u32; AT_ONCE as usize] {
    let mut columns = [0; AT_ONCE as usize];
    unrolled(AT_ONCE, |n| {
        if entry + O::from(n * LANES) < end {
            columns[n as usize] = column_indices.load(entry + O::from(n * LANES));
        }
    });
    columns
}

/// The values of a lane's next entries, and the elements of x by which they are multiplied.
///
/// # Safety
/// The row's entries exist, and its columns have elements of x, which are written.
#[inline(always)]
unsafe fn factors_from<T: GpuFloat, O: Offset, const LANES: u32>(
    values: Global<T>,
    x: GlobalMut<T>,
    row: &Row<O>,
) -> [(T, T); AT_ONCE as usize] {
    let mut factors = [(T::ZERO, T::ZERO); AT_ONCE as usize];
    unrolled(AT_ONCE, |n| {
        let entry = row.entry + O::from(n * LANES);
        if entry < row.end {
            factors[n as usize] = (values.load(entry), x.load(row.columns[n as usize]));
        }
    });
    factors
}
