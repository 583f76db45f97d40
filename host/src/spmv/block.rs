//! The product of dense blocks with x on the CPU, for groups of blocks whose words are interleaved.

use gpu_kernels::block::word_length;

use crate::real::Scalar;

/// Maximum number of blocks in a group.
pub(crate) const GROUP: usize = 32;

/// The sums of a group: for each row of a block, those of all blocks.
pub(crate) type GroupSums<T, const R: usize> = [[T; GROUP]; R];

/// Number of values in a word of these blocks.
pub(crate) const fn values_per_word<T, const R: usize, const C: usize>() -> usize {
    word_length::<T>((R * C) as u32) as usize
}

/// Adds to `sums` the products of blocks with x. `words` has, for each word of a block, that word of all blocks. Blocks
/// are independent, so the compiler can process several at a time.
#[inline]
pub(crate) fn add_group<'a, T: Scalar, const R: usize, const C: usize>(
    sums: &mut GroupSums<T, R>,
    first_columns: &[u32],
    words: impl Iterator<Item = &'a [T]>,
    x: &[T],
) {
    let word_length = const { values_per_word::<T, R, C>() };
    let mut elements = [[T::ZERO; GROUP]; C];
    for (block, &first_column) in first_columns.iter().enumerate().take(GROUP) {
        // Zeros stand for elements outside the matrix, where there are no entries.
        let inside = x.get(first_column as usize..).unwrap_or_default();
        match inside.first_chunk::<C>() {
            Some(inside) => (0..C).for_each(|column| elements[column][block] = inside[column]),
            None => inside.iter().enumerate().for_each(|(column, &element)| elements[column][block] = element),
        }
    }
    for (number, words) in words.enumerate() {
        for place_in_word in 0..word_length {
            let place = number * word_length + place_in_word;
            let (sums, elements) = (&mut sums[place % R], &elements[place / R]);
            match word_length {
                1 => add_place::<T, 1>(sums, words, place_in_word, elements),
                2 => add_place::<T, 2>(sums, words, place_in_word, elements),
                _ => add_place::<T, 4>(sums, words, place_in_word, elements),
            }
        }
    }
}

/// Adds to the sums of a row of the blocks the products of one slot of each, whose words have `LENGTH` values.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "iterators side by side are inlined only where the linker optimises")]
fn add_place<T: Scalar, const LENGTH: usize>(
    sums: &mut [T; GROUP],
    words: &[T],
    place_in_word: usize,
    elements: &[T; GROUP],
) {
    // Lets several blocks be processed at a time: all slices have the same length, and the operands of the sum are read
    // unconditionally.
    let blocks = (words.len() / LENGTH).min(GROUP);
    let (sums, elements, words) = (&mut sums[..blocks], &elements[..blocks], &words.as_chunks::<LENGTH>().0[..blocks]);
    for block in 0..blocks {
        let (sum, value, element) = (sums[block], words[block][place_in_word], elements[block]);
        sums[block] = if value.is_absent() { sum } else { sum + value * element };
    }
}
