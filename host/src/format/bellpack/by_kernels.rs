//! CSR to BELLPACK and back.

use cuda_std::launch::Call;
use cuda_std::{Global, GlobalMut};
use gpu_kernels::Offset;
use gpu_kernels::convert::bellpack::{BellpackCounts, BellpackFromCsr, BellpackParts, BellpackWidths, CsrFromBellpack};

use crate::convert::blocks::Blocks;
use crate::convert::from_blocks::{self, BlockItems, CsrArrays, FromBlocks};
use crate::convert::places::Filled;
use crate::convert::primitives::{Array, Scan, launch, one_number};
use crate::convert::radix::{Sorted, sorted_by};
use crate::convert::sort::sorted;
use crate::convert::width::each_width;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::{Bellpack, BlockSize, Csr, FillLimit, PartitionRows, TOTAL_WIDTH, bellpack_bytes_of};
use crate::memory::Buffer;
use crate::real::Scalar;

/// Converts `matrix` to BELLPACK with blocks of `size`. Takes 4 bytes per block and 24 per block row; if a row has more
/// than 1024 entries, half a byte per entry; and, if rows are not sorted, a second copy of the entries.
///
/// # Errors
/// When the arrays would exceed `limit`, the total width of the partitions is nearly 2^32 blocks or more, memory runs
/// out, or the device fails.
pub(crate) fn from_csr<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: Csr<T, K::Memory>,
    size: BlockSize,
    partition_rows: PartitionRows,
    limit: FillLimit,
) -> Result<Bellpack<T, K::Memory>, Error> {
    let partition_rows = partition_rows.get();
    let matrix = sorted(executor, matrix)?;
    let (rows, columns) = (matrix.rows(), matrix.columns());
    let found = Blocks::new(executor, &matrix, size)?;
    let lengths = found.lengths()?;
    let scan = Scan::new(executor, &lengths)?;
    let (begins, total) = (scan.offsets_of(1)?, scan.total());
    let Sorted { rows: block_rows, keys: lengths } = sorted_by(executor, lengths)?;
    let (widths, last_width) = widths(executor, &lengths, partition_rows)?;
    let scan = Scan::new(executor, &widths)?;
    let total_width = scan.total();
    let missing = (block_rows.len().next_multiple_of(partition_rows) - block_rows.len()) as u128;
    let padded = u128::from(total_width) * partition_rows as u128 - u128::from(last_width) * missing;
    let bytes = bellpack_bytes_of::<T>(size, block_rows.len(), partition_rows, padded);
    limit.check(super::storage_name(size), bytes, matrix.bytes())?;
    let partition_offsets = scan.offsets(1)?.narrow(TOTAL_WIDTH, total_width)?;
    drop(widths);
    // More blocks than memory has bytes cannot be allocated, so saturation loses nothing.
    let blocks = usize::try_from(padded).unwrap_or(usize::MAX);
    let mut first_columns = executor.unwritten(blocks)?;
    let mut values = executor.unwritten(blocks.saturating_mul(size.places()))?;
    let listed_columns = found.first_columns(&begins, total)?;
    let grid = executor.device().grid(total_width * partition_rows as u64);
    let mut filled = Filled::new(executor, grid)?;
    each_width!(matrix.row_offsets(), row_offsets => {
        let kernel = BellpackFromCsr {
            rows: rows as u32,
            row_offsets: row_offsets.global(),
            column_indices: matrix.column_indices().global(),
            entries: matrix.values().global(),
            height: size.rows() as u32,
            width: size.columns() as u32,
            begins: begins.global(),
            listed_columns: listed_columns.global(),
            lengths: lengths.global(),
            partition_rows: partition_rows as u32,
            partition_offsets: partition_offsets.global(),
            block_rows: block_rows.global(),
            first_columns: first_columns.global_mut(),
            values: values.global_mut(),
            counts: filled.counts.global_mut(),
        };
        // SAFETY: the matrix is valid and sorted, the blocks are all that it has, the partitions have room for them,
        // and there is a count for each warp.
        unsafe { launch(executor, grid, kernel) }
    })?;
    let stored = filled.total()?;
    Ok(Bellpack {
        rows,
        columns,
        stored,
        block_size: size,
        partition_rows,
        partition_offsets,
        block_rows,
        first_columns,
        values,
    })
}

