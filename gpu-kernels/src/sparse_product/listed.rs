//! Rows of very many products, which are all listed: sorted by row and column, neighbours that share both are added up.
//!
//! All threads share the products evenly, however long a row is. The sort keeps the order of equal keys, so sums are in
//! the order of A's entries and, for each of these, of B's.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, warp_shuffle_idx, warp_vote_ballot};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use crate::Offset;
use crate::convert::entries::for_each_entry;
use crate::search::first_in_range;

/// Products with the same column that a lane adds up alone; its warp adds up the rest together.
const ALONE: u32 = WARP_LANES;

/// Number of entries from `begin` to `end`, or the largest number if there are more.
#[inline(always)]
fn number_of<O: Offset>(begin: O, end: O) -> u32 {
    (end - begin).widen().min(u32::MAX.into()) as u32
}

/// Writes the length of each listed row of the left matrix, or the largest number if it is greater.
///
/// # Safety
/// `rows` are `count` rows of a valid matrix; `lengths` has as many elements.
#[kernel(O: [u32, u64])]
pub unsafe fn listed_lengths<O: Offset>(
    /// Number of listed rows.
    count: u32,
    /// The rows.
    rows: Global<u32>,
    /// Where each row of the left matrix begins.
    left_offsets: Global<O>,
    /// The number of entries of each listed row.
    lengths: GlobalMut<u32>,
) {
    let mut number = index_1d();
    while number < count {
        let row = rows.load(number);
        lengths.store(number, number_of(left_offsets.load(row), left_offsets.load(row + 1)));
        number += grid_threads();
    }
}

/// Lists the entries of some rows of the left matrix, with the rows of the right matrix that they select.
///
/// # Safety
/// The matrices are valid, and the left one has no column beyond the rows of the right one; `rows` are `count` rows of
/// it, fewer than 2^31, and `begins` the sums of their lengths, `entries` in all. The arrays for entries have as many
/// elements. Blocks are made of whole warps; `interval` is a multiple of 32.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn listed_entries<T: GpuScalar, O: Offset>(
    /// Number of listed rows.
    count: u32,
    /// Number of entries of these rows.
    entries: u64,
    /// Entries of one warp.
    interval: u64,
    /// The rows.
    rows: Global<u32>,
    /// Where the entries of each row begin in the list.
    begins: Global<u32>,
    /// Where each row of the left matrix begins.
    left_offsets: Global<O>,
    /// The columns of the left matrix.
    left_columns: Global<u32>,
    /// The values of the left matrix.
    left_values: Global<T>,
    /// Where each row of the right matrix begins.
    right_offsets: Global<O>,
    /// For each entry, the number of its row in `rows`.
    numbers: GlobalMut<u32>,
    /// Its value.
    factors: GlobalMut<T>,
    /// Where the row of the right matrix begins.
    right_begins: GlobalMut<O>,
    /// The length of that row, or the largest number if it is greater.
    lengths: GlobalMut<u32>,
) {
    for_each_entry(count, entries, interval, begins, |entry, number| {
        let from = left_offsets.load(rows.load(number)) + O::of(entry - u64::from(begins.load(number)));
        let inner = left_columns.load(from);
        let begin = right_offsets.load(inner);
        numbers.store(entry, number);
        factors.store(entry, left_values.load(from));
        right_begins.store(entry, begin);
        lengths.store(entry, number_of(begin, right_offsets.load(inner + 1)));
    });
}

/// Lists the products of the listed entries, with `largest` minus the key of their row and column: the sort is
/// descending.
///
/// # Safety
/// `numbers`, `factors` and `right_begins` are those of `entries` entries, fewer than 2^31, and `begins` the sums of
/// the lengths of their rows of the right matrix, `count` in all; `keys` and `products` have as many elements. The
/// right matrix has at most 2^`shift` columns, and no key is above `largest`. Blocks are made of whole warps;
/// `interval` is a multiple of 32.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn listed_products<T: GpuScalar, O: Offset>(
    /// Number of listed entries.
    entries: u32,
    /// Number of their products.
    count: u64,
    /// Products of one warp.
    interval: u64,
    /// Bits of a column.
    shift: u32,
    /// The largest key.
    largest: u32,
    /// Where the products of each entry begin in the list.
    begins: Global<u32>,
    /// The number of each entry's row among the listed rows.
    numbers: Global<u32>,
    /// The value of each entry.
    factors: Global<T>,
    /// Where the row of the right matrix begins that each entry selects.
    right_begins: Global<O>,
    /// The columns of the right matrix.
    right_columns: Global<u32>,
    /// The values of the right matrix.
    right_values: Global<T>,
    /// The key of each product.
    keys: GlobalMut<u32>,
    /// The products.
    products: GlobalMut<T>,
) {
    for_each_entry(entries, count, interval, begins, |product, entry| {
        let from = right_begins.load(entry) + O::of(product - u64::from(begins.load(entry)));
        let row = numbers.load(entry) << shift;
        keys.store(product, largest - (row | right_columns.load(from)));
        products.store(product, factors.load(entry) * right_values.load(from));
    });
}

