//! Products by kernels, on a GPU or the emulator of one.
//!
//! Rows of C are put in classes by their number of products, or that of the columns of B if it is less. A class has a hash
//! table of a power of two of slots for each row that is worked on, in shared memory. Rows that none of these holds, the
//! longest, have a bit for each column of B in global memory instead, in blocks that take no more than
//! [`MOST_BIT_BYTES`] together. Rows are counted so, then put in classes by their own lengths, and written. Only the
//! number of entries and those of the classes' rows come to the host.

use cuda_std::Global;
use cuda_std::launch::Grid;
use gpu_kernels::Offset;
use gpu_kernels::sparse_product::classes::{ProductClassEnds, ProductClasses, ProductClassesByLength};
use gpu_kernels::sparse_product::long_rows::{ProductLongColumns, ProductLongLengths};
use gpu_kernels::sparse_product::pattern::{ProductColumns, ProductLengths};
use gpu_kernels::sparse_product::values::ProductValues;

use super::classes::{CLASSES, Class, Classes};
use super::not_in_pattern;
use crate::convert::primitives::{Array, Scan, columns_ascend, launch, one_number};
use crate::convert::radix::{Sorted, sorted_by};
use crate::convert::wide::wide;
use crate::device::with_shared_for_each_warp;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::{Csr, Offsets};
use crate::memory::{Buffer, Element, Memory};
use crate::real::Scalar;

/// Bytes of the bits of all blocks at most: as many as one block needs for the columns of the largest matrix.
const MOST_BIT_BYTES: u64 = 256 << 20;

/// C = A B.
///
/// # Errors
/// When memory runs out, or the device fails.
pub(super) fn multiply<T: Scalar, K: KernelExecutor>(
    executor: &K,
    left: &Csr<T, K::Memory>,
    right: &Csr<T, K::Memory>,
) -> Result<Csr<T, K::Memory>, Error> {
    let (row_offsets, column_indices) = pattern(executor, left, right)?;
    let values = executor.unwritten(column_indices.len())?;
    let mut product = Csr::from_valid(left.rows(), right.columns(), row_offsets, column_indices, values);
    compute(executor, left, right, &mut product)?;
    Ok(product)
}

/// Calculates the values of a product whose pattern is known.
///
/// # Errors
/// When there is a product where the pattern has no entry, or the device fails; the values mean nothing then.
pub(super) fn compute<T: Scalar, K: KernelExecutor>(
    executor: &K,
    left: &Csr<T, K::Memory>,
    right: &Csr<T, K::Memory>,
    product: &mut Csr<T, K::Memory>,
) -> Result<(), Error> {
    let values = ValuesOf { left, right, repeats: !columns_ascend(executor, right, 1)? };
    let Csr { rows, row_offsets, column_indices, values: sums, .. } = product;
    let (rows, columns) = (*rows as u32, column_indices.global());
    match (left.row_offsets(), right.row_offsets(), &*row_offsets) {
        (Offsets::Narrow(left), Offsets::Narrow(right), Offsets::Narrow(own)) => {
            values.add_up(executor, rows, [left, right, own].map(Buffer::global), columns, sums)
        }
        (left, right, own) => {
            let [left, right, own] = [wide(executor, left)?, wide(executor, right)?, wide(executor, own)?];
            values.add_up(executor, rows, [&left, &right, &own].map(|offsets| offsets.global()), columns, sums)
        }
    }
}

/// What values are calculated from.
struct ValuesOf<'a, T: Scalar, K: KernelExecutor> {
    left: &'a Csr<T, K::Memory>,
    right: &'a Csr<T, K::Memory>,
    /// Whether a row of the right matrix may have a column more than once.
    repeats: bool,
}

impl<T: Scalar, K: KernelExecutor> ValuesOf<'_, T, K> {
    fn add_up<O: Offset + Element>(
        &self,
        executor: &K,
        rows: u32,
        [left_offsets, right_offsets, offsets]: [Global<O>; 3],
        columns: Global<u32>,
        values: &mut Array<K, T>,
    ) -> Result<(), Error> {
        let Self { left, right, repeats } = *self;
        let lanes = lanes_of_rows(right);
        let mut outside = executor.zeros(1)?;
        let kernel = ProductValues {
            rows,
            lanes,
            repeats: repeats.into(),
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
        let grid = executor.device().uneven_grid(u64::from(rows) * u64::from(lanes));
        // SAFETY: the three matrices are valid, and the caller has compared their shapes; the product's rows were written in
        // ascending order, and whether those of the right matrix repeat a column was looked at; blocks are whole warps.
        unsafe { launch(executor, grid, kernel) }?;
        if one_number(executor, &outside)? == 0 { Ok(()) } else { Err(not_in_pattern()) }
    }
}

