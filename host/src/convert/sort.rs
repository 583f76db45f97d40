//! Rows of CSR sorted by column, entries of one column in their order.

use gpu_kernels::Offset;
use gpu_kernels::convert::sort::{FIRST_RUN, MergeRuns, SortRuns};

use super::primitives::{Array, largest, launch, row_lengths, rows_sorted};
use super::width::each_width;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::Csr;
use crate::memory::{Buffer, Element};
use crate::real::Real;
use crate::spmv::Intervals;

/// The same matrix with its rows sorted. Where they are already, nothing is done but to look; else it takes a second
/// copy of the entries, and passes over those of rows of n entries log2(n / 32) + 1 times.
pub(super) fn sorted<T: Real, K: KernelExecutor>(
    executor: &K,
    matrix: Csr<T, K::Memory>,
) -> Result<Csr<T, K::Memory>, Error> {
    if rows_sorted(executor, &matrix)? {
        return Ok(matrix);
    }
    let longest = match largest(executor, &row_lengths(executor, &matrix, 0)?)? {
        // It has as many or more.
        u32::MAX => matrix.stored as u64,
        longest => longest.into(),
    };
    let Csr { rows, columns, stored, row_offsets, column_indices, values } = matrix;
    let entries = Entries { column_indices, values };
    let Entries { column_indices, values } =
        each_width!(&row_offsets, offsets => sort(executor, rows, offsets, entries, longest))?;
    Ok(Csr { rows, columns, stored, row_offsets, column_indices, values })
}

struct Entries<T: Real, K: KernelExecutor> {
    column_indices: Array<K, u32>,
    values: Array<K, T>,
}

fn sort<T: Real, K: KernelExecutor, O: Offset + Element>(
    executor: &K,
    rows: usize,
    row_offsets: &Array<K, O>,
    mut entries: Entries<T, K>,
    longest_row: u64,
) -> Result<Entries<T, K>, Error> {
    let stored = entries.values.len();
    let mut other: Entries<T, K> =
        Entries { column_indices: executor.unwritten(stored)?, values: executor.unwritten(stored)? };
    let (rows, nnz) = (rows as u32, stored as u64);
    let intervals = Intervals::new(nnz, executor.device());
    let (interval, grid) = (intervals.length, intervals.grid(executor.device()));
    let kernel = SortRuns {
        rows,
        nnz,
        interval,
        row_offsets: row_offsets.global(),
        column_indices: entries.column_indices.global(),
        values: entries.values.global(),
        new_column_indices: other.column_indices.global_mut(),
        new_values: other.values.global_mut(),
    };
    // SAFETY: the arrays are those of a valid matrix, by the caller, and new ones of their length.
    unsafe { launch(executor, grid, kernel) }?;
    std::mem::swap(&mut entries, &mut other);
    let mut run = u64::from(FIRST_RUN);
    while run < longest_row {
        let kernel = MergeRuns {
            rows,
            nnz,
            interval,
            run,
            row_offsets: row_offsets.global(),
            column_indices: entries.column_indices.global(),
            values: entries.values.global(),
            new_column_indices: other.column_indices.global_mut(),
            new_values: other.values.global_mut(),
        };
        // SAFETY: as before; the runs come from the kernel before this one.
        unsafe { launch(executor, grid, kernel) }?;
        std::mem::swap(&mut entries, &mut other);
        run *= 2;
    }
    Ok(entries)
}
