//! CSR to column panels.
//!
//! A stable sort by panel moves the entries of each panel together, in the order of their rows. Then each warp takes a
//! tile of them and finds where pieces begin, and a stable sort of the pieces by row lists those of each row.

use core::hint::assert_unchecked;

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::warp::{WARP_LANES, lane_id};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use crate::column_panels::{LANE_ENTRIES, TILE_ENTRIES, TILE_WORDS, column_place, value_place};
use crate::scan::sum_up_to_lane;
use crate::search::{first_in_range, first_that};

/// Writes the key of each entry for a sort by panel, which puts the largest key first: the number of panels after its
/// own.
///
/// # Safety
/// `column_indices` and `keys` have `nnz` elements, and all columns are in one of `panels` panels of `panel_columns`
/// each.
#[kernel]
pub unsafe fn column_panel_keys(
    /// Number of stored entries.
    nnz: u32,
    /// Columns of a panel.
    panel_columns: u32,
    /// Number of panels.
    panels: u32,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// Number of panels after that of each entry.
    keys: GlobalMut<u32>,
) {
    assert_unchecked(panel_columns > 0);
    let mut entry = index_1d();
    while entry < nnz {
        keys.store(entry, panels - 1 - column_indices.load_streaming(entry) / panel_columns);
        entry += grid_threads();
    }
}

/// Finds where each group of keys begins that were sorted with the largest first: group 0 has the key `most`, group 1 the
/// next smaller number.
///
/// # Safety
/// `keys` has `count` elements of at most `most`, never increasing; `begins` has `groups`, at most `most` + 2.
#[kernel]
pub unsafe fn begins_of_keys(
    /// Number of keys.
    count: u32,
    /// The largest key that there may be.
    most: u32,
    /// Number of groups.
    groups: u32,
    /// The keys.
    keys: Global<u32>,
    /// Number of keys in all groups before each one.
    begins: GlobalMut<u32>,
) {
    let mut group = index_1d();
    while group < groups {
        // A key of the group or a later one.
        let reached = |place: u64| keys.load(place) + group <= most;
        begins.store(group, first_in_range(0, count.into(), reached) as u32);
        group += grid_threads();
    }
}

/// Fills the tiles, one warp each, and counts their pieces. Slots past the last entry of a panel repeat it, as a piece
/// that belongs to no row.
///
/// # Safety
/// `entries` are those of a CSR matrix in the order of their panels and, within each, of CSR; `panel_begins` and
/// `panel_tiles` are the numbers of entries and tiles before each panel, and last of all, where each panel has just the
/// tiles that it needs; `row_indices`, `column_indices` and `values` describe the entries of CSR. The new arrays have
/// the words and values of these tiles, and `piece_counts` an element for each; blocks are made of whole warps.
#[kernel(T: scalars)]
pub unsafe fn column_panel_tiles<T: GpuScalar>(
    /// Columns of a panel.
    panel_columns: u32,
    /// Number of panels.
    panels: u32,
    /// Number of tiles.
    tiles: u32,
    /// Number of entries before each panel; panels + 1 numbers.
    panel_begins: Global<u32>,
    /// Number of tiles before each panel; panels + 1 numbers.
    panel_tiles: Global<u32>,
    /// The entries, panel by panel.
    entries: Global<u32>,
    /// The row of each entry of CSR.
    row_indices: Global<u32>,
    /// The column of each entry of CSR.
    column_indices: Global<u32>,
    /// The value of each entry of CSR.
    values: Global<T>,
    /// Which entries begin a piece, for each lane of each tile.
    lane_words: GlobalMut<u32>,
    /// The column of each entry in its panel, two in a word.
    column_offsets: GlobalMut<u32>,
    /// The value of each entry.
    new_values: GlobalMut<T>,
    /// Number of pieces of each tile.
    piece_counts: GlobalMut<u32>,
) {
    let mut tile = index_1d() / WARP_LANES;
    while tile < tiles {
        let panel = first_that(0, panels, |panel| panel_tiles.load(panel + 1) > tile);
        let slots = Slots::new(tile, panel, panel_begins, panel_tiles, entries, row_indices);
        let first_column = panel * panel_columns;
        let mut flags: u32 = 0;
        let mut word = 0;
        let mut number = 0;
        while number < LANE_ENTRIES {
            let slot = lane_id() * LANE_ENTRIES + number;
            if slots.begins_piece(slot) {
                flags |= 1 << number;
            }
            let entry = slots.entry(slot);
            let (place, shift) = column_place(lane_id(), number);
            word |= (column_indices.load(entry) - first_column) << shift;
            if shift != 0 {
                column_offsets.store(u64::from(tile) * u64::from(TILE_WORDS) + u64::from(place), word);
                word = 0;
            }
            let place = u64::from(tile) * u64::from(TILE_ENTRIES) + u64::from(value_place(lane_id(), number));
            new_values.store(place, values.load(entry));
            number += 1;
        }
        let own = flags.count_ones();
        let up_to = sum_up_to_lane(own);
        let place = u64::from(tile) * u64::from(WARP_LANES) + u64::from(lane_id());
        lane_words.store(place, flags | (up_to - own) << 16);
        if lane_id() == WARP_LANES - 1 {
            piece_counts.store(tile, up_to);
        }
        tile += grid_threads() / WARP_LANES;
    }
}

