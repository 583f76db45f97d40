//! Requests for what a block will need, before it knows the exact places.
//!
//! With cold caches, a block waits for its offsets, then for its entries, then for their elements of x. Blocks go through
//! the arrays of a matrix in order, so a block's share of each array is about what it needs, and if it asks L2 for that
//! first, the three waits overlap.

use cuda_std::thread::{block_idx_x, thread_idx_x};
use cuda_std::{Global, Scalar};

/// Bytes of a line of L2.
const LINE_BYTES: u32 = 128;

/// Requests `length` elements of an array from `begin` on, at most one line for each thread of the block.
///
/// # Safety
/// The array has these elements.
#[inline(always)]
pub(crate) unsafe fn request<T: Scalar>(array: Global<T>, begin: u64, length: u32) {
    // Values that are all the same take no bytes.
    let Some(line) = LINE_BYTES.checked_div(size_of::<T>() as u32) else { return };
    let place = thread_idx_x() * line;
    if place < length {
        array.prefetch(begin + u64::from(place));
    }
}

/// Requests the block's share of an array.
///
/// # Safety
/// The array has `share` elements for each block.
#[inline(always)]
pub(crate) unsafe fn request_share<T: Scalar>(array: Global<T>, share: u32) {
    request(array, u64::from(block_idx_x()) * u64::from(share), share);
}
