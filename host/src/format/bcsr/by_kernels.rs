//! CSR to BCSR and back.

use cuda_std::launch::Grid;
use gpu_kernels::convert::bcsr::{BcsrCounts, BcsrFromCsr, BcsrParts, CsrFromBcsr};

use crate::convert::blocks::{Blocks, Items};
use crate::convert::places::Filled;
use crate::convert::primitives::{Scan, launch};
use crate::convert::sort::sorted;
use crate::convert::width::{each_width, same_width};
use crate::device::{ALWAYS_SHARED_BYTES, WARP_LANES};
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::{Bcsr, BlockSize, Csr, FillLimit, bcsr_bytes_of};
use crate::memory::Buffer;
use crate::real::Scalar;
use crate::spmv::Intervals;

/// The same matrix as `matrix`, in BCSR with blocks of `size`. Takes 4 bytes for each row, or 12 for each block row if that
/// is more; where a row has more than 1024 entries, half a byte for each entry; and, where rows are not sorted, a second
/// copy of the entries.
///
/// # Errors
/// When the arrays would be larger than `limit` allows, there are 2^32 blocks or nearly so, memory runs out, or the
/// device fails.
pub fn from_csr<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: Csr<T, K::Memory>,
    size: BlockSize,
    limit: FillLimit,
) -> Result<Bcsr<T, K::Memory>, Error> {
    let matrix = sorted(executor, matrix)?;
    let (rows, columns) = (matrix.rows(), matrix.columns());
    let found = Blocks::new(executor, &matrix, size)?;
    let lengths = found.lengths()?;
    let scan = Scan::new(executor, &lengths)?;
    let blocks = scan.total() as usize;
    let bytes = bcsr_bytes_of::<T>(size, lengths.len(), blocks);
    limit.check(size.names().bcsr_storage, bytes, matrix.bytes())?;
    let block_offsets = scan.offsets(1)?.narrow("number of blocks", scan.total())?;
    let first_columns = found.first_columns(&scan.offsets_of(1)?, scan.total())?;
    drop((lengths, found));
    let mut values = executor.unwritten(blocks * size.places())?;
    let intervals = Intervals::new(blocks as u64, executor.device());
    let grid = with_room_for_blocks::<T>(intervals.grid(executor.device()), size);
    let mut filled = Filled::new(executor, grid)?;
    each_width!(matrix.row_offsets(), row_offsets => {
        let kernel = BcsrFromCsr {
            rows: rows as u32,
            row_offsets: row_offsets.global(),
            column_indices: matrix.column_indices().global(),
            entries: matrix.values().global(),
            height: size.rows() as u32,
            width: size.columns() as u32,
            blocks: blocks as u32,
            interval: intervals.length,
            block_offsets: block_offsets.global(),
            first_columns: first_columns.global(),
            values: values.global_mut(),
            counts: filled.counts.global_mut(),
        };
        // SAFETY: the matrix is valid and sorted, the blocks are all that it has, and there is a count for each warp.
        unsafe { launch(executor, grid, kernel) }
    })?;
    let stored = filled.total()?;
    Ok(Bcsr { rows, columns, stored, block_size: size, block_offsets, first_columns, values })
}

/// A grid of as many threads, each of which has shared memory for a block.
fn with_room_for_blocks<T>(grid: Grid, size: BlockSize) -> Grid {
    let bytes = (size.places() * size_of::<T>()) as u32;
    let threads_per_block =
        grid.threads_per_block.min(ALWAYS_SHARED_BYTES / bytes / WARP_LANES as u32 * WARP_LANES as u32);
    let threads = u64::from(grid.blocks) * u64::from(grid.threads_per_block);
    let blocks = threads.div_ceil(threads_per_block.into()) as u32;
    Grid { blocks, threads_per_block, shared_bytes: threads_per_block * bytes }
}

/// The same matrix in CSR. Takes 8 bytes (12 from 2^32 entries on, or nearly so) for each row and each 32 blocks of it,
/// and 8 bytes for each block row.
///
/// # Errors
/// When memory runs out, or the device fails.
pub fn into_csr<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: Bcsr<T, K::Memory>,
) -> Result<Csr<T, K::Memory>, Error> {
    let Bcsr { rows, columns, stored, block_size: size, block_offsets, first_columns, values } = matrix;
    let [kernel_rows, height, width] = [rows, size.rows(), size.columns()].map(|number| number as u32);
    let block_rows = rows.div_ceil(size.rows());
    let mut parts = executor.unwritten(block_rows)?;
    let kernel =
        BcsrParts { block_rows: block_rows as u32, block_offsets: block_offsets.global(), parts: parts.global_mut() };
    // SAFETY: the matrix is valid, and there is an element for each block row.
    unsafe { launch(executor, executor.device().grid(block_rows as u64), kernel) }?;
    let items = Items::new(executor, &parts, size)?;
    drop(parts);
    let grid = items.intervals.grid(executor.device());
    let mut counts = executor.unwritten(items.count as usize)?;
    let kernel = BcsrCounts {
        rows: kernel_rows,
        height,
        width,
        items: items.count,
        interval: items.intervals.length,
        item_offsets: items.offsets.global(),
        block_offsets: block_offsets.global(),
        values: values.global(),
        counts: counts.global_mut(),
    };
    // SAFETY: the matrix is valid, and there is a count for each item.
    unsafe { launch(executor, grid, kernel) }?;
    let begins = Scan::new(executor, &counts)?.offsets(1)?;
    drop(counts);
    let mut column_indices = executor.unwritten(stored)?;
    let mut entries = executor.unwritten(stored)?;
    let row_offsets = same_width!(&begins, begins => {
        // Zeros, because without rows no thread writes the only offset.
        let mut row_offsets = executor.zeros(rows + 1)?;
        let kernel = CsrFromBcsr {
            rows: kernel_rows,
            height,
            width,
            items: items.count,
            interval: items.intervals.length,
            item_offsets: items.offsets.global(),
            block_offsets: block_offsets.global(),
            first_columns: first_columns.global(),
            values: values.global(),
            begins: begins.global(),
            row_offsets: row_offsets.global_mut(),
            column_indices: column_indices.global_mut(),
            entries: entries.global_mut(),
        };
        // SAFETY: the matrix is valid, the parts behind `items` were made from it, and `begins` are the sums of the
        // counts of all items. They add up to `stored`, the length of the new arrays, and there are rows + 1 offsets.
        unsafe { launch(executor, grid, kernel) }?;
        row_offsets
    });
    Ok(Csr { rows, columns, stored, row_offsets, column_indices, values: entries })
}
