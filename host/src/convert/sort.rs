//! Sorts rows of CSR by column; entries of one column keep their order.

use gpu_kernels::Offset;
use gpu_kernels::convert::sort::{FIRST_RUN, MergeRuns, SortRuns};

use super::primitives::{Array, largest, launch, row_lengths, rows_sorted};
use super::width::each_width;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::Csr;
use crate::memory::{Buffer, Element};
use crate::real::Scalar;
use crate::spmv::Intervals;

/// Returns the same matrix with its rows sorted. If they already are, this only checks them; otherwise it takes a
/// second copy of the entries, and passes log2(n / 32) + 1 times over rows of n entries.
pub(crate) fn sorted<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: Csr<T, K::Memory>,
) -> Result<Csr<T, K::Memory>, Error> {
    if rows_sorted(executor, &matrix)? {
        return Ok(matrix);
    }
    let longest = match largest(executor, &row_lengths(executor, &matrix, 0)?)? {
        // It has that many or more.
        u32::MAX => matrix.stored as u64,
        longest => longest.into(),
    };
    let Csr { rows, columns, stored, row_offsets, column_indices, values } = matrix;
    let entries = Entries { column_indices, values };
    let Entries { column_indices, values } =
        each_width!(&row_offsets, offsets => sort(executor, rows, offsets, entries, longest))?;
    Ok(Csr { rows, columns, stored, row_offsets, column_indices, values })
}

struct Entries<T: Scalar, K: KernelExecutor> {
    column_indices: Array<K, u32>,
    values: Array<K, T>,
}

fn sort<T: Scalar, K: KernelExecutor, O: Offset + Element>(
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
        // SAFETY: the row offsets are those of a valid matrix, by the caller; the other arrays have `stored` elements.
        // The previous kernel left sorted runs of `run` entries in `entries`, and `other` is what it made them from.
        unsafe { launch(executor, grid, kernel) }?;
        std::mem::swap(&mut entries, &mut other);
        run *= 2;
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Emulated;

    /// A matrix with rows of these lengths in `columns` columns, and a different value for each entry.
    fn matrix(lengths: &[u32], columns: u32) -> Csr<f64> {
        let ends = lengths.iter().scan(0, |end, length| {
            *end += length;
            Some(*end)
        });
        let offsets: Vec<u32> = std::iter::once(0).chain(ends).collect();
        let stored = *offsets.last().unwrap();
        let mixed = (0..stored).map(|entry| (entry.wrapping_mul(2_654_435_769) >> 7) % columns).collect();
        let values = (0..stored).map(f64::from).collect();
        Csr::try_new(lengths.len(), columns as usize, offsets, mixed, values).unwrap()
    }

    #[test]
    fn entries_of_one_column_keep_their_order() {
        let around_runs = [31, 32, 33, 0, 1, 63, 64, 65, 2, 127, 128, 129, 0, 3, 255, 256, 257];
        for lengths in [&around_runs[..], &[1000], &[3, 0, 5000, 40, 70], &[32; 9]] {
            for columns in [1, 2, 7, 90, 100_000] {
                let matrix = matrix(lengths, columns);
                let mut expected = matrix.clone();
                expected.sort_rows().unwrap();
                assert!(sorted(&Emulated::new(4), matrix).unwrap() == expected, "{lengths:?}, {columns} columns");
            }
        }
    }
}
