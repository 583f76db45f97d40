//! Code shared by multiplications on the CPU: dividing rows, wide vectors, prefetching.

use gpu_kernels::absent::Marked;

use crate::parallel;

/// Under Miri, threads must share a matrix that it can multiply in seconds.
const SMALLER: usize = if cfg!(miri) { 1 << 8 } else { 1 };

/// The most work that is not divided at all, in entries: some 40 µs. Waking another thread takes up to that long, but the
/// caller works meanwhile.
pub(crate) const WORK_ALONE: usize = (1 << 16) / SMALLER;

/// The most work that is not divided any further.
pub(crate) const WORK_AT_ONCE: usize = (1 << 16) / SMALLER;

/// Minimum size in bytes of a matrix that does not stay in the caches, so that prefetching is worth its instructions.
pub(crate) const READ_AHEAD_FROM: u128 = 16 << 20;

/// Work on rows, compiled for several kinds of processors, with the same result on all of them.
pub(crate) trait RowsVisitor<T>: Sync {
    /// Whether AVX2 vectors make it faster.
    const USES_AVX2: bool;

    /// Computes these elements of y, the first of which is that of `first_row`. Must always be inlined, so that it is
    /// compiled for AVX2 if the processor has it.
    fn visit<const AVX2: bool>(&self, first_row: usize, y: &mut [T]);
}

/// Visits all rows, `rows_at_once` at a time: in parallel if `work`, in entries, is large enough.
pub(crate) fn share_out<T: Send>(y: &mut [T], rows_at_once: usize, work: usize, visitor: &impl RowsVisitor<T>) {
    let pieces = y.len().div_ceil(rows_at_once);
    if work <= WORK_ALONE || parallel::threads() == 1 {
        y.chunks_mut(rows_at_once).enumerate().for_each(|(piece, y)| visit(visitor, piece * rows_at_once, y));
    } else {
        let at_least = (WORK_AT_ONCE * pieces / work).max(1);
        parallel::chunks_mut(y, rows_at_once, at_least, &|(piece, y)| visit(visitor, piece * rows_at_once, y));
    }
}

/// Visits with the processor's widest vectors up to AVX2. Those of AVX-512 were slower.
fn visit<T, V: RowsVisitor<T>>(visitor: &V, first_row: usize, y: &mut [T]) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn visit_with_avx2<T>(visitor: &impl RowsVisitor<T>, first_row: usize, y: &mut [T]) {
            visitor.visit::<true>(first_row, y);
        }
        if V::USES_AVX2 && std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has these instructions.
            return unsafe { visit_with_avx2(visitor, first_row, y) };
        }
    }
    visitor.visit::<false>(first_row, y);
}

/// Whether this marks a slot without an entry. Vectors are compared bit by bit in one instruction, and no entry has all
/// bits of the mark.
#[inline(always)]
pub(crate) fn is_padding<V: Marked>(value: V) -> bool {
    value.is_all_ones()
}

/// Prefetches the cache line at an address, which may be invalid, into all caches.
#[inline(always)]
pub(crate) fn prefetch<T>(_address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every such processor has the instruction, and it does not fault.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(_address.cast());
    }
}

/// Prefetches into all caches but the first, which has fewer lines in flight at a time.
#[inline(always)]
pub(crate) fn prefetch_to_second_cache<T>(_address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every such processor has the instruction, and it does not fault.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(_address.cast());
    }
}
