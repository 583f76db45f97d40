//! COO in tiles with 16-bit rows and columns, in two passes: the gathering of x and the summation of rows each stay
//! within the multiprocessor (propagation blocking: Beamer, Asanović & Patterson 2017).
//!
//! The columns are cut into panels whose elements of x fit in shared memory, the rows into panels whose sums do. A tile
//! is the intersection of a row panel and a column panel. [`coo_16_products`] goes along the column panels and writes
//! every product; [`coo_16_sums`] goes along the row panels, tile by tile, and adds them up. An element of x that no
//! neighbour needs therefore costs no sector of its own, at the price of writing and reading the products.
//!
//! A sum is a slot in shared memory. A row of up to [`SLOT_ENTRIES`] entries has one slot, a longer row has more, and
//! its entries go to its slots in turn. The entries of a tile come in groups of at most 32, no two of which go to the
//! same slot: the lanes of a warp add them all at once, without atomics, and therefore in the same order every time.

use cuda_std::shared::{Shared, dynamic};
use cuda_std::thread::{block_dim_x, block_idx_x, index_1d, sync_threads, thread_idx_x};
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, sync_warp, warp_shuffle_idx, warp_vote_ballot};
use cuda_std::{Global, GlobalMut, GpuScalar, Stored, kernel};

use crate::reduction::sum_over_lanes;
use crate::scan::sum_up_to_lane;
use crate::search::first_in_range;
use crate::values::Values;
use crate::vector::update;

/// Largest number of entries of a slot.
pub const SLOT_ENTRIES: u32 = 64;

/// Largest number of slots of a row panel: a tile has at most 2^16 entries, and a slot number 16 bits.
pub const MOST_SLOTS: u32 = 1024;

/// Largest number of columns of a column panel.
pub const MOST_COLUMNS: u32 = 1 << 16;

/// Lowest bit of the number of groups in a tile's word; the lower bits hold the number of entries.
const GROUPS_SHIFT: u32 = 20;

/// Entries whose half words are stored together: one word per lane, with the halves of two entries.
pub const CHUNK: u32 = 2 * WARP_LANES;

/// A tile's word, from its numbers of entries and groups.
pub const fn tile_word(entries: u32, groups: u32) -> u32 {
    entries | groups << GROUPS_SHIFT
}

/// Numbers of entries and groups of a tile.
pub const fn tile_counts(word: u32) -> (u32, u32) {
    (word & ((1 << GROUPS_SHIFT) - 1), word >> GROUPS_SHIFT)
}

/// Number of slots of a row of `entries` entries.
#[inline(always)]
pub const fn slots_of(entries: u32) -> u32 {
    entries.div_ceil(SLOT_ENTRIES)
}

/// Begin of pile `pile` when `count` entries are dealt out in turn to `piles` piles, stored one after another.
#[inline(always)]
pub fn pile_begin(count: u32, piles: u32, pile: u32) -> u32 {
    let piles = piles.max(1);
    pile * (count / piles) + pile.min(count % piles)
}

/// Index of an entry in the piles of [`pile_begin`], by its number in the order of dealing.
#[inline(always)]
pub fn dealt_place(count: u32, piles: u32, number: u32) -> u32 {
    let piles = piles.max(1);
    pile_begin(count, piles, number % piles) + number / piles
}

/// Number of the entry at an index; the inverse of [`dealt_place`].
#[inline(always)]
pub fn dealt_number(count: u32, piles: u32, place: u32) -> u32 {
    let piles = piles.max(1);
    let (least, longer) = (count / piles, count % piles);
    // The first piles have one entry more.
    let in_longer = longer * (least + 1);
    if place < in_longer {
        place % (least + 1) * piles + place / (least + 1)
    } else {
        let (place, least) = (place - in_longer, least.max(1));
        place % least * piles + longer + place / least
    }
}

/// The word that holds an entry's 16 bits, and their lowest bit.
pub const fn half_of(entry: u32) -> (u32, u32) {
    (entry / CHUNK * WARP_LANES + entry % WARP_LANES, entry / WARP_LANES % 2 * 16)
}

/// The 16 bits of an entry.
///
/// # Safety
/// The word that holds them exists.
#[inline(always)]
pub(crate) unsafe fn load_half(words: Global<u32>, entry: u32) -> u32 {
    let (word, shift) = half_of(entry);
    words.load(word) >> shift & 0xFFFF
}

/// The first block of [`coo_16_products`] of a column panel that comes after `entries` entries and `panels` panels. The
/// blocks of a panel begin at multiples of `block_entries`; the first and the last of them may have fewer.
pub const fn first_block(entries: u32, panels: u32, block_entries: u32) -> u32 {
    entries / block_entries + panels
}