/// Lanes that share a row of the matrix: about as many as it has entries on average, at least 4.
fn lanes_of_rows<T: Scalar, M: Memory>(matrix: &Csr<T, M>) -> u32 {
    let mean = matrix.nnz().div_ceil(matrix.rows().max(1));
    mean.next_power_of_two().clamp(4, 32) as u32
}

/// Where each row of a product begins, and its columns.
type Pattern<M> = (Offsets<M>, <M as Memory>::Buffer<u32>);

/// The pattern of the product, the columns of each row in ascending order.
fn pattern<T: Scalar, K: KernelExecutor>(
    executor: &K,
    left: &Csr<T, K::Memory>,
    right: &Csr<T, K::Memory>,
) -> Result<Pattern<K::Memory>, Error> {
    let lengths = match (left.row_offsets(), right.row_offsets()) {
        (Offsets::Narrow(of_left), Offsets::Narrow(of_right)) => {
            Sides::new(executor, left, right, of_left.global(), of_right.global()).lengths()
        }
        (of_left, of_right) => {
            let (of_left, of_right) = (wide(executor, of_left)?, wide(executor, of_right)?);
            Sides::new(executor, left, right, of_left.global(), of_right.global()).lengths()
        }
    }?;
    let scan = Scan::new(executor, &lengths)?;
    let offsets = scan.offsets(1)?;
    let mut columns = executor.unwritten(scan.total() as usize)?;
    drop(scan);
    match (left.row_offsets(), right.row_offsets(), &offsets) {
        (Offsets::Narrow(of_left), Offsets::Narrow(of_right), Offsets::Narrow(own)) => {
            let sides = Sides::new(executor, left, right, of_left.global(), of_right.global());
            sides.columns(&lengths, own.global(), &mut columns)
        }
        (of_left, of_right, own) => {
            let [of_left, of_right, own] = [wide(executor, of_left)?, wide(executor, of_right)?, wide(executor, own)?];
            let sides = Sides::new(executor, left, right, of_left.global(), of_right.global());
            sides.columns(&lengths, own.global(), &mut columns)
        }
    }?;
    Ok((offsets, columns))
}

/// The patterns of A and B.
struct Sides<'a, K: KernelExecutor, O> {
    executor: &'a K,
    rows: u32,
    /// Columns of B.
    columns: u32,
    left_offsets: Global<O>,
    left_columns: Global<u32>,
    right_offsets: Global<O>,
    right_columns: Global<u32>,
    /// Lanes that share a row of A, and of B.
    lanes: [u32; 2],
    classes: Classes,
}

impl<'a, K: KernelExecutor, O: Offset + Element> Sides<'a, K, O> {
    /// The offsets are those of the matrices.
    fn new<T: Scalar>(
        executor: &'a K,
        left: &Csr<T, K::Memory>,
        right: &Csr<T, K::Memory>,
        left_offsets: Global<O>,
        right_offsets: Global<O>,
    ) -> Self {
        Self {
            executor,
            rows: left.rows() as u32,
            columns: right.columns() as u32,
            left_offsets,
            left_columns: left.column_indices().global(),
            right_offsets,
            right_columns: right.column_indices().global(),
            lanes: [lanes_of_rows(left), lanes_of_rows(right)],
            classes: Classes::new(executor.device()),
        }
    }

    /// The number of different columns of each row of the product.
    fn lengths(&self) -> Result<Array<K, u32>, Error> {
        let (executor, rows) = (self.executor, self.rows);
        let mut lengths = executor.zeros(rows as usize)?;
        let mut classes = executor.unwritten(rows as usize)?;
        let kernel = ProductClasses {
            rows,
            columns: self.columns,
            lanes: self.lanes[0],
            last_class: self.classes.last,
            left_offsets: self.left_offsets,
            left_columns: self.left_columns,
            right_offsets: self.right_offsets,
            classes: classes.global_mut(),
        };
        let grid = executor.device().uneven_grid(u64::from(rows) * u64::from(self.lanes[0]));
        // SAFETY: the matrices are valid and fit each other, and there is a class for each row.
        unsafe { launch(executor, grid, kernel) }?;
        let Sides { left_offsets, left_columns, right_offsets, right_columns, .. } = *self;
        self.for_each_class(classes, |class, rows| {
            let grid = class.grid(executor.device());
            let kernel = ProductLengths {
                count: class.rows,
                lanes: class.lanes,
                together: self.lanes[1].min(class.lanes),
                slots: class.slots,
                rows,
                left_offsets,
                left_columns,
                right_offsets,
                right_columns,
                lengths: lengths.global_mut(),
            };
            if class.slots > 0 {
                // SAFETY: the matrices are valid and fit each other; no row of the class has more products, or the right
                // matrix more columns, than there are slots; the grid has the shared memory.
                return unsafe { launch(executor, grid, kernel) };
            }
            let (mut bits, words, grid) = self.bits(class)?;
            let kernel = ProductLongLengths {
                count: class.rows,
                together: self.lanes[1],
                words,
                rows,
                left_offsets,
                left_columns,
                right_offsets,
                right_columns,
                bits: bits.global_mut(),
                lengths: lengths.global_mut(),
            };
            // SAFETY: as for the other; each block has zeros for all columns, and the shared memory.
            unsafe { launch(executor, grid, kernel) }
        })?;
        Ok(lengths)
    }

