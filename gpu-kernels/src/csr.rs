//! Compressed sparse rows (Bell & Garland 2009, §3.3).

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::warp::{WARP_LANES, lane_id};
use cuda_std::{Elements, Global, GlobalMut, GpuScalar, Stored, kernel};

use crate::Offset;
use crate::ahead::request_share;
use crate::reduction::sum_over_lanes;
use crate::values::Values;
use crate::vector::update;

/// Sum of entry times element of x, by column, over every `STEP`-th entry from `entry` on. Four entries at a time are
/// loaded before the first is used, to keep the memory busy; through the caches, because neighbouring lanes and steps
/// share cache lines.
///
/// # Safety
/// Entries up to `end` exist, the table has an entry for each of their codes, `element` may be called for each of their
/// columns, and `end` + 4 `STEP` does not overflow.
#[inline(always)]
pub(crate) unsafe fn sum_of_entries<V: Stored<T::Number>, T: Elements, O: Offset, const STEP: u32>(
    mut entry: O,
    end: O,
    column_indices: Global<u32>,
    values: Values<V, T::Number>,
    element: impl Fn(u32) -> T,
) -> T {
    let mut sum = T::ZEROS;
    while entry + O::from(3 * STEP) < end {
        let entries = [entry, entry + O::from(STEP), entry + O::from(2 * STEP), entry + O::from(3 * STEP)];
        let columns = entries.map(|entry| column_indices.load(entry));
        let stored = entries.map(|entry| values.stored.load(entry));
        let elements = columns.map(&element);
        let values = stored.map(|stored| values.widen(stored));
        sum = elements[0].times_plus(values[0], sum);
        sum = elements[1].times_plus(values[1], sum);
        sum = elements[2].times_plus(values[2], sum);
        sum = elements[3].times_plus(values[3], sum);
        entry = entry + O::from(4 * STEP);
    }
    if entry < end {
        // At most three entries are left: past the end, the last one is loaded again.
        let last = end - O::from(1);
        let clamped = |entry: O| if entry < last { entry } else { last };
        let [second, third] = [entry + O::from(STEP), entry + O::from(2 * STEP)];
        let entries = [entry, clamped(second), clamped(third)];
        let columns = entries.map(|entry| column_indices.load(entry));
        let stored = entries.map(|entry| values.stored.load(entry));
        let elements = columns.map(&element);
        let values = stored.map(|stored| values.widen(stored));
        sum = elements[0].times_plus(values[0], sum);
        sum = if second < end { elements[1].times_plus(values[1], sum) } else { sum };
        sum = if third < end { elements[2].times_plus(values[2], sum) } else { sum };
    }
    sum
}

/// One thread per row. Neighbouring threads read far apart, so this suits only rows of a few entries.
///
/// # Safety
/// The arrays are those of a valid CSR matrix with `rows` rows, `x` has an element for each column, `y` one for
/// each row; `table` has an entry for each code among the values.
#[kernel((V, T): stored, O: [u32, u64])]
pub unsafe fn csr_scalar<V: Stored<T>, T: GpuScalar, O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<V>,
    /// The value that each code stands for.
    table: Global<T>,
    /// The factor of A x.
    alpha: T,
    /// The vector to multiply.
    x: Global<T>,
    /// The factor of y.
    beta: T,
    /// The result.
    y: GlobalMut<T>,
) {
    let values = Values { stored: values, table };
    let mut row = index_1d();
    while row < rows {
        let (begin, end) = (row_offsets.load(row), row_offsets.load(row + 1));
        let sum = sum_of_entries::<V, T, O, 1>(begin, end, column_indices, values, |column| x.load(column));
        update(y, row, alpha, sum, beta);
        row += grid_threads();
    }
}

/// `LANES` lanes per row and 32 / `LANES` rows per warp at a time; warps go on to further rows. With 32 lanes, this is
/// the paper's vector kernel.
///
/// # Safety
/// As for [`csr_scalar`]; blocks are made of whole warps, and together request at most the entries and elements of x
/// that there are.
#[kernel((V, T): stored, O: [u32, u64], LANES: [2, 4, 8, 16, 32])]
pub unsafe fn csr_vector<V: Stored<T>, T: GpuScalar, O: Offset, const LANES: u32>(
    /// Number of rows.
    rows: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<V>,
    /// The value that each code stands for.
    table: Global<T>,
    /// The factor of A x.
    alpha: T,
    /// The vector to multiply.
    x: Global<T>,
    /// The factor of y.
    beta: T,
    /// The result.
    y: GlobalMut<T>,
    /// Entries that each block requests ahead.
    entries_ahead: u32,
    /// Elements of x that each block requests ahead.
    elements_ahead: u32,
) {
    request_share(column_indices, entries_ahead);
    request_share(values, entries_ahead);
    request_share(x, elements_ahead);
    let values = Values { stored: values, table };
    multiply_by_lanes::<V, T, O, LANES>(rows, row_offsets, column_indices, values, x, |row, sum| {
        update(y, row, alpha, sum, beta);
    });
}

/// Passes the product of each row with x to `write`, in one of the `LANES` lanes that share the row.
///
/// # Safety
/// As for [`csr_vector`], and all lanes of the warp call it.
#[inline(always)]
pub(crate) unsafe fn multiply_by_lanes<V: Stored<T>, T: GpuScalar, O: Offset, const LANES: u32>(
    rows: u32,
    row_offsets: Global<O>,
    column_indices: Global<u32>,
    values: Values<V, T>,
    x: Global<T>,
    mut write: impl FnMut(u32, T),
) {
    let lane = lane_id() % LANES;
    let row_in_warp = lane_id() / LANES;
    // The warp stays together for the sum over its lanes: it continues while its first row exists.
    let mut first_row = index_1d() / WARP_LANES * (WARP_LANES / LANES);
    while first_row < rows {
        let row = first_row + row_in_warp;
        let mut sum = T::ZERO;
        if row < rows {
            let (begin, end) = (row_offsets.load(row), row_offsets.load(row + 1));
            sum = sum_of_entries::<V, T, O, LANES>(begin + O::from(lane), end, column_indices, values, |column| {
                x.load(column)
            });
        }
        let sum = sum_over_lanes::<T, LANES>(sum);
        if lane == 0 && row < rows {
            write(row, sum);
        }
        first_row += grid_threads() / LANES;
    }
}
