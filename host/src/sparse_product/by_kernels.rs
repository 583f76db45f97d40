//! Products by kernels, on a GPU or its emulator.
//!
//! Rows of C are classified by their number of products, or by the number of columns of B if that is smaller and the
//! row is not so long that its products may be listed. Each row in progress has a hash table in shared memory, whose
//! number of slots is a power of two given by the class.
//!
//! Rows of the smallest classes are computed at once, in an array where each has room for the most columns that its
//! class allows, and so are those of the largest classes, whose products are [listed](super::listed). The entries of
//! the others are counted. Then all lengths are known: the former are copied to their places in C, the latter
//! classified by their own lengths and computed there. Rows that fit into no table, and long ones if B does not have
//! too many columns, use a bit per column of B in global memory instead, in blocks that take a limited number of bytes
//! together. Only the number of entries, the numbers of rows per class and the lengths of lists are copied to the host.

use cuda_std::launch::Grid;
use cuda_std::warp::WARP_LANES;
use cuda_std::{Global, GlobalMut};
use gpu_kernels::Offset;
use gpu_kernels::sparse_product::classes::{CLASSES, FIRST_CLASS, ProductClasses, most_products};
use gpu_kernels::sparse_product::long_rows::{ProductLongColumns, ProductLongLengths};
use gpu_kernels::sparse_product::pattern::{ProductColumns, ProductLengths};
use gpu_kernels::sparse_product::rows::{ProductCompact, ProductRows};

use super::classes::{MOST_THREADS, Tables};
use super::listed::{Listed, around, first_listed, first_of, most_bytes_of_rows};
use super::order::{Order, by_class, by_length};
use super::sides::{SLOTS_OF_WARP, Sides, grid_with_words};
use super::workspace::{LAST_SMALL_CLASS, Limits, bytes_of_row};
use crate::convert::primitives::{Array, Scan, launch, queue_columns_ascend};
use crate::convert::radix::{Sorted, count_up};
use crate::convert::wide::wide;
use crate::device::with_shared_for_each_warp;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::{Csr, Offsets};
use crate::memory::{Buffer, Element, with_capacity};
use crate::real::Scalar;

/// Number of columns of C up to which a block takes a row by bits even if a table would hold it: it scans the bits of
/// all columns, which is faster than sorting until there are many columns.
const MOST_COLUMNS_OF_BITS: u32 = 1 << 19;

/// The class from which on rows are so long that each is given a block of the maximum size.
const HUGE_CLASS: u32 = 16;

/// Maximum number of columns in the arrays for the rows of a class: kernels index them with 32 bits.
const MOST_TEMPORARY_COLUMNS: u64 = 1 << 31;

/// C = A B.
///
/// # Errors
/// When memory runs out, or the device fails.
pub(super) fn multiply<T: Scalar, K: KernelExecutor>(
    executor: &K,
    left: &Csr<T, K::Memory>,
    right: &Csr<T, K::Memory>,
    limits: Limits,
) -> Result<Csr<T, K::Memory>, Error> {
    let repeats = queue_columns_ascend(executor, right, 1)?;
    let mut begun = match (left.row_offsets(), right.row_offsets()) {
        (Offsets::Narrow(of_left), Offsets::Narrow(of_right)) => {
            Sides::new(executor, (left, of_left.global()), (right, of_right.global()), &repeats).begin(limits)
        }
        (of_left, of_right) => {
            let (of_left, of_right) = (wide(executor, of_left)?, wide(executor, of_right)?);
            Sides::new(executor, (left, of_left.global()), (right, of_right.global()), &repeats).begin(limits)
        }
    }?;
    let scan = Scan::new(executor, &begun.lengths)?;
    let offsets = scan.offsets(1)?;
    let stored = scan.total() as usize;
    drop(scan);
    let arrays = || Ok::<_, Error>((executor.unwritten(stored)?, executor.unwritten(stored)?));
    let (mut columns, mut values) = match arrays() {
        Err(Error::OutOfMemory { .. }) if !begun.computed.is_empty() || !begun.listed.is_empty() => {
            begun.forget_all();
            arrays()?
        }
        arrays => arrays?,
    };
    match (left.row_offsets(), right.row_offsets(), &offsets) {
        (Offsets::Narrow(of_left), Offsets::Narrow(of_right), Offsets::Narrow(own)) => {
            let sides = Sides::new(executor, (left, of_left.global()), (right, of_right.global()), &repeats);
            sides.finish(begun, own.global(), &mut columns, &mut values)
        }
        (of_left, of_right, own) => {
            let [of_left, of_right, own] = [wide(executor, of_left)?, wide(executor, of_right)?, wide(executor, own)?];
            let sides = Sides::new(executor, (left, of_left.global()), (right, of_right.global()), &repeats);
            sides.finish(begun, own.global(), &mut columns, &mut values)
        }
    }?;
    Ok(Csr::from_valid(left.rows(), right.columns(), offsets, columns, values))
}