/// Computes the product of every entry with its element of x.
///
/// # Safety
/// The arrays are those of a valid COO-16 matrix with `columns` columns and `nnz` entries, at least one; `x` has an
/// element for each column, `products` one for each entry, `table` one for each code among the values; blocks are made
/// of whole warps, with shared memory for the elements of a column panel, and there are [`first_block`] of all entries
/// and column panels.
#[kernel((V, T): stored)]
pub unsafe fn coo_16_products<V: Stored<T>, T: GpuScalar>(
    /// Number of columns.
    columns: u32,
    /// Number of stored entries.
    nnz: u32,
    /// Columns of a column panel.
    panel_columns: u32,
    /// Number of column panels.
    column_panels: u32,
    /// Entries that a block multiplies, a multiple of 64.
    block_entries: u32,
    /// Offset of each tile; those of the first row panel are the offsets of the column panels.
    tile_begins: Global<u32>,
    /// The column of each entry in its panel, two in a word.
    column_offsets: Global<u32>,
    /// The value of each entry.
    values: Global<V>,
    /// The value that each code stands for.
    table: Global<T>,
    /// The vector to multiply.
    x: Global<T>,
    /// The product of each entry.
    products: GlobalMut<T>,
) {
    let values = Values { stored: values, table };
    let end_of = |panel: u32| if panel + 1 < column_panels { tile_begins.load(panel + 1) } else { nnz };
    let is_before = |panel: u64| first_block(end_of(panel as u32), panel as u32 + 1, block_entries) > block_idx_x();
    let panel = first_in_range(0, u64::from(column_panels - 1), is_before) as u32;
    let part = (block_idx_x() - panel) * block_entries;
    let begin = part.max(tile_begins.load(panel));
    let end = (part + block_entries.min(nnz - part)).min(end_of(panel));
    if begin >= end {
        return;
    }
    let first_column = panel * panel_columns;
    let elements = dynamic::<T>(0);
    copy(x, first_column, panel_columns.min(columns - first_column), elements);
    sync_threads();
    let mut chunk = begin / CHUNK + thread_idx_x() / WARP_LANES;
    let warps = block_dim_x() / WARP_LANES;
    while chunk * CHUNK < end {
        // Past the end, the last entry is loaded again, so that no load waits for a comparison.
        let chunks = [0, 1, 2, 3].map(|step| (chunk + step * warps).min((end - 1) / CHUNK));
        let words = chunks.map(|chunk| column_offsets.load_streaming(chunk * WARP_LANES + lane_id()));
        let entries = chunks.map(|chunk| {
            let entry = chunk * CHUNK + lane_id();
            [entry.min(end - 1), (entry + WARP_LANES).min(end - 1)]
        });
        let stored = entries.map(|pair| pair.map(|entry| values.stored.load_streaming(entry)));
        let values = stored.map(|pair| pair.map(|stored| values.widen(stored)));
        let mut number = 0;
        while number < 4 {
            let entry = (chunk + number as u32 * warps) * CHUNK + lane_id();
            if begin <= entry && entry < end {
                products.store(entry, values[number][0] * elements.load(words[number] & 0xFFFF));
            }
            let entry = entry + WARP_LANES;
            if begin <= entry && entry < end {
                products.store(entry, values[number][1] * elements.load(words[number] >> 16));
            }
            number += 1;
        }
        chunk += 4 * warps;
    }
}

/// Copies `count` elements of an array, from `first` on, to shared memory. Four at a time are loaded before the first
/// is stored.
///
/// # Safety
/// All threads of the block call it; `array` has the elements, and shared memory room for them.
#[inline(always)]
unsafe fn copy<T: GpuScalar>(array: Global<T>, first: u32, count: u32, shared: Shared<T>) {
    let mut place = thread_idx_x();
    while place < count {
        let places = [0, 1, 2, 3].map(|step| (place + step * block_dim_x()).min(count - 1));
        let elements = places.map(|place| array.load(first + place));
        let mut step = 0;
        while step < 4 {
            // Past the end, the last element is loaded again; each element is stored only by the thread that owns it.
            let own = place + step * block_dim_x();
            if own < count {
                shared.store(own, elements[step as usize]);
            }
            step += 1;
        }
        place += 4 * block_dim_x();
    }
}

/// Bytes of shared memory of a block of [`coo_16_sums`]: per warp, the next 32 groups and its sums.
pub const fn sums_shared_bytes<T>(warps: u32, panel_slots: u32) -> u32 {
    warps * (WARP_LANES * size_of::<u64>() as u32 + panel_slots * size_of::<T>() as u32)
}

