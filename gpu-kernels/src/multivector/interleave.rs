//! Conversion of vectors that are stored one after another to interleaved vectors (the first elements of all, then the
//! second ones, and so on) and back. The kernels of the formats read and write whole sectors of several vectors only if
//! these are interleaved.

use core::hint::assert_unchecked;

use cuda_std::shared::dynamic;
use cuda_std::thread::{block_dim_x, block_idx_x, grid_dim_x, sync_threads, thread_idx_x};
use cuda_std::warp::WARP_LANES;
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use crate::block::unrolled;

/// Numbers that a block moves at a time, if there are no more than 32 vectors: four for each thread of the usual block.
const NUMBERS_AT_ONCE: u32 = 1024;

/// log2 of the number of elements of each vector that a block moves at a time: at least those that a warp moves.
const fn shift(vectors: u32) -> u32 {
    let elements = match NUMBERS_AT_ONCE.checked_div(vectors) {
        Some(elements) => elements,
        None => WARP_LANES,
    };
    31 - (if elements < WARP_LANES { WARP_LANES } else { elements }).leading_zeros()
}

/// Number of elements of each vector that a block moves at a time.
pub const fn elements_at_once(vectors: u32) -> u32 {
    1 << shift(vectors)
}

/// Stride between vectors in shared memory: lanes that read a few neighbouring elements of each hardly conflict in a
/// bank, and not at all if the number of vectors is a power of two.
const fn pitch(vectors: u32) -> u32 {
    elements_at_once(vectors) + if 1 < vectors && vectors < WARP_LANES { WARP_LANES / vectors } else { 1 }
}

/// Bytes of shared memory that a block needs for `vectors` vectors.
pub const fn shared_bytes<T>(vectors: u32) -> u32 {
    vectors * pitch(vectors) * size_of::<T>() as u32
}

/// Calls `work` with the numbers of this thread, below `count`.
#[inline(always)]
fn each(count: u32, mut work: impl FnMut(u32)) {
    let mut number = thread_idx_x();
    while number < count {
        work(number);
        number += block_dim_x();
    }
}

/// Passes what `load` returns for each number of this thread, below `count`, to `store`: four are loaded before the
/// first is stored, to keep the memory busy.
#[inline(always)]
fn move_each<T: GpuScalar>(count: u32, load: impl Fn(u32) -> T, store: impl Fn(u32, T)) {
    let mut first = thread_idx_x();
    while first < count {
        let numbers = [0, 1, 2, 3].map(|step| first + step * block_dim_x());
        // Past the end, the last number is loaded again, so that no load waits for a comparison.
        let loaded = numbers.map(|number| load(number.min(count - 1)));
        unrolled(4, |step| {
            let number = numbers[step as usize];
            if number < count {
                store(number, loaded[step as usize]);
            }
        });
        first += 4 * block_dim_x();
    }
}

/// to\[e `vectors` + v\] ← from\[e + (`first` + v) `stride`\] for each element e and vector v.
///
/// # Safety
/// There is at least one vector. `from` has the elements of vectors up to `first` + `vectors`, and `to` one for each
/// that is moved; blocks have [`shared_bytes`].
#[kernel(T: scalars)]
pub unsafe fn interleave<T: GpuScalar>(
    /// Elements of a vector.
    elements: u32,
    /// Number of vectors.
    vectors: u32,
    /// The first vector.
    first: u32,
    /// Distance from one vector to the next.
    stride: u32,
    /// The vectors, one after another.
    from: Global<T>,
    /// The vectors, interleaved.
    to: GlobalMut<T>,
) {
    assert_unchecked(vectors > 0);
    let tile = dynamic::<T>(0);
    let (shift, pitch) = (shift(vectors), pitch(vectors));
    in_chunks(elements, shift, |begin, count| {
        let split = |number: u32| (number >> shift, number & ((1 << shift) - 1));
        let load = |number: u32| {
            let (vector, element) = split(number);
            // The last chunk repeats the last element.
            from.load_streaming(apart(begin + element.min(count - 1), first + vector, stride))
        };
        move_each(vectors << shift, load, |number, value| {
            let (vector, element) = split(number);
            tile.store(vector * pitch + element, value);
        });
        sync_threads();
        each(vectors * count, |number| {
            let value = tile.load(number % vectors * pitch + number / vectors);
            to.store(u64::from(begin) * u64::from(vectors) + u64::from(number), value);
        });
    });
}

/// to\[e + (`first` + v) `stride`\] ← from\[e `vectors` + v\] + β to\[e + (`first` + v) `stride`\] for each element e and
/// vector v; with β = 0, `to` is overwritten and never read.
///
/// # Safety
/// As for [`interleave`], with the arrays exchanged.
#[kernel(T: scalars)]
pub unsafe fn separate<T: GpuScalar>(
    /// Elements of a vector.
    elements: u32,
    /// Number of vectors.
    vectors: u32,
    /// The first vector.
    first: u32,
    /// Distance from one vector to the next.
    stride: u32,
    /// The vectors, interleaved.
    from: Global<T>,
    /// The factor of the old elements.
    beta: T,
    /// The vectors, one after another.
    to: GlobalMut<T>,
) {
    assert_unchecked(vectors > 0);
    let tile = dynamic::<T>(0);
    let (shift, pitch) = (shift(vectors), pitch(vectors));
    in_chunks(elements, shift, |begin, count| {
        let load = |number: u32| from.load_streaming(u64::from(begin) * u64::from(vectors) + u64::from(number));
        move_each(vectors * count, load, |number, value| {
            tile.store(number % vectors * pitch + number / vectors, value);
        });
        sync_threads();
        each(vectors << shift, |number| {
            let (vector, element) = (number >> shift, number & ((1 << shift) - 1));
            if element < count {
                let value = tile.load(vector * pitch + element);
                let place = apart(begin + element, first + vector, stride);
                // No multiplication by 1, which turns the parts of an infinite complex number into NaN.
                to.store(place, if beta == T::ZERO { value } else { beta.mul_add(to.load(place), value) });
            }
        });
    });
}

/// Calls `work` with the first element and the length of each of this block's chunks of 2^`shift` elements. A barrier
/// after each chunk separates their uses of shared memory.
///
/// # Safety
/// All threads of the block call it.
#[inline(always)]
unsafe fn in_chunks(elements: u32, shift: u32, mut work: impl FnMut(u32, u32)) {
    let chunks = (elements >> shift) + u32::from(elements & ((1 << shift) - 1) != 0);
    let mut chunk = block_idx_x();
    while chunk < chunks {
        let begin = chunk << shift;
        work(begin, (elements - begin).min(1 << shift));
        sync_threads();
        chunk += grid_dim_x();
    }
}

/// Index of an element if vectors are stored one after another.
#[inline(always)]
fn apart(element: u32, vector: u32, stride: u32) -> u64 {
    u64::from(element) + u64::from(vector) * u64::from(stride)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_moves_whole_warps_of_elements_within_the_default_shared_memory() {
        for vectors in 1..=32 {
            let elements = elements_at_once(vectors);
            assert!(elements.is_multiple_of(WARP_LANES) && vectors * elements <= NUMBERS_AT_ONCE, "{vectors}");
            assert!(shared_bytes::<cuda_std::Complex<f64>>(vectors) <= 48 << 10, "{vectors}");
        }
        assert_eq!([1, 2, 4, 8, 9, 16, 31, 32].map(elements_at_once), [1024, 512, 256, 128, 64, 64, 32, 32]);
    }
}