    /// Writes the columns of each row, whose lengths are known.
    fn columns(&self, lengths: &Array<K, u32>, offsets: Global<O>, columns: &mut Array<K, u32>) -> Result<(), Error> {
        let (executor, rows) = (self.executor, self.rows);
        let mut classes = executor.unwritten(rows as usize)?;
        let kernel = ProductClassesByLength {
            rows,
            last_class: self.classes.last,
            lengths: lengths.global(),
            classes: classes.global_mut(),
        };
        // SAFETY: there is a length and a class for each row.
        unsafe { launch(executor, executor.device().grid(rows.into()), kernel) }?;
        let Sides { left_offsets, left_columns, right_offsets, right_columns, .. } = *self;
        self.for_each_class(classes, |class, rows| {
            let grid = class.grid(executor.device());
            let kernel = ProductColumns {
                count: class.rows,
                lanes: class.lanes,
                together: self.lanes[1].min(class.lanes),
                slots: class.slots,
                rows,
                left_offsets,
                left_columns,
                right_offsets,
                right_columns,
                offsets,
                columns: columns.global_mut(),
            };
            if class.slots > 0 {
                // SAFETY: the matrices are valid and fit each other, no row of the class has more columns than there are
                // slots, and the offsets are the sums of the rows' lengths; the grid has the shared memory.
                return unsafe { launch(executor, grid, kernel) };
            }
            let (mut bits, words, grid) = self.bits(class)?;
            let kernel = ProductLongColumns {
                count: class.rows,
                together: self.lanes[1],
                words,
                rows,
                left_offsets,
                left_columns,
                right_offsets,
                right_columns,
                bits: bits.global_mut(),
                offsets,
                columns: columns.global_mut(),
            };
            // SAFETY: as for the other; each block has zeros for all columns, and the shared memory.
            unsafe { launch(executor, grid, kernel) }
        })
    }

    /// Calls `work` with each class that has rows, but for that of empty ones, and with the rows. Takes 16 bytes a row.
    fn for_each_class(
        &self,
        classes: Array<K, u32>,
        mut work: impl FnMut(&Class, Global<u32>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.rows == 0 {
            return Ok(());
        }
        let Sorted { rows, keys } = sorted_by(self.executor, classes)?;
        let mut ends = self.executor.unwritten(CLASSES as usize)?;
        let kernel =
            ProductClassEnds { rows: self.rows, count: CLASSES, classes: keys.global(), ends: ends.global_mut() };
        // SAFETY: there is a class for each row, sorted, and an end for each class, to which the grid has a thread.
        unsafe { launch(self.executor, self.executor.device().grid_of(CLASSES.into()), kernel) }?;
        let ends = self.executor.download(&ends)?;
        let mut begin = 0;
        for number in (1..CLASSES).rev() {
            let end = ends[number as usize];
            if end > begin {
                let class = self.classes.class(number, end - begin, self.executor.device());
                work(&class, rows.global().after(begin as usize))?;
            }
            begin = end;
        }
        Ok(())
    }

    /// Zeros for the bits of long rows, the words of a block, and the grid of blocks that have them.
    fn bits(&self, class: &Class) -> Result<(Array<K, u32>, u32, Grid), Error> {
        let words = self.columns.div_ceil(u32::BITS);
        let device = self.executor.device();
        let resident = device.resident_threads().div_ceil(device.tuning.threads_per_block().into());
        let most = (MOST_BIT_BYTES / (4 * u64::from(words).max(1))).min(resident).clamp(1, class.rows.into());
        let grid = Grid { blocks: most as u32, threads_per_block: device.tuning.threads_per_block(), shared_bytes: 0 };
        let bits = self.executor.zeros(most as usize * words as usize)?;
        Ok((bits, words, with_shared_for_each_warp(grid, 8)))
    }
}
