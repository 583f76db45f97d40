//! Solves with triangular matrices, level by level.
//!
//! A row waits for the rows whose elements of x it takes. Level 0 are the rows that take none; each other row is one level
//! above the highest one that it waits for, so the rows of a level can be solved at the same time (Saad 2003, §11.6.2).

use cuda_std::thread::{grid_threads, index_1d, sync_threads};
use cuda_std::warp::{WARP_LANES, lane_id};
use cuda_std::{Global, GlobalMut, GpuFloat, kernel};

use crate::Offset;
use crate::csr::sum_of_entries;
use crate::reduction::sum_over_lanes;

/// The elements of x = T⁻¹ b in the rows of some levels, of which those before are done. `LANES` lanes share a row. A
/// single level can have any grid; several take one block, which goes from level to level by barriers.
///
/// # Safety
/// The grid has one block unless `end_level` is `first_level` + 1; blocks are made of whole warps. `level_offsets` has an
/// element for each level and one more, and `order` the rows, level by level; row offsets, entries and inverses of the
/// diagonal are in that order as well, entries without the diagonal. Entries are in columns whose rows are in levels before
/// that of their own row. `b` and `x` are different arrays of an element for each row.
#[kernel(T: [f32, f64], O: [u32, u64], LANES: [1, 4, 16])]
pub unsafe fn triangular_levels<T: GpuFloat, O: Offset, const LANES: u32>(
    /// The first level to solve.
    first_level: u32,
    /// The level after the last one.
    end_level: u32,
    /// Where each level begins among the rows.
    level_offsets: Global<u32>,
    /// The row of each place in the order of levels.
    order: Global<u32>,
    /// Where the entries of each place begin.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// One over the diagonal element of each place.
    inverse_diagonal: Global<T>,
    /// The right-hand side.
    b: Global<T>,
    /// The result.
    x: GlobalMut<T>,
) {
    let lane = lane_id() % LANES;
    let mut level = first_level;
    while level < end_level {
        if level > first_level {
            // What the level before wrote is read from here on.
            sync_threads();
        }
        let end_place = level_offsets.load(level + 1);
        // The warp stays together, because its lanes meet in the sum.
        let mut first_place = level_offsets.load(level) + index_1d() / WARP_LANES * (WARP_LANES / LANES);
        while first_place < end_place {
            let place = first_place + lane_id() / LANES;
            let mut sum = T::ZERO;
            if place < end_place {
                let (begin, end) = (row_offsets.load(place), row_offsets.load(place + 1));
                sum = sum_of_entries::<T, O, LANES>(begin + O::from(lane), end, column_indices, values, |column| {
                    x.load(column)
                });
            }
            let sum = sum_over_lanes::<T, LANES>(sum);
            if lane == 0 && place < end_place {
                let row = order.load(place);
                x.store(row, (b.load(row) - sum) * inverse_diagonal.load(place));
            }
            first_place += grid_threads() / LANES;
        }
        level += 1;
    }
}
