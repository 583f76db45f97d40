//! Every operation of `cuda_std` on numbers of two parts in one kernel, as [`conformance`](crate::conformance) does for
//! numbers of one part.

use cuda_std::thread::{block_dim_x, grid_threads, index_1d, sync_threads, thread_idx_x};
use cuda_std::warp::{ALL_LANES, lane_id, warp_shuffle_down, warp_shuffle_idx, warp_shuffle_up, warp_shuffle_xor};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel, shared};

/// Number of results that [`conformance_of_pairs`] writes per thread.
pub const RESULTS: u32 = 20;

/// Writes [`RESULTS`] numbers per thread: the result of each operation on `input`.
///
/// # Safety
/// Blocks are made of whole warps, with shared memory for one number per thread; `input` has four elements for each
/// thread, `sums` one, and `results` [`RESULTS`]; `sums` is initially zero.
#[kernel(T: complexes)]
pub unsafe fn conformance_of_pairs<T: GpuScalar>(
    /// Any numbers.
    input: Global<T>,
    /// Small whole numbers, one per thread: their sums are the same in any order.
    whole: Global<T>,
    /// Sums over the threads of a warp.
    sums: GlobalMut<T>,
    /// The results; those of one thread are `grid_threads()` apart.
    results: GlobalMut<T>,
) {
    let thread = index_1d();
    let value = input.load(thread);
    let mut place = thread;
    let mut put = |result: T| {
        results.store(place, result);
        place += grid_threads();
    };
    put(value);
    put(input.load_streaming(4 * thread + 1));
    let [a, b] = input.load_streaming_2(2 * thread);
    put(a);
    put(b);
    for element in input.load_streaming_4(4 * thread) {
        put(element);
    }
    for element in input.load_streaming_apart(thread, grid_threads().into(), thread % 5, T::ONE) {
        put(element);
    }
    let exchange = shared::dynamic::<T>(0);
    exchange.store(thread_idx_x(), value);
    sync_threads();
    put(exchange.load(block_dim_x() - 1 - thread_idx_x()));
    put(warp_shuffle_down(ALL_LANES, value, 3, 16).0);
    put(warp_shuffle_up(ALL_LANES, value, 5, 32).0);
    put(warp_shuffle_xor(ALL_LANES, value, 12, 32).0);
    put(warp_shuffle_idx(ALL_LANES, value, 9, 16).0);
    put(value.mul_add(a, b.conjugate()));
    let warp = thread - lane_id();
    sums.atomic_add(warp, whole.load(thread));
    sync_threads();
    put(sums.load(warp));
    // A thread can read its own stores.
    put(-results.load(thread));
}
