//! The rows of a product in the order of their classes.

use cuda_std::Global;
use gpu_kernels::sparse_product::classes::{CLASSES, ProductClassEnds, ProductClassesByLength};

use crate::convert::primitives::{Array, launch};
use crate::convert::radix::{Sorted, sorted_up_to};
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
    /// Calls `work` for each non-empty class up to `last`, except that of empty rows, in descending order, with the
    /// class, the number of its rows, and the rows. All classes larger than `last` come first, together, as class
    /// `last` + 1.
    pub fn for_each(
        &self,
        last: u32,
        mut work: impl FnMut(u32, u32, Global<u32>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut begin = 0;
        for number in (1..=last + 1).rev() {
            let end = self.ends[number as usize];
            if end > begin {
                work(number, end - begin, self.rows.global().after(begin as usize))?;
            }
            begin = end;
        }
        Ok(())
    }
}

/// The rows in the order of their classes, by their lengths. Takes 20 bytes per row, and keeps 4.
pub(super) fn by_length<K: KernelExecutor>(executor: &K, lengths: &Array<K, u32>) -> Result<Order<K::Memory>, Error> {
    let rows = lengths.len() as u32;
    let mut classes = executor.unwritten(lengths.len())?;
    let kernel = ProductClassesByLength { rows, lengths: lengths.global(), classes: classes.global_mut() };
    // SAFETY: there is a length and a class for each row.
    unsafe { launch(executor, executor.device().grid(rows.into()), kernel) }?;
    by_class(executor, classes)
}

/// The rows in the order of their classes. Takes 16 bytes per row, and keeps 4.
pub(super) fn by_class<K: KernelExecutor>(executor: &K, classes: Array<K, u32>) -> Result<Order<K::Memory>, Error> {
    let rows = classes.len() as u32;
    let Sorted { rows: in_order, keys } = sorted_up_to(executor, classes, CLASSES - 1)?;
    let mut ends = executor.unwritten(CLASSES as usize)?;
    let kernel = ProductClassEnds { rows, count: CLASSES, classes: keys.global(), ends: ends.global_mut() };
    // SAFETY: there is a sorted class for each row, and an end for each class, for which the grid has a thread.
    unsafe { launch(executor, executor.device().grid_of(CLASSES.into()), kernel) }?;
    Ok(Order { rows: in_order, ends: executor.download(&ends)? })
}
