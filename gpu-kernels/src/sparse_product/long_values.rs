//! The values of the longest rows of a product: each block has a bit for each column, in global memory.
//!
//! One block per row of the product. The index of a column in the row is the number of bits before its own. Products
//! come in tiles, several per thread: they are multiplied and looked up at once, and then added in turns. Each turn
//! adds the first of the products with the same index; sums are thus in the order of products, and a further turn is
//! needed only if a tile has several products with the same index, or with indices that share a claim.

use cuda_std::shared::{Shared, dynamic};
use cuda_std::thread::{block_dim_x, block_idx_x, grid_dim_x, sync_threads, thread_idx_x};
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, warp_vote_any};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use crate::Offset;
use crate::scan::scan_block;

/// Products per thread of a tile.
const PRODUCTS: usize = 4;

/// Results of `make` for each product of a thread, without a loop, so that all stay in registers and all loads are in
/// flight together.
#[inline(always)]
fn for_each_product<R>(mut make: impl FnMut(usize) -> R) -> [R; PRODUCTS] {
    [make(0), make(1), make(2), make(3)]
}

/// A free claim, and the index of a product that does not exist.
const NONE: u32 = u32::MAX;

/// Number of claims that a block of `threads` threads can hold in a turn: at least two for each product of a tile.
const fn claims(threads: u32) -> u32 {
    (2 * PRODUCTS as u32 * threads).next_power_of_two()
}

/// Bytes of shared memory that a block of `threads` threads needs: for the claims of two turns, a sum and a flag per
/// warp, and two numbers per thread.
pub const fn shared_bytes(threads: u32) -> u32 {
    2 * 4 * claims(threads) + (8 + 4) * (threads / WARP_LANES) + 16 * threads
}

/// The indices of columns in a row.
#[derive(Clone, Copy)]
struct Places {
    bits: GlobalMut<u32>,
    /// Number of bits before each word.
    before: GlobalMut<u32>,
    /// The first word of this block.
    begin: u64,
    /// The word of the row's first column, among those of all columns.
    first: u32,
    /// Number of words up to that of the row's last column.
    words: u32,
}

impl Places {
    /// Sets the bits of a row's columns, and counts them.
    ///
    /// # Safety
    /// As for [`product_long_values`]; the whole block calls it, its words are 0, and the row is not empty.
    #[inline(always)]
    unsafe fn of_row<O: Offset>(
        bits: GlobalMut<u32>,
        before: GlobalMut<u32>,
        words_of_block: u32,
        columns: Global<u32>,
        (first_entry, end): (O, O),
    ) -> Self {
        let first = columns.load(first_entry) / u32::BITS;
        let words = columns.load(end - O::from(1)) / u32::BITS - first + 1;
        let begin = u64::from(block_idx_x()) * u64::from(words_of_block);
        let mut entry = first_entry + O::from(thread_idx_x());
        while entry < end {
            let column = columns.load(entry);
            bits.atomic_or(begin + u64::from(column / u32::BITS - first), 1 << (column % u32::BITS));
            entry = entry + O::from(block_dim_x());
        }
        sync_threads();
        let (mut found, mut word) = (0, 0);
        while word < words {
            let own = word + thread_idx_x();
            let ones = if own < words { bits.load(begin + u64::from(own)).count_ones() } else { 0 };
            let (of_others, all) = scan_block(ones.into());
            if own < words {
                // A row has fewer than 2^32 columns.
                before.store(begin + u64::from(own), (found + of_others) as u32);
            }
            found += all;
            word += block_dim_x();
        }
        Self { bits, before, begin, first, words }
    }

    /// The index of a column, [`NONE`] if the row lacks it.
    ///
    /// # Safety
    /// The block has passed a barrier since the row's columns were counted.
    #[inline(always)]
    unsafe fn find(self, column: u32) -> u32 {
        let word = (column / u32::BITS).wrapping_sub(self.first);
        let place = self.begin + u64::from(word.min(self.words - 1));
        let (bits, before, own) = (self.bits.load(place), self.before.load(place), 1 << (column % u32::BITS));
        if word < self.words && bits & own != 0 { before + (bits & (own - 1)).count_ones() } else { NONE }
    }

    /// Sets the words to 0.
    ///
    /// # Safety
    /// The whole block calls it after a barrier, and passes another one before it uses the words again.
    #[inline(always)]
    unsafe fn clear(self) {
        let mut word = thread_idx_x();
        while word < self.words {
            self.bits.store(self.begin + u64::from(word), 0);
            word += block_dim_x();
        }
    }
}

