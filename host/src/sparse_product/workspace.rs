//! The memory that products by kernels take besides the matrices.

use gpu_kernels::sparse_product::classes::most_products;

use super::listed::{bytes_of_list, most_bytes_of_rows};
use super::sides::{grid_with_words, threads_of_long_rows};
use crate::device::Device;

/// The largest class of rows that teams of lanes compute before their lengths are known without a sample of these, of at most
/// 224 products or columns of B. In longer rows more products usually have the same column, and a table for their number would
/// be much larger than for their length.
pub(super) const LAST_SMALL_CLASS: u32 = 8;

/// Maximum number of bytes for the rows that are computed before their lengths are known, those whose products are listed
/// among them. Rows that do not fit are counted first, as all are when an allocation fails.
pub(super) const MOST_TEMPORARY_BYTES: u64 = 16 << 30;

/// What is computed before the lengths of rows are known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Maximum number of bytes for such rows.
    pub most_temporary: u64,
    /// The first class of rows whose products are listed, if not that which suits their numbers.
    pub first_listed: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { most_temporary: MOST_TEMPORARY_BYTES, first_listed: None }
    }
}

/// Bytes for the column and the value of an entry.
pub(super) fn bytes_of_entry<T>() -> u64 {
    (size_of::<u32>() + size_of::<T>()) as u64
}

/// Maximum number of bytes of device memory that [`multiply`](super::by_kernels::multiply) needs besides the matrices, with
/// the usual limits.
pub(super) fn workspace_bytes<T>(device: &Device, left_rows: usize, right_rows: usize, columns: usize) -> u64 {
    let [left_rows, right_rows] = [left_rows as u64, right_rows as u64];
    // Lengths, two orders that are kept, and 16 bytes for a third.
    let sorting = 28 * left_rows;
    let words = (columns as u64).div_ceil(u32::BITS.into());
    let of_blocks = |bytes, threads| {
        let grid = grid_with_words(u32::MAX, bytes, threads, device);
        u64::from(grid.blocks) * bytes
    };
    let bits =
        of_blocks(4 * words, device.tuning.threads_per_block()).max(of_blocks(8 * words, threads_of_long_rows(device)));
    let bytes_of_row = u64::from(most_products(LAST_SMALL_CLASS)) * bytes_of_entry::<T>();
    let temporary = left_rows.saturating_mul(bytes_of_row).min(MOST_TEMPORARY_BYTES);
    // Offsets of the rows of A twice, of those of B, and intermediate lengths.
    let wide = 16 * (left_rows + 1) + 8 * (right_rows + 1) + 4 * left_rows.max(right_rows);
    // Counts of sorting, and sums of scans.
    let of_device = 16 * device.resident_threads() + (1 << 10);
    sorting + bits + temporary + bytes_of_list::<T>() + most_bytes_of_rows::<T>() + wide + of_device
}
