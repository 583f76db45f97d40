//! The two factors of a product, as kernels read them.

use cuda_std::launch::Grid;
use cuda_std::{Global, GlobalMut};
use gpu_kernels::Offset;
use gpu_kernels::sparse_product::long_values::{ProductLongValues, shared_bytes};

use super::classes::{Tables, limit};
use crate::convert::primitives::{Array, launch};
use crate::device::Device;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::Csr;
use crate::memory::{Buffer, Element, Memory};
use crate::real::Scalar;

/// Maximum number of threads that share one of the longest rows: with their 72 registers, a multiprocessor has room for
/// two blocks.
const THREADS_OF_LONG_ROWS: u32 = 448;

/// Maximum number of bytes for the bits of all blocks: as many as one block needs for the columns of the largest
/// matrix.
const MOST_BIT_BYTES: u64 = 256 << 20;

/// Maximum number of slots of a row that lanes of a warp share.
pub(super) const SLOTS_OF_WARP: u32 = 1024;

/// A and B.
pub(super) struct Sides<'a, T, K, O> {
    pub executor: &'a K,
    /// Rows of A.
    pub rows: u32,
    /// Columns of B.
    pub columns: u32,
    pub left_offsets: Global<O>,
    pub left_columns: Global<u32>,
    pub left_values: Global<T>,
    pub right_offsets: Global<O>,
    pub right_columns: Global<u32>,
    pub right_values: Global<T>,
    /// One number: 0 if no row of B has duplicate columns.
    pub repeats: Global<u32>,
    /// Lanes that share a row of A, and of B.
    pub lanes: [u32; 2],
}

impl<'a, T: Scalar, K: KernelExecutor, O: Offset + Element> Sides<'a, T, K, O> {
    /// Both sides of a product, with the matrices' offsets.
    pub fn new(
        executor: &'a K,
        (left, left_offsets): (&Csr<T, K::Memory>, Global<O>),
        (right, right_offsets): (&Csr<T, K::Memory>, Global<O>),
        repeats: &Array<K, u32>,
    ) -> Self {
        Self {
            executor,
            rows: left.rows() as u32,
            columns: right.columns() as u32,
            left_offsets,
            left_columns: left.column_indices().global(),
            left_values: left.values().global(),
            right_offsets,
            right_columns: right.column_indices().global(),
            right_values: right.values().global(),
            repeats: repeats.global(),
            lanes: [lanes_of_rows(left), lanes_of_rows(right)],
        }
    }

    /// The tables of lanes of a warp with this number of bytes per slot.
    pub fn tables_of_warps(&self, slot_bytes: usize) -> Tables {
        let slot_bytes = slot_bytes as u32;
        let (least_lanes, slots_of_warp) = (self.lanes[1], SLOTS_OF_WARP);
        Tables { slot_bytes, least_lanes, slots_of_warp, of_blocks: false, of_blocks_if_few: false }
    }

    /// Computes the values of some non-empty rows of the product, by a bit per column in global memory. Sets `outside`
    /// if the product lacks an entry.
    ///
    /// # Safety
    /// The offsets and columns are those of a valid matrix of the product's shape, of which these `count` rows are
    /// sorted; there is a value for each of its entries, and `outside` has an element.
    pub unsafe fn long_values(
        &self,
        (count, rows): (u32, Global<u32>),
        offsets: Global<O>,
        columns: Global<u32>,
        values: GlobalMut<T>,
        outside: GlobalMut<u32>,
    ) -> Result<(), Error> {
        let (executor, device) = (self.executor, self.executor.device());
        let threads_per_block = threads_of_long_rows(device);
        let words = self.columns.div_ceil(u32::BITS);
        let grid = grid_with_words(count, 8 * u64::from(words), threads_per_block, device);
        let all_words = grid.blocks as usize * words as usize;
        let (mut bits, mut before) = (executor.zeros::<u32>(all_words)?, executor.unwritten::<u32>(all_words)?);
        let kernel = ProductLongValues {
            count,
            words,
            repeats: self.repeats,
            rows,
            left_offsets: self.left_offsets,
            left_columns: self.left_columns,
            left_values: self.left_values,
            right_offsets: self.right_offsets,
            right_columns: self.right_columns,
            right_values: self.right_values,
            offsets,
            columns,
            bits: bits.global_mut(),
            before: before.global_mut(),
            values,
            outside,
        };
        let grid = Grid { shared_bytes: shared_bytes(threads_per_block), ..grid };
        // SAFETY: A and B are valid and their shapes match; the product is the caller's promise. Each block has zeros
        // for all columns, as many words again, and the shared memory.
        unsafe { launch(executor, grid, kernel) }
    }
}

/// Lanes that share a row of the matrix: about its average number of entries, at least 4.
fn lanes_of_rows<T: Scalar, M: Memory>(matrix: &Csr<T, M>) -> u32 {
    let mean = matrix.nnz().div_ceil(matrix.rows().max(1));
    mean.next_power_of_two().clamp(4, 32) as u32
}

/// The largest number of threads per block for which shared memory suffices for a long row, at least one warp.
pub(super) fn threads_of_long_rows(device: &Device) -> u32 {
    let fits = |&threads: &u32| shared_bytes(threads) <= limit(device);
    (32..=THREADS_OF_LONG_ROWS).step_by(32).take_while(fits).last().unwrap_or(32)
}

/// The grid of blocks that take one row at a time, with `bytes` bytes of global memory each.
pub(super) fn grid_with_words(rows: u32, bytes: u64, threads_per_block: u32, device: &Device) -> Grid {
    let resident = device.resident_threads().div_ceil(threads_per_block.into());
    let most = (MOST_BIT_BYTES / bytes.max(1)).min(resident).clamp(1, rows.into());
    Grid { blocks: most as u32, threads_per_block, shared_bytes: 0 }
}
