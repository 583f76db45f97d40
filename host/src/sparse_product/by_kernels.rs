//! Products by kernels, on a GPU or its emulator.
//!
//! Rows of C are classified by their number of products, or by the number of columns of B if that is smaller and the
//! row is not so long that its products may be listed. Each row in progress has a hash table in shared memory, whose
//! number of slots is a power of two given by the class.
//!
//! Rows of many classes are computed [at once](super::at_once), in an array where each has room for the most columns that its
//! class allows, or for about as many as a sample of its rows has, and so are those of the largest classes, whose products are
//! [listed](super::listed). The entries of the others are counted, as are those of rows that turn out to have too many columns
//! for their room. Then all lengths are known: the former rows are copied to their places in C, those that were counted
//! classified by their own lengths and computed there. Rows that fit into no table, and long ones if B does not have
//! too many columns, use a bit per column of B in global memory instead, in blocks that take a limited number of bytes
//! together. Only the number of entries, numbers per class (rows, the longest of a sample, whether some are too long) and the
//! lengths of lists are copied to the host.

use cuda_std::warp::WARP_LANES;
use cuda_std::{Global, GlobalMut};
use gpu_kernels::Offset;
use gpu_kernels::sparse_product::classes::{CLASSES, FIRST_CLASS, ProductClasses, most_products};
use gpu_kernels::sparse_product::rows::{ProductCompact, ProductRows};

use super::at_once::{AtOnce, TooLong};
use super::classes::Tables;
use super::listed::{Listed, around, first_listed, first_of, most_bytes_of_rows};
use super::order::{Order, by_class, by_length};
use super::patterns::HUGE_CLASS;
use super::sides::Sides;
use super::workspace::{Limits, bytes_of_entry};
use crate::convert::primitives::{Array, Scan, launch, queue_columns_ascend};
use crate::convert::radix::{Sorted, count_up};
use crate::convert::wide::wide;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::{Csr, Offsets};
use crate::memory::{Buffer, Element, with_capacity};
use crate::real::Scalar;

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
    let begin = |limits| match (left.row_offsets(), right.row_offsets()) {
        (Offsets::Narrow(of_left), Offsets::Narrow(of_right)) => {
            Sides::new(executor, (left, of_left.global()), (right, of_right.global()), &repeats).begin(limits)
        }
        (of_left, of_right) => {
            let (of_left, of_right) = (wide(executor, of_left)?, wide(executor, of_right)?);
            Sides::new(executor, (left, of_left.global()), (right, of_right.global()), &repeats).begin(limits)
        }
    };
    let mut begun = match begin(limits) {
        // Counting all rows takes less.
        Err(Error::OutOfMemory { .. }) if limits.most_temporary > 0 => begin(Limits { most_temporary: 0, ..limits })?,
        begun => begun?,
    };
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
    /// The first class of rows that were listed or counted, whatever `computed` has.
    first_listed: u32,
    /// The computed rows.
    computed: Vec<Computed<T, K>>,
    /// The rows of computed classes that have more columns than expected.
    too_long: Vec<TooLong<K::Memory>>,
    /// The listed rows, in their order.
    listed: Vec<Listed<T, K>>,
}

impl<T: Scalar, K: KernelExecutor> Begun<T, K> {
    /// Frees the memory of the computed rows, whose lengths stay valid: they are computed again.
    fn forget_all(&mut self) {
        self.computed.clear();
        self.too_long.clear();
        self.listed.clear();
    }

    /// Ranges of the order that were counted only.
    fn counted(&self) -> Result<Vec<(u32, u32)>, Error> {
        let mut counted = with_capacity(CLASSES as usize + 2)?;
        counted.extend(around(&self.listed, self.order.above(self.first_listed - 1)));
        for class in (FIRST_CLASS..self.first_listed).rev() {
            let (begin, end) = (self.order.above(class), self.order.above(class - 1));
            if begin == end || self.computed.iter().any(|computed| computed.class == class) {
                continue;
            }
            match counted.last_mut() {
                Some((_, last)) if *last == begin => *last = end,
                _ => counted.push((begin, end)),
            }
        }
        Ok(counted)
    }
}