/// A row's sums, and the turns in which a block adds to them.
#[derive(Clone, Copy)]
struct Sums<T, O> {
    values: GlobalMut<T>,
    begin: O,
    /// The claims of two turns: while those of one are made, those of the other are reset.
    claims: Shared<u32>,
    /// Number of claims of a turn: a power of two.
    count: u32,
    /// Whether each warp needs another turn.
    unfinished: Shared<u32>,
}

impl<T: GpuScalar, O: Offset> Sums<T, O> {
    /// Adds products at those indices that are not [`NONE`].
    ///
    /// # Safety
    /// The row has the indices, all of them different, and no other thread adds to them before the next block barrier.
    #[inline(always)]
    unsafe fn add(self, places: [u32; PRODUCTS], products: [T; PRODUCTS]) {
        let sums = for_each_product(|number| {
            let place = places[number];
            if place == NONE { T::ZERO } else { self.values.load(self.begin + O::from(place)) + products[number] }
        });
        for_each_product(|number| {
            if places[number] != NONE {
                self.values.store(self.begin + O::from(places[number]), sums[number]);
            }
        });
    }

    /// Claims an index for a product, unless one with a smaller number claims it.
    ///
    /// # Safety
    /// Since the claims of this turn were reset, other threads have done nothing else with them.
    #[inline(always)]
    unsafe fn claim(self, claim: u32, product: u32) {
        let mut seen = NONE;
        loop {
            let before = self.claims.compare_and_swap(claim, seen, product);
            if before == seen || before < product {
                return;
            }
            seen = before;
        }
    }

    /// Adds the products of a tile that have an index, those with the same index in order. Returns the number of the
    /// turn after the last, modulo 2.
    ///
    /// # Safety
    /// The whole block calls it, with the `turn` that it returned last; the row has the indices.
    #[inline(always)]
    unsafe fn add_in_turns(self, mut turn: u32, mut places: [u32; PRODUCTS], products: [T; PRODUCTS]) -> u32 {
        loop {
            let claim_of = |place: u32| turn * self.count + (place & (self.count - 1));
            let number_of = |number: usize| number as u32 * block_dim_x() + thread_idx_x();
            for_each_product(|number| {
                if places[number] != NONE {
                    self.claim(claim_of(places[number]), number_of(number));
                }
            });
            sync_threads();
            let first = for_each_product(|number| {
                let place = places[number];
                if place != NONE && self.claims.load(claim_of(place)) == number_of(number) { place } else { NONE }
            });
            self.add(first, products);
            let mut left = false;
            for_each_product(|number| {
                if first[number] != NONE {
                    places[number] = NONE;
                }
                left |= places[number] != NONE;
            });
            let left = warp_vote_any(ALL_LANES, left);
            if lane_id() == 0 {
                self.unfinished.store(thread_idx_x() / WARP_LANES, left.into());
            }
            sync_threads();
            // All threads have read these claims, and the next turn does not use them.
            for_each_product(|number| {
                if first[number] != NONE {
                    self.claims.store(claim_of(first[number]), NONE);
                }
            });
            turn ^= 1;
            let has_warp = lane_id() < block_dim_x() / WARP_LANES;
            let is_unfinished = has_warp && self.unfinished.load(lane_id()) != 0;
            if !warp_vote_any(ALL_LANES, is_unfinished) {
                return turn;
            }
        }
    }
}

/// The last of some entries of A whose products begin at or before `product`.
///
/// # Safety
/// The products of the first one do.
#[inline(always)]
unsafe fn entry_of(begins: Shared<u64>, mut first: u32, mut last: u32, product: u64) -> u32 {
    while first < last {
        let middle = first + (last - first).div_ceil(2);
        if begins.load(middle) <= product {
            first = middle;
        } else {
            last = middle - 1;
        }
    }
    first
}