/// y ← α A x + β y from the product of every entry, except for each row panel's part of the row in which it ends; that
/// goes to the carries, which [`coo_carries`](crate::coo::coo_carries) adds.
///
/// One warp per row panel.
///
/// # Safety
/// The arrays are those of a valid COO-16 matrix with `rows` rows; the products are those of [`coo_16_products`]; `y` has
/// an element for each row, the carries one for each row panel; blocks are made of whole warps, with [`sums_shared_bytes`]
/// of shared memory.
#[kernel(T: scalars)]
pub unsafe fn coo_16_sums<T: GpuScalar>(
    /// Number of rows.
    rows: u32,
    /// Slots of a row panel.
    panel_slots: u32,
    /// Number of row panels.
    row_panels: u32,
    /// Number of column panels.
    column_panels: u32,
    /// Number of slots of all rows before each row; rows + 1 numbers.
    slot_begins: Global<u32>,
    /// The row in which each row panel ends.
    panel_rows: Global<u32>,
    /// Offset of each tile, row panel after row panel.
    tile_begins: Global<u32>,
    /// Number of entries and groups of each tile.
    tile_words: Global<u32>,
    /// The slot of each entry in its row panel, two in a word.
    slot_offsets: Global<u32>,
    /// The product of each entry.
    products: Global<T>,
    /// The factor of A x.
    alpha: T,
    /// The factor of y.
    beta: T,
    /// The result.
    y: GlobalMut<T>,
    /// Partial sum of the row in which each row panel ends.
    carry_values: GlobalMut<T>,
) {
    let panel = index_1d() / WARP_LANES;
    if panel >= row_panels {
        return;
    }
    let lane = lane_id();
    let warp = thread_idx_x() / WARP_LANES;
    let next_groups = dynamic::<u64>(warp * WARP_LANES * size_of::<u64>() as u32);
    let sums = dynamic::<T>(block_dim_x() * size_of::<u64>() as u32 + warp * panel_slots * size_of::<T>() as u32);
    let mut slot = lane;
    while slot < panel_slots {
        sums.store(slot, T::ZERO);
        slot += WARP_LANES;
    }
    sync_warp(ALL_LANES);
    let entries = Entries { slot_offsets, products, sums };
    add_tiles(panel, column_panels, tile_begins, tile_words, next_groups, &entries);
    let first_row = if panel > 0 { panel_rows.load(panel - 1) } else { 0 };
    let last = panel + 1 == row_panels;
    let end_row = if last { rows } else { panel_rows.load(panel) };
    let begin_slot = panel * panel_slots;
    let mut row = first_row;
    while row < end_row + u32::from(!last) {
        let own = row + lane;
        let there = own < end_row + u32::from(!last);
        let slots_before = |row: u32| slot_begins.load(row).saturating_sub(begin_slot).min(panel_slots);
        let (begin, end) = if there { (slots_before(own), slots_before(own + 1)) } else { (0, 0) };
        let sum = sum_of_slots(begin, end, sums);
        if there && own < end_row {
            update(y, own, alpha, sum, beta);
        } else if there {
            carry_values.store(panel, sum);
        }
        row += WARP_LANES;
    }
    if last && lane == 0 {
        carry_values.store(panel, T::ZERO);
    }
}

/// Adds the products of a row panel, tile after tile, to the sums of their slots.
///
/// # Safety
/// As for [`coo_16_sums`]: the warp is complete, and has room for its next 32 groups.
#[inline(always)]
unsafe fn add_tiles<T: GpuScalar>(
    panel: u32,
    column_panels: u32,
    tile_begins: Global<u32>,
    tile_words: Global<u32>,
    next_groups: Shared<u64>,
    entries: &Entries<T>,
) {
    let lane = lane_id();
    let mut tile = 0;
    while tile < column_panels {
        // Each lane loads one of the next 32 tiles.
        let there = tile + lane < column_panels;
        let place = u64::from(panel) * u64::from(column_panels) + u64::from(tile + lane);
        let (begin, word) = if there { (tile_begins.load(place), tile_words.load(place)) } else { (0, 0) };
        let (count, groups) = tile_counts(word);
        let (least, longer) = (count / groups.max(1), count % groups.max(1));
        let own = Tile { begin, end_group: sum_up_to_lane(groups), groups, least, longer };
        let all_groups = of_lane(own.end_group, WARP_LANES - 1);
        let mut first = 0;
        while first < all_groups {
            // Each lane finds one of the next 32 groups. All lanes read them from shared memory, because shuffles keep
            // it busy three times as long.
            next_groups.store(lane, own.group(first + lane));
            sync_warp(ALL_LANES);
            let end = WARP_LANES.min(all_groups - first);
            let load = |number: u32| {
                let next = [0, 1, 2, 3, 4, 5, 6, 7].map(|next| number + next);
                entries.load(next.map(|next| next_groups.load(next)))
            };
            // The next groups are in flight while these are added.
            let mut loaded = load(0);
            let mut number = 8;
            while number < end {
                let next = load(number);
                entries.add(loaded);
                loaded = next;
                number += 8;
            }
            entries.add(loaded);
            first += WARP_LANES;
        }
        tile += WARP_LANES;
    }
}

