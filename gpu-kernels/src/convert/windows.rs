//! Rows sorted within windows of neighbours, the longest first; rows of equal length keep their order. A merge sort of
//! keys that combine a row and its length, so that no two are equal.

use core::hint::assert_unchecked;

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::{Global, GlobalMut, kernel};

/// Computes the key by which each row is sorted: the longest row has the smallest.
///
/// # Safety
/// `lengths` and `keys` have `rows` elements.
#[kernel]
pub unsafe fn window_keys(
    /// Number of rows.
    rows: u32,
    /// The number of entries of each row.
    lengths: Global<u32>,
    /// The key of each row.
    keys: GlobalMut<u64>,
) {
    let mut row = index_1d();
    while row < rows {
        keys.store(row, u64::from(!lengths.load(row)) << 32 | u64::from(row));
        row += grid_threads();
    }
}

/// Merges each pair of neighbouring runs of a window: each key finds its position by counting the smaller ones of the
/// other run.
///
/// # Safety
/// Both arrays have `rows` elements; within each window of `window` elements, at least 1, runs of `run`, a power of two,
/// are sorted.
#[kernel]
pub unsafe fn merge_windows(
    /// Number of rows.
    rows: u32,
    /// Rows of a window.
    window: u32,
    /// Rows of a run; a power of two.
    run: u32,
    /// The keys.
    keys: Global<u64>,
    /// The same keys in runs twice as long.
    merged: GlobalMut<u64>,
) {
    assert_unchecked(window > 0);
    let mut place = index_1d();
    while place < rows {
        let begin = place / window * window;
        let end = begin + window.min(rows - begin);
        let first = place - ((place - begin) & (2 * run - 1));
        let middle = first + run.min(end - first);
        let key = keys.load(place);
        let (other, mut low, mut high) =
            if place < middle { (middle, middle, middle + run.min(end - middle)) } else { (first, first, middle) };
        while low < high {
            let probe = low + (high - low) / 2;
            if keys.load(probe) < key {
                low = probe + 1;
            } else {
                high = probe;
            }
        }
        // Keys before this one in its own run, plus those of the other run.
        let own = if place < middle { place } else { place - (middle - first) };
        merged.store(own + (low - other), key);
        place += grid_threads();
    }
}

/// Extracts the row of each key, and its length.
///
/// # Safety
/// All arrays have `rows` elements.
#[kernel]
pub unsafe fn rows_of_keys(
    /// Number of rows.
    rows: u32,
    /// The keys from [`window_keys`].
    keys: Global<u64>,
    /// The rows.
    row_indices: GlobalMut<u32>,
    /// The number of entries of each.
    lengths: GlobalMut<u32>,
) {
    let mut place = index_1d();
    while place < rows {
        let key = keys.load_streaming(place);
        row_indices.store(place, key as u32);
        lengths.store(place, !((key >> 32) as u32));
        place += grid_threads();
    }
}