/// Sums the products of some rows, in the order of the left row's entries and, for each of these, of the right row's.
///
/// # Safety
/// The arrays are those of valid matrices, of which the left one has no column beyond the rows of the right one, and
/// the product has the left one's rows, each sorted; `rows` are `count` rows of it, none of them empty. `bits` has
/// `words` words of zeros for each block, with a bit for each column of the product, and `before` has as many words. If
/// the only element of `repeats` is 0, no row of the right matrix has a column twice. `outside` has one element. Blocks
/// are made of whole warps, with [`shared_bytes`].
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn product_long_values<T: GpuScalar, O: Offset>(
    /// Number of rows to compute.
    count: u32,
    /// Words of bits of a block.
    words: u32,
    /// Whether a row of the right matrix may have a column more than once.
    repeats: Global<u32>,
    /// The rows.
    rows: Global<u32>,
    /// Where each row of the left matrix begins.
    left_offsets: Global<O>,
    /// The columns of the left matrix.
    left_columns: Global<u32>,
    /// The values of the left matrix.
    left_values: Global<T>,
    /// Where each row of the right matrix begins.
    right_offsets: Global<O>,
    /// The columns of the right matrix.
    right_columns: Global<u32>,
    /// The values of the right matrix.
    right_values: Global<T>,
    /// Where each row of the product begins.
    offsets: Global<O>,
    /// The columns of the product.
    columns: Global<u32>,
    /// Zeros before and after the kernel.
    bits: GlobalMut<u32>,
    /// Anything before and after the kernel.
    before: GlobalMut<u32>,
    /// The values of the product.
    values: GlobalMut<T>,
    /// Becomes 1 if the product lacks an entry that the matrices require.
    outside: GlobalMut<u32>,
) {
    let (thread, threads, repeats) = (thread_idx_x(), block_dim_x(), repeats.load(0u32) != 0);
    // Shared memory begins with the sums of scans.
    let begins_at = 8 * (threads / WARP_LANES);
    let (begins, origins) = (dynamic::<u64>(begins_at), dynamic::<u64>(begins_at + 8 * threads));
    let claims_at = begins_at + 16 * threads;
    let (made, of_turn) = (dynamic::<u32>(claims_at), claims(threads));
    let unfinished = dynamic::<u32>(claims_at + 8 * of_turn);
    let mut claim = thread;
    while claim < 2 * of_turn {
        made.store(claim, NONE);
        claim += threads;
    }
    let (mut turn, mut number) = (0, block_idx_x());
    while number < count {
        let row = rows.load(number);
        let (begin, end) = (offsets.load(row), offsets.load(row + 1));
        let mut place = begin + O::from(thread);
        while place < end {
            // −0 is the number that leaves every other unchanged when added to it.
            values.store(place, -T::ZERO);
            place = place + O::from(threads);
        }
        let places = Places::of_row(bits, before, words, columns, (begin, end));
        let sums = Sums { values, begin, claims: made, count: of_turn, unfinished };
        let (mut first, left_end) = (left_offsets.load(row), left_offsets.load(row + 1));
        while first < left_end {
            // One entry of A per thread. The products of all are numbered.
            let (mut length, mut origin) = (0, 0);
            let entry = first + O::from(thread);
            if entry < left_end {
                let inner = left_columns.load(entry);
                origin = right_offsets.load(inner).widen();
                length = right_offsets.load(inner + 1).widen() - origin;
            }
            let (product, all) = scan_block(length);
            begins.store(thread, product);
            origins.store(thread, origin.wrapping_sub(product));
            sync_threads();
            let (mut tile, mut entry) = (0, 0);
            while tile < all {
                let tile_end = all.min(tile + u64::from(threads) * PRODUCTS as u64);
                let last = entry_of(begins, entry, threads - 1, tile_end - 1);
                let product_of = |number: usize| tile + u64::from(number as u32 * threads + thread);
                // A thread without a product loads the last one.
                let entries = for_each_product(|number| {
                    let product = product_of(number).min(tile_end - 1);
                    let own = entry_of(begins, entry, last, product);
                    (first + O::from(own), origins.load(own).wrapping_add(product))
                });
                let columns = for_each_product(|number| right_columns.load(entries[number].1));
                let products = for_each_product(|number| {
                    left_values.load(entries[number].0) * right_values.load(entries[number].1)
                });
                let own_places = for_each_product(|number| {
                    let place = places.find(columns[number]);
                    if place == NONE {
                        // The pattern is that of other matrices.
                        outside.set_flag(0u32);
                    }
                    if product_of(number) < tile_end { place } else { NONE }
                });
                if !repeats && entry == last {
                    // No two products have the same index.
                    sums.add(own_places, products);
                    sync_threads();
                } else {
                    turn = sums.add_in_turns(turn, own_places, products);
                }
                (tile, entry) = (tile_end, last);
            }
            // All entries are read before the next ones overwrite them.
            sync_threads();
            first = first + O::from(threads);
        }
        places.clear();
        sync_threads();
        number += grid_dim_x();
    }
}
