//! CSR to padded CMRS and back. The entries of a strip, row after row, are dealt out to its slots in an order that has
//! a closed form.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use super::entries::for_each_entry;
use crate::Offset;
use crate::cmrs::{BUFFERS, LARGEST_HEIGHT, PADDED_HEIGHT, PADDING, column_of, pack, row_in_strip};
use crate::entries::STEP;

/// Slots of a step that one row can have.
const ROW_STEP: u64 = BUFFERS as u64;

/// Computes the number of steps of each strip: enough for all its entries, and for those of its longest row.
///
/// # Safety
/// `row_offsets` are those of `rows` rows; `steps` has an element for each of `strips` strips.
#[kernel(O: [u32, u64])]
pub unsafe fn padded_steps<O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Number of strips.
    strips: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The number of steps of each strip.
    steps: GlobalMut<u32>,
) {
    let mut strip = index_1d();
    while strip < strips {
        let mut row = strip * PADDED_HEIGHT;
        let end_row = rows.min(row + PADDED_HEIGHT);
        let first = row_offsets.load(row).widen();
        let mut begin = first;
        let mut longest = 0;
        while row < end_row {
            let end = row_offsets.load(row + 1).widen();
            longest = (end - begin).max(longest);
            begin = end;
            row += 1;
        }
        let needed = (begin - first).div_ceil(STEP).max(longest.div_ceil(ROW_STEP));
        steps.store(strip, needed as u32);
        strip += grid_threads();
    }
}

/// Writes every slot: an entry, or padding.
///
/// # Safety
/// The CSR arrays are those of a valid matrix with `rows` rows, in columns below 2^28 - 1. `strip_offsets` are those
/// that follow from [`padded_steps`], for `strips` strips with `places` slots, and the new arrays have an element for
/// each slot; blocks are made of whole warps, and `interval` is a multiple of 32.
#[kernel(T: scalars, O: [u32, u64], P: [u32, u64])]
pub unsafe fn padded_from_csr<T: GpuScalar, O: Offset, P: Offset>(
    /// Number of rows.
    rows: u32,
    /// Number of strips.
    strips: u32,
    /// Number of slots.
    places: u64,
    /// Slots of one warp; a multiple of 32.
    interval: u64,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// Where each strip begins; strips + 1 offsets.
    strip_offsets: Global<P>,
    /// Column and row in the strip of each slot, or [`PADDING`].
    words: GlobalMut<u32>,
    /// The value of each slot, or 0.
    new_values: GlobalMut<T>,
) {
    for_each_entry(strips, places, interval, strip_offsets, |place, strip| {
        let first_row = strip * PADDED_HEIGHT;
        let end_row = rows.min(first_row + PADDED_HEIGHT);
        let entry = row_offsets.load(first_row).widen() + entry_of_place(place, strip, strip_offsets);
        let (mut word, mut value) = (PADDING, T::ZERO);
        if entry < row_offsets.load(end_row).widen() {
            // The first row that ends after the entry.
            let (mut low, mut high) = (first_row, end_row - 1);
            while low < high {
                let middle = low + (high - low) / 2;
                if row_offsets.load(middle + 1).widen() > entry {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            word = pack(low - first_row, column_indices.load(entry));
            value = values.load(entry);
        }
        words.store(place, word);
        new_values.store(place, value);
    });
}

/// Counts the entries of each row. The rows of a strip never decrease in the order in which its entries were dealt out,
/// so each thread searches for the begin and end of its row.
///
/// # Safety
/// The arrays are those of a valid padded CMRS matrix with `rows` rows; `lengths` has an element for each row.
#[kernel(P: [u32, u64])]
pub unsafe fn padded_row_lengths<P: Offset>(
    /// Number of rows.
    rows: u32,
    /// Where each strip begins; strips + 1 offsets.
    strip_offsets: Global<P>,
    /// Column and row in the strip of each slot, or [`PADDING`].
    words: Global<u32>,
    /// The number of entries of each row.
    lengths: GlobalMut<u32>,
) {
    let mut row = index_1d();
    while row < rows {
        let strip = row / PADDED_HEIGHT;
        let begin = strip_offsets.load(strip).widen();
        let steps = (strip_offsets.load(strip + 1).widen() - begin) / STEP;
        let first_after = |row_here: u32| {
            let (mut low, mut high) = (0, steps * STEP);
            while low < high {
                let middle = low + (high - low) / 2;
                let word = words.load(begin + place_of_entry(middle, steps));
                let found = if word == PADDING { LARGEST_HEIGHT } else { row_in_strip(word) };
                if found < row_here {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            low
        };
        let row_here = row % PADDED_HEIGHT;
        lengths.store(row, (first_after(row_here + 1) - first_after(row_here)) as u32);
        row += grid_threads();
    }
}

/// Moves the entry of each slot back to CSR.
///
/// # Safety
/// As for [`padded_from_csr`], in the other direction.
#[kernel(T: scalars, O: [u32, u64], P: [u32, u64])]
pub unsafe fn csr_from_padded<T: GpuScalar, O: Offset, P: Offset>(
    /// Number of strips.
    strips: u32,
    /// Number of slots.
    places: u64,
    /// Slots of one warp; a multiple of 32.
    interval: u64,
    /// Where each strip begins; strips + 1 offsets.
    strip_offsets: Global<P>,
    /// Column and row in the strip of each slot, or [`PADDING`].
    words: Global<u32>,
    /// The value of each slot.
    values: Global<T>,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: GlobalMut<u32>,
    /// The value of each entry.
    new_values: GlobalMut<T>,
) {
    for_each_entry(strips, places, interval, strip_offsets, |place, strip| {
        let word = words.load_streaming(place);
        if word != PADDING {
            let first = row_offsets.load(strip * PADDED_HEIGHT).widen();
            let entry = first + entry_of_place(place, strip, strip_offsets);
            column_indices.store(entry, column_of(word));
            new_values.store(entry, values.load_streaming(place));
        }
    });
}

/// Zero-based number, in its strip, of the entry that is dealt out to a slot.
///
/// # Safety
/// The slot is in the strip, which has two offsets.
#[inline(always)]
unsafe fn entry_of_place<P: Offset>(place: u64, strip: u32, strip_offsets: Global<P>) -> u64 {
    let begin = strip_offsets.load(strip).widen();
    let steps = (strip_offsets.load(strip + 1).widen() - begin) / STEP;
    let (step, in_step) = ((place - begin) / STEP, (place - begin) % STEP);
    (in_step / ROW_STEP * steps + step) * ROW_STEP + in_step % ROW_STEP
}

/// The slot, in its strip, that an entry is dealt out to.
#[inline(always)]
fn place_of_entry(entry: u64, steps: u64) -> u64 {
    let (turn, buffer) = (entry / ROW_STEP, entry % ROW_STEP);
    // This is called only for strips with steps.
    let (round, step) = (turn / steps.max(1), turn % steps.max(1));
    step * STEP + round * ROW_STEP + buffer
}
