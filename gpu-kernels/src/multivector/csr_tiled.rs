//! CSR times several vectors in equal shares of rows and entries for all blocks, as in [`csr_tiled`](crate::csr_tiled),
//! and within a block for all groups of lanes: however long a row is, all groups have equal work. Without atomics: the
//! same bits in every run.
//!
//! The row ends and the entries are merged into one list (Anzt et al. 2020, Table 5), as for
//! [`csr_merge_path`](crate::csr_merge_path::csr_merge_path).

use cuda_std::shared::dynamic;
use cuda_std::thread::{block_dim_x, block_idx_x, grid_dim_x, sync_threads, thread_idx_x};
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, warp_shuffle_down};
use cuda_std::{Elements, Global, GlobalMut, kernel};

use super::Tile;
use crate::Offset;
use crate::block::unrolled;
use crate::search::{first_in_range, first_that};
use crate::vector::{add, update};

/// Number of items per thread of a block.
const THREAD_ITEMS: u32 = 4;

/// Number of items in the share of a block of `threads` threads.
pub const fn share_items(threads: u32) -> u32 {
    THREAD_ITEMS * threads
}

/// Bytes of shared memory that a block of `threads` threads needs for vectors of `T` and a matrix of `N`: a carry per
/// thread; a value and a column or a row end per item; a row per group, or for both ends of the share.
pub const fn shared_bytes<T, N>(threads: u32) -> u32 {
    values_begin::<T>(threads) + share_items(threads) * (size_of::<N>() as u32 + 4) + 4 * threads
}

const fn values_begin<T>(threads: u32) -> u32 {
    threads * size_of::<T>() as u32
}