/// Returns the width of each partition, and of the last one; 0 if there are none.
fn widths<K: KernelExecutor>(
    executor: &K,
    lengths: &Array<K, u32>,
    partition_rows: usize,
) -> Result<(Array<K, u32>, u32), Error> {
    let partitions = lengths.len().div_ceil(partition_rows);
    let mut widths = executor.unwritten(partitions)?;
    let mut last_width = executor.zeros(1)?;
    let kernel = BellpackWidths {
        block_rows: lengths.len() as u32,
        partition_rows: partition_rows as u32,
        lengths: lengths.global(),
        widths: widths.global_mut(),
        last_width: last_width.global_mut(),
    };
    // SAFETY: there is a width for each partition, and no thread if there are none.
    unsafe { launch(executor, executor.device().grid(partitions as u64), kernel) }?;
    Ok((widths, one_number(executor, &last_width)?))
}

/// Converts the matrix to CSR. Takes 8 bytes (12 from nearly 2^32 entries on) per row and 32 of its stored blocks, and
/// 12 bytes per block row.
///
/// # Errors
/// When memory runs out, or the device fails.
pub(crate) fn into_csr<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: Bellpack<T, K::Memory>,
) -> Result<Csr<T, K::Memory>, Error> {
    let Bellpack {
        rows,
        columns,
        stored,
        block_size: size,
        partition_rows,
        partition_offsets,
        block_rows,
        first_columns,
        values,
    } = matrix;
    let partition_rows = partition_rows as u32;
    let BlockRows { positions, parts } = BlockRows::new(executor, partition_rows, &partition_offsets, &block_rows)?;
    let blocks = BellpackBlocks {
        partition_rows,
        partition_offsets: partition_offsets.global(),
        positions: positions.global(),
        first_columns: first_columns.global(),
        values: values.global(),
    };
    // SAFETY: the matrix is valid, the positions and the parts are those of its block rows, and its arrays live until
    // the end, as do the positions.
    unsafe { from_blocks::into_csr(executor, &blocks, [rows, columns, stored], size, parts) }
}

/// The arrays of a matrix in BELLPACK, and the position of each block row.
struct BellpackBlocks<T> {
    partition_rows: u32,
    partition_offsets: Global<u32>,
    positions: Global<u32>,
    first_columns: Global<u32>,
    values: Global<T>,
}

impl<T: Scalar> FromBlocks<T> for BellpackBlocks<T> {
    fn counts(&self, items: BlockItems, counts: GlobalMut<u32>) -> Call {
        let BlockItems { rows, height, width, items, interval, item_offsets } = items;
        let &Self { partition_rows, partition_offsets, positions, first_columns, values } = self;
        Call::new(BellpackCounts {
            rows,
            height,
            width,
            items,
            interval,
            item_offsets,
            partition_rows,
            partition_offsets,
            positions,
            first_columns,
            values,
            counts,
        })
    }

    fn entries<O: Offset>(&self, items: BlockItems, begins: Global<O>, csr: CsrArrays<T, O>) -> Call {
        let BlockItems { rows, height, width, items, interval, item_offsets } = items;
        let &Self { partition_rows, partition_offsets, positions, first_columns, values } = self;
        let CsrArrays { row_offsets, column_indices, values: entries } = csr;
        Call::new(CsrFromBellpack {
            rows,
            height,
            width,
            items,
            interval,
            item_offsets,
            partition_rows,
            partition_offsets,
            positions,
            first_columns,
            values,
            begins,
            row_offsets,
            column_indices,
            entries,
        })
    }
}

/// Data about the block rows for converting them to CSR.
struct BlockRows<K: KernelExecutor> {
    /// Position at which each is stored.
    positions: Array<K, u32>,
    /// Number of parts into which the rows of each are divided.
    parts: Array<K, u32>,
}

impl<K: KernelExecutor> BlockRows<K> {
    /// Computes the data of a valid matrix.
    fn new(
        executor: &K,
        partition_rows: u32,
        partition_offsets: &Array<K, u32>,
        block_rows: &Array<K, u32>,
    ) -> Result<Self, Error> {
        let mut positions = executor.unwritten(block_rows.len())?;
        let mut parts = executor.unwritten(block_rows.len())?;
        let kernel = BellpackParts {
            stored_rows: block_rows.len() as u32,
            partition_rows,
            partition_offsets: partition_offsets.global(),
            block_rows: block_rows.global(),
            positions: positions.global_mut(),
            parts: parts.global_mut(),
        };
        // SAFETY: the matrix is valid, and there is an element for each block row.
        unsafe { launch(executor, executor.device().grid(block_rows.len() as u64), kernel) }?;
        Ok(Self { positions, parts })
    }
}
