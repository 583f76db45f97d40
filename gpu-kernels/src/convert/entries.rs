//! Entries with their rows, divided among warps in equal intervals, however long the rows are.

use cuda_std::Global;
use cuda_std::thread::index_1d;
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, warp_shuffle_idx};

use crate::Offset;
use crate::csr_load_balanced::rows_of_step;
use crate::entries::STEP;
use crate::search::first_that;

/// Calls `visit` with the number and the row of each entry of this warp's interval, 32 neighbours at a time. Only lanes
/// with an entry call it.
///
/// # Safety
/// All lanes of the warp call it. `row_offsets` are those of `rows` rows with `count` entries; `interval` is a multiple
/// of 32.
#[inline(always)]
pub(crate) unsafe fn for_each_entry<O: Offset>(
    rows: u32,
    count: u64,
    interval: u64,
    row_offsets: Global<O>,
    visit: impl Fn(u64, u32),
) {
    for_each_step(rows, count, interval, row_offsets, |entry, row, there| {
        if there {
            visit(entry, row);
        }
    });
}

/// Like [`for_each_entry`], but all lanes of the warp call `visit` together, with whether they have an entry.
///
/// # Safety
/// As for [`for_each_entry`].
#[inline(always)]
pub(super) unsafe fn for_each_step<O: Offset>(
    rows: u32,
    count: u64,
    interval: u64,
    row_offsets: Global<O>,
    visit: impl Fn(u64, u32, bool),
) {
    let begin = u64::from(index_1d() / WARP_LANES) * interval;
    if begin >= count {
        return;
    }
    let end = count.min(begin + interval);
    let mut row = first_that(0, rows, |row| row_offsets.load(row + 1).widen() > begin);
    let mut first = begin;
    while first < end {
        let own_row = rows_of_step(first, end.min(first + STEP), row, rows, row_offsets);
        let entry = first + u64::from(lane_id());
        visit(entry, own_row, entry < end);
        row = warp_shuffle_idx(ALL_LANES, own_row, WARP_LANES - 1, WARP_LANES).0;
        first += STEP;
    }
}
