//! New values of products by kernels, on a GPU or its emulator.
//!
//! The columns of rows of C that lanes of a warp can share are in shared memory, with a sum for each: those of short rows
//! in ascending order, those of longer ones in a hash table. Each row that is too long for that has a block and a bit per
//! column of C in global memory instead, as the longest rows have when they are counted.

use cuda_std::{Global, GlobalMut};
use gpu_kernels::Offset;
use gpu_kernels::sparse_product::short_values::ProductShortValues;
use gpu_kernels::sparse_product::values::ProductValues;

use super::not_in_pattern;
use super::order::{Order, by_length};
use super::sides::Sides;
use crate::convert::primitives::{launch, one_number, queue_columns_ascend, row_lengths};
use crate::convert::radix::count_up;
use crate::convert::wide::wide;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::{Csr, Offsets};
use crate::memory::{Buffer, Element};
use crate::real::Scalar;

/// The largest class of rows whose columns are searched, of at most 96 entries. That is up to three times as fast as a hash
/// table if rows of B are short; with 21 entries each, it takes 1.7 times as long.
const LAST_SHORT_CLASS: u32 = 7;

/// Computes the values of a product with a known pattern. Sorts its rows into `order` unless they are.
///
/// # Errors
/// When there is a product where the pattern has no entry, memory runs out, or the device fails; the values are then
/// unspecified.
pub(super) fn compute<T: Scalar, K: KernelExecutor>(
    executor: &K,
    left: &Csr<T, K::Memory>,
    right: &Csr<T, K::Memory>,
    product: &mut Csr<T, K::Memory>,
    order: &mut Option<Order<K::Memory>>,
) -> Result<(), Error> {
    let known = match order.take() {
        Some(order) => order,
        None => {
            let lengths = row_lengths(executor, product, 0)?;
            by_length(executor, count_up(executor, lengths.len())?, lengths.len(), &lengths)?
        }
    };
    let order = order.insert(known);
    let repeats = queue_columns_ascend(executor, right, 1)?;
    let Csr { row_offsets, column_indices, values, .. } = product;
    let (columns, values) = (column_indices.global(), values.global_mut());
    match (left.row_offsets(), right.row_offsets(), &*row_offsets) {
        (Offsets::Narrow(of_left), Offsets::Narrow(of_right), Offsets::Narrow(own)) => {
            let sides = Sides::new(executor, (left, of_left.global()), (right, of_right.global()), &repeats);
            sides.add_up(order, own.global(), columns, values)
        }
        (of_left, of_right, own) => {
            let [of_left, of_right, own] = [wide(executor, of_left)?, wide(executor, of_right)?, wide(executor, own)?];
            let sides = Sides::new(executor, (left, of_left.global()), (right, of_right.global()), &repeats);
            sides.add_up(order, own.global(), columns, values)
        }
    }
}

impl<T: Scalar, K: KernelExecutor, O: Offset + Element> Sides<'_, T, K, O> {
    /// Computes the values of the product with these offsets and columns, whose rows have the given order.
    fn add_up(
        &self,
        order: &Order<K::Memory>,
        offsets: Global<O>,
        columns: Global<u32>,
        values: GlobalMut<T>,
    ) -> Result<(), Error> {
        let (executor, device) = (self.executor, self.executor.device());
        let Sides { left_offsets, left_columns, left_values, right_offsets, right_columns, right_values, .. } = *self;
        let tables = self.tables_of_warps(size_of::<u32>() + size_of::<T>());
        let lists = self.tables_of_warps((size_of::<u32>() + size_of::<T>()) / 4 * 3);
        let last = tables.last_class(device);
        let mut outside = executor.zeros(1)?;
        order.for_each(last, |number, count, rows| {
            let outside = outside.global_mut();
            if number > last {
                // SAFETY: the product is valid, its rows were written in ascending order, and the caller has compared
                // its shape; there is a value for each entry, and these rows are not empty.
                return unsafe { self.long_values((count, rows), offsets, columns, values, outside) };
            }
            if number <= LAST_SHORT_CLASS {
                let class = lists.class(number, device);
                let kernel = ProductShortValues {
                    count,
                    lanes: class.lanes,
                    slots: class.slots,
                    repeats: self.repeats,
                    rows,
                    left_offsets,
                    left_columns,
                    left_values,
                    right_offsets,
                    right_columns,
                    right_values,
                    offsets,
                    columns,
                    values,
                    outside,
                };
                // SAFETY: as for the other; a list takes three quarters of what a table takes.
                return unsafe { launch(executor, class.grid(count, device), kernel) };
            }
            let class = tables.class(number, device);
            let kernel = ProductValues {
                count,
                lanes: class.lanes,
                slots: class.slots,
                repeats: self.repeats,
                rows,
                left_offsets,
                left_columns,
                left_values,
                right_offsets,
                right_columns,
                right_values,
                offsets,
                columns,
                values,
                outside,
            };
            // SAFETY: the three matrices are valid, and the caller has compared their shapes; the product's rows were
            // written in ascending order, and those of a class are not empty and have at most three quarters as many
            // entries as there are slots; `repeats` was determined before; 4 to 32 lanes share a row, and the grid has
            // the shared memory.
            unsafe { launch(executor, class.grid(count, device), kernel) }
        })?;
        if one_number(executor, &outside)? == 0 { Ok(()) } else { Err(not_in_pattern()) }
    }
}
