//! Matrices with few occupied rows: the part of a product that needs other ranks' elements.

use std::marker::PhantomData;

use gpu_kernels::fused::added::FusedAddToElements;
use gpu_kernels::vector::AddToElements;

use crate::convert::primitives::launch;
use crate::device::with_shared_for_each_warp;
use crate::error::{Error, check_length};
use crate::executor::Executor;
use crate::executor::operation::{Arithmetic, KernelExecutor, Operation};
use crate::format::{Csr, Offsets};
use crate::memory::{Buffer, HostMemory, Memory, collect, with_capacity};
use crate::parallel;
use crate::partial_sums::PartialSums;
use crate::real::Scalar;

/// Rows that a host thread adds to at a time.
const AT_ONCE: usize = 512;

/// Which rows of a matrix have entries.
pub struct OccupiedRows<M: Memory = HostMemory> {
    /// Rows of the whole matrix.
    rows: usize,
    /// In ascending order.
    numbers: M::Buffer<u32>,
    /// Ends of the ranges of rows that host threads add to.
    ends: Vec<usize>,
}

impl<M: Memory> OccupiedRows<M> {
    /// Splits off the rows with entries, as a matrix of their own on the host.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn of<T: Scalar, E: Executor<Memory = M>>(executor: &E, matrix: Csr<T>) -> Result<(Self, Csr<T>), Error> {
        let rows = matrix.rows();
        let occupied = || (0..).zip(matrix.row_lengths()).filter(|&(_, length)| length > 0);
        let count = occupied().count();
        let (mut numbers, mut lengths) = (with_capacity(count)?, with_capacity(count)?);
        for (row, length) in occupied() {
            numbers.push(row);
            lengths.push(length);
        }
        let ends = collect(numbers.chunks(AT_ONCE).map(|rows| rows.last().map_or(0, |&last| last as usize + 1)))?;
        let (columns, offsets) = (matrix.columns(), Offsets::from_lengths(lengths.into_iter())?);
        let (_, column_indices, values) = matrix.into_parts();
        let occupied = Csr::try_new(count, columns, offsets, column_indices, values)?;
        Ok((Self { rows, numbers: executor.upload(numbers)?, ends }, occupied))
    }

    /// Number of rows of the whole matrix, with and without entries.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of rows with entries.
    pub fn count(&self) -> usize {
        self.numbers.len()
    }

    /// Bytes of the list in the executor's memory.
    pub fn bytes(&self) -> u128 {
        self.numbers.len() as u128 * size_of::<u32>() as u128
    }
}

/// Y ← Y + α S for several vectors, stored consecutively in Y and in S, which has an element per row with entries. Other
/// elements of Y are not touched.
pub struct AddToRows<T>(PhantomData<T>);

/// The operands of [`AddToRows`].
pub struct AddOperands<'a, T: Scalar, M: Memory> {
    /// The elements of a vector that are added to.
    pub rows: &'a OccupiedRows<M>,
    /// Number of vectors.
    pub vectors: usize,
    /// The factor of S.
    pub alpha: T,
    /// The terms to add.
    pub sums: &'a M::Buffer<T>,
    /// The vectors that are added to.
    pub y: &'a mut M::Buffer<T>,
    /// For a single vector: w, and the sum w · y of the old elements, which is updated to that of the new ones. Only for
    /// real numbers, with kernels.
    pub sum: Option<(&'a M::Buffer<T>, &'a mut PartialSums<M>)>,
}

impl<T: Scalar, M: Memory> AddOperands<'_, T, M> {
    fn check(&self) -> Result<(), Error> {
        check_length("the array of sums", self.sums.len(), self.rows.count().saturating_mul(self.vectors))?;
        check_length("y", self.y.len(), self.rows.rows.saturating_mul(self.vectors))?;
        match &self.sum {
            Some(_) if T::COMPLEX || self.vectors != 1 => {
                Err(Error::Operator { operation: "sum over complex numbers, or over several vectors" })
            }
            Some((w, _)) => check_length("w", w.len(), self.rows.rows),
            None => Ok(()),
        }
    }
}

impl<T: Scalar> Operation for AddToRows<T> {
    type Operands<'a, M: Memory> = AddOperands<'a, T, M>;
    type Output<M: Memory> = ();

    fn by_kernels<K: KernelExecutor>(executor: &K, operands: AddOperands<'_, T, K::Memory>) -> Result<(), Error> {
        operands.check()?;
        let AddOperands { rows, vectors, alpha, sums, y, sum } = operands;
        let count = rows.count();
        if count == 0 {
            return Ok(());
        }
        let grid = executor.device().grid(count as u64);
        if let Some((w, into)) = sum {
            let grid = with_shared_for_each_warp(grid, size_of::<f64>() as u32);
            let kernel = FusedAddToElements {
                count: count as u64,
                elements: rows.numbers.global(),
                alpha,
                terms: sums.global(),
                y: y.global_mut(),
                w: w.global(),
                partial_sums: into.extend(grid.blocks as usize)?,
            };
            // SAFETY: as below, and the sum has room for each block.
            return unsafe { launch(executor, grid, kernel) };
        }
        for vector in 0..vectors {
            let kernel = AddToElements {
                count: count as u64,
                elements: rows.numbers.global(),
                alpha,
                terms: sums.global().after(vector * count),
                y: y.global_mut().after(vector * rows.rows),
            };
            // SAFETY: there are as many sums as rows, whose numbers are distinct and lie within the whole matrix, and both
            // vectors are complete.
            unsafe { launch(executor, grid, kernel) }?;
        }
        Ok(())
    }

