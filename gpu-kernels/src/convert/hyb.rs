//! CSR to the coordinate part of HYB, the last entries of each row, and back. The first entries are a slice.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use crate::Offset;

/// Copies the last entries of each row.
///
/// # Safety
/// The CSR arrays are those of a valid matrix. `later_offsets` has as many elements as `row_offsets` and holds the
/// offset of each row among `later` entries; no row has more of them than in CSR; `row_indices` and the new arrays have
/// an element for each of these entries.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn later_from_csr<T: GpuScalar, O: Offset>(
    /// Number of entries to copy.
    later: u64,
    /// Where each row begins in CSR.
    row_offsets: Global<O>,
    /// Where each row begins among the entries to copy.
    later_offsets: Global<u64>,
    /// The row of each entry to copy.
    row_indices: Global<u32>,
    /// The column of each entry in CSR.
    column_indices: Global<u32>,
    /// The value of each entry in CSR.
    values: Global<T>,
    /// The column of each entry.
    new_column_indices: GlobalMut<u32>,
    /// The value of each entry.
    new_values: GlobalMut<T>,
) {
    let mut entry = u64::from(index_1d());
    while entry < later {
        let from = place_in_csr(entry, row_offsets, later_offsets, row_indices);
        new_column_indices.store(entry, column_indices.load(from));
        new_values.store(entry, values.load(from));
        entry += u64::from(grid_threads());
    }
}

/// Copies the last entries of each row back.
///
/// # Safety
/// As for [`later_from_csr`], in the other direction.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn csr_from_later<T: GpuScalar, O: Offset>(
    /// Number of entries to copy.
    later: u64,
    /// Where each row begins in CSR.
    row_offsets: Global<O>,
    /// Where each row begins among the entries to copy.
    later_offsets: Global<u64>,
    /// The row of each entry to copy.
    row_indices: Global<u32>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// The column of each entry in CSR.
    new_column_indices: GlobalMut<u32>,
    /// The value of each entry in CSR.
    new_values: GlobalMut<T>,
) {
    let mut entry = u64::from(index_1d());
    while entry < later {
        let to = place_in_csr(entry, row_offsets, later_offsets, row_indices);
        new_column_indices.store(to, column_indices.load_streaming(entry));
        new_values.store(to, values.load_streaming(entry));
        entry += u64::from(grid_threads());
    }
}

/// Index in CSR of one of the last entries of a row, which has the same distance from the row's end.
///
/// # Safety
/// As for [`later_from_csr`].
#[inline(always)]
unsafe fn place_in_csr<O: Offset>(
    entry: u64,
    row_offsets: Global<O>,
    later_offsets: Global<u64>,
    row_indices: Global<u32>,
) -> u64 {
    let row = row_indices.load_streaming(entry);
    row_offsets.load(row + 1).widen() - (later_offsets.load(row + 1) - entry)
}

/// Adds two arrays of offsets.
///
/// # Safety
/// All arrays have `count` elements, and the sums fit `O`.
#[kernel(O: [u32, u64])]
pub unsafe fn add_offsets<O: Offset>(
    /// Number of offsets.
    count: u32,
    /// The first array of offsets.
    one: Global<u64>,
    /// The second.
    other: Global<u64>,
    /// The sums.
    sums: GlobalMut<O>,
) {
    let mut place = index_1d();
    while place < count {
        sums.store(place, O::of(one.load_streaming(place) + other.load_streaming(place)));
        place += grid_threads();
    }
}
