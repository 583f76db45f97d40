//! Rows of very many products by kernels, on a GPU or its emulator: all products are listed, sorted by row and column, and
//! added up, in batches of rows. All threads share the products, so no row takes longer than others of as many.

use cuda_std::{Global, GlobalMut};
use gpu_kernels::Offset;
use gpu_kernels::sparse_product::classes::{CLASSES, most_products};
use gpu_kernels::sparse_product::listed::{
    ListedBegins, ListedEntries, ListedFirsts, ListedLengths, ListedProducts, ListedRowLengths, ListedRows, ListedSums,
    ListedValues,
};

use super::order::Order;
use super::sides::Sides;
use super::workspace::bytes_of_entry;
use crate::convert::primitives::{Array, Scan, launch};
use crate::convert::radix::{Sorted, count_up, sort_up_to};
use crate::device::Device;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::memory::{Buffer, Element, Memory};
use crate::real::Scalar;
use crate::spmv::Intervals;

/// Maximum number of products of a batch, and of entries of A.
const MOST_AT_ONCE: u32 = 1 << 24;

/// Maximum number of products of all listed rows; other rows are counted.
const MOST_LISTED: u64 = 1 << 26;

/// The first class of rows that may be listed: fewer products are not worth the launches. Smaller for small devices.
const FIRST_CLASSES: (u32, u32) = (12, 15);

/// A listed row has at least this part of the products that a multiprocessor has on average: a block would finish it after
/// all others. Where all blocks have work, a product takes longer in a list than in a block.
const PART_OF_SHARE: u64 = 3;

/// The first class of rows that may be listed.
pub(super) fn first_listed(device: &Device) -> u32 {
    let (least, most) = FIRST_CLASSES;
    (device.resident_threads() / 16).max(1).ilog2().clamp(least, most)
}

/// The first class of rows that are listed, of rows in this order.
pub(super) fn first_of<M: Memory>(order: &Order<M>, device: &Device) -> u32 {
    let last = CLASSES - 1;
    let products = |class, rows| u64::from(rows) * u64::from(most_products(class));
    let of_all =
        products(last, order.above(last - 1)) + (1..last).map(|class| products(class, order.count(class))).sum::<u64>();
    let least = of_all / u64::from(device.multiprocessors.max(1)) / PART_OF_SHARE;
    (first_listed(device)..last).find(|&class| u64::from(most_products(class - 1)) >= least).unwrap_or(last)
}

/// Some rows of the order by number of products.
#[derive(Clone, Copy)]
pub(super) struct Batch {
    /// Number of rows before them.
    pub begin: u32,
    pub rows: u32,
    /// Maximum number of their products.
    products: u32,
}

impl Batch {
    /// Number of rows up to their end.
    pub fn end(self) -> u32 {
        self.begin + self.rows
    }

    /// Maximum number of bytes of their columns and values.
    pub fn bytes<T>(self) -> u64 {
        u64::from(self.products) * bytes_of_entry::<T>()
    }
}

/// Bits of a column's number.
fn bits_of(columns: u32) -> u32 {
    u32::BITS - columns.saturating_sub(1).leading_zeros()
}

/// Batches of the rows that are listed, in their order: those of the classes from `first` on, except the longest, which
/// come first and have too many products for a batch.
fn batches<M: Memory>(order: &Order<M>, first: u32, columns: u32) -> impl Iterator<Item = Batch> {
    let most_rows = 1_u64 << (u32::BITS - bits_of(columns));
    let most_rows = u32::try_from(most_rows).unwrap_or(u32::MAX);
    let mut class = (first..CLASSES - 1).take_while(|&class| most_products(class) <= MOST_AT_ONCE).last().unwrap_or(0);
    let mut begin = order.above(class);
    std::iter::from_fn(move || {
        let mut batch = Batch { begin, rows: 0, products: 0 };
        while class >= first {
            let left = order.above(class - 1) - batch.end();
            let more = left.min((MOST_AT_ONCE - batch.products) / most_products(class)).min(most_rows - batch.rows);
            batch.rows += more;
            batch.products += more * most_products(class);
            if more < left {
                break;
            }
            class -= 1;
        }
        begin = batch.end();
        (batch.rows > 0).then_some(batch)
    })
}

