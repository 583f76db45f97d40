//! Products by kernels, on a GPU or its emulator.
//!
//! Rows of C are classified by their number of products, or by the number of columns of B if that is smaller. Each row in
//! progress has a hash table in shared memory, whose number of slots is a power of two given by the class. Rows that fit
//! into no table, and the longer ones if B does not have too many columns, use a bit per column of B in global memory
//! instead, in blocks that take at most [`MOST_BIT_BYTES`] together. Entries are first counted this way; then rows are
//! classified by their own lengths, and written. Only the number of entries and the numbers of rows per class are copied to
//! the host.

use cuda_std::Global;
use cuda_std::launch::Grid;
use gpu_kernels::Offset;
use gpu_kernels::sparse_product::classes::ProductClasses;
use gpu_kernels::sparse_product::long_rows::{ProductLongColumns, ProductLongLengths};
use gpu_kernels::sparse_product::pattern::{ProductColumns, ProductLengths};

use super::classes::{MOST_THREADS, Tables};
use super::order::{Order, by_class, by_length};
use super::values_by_kernels::{compute, threads_of_long_rows};
use crate::convert::primitives::{Array, Scan, launch};
use crate::convert::wide::wide;
use crate::device::{Device, with_shared_for_each_warp};
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::{Csr, Offsets};
use crate::memory::{Buffer, Element, Memory};
use crate::real::Scalar;

/// Number of columns of C up to which a block takes a row by bits even if a table would hold it: it scans the bits of all
/// columns, which is faster than sorting until there are many columns.
const MOST_COLUMNS_OF_BITS: u32 = 1 << 19;

/// The class from which on rows are so long that each is given a block of the maximum size.
const HUGE_CLASS: u32 = 16;

/// Maximum number of bytes for the bits of all blocks: as many as one block needs for the columns of the largest
/// matrix.
const MOST_BIT_BYTES: u64 = 256 << 20;

/// A matrix, and its rows by class.
type InClasses<T, M> = (Csr<T, M>, Order<M>);

/// C = A B, and its rows by class.
///
/// # Errors
/// When memory runs out, or the device fails.
pub(super) fn multiply<T: Scalar, K: KernelExecutor>(
    executor: &K,
    left: &Csr<T, K::Memory>,
    right: &Csr<T, K::Memory>,
) -> Result<InClasses<T, K::Memory>, Error> {
    let (row_offsets, column_indices, order) = pattern(executor, left, right)?;
    let values = executor.unwritten(column_indices.len())?;
    let mut product = Csr::from_valid(left.rows(), right.columns(), row_offsets, column_indices, values);
    compute(executor, left, right, &mut product, Some(&order))?;
    Ok((product, order))
}

/// Lanes that share a row of the matrix: about its average number of entries, at least 4.
pub(super) fn lanes_of_rows<T: Scalar, M: Memory>(matrix: &Csr<T, M>) -> u32 {
    let mean = matrix.nnz().div_ceil(matrix.rows().max(1));
    mean.next_power_of_two().clamp(4, 32) as u32
}

/// The row offsets of a product, its columns, and its rows by class.
type Pattern<M> = (Offsets<M>, <M as Memory>::Buffer<u32>, Order<M>);

/// The pattern of the product, with the columns of each row in ascending order.
fn pattern<T: Scalar, K: KernelExecutor>(
    executor: &K,
    left: &Csr<T, K::Memory>,
    right: &Csr<T, K::Memory>,
) -> Result<Pattern<K::Memory>, Error> {
    let lengths = match (left.row_offsets(), right.row_offsets()) {
        (Offsets::Narrow(of_left), Offsets::Narrow(of_right)) => {
            Sides::new(executor, left, right, of_left.global(), of_right.global()).lengths()
        }
        (of_left, of_right) => {
            let (of_left, of_right) = (wide(executor, of_left)?, wide(executor, of_right)?);
            Sides::new(executor, left, right, of_left.global(), of_right.global()).lengths()
        }
    }?;
    let scan = Scan::new(executor, &lengths)?;
    let offsets = scan.offsets(1)?;
    let mut columns = executor.unwritten(scan.total() as usize)?;
    drop(scan);
    let order = match (left.row_offsets(), right.row_offsets(), &offsets) {
        (Offsets::Narrow(of_left), Offsets::Narrow(of_right), Offsets::Narrow(own)) => {
            let sides = Sides::new(executor, left, right, of_left.global(), of_right.global());
            sides.columns(&lengths, own.global(), &mut columns)
        }
        (of_left, of_right, own) => {
            let [of_left, of_right, own] = [wide(executor, of_left)?, wide(executor, of_right)?, wide(executor, own)?];
            let sides = Sides::new(executor, left, right, of_left.global(), of_right.global());
            sides.columns(&lengths, own.global(), &mut columns)
        }
    }?;
    Ok((offsets, columns, order))
}

/// The patterns of A and B.
struct Sides<'a, K: KernelExecutor, O> {
    executor: &'a K,
    rows: u32,
    /// Columns of B.
    columns: u32,
    left_offsets: Global<O>,
    left_columns: Global<u32>,
    right_offsets: Global<O>,
    right_columns: Global<u32>,
    /// Lanes that share a row of A, and of B.
    lanes: [u32; 2],
}

