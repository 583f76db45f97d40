//! Rows that are computed by one lane each, on a GPU or its emulator.
//!
//! A lane has a hash table for about as many columns as some rows of the class have, which are counted first. Rows with more
//! columns are counted afterwards.

use cuda_std::launch::Grid;
use cuda_std::warp::WARP_LANES;
use cuda_std::{Global, GlobalMut};
use gpu_kernels::Offset;
use gpu_kernels::sparse_product::classes::{CLASSES, FIRST_CLASS, most_products};
use gpu_kernels::sparse_product::lane_rows::{ProductLaneRows, ProductLongest, ProductSample, elements_of_warp};

use super::classes::{limit, warps_per_block};
use super::order::{Order, by_length};
use super::sides::Sides;
use super::workspace::{LAST_SMALL_CLASS, bytes_of_entry};
use crate::convert::primitives::{Array, launch};
use crate::device::{Device, with_shared_for_each_warp};
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::memory::{Buffer, Element, Memory, with_capacity};
use crate::real::Scalar;

/// The largest class of such rows, of at most 896 products or columns of B. Up to 2¹⁹ columns, blocks count longer ones by
/// bits, which takes about as long as lanes.
const LAST_CLASS: u32 = 10;

/// The number of resident threads for which a class has at least a row. A lane takes some 190 ns for a product on an H200,
/// however few rows there are; teams of lanes take some 0.05 ns for each product of all rows.
const THREADS_PER_ROW: u64 = 64;

/// The smallest and the largest number of slots of a table. With larger ones, a multiprocessor has too few warps.
const SLOTS: (u32, u32) = (16, 64);

const _: () = assert!(SLOTS.1 / 8 * 7 <= most_products(LAST_SMALL_CLASS), "the workspace has room for these rows");

/// Number of rows that are counted to find out how many columns rows of a class have.
const SAMPLE: u32 = 64;

/// The tables of a class.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    slots: u32,
    /// The largest number of columns.
    pub most: u32,
}

/// The tables of each class; none for classes whose rows are not computed by one lane each.
pub(super) type LanesOfClasses = [Option<Lanes>; CLASSES as usize];

/// The rows of a class of which some have more columns than expected.
pub(super) struct TooLong<M: Memory> {
    pub class: u32,
    /// All rows of the class, by length; that of rows that are too long is the largest.
    by_length: Order<M>,
}

impl<M: Memory> TooLong<M> {
    /// The rows that are too long, and their number.
    pub fn rows(&self) -> (u32, Global<u32>) {
        (self.by_length.above(CLASSES - 2), self.by_length.rows_after(0))
    }
}

impl Lanes {
    /// Tables for rows of a class with about `expected` columns; none if they are too long, or shared memory too small.
    fn new<T>(class: u32, expected: u32, device: &Device) -> Option<Self> {
        let (bound, (least, most)) = (most_products(class), SLOTS);
        let expected = expected.min(bound);
        if 4 * expected > 3 * most {
            return None;
        }
        // Half of the slots stay empty, if possible: a search takes fewer steps, and there is room for longer rows.
        let slots = (2 * expected).next_power_of_two().clamp(least, most);
        let lanes = Self { slots, most: bound.min(slots / 8 * 7) };
        (lanes.bytes_of_warp::<T>() <= limit(device).into()).then_some(lanes)
    }

    /// Bytes of shared memory per warp.
    fn bytes_of_warp<T>(self) -> u64 {
        u64::from(elements_of_warp(self.slots)) * bytes_of_entry::<T>()
    }

    fn grid<T>(self, rows: u32, device: &Device) -> Grid {
        let bytes = self.bytes_of_warp::<T>() as u32;
        let warps = warps_per_block(bytes, device);
        Grid { shared_bytes: warps * bytes, ..device.uneven_grid_of_blocks(rows.into(), warps * WARP_LANES) }
    }
}

