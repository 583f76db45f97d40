//! CSR to COO-16 and back.
//!
//! In between, entries are in the order of their slots: row after row, those of a row slot after slot. From there a
//! stable sort by column panel moves them into their tiles, and from the tiles a stable sort by slot moves them back.

use core::hint::assert_unchecked;

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::warp::{WARP_LANES, lane_id};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use super::entries::for_each_entry;
use crate::Offset;
use crate::coo_16::{CHUNK, dealt_number, dealt_place, load_half, slots_of, tile_counts, tile_word};
use crate::scan::largest_of_warp;
use crate::search::first_in_range;

/// Computes the number of slots of each row.
///
/// # Safety
/// `row_offsets` are those of `rows` rows with less than 2^32 entries each; `slots` has an element for each row.
#[kernel(O: [u32, u64])]
pub unsafe fn coo_16_row_slots<O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The number of slots of each row.
    slots: GlobalMut<u32>,
) {
    let mut row = index_1d();
    while row < rows {
        let length = row_offsets.load(row + 1) - row_offsets.load(row);
        slots.store(row, slots_of(length.widen() as u32));
        row += grid_threads();
    }
}

/// Finds the row in which each row panel ends: the first with slots beyond it, or the last one.
///
/// # Safety
/// `slot_begins` are those of `rows` rows, at least one; `panel_rows` has an element for each panel; there are enough
/// panels for the slots, and at least one.
#[kernel]
pub unsafe fn coo_16_panel_rows(
    /// Number of rows.
    rows: u32,
    /// Slots of a row panel.
    panel_slots: u32,
    /// Number of row panels.
    row_panels: u32,
    /// Number of slots of all rows before each row; rows + 1 numbers.
    slot_begins: Global<u32>,
    /// The row in which each row panel ends.
    panel_rows: GlobalMut<u32>,
) {
    let mut panel = index_1d();
    while panel < row_panels {
        let end = (panel + 1) * panel_slots;
        let row = first_in_range(0, u64::from(rows - 1), |row| slot_begins.load(row + 1) > end);
        panel_rows.store(panel, row as u32);
        panel += grid_threads();
    }
}

/// Writes the slot and column of each entry; and, in the order of the slots, the entries and the keys for a sort by
/// column panel, which puts the largest key first.
///
/// # Safety
/// The CSR arrays are those of a valid matrix with `rows` rows and `nnz` entries, less than 2^32, and `slot_begins`
/// belong to it; the other arrays have an element for each entry; `interval` is a multiple of 32; blocks are made of
/// whole warps; all columns are in one of `column_panels` panels of `panel_columns` each.
#[kernel(O: [u32, u64])]
pub unsafe fn coo_16_keys<O: Offset>(
    /// Number of rows.
    rows: u32,
    /// Number of stored entries.
    nnz: u64,
    /// Entries of one warp; a multiple of 32.
    interval: u64,
    /// Columns of a column panel.
    panel_columns: u32,
    /// Number of column panels.
    column_panels: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// Number of slots of all rows before each row; rows + 1 numbers.
    slot_begins: Global<u32>,
    /// The slot of each entry, among those of all rows, with its column in the upper half.
    positions: GlobalMut<u64>,
    /// Number of column panels after that of each entry, in the order of the slots.
    keys: GlobalMut<u32>,
    /// The entries in the order of the slots.
    entries: GlobalMut<u32>,
) {
    assert_unchecked(panel_columns > 0);
    for_each_entry(rows, nnz, interval, row_offsets, |entry, row| {
        let begin = row_offsets.load(row).widen();
        let (length, number) = ((row_offsets.load(row + 1).widen() - begin) as u32, (entry - begin) as u32);
        let of_row = slots_of(length);
        assert_unchecked(of_row > 0);
        let column = column_indices.load(entry);
        positions.store(entry, u64::from(slot_begins.load(row) + number % of_row) | u64::from(column) << 32);
        let place = begin + u64::from(dealt_place(length, of_row, number));
        keys.store(place, column_panels - 1 - column / panel_columns);
        entries.store(place, entry as u32);
    });
}

/// Slot and column of an entry, from [`coo_16_keys`].
#[inline(always)]
fn slot_and_column(position: u64) -> (u32, u32) {
    (position as u32, (position >> 32) as u32)
}

