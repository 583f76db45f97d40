//! Radix sort of rows by a number, the largest first. Each warp has an interval of the rows, and each lane counts one
//! digit. Rows with equal numbers keep their order.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, warp_shuffle_idx};
use cuda_std::{Global, GlobalMut, kernel};

use super::digits::lanes_of_own_digit;

/// Bits of a digit: one lane per digit.
pub const DIGIT_BITS: u32 = WARP_LANES.trailing_zeros();

/// Writes the numbers from 0 on.
///
/// # Safety
/// `numbers` has `count` elements.
#[kernel]
pub unsafe fn count_up(
    /// Number of elements.
    count: u32,
    /// The numbers.
    numbers: GlobalMut<u32>,
) {
    let mut number = index_1d();
    while number < count {
        numbers.store(number, number);
        number += grid_threads();
    }
}

/// Counts the occurrences of each digit in each interval.
///
/// # Safety
/// `keys` has `count` elements, none above `largest`; `counts` has 32 for each interval, and there are at most as many
/// intervals as warps; blocks are made of whole warps.
#[kernel]
pub unsafe fn radix_counts(
    /// Number of rows.
    count: u32,
    /// Rows of each interval but the last.
    interval: u32,
    /// Number of intervals.
    intervals: u32,
    /// The largest number.
    largest: u32,
    /// The lowest bit of the digit, in the difference from the largest number.
    shift: u32,
    /// The number of each row.
    keys: Global<u32>,
    /// The counts: digit by digit, and interval by interval.
    counts: GlobalMut<u32>,
) {
    let warp = index_1d() / WARP_LANES;
    if warp >= intervals {
        return;
    }
    let mut counted = 0;
    for_each_step(count, interval, |place, there| {
        let digit = if there { digit(largest, shift, keys.load_streaming(place)) } else { 0 };
        counted += lanes_of_own_digit(there, digit).count_ones();
    });
    counts.store(lane_id() * intervals + warp, counted);
}

/// Moves the rows into the order of their digits.
///
/// # Safety
/// As for [`radix_counts`]; `begins` are the sums of all counts before each; the arrays of rows have `count` elements.
#[kernel]
pub unsafe fn radix_scatter(
    /// Number of rows.
    count: u32,
    /// Rows of each interval but the last.
    interval: u32,
    /// Number of intervals.
    intervals: u32,
    /// The largest number.
    largest: u32,
    /// The lowest bit of the digit, in the difference from the largest number.
    shift: u32,
    /// The number of each row.
    keys: Global<u32>,
    /// The row at each position.
    rows: Global<u32>,
    /// Where the rows of each digit and interval begin.
    begins: Global<u32>,
    /// The numbers in their new order.
    new_keys: GlobalMut<u32>,
    /// The rows in their new order.
    new_rows: GlobalMut<u32>,
) {
    let warp = index_1d() / WARP_LANES;
    if warp >= intervals {
        return;
    }
    // The next position for the digit with this lane's number.
    let mut next = begins.load(lane_id() * intervals + warp);
    for_each_step(count, interval, |place, there| {
        let key = if there { keys.load_streaming(place) } else { largest };
        let digit = digit(largest, shift, key);
        let lanes = lanes_of_own_digit(there, digit);
        let first = warp_shuffle_idx(ALL_LANES, next, digit, WARP_LANES).0;
        let peers = warp_shuffle_idx(ALL_LANES, lanes, digit, WARP_LANES).0;
        if there {
            let new_place = first + (peers & ((1 << lane_id()) - 1)).count_ones();
            new_keys.store(new_place, key);
            new_rows.store(new_place, rows.load_streaming(place));
        }
        next += lanes.count_ones();
    });
}

/// Calls `work` with each index of this warp's interval and whether it exists, 32 neighbours at a time; all lanes of
/// the warp call it together.
#[inline(always)]
fn for_each_step(count: u32, interval: u32, mut work: impl FnMut(u32, bool)) {
    let begin = u64::from(index_1d() / WARP_LANES) * u64::from(interval);
    let end = (begin + u64::from(interval)).min(count.into());
    let mut first = begin;
    while first < end {
        let place = first + u64::from(lane_id());
        work(place as u32, place < end);
        first += u64::from(WARP_LANES);
    }
}

#[inline(always)]
fn digit(largest: u32, shift: u32, key: u32) -> u32 {
    (largest - key) >> shift & (WARP_LANES - 1)
}
