//! A sample of the rows of a product, which tells how many columns rows of a class have.

use cuda_std::thread::{block_dim_x, index_1d, thread_idx_x};
use cuda_std::{Global, GlobalMut, kernel};

use crate::scan::largest_of_block;

/// Copies every `step`th of some rows.
///
/// # Safety
/// `sample` has `count` elements, and `rows` has a row for each of them.
#[kernel]
pub unsafe fn product_sample(
    /// Number of rows to copy.
    count: u32,
    /// Distance between them.
    step: u32,
    /// The rows.
    rows: Global<u32>,
    /// Every `step`th.
    sample: GlobalMut<u32>,
) {
    let number = index_1d();
    if number < count {
        sample.store(number, rows.load(number * step));
    }
}

/// Finds the largest length of some rows.
///
/// # Safety
/// `rows` are `count` rows for which `lengths` has elements; there is one block, made of whole warps, with 4 bytes of shared
/// memory per warp; `longest` has an element.
#[kernel]
pub unsafe fn product_longest(
    /// Number of rows.
    count: u32,
    /// The rows.
    rows: Global<u32>,
    /// The length of each row.
    lengths: Global<u32>,
    /// The largest.
    longest: GlobalMut<u32>,
) {
    let mut most = 0;
    let mut number = thread_idx_x();
    while number < count {
        most = lengths.load(rows.load(number)).max(most);
        number += block_dim_x();
    }
    let most = largest_of_block(most);
    if thread_idx_x() == 0 {
        longest.store(0u32, most);
    }
}
