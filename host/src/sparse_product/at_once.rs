//! Rows that are computed before their lengths are known, on a GPU or its emulator.
//!
//! A class of many rows, or of many products, gets tables for about as many columns as a sample of its rows has: one for each
//! lane where rows are many and these columns few, otherwise one for each team of lanes, unless the columns are too many.
//! Rows with more columns are counted afterwards. Other classes of few products get tables for the most columns that the
//! class allows.

use cuda_std::launch::Grid;
use cuda_std::{Global, GlobalMut};
use gpu_kernels::Offset;
use gpu_kernels::sparse_product::classes::{CLASSES, FIRST_CLASS, most_products};
use gpu_kernels::sparse_product::sample::{ProductLongest, ProductSample};

use super::by_kernels::Begins;
use super::lanes::{Lanes, are_many};
use super::order::{Order, by_length};
use super::patterns::HUGE_CLASS;
use super::sides::Sides;
use super::workspace::LAST_SMALL_CLASS;
use crate::convert::primitives::{Array, launch};
use crate::device::{Device, with_shared_for_each_warp};
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::memory::{Buffer, Element, Memory, with_capacity};
use crate::real::Scalar;

/// The largest class of which a sample is counted, of at most 7,168 products or columns of B.
const LAST_SAMPLED_CLASS: u32 = 13;

/// Number of rows that are counted to find out how many columns rows of a class have.
const SAMPLE: u32 = 64;

/// The smallest and the largest number of slots of a team's table that a sample decides on. Three quarters hold columns: up to 32
/// lanes insert one more each before they notice that a row has too many.
const SLOTS_OF_TEAM: (u32, u32) = (128, 256);

const _: () = assert!(LAST_SAMPLED_CLASS < HUGE_CLASS, "larger classes are processed together");
const _: () =
    assert!(SLOTS_OF_TEAM.1 / 4 * 3 <= most_products(LAST_SMALL_CLASS), "the workspace has room for these rows");

/// How rows of a class are computed before their lengths are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum AtOnce {
    /// By one lane each.
    ByLanes(Lanes),
    /// By teams with the tables of a class.
    ByTeams {
        /// The class.
        class: u32,
        /// The largest number of columns.
        most: u32,
    },
}

impl AtOnce {
    /// Teams with room for the most columns that the class allows; none if these are many. `last` is the last class with
    /// tables.
    fn by_class(class: u32, last: u32) -> Option<Self> {
        (class <= LAST_SMALL_CLASS.min(last)).then(|| Self::ByTeams { class, most: most_products(class) })
    }

    /// For a number of rows of a class of which the longest in a sample has `longest` columns; none if that is too many.
    fn by_sample<T>((class, rows): (u32, u32), longest: u32, last: u32, device: &Device) -> Option<Self> {
        // Other rows may have a few more.
        let expected = longest + longest / 16;
        let of_lanes = Lanes::new::<T>((class, rows), expected, device);
        if of_lanes.is_some() {
            return of_lanes.map(Self::ByLanes);
        }
        let (least, most) = SLOTS_OF_TEAM;
        let slots = (expected + expected.div_ceil(3)).next_power_of_two().max(least);
        if slots <= most && slots < 1 << class && slots.ilog2() <= last {
            return Some(Self::ByTeams { class: slots.ilog2(), most: slots / 4 * 3 });
        }
        Self::by_class(class, last)
    }

    /// The largest number of columns, and the distance between rows.
    pub fn most(&self) -> u32 {
        match self {
            Self::ByLanes(lanes) => lanes.most,
            Self::ByTeams { most, .. } => *most,
        }
    }
}

/// How rows of each class are computed before their lengths are known; none for classes that are counted first.
pub(super) type AtOnceOfClasses = [Option<AtOnce>; CLASSES as usize];

/// The rows of a class of which some have more columns than expected.
pub(super) struct TooLong<M: Memory> {
    /// All rows of the class, by length; that of rows that are too long is the largest.
    by_length: Order<M>,
}

impl<M: Memory> TooLong<M> {
    /// The rows that are too long, and their number.
    pub fn rows(&self) -> (u32, Global<u32>) {
        (self.by_length.above(CLASSES - 2), self.by_length.rows_after(0))
    }
}