/// Marks the first product of each row and column with 1, and all others with 0.
///
/// # Safety
/// `keys` and `firsts` have `count` elements.
#[kernel]
pub unsafe fn listed_firsts(
    /// Number of products.
    count: u32,
    /// Their sorted keys.
    keys: Global<u32>,
    /// The marks.
    firsts: GlobalMut<u32>,
) {
    let mut place = index_1d();
    while place < count {
        firsts.store(place, u32::from(place == 0 || keys.load(place - 1) != keys.load(place)));
        place += grid_threads();
    }
}

/// The products of listed rows in their order.
#[derive(Clone, Copy)]
struct InOrder<T> {
    count: u32,
    keys: Global<u32>,
    numbers: Global<u32>,
    products: Global<T>,
}

impl<T: GpuScalar> InOrder<T> {
    /// Whether there is a product with this key at a place.
    ///
    /// # Safety
    /// The arrays have `count` elements.
    #[inline(always)]
    unsafe fn has(self, key: u32, place: u32) -> bool {
        place < self.count && self.keys.load(place) == key
    }

    /// The product at a place.
    ///
    /// # Safety
    /// The place is less than `count`, and the arrays have that many elements, and `products` one for each number.
    #[inline(always)]
    unsafe fn product(self, place: u32) -> T {
        self.products.load(self.numbers.load(place))
    }

    /// Adds all products with this key to a sum, in order, from a place on.
    ///
    /// # Safety
    /// As for [`listed_sums`]; the whole warp calls it, with the same arguments.
    #[inline(always)]
    unsafe fn add_rest(self, key: u32, mut place: u32, mut sum: T) -> T {
        loop {
            let own = place + lane_id();
            let there = self.has(key, own);
            let value = if there { self.product(own) } else { T::ZERO };
            let lanes = warp_vote_ballot(ALL_LANES, there).trailing_ones();
            let mut lane = 0;
            while lane < lanes {
                sum = sum + warp_shuffle_idx(ALL_LANES, value, lane, WARP_LANES).0;
                lane += 1;
            }
            if lanes < WARP_LANES {
                return sum;
            }
            place += WARP_LANES;
        }
    }
}

/// Adds up the products of each row and column.
///
/// # Safety
/// `keys` are those of [`listed_products`], sorted, and `numbers` the products at their places; there are `count`,
/// from 1 to 2^31. `places` are the sums of their marks by [`listed_firsts`]; `columns` and `values` have an element
/// for each mark. Blocks are made of whole warps.
#[kernel(T: scalars)]
pub unsafe fn listed_sums<T: GpuScalar>(
    /// Number of products.
    count: u32,
    /// Bits of a column.
    shift: u32,
    /// The largest key.
    largest: u32,
    /// Sorted keys.
    keys: Global<u32>,
    /// The number of the product at each place.
    numbers: Global<u32>,
    /// The products.
    products: Global<T>,
    /// Number of sums before each product, and of all.
    places: Global<u32>,
    /// The columns of the sums.
    columns: GlobalMut<u32>,
    /// The sums.
    values: GlobalMut<T>,
) {
    let in_order = InOrder { count, keys, numbers, products };
    // The warp stays together for long sums.
    let mut first = index_1d() / WARP_LANES * WARP_LANES;
    while first < count {
        let place = first + lane_id();
        let key = keys.load(place.min(count - 1));
        let is_first = place < count && (place == 0 || keys.load(place - 1) != key);
        let (mut sum, mut next, mut goes_on) = (T::ZERO, place + 1, false);
        if is_first {
            sum = in_order.product(place);
            goes_on = in_order.has(key, next);
            while goes_on && next < place + ALONE {
                sum = sum + in_order.product(next);
                next += 1;
                goes_on = in_order.has(key, next);
            }
        }
        let mut lanes = warp_vote_ballot(ALL_LANES, goes_on);
        while lanes != 0 {
            let lane = lanes.trailing_zeros();
            let from_lane = |number: u32| warp_shuffle_idx(ALL_LANES, number, lane, WARP_LANES).0;
            let (key, next) = (from_lane(key), from_lane(next));
            let whole = in_order.add_rest(key, next, warp_shuffle_idx(ALL_LANES, sum, lane, WARP_LANES).0);
            if lane_id() == lane {
                sum = whole;
            }
            lanes &= lanes - 1;
        }
        if is_first {
            let to = places.load(place);
            columns.store(to, (largest - key) & ((1 << shift) - 1));
            values.store(to, sum);
        }
        first += grid_threads();
    }
}