/// Finds the offset of each tile.
///
/// # Safety
/// `entries` are the `nnz` entries of a CSR matrix in the order of their column panels and, within each, of their
/// slots; `positions` holds the slot and column of each; `tile_begins` has an element for each tile.
#[kernel]
pub unsafe fn coo_16_tile_begins(
    /// Number of stored entries.
    nnz: u32,
    /// Columns of a column panel.
    panel_columns: u32,
    /// Number of column panels.
    column_panels: u32,
    /// Slots of a row panel.
    panel_slots: u32,
    /// Number of row panels.
    row_panels: u32,
    /// The entries, tile by tile.
    entries: Global<u32>,
    /// Slot and column of each entry of CSR.
    positions: Global<u64>,
    /// Offset of each tile, row panel after row panel.
    tile_begins: GlobalMut<u32>,
) {
    assert_unchecked(panel_columns > 0 && row_panels > 0);
    let mut number = u64::from(index_1d());
    // Tiles are in the order of the entries, so that neighbouring threads read the same ones.
    while number < u64::from(row_panels) * u64::from(column_panels) {
        let (panel, row_panel) = (number / u64::from(row_panels), number % u64::from(row_panels));
        let first_slot = row_panel as u32 * panel_slots;
        let begin = first_in_range(0, nnz.into(), |place| {
            let (slot, column) = slot_and_column(positions.load(entries.load(place)));
            let own_panel = u64::from(column / panel_columns);
            own_panel > panel || own_panel == panel && slot >= first_slot
        });
        tile_begins.store(row_panel * u64::from(column_panels) + panel, begin as u32);
        number += u64::from(grid_threads());
    }
}

/// Counts the entries and groups of each tile: groups have at most 32 entries, and there are enough of them to keep
/// entries of one slot apart. One warp per tile.
///
/// # Safety
/// `entries`, `positions` and `tile_begins` are as for [`coo_16_tile_begins`]; `tile_words` has an element for each
/// tile; blocks are made of whole warps.
#[kernel]
pub unsafe fn coo_16_tile_words(
    /// Number of stored entries.
    nnz: u32,
    /// Number of column panels.
    column_panels: u32,
    /// Number of row panels.
    row_panels: u32,
    /// The entries, tile by tile.
    entries: Global<u32>,
    /// Slot and column of each entry of CSR.
    positions: Global<u64>,
    /// Offset of each tile, row panel after row panel.
    tile_begins: Global<u32>,
    /// Number of entries and groups of each tile.
    tile_words: GlobalMut<u32>,
) {
    let (column_panels, tiles) = (u64::from(column_panels), u64::from(row_panels) * u64::from(column_panels));
    let mut tile = u64::from(index_1d() / WARP_LANES);
    while tile < tiles {
        // The last tile of a column panel is followed by the first of the next panel.
        let next = if tile + column_panels < tiles { tile + column_panels } else { tile + column_panels + 1 - tiles };
        let begin = tile_begins.load(tile);
        let end = if tile + 1 == tiles { nnz } else { tile_begins.load(next) };
        let slot = |place: u32| slot_and_column(positions.load(entries.load(place))).0;
        let mut groups = (end - begin).div_ceil(WARP_LANES);
        let mut place = begin + lane_id();
        while place < end {
            let own = slot(place);
            while place + groups < end && slot(place + groups) == own {
                groups += 1;
            }
            place += WARP_LANES;
        }
        let groups = largest_of_warp(groups);
        if lane_id() == 0 {
            tile_words.store(tile, tile_word(end - begin, groups));
        }
        tile += u64::from(grid_threads() / WARP_LANES);
    }
}

/// Moves the entries into their tiles. One thread per word, which holds the halves of two entries.
///
/// # Safety
/// `entries`, `positions` and the tiles are those of the kernels above, for a valid CSR matrix with `nnz` entries; the
/// new arrays have the lengths of COO-16.
#[kernel(T: scalars)]
pub unsafe fn coo_16_from_csr<T: GpuScalar>(
    /// Number of stored entries.
    nnz: u32,
    /// Columns of a column panel.
    panel_columns: u32,
    /// Number of column panels.
    column_panels: u32,
    /// Slots of a row panel.
    panel_slots: u32,
    /// The entries, tile by tile.
    entries: Global<u32>,
    /// Slot and column of each entry of CSR.
    positions: Global<u64>,
    /// The value of each entry of CSR.
    values: Global<T>,
    /// Offset of each tile, row panel after row panel.
    tile_begins: Global<u32>,
    /// Number of entries and groups of each tile.
    tile_words: Global<u32>,
    /// The column of each entry in its panel, two in a word.
    column_offsets: GlobalMut<u32>,
    /// The slot of each entry in its row panel, two in a word.
    slot_offsets: GlobalMut<u32>,
    /// The value of each entry.
    new_values: GlobalMut<T>,
) {
    assert_unchecked(panel_columns > 0 && panel_slots > 0);
    let mut word = index_1d();
    while word < nnz.div_ceil(CHUNK) * WARP_LANES {
        let (mut column_word, mut slot_word) = (0, 0);
        let mut half = 0;
        while half < 2 {
            let place = word / WARP_LANES * CHUNK + word % WARP_LANES + half * WARP_LANES;
            if place < nnz {
                // Its tile is that of the entry that the sort moved there.
                let (slot, column) = slot_and_column(positions.load(entries.load(place)));
                let (row_panel, panel) = (slot / panel_slots, column / panel_columns);
                let tile = u64::from(row_panel) * u64::from(column_panels) + u64::from(panel);
                let (begin, (count, groups)) = (tile_begins.load(tile), tile_counts(tile_words.load(tile)));
                let entry = entries.load(begin + dealt_number(count, groups, place - begin));
                let (slot, column) = slot_and_column(positions.load(entry));
                column_word |= (column - panel * panel_columns) << (16 * half);
                slot_word |= (slot - row_panel * panel_slots) << (16 * half);
                new_values.store(place, values.load(entry));
            }
            half += 1;
        }
        column_offsets.store(word, column_word);
        slot_offsets.store(word, slot_word);
        word += grid_threads();
    }
}

