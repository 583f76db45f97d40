//! New values of products by kernels, on a GPU or its emulator.
//!
//! The columns of rows of C that lanes of a warp can share are in shared memory, with a sum for each: those of short rows
//! in ascending order, those of longer ones in a hash table. Each row that is too long for that has a block and a bit per
//! column of C in global memory instead, as long rows have when they are counted. The products of the longest rows are
//! [listed](super::listed).

use cuda_std::{Global, GlobalMut};
use gpu_kernels::Offset;
use gpu_kernels::sparse_product::short_values::ProductShortValues;
use gpu_kernels::sparse_product::values::ProductValues;

use super::listed::{Batch, first_of};
use super::not_in_pattern;
use super::order::{Order, by_length};
use super::sides::Sides;
use crate::convert::primitives::{launch, lengths_of_rows, one_number, queue_columns_ascend};
use crate::convert::wide::wide;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::{Csr, Offsets};
use crate::memory::{Buffer, Element, Memory};
use crate::real::Scalar;

/// The largest class of rows whose columns are searched, of at most 96 entries. That is up to three times as fast as a hash
/// table if rows of B are short; with 21 entries each, it takes 1.7 times as long.
const LAST_SHORT_CLASS: u32 = 7;

/// The rows of a product in the order in which new values of them are computed.
pub(super) struct Orders<M: Memory> {
    /// The rows whose products are listed, by number of products, and their first class; none if there are no such rows.
    listed: Option<(Order<M>, u32)>,
    /// The other rows, by length.
    others: Order<M>,
}

/// Computes the values of a product with a known pattern. Sorts its rows into `orders` unless they are.
///
/// # Errors
/// When there is a product where the pattern has no entry, memory runs out, or the device fails; the values are then
/// unspecified.
pub(super) fn compute<T: Scalar, K: KernelExecutor>(
    executor: &K,
    left: &Csr<T, K::Memory>,
    right: &Csr<T, K::Memory>,
    product: &mut Csr<T, K::Memory>,
    orders: &mut Option<Orders<K::Memory>>,
) -> Result<(), Error> {
    let repeats = queue_columns_ascend(executor, right, 1)?;
    let Csr { row_offsets, column_indices, values, .. } = product;
    let (columns, values) = (column_indices.global(), values.global_mut());
    match (left.row_offsets(), right.row_offsets(), &*row_offsets) {
        (Offsets::Narrow(of_left), Offsets::Narrow(of_right), Offsets::Narrow(own)) => {
            let sides = Sides::new(executor, (left, of_left.global()), (right, of_right.global()), &repeats);
            sides.compute(orders, own.global(), columns, values)
        }
        (of_left, of_right, own) => {
            let [of_left, of_right, own] = [wide(executor, of_left)?, wide(executor, of_right)?, wide(executor, own)?];
            let sides = Sides::new(executor, (left, of_left.global()), (right, of_right.global()), &repeats);
            sides.compute(orders, own.global(), columns, values)
        }
    }
}

impl<T: Scalar, K: KernelExecutor, O: Offset + Element> Sides<'_, T, K, O> {
    /// Computes the values of the product with these offsets and columns.
    fn compute(
        &self,
        orders: &mut Option<Orders<K::Memory>>,
        offsets: Global<O>,
        columns: Global<u32>,
        values: GlobalMut<T>,
    ) -> Result<(), Error> {
        let executor = self.executor;
        let known = match orders.take() {
            Some(orders) => orders,
            None => self.orders(offsets)?,
        };
        let Orders { listed, others } = orders.insert(known);
        let mut outside = executor.zeros(1)?;
        let flag = outside.global_mut();
        if let Some((order, first)) = listed {
            let not_listed = |begin, count| {
                let order = self.by_length(order, (begin, count), offsets)?;
                self.add_up(&order, offsets, columns, values, flag)
            };
            let mut end = 0;
            for batch in self.batches(order, *first) {
                // The first rows have too many products for a list.
                if batch.begin > end {
                    not_listed(end, batch.begin - end)?;
                }
                let rows = order.rows_after(batch.begin);
                match self.list(batch, rows)? {
                    // SAFETY: the rows were listed; the product is valid, the caller has compared its shape, and there
                    // is a value for each entry.
                    Some(listed) => unsafe { self.place_values(&listed, rows, (offsets, columns), values, flag) }?,
                    None => not_listed(batch.begin, batch.rows)?,
                }
                end = batch.end();
            }
        }
        self.add_up(others, offsets, columns, values, flag)?;
        if one_number(executor, &outside)? == 0 { Ok(()) } else { Err(not_in_pattern()) }
    }

    /// The rows in order.
    fn orders(&self, offsets: Global<O>) -> Result<Orders<K::Memory>, Error> {
        let order = self.by_products()?;
        let first = first_of(&order, self.executor.device());
        let end = self.batches(&order, first).last().map(Batch::end);
        let begin = end.unwrap_or(0);
        let others = self.by_length(&order, (begin, self.rows - begin), offsets)?;
        Ok(Orders { listed: end.map(|_| (order, first)), others })
    }

    /// `count` rows of an order after the first `begin`, in classes by length.
    fn by_length(
        &self,
        order: &Order<K::Memory>,
        (begin, count): (u32, u32),
        offsets: Global<O>,
    ) -> Result<Order<K::Memory>, Error> {
        // SAFETY: the product is valid; the order has as many rows, and there is a length for each.
        unsafe {
            let lengths = lengths_of_rows(self.executor, self.rows, offsets, 0)?;
            by_length(self.executor, (count, order.rows_after(begin)), lengths.global())
        }
    }

    /// Computes the values of some rows of the product, in classes by length. Sets `outside` if it lacks an entry.
    fn add_up(
        &self,
        order: &Order<K::Memory>,
        offsets: Global<O>,
        columns: Global<u32>,
        values: GlobalMut<T>,
        outside: GlobalMut<u32>,
    ) -> Result<(), Error> {
        let (executor, device) = (self.executor, self.executor.device());
        let Sides { left_offsets, left_columns, left_values, right_offsets, right_columns, right_values, .. } = *self;
        let tables = self.tables_of_warps(size_of::<u32>() + size_of::<T>());
        let lists = self.tables_of_warps((size_of::<u32>() + size_of::<T>()) / 4 * 3);
        let last = tables.last_class(device);
        order.for_each(last, |number, count, rows| {
            if number > last {
                // SAFETY: the product is valid, its rows were written in ascending order, and the caller has compared
                // its shape; there is a value for each entry, and these rows are not empty.
                return unsafe { self.long_values((count, rows), offsets, columns, values, outside) };
            }
            if number <= LAST_SHORT_CLASS {
                let class = lists.class(number, count, device);
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
            let class = tables.class(number, count, device);
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
        })
    }
}