impl<T: Scalar, K: KernelExecutor, O: Offset + Element> Sides<'_, T, K, O> {
    /// How rows of each class below `first_listed` are computed before their lengths are known. Counts some rows of these
    /// classes.
    pub fn at_once_of_classes(
        &self,
        order: &Order<K::Memory>,
        first_listed: u32,
        lengths: &mut Array<K, u32>,
    ) -> Result<AtOnceOfClasses, Error> {
        let (executor, device) = (self.executor, self.executor.device());
        let last = self.tables_of_rows().last_class(device);
        let is_sampled = |&class: &u32| self.is_sampled(order, class);
        let classes = FIRST_CLASS..first_listed;
        let mut longest = None;
        for class in classes.clone().filter(is_sampled) {
            let longest = match &mut longest {
                Some(longest) => longest,
                none => none.insert(executor.zeros::<u32>(CLASSES as usize)?),
            };
            self.sample(order, class, lengths, longest.global_mut().after(class as usize))?;
        }
        let longest = longest.map(|longest| executor.download(&longest)).transpose()?;
        let mut all = AtOnceOfClasses::default();
        for class in classes {
            all[class as usize] = match &longest {
                Some(longest) if is_sampled(&class) => {
                    let (rows, longest) = (order.count(class), longest[class as usize]);
                    AtOnce::by_sample::<T>((class, rows), longest, last, device)
                }
                _ => AtOnce::by_class(class, last),
            };
        }
        Ok(all)
    }

    /// Whether a sample of the class is counted.
    fn is_sampled(&self, order: &Order<K::Memory>, class: u32) -> bool {
        if class > LAST_SAMPLED_CLASS {
            return false;
        }
        let rows = order.count(class);
        rows > 0 && (class > LAST_SMALL_CLASS || are_many(rows, self.executor.device()))
    }

    /// Whether a class is so small that the sample is all its rows.
    pub fn sample_is_all(&self, order: &Order<K::Memory>, class: u32) -> bool {
        self.is_sampled(order, class) && order.count(class) <= SAMPLE
    }

    /// Counts some rows of a class, by a block each if the device has room for these, and finds the largest number of their
    /// columns.
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

    /// Computes rows of a class, with room for [`most`](AtOnce::most) columns each.
    ///
    /// # Safety
    /// It was determined for this class of these matrices. There is room for the columns and values of each row, their places
    /// fit 32 bits, and there is a length for each row, and a flag.
    pub unsafe fn compute_at_once(
        &self,
        at_once: &AtOnce,
        rows: (u32, Global<u32>),
        to: (GlobalMut<u32>, GlobalMut<T>),
        lengths: GlobalMut<u32>,
        too_long: GlobalMut<u32>,
    ) -> Result<(), Error> {
        match *at_once {
            // SAFETY: as the caller promises.
            AtOnce::ByLanes(lanes) => unsafe { self.compute_by_lanes(&lanes, rows, to, lengths, too_long) },
            AtOnce::ByTeams { class, most } => {
                let begins = Begins::Apart { most, too_long };
                // SAFETY: if `most` is what the class of the rows allows, they have fewer columns than slots; otherwise it is
                // three quarters of at least 128 slots, and a quarter is at least the lanes of a warp. The rest is the
                // caller's promise.
                unsafe { self.compute_rows(class, rows, begins, to, lengths) }
            }
        }
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
        for class in (FIRST_CLASS..CLASSES).filter(|&class| flags[class as usize] != 0) {
            let rows = (order.count(class), order.rows_after(order.above(class)));
            // SAFETY: the order has these rows, and there is a length for each row.
            let by_length = unsafe { by_length(executor, rows, lengths.global()) }?;
            let too_long = TooLong { by_length };
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
    fn a_sample_decides_on_lanes_or_on_smaller_tables_of_teams() {
        let emulator = Emulated::new(1);
        let of = |class, longest| AtOnce::by_sample::<f64>((class, 1 << 20), longest, 10, emulator.device());
        let by_teams = |class, most| Some(AtOnce::ByTeams { class, most });
        assert!(matches!(of(10, 40), Some(AtOnce::ByLanes(_))));
        // Too few rows or too many columns for lanes, or too many products.
        assert_eq!(AtOnce::by_sample::<f64>((10, 2), 3, 10, emulator.device()), by_teams(7, 96));
        assert_eq!(of(10, 50), by_teams(7, 96));
        assert_eq!(of(11, 3), by_teams(7, 96));
        assert_eq!(of(13, 91), by_teams(7, 96));
        assert_eq!(of(13, 92), by_teams(8, 192));
        assert_eq!(of(9, 181), by_teams(8, 192));
        // Too many for a smaller table.
        assert_eq!(of(9, 182), None);
        assert_eq!(of(8, 92), by_teams(8, 224));
        assert_eq!(of(7, 80), by_teams(7, 112));
        // No table that large.
        assert_eq!(AtOnce::by_sample::<f64>((12, 9), 100, 7, emulator.device()), None);
        assert_eq!(AtOnce::by_sample::<f64>((8, 9), 100, 7, emulator.device()), None);
    }
}
