//! Dense blocks of a sparse matrix (Choi, Singh & Vuduc 2010, §4.1): what BCSR and BELLPACK share.
//!
//! A block's places are numbered column by column, and cut into words of [`word_length`] values, one load each.
//! The words of neighbouring blocks are interleaved (§4.2, §4.4): first the first words of all of them, then the
//! second words, and so on, so that neighbouring threads, with a block each, read neighbouring addresses. Places
//! without an entry are [marked](Marked).

use cuda_std::{Global, GpuScalar, Stored};

use crate::absent::Marked;
use crate::values::Values;

/// The most rows and columns of a block.
pub const LARGEST_SIDE: usize = 8;

/// Blocks of a size that kernels have as a parameter: its rows and its columns, as the two digits of one number.
pub struct Block<const SIZE: u32>;

impl<const SIZE: u32> Block<SIZE> {
    /// Rows of a block.
    pub const ROWS: u32 = SIZE / 10;
    /// Columns of a block.
    pub const COLUMNS: u32 = SIZE % 10;
    /// Places of a block.
    pub const PLACES: u32 = Self::ROWS * Self::COLUMNS;
    /// Blocks whose loads are begun together, to keep the memory busy: the fewer places, the more blocks.
    pub const AT_ONCE: u32 = match Self::PLACES {
        0..=4 => 4,
        5..=9 => 2,
        _ => 1,
    };
}

/// Calls a macro with other tokens, if there are any, and the block sizes of the paper (§6.6), as name, rows and columns.
/// This is the one list of them; that the kernels have an instance for each is checked where they are launched, by the
/// compiler.
#[macro_export]
macro_rules! block_sizes {
    ($callback:ident $($context:tt)*) => {
        $callback! {
            $($context)* B1x2 1 2, B2x2 2 2, B2x3 2 3, B3x2 3 2, B3x3 3 3, B3x4 3 4, B4x4 4 4, B5x5 5 5, B6x6 6 6, B7x7 7 7,
            B8x8 8 8
        }
    };
}

/// Values of one word of a block with so many places: what one load of up to 16 bytes brings, as far as it divides
/// the block. Then every word begins aligned for its load, without padding. Values that are stored narrower lie in words of
/// as many.
pub const fn word_length<T>(places: u32) -> u32 {
    let most = 16 / size_of::<T>() as u32;
    if places.is_multiple_of(most) {
        most
    } else if places.is_multiple_of(2) {
        2
    } else {
        1
    }
}

/// The sums of the rows of a block; those that the block does not have stay 0.
pub(crate) type Sums<T> = [T; LARGEST_SIDE];

/// `sums` with the product of one block and x, given by column. What lies outside the matrix is not read. With `SHARED`,
/// other blocks' words may share sectors with those of one value, which then go by way of the caches.
///
/// # Safety
/// The words of the block begin at `start` and are `distance` values apart; `element` may be called for columns up to
/// `last_column`, and the block has an entry in no other column. The table has an entry for each code but the mark.
#[inline(always)]
pub(crate) unsafe fn add_block<V: Stored<T> + Marked, T: GpuScalar, const SIZE: u32, const SHARED: bool>(
    mut sums: Sums<T>,
    values: Values<V, T>,
    start: u64,
    distance: u32,
    first_column: u32,
    last_column: u32,
    element: impl Fn(u32) -> T,
) -> Sums<T> {
    let word_length = const { word_length::<T>(Block::<SIZE>::PLACES) };
    let mut word = [V::default(); 4];
    let add_column = |column: u32| {
        // Past the last column there are no entries, and any element will do.
        let element = element(first_column.wrapping_add(column).min(last_column));
        unrolled(Block::<SIZE>::ROWS, |row| {
            let place = column * Block::<SIZE>::ROWS + row;
            if place.is_multiple_of(word_length) {
                let at = start + u64::from(place / word_length) * u64::from(distance);
                word = load_word::<V, SHARED>(values.stored, at, word_length);
            }
            let stored = word[(place % word_length) as usize];
            let sum = &mut sums[row as usize];
            *sum = if stored.is_mark() { *sum } else { values.widen(stored).mul_add(element, *sum) };
        });
    };
    if const { size_of::<T>() as u32 * Block::<SIZE>::PLACES > MOST_AHEAD } {
        (0..Block::<SIZE>::COLUMNS).for_each(add_column);
    } else {
        unrolled(Block::<SIZE>::COLUMNS, add_column);
    }
    sums
}

/// Bytes of the largest block whose values are all loaded before the first is used: there are no registers for more, and
/// of a larger one a column is loaded at a time.
const MOST_AHEAD: u32 = 700;

/// Calls `work` with 0, 1 and so on, `count` times, at most [`LARGEST_SIDE`], without a loop: arrays that are
/// indexed by the number then stay in registers.
#[inline(always)]
pub(crate) fn unrolled(count: u32, mut work: impl FnMut(u32)) {
    macro_rules! each {
        ($($number:literal)*) => {
            $(if $number < count {
                work($number);
            })*
        };
    }
    each!(0 1 2 3 4 5 6 7);
}

/// The `length` values from `at` on, and others that mean nothing. Single values go by way of the caches where neighbouring words share
/// their sectors.
///
/// # Safety
/// The values exist, and `at` is a multiple of `length`.
#[inline(always)]
unsafe fn load_word<V: cuda_std::Scalar + Default, const SHARED: bool>(
    values: Global<V>,
    at: u64,
    length: u32,
) -> [V; 4] {
    match length {
        4 => values.load_streaming_4(at),
        2 => {
            let [a, b] = values.load_streaming_2(at);
            [a, b, V::default(), V::default()]
        }
        _ if SHARED => [values.load(at), V::default(), V::default(), V::default()],
        _ => [values.load_streaming(at), V::default(), V::default(), V::default()],
    }
}
