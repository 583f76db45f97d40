//! Transpose of a matrix in CSR, in its memory.

use std::marker::PhantomData;

use gpu_kernels::convert::transpose::{Conjugates, TransposedColumns, TransposedKeys, TransposedOffsets};
use gpu_kernels::dense::gather::Gather;

use super::primitives::launch;
use super::radix::{Sorted, sorted_by};
use crate::error::Error;
use crate::executor::operation::{Arithmetic, Executor, KernelExecutor, Operation};
use crate::format::coo::row_indices_by_kernels;
use crate::format::{Csr, Offsets};
use crate::memory::{Buffer, HostMemory, Memory};
use crate::real::Scalar;

/// Largest number of entries that are sorted on the device. Kernels step past the last one by as many as a grid has
/// threads, 2^30 rounded up to whole blocks, and count in 32 bits.
const MOST_ENTRIES: usize = (3 << 30) - 1024;

/// The transpose; conjugate if the second operand is `true`.
struct Transposed<T>(PhantomData<T>);

impl<T: Scalar> Operation for Transposed<T> {
    type Operands<'a, M: Memory> = (&'a Csr<T, M>, bool);
    type Output<M: Memory> = Csr<T, M>;

    fn by_kernels<K: KernelExecutor>(
        executor: &K,
        (matrix, conjugate): Self::Operands<'_, K::Memory>,
    ) -> Result<Csr<T, K::Memory>, Error> {
        if matrix.nnz() > MOST_ENTRIES {
            return on_host(&matrix.to_host(executor)?, conjugate)?.upload(executor);
        }
        by_kernels(executor, matrix, conjugate)
    }

    fn on_host(_: Arithmetic, (matrix, conjugate): Self::Operands<'_, HostMemory>) -> Result<Csr<T>, Error> {
        on_host(matrix, conjugate)
    }
}

/// Transposes by sorting the entries by column. Takes 16 bytes per entry besides the two matrices.
fn by_kernels<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: &Csr<T, K::Memory>,
    conjugate: bool,
) -> Result<Csr<T, K::Memory>, Error> {
    let (device, stored) = (executor.device(), matrix.nnz());
    let (nnz, columns) = (stored as u32, matrix.columns() as u32);
    let grid = device.grid(stored as u64);
    let mut keys = executor.unwritten(stored)?;
    let column_indices = matrix.column_indices().global();
    let kernel = TransposedKeys { nnz, columns, column_indices, keys: keys.global_mut() };
    // SAFETY: the matrix is valid and has few enough entries; there is a key for each.
    unsafe { launch(executor, grid, kernel) }?;
    let Sorted { rows: order, keys } = sorted_by(executor, keys)?;
    let mut row_offsets = executor.unwritten(matrix.columns() + 1)?;
    let kernel = TransposedOffsets { nnz, columns, keys: keys.global(), row_offsets: row_offsets.global_mut() };
    // SAFETY: the keys are sorted, and there is an offset for each row of the transpose and one more.
    unsafe { launch(executor, device.grid(u64::from(columns) + 1), kernel) }?;
    drop(keys);
    let row_indices = row_indices_by_kernels(executor, matrix)?;
    let mut new_column_indices = executor.unwritten(stored)?;
    let kernel = TransposedColumns {
        nnz,
        order: order.global(),
        row_indices: row_indices.global(),
        new_column_indices: new_column_indices.global_mut(),
    };
    // SAFETY: there is a row for each entry, and sorting keeps the number of each entry exactly once.
    unsafe { launch(executor, grid, kernel) }?;
    drop(row_indices);
    let mut values = executor.unwritten::<T>(stored)?;
    let (count, x, gathered) = (stored as u64, matrix.values().global(), values.global_mut());
    let kernel = Gather { count, elements: order.global(), x, gathered };
    // SAFETY: there is a value for each entry, and a slot for it.
    unsafe { launch(executor, grid, kernel) }?;
    if conjugate && T::COMPLEX {
        let kernel = Conjugates { count, parts: values.global_parts_mut() };
        // SAFETY: each value is complex, and has two parts.
        unsafe { launch(executor, grid, kernel) }?;
    }
    // Offsets of so few entries are narrow on the host, too.
    let row_offsets = Offsets::Narrow(row_offsets);
    Ok(Csr::from_valid(matrix.columns(), matrix.rows(), row_offsets, new_column_indices, values))
}

