//! COO times several vectors.

use cuda_std::{Elements, Global, GlobalMut, GpuScalar, kernel};

use super::Tile;
use crate::block::unrolled;
use crate::coo::end_of_run;
use crate::vector::add;

/// Y ← Y + α A X except for the last row of each interval: the lanes of a group go through an interval of entries
/// together, each with the sum of its own vector. [`coo_multivector_carries`] adds the sums left at the ends.
///
/// # Safety
/// The arrays are those of a valid COO matrix, sorted by row, with `nnz` entries; `x` and `y` are as for
/// [`csr_multivector`](super::csr::csr_multivector); there is a group for each interval, and there are a carry row for
/// each interval and a carry value for each of its lanes.
#[kernel(T: scalars)]
pub unsafe fn coo_multivector_intervals<T: GpuScalar>(
    /// Number of stored entries.
    nnz: u64,
    /// Entries of one group.
    interval: u64,
    /// The vectors of this launch.
    tile: Tile,
    /// The row of each entry.
    row_indices: Global<u32>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// The factor of A X.
    alpha: T,
    /// The vectors to multiply.
    x: Global<T>,
    /// The results.
    y: GlobalMut<T>,
    /// The last row of each interval.
    carry_rows: GlobalMut<u32>,
    /// The partial sums of that row.
    carry_values: GlobalMut<T>,
) {
    let mut entry = u64::from(tile.group()) * interval;
    if !tile.has_vector() || entry >= nnz {
        return;
    }
    let end = nnz.min(entry + interval);
    let (mut row, mut sum) = (row_indices.load(entry), T::ZERO);
    while entry < end {
        // Four entries are loaded before the first is used; past the end, the last one is loaded again and ignored.
        let entries = [entry, entry + 1, entry + 2, entry + 3].map(|entry| entry.min(end - 1));
        let rows = entries.map(|entry| row_indices.load(entry));
        let columns = entries.map(|entry| column_indices.load(entry));
        let values = entries.map(|entry| values.load(entry));
        let elements = columns.map(|column| x.load(tile.x_place(column)));
        unrolled(4, |number| {
            let number = number as usize;
            if rows[number] != row {
                add(y, tile.y_place(row), alpha, sum);
                (row, sum) = (rows[number], T::ZERO);
            }
            if entry + (number as u64) < end {
                sum = values[number].mul_add(elements[number], sum);
            }
        });
        entry += 4;
    }
    carry_values.store(tile.group() * tile.lanes + tile.lane(), sum);
    if tile.lane() == 0 {
        carry_rows.store(tile.group(), row);
    }
}

/// Adds the carries of [`coo_multivector_intervals`] to Y. The first carry of each row has a group of lanes, which sums
/// all carries of that row, each lane those of its vector.
///
/// # Safety
/// The carries are those that [`coo_multivector_intervals`] wrote for as many intervals and the same tile, `y` is its
/// `y`, and there is a group for each interval.
#[kernel(T: elements)]
pub unsafe fn coo_multivector_carries<T: Elements>(
    /// Number of carries.
    intervals: u32,
    /// The vectors of this launch.
    tile: Tile,
    /// The row of each carry, never decreasing.
    carry_rows: Global<u32>,
    /// The sums to add to that row.
    carry_values: Global<T>,
    /// The factor of A X.
    alpha: <T as Elements>::Number,
    /// The results.
    y: GlobalMut<T>,
) {
    let first = tile.group();
    if !tile.has_vector() || first >= intervals {
        return;
    }
    let row = carry_rows.load(first);
    if first > 0 && carry_rows.load(first - 1) == row {
        return;
    }
    let end = end_of_run(carry_rows, first, intervals, row);
    let mut sum = T::ZEROS;
    let mut carry = first;
    while carry < end {
        sum = sum.plus(carry_values.load(carry * tile.lanes + tile.lane()));
        carry += 1;
    }
    add(y, tile.y_place(row), alpha, sum);
}
