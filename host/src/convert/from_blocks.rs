//! Conversion of dense blocks back to CSR: common parts of BCSR and BELLPACK.

use cuda_std::launch::{Call, Launch};
use cuda_std::{Global, GlobalMut};
use gpu_kernels::Offset;

use super::blocks::Items;
use super::primitives::{Array, Scan};
use super::width::same_width;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::{BlockSize, Csr};
use crate::memory::Buffer;
use crate::real::Scalar;

/// The kernels that take the blocks of a format apart.
pub(crate) trait FromBlocks<T: Scalar> {
    /// Counts the entries of each item.
    fn counts(&self, items: BlockItems, counts: GlobalMut<u32>) -> Call;

    /// Writes the entries of each item, which begin at `begins`, and the offset of each row.
    fn entries<O: Offset>(&self, items: BlockItems, begins: Global<O>, csr: CsrArrays<T, O>) -> Call;
}

/// [`Items`] as the kernels take them, and the blocks that they are made of.
#[derive(Clone, Copy)]
pub(crate) struct BlockItems {
    pub rows: u32,
    pub height: u32,
    pub width: u32,
    pub items: u32,
    pub interval: u64,
    pub item_offsets: Global<u32>,
}

/// Arrays of a matrix in CSR.
#[derive(Clone, Copy)]
pub(crate) struct CsrArrays<T, O> {
    pub row_offsets: GlobalMut<O>,
    pub column_indices: GlobalMut<u32>,
    pub values: GlobalMut<T>,
}

/// Converts a matrix of `rows` rows, `columns` columns and `stored` entries to CSR. `parts` is the number of parts into
/// which the rows of each block row are divided.
///
/// # Errors
/// When there are 2^32 parts of rows or more, memory runs out, or the device fails.
///
/// # Safety
/// The kernels of `blocks` must be launched on a valid matrix of this shape, in blocks of `size`, from which `parts`
/// was made.
pub(crate) unsafe fn into_csr<T: Scalar, K: KernelExecutor>(
    executor: &K,
    blocks: &impl FromBlocks<T>,
    [rows, columns, stored]: [usize; 3],
    size: BlockSize,
    parts: Array<K, u32>,
) -> Result<Csr<T, K::Memory>, Error> {
    let items = Items::new(executor, &parts, size)?;
    drop(parts);
    let grid = items.intervals.grid(executor.device());
    let arguments = BlockItems {
        rows: rows as u32,
        height: size.rows() as u32,
        width: size.columns() as u32,
        items: items.count,
        interval: items.intervals.length,
        item_offsets: items.offsets.global(),
    };
    let mut counts = executor.unwritten(items.count as usize)?;
    let call = blocks.counts(arguments, counts.global_mut());
    // SAFETY: the matrix is valid, by the caller, and there is a count for each item.
    unsafe { executor.launch(&Launch { grid, call }) }?;
    let begins = Scan::new(executor, &counts)?.offsets(1)?;
    drop(counts);
    let mut column_indices = executor.unwritten(stored)?;
    let mut values = executor.unwritten(stored)?;
    let row_offsets = same_width!(&begins, begins => {
        // Zeros, because without rows no thread writes the only offset.
        let mut row_offsets = executor.zeros(rows + 1)?;
        let csr = CsrArrays {
            row_offsets: row_offsets.global_mut(),
            column_indices: column_indices.global_mut(),
            values: values.global_mut(),
        };
        let call = blocks.entries(arguments, begins.global(), csr);
        // SAFETY: the matrix is valid and the parts behind `items` were made from it, by the caller. `begins` are the
        // sums of the counts of all items. They add up to `stored`, the length of the new arrays, and there are rows +
        // 1 offsets.
        unsafe { executor.launch(&Launch { grid, call }) }?;
        row_offsets
    });
    Ok(Csr { rows, columns, stored, row_offsets, column_indices, values })
}
