//! Position of a thread in its block and grid, and the block's barrier. Grids have one dimension.

use crate::backend;

/// The thread's number in its block.
#[inline(always)]
pub fn thread_idx_x() -> u32 {
    backend::thread_idx_x()
}

/// The block's number in its grid.
#[inline(always)]
pub fn block_idx_x() -> u32 {
    backend::block_idx_x()
}

/// Number of threads in a block.
#[inline(always)]
pub fn block_dim_x() -> u32 {
    backend::block_dim_x()
}

/// Number of blocks in the grid.
#[inline(always)]
pub fn grid_dim_x() -> u32 {
    backend::grid_dim_x()
}

/// The thread's number in its grid. Grids of 2^32 or more threads are not launched.
#[inline(always)]
pub fn index_1d() -> u32 {
    block_idx_x() * block_dim_x() + thread_idx_x()
}

/// Number of threads in the grid.
#[inline(always)]
pub fn grid_threads() -> u32 {
    grid_dim_x() * block_dim_x()
}

/// A clock in nanoseconds, which may advance in steps of a microsecond.
#[inline(always)]
pub fn nanoseconds() -> u64 {
    backend::nanoseconds()
}

/// Waits until every thread of the block has arrived; all of them then see what any of them wrote to shared and global
/// memory before.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn sync_threads() {
    backend::sync_threads();
}
