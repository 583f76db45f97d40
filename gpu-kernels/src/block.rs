//! Dense blocks of a sparse matrix (Choi, Singh & Vuduc 2010, §4.1), shared by BCSR and BELLPACK.
//!
//! The slots of a block are numbered column by column and cut into words of [`word_length`] values, one load each. The
//! words of neighbouring blocks are interleaved (§4.2, §4.4): the first words of all blocks, then the second words, and
//! so on, so that neighbouring threads, with one block each, read neighbouring addresses. Slots without an entry are
//! [marked](Marked).

use cuda_std::{Global, GpuScalar, Stored};

use crate::absent::Marked;
use crate::values::Values;

/// Largest number of rows and columns of a block.
pub const LARGEST_SIDE: usize = 8;

/// A block size as a kernel parameter: rows and columns are the two digits of `SIZE`.
pub struct Block<const SIZE: u32>;

impl<const SIZE: u32> Block<SIZE> {
    /// Rows of a block.
    pub const ROWS: u32 = SIZE / 10;
    /// Columns of a block.
    pub const COLUMNS: u32 = SIZE % 10;
    /// Slots of a block.
    pub const PLACES: u32 = Self::ROWS * Self::COLUMNS;
    /// Number of blocks whose loads are in flight together, to keep the memory busy: the smaller the blocks, the more.
    pub const AT_ONCE: u32 = match Self::PLACES {
        0..=4 => 4,
        5..=9 => 2,
        _ => 1,
    };
}

/// Calls a macro with the given tokens, if any, and the block sizes of the paper (§6.6) as name, rows and columns. This
/// is the only list of them; the compiler checks at the launches that the kernels have an instance for each.
#[macro_export]
macro_rules! block_sizes {
    ($callback:ident $($context:tt)*) => {
        $callback! {
            $($context)* B1x2 1 2, B2x2 2 2, B2x3 2 3, B3x2 3 2, B3x3 3 3, B3x4 3 4, B4x4 4 4, B5x5 5 5, B6x6 6 6, B7x7 7 7,
            B8x8 8 8
        }
    };
}

/// Number of values in one word of a block with `places` slots: the most that one load of up to 16 bytes brings and
/// that divides the block. Every word is then aligned for its load without padding. Values that are stored narrower lie
/// in words of the same length.
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

/// Sums of the rows of a block; those of rows that the block lacks stay 0.
pub(crate) type Sums<T> = [T; LARGEST_SIDE];

/// `sums` plus the product of one block and x, given by column. Nothing outside the matrix is read. With `SHARED`,
/// words of a single value may share sectors with words of other blocks and are loaded through the caches.
///
/// # Safety
/// The words of the block begin at `start` and are `distance` values apart; `element` may be called for columns up to
/// `last_column`, and the block has an entry in no other column. The table has an entry for each code except the mark.
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
        // There are no entries past the last column, so any element will do.
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

/// Size in bytes of the largest block whose values are all loaded before the first is used. Registers do not suffice
/// for more; a larger block is loaded one column at a time.
const MOST_AHEAD: u32 = 700;

/// Calls `work` with 0, 1, … `count` − 1, at most [`LARGEST_SIDE`] times, without a loop: arrays that are indexed by
/// the number then stay in registers.
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

/// The `length` values from `at` on, followed by meaningless ones. Single values are loaded through the caches if
/// neighbouring words share their sectors.
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
