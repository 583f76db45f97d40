//! Inner products and combinations with complex coefficients, by the real kernels.
//!
//! A block of complex vectors is a block of real vectors of twice the length. Products of these are the real parts of xᴴ y;
//! the imaginary part of xᴴ y is the real part of xᴴ (−i y). Each vector is therefore split into (y, −i y) before a
//! product. After a combination, the terms of the real and the imaginary parts of its coefficients are joined.

use cuda_std::GpuScalar;
use host::error::Error;
use host::executor::Executor;
use host::format::{Csr, Format, LARGEST_DIMENSION, Offsets};
use host::memory::{collect, reserve};
use host::plan::{Plan, Vector};
use host::real::Scalar;
use host::{Layout, Multivector};

use super::parts::{Columns, ColumnsMut, Multicolumn};
use super::space::Space;

/// The product with the matrix (I; −i I), which splits y into (y, −i y).
pub(crate) struct Apart<T: Scalar, E: Executor>(Plan<T, E>);

impl<T: Scalar, E: Executor> Apart<T, E> {
    /// For vectors of `rows` elements. Takes 2 values and 2 indices per element.
    ///
    /// # Errors
    /// When there are too many elements, or memory runs out.
    pub fn new(executor: &E, rows: usize) -> Result<Self, Error> {
        let (twice, minus_i) = (twice(rows)?, T::from_parts(0.0, -1.0));
        let offsets = Offsets::from_lengths((0..twice).map(|_| 1))?;
        let columns = collect((0..twice).map(|row| (row % rows) as u32))?;
        let values = collect((0..twice).map(|row| if row < rows { T::ONE } else { minus_i }))?;
        let matrix = Csr::try_new(twice, rows, offsets, columns, values)?;
        Ok(Self(Plan::with_format(executor, matrix, Format::ELL)?))
    }

    /// Queues (y, −i y) for each of `vectors` vectors in one array, as two columns per vector.
    ///
    /// # Errors
    /// When an array does not fit, or the device fails.
    pub fn apply(
        &mut self,
        space: &mut Space<E>,
        vectors: usize,
        y: &Vector<T, E>,
        apart: &mut Multicolumn<T, E::Memory>,
    ) -> Result<(), Error> {
        apart.write(|apart| multiply(&mut self.0, space, vectors, y, T::ZERO, apart))
    }
}

/// State for inner products of vectors of any type and combinations of their columns; empty for real vectors.
pub(crate) struct Blocks<T: Scalar, E: Executor>(Option<Turning<T, E>>);

struct Turning<T: Scalar, E: Executor> {
    executor: E,
    rows: usize,
    apart: Apart<T, E>,
    /// The product with (I, i I), which joins (v, w) to v + i w.
    together: Plan<T, E>,
    /// Workspace: one split block per block size.
    blocks: Vec<Multicolumn<T, E::Memory>>,
}

impl<T: Scalar, E: Executor> Blocks<T, E> {
    /// With room for blocks Y of each of these numbers of columns. For complex vectors it takes 4 values and 4 indices per
    /// row, and twice the size of each block.
    ///
    /// # Errors
    /// When there are too many rows, or memory runs out.
    pub fn new(executor: &E, rows: usize, columns: &[usize]) -> Result<Self, Error> {
        if !T::COMPLEX {
            return Ok(Self(None));
        }
        let (twice, i) = (twice(rows)?, T::from_parts(0.0, 1.0));
        let offsets = Offsets::from_lengths((0..rows).map(|_| 2))?;
        let place = |entry: usize| entry / 2 + entry % 2 * rows;
        let column_indices = collect((0..twice).map(|entry| place(entry) as u32))?;
        let values = collect((0..twice).map(|entry| if entry % 2 == 0 { T::ONE } else { i }))?;
        let matrix = Csr::try_new(rows, twice, offsets, column_indices, values)?;
        let mut turning = Turning {
            executor: executor.clone(),
            rows,
            apart: Apart::new(executor, rows)?,
            together: Plan::with_format(executor, matrix, Format::ELL)?,
            blocks: Vec::new(),
        };
        columns.iter().try_for_each(|&columns| turning.block(columns).map(|_| ()))?;
        Ok(Self(Some(turning)))
    }

    /// Queues Xᴴ Y, where Y has `columns` columns; [`Space::finish`] returns the products. For real vectors, product i, j
    /// is sum i + j · (columns of X). For complex ones, its real part is sum i + 2 j · (columns of X), and its imaginary
    /// part sum i + (2 j + 1) · (columns of X).
    ///
    /// # Errors
    /// As for [`Space::gram`].
    pub fn inner(
        &mut self,
        space: &mut Space<E>,
        x: Columns<'_, T, E::Memory>,
        (columns, y): (usize, &Vector<T, E>),
    ) -> Result<(), Error> {
        let Some(turning) = &mut self.0 else {
            return space.gram(x, Columns::in_array(y, columns)?);
        };
        let block = turning.block(columns)?;
        turning.apart.apply(space, columns, y, &mut turning.blocks[block])?;
        space.gram(x, turning.blocks[block].all())
    }

