//! y ← α Aᵀ x + β y without the transpose.

use std::ops::Range;

use cuda_std::launch::Launch;
use gpu_kernels::transposed::{CooTransposed, CsrTransposed};

use super::{HostOperands, Vectors, update};
use crate::device::Device;
use crate::error::Error;
use crate::format::csr::balanced::with_offsets;
use crate::format::csr::lanes::lanes_for;
use crate::format::{Coo, Csr, Offsets};
use crate::memory::{Buffer, Memory, zeros};
use crate::parallel;
use crate::real::Scalar;

/// The most parts that the entries are cut into for the CPU's threads.
const MOST_PARTS: usize = 64;

/// Elements of y that a CPU thread adds up at a time.
const COLUMNS_AT_ONCE: usize = 1024;

/// The launches for a matrix in CSR.
pub(crate) fn csr_launches<T: Scalar, M: Memory>(
    matrix: &Csr<T, M>,
    vectors: Vectors<T>,
    device: &Device,
) -> Vec<Launch> {
    let lanes = lanes_for(matrix.rows(), matrix.nnz());
    let Vectors { alpha, x, y, .. } = vectors;
    let call = with_offsets!(matrix, offsets => CsrTransposed {
        rows: matrix.rows() as u32,
        lanes,
        row_offsets: offsets.global(),
        column_indices: matrix.column_indices().global(),
        values: matrix.values().global(),
        alpha,
        x,
        y,
    });
    let grid = device.grid(matrix.rows() as u64 * u64::from(lanes));
    vec![vectors.scale(matrix.columns(), device), Launch { grid, call }]
}

/// The launches for a matrix in COO.
pub(crate) fn coo_launches<T: Scalar, M: Memory>(
    matrix: &Coo<T, M>,
    vectors: Vectors<T>,
    device: &Device,
) -> Vec<Launch> {
    let nnz = matrix.nnz() as u64;
    let Vectors { alpha, x, y, .. } = vectors;
    let kernel = CooTransposed {
        nnz,
        row_indices: matrix.row_indices().global(),
        column_indices: matrix.column_indices().global(),
        values: matrix.values().global(),
        alpha,
        x,
        y,
    };
    vec![vectors.scale(matrix.columns(), device), Launch::new(device.grid(nnz), kernel)]
}

/// Multiplies the transpose of a matrix in CSR on the CPU, in parallel.
///
/// # Errors
/// When memory runs out.
pub(crate) fn multiply_csr_on_cpu<T: Scalar>(matrix: &Csr<T>, operands: HostOperands<'_, T>) -> Result<(), Error> {
    let x = operands.x;
    multiply_on_cpu(matrix.nnz(), matrix.columns(), operands, |part, parts| csr_sums(matrix, part, parts, x))
}

/// Multiplies the transpose of a matrix in COO on the CPU, in parallel.
///
/// # Errors
/// When memory runs out.
pub(crate) fn multiply_coo_on_cpu<T: Scalar>(matrix: &Coo<T>, operands: HostOperands<'_, T>) -> Result<(), Error> {
    let x = operands.x;
    multiply_on_cpu(matrix.nnz(), matrix.columns(), operands, |part, parts| coo_sums(matrix, part, parts, x))
}

/// Multiplies a transpose on the CPU, in parallel, by the sums of parts of the entries.
///
/// The entries are cut into parts, which depend on the matrix alone, so the number of threads does not change a bit.
/// Each part has its own sums, from its first column to its last one; then these are added up, column by column. There
/// are at most as many sums as entries, or as columns if those are more: O(nnz + columns) memory and work.
fn multiply_on_cpu<T: Scalar>(
    nnz: usize,
    columns: usize,
    operands: HostOperands<'_, T>,
    sums: impl Fn(usize, usize) -> Result<Sums<T>, Error> + Sync,
) -> Result<(), Error> {
    let HostOperands { alpha, beta, y, .. } = operands;
    let parts = (nnz / columns.max(1)).clamp(1, MOST_PARTS);
    let sums = parallel::map(parts, 1, &|part| sums(part, parts)).into_iter().collect::<Result<Vec<_>, Error>>()?;
    parallel::chunks_mut(y, COLUMNS_AT_ONCE, 1, &|(chunk, y)| {
        let first = chunk * COLUMNS_AT_ONCE;
        let mut totals = [T::ZERO; COLUMNS_AT_ONCE];
        for part in &sums {
            part.add_to(first, &mut totals[..y.len()]);
        }
        for (y, &total) in y.iter_mut().zip(&totals) {
            update(y, alpha, total, beta);
        }
    });
    Ok(())
}