impl<'a, K: KernelExecutor, O: Offset + Element> Sides<'a, K, O> {
    /// Both sides of a product. The offsets must be those of the matrices.
    fn new<T: Scalar>(
        executor: &'a K,
        left: &Csr<T, K::Memory>,
        right: &Csr<T, K::Memory>,
        left_offsets: Global<O>,
        right_offsets: Global<O>,
    ) -> Self {
        Self {
            executor,
            rows: left.rows() as u32,
            columns: right.columns() as u32,
            left_offsets,
            left_columns: left.column_indices().global(),
            right_offsets,
            right_columns: right.column_indices().global(),
            lanes: [lanes_of_rows(left), lanes_of_rows(right)],
        }
    }

    /// The number of distinct columns of each row of the product.
    fn lengths(&self) -> Result<Array<K, u32>, Error> {
        let (executor, rows) = (self.executor, self.rows);
        let mut lengths = executor.zeros(rows as usize)?;
        let mut classes = executor.unwritten(rows as usize)?;
        let kernel = ProductClasses {
            rows,
            columns: self.columns,
            lanes: self.lanes[0],
            left_offsets: self.left_offsets,
            left_columns: self.left_columns,
            right_offsets: self.right_offsets,
            classes: classes.global_mut(),
        };
        let grid = executor.device().uneven_grid(u64::from(rows) * u64::from(self.lanes[0]));
        // SAFETY: the matrices are valid and their shapes match, and there is a class for each row.
        unsafe { launch(executor, grid, kernel) }?;
        let Sides { left_offsets, left_columns, right_offsets, right_columns, .. } = *self;
        let tables = self.tables();
        let last = tables.last_class(executor.device());
        by_class(executor, classes)?.for_each(last.max(HUGE_CLASS - 1), |number, count, rows| {
            if number > last {
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
                    lengths: lengths.global_mut(),
                };
                // SAFETY: as for the others; each block has zeros for all columns, and the shared memory.
                return unsafe { launch(executor, grid, kernel) };
            }
            let class = tables.class(number, executor.device());
            let grid = class.grid(count, executor.device());
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
                lengths: lengths.global_mut(),
            };
            // SAFETY: the matrices are valid and their shapes match; no row of the class has more products, or the right
            // matrix more columns, than there are slots; the grid has the shared memory.
            unsafe { launch(executor, grid, kernel) }
        })?;
        Ok(lengths)
    }

    /// Writes the columns of each row, given the rows' lengths.
    fn columns(
        &self,
        lengths: &Array<K, u32>,
        offsets: Global<O>,
        columns: &mut Array<K, u32>,
    ) -> Result<Order<K::Memory>, Error> {
        let executor = self.executor;
        let Sides { left_offsets, left_columns, right_offsets, right_columns, .. } = *self;
        let tables = self.tables();
        let last = tables.last_class(executor.device());
        let order = by_length(executor, lengths)?;
        order.for_each(last.max(HUGE_CLASS - 1), |number, count, rows| {
            if number > last {
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
                    columns: columns.global_mut(),
                };
                // SAFETY: as for the others; each block has zeros for all columns, and the shared memory.
                return unsafe { launch(executor, grid, kernel) };
            }
            let class = tables.class(number, executor.device());
            let grid = class.grid(count, executor.device());
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
                columns: columns.global_mut(),
            };
            // SAFETY: the matrices are valid and their shapes match, no row of the class has more columns than there are
            // slots, and the offsets are the sums of the rows' lengths; the grid has the shared memory.
            unsafe { launch(executor, grid, kernel) }
        })?;
        Ok(order)
    }

    /// The tables for patterns: a column per slot.
    fn tables(&self) -> Tables {
        Tables { slot_bytes: 4, least_lanes: 4, slots_of_warp: 1024, of_blocks: self.columns > MOST_COLUMNS_OF_BITS }
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

/// Maximum number of bytes of device memory that [`multiply`] needs besides the matrices.
pub(super) fn workspace_bytes(device: &Device, left_rows: usize, right_rows: usize, columns: usize) -> u64 {
    let [left_rows, right_rows] = [left_rows as u64, right_rows as u64];
    let sorting = 20 * left_rows;
    let words = (columns as u64).div_ceil(u32::BITS.into());
    let of_blocks = |bytes, threads| {
        let grid = grid_with_words(u32::MAX, bytes, threads, device);
        u64::from(grid.blocks) * bytes
    };
    let bits =
        of_blocks(4 * words, device.tuning.threads_per_block()).max(of_blocks(8 * words, threads_of_long_rows(device)));
    // Offsets of the rows of A twice, of those of B, and intermediate lengths.
    let wide = 16 * (left_rows + 1) + 8 * (right_rows + 1) + 4 * left_rows.max(right_rows);
    // Counts of sorting, and sums of scans.
    let of_device = 16 * device.resident_threads() + (1 << 10);
    sorting.max(8 * left_rows + bits) + wide + of_device
}

/// The grid of blocks that take one row at a time, with `bytes` bytes of global memory each.
pub(super) fn grid_with_words(rows: u32, bytes: u64, threads_per_block: u32, device: &Device) -> Grid {
    let resident = device.resident_threads().div_ceil(threads_per_block.into());
    let most = (MOST_BIT_BYTES / bytes.max(1)).min(resident).clamp(1, rows.into());
    Grid { blocks: most as u32, threads_per_block, shared_bytes: 0 }
}
