//! Sliced ELLPACK with padding (Anzt et al. 2020, §3.5, Alg. 5).

use core::hint::assert_unchecked;

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::{Global, GlobalMut, GpuScalar, Stored, kernel};

use crate::ell::sum_of_places;
use crate::values::Values;
use crate::vector::update;

/// One thread per row, with `BATCHES` times [`BATCH`](crate::ell::BATCH) slots in flight at once, as for
/// [`ell`](crate::ell::ell).
///
/// # Safety
/// The arrays are those of a valid SELL-P matrix with `rows` rows in slices of `slice_size`, at least 1, and in their
/// own order; `x` has an element for each column of the matrix, `y` one for each row; `table` has an entry for each
/// code among the values, including those of padding.
#[kernel((V, T): stored, BATCHES: [1, 4])]
pub unsafe fn sell_p<V: Stored<T>, T: GpuScalar, const BATCHES: usize>(
    /// Number of rows.
    rows: u32,
    /// Rows of a slice.
    slice_size: u32,
    /// Total width of all slices before each one; slices + 1 numbers.
    slice_begins: Global<u64>,
    /// The column of each entry, or [`PADDING`](crate::ell::PADDING).
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
        let element = |column| x.load(column);
        let sum = sum_of_row::<V, T, BATCHES>(row, slice_size, slice_begins, column_indices, values, element);
        update(y, row, alpha, sum, beta);
        row += grid_threads();
    }
}

/// [`sell_p`] for rows that are stored in another order than their own. The result is in their own order.
///
/// # Safety
/// As for [`sell_p`]; `row_indices` holds each row once.
#[kernel((V, T): stored, BATCHES: [1, 4])]
pub unsafe fn sell_p_sorted<V: Stored<T>, T: GpuScalar, const BATCHES: usize>(
    /// Number of rows.
    rows: u32,
    /// Rows of a slice.
    slice_size: u32,
    /// Total width of all slices before each one; slices + 1 numbers.
    slice_begins: Global<u64>,
    /// The row at each position.
    row_indices: Global<u32>,
    /// The column of each entry, or [`PADDING`](crate::ell::PADDING).
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
    let mut position = index_1d();
    while position < rows {
        let row = row_indices.load_streaming(position);
        let element = |column| x.load(column);
        let sum = sum_of_row::<V, T, BATCHES>(position, slice_size, slice_begins, column_indices, values, element);
        update(y, row, alpha, sum, beta);
        position += grid_threads();
    }
}

/// The product of the row at `position` with x, given by column.
///
/// # Safety
/// The matrix is as for [`sell_p`], `position` is below the number of rows, and `element` may be called for each of the
/// row's columns, and for column 0 if the matrix has any.
#[inline(always)]
pub(crate) unsafe fn sum_of_row<V: Stored<T>, T: GpuScalar, const BATCHES: usize>(
    position: u32,
    slice_size: u32,
    slice_begins: Global<u64>,
    column_indices: Global<u32>,
    values: Values<V, T>,
    element: impl Fn(u32) -> T,
) -> T {
    // Otherwise the division would add code for panics.
    assert_unchecked(slice_size > 0);
    let slice = position / slice_size;
    let begin = slice_begins.load(slice);
    // A slice's width has 32 bits.
    let width = (slice_begins.load(slice + 1) - begin) as u32;
    let step = u64::from(slice_size);
    let first = begin * step + u64::from(position % slice_size);
    sum_of_places::<V, T, BATCHES>(first, step, width, column_indices, values, element)
}
