//! Values that are stored narrower than they are computed with.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, warp_shuffle_idx, warp_shuffle_xor, warp_vote_ballot};
use cuda_std::{BFloat16, Float16, Global, GlobalMut, GpuFloat, GpuScalar, Stored, kernel, square_root};

use crate::absent::{Absent, Marked};
use crate::search::first_in_range;
use crate::values::Values;

/// Stores each value as the nearest number of a type, or as the index in a table of the number with the same bits; 0 if
/// there is none.
///
/// # Safety
/// `values` and `stored` have `count` elements, `table` has `entries` elements, in the order of their bits.
#[kernel((V, T): narrower_each)]
pub unsafe fn narrowed<V: Stored<T> + Marked, T: Absent>(
    /// Number of values.
    count: u64,
    /// Whether to mark absent values: then no other value becomes the mark.
    marks: u32,
    /// The values.
    values: Global<T>,
    /// Length of the table.
    entries: u32,
    /// The number that each code stands for.
    table: Global<T>,
    /// The stored numbers.
    stored: GlobalMut<V>,
) {
    let mut place = u64::from(index_1d());
    while place < count {
        let value = values.load_streaming(place);
        let narrow = V::nearest(value, |number| place_of(number, entries, table).unwrap_or(0));
        let marked = if value.is_absent() { V::MARK } else { narrow.unmarked() };
        stored.store(place, if marks != 0 { marked } else { narrow });
        place += u64::from(grid_threads());
    }
}

/// Widens the stored values; an absent one becomes the mark of the wide type.
///
/// # Safety
/// `stored` and `values` have `count` elements, and `table` has an entry for each code except the mark.
#[kernel((V, T): narrower)]
pub unsafe fn widened<V: Stored<T> + Marked, T: Absent>(
    /// Number of values.
    count: u64,
    /// Whether absent values are marked.
    marks: u32,
    /// The stored numbers.
    stored: Global<V>,
    /// The number that each code stands for.
    table: Global<T>,
    /// The values.
    values: GlobalMut<T>,
) {
    let from = Values { stored, table };
    let mut place = u64::from(index_1d());
    while place < count {
        let narrow = stored.load_streaming(place);
        let value = if marks != 0 && narrow.is_mark() { T::ABSENT } else { from.widen(narrow) };
        values.store(place, value);
        place += u64::from(grid_threads());
    }
}

/// Searches for numbers that are not in a table. Each warp stops at the first one of its own.
///
/// # Safety
/// `values` has `count` elements, `table` has `entries` elements, in the order of their bits; `found` and `numbers`
/// have one for each warp.
#[kernel(T: scalars)]
pub unsafe fn unlisted<T: GpuScalar>(
    /// Number of values.
    count: u64,
    /// The values.
    values: Global<T>,
    /// Length of the table.
    entries: u32,
    /// The numbers in the table.
    table: Global<T>,
    /// Whether the warp found one.
    found: GlobalMut<u32>,
    /// The number that it found.
    numbers: GlobalMut<T>,
) {
    let warp = index_1d() / WARP_LANES;
    // The warp stays together for its votes: it continues while its first value exists.
    let mut first = u64::from(warp * WARP_LANES);
    let (mut finders, mut number) = (0, T::ZERO);
    while first < count && finders == 0 {
        let place = first + u64::from(lane_id());
        let mut is_unlisted = false;
        if place < count {
            number = values.load_streaming(place);
            is_unlisted = place_of(number, entries, table).is_none();
        }
        finders = warp_vote_ballot(ALL_LANES, is_unlisted);
        first += u64::from(grid_threads());
    }
    let number = warp_shuffle_idx(ALL_LANES, number, finders.trailing_zeros() % WARP_LANES, WARP_LANES).0;
    if lane_id() == 0 {
        found.store(warp, u32::from(finders != 0));
        numbers.store(warp, number);
    }
}