/// The entries of some rows of a product, by row and column.
pub(super) struct Listed<T: Scalar, K: KernelExecutor> {
    pub batch: Batch,
    /// Where each row begins.
    begins: Array<K, u32>,
    columns: Array<K, u32>,
    values: Array<K, T>,
}

/// The non-empty ranges of the first `count` rows of an order before and after the listed ones, which are neighbours.
pub(super) fn around<T: Scalar, K: KernelExecutor>(
    listed: &[Listed<T, K>],
    count: u32,
) -> impl Iterator<Item = (u32, u32)> + use<T, K> {
    let first = listed.first().map_or(0, |listed| listed.batch.begin);
    let end = listed.last().map_or(0, |listed| listed.batch.end());
    [(0, first), (end, count)].into_iter().filter(|(begin, end)| begin < end)
}

impl<T: Scalar, K: KernelExecutor, O: Offset + Element> Sides<'_, T, K, O> {
    /// The batches of rows of an order by number of products that are listed, those of the classes from `first` on.
    pub fn batches(&self, order: &Order<K::Memory>, first: u32) -> impl Iterator<Item = Batch> {
        batches(order, first, self.columns)
    }

    /// Lists the rows of a batch; none if memory runs out, or they have more entries or products than expected.
    pub fn list(&self, batch: Batch, rows: Global<u32>) -> Result<Option<Listed<T, K>>, Error> {
        match self.try_list(batch, rows) {
            Err(Error::OutOfMemory { .. }) => Ok(None),
            listed => listed,
        }
    }

    fn try_list(&self, batch: Batch, rows: Global<u32>) -> Result<Option<Listed<T, K>>, Error> {
        let (executor, device, count) = (self.executor, self.executor.device(), batch.rows);
        let mut lengths = executor.unwritten(count as usize)?;
        let kernel = ListedLengths { count, rows, left_offsets: self.left_offsets, lengths: lengths.global_mut() };
        // SAFETY: A is valid and has the rows, and `lengths` has an element for each.
        unsafe { launch(executor, device.grid(count.into()), kernel) }?;
        let scan = Scan::new(executor, &lengths)?;
        if scan.total() > MOST_AT_ONCE.into() {
            return Ok(None);
        }
        let (left_begins, entries): (Array<K, u32>, _) = (scan.offsets_of(1)?, scan.total() as usize);
        let (mut numbers, mut factors) = (executor.unwritten(entries)?, executor.unwritten::<T>(entries)?);
        let (mut right_begins, mut lengths) = (executor.unwritten::<O>(entries)?, executor.unwritten(entries)?);
        let intervals = Intervals::new(entries as u64, device);
        let kernel = ListedEntries {
            count,
            entries: entries as u64,
            interval: intervals.length,
            rows,
            begins: left_begins.global(),
            left_offsets: self.left_offsets,
            left_columns: self.left_columns,
            left_values: self.left_values,
            right_offsets: self.right_offsets,
            numbers: numbers.global_mut(),
            factors: factors.global_mut(),
            right_begins: right_begins.global_mut(),
            lengths: lengths.global_mut(),
        };
        // SAFETY: the matrices are valid and their shapes match; the rows' lengths add up to `entries`, of which the
        // arrays have as many, and the grid has a warp for each interval.
        unsafe { launch(executor, intervals.grid(device), kernel) }?;
        let scan = Scan::new(executor, &lengths)?;
        if scan.total() > MOST_AT_ONCE.into() {
            return Ok(None);
        }
        let (begins, products): (Array<K, u32>, _) = (scan.offsets_of(1)?, scan.total() as usize);
        let shift = bits_of(self.columns);
        let largest = ((u64::from(count) << shift) - 1) as u32;
        let (mut keys, mut values) = (executor.unwritten(products)?, executor.unwritten::<T>(products)?);
        let intervals = Intervals::new(products as u64, device);
        let kernel = ListedProducts {
            entries: entries as u32,
            count: products as u64,
            interval: intervals.length,
            shift,
            largest,
            begins: begins.global(),
            numbers: numbers.global(),
            factors: factors.global(),
            right_begins: right_begins.global(),
            right_columns: self.right_columns,
            right_values: self.right_values,
            keys: keys.global_mut(),
            products: values.global_mut(),
        };
        // SAFETY: the other kernel wrote the entries, whose rows of B add up to `products`; row numbers are below
        // `count`, and columns below 2^`shift`, so no key is above `largest`; the grid has a warp for each interval.
        unsafe { launch(executor, intervals.grid(device), kernel) }?;
        drop((numbers, factors, right_begins, lengths));
        let unsorted = Sorted { rows: count_up(executor, products)?, keys };
        let sorted = sort_up_to(executor, unsorted, largest)?;
        self.add_up_list(batch, &sorted, &values, (shift, largest)).map(Some)
    }

    /// Adds up sorted products.
    fn add_up_list(
        &self,
        batch: Batch,
        Sorted { keys, rows: numbers }: &Sorted<K>,
        products: &Array<K, T>,
        (shift, largest): (u32, u32),
    ) -> Result<Listed<T, K>, Error> {
        let (executor, device, count) = (self.executor, self.executor.device(), keys.len() as u32);
        let mut firsts = executor.unwritten(keys.len())?;
        let kernel = ListedFirsts { count, keys: keys.global(), firsts: firsts.global_mut() };
        // SAFETY: there is a mark for each key.
        unsafe { launch(executor, device.grid(count.into()), kernel) }?;
        let scan = Scan::new(executor, &firsts)?;
        let (places, sums): (Array<K, u32>, _) = (scan.offsets_of(1)?, scan.total() as usize);
        let (mut columns, mut values) = (executor.unwritten(sums)?, executor.unwritten::<T>(sums)?);
        let kernel = ListedSums {
            count,
            shift,
            largest,
            keys: keys.global(),
            numbers: numbers.global(),
            products: products.global(),
            places: places.global(),
            columns: columns.global_mut(),
            values: values.global_mut(),
        };
        // SAFETY: keys and numbers are sorted together, and there is a product for each; `places` are the sums of the
        // marks, and there is a column and a value for each of these. Without products, the grid is empty.
        unsafe { launch(executor, device.grid(count.into()), kernel) }?;
        let mut begins = executor.unwritten(batch.rows as usize + 1)?;
        let kernel = ListedBegins {
            rows: batch.rows,
            count,
            shift,
            largest,
            keys: keys.global(),
            places: places.global(),
            row_begins: begins.global_mut(),
        };
        // SAFETY: as for the other; there is a begin for each row, and an end.
        unsafe { launch(executor, device.grid(u64::from(batch.rows) + 1), kernel) }?;
        Ok(Listed { batch, begins, columns, values })
    }

    /// Writes the lengths of listed rows.
    ///
    /// # Safety
    /// `rows` are those that were listed; there is a length for each row of the product.
    pub unsafe fn lengths_of(
        &self,
        listed: &Listed<T, K>,
        rows: Global<u32>,
        lengths: GlobalMut<u32>,
    ) -> Result<(), Error> {
        let count = listed.batch.rows;
        let kernel = ListedRowLengths { count, rows, row_begins: listed.begins.global(), lengths };
        // SAFETY: there is a begin for each row, and an end; the rest is the caller's promise.
        unsafe { launch(self.executor, self.executor.device().grid(count.into()), kernel) }
    }

    /// Writes listed rows to their places in the product.
    ///
    /// # Safety
    /// `rows` are those that were listed, and `offsets` the sums of all rows' lengths; the product has room for as many
    /// entries.
    pub unsafe fn place(
        &self,
        listed: &Listed<T, K>,
        rows: Global<u32>,
        offsets: Global<O>,
        (columns, values): (GlobalMut<u32>, GlobalMut<T>),
    ) -> Result<(), Error> {
        let (device, sums) = (self.executor.device(), listed.columns.len() as u64);
        let intervals = Intervals::new(sums, device);
        let kernel = ListedRows {
            count: listed.batch.rows,
            sums,
            interval: intervals.length,
            rows,
            row_begins: listed.begins.global(),
            from_columns: listed.columns.global(),
            from_values: listed.values.global(),
            offsets,
            columns,
            values,
        };
        // SAFETY: `begins` are those of the rows among the sums; the grid has a warp for each interval; the rest is the
        // caller's promise.
        unsafe { launch(self.executor, intervals.grid(device), kernel) }
    }

    /// Writes the values of listed rows to a product with a known pattern. Sets `outside` if that pattern is another.
    ///
    /// # Safety
    /// `rows` are those that were listed; the offsets and columns are those of a valid matrix of the product's shape;
    /// there is a value for each of its entries, and `outside` has an element.
    pub unsafe fn place_values(
        &self,
        listed: &Listed<T, K>,
        rows: Global<u32>,
        (offsets, columns): (Global<O>, Global<u32>),
        values: GlobalMut<T>,
        outside: GlobalMut<u32>,
    ) -> Result<(), Error> {
        let (device, sums) = (self.executor.device(), listed.columns.len() as u64);
        let intervals = Intervals::new(sums, device);
        let kernel = ListedValues {
            count: listed.batch.rows,
            sums,
            interval: intervals.length,
            rows,
            row_begins: listed.begins.global(),
            from_columns: listed.columns.global(),
            from_values: listed.values.global(),
            offsets,
            columns,
            values,
            outside,
        };
        // SAFETY: as for the other; a row of another length is not written.
        unsafe { launch(self.executor, intervals.grid(device), kernel) }
    }
}

