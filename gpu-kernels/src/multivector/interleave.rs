//! Conversion of vectors that are stored one after another to interleaved vectors (the first elements of all, then the
//! second ones, and so on) and back. The kernels of the formats read and write whole sectors of several vectors only if
//! these are interleaved.

use core::hint::assert_unchecked;

use cuda_std::shared::{Shared, dynamic};
use cuda_std::thread::{block_dim_x, block_idx_x, grid_dim_x, sync_threads, thread_idx_x};
use cuda_std::warp::WARP_LANES;
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

/// Number of elements of each vector that a block moves at a time.
const ELEMENTS_AT_ONCE: u32 = WARP_LANES;

/// Stride between vectors in shared memory: lanes that read one element of each do not conflict in a bank.
const PITCH: u32 = ELEMENTS_AT_ONCE + 1;

/// Bytes of shared memory that a block needs for `vectors` vectors.
pub const fn shared_bytes<T>(vectors: u32) -> u32 {
    vectors * PITCH * size_of::<T>() as u32
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
    let tile = dynamic::<T>(0);
    in_chunks(elements, |begin, count| {
        each(vectors * ELEMENTS_AT_ONCE, |number| {
            let (vector, element) = (number / ELEMENTS_AT_ONCE, number % ELEMENTS_AT_ONCE);
            if element < count {
                let place = apart(begin + element, first + vector, stride);
                tile.store(vector * PITCH + element, from.load_streaming(place));
            }
        });
        sync_threads();
        side_by_side(tile, vectors, count, |number, value| {
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
    in_chunks(elements, |begin, count| {
        each(vectors * count, |number| {
            let place = u64::from(begin) * u64::from(vectors) + u64::from(number);
            tile.store(number % vectors * PITCH + number / vectors, from.load_streaming(place));
        });
        sync_threads();
        each(vectors * ELEMENTS_AT_ONCE, |number| {
            let (vector, element) = (number / ELEMENTS_AT_ONCE, number % ELEMENTS_AT_ONCE);
            if element < count {
                let value = tile.load(vector * PITCH + element);
                let place = apart(begin + element, first + vector, stride);
                // No multiplication by 1, which turns the parts of an infinite complex number into NaN.
                to.store(place, if beta == T::ZERO { value } else { beta.mul_add(to.load(place), value) });
            }
        });
    });
}

/// Calls `work` with the first element and the length of each of this block's chunks. A barrier after each
/// chunk separates their uses of shared memory.
///
/// # Safety
/// All threads of the block call it.
#[inline(always)]
unsafe fn in_chunks(elements: u32, mut work: impl FnMut(u32, u32)) {
    let mut chunk = block_idx_x();
    while chunk < elements.div_ceil(ELEMENTS_AT_ONCE) {
        let begin = chunk * ELEMENTS_AT_ONCE;
        work(begin, (elements - begin).min(ELEMENTS_AT_ONCE));
        sync_threads();
        chunk += grid_dim_x();
    }
}

/// Passes the elements of a chunk to `write` in interleaved order.
///
/// # Safety
/// The chunk is in shared memory.
#[inline(always)]
unsafe fn side_by_side<T: GpuScalar>(tile: Shared<T>, vectors: u32, count: u32, mut write: impl FnMut(u32, T)) {
    assert_unchecked(vectors > 0);
    each(vectors * count, |number| {
        write(number, tile.load(number % vectors * PITCH + number / vectors));
    });
}

/// Index of an element if vectors are stored one after another.
#[inline(always)]
fn apart(element: u32, vector: u32, stride: u32) -> u64 {
    u64::from(element) + u64::from(vector) * u64::from(stride)
}