/// Finds where each row begins among the sums, and the end of the last.
///
/// # Safety
/// `keys` and `places` are those of [`listed_sums`], for `count` products; `row_begins` has an element for each of
/// `rows` rows, and one more.
#[kernel]
pub unsafe fn listed_begins(
    /// Number of listed rows.
    rows: u32,
    /// Number of products.
    count: u32,
    /// Bits of a column.
    shift: u32,
    /// The largest key.
    largest: u32,
    /// Sorted keys.
    keys: Global<u32>,
    /// Number of sums before each product, and of all.
    places: Global<u32>,
    /// Where each row begins.
    row_begins: GlobalMut<u32>,
) {
    let mut row = index_1d();
    while row <= rows {
        let place = first_in_range(0, count.into(), |place| (largest - keys.load(place)) >> shift >= row);
        row_begins.store(row, places.load(place));
        row += grid_threads();
    }
}

/// Writes the lengths of listed rows of the product.
///
/// # Safety
/// `rows` are `count` rows, for which `lengths` has elements; `row_begins` has one more than there are rows.
#[kernel]
pub unsafe fn listed_row_lengths(
    /// Number of listed rows.
    count: u32,
    /// The rows.
    rows: Global<u32>,
    /// Where each row begins among the sums.
    row_begins: Global<u32>,
    /// The length of each row of the product.
    lengths: GlobalMut<u32>,
) {
    let mut number = index_1d();
    while number < count {
        lengths.store(rows.load(number), row_begins.load(number + 1) - row_begins.load(number));
        number += grid_threads();
    }
}

/// Copies the sums of listed rows to their places in the product.
///
/// # Safety
/// `rows` are `count` rows of the product, whose `offsets` are those of a valid matrix with `columns` and `values`;
/// `row_begins` are the sums of their lengths, `sums` in all, and `from_columns` and `from_values` have as many
/// elements. Blocks are made of whole warps; `interval` is a multiple of 32.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn listed_rows<T: GpuScalar, O: Offset>(
    /// Number of listed rows.
    count: u32,
    /// Number of sums.
    sums: u64,
    /// Sums of one warp.
    interval: u64,
    /// The rows.
    rows: Global<u32>,
    /// Where each row begins among the sums.
    row_begins: Global<u32>,
    /// The columns of the sums.
    from_columns: Global<u32>,
    /// The sums.
    from_values: Global<T>,
    /// Where each row of the product begins.
    offsets: Global<O>,
    /// The columns of the product.
    columns: GlobalMut<u32>,
    /// The values of the product.
    values: GlobalMut<T>,
) {
    for_each_entry(count, sums, interval, row_begins, |sum, number| {
        let to = offsets.load(rows.load(number)) + O::of(sum - u64::from(row_begins.load(number)));
        columns.store(to, from_columns.load_streaming(sum));
        values.store(to, from_values.load_streaming(sum));
    });
}

/// Copies the sums of listed rows to the values of a product with a known pattern.
///
/// # Safety
/// As for [`listed_rows`], except that rows of the product may have other lengths and columns than the sums; `outside`
/// has an element.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn listed_values<T: GpuScalar, O: Offset>(
    /// Number of listed rows.
    count: u32,
    /// Number of sums.
    sums: u64,
    /// Sums of one warp.
    interval: u64,
    /// The rows.
    rows: Global<u32>,
    /// Where each row begins among the sums.
    row_begins: Global<u32>,
    /// The columns of the sums.
    from_columns: Global<u32>,
    /// The sums.
    from_values: Global<T>,
    /// Where each row of the product begins.
    offsets: Global<O>,
    /// The columns of the product.
    columns: Global<u32>,
    /// The values of the product.
    values: GlobalMut<T>,
    /// Becomes 1 if a row of the product has other columns than the sums.
    outside: GlobalMut<u32>,
) {
    for_each_entry(count, sums, interval, row_begins, |sum, number| {
        let row = rows.load(number);
        let (begin, length) = (row_begins.load(number), row_begins.load(number + 1) - row_begins.load(number));
        let to = offsets.load(row) + O::of(sum - u64::from(begin));
        let same_length = offsets.load(row + 1) - offsets.load(row) == O::from(length);
        if same_length && columns.load(to) == from_columns.load_streaming(sum) {
            values.store(to, from_values.load_streaming(sum));
        } else {
            outside.set_flag(0u32);
        }
    });
}