/// Writes the key of each piece for a sort by row, which puts the largest key first: the number of rows from its own
/// on, or 0 if it belongs to no row. One warp per tile.
///
/// # Safety
/// The arrays are those of [`column_panel_tiles`] for a matrix with `rows` rows, and `tile_pieces` the sums of its
/// counts; `keys` has an element for each piece; blocks are made of whole warps.
#[kernel]
pub unsafe fn column_panel_piece_keys(
    /// Number of rows.
    rows: u32,
    /// Number of panels.
    panels: u32,
    /// Number of tiles.
    tiles: u32,
    /// Number of entries before each panel; panels + 1 numbers.
    panel_begins: Global<u32>,
    /// Number of tiles before each panel; panels + 1 numbers.
    panel_tiles: Global<u32>,
    /// The entries, panel by panel.
    entries: Global<u32>,
    /// The row of each entry of CSR.
    row_indices: Global<u32>,
    /// Which entries begin a piece, for each lane of each tile.
    lane_words: Global<u32>,
    /// Number of pieces before each tile; tiles + 1 numbers.
    tile_pieces: Global<u32>,
    /// Number of rows from that of each piece on.
    keys: GlobalMut<u32>,
) {
    let mut tile = index_1d() / WARP_LANES;
    while tile < tiles {
        let panel = first_that(0, panels, |panel| panel_tiles.load(panel + 1) > tile);
        let slots = Slots::new(tile, panel, panel_begins, panel_tiles, entries, row_indices);
        let lane_word = lane_words.load(u64::from(tile) * u64::from(WARP_LANES) + u64::from(lane_id()));
        let mut piece = tile_pieces.load(tile) + (lane_word >> 16);
        let mut flags = lane_word & 0xFFFF;
        while flags != 0 {
            let slot = lane_id() * LANE_ENTRIES + flags.trailing_zeros();
            keys.store(piece, if slot < slots.count { rows - slots.row(slot) } else { 0 });
            piece += 1;
            flags &= flags - 1;
        }
        tile += grid_threads() / WARP_LANES;
    }
}

/// The slots of a tile.
struct Slots {
    /// The first of its entries.
    first: u32,
    /// Number of its entries.
    count: u32,
    entries: Global<u32>,
    row_indices: Global<u32>,
}

impl Slots {
    /// The slots of a tile of this panel.
    ///
    /// # Safety
    /// The arrays are those of [`column_panel_tiles`].
    #[inline(always)]
    unsafe fn new(
        tile: u32,
        panel: u32,
        panel_begins: Global<u32>,
        panel_tiles: Global<u32>,
        entries: Global<u32>,
        row_indices: Global<u32>,
    ) -> Self {
        let first = panel_begins.load(panel) + (tile - panel_tiles.load(panel)) * TILE_ENTRIES;
        let count = (panel_begins.load(panel + 1) - first).min(TILE_ENTRIES);
        Self { first, count, entries, row_indices }
    }

    /// The entry of CSR in a slot; past the last one, that again.
    #[inline(always)]
    unsafe fn entry(&self, slot: u32) -> u32 {
        self.entries.load(self.first + slot.min(self.count - 1))
    }

    /// The row of a slot.
    #[inline(always)]
    unsafe fn row(&self, slot: u32) -> u32 {
        self.row_indices.load(self.entry(slot))
    }

    /// Whether a piece begins in a slot: in the first one, in the first past the entries, and where another row begins.
    #[inline(always)]
    unsafe fn begins_piece(&self, slot: u32) -> bool {
        slot == 0 || slot == self.count || slot < self.count && self.row(slot) != self.row(slot - 1)
    }
}