impl<T: Scalar, K: KernelExecutor, O: Offset + Element> Sides<'_, T, K, O> {
    /// The tables of each class below `first_listed`. Counts some rows of these classes.
    pub fn lanes_of_classes(
        &self,
        order: &Order<K::Memory>,
        first_listed: u32,
        lengths: &mut Array<K, u32>,
    ) -> Result<LanesOfClasses, Error> {
        let (executor, device) = (self.executor, self.executor.device());
        let least = (device.resident_threads() / THREADS_PER_ROW).max(1);
        let classes = FIRST_CLASS..first_listed.min(LAST_CLASS + 1);
        let has_many = |class: &u32| u64::from(order.count(*class)) >= least;
        let mut lanes = LanesOfClasses::default();
        if !classes.clone().any(|class| has_many(&class)) {
            return Ok(lanes);
        }
        let mut longest = executor.zeros::<u32>(CLASSES as usize)?;
        for class in classes.clone().filter(has_many) {
            self.sample(order, class, lengths, longest.global_mut().after(class as usize))?;
        }
        let longest = executor.download(&longest)?;
        for class in classes.filter(has_many) {
            let longest = longest[class as usize];
            // Other rows may have a few more.
            lanes[class as usize] = Lanes::new::<T>(class, longest + longest / 16, device);
        }
        Ok(lanes)
    }

    /// Counts some rows of a class, and finds the largest number of their columns.
    fn sample(
        &self,
        order: &Order<K::Memory>,
        class: u32,
        lengths: &mut Array<K, u32>,
        longest: GlobalMut<u32>,
    ) -> Result<(), Error> {
        let (executor, device) = (self.executor, self.executor.device());
        let step = order.count(class).div_ceil(SAMPLE);
        let count = order.count(class).div_ceil(step);
        let mut sample = executor.unwritten(count as usize)?;
        let rows = order.rows_after(order.above(class));
        let kernel = ProductSample { count, step, rows, sample: sample.global_mut() };
        // SAFETY: `(count - 1) * step` is below the number of rows of the class.
        unsafe { launch(executor, device.grid_of(count.into()), kernel) }?;
        let rows = sample.global();
        // SAFETY: these rows are of the class, and there is a length for each row.
        unsafe { self.count(class, (count, rows), lengths.global_mut()) }?;
        let kernel = ProductLongest { count, rows, lengths: lengths.global(), longest };
        let grid = with_shared_for_each_warp(Grid { blocks: 1, ..device.grid(1) }, 4);
        // SAFETY: these rows were counted, there is one block, and the caller passes an element.
        unsafe { launch(executor, grid, kernel) }
    }

    /// Computes rows of a class, `most` columns apart.
    ///
    /// # Safety
    /// There is room for the columns and values, a length for each row, and a flag.
    pub unsafe fn compute_by_lanes(
        &self,
        lanes: &Lanes,
        (count, rows): (u32, Global<u32>),
        (columns, values): (GlobalMut<u32>, GlobalMut<T>),
        lengths: GlobalMut<u32>,
        too_long: GlobalMut<u32>,
    ) -> Result<(), Error> {
        let kernel = ProductLaneRows {
            count,
            slots: lanes.slots,
            most: lanes.most,
            rows,
            left_offsets: self.left_offsets,
            left_columns: self.left_columns,
            left_values: self.left_values,
            right_offsets: self.right_offsets,
            right_columns: self.right_columns,
            right_values: self.right_values,
            columns,
            values,
            lengths,
            too_long,
        };
        let grid = lanes.grid::<T>(count, self.executor.device());
        // SAFETY: the matrices are valid and their shapes match, `most` is below `slots`, and the grid has the shared
        // memory; the rest is the caller's promise.
        unsafe { launch(self.executor, grid, kernel) }
    }

    /// Counts the rows of classes with a flag that turned out to be too long.
    pub fn count_too_long(
        &self,
        order: &Order<K::Memory>,
        flags: &Array<K, u32>,
        lengths: &mut Array<K, u32>,
    ) -> Result<Vec<TooLong<K::Memory>>, Error> {
        let executor = self.executor;
        let mut all = with_capacity(CLASSES as usize)?;
        let flags = executor.download(flags)?;
        for class in (FIRST_CLASS..=LAST_CLASS).filter(|&class| flags[class as usize] != 0) {
            let rows = (order.count(class), order.rows_after(order.above(class)));
            // SAFETY: the order has these rows, and there is a length for each row.
            let by_length = unsafe { by_length(executor, rows, lengths.global()) }?;
            let too_long = TooLong { class, by_length };
            // None if they were counted before memory ran out.
            if too_long.rows().0 == 0 {
                continue;
            }
            // SAFETY: these rows are of the class, and there is a length for each row.
            unsafe { self.count(class, too_long.rows(), lengths.global_mut()) }?;
            all.push(too_long);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::{Emulated, Executor};

    #[test]
    fn tables_have_room_for_twice_what_is_expected() {
        let emulator = Emulated::new(1);
        let device = emulator.device();
        let of = |class, expected| Lanes::new::<f64>(class, expected, device).map(|lanes| (lanes.slots, lanes.most));
        let expected = [
            (1, Some((16, 14))),
            (8, Some((16, 14))),
            (9, Some((32, 28))),
            (16, Some((32, 28))),
            (17, Some((64, 56))),
            (48, Some((64, 56))),
            (49, None),
        ];
        for (columns, lanes) in expected {
            assert_eq!(of(10, columns), lanes, "{columns} columns");
        }
        // Rows of the first class have at most 28 products.
        assert_eq!(of(FIRST_CLASS, 28), Some((64, 28)));
        assert_eq!(of(FIRST_CLASS, 90), Some((64, 28)));
        let little = Emulated::new(1).with_shared_bytes(6000);
        assert!(Lanes::new::<f64>(10, 9, little.device()).is_none());
        assert!(Lanes::new::<f64>(10, 9, device).is_some());
    }
}
