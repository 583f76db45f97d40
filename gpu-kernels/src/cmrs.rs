//! Compressed multirow storage (Koza et al. 2014): one warp per strip of neighbouring rows.
//!
//! The partial sums of a strip are in shared memory. Those of one row are adjacent, so that lanes that add to the same
//! row at the same time never conflict in a bank.

use cuda_std::shared::{Shared, dynamic};
use cuda_std::thread::{grid_threads, index_1d, thread_idx_x};
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, sync_warp};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use crate::Offset;
use crate::reduction::sum_over_lanes;
use crate::vector::update;

/// Bits of a word that hold an entry's row in its strip; the others hold its column (§4).
pub const ROW_BITS: u32 = 4;

/// Largest number of rows of a strip.
pub const LARGEST_HEIGHT: u32 = 1 << ROW_BITS;

/// Largest number of columns of a matrix.
pub const MOST_COLUMNS: u32 = 1 << (u32::BITS - ROW_BITS);

/// The word of a slot without an entry, in padded strips only: the last row of a strip in the last column, which padded
/// matrices do not have.
pub const PADDING: u32 = u32::MAX;

/// Rows of a padded strip (§6.7).
pub const PADDED_HEIGHT: u32 = 16;

/// Partial sums of each row of a padded strip (§6.7).
pub const BUFFERS: u32 = 8;

/// An entry's word.
#[inline(always)]
pub const fn pack(row_in_strip: u32, column: u32) -> u32 {
    column << ROW_BITS | row_in_strip
}

/// The column of an entry.
#[inline(always)]
pub const fn column_of(word: u32) -> u32 {
    word >> ROW_BITS
}

/// The row of an entry in its strip.
#[inline(always)]
pub const fn row_in_strip(word: u32) -> u32 {
    word % LARGEST_HEIGHT
}

/// One warp per strip (Algorithm 1). Each lane has its own partial sum of each row. At the end, `LANES` lanes add up
/// those of a row; `LANES` · `height` is at most 32.
///
/// # Safety
/// The arrays are those of a valid CMRS matrix with `rows` rows; `x` has an element for each column, `y` one for each
/// row; `alignment` is 1 or 32; blocks are made of whole warps, with `height` numbers of shared memory per thread.
#[kernel(T: scalars, O: [u32, u64], LANES: [2, 4, 8, 16])]
pub unsafe fn cmrs<T: GpuScalar, O: Offset, const LANES: u32>(
    /// Number of rows.
    rows: u32,
    /// Rows of a strip.
    height: u32,
    /// The warp's steps begin at multiples of this many entries: 32 for whole cache lines at the price of a
    /// shorter first step, or 1.
    alignment: u32,
    /// Where each strip begins; strips + 1 offsets.
    strip_offsets: Global<O>,
    /// Column and row in the strip of each entry.
    words: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// The factor of A x.
    alpha: T,
    /// The vector to multiply.
    x: Global<T>,
    /// The factor of y.
    beta: T,
    /// The result.
    y: GlobalMut<T>,
) {
    let lane = lane_id();
    let warp_in_block = thread_idx_x() / WARP_LANES;
    let sums = dynamic::<T>(warp_in_block * height * WARP_LANES * size_of::<T>() as u32);
    let mut strip = index_1d() / WARP_LANES;
    while strip * height < rows {
        let mut row = 0;
        while row < height {
            sums.store(row * WARP_LANES + lane, T::ZERO);
            row += 1;
        }
        let (begin, end) = (strip_offsets.load(strip), strip_offsets.load(strip + 1));
        add_entries(begin, end, alignment, words, values, x, sums);
        sync_warp(ALL_LANES);
        let (row_here, part) = (lane / LANES, lane % LANES);
        let mut sum = T::ZERO;
        if row_here < height {
            // Rows start at different offsets, so that lanes never conflict in a bank.
            let turns = WARP_LANES / LANES;
            let mut turn = 0;
            while turn < turns {
                let place = (turn + row_here) % turns * LANES + part;
                sum = sum + sums.load(row_here * WARP_LANES + place);
                turn += 1;
            }
        }
        let sum = sum_over_lanes::<T, LANES>(sum);
        let row = strip * height + row_here;
        if part == 0 && row_here < height && row < rows {
            update(y, row, alpha, sum, beta);
        }
        // The shuffles synchronize all lanes as well, but only this orders their memory accesses.
        sync_warp(ALL_LANES);
        strip += grid_threads() / WARP_LANES;
    }
}