/// Y ← α A X + β Y, except for each block's part of the row in which its share ends; that goes to the carries, which
/// [`coo_multivector_carries`](super::coo::coo_multivector_carries) adds.
///
/// # Safety
/// The arrays are those of a valid CSR matrix with `rows` rows, at least one, and `nnz` entries; `x` and `y` are as for
/// [`csr_multivector`](super::csr::csr_multivector), and the tile is the first of `tiles` consecutive ones, each with
/// as many lanes. There is a block for each tile and each [`share_items`], of two warps or more, with [`shared_bytes`],
/// and there are a carry row for each share and, one tile after the other, a carry value for each share and lane of a
/// group.
#[kernel(T: elements, O: [u32, u64])]
pub unsafe fn csr_tiled_multivector<T: Elements, O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Number of stored entries.
    nnz: u64,
    /// The first vectors of this launch.
    tile: Tile,
    /// Number of tiles with as many vectors.
    tiles: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<<T as Elements>::Number>,
    /// The factor of A X.
    alpha: <T as Elements>::Number,
    /// The vectors to multiply.
    x: Global<T>,
    /// The factor of Y.
    beta: <T as Elements>::Number,
    /// The results.
    y: GlobalMut<T>,
    /// The row in which each share ends.
    carry_rows: GlobalMut<u32>,
    /// The partial sums of that row.
    carry_values: GlobalMut<T>,
) {
    let (thread, threads) = (thread_idx_x(), block_dim_x());
    // Neighbouring blocks have the same share.
    let (share, number) = (block_idx_x() / tiles, block_idx_x() % tiles);
    let tile = Tile { first_vector: tile.first_vector + number * tile.lanes, ..tile };
    let begin = u64::from(share) * u64::from(share_items(threads));
    let end = (begin + u64::from(share_items(threads))).min(u64::from(rows) + nnz);

    let carries = dynamic::<T>(0);
    let own_values = dynamic::<T::Number>(values_begin::<T>(threads));
    let columns_begin = values_begin::<T>(threads) + share_items(threads) * size_of::<T::Number>() as u32;
    let own_columns = dynamic::<u32>(columns_begin);
    let own_rows = dynamic::<u32>(columns_begin + 4 * share_items(threads));

    // One warp finds the row in which the share begins, another the row in which it ends.
    let side = thread / WARP_LANES;
    if side < 2 {
        let item = if side == 0 { begin } else { end };
        let row = first_that(0, rows, |row| row_offsets.load(row + 1).widen() + u64::from(row) >= item);
        if lane_id() == 0 {
            own_rows.store(side, row);
        }
    }
    sync_threads();
    let first_row = own_rows.load(0);
    let ended = own_rows.load(1) - first_row;
    let first_entry = begin - u64::from(first_row);
    let items = (end - begin) as u32;
    let entries = items - ended;

    // The columns of the entries, followed by the ends of the rows that end here.
    let row_ends = dynamic::<u32>(columns_begin + 4 * entries);
    if entries > 0 {
        let places = [0, 1, 2, 3].map(|step| thread + step * threads);
        // Past the end, the last entry is loaded again, so that no load waits for a comparison.
        let loaded = places.map(|place| first_entry + u64::from(place.min(entries - 1)));
        let columns = loaded.map(|entry| column_indices.load_streaming(entry));
        let values = loaded.map(|entry| values.load_streaming(entry));
        unrolled(THREAD_ITEMS, |step| {
            let place = places[step as usize];
            if place < entries {
                own_columns.store(place, columns[step as usize]);
                own_values.store(place, values[step as usize]);
            }
        });
    }
    let mut row = thread;
    while row < ended {
        row_ends.store(row, (row_offsets.load(first_row + row + 1).widen() - first_entry) as u32);
        row += threads;
    }
    sync_threads();

    // The share of this thread's group.
    let shift = tile.lanes.trailing_zeros();
    let (group, groups) = (thread >> shift, threads >> shift);
    let row_at = |item: u32| {
        let in_it = |row: u64| row_ends.load(row as u32) + row as u32 >= item;
        first_in_range(0, u64::from(ended), in_it) as u32
    };
    let first_item = (group * (THREAD_ITEMS << shift)).min(items);
    let last_item = (first_item + (THREAD_ITEMS << shift)).min(items);
    let (mut row, last_row) = (row_at(first_item), row_at(last_item));
    let (mut entry, last_entry) = (first_item - row, last_item - last_row);
    let mut sum = T::ZEROS;
    if tile.has_vector() {
        // Each thread has an element of Y for each row that ends in its share.
        let finish = |row: u32, sum: T| update(y, tile.y_place(first_row + row), alpha, sum, beta);
        let end_of = |row: u32| if row < ended { row_ends.load(row) } else { u32::MAX };
        let mut row_end = end_of(row);
        while entry < last_entry {
            // Four elements are loaded before the first is used.
            let places = [entry, entry + 1, entry + 2, entry + 3].map(|place| place.min(last_entry - 1));
            let elements = places.map(|place| x.load(tile.x_place(own_columns.load(place))));
            unrolled(4, |step| {
                if entry + step < last_entry {
                    while entry + step == row_end {
                        finish(row, sum);
                        (row, sum) = (row + 1, T::ZEROS);
                        row_end = end_of(row);
                    }
                    sum = elements[step as usize].times_plus(own_values.load(entry + step), sum);
                }
            });
            entry += 4;
        }
        while row < last_row {
            finish(row, sum);
            (row, sum) = (row + 1, T::ZEROS);
        }
    }

    // Among groups of a warp that end in the same row, the first one gets the sum.
    let mut distance = tile.lanes;
    while distance < WARP_LANES {
        let (other, is_there) = warp_shuffle_down(ALL_LANES, sum, distance, WARP_LANES);
        let (other_row, _) = warp_shuffle_down(ALL_LANES, last_row, distance, WARP_LANES);
        if is_there && other_row == last_row {
            sum = sum.plus(other);
        }
        distance *= 2;
    }
    carries.store(thread, sum);
    if thread & (tile.lanes - 1) == 0 {
        own_rows.store(group, last_row);
    }
    sync_threads();
    if !tile.has_vector() || group > 0 && own_rows.load(group - 1) == last_row {
        return;
    }
    // The first group of the block that ends in a row also adds the sums of those in other warps.
    let groups_of_warp = WARP_LANES >> shift;
    let mut other = (group | (groups_of_warp - 1)) + 1;
    while other < groups && own_rows.load(other) == last_row {
        sum = sum.plus(carries.load((other << shift) | (thread & (tile.lanes - 1))));
        other += groups_of_warp;
    }
    if last_row < ended {
        add(y, tile.y_place(first_row + last_row), alpha, sum);
    } else {
        let shares = grid_dim_x() / tiles;
        carry_values.store((number * shares + share) * tile.lanes + tile.lane(), sum);
        if number == 0 && tile.lane() == 0 {
            // Past the last row, nothing is left to add.
            carry_rows.store(share, (first_row + ended).min(rows - 1));
        }
    }
}
