//! The values of products by kernels, on a GPU or its emulator.
//!
//! Rows of C that lanes of a warp can share have a hash table in shared memory, and a sum per slot. Each longer row has a
//! block and a bit per column of C in global memory instead, as the longest rows have when they are counted.

use cuda_std::Global;
use cuda_std::launch::Grid;
use gpu_kernels::Offset;
use gpu_kernels::sparse_product::long_values::{ProductLongValues, shared_bytes};
use gpu_kernels::sparse_product::values::ProductValues;

use super::by_kernels::{grid_with_words, lanes_of_rows};
use super::classes::{Tables, limit};
use super::not_in_pattern;
use super::order::{Order, by_length};
use crate::convert::primitives::{Array, launch, one_number, queue_columns_ascend, row_lengths};
use crate::convert::wide::wide;
use crate::device::Device;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::{Csr, Offsets};
use crate::memory::{Buffer, Element};
use crate::real::Scalar;

/// Maximum number of threads that share one of the longest rows: with their 72 registers, a multiprocessor has room for two
/// blocks.
const THREADS_OF_LONG_ROWS: u32 = 448;

/// Computes the values of a product with a known pattern, whose rows have the given `order`; without it, the rows are first
/// sorted.
///
/// # Errors
/// When there is a product where the pattern has no entry, memory runs out, or the device fails; the values are then
/// unspecified.
pub(super) fn compute<T: Scalar, K: KernelExecutor>(
    executor: &K,
    left: &Csr<T, K::Memory>,
    right: &Csr<T, K::Memory>,
    product: &mut Csr<T, K::Memory>,
    order: Option<&Order<K::Memory>>,
) -> Result<(), Error> {
    let made;
    let order = match order {
        Some(order) => order,
        None => {
            made = by_length(executor, &row_lengths(executor, product, 0)?)?;
            &made
        }
    };
    let values = ValuesOf { left, right, repeats: queue_columns_ascend(executor, right, 1)? };
    let Csr { row_offsets, column_indices, values: sums, .. } = product;
    let columns = column_indices.global();
    match (left.row_offsets(), right.row_offsets(), &*row_offsets) {
        (Offsets::Narrow(left), Offsets::Narrow(right), Offsets::Narrow(own)) => {
            values.add_up(executor, order, [left, right, own].map(Buffer::global), columns, sums)
        }
        (left, right, own) => {
            let [left, right, own] = [wide(executor, left)?, wide(executor, right)?, wide(executor, own)?];
            values.add_up(executor, order, [&left, &right, &own].map(|offsets| offsets.global()), columns, sums)
        }
    }
}

/// The inputs for computing values.
struct ValuesOf<'a, T: Scalar, K: KernelExecutor> {
    left: &'a Csr<T, K::Memory>,
    right: &'a Csr<T, K::Memory>,
    /// One number: 0 if no row of the right matrix has duplicate columns.
    repeats: Array<K, u32>,
}

impl<T: Scalar, K: KernelExecutor> ValuesOf<'_, T, K> {
    fn add_up<O: Offset + Element>(
        &self,
        executor: &K,
        order: &Order<K::Memory>,
        [left_offsets, right_offsets, offsets]: [Global<O>; 3],
        columns: Global<u32>,
        values: &mut Array<K, T>,
    ) -> Result<(), Error> {
        let Self { left, right, ref repeats } = *self;
        let device = executor.device();
        let tables = Tables {
            slot_bytes: (size_of::<u32>() + size_of::<T>()) as u32,
            least_lanes: lanes_of_rows(right),
            slots_of_warp: 1024,
            of_blocks: false,
        };
        let last = tables.last_class(device);
        let mut outside = executor.zeros(1)?;
        order.for_each(last, |number, count, rows| {
            if number > last {
                let threads_per_block = threads_of_long_rows(device);
                let words = (right.columns() as u32).div_ceil(u32::BITS);
                let grid = grid_with_words(count, 8 * u64::from(words), threads_per_block, device);
                let all_words = grid.blocks as usize * words as usize;
                let (mut bits, mut before) = (executor.zeros(all_words)?, executor.unwritten(all_words)?);
                let kernel = ProductLongValues {
                    count,
                    words,
                    repeats: repeats.global(),
                    rows,
                    left_offsets,
                    left_columns: left.column_indices().global(),
                    left_values: left.values().global(),
                    right_offsets,
                    right_columns: right.column_indices().global(),
                    right_values: right.values().global(),
                    offsets,
                    columns,
                    bits: bits.global_mut(),
                    before: before.global_mut(),
                    values: values.global_mut(),
                    outside: outside.global_mut(),
                };
                let grid = Grid { shared_bytes: shared_bytes(threads_per_block), ..grid };
                // SAFETY: as for the other; none of the rows is empty, and each block has zeros for all columns, as many
                // words again, and the shared memory.
                return unsafe { launch(executor, grid, kernel) };
            }
            let class = tables.class(number, device);
            let kernel = ProductValues {
                count,
                lanes: class.lanes,
                slots: class.slots,
                repeats: repeats.global(),
                rows,
                left_offsets,
                left_columns: left.column_indices().global(),
                left_values: left.values().global(),
                right_offsets,
                right_columns: right.column_indices().global(),
                right_values: right.values().global(),
                offsets,
                columns,
                values: values.global_mut(),
                outside: outside.global_mut(),
            };
            // SAFETY: the three matrices are valid, and the caller has compared their shapes; the product's rows were
            // written in ascending order, and those of a class have at most three quarters as many entries as there are
            // slots; `repeats` was determined before; lanes of a warp share a row, and the grid has the shared memory.
            unsafe { launch(executor, class.grid(count, device), kernel) }
        })?;
        if one_number(executor, &outside)? == 0 { Ok(()) } else { Err(not_in_pattern()) }
    }
}

/// The largest number of threads per block for which shared memory suffices for a long row, at least one warp.
pub(super) fn threads_of_long_rows(device: &Device) -> u32 {
    let fits = |&threads: &u32| shared_bytes(threads) <= limit(device);
    (32..=THREADS_OF_LONG_ROWS).step_by(32).take_while(fits).last().unwrap_or(32)
}