    fn on_host(_: Arithmetic, operands: AddOperands<'_, T, HostMemory>) -> Result<(), Error> {
        operands.check()?;
        let AddOperands { rows: OccupiedRows { rows, numbers, ends }, vectors, alpha, sums, y, sum } = operands;
        if sum.is_some() {
            return Err(Error::Operator { operation: "sum that goes on, on the host" });
        }
        for vector in 0..vectors {
            let sums = &sums[vector * numbers.len()..][..numbers.len()];
            let y = &mut y[vector * rows..][..*rows];
            parallel::parts_mut(y, ends, &|(part, y)| {
                let begin = if part > 0 { ends[part - 1] } else { 0 };
                let first = part * AT_ONCE;
                for place in first..(first + AT_ONCE).min(numbers.len()) {
                    let element = &mut y[numbers[place] as usize - begin];
                    *element = *element + alpha * sums[place];
                }
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::{Cpu, Emulated, Reference};
    use crate::format::Format;
    use crate::plan::Plan;
    use crate::verify::{exact, verify};

    /// More rows have entries than a thread adds to at a time. Miri takes seconds for a thousand.
    const ROWS: usize = if cfg!(miri) { 1600 } else { 5000 };

    /// A matrix with entries in every third row: from one to `most` of them.
    fn thirds(most: usize) -> Csr<f64> {
        let lengths = (0..ROWS).map(|row| if row % 3 == 1 { 1 + row % most } else { 0 });
        let offsets = Offsets::from_lengths(lengths.clone()).unwrap();
        let columns =
            lengths.clone().enumerate().flat_map(|(row, length)| (0..length).map(move |k| (row + 7 * k) as u32 % 90));
        let mut columns: Vec<u32> = columns.collect();
        for row in 0..ROWS {
            columns[offsets.get(row)..offsets.get(row + 1)].sort_unstable();
        }
        let values = (0..columns.len()).map(|entry| (entry % 11) as f64 - 4.5).collect();
        Csr::try_new(ROWS, 90, offsets, columns, values).unwrap()
    }

    fn check<E: Executor<Memory = HostMemory>>(executor: &E, matrix: &Csr<f64>, vectors: usize) {
        let (rows, occupied) = OccupiedRows::of(executor, matrix.clone()).unwrap();
        assert_eq!((rows.rows(), rows.count(), occupied.nnz()), (ROWS, occupied.rows(), matrix.nnz()));
        assert!(occupied.row_lengths().all(|length| length > 0));
        let mut plan = Plan::with_format(executor, occupied, Format::CSR_VECTOR).unwrap();
        let x: Vec<f64> = (0..90 * vectors).map(|place| 1.0 / (place + 1) as f64).collect();
        let old: Vec<f64> = (0..ROWS * vectors).map(|place| place as f64 - 300.0).collect();
        let mut sums = Vec::new();
        for x in x.chunks(90) {
            let mut of_vector = vec![f64::NAN; rows.count()];
            plan.apply(1.0, &x.to_vec(), 0.0, &mut of_vector).unwrap();
            sums.extend(of_vector);
        }
        let mut y = old.clone();
        let operands = AddOperands { rows: &rows, vectors, alpha: -1.5, sums: &sums, y: &mut y, sum: None };
        executor.run::<AddToRows<f64>>(operands).unwrap();
        for vector in 0..vectors {
            let (x, old) = (&x[90 * vector..][..90], &old[ROWS * vector..][..ROWS]);
            let expected = exact(matrix, -1.5, x, 1.0, old).unwrap();
            let verification = verify(&y[ROWS * vector..][..ROWS], &expected, Format::CSR_SCALAR).unwrap();
            assert!(verification.passed(), "{verification:?}");
        }
    }

    #[test]
    fn sums_are_added_to_their_rows() {
        let empty = Csr::try_new(ROWS, 90, vec![0u32; ROWS + 1], vec![], vec![]).unwrap();
        for matrix in [thirds(5), thirds(if cfg!(miri) { 9 } else { 90 }), empty] {
            for vectors in [0, 1, 3] {
                check(&Cpu::new(), &matrix, vectors);
                check(&Reference::new(), &matrix, vectors);
                // Miri does not support lanes.
                if !cfg!(miri) {
                    check(&Emulated::new(vectors as u64), &matrix, vectors);
                }
            }
        }
    }

    #[test]
    fn vectors_of_other_lengths_are_refused() {
        let cpu = Cpu::new();
        let (rows, _) = OccupiedRows::of(&cpu, thirds(5)).unwrap();
        let add = |sums: usize, y: usize| {
            let (sums, mut y) = (vec![0.0; sums], vec![0.0; y]);
            let operands = AddOperands { rows: &rows, vectors: 2, alpha: 1.0, sums: &sums, y: &mut y, sum: None };
            cpu.run::<AddToRows<f64>>(operands).unwrap_err().to_string()
        };
        let count = rows.count();
        assert_eq!(add(count, 2 * ROWS), format!("the array of sums has length {count}, expected {}", 2 * count));
        assert_eq!(add(2 * count, ROWS), format!("y has length {ROWS}, expected {}", 2 * ROWS));
    }
}
