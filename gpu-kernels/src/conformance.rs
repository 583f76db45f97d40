//! Every operation of `cuda_std` in one kernel. It must give the same bits on the emulator and on a GPU: only then are
//! the emulator's results meaningful.

use cuda_std::thread::{block_dim_x, block_idx_x, grid_dim_x, grid_threads, index_1d, sync_threads, thread_idx_x};
use cuda_std::warp::{
    ALL_LANES, lane_id, sync_warp, warp_match_any_32, warp_match_any_64, warp_shuffle_down, warp_shuffle_idx,
    warp_shuffle_up, warp_shuffle_xor, warp_vote_all, warp_vote_any, warp_vote_ballot,
};
use cuda_std::{Global, GlobalMut, GpuFloat, GpuScalar, kernel, shared, square_root};

/// Number of results that [`conformance`] writes per thread.
pub const RESULTS: u32 = 56;

/// Writes [`RESULTS`] numbers per thread: the result of each operation of `cuda_std` on `input`.
///
/// # Safety
/// Blocks are made of whole warps, with 8 bytes of shared memory per thread; `input` has an element for each thread and
/// three more, `singles` four elements for each thread, `sums` and `results` an element, and [`RESULTS`] elements, for
/// each thread, `counts` an element for each block; `sums` and `counts` are initially zero.
#[kernel]
pub unsafe fn conformance(
    /// Any numbers.
    input: Global<u64>,
    /// Any numbers.
    singles: Global<f32>,
    /// Sums over the threads of a warp.
    sums: GlobalMut<f64>,
    /// Sums over the threads of a warp.
    single_sums: GlobalMut<f32>,
    /// Arrival counter of each block.
    counts: GlobalMut<u32>,
    /// The results; those of one thread are `grid_threads()` apart.
    results: GlobalMut<u64>,
) {
    let thread = index_1d();
    let lane = lane_id();
    let value = input.load(thread);
    let word = value as u32;
    let double = word as f64 / 3.0;
    let single = word as f32 / 3.0;
    let mut place = thread;
    let mut put = |result: u64| {
        results.store(place, result);
        place += grid_threads();
    };
    for result in [thread_idx_x(), block_idx_x(), block_dim_x(), grid_dim_x(), lane] {
        put(result.into());
    }
    let mut width = 32;
    while width >= 8 {
        let (a, there) = warp_shuffle_down(ALL_LANES, value, 3, width);
        put(a);
        put(there.into());
        let (a, there) = warp_shuffle_up(ALL_LANES, word, 5, width);
        put(a.into());
        put(there.into());
        let (a, there) = warp_shuffle_xor(ALL_LANES, double, 12, width);
        put(a.to_bits());
        put(there.into());
        let (a, there) = warp_shuffle_idx(ALL_LANES, single, 9, width);
        put(a.to_bits().into());
        put(there.into());
        width /= 2;
    }
    let half = if lane < 16 { 0xffff } else { 0xffff_0000 };
    put(warp_vote_ballot(ALL_LANES, word.is_multiple_of(3)).into());
    put(warp_vote_any(ALL_LANES, word.is_multiple_of(50)).into());
    put(warp_vote_all(ALL_LANES, !word.is_multiple_of(50)).into());
    put(warp_vote_ballot(half, word.is_multiple_of(2)).into());
    put(warp_match_any_32(ALL_LANES, word % 4).into());
    put(warp_match_any_64(ALL_LANES, value % 5).into());
    let exchange = shared::dynamic::<f64>(0);
    exchange.store(thread_idx_x(), double);
    sync_threads();
    put(exchange.load(block_dim_x() - 1 - thread_idx_x()).to_bits());
    sync_threads();
    let words = shared::dynamic::<u32>(0);
    words.store(thread_idx_x(), word);
    sync_warp(ALL_LANES);
    put(words.load(thread_idx_x() ^ 1).into());
    put(GpuScalar::mul_add(double, double, -1.0).to_bits());
    put(GpuScalar::mul_add(single, single, -1.0).to_bits().into());
    put(square_root(double).to_bits());
    put((1.0 / double).to_bits());
    put(f32::narrow(double).to_bits().into());
    put(single.widen().to_bits());
    let [a, b, c, d] = input.load_streaming_4(thread / 4 * 4);
    put(a ^ b.rotate_left(1) ^ c.rotate_left(2) ^ d.rotate_left(3));
    let [a, b] = input.load_streaming_2(thread / 2 * 2);
    put(a ^ b.rotate_left(1));
    put(input.load_streaming(thread + 3));
    let [a, b, c, d] = singles.load_streaming_4(4 * thread);
    put(((a + b) + (c + d)).to_bits().into());
    let [a, b] = singles.load_streaming_2(2 * thread);
    put((a - b).to_bits().into());
    put(singles.load_streaming(thread).to_bits().into());
    // Sums of small whole numbers are the same in any order.
    let warp = thread - lane;
    sums.atomic_add(warp, f64::from(word % 16));
    single_sums.atomic_add(warp, (word % 16) as f32);
    sync_threads();
    put(sums.load(warp).to_bits());
    put(single_sums.load(warp).to_bits().into());
    // Which thread arrives last may differ, so the result is the number of last threads.
    let is_last = counts.arrive(block_idx_x(), block_dim_x());
    words.store(thread_idx_x(), is_last.into());
    sync_threads();
    let mut last = 0;
    let mut other = 0;
    while other < block_dim_x() {
        last += words.load(other);
        other += 1;
    }
    put(last.into());
    put(counts.load(block_idx_x()).into());
    sync_threads();
    words.store(thread_idx_x(), u32::MAX);
    sync_threads();
    // One lane of each warp finds the old value, and the others the new one.
    let of_warp = thread_idx_x() - lane;
    let first = words.compare_and_swap(of_warp, u32::MAX, 7) == u32::MAX;
    put(warp_vote_ballot(ALL_LANES, first).count_ones().into());
    put(words.compare_and_swap(of_warp, 6, 9).into());
    counts.atomic_or(block_idx_x(), 1 << lane);
    sync_threads();
    put(counts.load(block_idx_x()).into());
}
