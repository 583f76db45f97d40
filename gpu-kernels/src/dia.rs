//! The diagonal format (Bell & Garland 2009, §3.1).

use cuda_std::shared::{self, Shared};
use cuda_std::thread::{block_dim_x, block_idx_x, grid_threads, sync_threads, thread_idx_x};
use cuda_std::{Global, GlobalMut, GpuScalar, Stored, kernel};

use crate::absent::{Absent, Marked};
use crate::values::Values;
use crate::vector::update;

/// Largest number of offsets that a block holds in shared memory at a time.
pub const OFFSETS_AT_ONCE: u32 = 1024;

/// Rows that a thread multiplies at a time: with one, a short row has too few bytes in flight, above all in float32.
pub const ROWS: usize = 2;

/// One thread per [`ROWS`] rows, a block's length apart; there are no column indices to read, and a block reads the
/// offsets once. With more than [`OFFSETS_AT_ONCE`] diagonals it reads them in parts, and again for its next rows.
///
/// # Safety
/// The arrays are those of a valid DIA matrix with `rows` rows: `diagonals` offsets, and as many columns of `stride`
/// slots each; the slots outside the matrix are padding. `x` has `columns` elements, `y` one for each row; `table` has
/// an entry for each code among the values. A block has 4 bytes of shared memory for each offset that it holds at a
/// time.
#[kernel((V, T): stored_each)]
pub unsafe fn dia<V: Stored<T> + Marked, T: GpuScalar>(
    /// Number of rows.
    rows: u32,
    /// Number of columns.
    columns: u32,
    /// Slots from one diagonal to the next.
    stride: u32,
    /// Number of diagonals.
    diagonals: u32,
    /// Column minus row of each diagonal.
    offsets: Global<i32>,
    /// The value of each slot, or the [mark](Marked) of its absence.
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
    let matrix = Diagonals { rows, columns, stride, diagonals, offsets, values: Values { stored: values, table } };
    matrix.multiply(x, |row, sum| update(y, row, alpha, sum, beta));
}

/// The matrix of [`dia`].
pub(crate) struct Diagonals<V, T> {
    pub rows: u32,
    pub columns: u32,
    pub stride: u32,
    pub diagonals: u32,
    pub offsets: Global<i32>,
    pub values: Values<V, T>,
}

impl<V: Stored<T> + Marked, T: GpuScalar> Diagonals<V, T> {
    /// Passes the product of each row with x to `write`.
    ///
    /// # Safety
    /// As for [`dia`], and all threads of the block call it.
    #[inline(always)]
    pub unsafe fn multiply(self, x: Global<T>, mut write: impl FnMut(u32, T)) {
        let Self { rows, columns, stride, diagonals, offsets, values } = self;
        let held_offsets = shared::dynamic::<i32>(0);
        // The diagonal of the first offset in shared memory; none yet.
        let mut held = diagonals;
        // The block stays together for its barriers: it continues while its first row exists.
        let mut first_row = block_idx_x() * block_dim_x() * ROWS as u32;
        while first_row < rows {
            let own_rows = rows_of(first_row + thread_idx_x(), block_dim_x());
            let mut sums = [T::ZERO; ROWS];
            let mut diagonal = 0;
            while diagonal < diagonals {
                let count = (diagonals - diagonal).min(OFFSETS_AT_ONCE);
                if held != diagonal {
                    // All threads have finished with the old offsets, and see the new ones.
                    sync_threads();
                    let mut offset = thread_idx_x();
                    while offset < count {
                        held_offsets.store(offset, offsets.load(diagonal + offset));
                        offset += block_dim_x();
                    }
                    sync_threads();
                    held = diagonal;
                }
                // Past the last row, that one is read again, so that no load waits for a comparison.
                let rows = own_rows.map(|row| row.min(rows - 1));
                let part = Part { rows, columns, stride, offsets: held_offsets, values, x };
                sums = part.add(sums, diagonal, count);
                diagonal += OFFSETS_AT_ONCE;
            }
            let mut number = 0;
            while number < ROWS {
                if own_rows[number] < rows {
                    write(own_rows[number], sums[number]);
                }
                number += 1;
            }
            first_row += grid_threads() * ROWS as u32;
        }
    }
}

/// The rows of a thread: they are a block's length apart, so that the lanes of a warp read neighbouring elements.
#[inline(always)]
fn rows_of(first: u32, threads: u32) -> [u32; ROWS] {
    core::array::from_fn(|number| first + number as u32 * threads)
}

/// Operands of the products of some rows.
struct Part<V, T> {
    rows: [u32; ROWS],
    columns: u32,
    stride: u32,
    /// In shared memory.
    offsets: Shared<i32>,
    values: Values<V, T>,
    x: Global<T>,
}

impl<V: Stored<T> + Marked, T: GpuScalar> Part<V, T> {
    /// `sums` plus the products of the rows on `count` diagonals, from `first` on.
    ///
    /// # Safety
    /// As for [`dia`]; shared memory holds the offsets of the diagonals.
    #[inline(always)]
    unsafe fn add(&self, mut sums: [T; ROWS], first: u32, count: u32) -> [T; ROWS] {
        let mut diagonal = 0;
        while diagonal + 4 <= count {
            sums = self.add_group::<4>(sums, first, diagonal);
            diagonal += 4;
        }
        match count - diagonal {
            3 => self.add_group::<3>(sums, first, diagonal),
            2 => self.add_group::<2>(sums, first, diagonal),
            1 => self.add_group::<1>(sums, first, diagonal),
            _ => sums,
        }
    }

    /// `sums` plus the products on `N` diagonals, all loaded before the first is used, to keep the memory busy.
    ///
    /// # Safety
    /// As for [`add`](Self::add).
    #[inline(always)]
    unsafe fn add_group<const N: usize>(&self, mut sums: [T; ROWS], first: u32, diagonal: u32) -> [T; ROWS] {
        let stride = u64::from(self.stride);
        let first_place = u64::from(first + diagonal) * stride;
        let values: [[V; ROWS]; N] = core::array::from_fn(|number| {
            self.rows
                .map(|row| self.values.stored.load_streaming(first_place + number as u64 * stride + u64::from(row)))
        });
        let elements: [[T; ROWS]; N] = core::array::from_fn(|number| {
            let offset = self.offsets.load(diagonal + number as u32);
            self.rows.map(|row| self.x.load(column_or_last(row, offset, self.columns)))
        });
        let mut number = 0;
        while number < N {
            let mut row = 0;
            while row < ROWS {
                let stored = values[number][row];
                if !stored.is_mark() {
                    sums[row] = self.values.widen(stored).mul_add(elements[number][row], sums[row]);
                }
                row += 1;
            }
            number += 1;
        }
        sums
    }
}

/// The column in which a diagonal crosses `row`. Outside the matrix it is the last column, so that its element of x can
/// be loaded before the value shows whether it is needed. A last column exists, because there is a diagonal.
#[inline(always)]
pub(crate) fn column_or_last(row: u32, offset: i32, columns: u32) -> u32 {
    // Left of the matrix this wraps to more than 2^31, right of it there is no wrap.
    row.wrapping_add_signed(offset).min(columns - 1)
}

/// `sum` plus one more product, unless the slot is padding.
#[inline(always)]
pub(crate) fn add_place<T: Absent>(sum: T, value: T, element: T) -> T {
    if value.is_absent() { sum } else { value.mul_add(element, sum) }
}