/// Maximum number of bytes for the listed rows of a product, which are kept until all lengths are known.
pub(super) fn most_bytes_of_rows<T>() -> u64 {
    MOST_LISTED * bytes_of_entry::<T>()
}

/// Maximum number of bytes for a list, besides the rows that come out of it.
pub(super) fn bytes_of_list<T>() -> u64 {
    // Per product twice a key and a number, a mark, a place and the product; per entry a number, a factor, a begin, a
    // length and an offset, while there are no more than keys and products.
    let (of_product, of_entry) = (24 + size_of::<T>() as u64, 20 + size_of::<T>() as u64);
    u64::from(MOST_AT_ONCE) * of_product.max(of_entry + 4 + size_of::<T>() as u64)
}

#[cfg(test)]
mod tests {
    use super::super::order::by_class;
    use super::*;
    use crate::executor::Emulated;

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no lanes")]
    fn batches_have_as_many_rows_as_fit() {
        let emulator = Emulated::new(1);
        // Too many products for a batch, as many as fit and fewer, and too few to be listed.
        let classes = [(30, 2), (25, 1), (24, 3), (20, 20), (12, 9000), (11, 10), (0, 5)];
        let keys: Vec<u32> = classes.iter().flat_map(|&(class, rows)| vec![class; rows]).collect();
        let order = by_class(&emulator, Sorted { rows: (0..keys.len() as u32).collect(), keys: keys.clone() }).unwrap();
        for columns in [0, 1, 1000, 1 << 20, (1 << 20) + 1, (1 << 31) - 1] {
            let mut end = 3;
            for batch in batches(&order, 12, columns) {
                assert!(batch.begin == end && batch.rows > 0);
                end = batch.end();
                let products = |row: u32| u64::from(most_products(keys[row as usize]));
                let all: u64 = (batch.begin..end).map(products).sum();
                assert!(all == u64::from(batch.products) && all <= MOST_AT_ONCE.into());
                let keys_of_rows = u64::from(batch.rows) << bits_of(columns);
                assert!(keys_of_rows <= 1 << 32 && columns <= 1 << bits_of(columns));
                let is_full = all + products(end) > MOST_AT_ONCE.into()
                    || (u64::from(batch.rows) + 1) << bits_of(columns) > 1 << 32;
                assert!(is_full || end == 9026, "{columns}: {}", batch.rows);
            }
            assert_eq!(end, 9026);
        }
        let short = by_class(&emulator, Sorted { rows: vec![0, 1], keys: vec![11, 11] }).unwrap();
        assert!(batches(&short, 12, 5).next().is_none());
    }
}