/// The rows of a class, in the order of their numbers, each with room for `most` entries.
struct Computed<T: Scalar, K: KernelExecutor> {
    class: u32,
    most: u32,
    columns: Array<K, u32>,
    values: Array<K, T>,
}

/// Where rows of a product begin.
pub(super) enum Begins<O> {
    /// At their offsets.
    At(Global<O>),
    /// In their order, with room for `most` columns each.
    Apart {
        /// The largest number of columns.
        most: u32,
        /// Becomes 1 if a row has more columns.
        too_long: GlobalMut<u32>,
    },
}

impl<T: Scalar, K: KernelExecutor, O: Offset + Element> Sides<'_, T, K, O> {
    /// Computes rows at once as far as they fit, lists those of very many products, and counts the entries of the others.
    fn begin(&self, limits: Limits) -> Result<Begun<T, K>, Error> {
        let executor = self.executor;
        let mut lengths = executor.zeros(self.rows as usize)?;
        let order = self.by_products()?;
        let first_listed = limits.first_listed.unwrap_or_else(|| first_of(&order, executor.device()));
        let (listed, bytes) = self.list_rows(&order, first_listed, limits.most_temporary, lengths.global_mut())?;
        let mut at_once = self.at_once_of_classes(&order, first_listed, &mut lengths)?;
        let mut most_bytes = limits.most_temporary.saturating_sub(bytes);
        for class in FIRST_CLASS..first_listed {
            let Some(most) = at_once[class as usize].as_ref().map(AtOnce::most) else { continue };
            let columns = u64::from(order.count(class)) * u64::from(most);
            let own_bytes = columns * bytes_of_entry::<T>();
            if own_bytes <= most_bytes && columns <= MOST_TEMPORARY_COLUMNS {
                most_bytes -= own_bytes;
            } else {
                at_once[class as usize] = None;
            }
        }
        let mut too_long = executor.zeros::<u32>(CLASSES as usize)?;
        let mut computed = with_capacity(CLASSES as usize)?;
        let last_table = self.tables_of_patterns().last_class(executor.device());
        // The rows of the classes from the first listed one on are done, listed or counted.
        let done = order.above(first_listed - 1);
        order.for_each_after(done, last_table.max(HUGE_CLASS - 1), |class, count, rows| {
            let Some(at_once) = &at_once[class as usize] else {
                if self.sample_is_all(&order, class) {
                    return Ok(());
                }
                // SAFETY: the rows are those of the class, and there is a length for each.
                return unsafe { self.count(class, (count, rows), lengths.global_mut()) };
            };
            let room = count as usize * at_once.most() as usize;
            let (mut columns, mut values) = (executor.unwritten(room)?, executor.unwritten(room)?);
            let to = (columns.global_mut(), values.global_mut());
            let flag = too_long.global_mut().after(class as usize);
            // SAFETY: there is room for as many columns of each row, a length for each, and a flag; their places fit 32 bits.
            unsafe { self.compute_at_once(at_once, (count, rows), to, lengths.global_mut(), flag) }?;
            computed.push(Computed { class, most: at_once.most(), columns, values });
            Ok(())
        })?;
        let may_be_too_long = computed.iter().any(|computed| computed.most < most_products(computed.class));
        let too_long = match may_be_too_long {
            true => self.count_too_long(&order, &too_long, &mut lengths)?,
            false => Vec::new(),
        };
        Ok(Begun { lengths, order, first_listed, computed, too_long, listed })
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
            // SAFETY: the order has these rows, and there is a length for each row.
            unsafe { self.count(CLASSES - 1, (end - begin, order.rows_after(begin)), lengths) }?;
        }
        Ok((listed, bytes))
    }

    /// Writes all rows, with their columns in ascending order.
    fn finish(
        &self,
        begun: Begun<T, K>,
        offsets: Global<O>,
        columns: &mut Array<K, u32>,
        values: &mut Array<K, T>,
    ) -> Result<(), Error> {
        let (executor, device) = (self.executor, self.executor.device());
        let counted = begun.counted()?;
        let Begun { mut lengths, order, computed, too_long, listed, .. } = begun;
        for from in computed {
            let count = order.count(from.class);
            let kernel = ProductCompact {
                count,
                lanes: (from.most.next_power_of_two() / 4).min(WARP_LANES),
                stride: from.most,
                rows: order.rows_after(order.above(from.class)),
                offsets,
                from_columns: from.columns.global(),
                from_values: from.values.global(),
                columns: columns.global_mut(),
                values: values.global_mut(),
            };
            let grid = device.uneven_grid(u64::from(count) * u64::from(kernel.lanes));
            // SAFETY: the rows of the class were computed in this order and with this stride, unless they are longer, and the
            // offsets are the sums of the rows' lengths.
            unsafe { launch(executor, grid, kernel) }?;
        }
        for listed in &listed {
            let to = (columns.global_mut(), values.global_mut());
            // SAFETY: these rows were listed, and the offsets are the sums of the rows' lengths.
            unsafe { self.place(listed, order.rows_after(listed.batch.begin), offsets, to) }?;
        }
        drop(listed);
        let counted = counted.iter().map(|&(begin, end)| (end - begin, order.rows_after(begin)));
        for rows in counted.chain(too_long.iter().map(TooLong::rows)) {
            // SAFETY: the order has these rows, and there is a length for each row.
            let order = unsafe { by_length(executor, rows, lengths.global()) }?;
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
                // SAFETY: the rows have lengths of this class, of which the offsets are the sums.
                return unsafe { self.write_columns(class, (count, rows), offsets, columns.global_mut()) };
            }
            let to = (columns.global_mut(), values.global_mut());
            // SAFETY: the rows have lengths of this class, of which the offsets are the sums.
            unsafe { self.compute_rows(class, (count, rows), Begins::At(offsets), to, lengths.global_mut()) }
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
        // Each lane looks up four entries of A at a time.
        let lanes = self.lanes[0] / 4;
        let kernel = ProductClasses {
            rows,
            columns: self.columns,
            lanes,
            listed: first_listed(executor.device()),
            left_offsets: self.left_offsets,
            left_columns: self.left_columns,
            right_offsets: self.right_offsets,
            classes: classes.global_mut(),
        };
        let grid = executor.device().uneven_grid(u64::from(rows) * u64::from(lanes));
        // SAFETY: the matrices are valid and their shapes match, and there is a class for each row.
        unsafe { launch(executor, grid, kernel) }?;
        by_class(executor, Sorted { rows: count_up(executor, rows as usize)?, keys: classes })
    }

    /// Computes rows with the tables of a class: columns, values and lengths.
    ///
    /// # Safety
    /// Either each row has fewer columns than the tables have slots, or rows are apart, and their room and the team's lanes
    /// are together at most as many as the slots. There is a length for each row, and room for the columns and values
    /// where the rows begin.
    pub unsafe fn compute_rows(
        &self,
        number: u32,
        (count, rows): (u32, Global<u32>),
        begins: Begins<O>,
        (columns, values): (GlobalMut<u32>, GlobalMut<T>),
        lengths: GlobalMut<u32>,
    ) -> Result<(), Error> {
        let (executor, device) = (self.executor, self.executor.device());
        let class = self.tables_of_rows().class(number, count, device);
        // Of what is not read or written, any array will do.
        let (stride, offsets, too_long) = match begins {
            Begins::At(offsets) => (0, offsets, lengths),
            Begins::Apart { most, too_long } => (most, self.left_offsets, too_long),
        };
        let kernel = ProductRows {
            count,
            lanes: class.lanes,
            slots: class.slots,
            stride,
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
            values,
            lengths,
            too_long,
        };
        // SAFETY: the matrices are valid and their shapes match, `repeats` was determined before, 4 to 32 lanes share a
        // row, and the grid has the shared memory; the rest is the caller's promise.
        unsafe { launch(executor, class.grid(count, device), kernel) }
    }

    /// The tables for whole rows: a column and a sum per slot, and a column in a list.
    pub fn tables_of_rows(&self) -> Tables {
        self.tables_of_warps(2 * size_of::<u32>() + size_of::<T>())
    }
}