/// Adds every 32nd entry of a strip, from the lane's first one on, to the lane's partial sums. Four entries at a time
/// are loaded before the first is used, to keep the memory busy, through the caches, because neighbouring lanes and
/// steps share cache lines. A lane outside the strip loads the strip's first entry and adds nothing.
///
/// # Safety
/// As for [`cmrs`]; the strip has the entries from `begin` to `end`, and the 32 · height numbers of `sums` belong to
/// the warp.
#[inline(always)]
unsafe fn add_entries<T: GpuScalar, O: Offset>(
    begin: O,
    end: O,
    alignment: u32,
    words: Global<u32>,
    values: Global<T>,
    x: Global<T>,
    sums: Shared<T>,
) {
    if begin == end {
        return;
    }
    let lane = lane_id();
    let before_begin = begin.widen() as u32 & (alignment - 1);
    let mut entry = begin - O::from(before_begin) + O::from(lane);
    while entry < end {
        let entries = [entry, entry + O::from(32), entry + O::from(64), entry + O::from(96)];
        let inside = entries.map(|entry| begin <= entry && entry < end);
        let places = [
            if inside[0] { entries[0] } else { begin },
            if inside[1] { entries[1] } else { begin },
            if inside[2] { entries[2] } else { begin },
            if inside[3] { entries[3] } else { begin },
        ];
        let words = places.map(|place| words.load(place));
        let values = places.map(|place| values.load(place));
        let elements = words.map(|word| x.load(column_of(word)));
        add(sums, inside[0], row_in_strip(words[0]) * WARP_LANES + lane, values[0], elements[0]);
        add(sums, inside[1], row_in_strip(words[1]) * WARP_LANES + lane, values[1], elements[1]);
        add(sums, inside[2], row_in_strip(words[2]) * WARP_LANES + lane, values[2], elements[2]);
        add(sums, inside[3], row_in_strip(words[3]) * WARP_LANES + lane, values[3], elements[3]);
        entry = entry + O::from(4 * WARP_LANES);
    }
}

/// One warp per strip of [`PADDED_HEIGHT`] rows, each with [`BUFFERS`] partial sums that lanes share (§6.7): lane l
/// adds to number l mod [`BUFFERS`]. The entries are arranged so that no two lanes of a step add to the same sum.
///
/// # Safety
/// The arrays are those of a valid padded CMRS matrix with `rows` rows, `x` has an element for each column, `y` one for
/// each row; blocks are made of whole warps, with [`PADDED_HEIGHT`] · [`BUFFERS`] numbers of shared memory per warp.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn cmrs_padded<T: GpuScalar, O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Where each strip begins, a multiple of 32; strips + 1 offsets.
    strip_offsets: Global<O>,
    /// Column and row in the strip of each entry, or [`PADDING`].
    words: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// The factor of A x.
    alpha: T,
    /// The vector to multiply.
    x: Global<T>,
    /// The factor of y.
    beta: T,
    /// The result.
    y: GlobalMut<T>,
) {
    /// Lanes that add up the partial sums of a row.
    const LANES: u32 = WARP_LANES / PADDED_HEIGHT;
    /// Partial sums per such lane.
    const TURNS: u32 = BUFFERS / LANES;
    let lane = lane_id();
    let warp_in_block = thread_idx_x() / WARP_LANES;
    let sums = dynamic::<T>(warp_in_block * PADDED_HEIGHT * BUFFERS * size_of::<T>() as u32);
    let mut strip = index_1d() / WARP_LANES;
    while strip * PADDED_HEIGHT < rows {
        let mut first = 0;
        while first < PADDED_HEIGHT * BUFFERS {
            sums.store(first + lane, T::ZERO);
            first += WARP_LANES;
        }
        sync_warp(ALL_LANES);
        let (begin, end) = (strip_offsets.load(strip), strip_offsets.load(strip + 1));
        add_padded_entries(begin, end, words, values, x, sums);
        let (row_here, part) = (lane / LANES, lane % LANES);
        let mut sum = T::ZERO;
        let mut turn = 0;
        while turn < TURNS {
            // Rows that share banks start at different offsets.
            let buffer = part * TURNS + (turn + row_here / TURNS) % TURNS;
            sum = sum + sums.load(buffer_of(row_here, buffer));
            turn += 1;
        }
        let sum = sum_over_lanes::<T, LANES>(sum);
        let row = strip * PADDED_HEIGHT + row_here;
        if part == 0 && row < rows {
            update(y, row, alpha, sum, beta);
        }
        sync_warp(ALL_LANES);
        strip += grid_threads() / WARP_LANES;
    }
}