/// The sums of a part of the entries, from the first of its columns on.
struct Sums<T> {
    first_column: usize,
    sums: Vec<T>,
}

impl<T: Scalar> Sums<T> {
    /// Zeros for entries in these columns.
    fn for_columns(columns: &[u32]) -> Result<Self, Error> {
        let widen = |(first, last): (u32, u32), &column: &u32| (first.min(column), last.max(column));
        let (first, last) = columns.iter().fold((u32::MAX, 0), widen);
        if first > last {
            return Ok(Self { first_column: 0, sums: Vec::new() });
        }
        Ok(Self { first_column: first as usize, sums: zeros((last - first) as usize + 1)? })
    }

    #[inline]
    fn add_product(&mut self, column: u32, value: T, element: T) {
        let sum = &mut self.sums[column as usize - self.first_column];
        *sum = *sum + value * element;
    }

    /// Adds the sums to the totals of the columns from `first` on.
    fn add_to(&self, first: usize, totals: &mut [T]) {
        let begin = self.first_column.max(first);
        let end = (self.first_column + self.sums.len()).min(first + totals.len());
        if begin < end {
            let sums = &self.sums[begin - self.first_column..end - self.first_column];
            for (total, &sum) in totals[begin - first..].iter_mut().zip(sums) {
                *total = *total + sum;
            }
        }
    }
}

/// The entries of one of so many parts.
fn entries_of_part(nnz: usize, part: usize, parts: usize) -> Range<usize> {
    let at = |part: usize| (nnz as u128 * part as u128 / parts as u128) as usize;
    at(part)..at(part + 1)
}

/// The sums of the rows that begin among the entries of a part.
fn csr_sums<T: Scalar>(matrix: &Csr<T>, part: usize, parts: usize, x: &[T]) -> Result<Sums<T>, Error> {
    let entries = entries_of_part(matrix.nnz(), part, parts);
    let first_row_from = |entry| match matrix.row_offsets() {
        Offsets::Narrow(offsets) => offsets.partition_point(|&offset| (offset as usize) < entry),
        Offsets::Wide(offsets) => offsets.partition_point(|&offset| (offset as usize) < entry),
    };
    let rows = first_row_from(entries.start)..first_row_from(entries.end);
    let entries = matrix.row_offsets().get(rows.start)..matrix.row_offsets().get(rows.end);
    let mut sums = Sums::for_columns(&matrix.column_indices()[entries])?;
    for row in rows {
        let element = x[row];
        matrix.row(row).for_each(|(column, value)| sums.add_product(column, value, element));
    }
    Ok(sums)
}

fn coo_sums<T: Scalar>(matrix: &Coo<T>, part: usize, parts: usize, x: &[T]) -> Result<Sums<T>, Error> {
    let entries = entries_of_part(matrix.nnz(), part, parts);
    let columns = &matrix.column_indices()[entries.clone()];
    let rows = &matrix.row_indices()[entries.clone()];
    let mut sums = Sums::for_columns(columns)?;
    for ((&column, &row), &value) in columns.iter().zip(rows).zip(&matrix.values()[entries]) {
        sums.add_product(column, value, x[row as usize]);
    }
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_all_entries_once() {
        for nnz in [0, 1, 63, 64, 65, 1000, usize::MAX] {
            for parts in [1, 2, 3, 64] {
                let mut end = 0;
                for part in 0..parts {
                    let entries = entries_of_part(nnz, part, parts);
                    assert_eq!(entries.start, end, "{nnz} entries, {parts} parts");
                    end = entries.end;
                }
                assert_eq!(end, nnz);
            }
        }
    }
}
