//! CSR to SELL-P and back.

use gpu_kernels::convert::sliced::SliceWidths;
use gpu_kernels::convert::windows::{MergeWindows, RowsOfKeys, WindowKeys};

use crate::convert::primitives::{Array, Scan, largest, launch, row_lengths};
use crate::convert::sliced::{Places, Slices};
use crate::device::WARP_LANES;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::{Csr, FillLimit, SellP, Slicing, sell_p_bytes};
use crate::memory::Buffer;
use crate::real::Scalar;

/// Converts `matrix` to SELL-P. The workspace is 4 bytes per row and per slice, and 16 more per row if rows are sorted;
/// all of it is freed before the entries are allocated.
///
/// # Errors
/// When the slicing contradicts itself, or a row has 2^32 slots or more; when the arrays would exceed `limit`, before
/// those of the size of the entries are allocated; when memory runs out, or the device fails.
pub fn from_csr<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: &Csr<T, K::Memory>,
    slicing: Slicing,
    limit: FillLimit,
) -> Result<SellP<T, K::Memory>, Error> {
    slicing.check()?;
    let (rows, columns, stored) = (matrix.rows(), matrix.columns(), matrix.nnz());
    let mut lengths = row_lengths(executor, matrix, 0)?;
    slicing.check_width(largest(executor, &lengths)? as usize)?;
    let mut row_indices = executor.unwritten(0)?;
    if slicing.sigma > 1 {
        row_indices = sort(executor, &mut lengths, slicing.sigma)?;
    }
    let mut widths = executor.unwritten(rows.div_ceil(slicing.slice_size as usize))?;
    let kernel = SliceWidths {
        rows: rows as u32,
        slice_size: slicing.slice_size,
        stride_factor: slicing.stride_factor,
        lengths: lengths.global(),
        widths: widths.global_mut(),
    };
    let grid = executor.device().grid((widths.len() * WARP_LANES) as u64);
    // SAFETY: the arrays are as long as the kernel asks for, and the slicing and the widths were checked.
    unsafe { launch(executor, grid, kernel) }?;
    drop(lengths);
    let scan = Scan::new(executor, &widths)?;
    let columns_of_places = scan.total();
    let bytes = sell_p_bytes::<T>(
        u128::from(columns_of_places) * u128::from(slicing.slice_size),
        widths.len() + 1,
        row_indices.len(),
    );
    limit.check("SELL-P", bytes, matrix.bytes())?;
    let slice_begins = scan.offsets_of(1)?;
    drop(scan);
    drop(widths);
    let slices = Slices {
        rows,
        size: slicing.slice_size as usize,
        begins: &slice_begins,
        columns: columns_of_places,
        row_indices: &row_indices,
    };
    let Places { column_indices, values } = slices.fill(executor, matrix)?;
    Ok(SellP { rows, columns, stored, slicing, slice_begins, row_indices, column_indices, values })
}

/// Moves the longest rows of each window to the front: permutes `lengths`, and returns the row at each position.
fn sort<K: KernelExecutor>(executor: &K, lengths: &mut Array<K, u32>, window: u32) -> Result<Array<K, u32>, Error> {
    let rows = lengths.len() as u32;
    let grid = executor.device().grid(rows.into());
    let mut keys = executor.unwritten(lengths.len())?;
    let mut merged = executor.unwritten(lengths.len())?;
    let kernel = WindowKeys { rows, lengths: lengths.global(), keys: keys.global_mut() };
    // SAFETY: all arrays have an element per row, here and below.
    unsafe { launch(executor, grid, kernel) }?;
    let mut run = 1u32;
    while run < window.min(rows) {
        let kernel = MergeWindows { rows, window, run, keys: keys.global(), merged: merged.global_mut() };
        // SAFETY: runs of one are sorted, and so are those of the previous kernel.
        unsafe { launch(executor, grid, kernel) }?;
        std::mem::swap(&mut keys, &mut merged);
        run *= 2;
    }
    drop(merged);
    let mut row_indices = executor.unwritten(lengths.len())?;
    let kernel =
        RowsOfKeys { rows, keys: keys.global(), row_indices: row_indices.global_mut(), lengths: lengths.global_mut() };
    // SAFETY: `keys`, `row_indices` and `lengths` all have `rows` elements.
    unsafe { launch(executor, grid, kernel) }?;
    Ok(row_indices)
}

/// Converts the matrix to CSR. The workspace is 4 bytes per row, before the entries are allocated.
///
/// # Errors
/// When memory runs out, or the device fails.
pub fn into_csr<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: SellP<T, K::Memory>,
) -> Result<Csr<T, K::Memory>, Error> {
    let SellP { rows, columns, stored, slicing, slice_begins, row_indices, column_indices, values } = matrix;
    let size = slicing.slice_size as usize;
    let columns_of_places = (column_indices.len() / size) as u64;
    let slices = Slices { rows, size, begins: &slice_begins, columns: columns_of_places, row_indices: &row_indices };
    slices.csr_of(executor, columns, stored, Places { column_indices, values })
}
