//! Matrices of which few rows have entries, added to what is there: the part of a product that needs other ranks' elements.

use std::marker::PhantomData;

use cuda_std::launch::{Call, Launch};
use gpu_kernels::csr::CsrOccupiedRows;

use crate::error::{Error, check_length};
use crate::executor::Executor;
use crate::executor::operation::{Arithmetic, KernelExecutor, Operation};
use crate::format::csr::lanes::lanes_for;
use crate::format::{Csr, Offsets};
use crate::memory::{Buffer, HostMemory, Memory, collect, with_capacity};
use crate::parallel;
use crate::real::{ExactElement, ExactSum, Scalar};

/// Rows that a thread of the host multiplies at a time.
const AT_ONCE: usize = 512;

/// The rows of a matrix that have entries, in CSR, and which rows they are (doubly compressed sparse rows, without a search).
pub struct OccupiedRows<T: Scalar, M: Memory = HostMemory> {
    /// Rows of the whole.
    rows: usize,
    numbers: M::Buffer<u32>,
    /// Of as many rows as there are numbers.
    matrix: Csr<T, M>,
    /// Where the rows that a thread of the host multiplies end.
    ends: Vec<usize>,
}

impl<T: Scalar, M: Memory> OccupiedRows<T, M> {
    /// Moves the rows with entries to an executor.
    ///
    /// # Errors
    /// When there are 2^32 entries or about as many, or memory runs out.
    pub fn new<E: Executor<Memory = M>>(executor: &E, matrix: Csr<T>) -> Result<Self, Error> {
        let rows = matrix.rows();
        let occupied = || (0..).zip(matrix.row_lengths()).filter(|&(_, length)| length > 0);
        let count = occupied().count();
        let (mut numbers, mut own_lengths) = (with_capacity(count)?, with_capacity(count)?);
        for (row, length) in occupied() {
            numbers.push(row);
            own_lengths.push(length);
        }
        let ends = collect(numbers.chunks(AT_ONCE).map(|rows| rows.last().map_or(0, |&last| last as usize + 1)))?;
        let offsets = Offsets::from_lengths(own_lengths.iter().copied())?;
        if let Offsets::Wide(_) = offsets {
            let (value, limit) = (matrix.nnz() as u128, u32::MAX.into());
            return Err(Error::TooLarge { what: "number of entries of occupied rows", value, limit });
        }
        let columns = matrix.columns();
        let (_, column_indices, values) = matrix.into_parts();
        let matrix = Csr::try_new(count, columns, offsets, column_indices, values)?.upload(executor)?;
        Ok(Self { rows, numbers: executor.upload(numbers)?, matrix, ends })
    }

    /// Number of rows of the whole, with and without entries.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.matrix.columns()
    }

    /// Number of entries.
    pub fn nnz(&self) -> usize {
        self.matrix.nnz()
    }

    /// Bytes of its arrays in the executor's memory.
    pub fn bytes(&self) -> u128 {
        self.matrix.bytes() + self.numbers.len() as u128 * size_of::<u32>() as u128
    }
}

/// Y ← Y + α A X for several vectors, one after the other in X and in Y. Elements of rows without entries are not touched.
pub struct AddOccupiedRows<T>(PhantomData<T>);

/// The operands of [`AddOccupiedRows`].
pub struct AddOperands<'a, T: Scalar, M: Memory> {
    /// A.
    pub matrix: &'a OccupiedRows<T, M>,
    /// Number of vectors.
    pub vectors: usize,
    /// The factor of A X.
    pub alpha: T,
    /// The vectors that are multiplied.
    pub x: &'a M::Buffer<T>,
    /// The results.
    pub y: &'a mut M::Buffer<T>,
}

impl<T: Scalar, M: Memory> AddOperands<'_, T, M> {
    fn check(&self) -> Result<(), Error> {
        check_length("x", self.x.len(), self.matrix.columns().saturating_mul(self.vectors))?;
        check_length("y", self.y.len(), self.matrix.rows.saturating_mul(self.vectors))
    }
}

impl<T: Scalar> Operation for AddOccupiedRows<T> {
    type Operands<'a, M: Memory> = AddOperands<'a, T, M>;
    type Output<M: Memory> = ();