/// A product whose lengths are known.
struct Begun<T: Scalar, K: KernelExecutor> {
    /// The number of entries of each row.
    lengths: Array<K, u32>,
    /// The rows by number of products.
    order: Order<K::Memory>,
    /// The largest class whose rows are computed.
    last_computed: u32,
    /// The computed rows.
    computed: Vec<Computed<T, K>>,
    /// The listed rows, in their order.
    listed: Vec<Listed<T, K>>,
}

impl<T: Scalar, K: KernelExecutor> Begun<T, K> {
    /// Frees the memory of the computed rows, whose lengths stay valid: they are computed again.
    fn forget_all(&mut self) {
        self.computed.clear();
        self.listed.clear();
        self.last_computed = FIRST_CLASS - 1;
    }
}

/// The rows of a class, in the order of their numbers, each with room for [`most_products`].
struct Computed<T: Scalar, K: KernelExecutor> {
    class: u32,
    columns: Array<K, u32>,
    values: Array<K, T>,
}

impl<T: Scalar, K: KernelExecutor, O: Offset + Element> Sides<'_, T, K, O> {
    /// Computes the rows of few products, as far as they fit, and counts the entries of the others.
    fn begin(&self, Limits { most_temporary, first_listed }: Limits) -> Result<Begun<T, K>, Error> {
        let executor = self.executor;
        let mut lengths = executor.zeros(self.rows as usize)?;
        let order = self.by_products()?;
        let first_listed = first_listed.unwrap_or_else(|| first_of(&order, executor.device()));
        let (listed, bytes) = self.list_rows(&order, first_listed, most_temporary, lengths.global_mut())?;
        let mut last_computed = self.last_computed(&order, most_temporary.saturating_sub(bytes));
        let mut computed = with_capacity(LAST_SMALL_CLASS as usize)?;
        let last_table = self.tables_of_patterns().last_class(executor.device());
        // The rows of the classes from the first listed one on are done, listed or counted.
        let done = order.above(first_listed - 1);
        order.for_each_after(done, last_table.max(HUGE_CLASS - 1), |class, count, rows| {
            if class > last_computed {
                return self.count(class, (count, rows), lengths.global_mut());
            }
            let room = count as usize * most_products(class) as usize;
            let arrays = executor.unwritten(room).and_then(|columns| Ok((columns, executor.unwritten(room)?)));
            let (mut columns, mut values) = match arrays {
                Err(Error::OutOfMemory { .. }) => {
                    // Rows computed so far are of larger classes; their lengths stay valid.
                    computed.clear();
                    last_computed = class - 1;
                    return self.count(class, (count, rows), lengths.global_mut());
                }
                arrays => arrays?,
            };
            let to = (columns.global_mut(), values.global_mut());
            // SAFETY: the rows have at most as many columns as the class allows, there is room for them, and their places
            // fit 32 bits.
            unsafe { self.compute_rows(class, (count, rows), None, to, lengths.global_mut()) }?;
            computed.push(Computed { class, columns, values });
            Ok(())
        })?;
        Ok(Begun { lengths, order, last_computed, computed, listed })
    }

    /// Lists the products of rows of the classes from `first` on, as far as the entries fit in `most_bytes`, and counts the
    /// other rows of these classes. Returns the listed rows and the maximum number of their bytes.
    fn list_rows(
        &self,
        order: &Order<K::Memory>,
        first: u32,
        most_bytes: u64,
        lengths: GlobalMut<u32>,
    ) -> Result<(Vec<Listed<T, K>>, u64), Error> {
        let (mut listed, mut bytes) = (Vec::new(), 0);
        let most_bytes = most_bytes.min(most_bytes_of_rows::<T>());
        for batch in self.batches(order, first) {
            let (own_bytes, rows) = (batch.bytes::<T>(), order.rows_after(batch.begin));
            if bytes + own_bytes > most_bytes || listed.try_reserve(1).is_err() {
                break;
            }
            let Some(new) = self.list(batch, rows)? else { break };
            // SAFETY: these rows were listed, and there is a length for each row.
            unsafe { self.lengths_of(&new, rows, lengths) }?;
            bytes += own_bytes;
            listed.push(new);
        }
        for (begin, end) in around(&listed, order.above(first - 1)) {
            // The last class has bits for all columns.
            self.count(CLASSES - 1, (end - begin, order.rows_after(begin)), lengths)?;
        }
        Ok((listed, bytes))
    }

    /// Writes all rows, with their columns in ascending order.
    fn finish(
        &self,
        Begun { mut lengths, order, last_computed, computed, listed }: Begun<T, K>,
        offsets: Global<O>,
        columns: &mut Array<K, u32>,
        values: &mut Array<K, T>,
    ) -> Result<(), Error> {
        let (executor, device) = (self.executor, self.executor.device());
        order.for_each(last_computed, |class, count, rows| {
            let Some(from) = computed.iter().find(|computed| computed.class == class) else { return Ok(()) };
            let kernel = ProductCompact {
                count,
                lanes: ((1_u32 << class) / 4).min(WARP_LANES),
                stride: most_products(class),
                rows,
                offsets,
                from_columns: from.columns.global(),
                from_values: from.values.global(),
                columns: columns.global_mut(),
                values: values.global_mut(),
            };
            let grid = device.uneven_grid(u64::from(count) * u64::from(kernel.lanes));
            // SAFETY: the rows of the class were computed in this order and with this stride, and the offsets are the
            // sums of the rows' lengths.
            unsafe { launch(executor, grid, kernel) }
        })?;
        drop(computed);
        for listed in &listed {
            let to = (columns.global_mut(), values.global_mut());
            // SAFETY: these rows were listed, and the offsets are the sums of the rows' lengths.
            unsafe { self.place(listed, order.rows_after(listed.batch.begin), offsets, to) }?;
        }
        let counted = around(&listed, order.above(last_computed));
        drop(listed);
        for (begin, end) in counted {
            // SAFETY: the order has these rows, and there is a length for each row.
            let order = unsafe { by_length(executor, (end - begin, order.rows_after(begin)), lengths.global()) }?;
            self.write_counted(&order, &mut lengths, offsets, columns, values)?;
        }
        Ok(())
    }

    /// Writes rows whose lengths are known, in classes by length.
    fn write_counted(
        &self,
        order: &Order<K::Memory>,
        lengths: &mut Array<K, u32>,
        offsets: Global<O>,
        columns: &mut Array<K, u32>,
        values: &mut Array<K, T>,
    ) -> Result<(), Error> {
        let (executor, device) = (self.executor, self.executor.device());
        let last = self.tables_of_rows().last_class(device);
        let last_table = self.tables_of_patterns().last_class(device);
        order.for_each(last_table.max(HUGE_CLASS - 1), |class, count, rows| {
            if class > last {
                return self.write_columns(class, (count, rows), offsets, columns.global_mut());
            }
            let to = (columns.global_mut(), values.global_mut());
            // SAFETY: the rows have lengths of this class, of which the offsets are the sums.
            unsafe { self.compute_rows(class, (count, rows), Some(offsets), to, lengths.global_mut()) }
        })?;
        order.for_each(last, |class, count, rows| {
            if class <= last {
                return Ok(());
            }
            let (columns, mut outside) = (columns.global(), executor.zeros::<u32>(1)?);
            // SAFETY: the columns of these rows have just been written in ascending order, and the rows are not empty.
            unsafe { self.long_values((count, rows), offsets, columns, values.global_mut(), outside.global_mut()) }
        })
    }

    /// The rows in classes by number of products.
    pub fn by_products(&self) -> Result<Order<K::Memory>, Error> {
        let (executor, rows) = (self.executor, self.rows);
        let mut classes = executor.unwritten(rows as usize)?;
        let kernel = ProductClasses {
            rows,
            columns: self.columns,
            lanes: self.lanes[0],
            listed: first_listed(executor.device()),
            left_offsets: self.left_offsets,
            left_columns: self.left_columns,
            right_offsets: self.right_offsets,
            classes: classes.global_mut(),
        };
        let grid = executor.device().uneven_grid(u64::from(rows) * u64::from(self.lanes[0]));
        // SAFETY: the matrices are valid and their shapes match, and there is a class for each row.
        unsafe { launch(executor, grid, kernel) }?;
        by_class(executor, Sorted { rows: count_up(executor, rows as usize)?, keys: classes })
    }

    /// The largest class whose rows fit in `most_temporary` bytes together with those of all smaller ones; one less
    /// than the first if none do.
    fn last_computed(&self, order: &Order<K::Memory>, most_temporary: u64) -> u32 {
        let last = LAST_SMALL_CLASS.min(self.tables_of_rows().last_class(self.executor.device()));
        let mut bytes = 0;
        let fits = |&class: &u32| {
            let columns = u64::from(order.count(class)) * u64::from(most_products(class));
            bytes += u64::from(order.count(class)) * bytes_of_row::<T>(class);
            bytes <= most_temporary && columns <= MOST_TEMPORARY_COLUMNS
        };
        (FIRST_CLASS..=last).take_while(fits).last().unwrap_or(FIRST_CLASS - 1)
    }

    /// Counts the different columns of rows of a class, by number of products.
    fn count(&self, number: u32, (count, rows): (u32, Global<u32>), lengths: GlobalMut<u32>) -> Result<(), Error> {
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
        let class = tables.class(number, device);
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
    fn write_columns(
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
        let class = tables.class(number, device);
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

    /// Computes rows of a class: columns, values and lengths. Without offsets, rows are [`most_products`] apart.
    ///
    /// # Safety
    /// Rows of the class have fewer columns than its tables have slots; there is a length for each row, and room for the
    /// columns and values where the rows begin.
    unsafe fn compute_rows(
        &self,
        number: u32,
        (count, rows): (u32, Global<u32>),
        offsets: Option<Global<O>>,
        (columns, values): (GlobalMut<u32>, GlobalMut<T>),
        lengths: GlobalMut<u32>,
    ) -> Result<(), Error> {
        let (executor, device) = (self.executor, self.executor.device());
        let class = self.tables_of_rows().class(number, device);
        let kernel = ProductRows {
            count,
            lanes: class.lanes,
            slots: class.slots,
            stride: if offsets.is_some() { 0 } else { most_products(number) },
            repeats: self.repeats,
            rows,
            left_offsets: self.left_offsets,
            left_columns: self.left_columns,
            left_values: self.left_values,
            right_offsets: self.right_offsets,
            right_columns: self.right_columns,
            right_values: self.right_values,
            // With a stride, any array will do.
            offsets: offsets.unwrap_or(self.left_offsets),
            columns,
            values,
            lengths,
        };
        // SAFETY: the matrices are valid and their shapes match, `repeats` was determined before, 4 to 32 lanes share a
        // row, and the grid has the shared memory; the rest is the caller's promise.
        unsafe { launch(executor, class.grid(count, device), kernel) }
    }

    /// The tables for whole rows: a column and a sum per slot, and a column in a list.
    fn tables_of_rows(&self) -> Tables {
        self.tables_of_warps(2 * size_of::<u32>() + size_of::<T>())
    }

    /// The tables for patterns: a column per slot.
    fn tables_of_patterns(&self) -> Tables {
        let of_blocks = self.columns > MOST_COLUMNS_OF_BITS;
        Tables { slot_bytes: 4, least_lanes: 4, slots_of_warp: SLOTS_OF_WARP, of_blocks }
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