fn on_host<T: Scalar>(matrix: &Csr<T>, conjugate: bool) -> Result<Csr<T>, Error> {
    let mut transpose = matrix.transposed()?;
    if conjugate && T::COMPLEX {
        transpose.values_mut().iter_mut().for_each(|value| *value = value.conjugate());
    }
    Ok(transpose)
}

impl<T: Scalar, M: Memory> Csr<T, M> {
    /// Returns the transpose, made in the matrix's memory: the same arrays, bit for bit, as those of
    /// [`transposed`](Csr::transposed). Kernels take 16 additional bytes per entry, and a pass per 5 bits of the number
    /// of columns; from about 3 · 2^30 entries on, the transpose is made on the host, and copied there and back.
    ///
    /// # Errors
    /// When the matrix belongs to another executor, memory runs out, or the device fails.
    pub fn transposed_on<E: Executor<Memory = M>>(&self, executor: &E) -> Result<Self, Error> {
        executor.run::<Transposed<T>>((self, false))
    }

    /// Returns the conjugate transpose, made in the matrix's memory; for a real matrix, the
    /// [transpose](Self::transposed_on).
    ///
    /// # Errors
    /// As for [`transposed_on`](Self::transposed_on).
    pub fn conjugate_transposed_on<E: Executor<Memory = M>>(&self, executor: &E) -> Result<Self, Error> {
        executor.run::<Transposed<T>>((self, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Complex;
    use crate::device::Tuning;
    use crate::executor::Emulated;

    /// A matrix with unsorted rows, duplicate entries, and empty rows.
    fn matrix<T: Scalar>(rows: u32, columns: u32, seed: u32) -> Csr<T> {
        let mixed = |number: u32| (number ^ seed << 20).wrapping_mul(2_654_435_769) >> 9;
        let lengths = (0..rows).map(|row| match mixed(row) % 16 {
            0..3 => 0,
            3 => 100,
            length => length,
        });
        let ends = lengths.scan(0, |end, length| {
            *end += if columns == 0 { 0 } else { length };
            Some(*end)
        });
        let offsets: Vec<u32> = std::iter::once(0).chain(ends).collect();
        let stored = offsets[rows as usize];
        // Many in the first column.
        let column = |entry| if mixed(entry).is_multiple_of(5) { 0 } else { mixed(entry + stored) % columns };
        let part = |entry| f64::from(mixed(entry)) - 3e6;
        let values = (0..stored).map(|entry| T::from_parts(part(entry), part(entry + 1))).collect();
        Csr::try_new(rows as usize, columns as usize, offsets, (0..stored).map(column).collect(), values).unwrap()
    }

    fn check<T: Scalar>(matrix: &Csr<T>) {
        let sizes = [(1, 2, 32), (2, 3, 64), (3, 40, 32)];
        for (seed, multiprocessors, threads) in sizes.into_iter().filter(|_| !cfg!(miri)) {
            let tuning = Tuning::new(threads, 1).unwrap();
            let executor = Emulated::with_size(seed, multiprocessors, 128, tuning).unwrap();
            let mut expected = matrix.transposed().unwrap();
            let found = matrix.transposed_on(&executor).unwrap();
            assert!(found == expected);
            assert_eq!(found.row_offsets().width(), expected.row_offsets().width());
            expected.values_mut().iter_mut().for_each(|value| *value = value.conjugate());
            assert!(matrix.conjugate_transposed_on(&executor).unwrap() == expected);
        }
    }

    #[test]
    fn transposes_are_the_hosts() {
        for (rows, columns) in [(0, 0), (0, 5), (5, 0), (1, 1), (1, 700), (700, 1), (33, 32), (200, 1025), (500, 90)] {
            for seed in 0..2 {
                check::<f32>(&matrix(rows, columns, seed));
                check::<f64>(&matrix(rows, columns, seed));
                check::<Complex<f32>>(&matrix(rows, columns, seed));
                check::<Complex<f64>>(&matrix(rows, columns, seed));
            }
        }
    }

    #[test]
    fn offsets_that_need_not_be_wide_are_narrow() {
        let Csr { rows, columns, row_offsets, column_indices, values, .. } = matrix::<f64>(50, 40, 1);
        let wide = (0..=rows).map(|row| row_offsets.get(row) as u64).collect();
        check(&Csr::from_valid(rows, columns, Offsets::Wide(wide), column_indices, values));
    }
}