/// Finds the types that cannot hold all numbers exactly, as the sum of [`LOSES_FLOAT16`], [`LOSES_BFLOAT16`] and
/// [`LOSES_FLOAT32`]: no type keeps a NaN. Each warp stops once it has found all three.
///
/// # Safety
/// `values` has `count` elements, and `losses` one for each warp.
#[kernel(T: reals)]
pub unsafe fn losses<T: GpuFloat>(
    /// Number of values.
    count: u64,
    /// The values.
    values: Global<T>,
    /// Result of each warp.
    losses: GlobalMut<u32>,
) {
    let warp = index_1d() / WARP_LANES;
    // The warp stays together for its votes: it continues while its first value exists.
    let mut first = u64::from(warp * WARP_LANES);
    let mut all = 0;
    while first < count && all != LOSES_FLOAT16 + LOSES_BFLOAT16 + LOSES_FLOAT32 {
        let place = first + u64::from(lane_id());
        let number = if place < count { values.load_streaming(place).widen() } else { 0.0 };
        // None of these types has a table.
        let float16 = Float16::nearest_to(number).widen(|_| 0.0);
        let bfloat16 = BFloat16::nearest_to(number).widen(|_| 0.0);
        let kept = [(float16, LOSES_FLOAT16), (bfloat16, LOSES_BFLOAT16), (f64::from(number as f32), LOSES_FLOAT32)];
        let mut kind = 0;
        while kind < kept.len() {
            let (nearest, loss): (f64, u32) = kept[kind];
            if warp_vote_ballot(ALL_LANES, nearest != number) != 0 {
                all |= loss;
            }
            kind += 1;
        }
        first += u64::from(grid_threads());
    }
    if lane_id() == 0 {
        losses.store(warp, all);
    }
}

/// Some number is not a binary16.
pub const LOSES_FLOAT16: u32 = 1;
/// Some number is not a bfloat16.
pub const LOSES_BFLOAT16: u32 = 2;
/// Some number is not a 32-bit float.
pub const LOSES_FLOAT32: u32 = 4;

/// Finds the largest relative change of a finite value in rounding, and whether some value becomes infinite. Each warp
/// does so for its own values.
///
/// # Safety
/// `values` and `stored` have `count` elements, `changes` and `beyond` one for each warp. `V` is not a type with a
/// table.
#[kernel((V, T): rounded)]
pub unsafe fn changes<V: Stored<T>, T: GpuScalar>(
    /// Number of values.
    count: u64,
    /// The values.
    values: Global<T>,
    /// The stored numbers.
    stored: Global<V>,
    /// The largest change.
    changes: GlobalMut<f64>,
    /// Whether some value is outside the range of the type.
    beyond: GlobalMut<u32>,
) {
    let warp = index_1d() / WARP_LANES;
    let (mut largest, mut is_beyond) = (0.0, false);
    let mut place = u64::from(index_1d());
    while place < count {
        let rounded = stored.load_streaming(place).widen(|_| T::ZERO);
        match change(values.load_streaming(place).wide_parts(), rounded.wide_parts()) {
            Some(change) => largest = if change > largest { change } else { largest },
            None => is_beyond = true,
        }
        place += u64::from(grid_threads());
    }
    let beyond_lanes = warp_vote_ballot(ALL_LANES, is_beyond);
    let mut distance = WARP_LANES / 2;
    while distance > 0 {
        let other: f64 = warp_shuffle_xor(ALL_LANES, largest, distance, WARP_LANES).0;
        largest = if other > largest { other } else { largest };
        distance /= 2;
    }
    if lane_id() == 0 {
        changes.store(warp, largest);
        beyond.store(warp, u32::from(beyond_lanes != 0));
    }
}

/// Relative change of a value in rounding: 0 if the value is not finite, none if it becomes infinite.
#[inline(always)]
pub fn change(value: [f64; 2], rounded: [f64; 2]) -> Option<f64> {
    let is_finite = |[re, im]: [f64; 2]| re.is_finite() && im.is_finite();
    if !is_finite(value) {
        return Some(0.0);
    }
    if !is_finite(rounded) {
        return None;
    }
    let change = magnitude([rounded[0] - value[0], rounded[1] - value[1]]) / magnitude(value);
    // For a zero, the change is NaN.
    Some(if change > 0.0 { change } else { 0.0 })
}

/// The absolute value of a number by its parts.
#[inline(always)]
fn magnitude([re, im]: [f64; 2]) -> f64 {
    let (re, im) = (re.abs(), im.abs());
    let (large, small) = if re < im { (im, re) } else { (re, im) };
    if small == 0.0 {
        return large;
    }
    let ratio = small / large;
    large * square_root(1.0 + ratio * ratio)
}

/// Index of the number with the same bits.
///
/// # Safety
/// `table` has `entries` elements, in the order of their bits.
#[inline(always)]
unsafe fn place_of<T: GpuScalar>(number: T, entries: u32, table: Global<T>) -> Option<u32> {
    let bits = number.bits();
    let place = first_in_range(0, entries.into(), |place| table.load(place).bits() >= bits);
    let is_there = place < u64::from(entries) && table.load(place).bits() == bits;
    is_there.then_some(place as u32)
}