/// Adds the entries of a padded strip, 32 at a time, to the partial sums; the lanes synchronize after each step. The
/// words and values of four steps are loaded before the first is used, to keep the memory busy.
///
/// # Safety
/// As for [`cmrs_padded`], and all lanes of the warp call it; the strip has the slots from `begin` to `end`, both
/// multiples of 32.
#[inline(always)]
unsafe fn add_padded_entries<T: GpuScalar, O: Offset>(
    begin: O,
    end: O,
    words: Global<u32>,
    values: Global<T>,
    x: Global<T>,
    sums: Shared<T>,
) {
    let mut step = begin;
    while step < end {
        let steps = [step, step + O::from(32), step + O::from(64), step + O::from(96)];
        // Steps past the end are padding, whatever they load.
        let places = steps.map(|step| (if step < end { step } else { begin }) + O::from(lane_id()));
        let mut words = places.map(|place| words.load_streaming(place));
        let values = places.map(|place| values.load_streaming(place));
        words[1] = if steps[1] < end { words[1] } else { PADDING };
        words[2] = if steps[2] < end { words[2] } else { PADDING };
        words[3] = if steps[3] < end { words[3] } else { PADDING };
        // An element loaded for padding is never used; without a branch here, all loads are in flight together.
        let elements = words.map(|word| x.load(if word == PADDING { 0 } else { column_of(word) }));
        add_in_turn(sums, words[0], values[0], elements[0]);
        add_in_turn(sums, words[1], values[1], elements[1]);
        add_in_turn(sums, words[2], values[2], elements[2]);
        add_in_turn(sums, words[3], values[3], elements[3]);
        step = step + O::from(4 * WARP_LANES);
    }
}

/// One step of the warp on shared partial sums; padding adds nothing.
///
/// # Safety
/// As for [`add_padded_entries`].
#[inline(always)]
unsafe fn add_in_turn<T: GpuScalar>(sums: Shared<T>, word: u32, value: T, element: T) {
    let place = buffer_of(row_in_strip(word), lane_id() % BUFFERS);
    add(sums, word != PADDING, place, value, element);
    sync_warp(ALL_LANES);
}

/// Index of a partial sum of a padded strip. Rows 4 i to 4 i + 3 are in different banks, and so are rows i, i + 4, i +
/// 8 and i + 12, which coincide in a step if all rows have the same length.
#[inline(always)]
const fn buffer_of(row_here: u32, buffer: u32) -> u32 {
    (row_here ^ (row_here / 4)) * BUFFERS + buffer
}

/// Adds a product to a partial sum if the entry belongs to the strip.
///
/// # Safety
/// `place` is inside the warp's partial sums, and no other lane accesses it.
#[inline(always)]
unsafe fn add<T: GpuScalar>(sums: Shared<T>, inside: bool, place: u32, value: T, element: T) {
    if inside {
        sums.store(place, value.mul_add(element, sums.load(place)));
    }
}
