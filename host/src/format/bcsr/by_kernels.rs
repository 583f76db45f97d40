//! CSR to BCSR and back.

use cuda_std::launch::{Call, Grid};
use cuda_std::warp::WARP_LANES;
use cuda_std::{Global, GlobalMut};
use gpu_kernels::Offset;
use gpu_kernels::convert::bcsr::{BcsrCounts, BcsrFromCsr, BcsrParts, CsrFromBcsr};

use crate::convert::blocks::Blocks;
use crate::convert::from_blocks::{self, BlockItems, CsrArrays, FromBlocks};
use crate::convert::places::Filled;
use crate::convert::primitives::{Scan, launch};
use crate::convert::sort::sorted;
use crate::convert::width::each_width;
use crate::device::ALWAYS_SHARED_BYTES;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::{Bcsr, BlockSize, Csr, FillLimit, bcsr_bytes_of};
use crate::memory::Buffer;
use crate::real::Scalar;
use crate::spmv::Intervals;

/// Converts `matrix` to BCSR with blocks of `size`. Takes 4 bytes per row, or 12 per block row if that is more; if a
/// row has more than 1024 entries, half a byte per entry; and, if rows are not sorted, a second copy of the entries.
///
/// # Errors
/// When the arrays would exceed `limit`, there are nearly 2^32 blocks or more, memory runs out, or the device fails.
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
    limit.check(super::storage_name(size), bytes, matrix.bytes())?;
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

/// Returns a grid with at least as many threads, each with shared memory for a block.
fn with_room_for_blocks<T>(grid: Grid, size: BlockSize) -> Grid {
    let bytes = (size.places() * size_of::<T>()) as u32;
    let threads_per_block = grid.threads_per_block.min(ALWAYS_SHARED_BYTES / bytes / WARP_LANES * WARP_LANES);
    let threads = u64::from(grid.blocks) * u64::from(grid.threads_per_block);
    let blocks = threads.div_ceil(threads_per_block.into()) as u32;
    Grid { blocks, threads_per_block, shared_bytes: threads_per_block * bytes }
}

/// Converts the matrix to CSR. Takes 8 bytes (12 from nearly 2^32 entries on) per row and 32 of its blocks, and 8 bytes
/// per block row.
///
/// # Errors
/// When memory runs out, or the device fails.
pub(crate) fn into_csr<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: Bcsr<T, K::Memory>,
) -> Result<Csr<T, K::Memory>, Error> {
    let Bcsr { rows, columns, stored, block_size: size, block_offsets, first_columns, values } = matrix;
    let block_rows = rows.div_ceil(size.rows());
    let mut parts = executor.unwritten(block_rows)?;
    let kernel =
        BcsrParts { block_rows: block_rows as u32, block_offsets: block_offsets.global(), parts: parts.global_mut() };
    // SAFETY: the matrix is valid, and there is an element for each block row.
    unsafe { launch(executor, executor.device().grid(block_rows as u64), kernel) }?;
    let blocks = BcsrBlocks {
        block_offsets: block_offsets.global(),
        first_columns: first_columns.global(),
        values: values.global(),
    };
    // SAFETY: the matrix is valid, the parts are those of its block rows, and its arrays live until the end.
    unsafe { from_blocks::into_csr(executor, &blocks, [rows, columns, stored], size, parts) }
}

/// The arrays of a matrix in BCSR.
struct BcsrBlocks<T> {
    block_offsets: Global<u32>,
    first_columns: Global<u32>,
    values: Global<T>,
}

impl<T: Scalar> FromBlocks<T> for BcsrBlocks<T> {
    fn counts(&self, items: BlockItems, counts: GlobalMut<u32>) -> Call {
        let BlockItems { rows, height, width, items, interval, item_offsets } = items;
        let &Self { block_offsets, values, .. } = self;
        Call::new(BcsrCounts { rows, height, width, items, interval, item_offsets, block_offsets, values, counts })
    }

    fn entries<O: Offset>(&self, items: BlockItems, begins: Global<O>, csr: CsrArrays<T, O>) -> Call {
        let BlockItems { rows, height, width, items, interval, item_offsets } = items;
        let &Self { block_offsets, first_columns, values } = self;
        let CsrArrays { row_offsets, column_indices, values: entries } = csr;
        Call::new(CsrFromBcsr {
            rows,
            height,
            width,
            items,
            interval,
            item_offsets,
            block_offsets,
            first_columns,
            values,
            begins,
            row_offsets,
            column_indices,
            entries,
        })
    }
}