/// The sum of the slots of each lane's row; the slots of a row with many slots are added up by all lanes.
///
/// # Safety
/// The warp is complete, and the slots are among the sums.
#[inline(always)]
unsafe fn sum_of_slots<T: GpuScalar>(begin: u32, end: u32, sums: Shared<T>) -> T {
    let lane = lane_id();
    let long = end - begin > WARP_LANES;
    let mut sum = T::ZERO;
    let mut slot = begin;
    while slot < end && !long {
        sum = sum + sums.load(slot);
        slot += 1;
    }
    let mut left = warp_vote_ballot(ALL_LANES, long);
    while left != 0 {
        let source = left.trailing_zeros();
        let (mut slot, end) = (of_lane(begin, source) + lane, of_lane(end, source));
        let mut part = T::ZERO;
        while slot < end {
            part = part + sums.load(slot);
            slot += WARP_LANES;
        }
        let of_row = sum_over_lanes::<T, 32>(part);
        if lane == source {
            sum = of_row;
        }
        left &= left - 1;
    }
    sum
}

/// The value of `number` in another lane.
///
/// # Safety
/// All lanes of the warp call it.
#[inline(always)]
unsafe fn of_lane(number: u32, lane: u32) -> u32 {
    warp_shuffle_idx(ALL_LANES, number, lane, WARP_LANES).0
}

/// One of the 32 tiles that the lanes of a warp hold.
#[derive(Clone, Copy)]
struct Tile {
    /// First entry of the tile.
    begin: u32,
    /// Number of groups of this tile and those before it.
    end_group: u32,
    /// Number of groups of this tile.
    groups: u32,
    /// Entries per group.
    least: u32,
    /// Number of groups that have one entry more.
    longer: u32,
}

impl Tile {
    /// First entry of group `number` among those of all 32 tiles, with its number of entries in the upper half; no
    /// entries past the last group.
    ///
    /// # Safety
    /// All lanes of the warp call it.
    #[inline(always)]
    unsafe fn group(self, number: u32) -> u64 {
        let mut lane = 0;
        let mut step = WARP_LANES / 2;
        while step > 0 {
            let end_group = of_lane(self.end_group, lane + step - 1);
            lane += if end_group <= number { step } else { 0 };
            step /= 2;
        }
        let there = number < of_lane(self.end_group, lane);
        let group = number - of_lane(self.end_group - self.groups, lane);
        let (least, longer) = (of_lane(self.least, lane), of_lane(self.longer, lane));
        let begin = of_lane(self.begin, lane) + group * least + group.min(longer);
        if there { u64::from(begin) | u64::from(least + u32::from(group < longer)) << 32 } else { 0 }
    }
}

/// Data shared by all tiles.
struct Entries<T> {
    slot_offsets: Global<u32>,
    products: Global<T>,
    sums: Shared<T>,
}

impl<T: GpuScalar> Entries<T> {
    /// This lane's entries of eight groups of at most 32 entries each, all loaded at once to keep the memory busy.
    ///
    /// # Safety
    /// All lanes of the warp call it, with the same groups of a valid matrix, as returned by [`Tile::group`]. There is
    /// at least one entry.
    #[inline(always)]
    unsafe fn load(&self, groups: [u64; 8]) -> [Loaded<T>; 8] {
        groups.map(|group| {
            let (begin, count) = (group as u32, (group >> 32) as u32);
            // Past the end of a group, its last entry is loaded again, so that no load waits for a comparison.
            let entry = begin + lane_id().min(count.max(1) - 1);
            let (slot, product) = (load_half(self.slot_offsets, entry), self.products.load_streaming(entry));
            Loaded { count, slot, product }
        })
    }

    /// Adds the products of the groups to their slots.
    ///
    /// # Safety
    /// All lanes of the warp call it, with what they loaded from the same groups.
    #[inline(always)]
    unsafe fn add(&self, groups: [Loaded<T>; 8]) {
        let mut number = 0;
        while number < 8 {
            let Loaded { count, slot, product } = groups[number];
            if lane_id() < count {
                self.sums.store(slot, self.sums.load(slot) + product);
            }
            sync_warp(ALL_LANES);
            number += 1;
        }
    }
}

/// An entry of a group; each lane has at most one.
#[derive(Clone, Copy)]
struct Loaded<T> {
    /// Number of entries of the group: the lanes below it have one each. Comparing only at the addition is up to 7 %
    /// faster.
    count: u32,
    slot: u32,
    product: T,
}
