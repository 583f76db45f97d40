//! Classes of rows of a product, by a bound on their lengths.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, warp_shuffle_idx, warp_vote_ballot};
use cuda_std::{Global, GlobalMut, kernel};

use super::team::Team;
use crate::Offset;
use crate::reduction::sum_over_groups;
use crate::search::first_in_range;

/// The class of the shortest non-empty rows.
pub const FIRST_CLASS: u32 = 5;

/// Number of classes.
pub const CLASSES: u32 = 32;

/// Distance between the tables of two teams, in slots. If a warp has several teams, slots that all access at the same
/// time are in different banks.
pub const fn slots_apart(slots: u32, lanes: u32) -> u32 {
    if lanes < WARP_LANES { slots + lanes } else { slots }
}

/// The largest number of products of a row, or of columns if there are fewer, in one of the first classes by number of
/// products.
pub const fn most_products(class: u32) -> u32 {
    (1_u32 << class) / (PER_SPARE_BY_PRODUCTS + 1) * PER_SPARE_BY_PRODUCTS
}

/// Entries per spare slot of a table, if rows are classified by length.
const PER_SPARE_BY_LENGTH: u32 = 3;

/// The same if they are classified by number of products, of which several usually have the same column.
const PER_SPARE_BY_PRODUCTS: u32 = 7;

/// The class of rows with at most `bound` entries: the logarithm of the number of slots of their hash tables, which
/// have a spare slot for every `per_spare` entries; 0 for empty rows, and the last class for the longest.
#[inline(always)]
fn class_of(bound: u64, per_spare: u32) -> u32 {
    if bound == 0 {
        return 0;
    }
    let slots = bound + bound.div_ceil(per_spare.into());
    // The first power of two that is at least `slots`.
    let class = u64::BITS - (slots - 1).leading_zeros();
    class.clamp(FIRST_CLASS, CLASSES - 1)
}

/// Number of entries of a row of A above which a warp counts its products, however many lanes have a short one.
const LONG: u32 = 8 * WARP_LANES;

/// Computes the class of each row of a product from its number of products: from that of all columns, if these are
/// fewer and the row is not in one of the classes from `listed` on.
///
/// # Safety
/// The arrays are those of valid matrices, of which the left one has `rows` rows and no column beyond the rows of the
/// right one; `classes` has an element for each row. `lanes` is a power of two up to 32; blocks are made of whole
/// warps.
#[kernel(O: [u32, u64])]
pub unsafe fn product_classes<O: Offset>(
    /// Rows of the left matrix.
    rows: u32,
    /// Columns of the right matrix.
    columns: u32,
    /// Lanes that share a row, each with four entries in flight.
    lanes: u32,
    /// The first class of rows whose products are listed.
    listed: u32,
    /// Where each row of the left matrix begins.
    left_offsets: Global<O>,
    /// The columns of the left matrix.
    left_columns: Global<u32>,
    /// Where each row of the right matrix begins.
    right_offsets: Global<O>,
    /// The class of each row.
    classes: GlobalMut<u32>,
) {
    let team = Team::new(lanes);
    let products_of = |entry: O, end: O| {
        if entry >= end {
            return 0;
        }
        let inner = left_columns.load(entry);
        (right_offsets.load(inner + 1) - right_offsets.load(inner)).widen()
    };
    // The warp stays together for the sum over its lanes.
    let mut first_row = index_1d() / WARP_LANES * (WARP_LANES / lanes);
    while first_row < rows {
        let row = first_row + team.in_block() % (WARP_LANES / lanes);
        let (mut begin, mut end) = (O::from(0), O::from(0));
        if row < rows {
            (begin, end) = (left_offsets.load(row), left_offsets.load(row + 1));
        }
        let (mut products, is_long) = (0, end - begin > O::from(LONG));
        let mut entry = begin + O::from(team.lane);
        while !is_long && entry < end {
            let of = |step: u32| products_of(entry + O::from(step * lanes), end);
            products += [of(0), of(1), of(2), of(3)].iter().sum::<u64>();
            entry = entry + O::from(4 * lanes);
        }
        // The whole warp takes long rows, with several entries of a lane in flight.
        let mut long = warp_vote_ballot(ALL_LANES, is_long && team.lane == 0);
        while long != 0 {
            let lane = long.trailing_zeros();
            let mut own = warp_shuffle_idx(ALL_LANES, begin, lane, WARP_LANES).0 + O::from(lane_id());
            let end = warp_shuffle_idx(ALL_LANES, end, lane, WARP_LANES).0;
            let mut of_lane = 0;
            while own < end {
                let of = |step: u32| products_of(own + O::from(step * WARP_LANES), end);
                of_lane += [of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7)].iter().sum::<u64>();
                own = own + O::from(8 * WARP_LANES);
            }
            let all = sum_over_groups(of_lane, WARP_LANES);
            if lane_id() == lane {
                products = all;
            }
            long &= long - 1;
        }
        let products = sum_over_groups(products, lanes);
        if team.lane == 0 && row < rows {
            let class = class_of(products, PER_SPARE_BY_PRODUCTS);
            let of_columns = class_of(products.min(columns.into()), PER_SPARE_BY_PRODUCTS);
            classes.store(row, if class < listed { of_columns } else { class });
        }
        first_row += grid_threads() / lanes;
    }
}

/// Computes the class of some rows of a product from their lengths.
///
/// # Safety
/// `rows` are `count` rows, for which `lengths` has elements; `copies` and `classes` have `count` elements.
#[kernel]
pub unsafe fn product_classes_by_length(
    /// Number of rows.
    count: u32,
    /// The rows.
    rows: Global<u32>,
    /// The length of each row of the product.
    lengths: Global<u32>,
    /// The rows again.
    copies: GlobalMut<u32>,
    /// The class of each of the rows.
    classes: GlobalMut<u32>,
) {
    let mut number = index_1d();
    while number < count {
        let row = rows.load_streaming(number);
        let length = lengths.load(row);
        copies.store(number, row);
        classes.store(number, class_of(length.into(), PER_SPARE_BY_LENGTH));
        number += grid_threads();
    }
}

/// Finds the end of each class: the number of rows with this class or a larger one.
///
/// # Safety
/// `classes` has `rows` elements, which never increase; `ends` has an element for each of `count` classes.
#[kernel]
pub unsafe fn product_class_ends(
    /// Number of rows.
    rows: u32,
    /// Number of classes.
    count: u32,
    /// The class of each row, in their new order.
    classes: Global<u32>,
    /// Number of rows with the class or a larger one.
    ends: GlobalMut<u32>,
) {
    let class = index_1d();
    if class < count {
        ends.store(class, first_in_range(0, rows.into(), |place| classes.load(place) < class) as u32);
    }
}
