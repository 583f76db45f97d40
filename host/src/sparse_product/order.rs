//! The rows of a product in the order of their classes.

use cuda_std::Global;
use gpu_kernels::sparse_product::classes::{CLASSES, ProductClassEnds, ProductClassesByLength};

use crate::convert::primitives::launch;
use crate::convert::radix::{Sorted, sort_up_to};
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::memory::{Buffer, Memory};

/// The rows of a product in the order of their classes, the longest rows first.
pub(super) struct Order<M: Memory> {
    rows: M::Buffer<u32>,
    /// Number of rows in each class and all larger ones.
    ends: Vec<u32>,
}

impl<M: Memory> Order<M> {
    /// Number of rows of a class but the last.
    pub fn count(&self, class: u32) -> u32 {
        self.ends[class as usize] - self.above(class)
    }

    /// Number of rows of all larger classes; they come first.
    pub fn above(&self, class: u32) -> u32 {
        self.ends[class as usize + 1]
    }

    /// The rows in order, after the first `skipped`.
    pub fn rows_after(&self, skipped: u32) -> Global<u32> {
        self.rows.global().after(skipped as usize)
    }

    /// Calls `work` for each non-empty class up to `last`, except that of empty rows, in descending order, with the
    /// class, the number of its rows, and the rows. All classes larger than `last` come first, together, as class
    /// `last` + 1.
    pub fn for_each(
        &self,
        last: u32,
        work: impl FnMut(u32, u32, Global<u32>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.for_each_after(0, last, work)
    }

    /// Same as [`for_each`](Self::for_each), without the first `skipped` rows.
    pub fn for_each_after(
        &self,
        skipped: u32,
        last: u32,
        mut work: impl FnMut(u32, u32, Global<u32>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut begin = skipped;
        for number in (1..=last + 1).rev() {
            let end = self.ends[number as usize];
            if end > begin {
                work(number, end - begin, self.rows_after(begin))?;
                begin = end;
            }
        }
        Ok(())
    }
}

/// Some rows in the order of their classes, by their lengths. Takes 16 bytes per row, and keeps 4.
///
/// # Safety
/// There are `count` rows, and a length for each row of the product.
pub(super) unsafe fn by_length<K: KernelExecutor>(
    executor: &K,
    (count, rows): (u32, Global<u32>),
    lengths: Global<u32>,
) -> Result<Order<K::Memory>, Error> {
    let (mut copies, mut classes) = (executor.unwritten(count as usize)?, executor.unwritten(count as usize)?);
    let kernel =
        ProductClassesByLength { count, rows, lengths, copies: copies.global_mut(), classes: classes.global_mut() };
    // SAFETY: there are a copy and a class for each row; the rest is the caller's promise.
    unsafe { launch(executor, executor.device().grid(count.into()), kernel) }?;
    by_class(executor, Sorted { rows: copies, keys: classes })
}

/// Rows in the order of their classes. Takes 16 bytes per row, and keeps 4.
pub(super) fn by_class<K: KernelExecutor>(executor: &K, classified: Sorted<K>) -> Result<Order<K::Memory>, Error> {
    let rows = classified.keys.len() as u32;
    let Sorted { rows: in_order, keys } = sort_up_to(executor, classified, CLASSES - 1)?;
    let mut ends = executor.unwritten(CLASSES as usize)?;
    let kernel = ProductClassEnds { rows, count: CLASSES, classes: keys.global(), ends: ends.global_mut() };
    // SAFETY: there is a sorted class for each row, and an end for each class, for which the grid has a thread.
    unsafe { launch(executor, executor.device().grid_of(CLASSES.into()), kernel) }?;
    Ok(Order { rows: in_order, ends: executor.download(&ends)? })
}
