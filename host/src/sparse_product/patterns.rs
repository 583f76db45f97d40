//! Patterns of rows of a product by kernels, on a GPU or its emulator.

use cuda_std::launch::Grid;
use cuda_std::{Global, GlobalMut};
use gpu_kernels::Offset;
use gpu_kernels::sparse_product::long_rows::{ProductLongColumns, ProductLongLengths};
use gpu_kernels::sparse_product::pattern::{ProductColumns, ProductLengths};

use super::classes::{MOST_THREADS, Tables};
use super::sides::{SLOTS_OF_WARP, Sides, grid_with_words};
use crate::convert::primitives::{Array, launch};
use crate::device::with_shared_for_each_warp;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::memory::{Buffer, Element};
use crate::real::Scalar;

/// Number of columns of C up to which a block takes a row by bits even if a table would hold it: it scans the bits of
/// all columns, which is faster than sorting until there are many columns.
const MOST_COLUMNS_OF_BITS: u32 = 1 << 19;

/// The class from which on rows are so long that each is given a block of the maximum size.
pub(super) const HUGE_CLASS: u32 = 16;

impl<T: Scalar, K: KernelExecutor, O: Offset + Element> Sides<'_, T, K, O> {
    /// Counts the different columns of rows of a class, by number of products.
    ///
    /// # Safety
    /// These are `count` rows of A, none of which has more products, or B more columns, than the class allows; there is a
    /// length for each row of A.
    pub unsafe fn count(
        &self,
        number: u32,
        (count, rows): (u32, Global<u32>),
        lengths: GlobalMut<u32>,
    ) -> Result<(), Error> {
        let (executor, device) = (self.executor, self.executor.device());
        let Sides { left_offsets, left_columns, right_offsets, right_columns, .. } = *self;
        let tables = self.tables_of_patterns();
        if number > tables.last_class(device) {
            let (mut bits, words, grid) = self.bits(number, count)?;
            let kernel = ProductLongLengths {
                count,
                together: self.lanes[1],
                words,
                rows,
                left_offsets,
                left_columns,
                right_offsets,
                right_columns,
                bits: bits.global_mut(),
                lengths,
            };
            // SAFETY: as for the other; each block has zeros for all columns, and the shared memory.
            return unsafe { launch(executor, grid, kernel) };
        }
        let class = tables.class(number, count, device);
        let kernel = ProductLengths {
            count,
            lanes: class.lanes,
            together: self.lanes[1].min(class.lanes),
            slots: class.slots,
            rows,
            left_offsets,
            left_columns,
            right_offsets,
            right_columns,
            lengths,
        };
        // SAFETY: the matrices are valid and their shapes match; no row of the class has more products, or the right
        // matrix more columns, than there are slots; the grid has the shared memory.
        unsafe { launch(executor, class.grid(count, device), kernel) }
    }

    /// Writes the columns of rows of a class, by length.
    ///
    /// # Safety
    /// These are `count` rows of A, with at most as many columns as the class allows; the offsets are the sums of the rows'
    /// lengths, and `columns` has an element for each entry.
    pub unsafe fn write_columns(
        &self,
        number: u32,
        (count, rows): (u32, Global<u32>),
        offsets: Global<O>,
        columns: GlobalMut<u32>,
    ) -> Result<(), Error> {
        let (executor, device) = (self.executor, self.executor.device());
        let Sides { left_offsets, left_columns, right_offsets, right_columns, .. } = *self;
        let tables = self.tables_of_patterns();
        if number > tables.last_class(device) {
            let (mut bits, words, grid) = self.bits(number, count)?;
            let kernel = ProductLongColumns {
                count,
                together: self.lanes[1],
                words,
                rows,
                left_offsets,
                left_columns,
                right_offsets,
                right_columns,
                bits: bits.global_mut(),
                offsets,
                columns,
            };
            // SAFETY: as for the other; each block has zeros for all columns, and the shared memory.
            return unsafe { launch(executor, grid, kernel) };
        }
        let class = tables.class(number, count, device);
        let kernel = ProductColumns {
            count,
            lanes: class.lanes,
            together: self.lanes[1].min(class.lanes),
            slots: class.slots,
            rows,
            left_offsets,
            left_columns,
            right_offsets,
            right_columns,
            offsets,
            columns,
        };
        // SAFETY: the matrices are valid and their shapes match, no row of the class has more columns than there are
        // slots, and the offsets are the sums of the rows' lengths; the grid has the shared memory.
        unsafe { launch(executor, class.grid(count, device), kernel) }
    }

    /// The tables for patterns: a column per slot.
    pub fn tables_of_patterns(&self) -> Tables {
        let of_blocks = self.columns > MOST_COLUMNS_OF_BITS;
        Tables { slot_bytes: 4, least_lanes: 4, slots_of_warp: SLOTS_OF_WARP, of_blocks, of_blocks_if_few: true }
    }

    /// Zeros for the bits of `rows` rows of a class, the number of words per block, and the grid for these blocks.
    fn bits(&self, class: u32, rows: u32) -> Result<(Array<K, u32>, u32, Grid), Error> {
        let device = self.executor.device();
        let usual = device.tuning.threads_per_block();
        let threads = if class < HUGE_CLASS { usual } else { MOST_THREADS / usual * usual };
        let words = self.columns.div_ceil(u32::BITS);
        let grid = grid_with_words(rows, 4 * u64::from(words), threads, device);
        let bits = self.executor.zeros(grid.blocks as usize * words as usize)?;
        Ok((bits, words, with_shared_for_each_warp(grid, 8)))
    }
}