/// Writes the index of each entry, tile by tile in the order of their slots, and the key for a sort by slot, which puts
/// the largest key first. One warp per tile.
///
/// # Safety
/// The arrays are those of a valid COO-16 matrix; `keys` and `places` have an element for each entry; blocks are made of
/// whole warps.
#[kernel]
pub unsafe fn coo_16_slot_keys(
    /// Slots of a row panel.
    panel_slots: u32,
    /// Number of column panels.
    column_panels: u32,
    /// Number of row panels.
    row_panels: u32,
    /// Offset of each tile, row panel after row panel.
    tile_begins: Global<u32>,
    /// Number of entries and groups of each tile.
    tile_words: Global<u32>,
    /// The slot of each entry in its row panel, two in a word.
    slot_offsets: Global<u32>,
    /// Number of slots of the row panels after that of each entry.
    keys: GlobalMut<u32>,
    /// The index of each entry.
    places: GlobalMut<u32>,
) {
    assert_unchecked(column_panels > 0);
    let mut tile = u64::from(index_1d() / WARP_LANES);
    while tile < u64::from(row_panels) * u64::from(column_panels) {
        let first_slot = (tile / u64::from(column_panels)) as u32 * panel_slots;
        let (begin, (count, groups)) = (tile_begins.load(tile), tile_counts(tile_words.load(tile)));
        let mut number = lane_id();
        while number < count {
            let place = begin + dealt_place(count, groups, number);
            let slot = first_slot + load_half(slot_offsets, place);
            keys.store(begin + number, row_panels * panel_slots - 1 - slot);
            places.store(begin + number, place);
            number += WARP_LANES;
        }
        tile += u64::from(grid_threads() / WARP_LANES);
    }
}

/// Finds the offset of each row in CSR.
///
/// # Safety
/// `slot_begins` are those of `rows` rows, `keys` those of [`coo_16_slot_keys`] for `nnz` entries, sorted;
/// `row_offsets` has one element more than there are rows.
#[kernel]
pub unsafe fn coo_16_row_offsets(
    /// Number of rows.
    rows: u32,
    /// Number of stored entries.
    nnz: u32,
    /// Slots of all row panels.
    slots: u32,
    /// Number of slots of all rows before each row; rows + 1 numbers.
    slot_begins: Global<u32>,
    /// Number of slots of the row panels after that of each entry.
    keys: Global<u32>,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: GlobalMut<u32>,
) {
    let mut row = index_1d();
    while row <= rows {
        let slots_left = slots - slot_begins.load(row);
        let offset = first_in_range(0, nnz.into(), |entry| keys.load(entry) < slots_left);
        row_offsets.store(row, offset as u32);
        row += grid_threads();
    }
}

/// Moves the entries back into their rows.
///
/// # Safety
/// The arrays are those of a valid COO-16 matrix with `rows` rows and `nnz` entries, `row_offsets` are those of its CSR
/// form, and `places` the indices of its entries in the order of the slots; the new arrays have an element for each
/// entry; `interval` is a multiple of 32; blocks are made of whole warps.
#[kernel(T: scalars)]
pub unsafe fn csr_from_coo_16<T: GpuScalar>(
    /// Number of rows.
    rows: u32,
    /// Number of stored entries.
    nnz: u64,
    /// Entries of one warp; a multiple of 32.
    interval: u64,
    /// Columns of a column panel.
    panel_columns: u32,
    /// Number of column panels.
    column_panels: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<u32>,
    /// The index of each entry, in the order of the slots.
    places: Global<u32>,
    /// Offset of each tile; those of the first row panel are the offsets of the column panels.
    tile_begins: Global<u32>,
    /// The column of each entry in its panel, two in a word.
    column_offsets: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// The column of each entry of CSR.
    column_indices: GlobalMut<u32>,
    /// The value of each entry of CSR.
    new_values: GlobalMut<T>,
) {
    for_each_entry(rows, nnz, interval, row_offsets, |entry, row| {
        let begin = row_offsets.load(row);
        let (length, number) = (row_offsets.load(row + 1) - begin, entry as u32 - begin);
        let place = places.load(begin + dealt_place(length, slots_of(length), number));
        let is_before_next = |panel: u64| tile_begins.load(panel + 1) > place;
        let panel = first_in_range(0, u64::from(column_panels - 1), is_before_next) as u32;
        column_indices.store(entry, panel * panel_columns + load_half(column_offsets, place));
        new_values.store(entry, values.load_streaming(place));
    });
}