    /// Queues Y ← α X C + β Y, where Y has `columns` columns; the coefficients are where [`inner`](Self::inner) puts its
    /// products. Complex vectors change even after a step has stopped the arithmetic.
    ///
    /// # Errors
    /// As for [`Space::combine`].
    pub fn combine(
        &mut self,
        space: &mut Space<E>,
        alpha: T::Real,
        x: Columns<'_, T, E::Memory>,
        coefficients: u32,
        beta: T::Real,
        (columns, y): (usize, &mut Vector<T, E>),
    ) -> Result<(), Error> {
        let Some(turning) = &mut self.0 else {
            return space.combine(alpha, x, coefficients, beta, ColumnsMut::in_array(y, columns)?);
        };
        let block = turning.block(columns)?;
        let parts = &mut turning.blocks[block];
        space.combine(alpha, x, coefficients, T::Real::ZERO, parts.all_mut())?;
        let [beta, _] = beta.parts();
        multiply(&mut turning.together, space, columns, parts.array(), T::from_f64(beta), y)
    }
}

impl<T: Scalar, E: Executor> Turning<T, E> {
    /// Returns the index of the block with 2 · `columns` columns, which is allocated if missing.
    fn block(&mut self, columns: usize) -> Result<usize, Error> {
        let wanted = columns.saturating_mul(2);
        if let Some(place) = self.blocks.iter().position(|block| block.columns() == wanted) {
            return Ok(place);
        }
        reserve(&mut self.blocks, 1)?;
        self.blocks.push(Multicolumn::zeros(&self.executor, self.rows, wanted)?);
        Ok(self.blocks.len() - 1)
    }
}

/// Returns the number of rows of a split vector.
fn twice(rows: usize) -> Result<usize, Error> {
    let (value, limit) = (rows as u128 * 2, LARGEST_DIMENSION as u128);
    if value > limit {
        return Err(Error::TooLarge { what: "number of parts of a complex vector", value, limit });
    }
    Ok(rows * 2)
}

/// Y ← A X + β Y for `vectors` vectors.
fn multiply<T: Scalar, E: Executor>(
    plan: &mut Plan<T, E>,
    space: &mut Space<E>,
    vectors: usize,
    x: &Vector<T, E>,
    beta: T,
    y: &mut Vector<T, E>,
) -> Result<(), Error> {
    space.moves(plan.matrix().bytes_needed().saturating_mul(vectors as u128));
    if vectors == 1 {
        return plan.apply(T::ONE, x, beta, y);
    }
    plan.apply_multivector(Multivector { vectors, layout: Layout::ColumnMajor }, T::ONE, x, beta, y)
}

#[cfg(test)]
mod tests {
    use host::complex::Complex;
    use host::executor::Cpu;

    use super::super::space::FIRST_SLOT;
    use super::*;

    type C = Complex<f64>;

    /// 3 rows and `columns` columns of integers.
    fn block(columns: usize, seed: usize) -> Vec<C> {
        let part = |place: usize| (place * 7 + seed) as f64 % 5.0 - 2.0;
        (0..3 * columns).map(|place| C::new(part(place), part(place + 11))).collect()
    }

    #[test]
    fn products_and_combinations_are_complex() {
        for (of_x, of_y) in [(1, 1), (2, 1), (2, 3)] {
            let cpu = Cpu::new();
            let (x, y) = (block(of_x, 1), block(of_y, 2));
            let mut space = Space::new(&cpu, FIRST_SLOT + 12, 12).unwrap();
            let nothing = space.program(&[]).unwrap();
            let mut blocks = Blocks::new(&cpu, 3, &[of_y]).unwrap();
            let columns = || Columns::in_array(&x, of_x).unwrap();
            blocks.inner(&mut space, columns(), (of_y, &y)).unwrap();
            space.finish(FIRST_SLOT, &nothing).unwrap();
            let scalars = space.scalars().unwrap();
            let column = |vectors: &[C], number: usize| vectors[3 * number..][..3].to_vec();
            let mut combined = y.clone();
            for j in 0..of_y {
                for i in 0..of_x {
                    let slot = |part: usize| scalars[FIRST_SLOT as usize + i + (2 * j + part) * of_x];
                    let product: C = column(&x, i).iter().zip(column(&y, j)).map(|(x, y)| x.conj() * y).sum();
                    assert_eq!(C::new(slot(0), slot(1)), product, "{i}, {j}");
                    (0..3).for_each(|row| combined[3 * j + row] -= x[3 * i + row] * product);
                }
            }
            let mut computed = y.clone();
            blocks.combine(&mut space, -1.0, columns(), FIRST_SLOT, 1.0, (of_y, &mut computed)).unwrap();
            assert_eq!(computed, combined);
        }
    }
}