    fn by_kernels<K: KernelExecutor>(executor: &K, operands: AddOperands<'_, T, K::Memory>) -> Result<(), Error> {
        operands.check()?;
        let AddOperands { matrix: whole, vectors, alpha, x, y } = operands;
        let OccupiedRows { numbers, matrix, .. } = whole;
        let Offsets::Narrow(row_offsets) = matrix.row_offsets() else {
            return Err(Error::structure("matrix", "has wide offsets"));
        };
        let rows = matrix.rows() as u32;
        if rows == 0 {
            return Ok(());
        }
        let lanes = lanes_for(matrix.rows(), matrix.nnz());
        let grid = executor.device().uneven_grid(u64::from(rows) * u64::from(lanes));
        for vector in 0..vectors {
            macro_rules! call {
                ($lanes:literal) => {
                    Call::new(CsrOccupiedRows::<T, $lanes> {
                        rows,
                        numbers: numbers.global(),
                        row_offsets: row_offsets.global(),
                        column_indices: matrix.column_indices().global(),
                        values: matrix.values().global(),
                        alpha,
                        x: x.global().after(vector * matrix.columns()),
                        y: y.global_mut().after(vector * whole.rows),
                    })
                };
            }
            let call = match lanes {
                2 => call!(2),
                4 => call!(4),
                8 => call!(8),
                16 => call!(16),
                _ => call!(32),
            };
            // SAFETY: the matrix is valid, its rows' numbers are different ones of the whole, and both vectors are whole.
            unsafe { executor.launch(&Launch { grid, call }) }?;
        }
        Ok(())
    }

    fn on_host(arithmetic: Arithmetic, operands: AddOperands<'_, T, HostMemory>) -> Result<(), Error> {
        operands.check()?;
        let AddOperands { matrix: OccupiedRows { rows, numbers, matrix, ends }, vectors, alpha, x, y } = operands;
        for vector in 0..vectors {
            let x = &x[vector * matrix.columns()..][..matrix.columns()];
            let y = &mut y[vector * rows..][..*rows];
            let add = |row: usize, y: &mut T| match arithmetic {
                Arithmetic::Parallel => {
                    let sum = matrix.row(row).fold(T::ZERO, |sum, (column, value)| sum + value * x[column as usize]);
                    *y = *y + alpha * sum;
                }
                Arithmetic::Compensated => {
                    let mut sum = T::Sum::default();
                    matrix.row(row).for_each(|(column, value)| sum.add(value, x[column as usize]));
                    *y = sum.combined(alpha, T::ONE, *y).rounded();
                }
            };
            parallel::parts_mut(y, ends, &|(part, y)| {
                let begin = if part > 0 { ends[part - 1] } else { 0 };
                let first = part * AT_ONCE;
                for row in first..(first + AT_ONCE).min(numbers.len()) {
                    add(row, &mut y[numbers[row] as usize - begin]);
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
    use crate::verify::{exact, verify};

    /// More than a thread multiplies at a time have entries. Miri takes seconds for a thousand.
    const ROWS: usize = if cfg!(miri) { 1600 } else { 5000 };

    /// Rows of which every third has entries: from one to `most`.
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
        let occupied = OccupiedRows::new(executor, matrix.clone()).unwrap();
        assert_eq!((occupied.rows(), occupied.columns(), occupied.nnz()), (matrix.rows(), 90, matrix.nnz()));
        let x: Vec<f64> = (0..90 * vectors).map(|place| 1.0 / (place + 1) as f64).collect();
        let old: Vec<f64> = (0..ROWS * vectors).map(|place| place as f64 - 300.0).collect();
        let mut y = old.clone();
        let operands = AddOperands { matrix: &occupied, vectors, alpha: -1.5, x: &x, y: &mut y };
        executor.run::<AddOccupiedRows<f64>>(operands).unwrap();
        for vector in 0..vectors {
            let (x, old) = (&x[90 * vector..][..90], &old[ROWS * vector..][..ROWS]);
            let expected = exact(matrix, -1.5, x, 1.0, old).unwrap();
            let verification = verify(&y[ROWS * vector..][..ROWS], &expected, Format::CSR_SCALAR).unwrap();
            assert!(verification.passed(), "{verification:?}");
        }
    }

    #[test]
    fn rows_are_added_to_their_elements() {
        // From a few entries a row, and 2 lanes, to many.
        for most in [5, 40, 90] {
            let matrix = thirds(most);
            for vectors in [0, 1, 3] {
                check(&Cpu::new(), &matrix, vectors);
                check(&Reference::new(), &matrix, vectors);
                // Miri has no lanes.
                if !cfg!(miri) {
                    check(&Emulated::new(vectors as u64), &matrix, vectors);
                }
            }
        }
        let empty = Csr::try_new(ROWS, 90, vec![0u32; ROWS + 1], vec![], vec![]).unwrap();
        check(&Cpu::new(), &empty, 2);
        if !cfg!(miri) {
            check(&Emulated::new(1), &empty, 2);
        }
    }

    #[test]
    fn vectors_of_other_lengths_are_refused() {
        let (cpu, matrix) = (Cpu::new(), thirds(5));
        let occupied = OccupiedRows::new(&cpu, matrix).unwrap();
        let add = |x: usize, y: usize| {
            let (x, mut y) = (vec![0.0; x], vec![0.0; y]);
            let operands = AddOperands { matrix: &occupied, vectors: 2, alpha: 1.0, x: &x, y: &mut y };
            cpu.run::<AddOccupiedRows<f64>>(operands).unwrap_err().to_string()
        };
        assert_eq!(add(90, 2 * ROWS), "x has length 90, expected 180");
        assert_eq!(add(180, ROWS), format!("y has length {ROWS}, expected {}", 2 * ROWS));
    }
}
