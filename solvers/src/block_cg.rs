//! Conjugate gradients for several right-hand sides.

use std::sync::Arc;

use host::error::{Error, check_length};
use host::executor::Executor;
use host::memory::{Buffer, reserve};
use host::plan::Vector;
use host::real::Real;

use super::method::{FIRST_METHOD_SLOT, Iteration, Method, NOT_FINITE, Problem, Size, breakdown_code};
use super::operator::Operator;
use super::ranks::Ranks;
use crate::dense::{Columns, ColumnsMut, Dot, ONE, Program, Scaled, Step};

/// A applied to each of several vectors stored consecutively in one array, as one operator.
pub struct Columnwise<O> {
    operator: O,
    columns: usize,
}

impl<O> Columnwise<O> {
    /// Creates the operator for `columns` vectors.
    pub fn new(operator: O, columns: usize) -> Self {
        Self { operator, columns }
    }
}

impl<T: Real, E: Executor, O: Operator<T, E>> Operator<T, E> for Columnwise<O> {
    fn rows(&self) -> usize {
        self.operator.rows().saturating_mul(self.columns)
    }

    fn columns(&self) -> usize {
        self.operator.columns().saturating_mul(self.columns)
    }

    fn apply(&mut self, alpha: T, x: &Vector<T, E>, beta: T, y: &mut Vector<T, E>) -> Result<(), Error> {
        check_length("x", x.len(), Operator::<T, E>::columns(self))?;
        check_length("y", y.len(), Operator::<T, E>::rows(self))?;
        self.operator.apply_columns(self.columns, alpha, x, beta, y)
    }

    fn ranks(&self) -> Option<Arc<dyn Ranks<E>>> {
        self.operator.ranks()
    }
}

/// Block conjugate gradients (O'Leary 1980, §2) for A X = B with several columns in X and B and a symmetric positive
/// definite matrix and preconditioner. The columns share their search directions, which takes fewer iterations than solving
/// each alone. The operator and the preconditioner are [`Columnwise`], and b and x hold the columns consecutively. The
/// tolerance applies to the Frobenius norm of B − A X.
///
/// It breaks down when the directions become linearly dependent, which happens when columns of B − A X are: omit columns of
/// B that are combinations of others.
///
/// An iteration takes a product with the operator, one with the preconditioner, 3 products of blocks with each other, 3
/// combinations of columns, and about k³ steps of one thread for k columns. Blocks besides B and X: 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockCg {
    /// k: number of columns, from 1 to [`BlockCg::MOST_COLUMNS`].
    pub columns: u32,
}

impl BlockCg {
    /// The largest [`columns`](Self::columns).
    pub const MOST_COLUMNS: u32 = 32;

    fn layout(self) -> Layout {
        Layout { columns: self.columns.clamp(1, Self::MOST_COLUMNS) }
    }
}

const SQUARE: u32 = FIRST_METHOD_SLOT;
const NORM: u32 = SQUARE + 1;
/// A pivot must be above this fraction of its diagonal entry.
const SMALLEST_PIVOT: u32 = SQUARE + 2;
const LEAST: u32 = SQUARE + 3;
const FIRST_ARRAY: u32 = SQUARE + 4;

/// Layout of the small matrices among the slots, by columns.
#[derive(Clone, Copy)]
struct Layout {
    columns: u32,
}

impl Layout {
    /// Pᵀ A P and its Cholesky factor.
    fn factor(self, row: u32, column: u32) -> u32 {
        FIRST_ARRAY + column * self.columns + row
    }

    /// The first right-hand side of a small system, and its solution: the step lengths α, then β.
    fn weights(self) -> u32 {
        self.factor(0, self.columns)
    }

    fn slots(self) -> u32 {
        2 * self.columns * self.columns + FIRST_ARRAY - FIRST_METHOD_SLOT
    }

    /// Pᵀ A P = L Lᵀ, in its lower triangle.
    ///
    /// # Errors
    /// When memory runs out.
    fn factorization(self) -> Result<Vec<Step>, Error> {
        let mut steps = Vec::new();
        for column in 0..self.columns {
            let pivot = self.factor(column, column);
            reserve(&mut steps, 2)?;
            steps.push(Step::stop_unless_finite(NOT_FINITE, pivot));
            steps.push(Step::multiply(LEAST, SMALLEST_PIVOT, pivot));
            for row in column..self.columns {
                let entry = self.factor(row, column);
                reserve(&mut steps, column as usize + 3)?;
                steps.extend(
                    (0..column).map(|k| Step::subtract_product(entry, self.factor(row, k), self.factor(column, k))),
                );
                if row == column {
                    steps.push(Step::stop_unless_positive(breakdown_code(0), pivot));
                    steps.push(Step::stop_if_at_most(breakdown_code(0), pivot, LEAST));
                    steps.push(Step::square_root(pivot, pivot));
                } else {
                    steps.push(Step::divide(entry, entry, pivot));
                }
            }
        }
        Ok(steps)
    }

    /// Returns steps that replace the weights W by the solution of L Lᵀ Y = W.
    ///
    /// # Errors
    /// When memory runs out.
    fn solution(self, mut steps: Vec<Step>) -> Result<Vec<Step>, Error> {
        for column in 0..self.columns {
            let weight = |row| self.weights() + column * self.columns + row;
            // One step per row and per pair of rows, forward and backward.
            reserve(&mut steps, (self.columns * (self.columns + 1)) as usize)?;
            for row in 0..self.columns {
                steps.extend((0..row).map(|k| Step::subtract_product(weight(row), self.factor(row, k), weight(k))));
                steps.push(Step::divide(weight(row), weight(row), self.factor(row, row)));
            }
            for row in (0..self.columns).rev() {
                let later = row + 1..self.columns;
                steps.extend(later.map(|k| Step::subtract_product(weight(row), self.factor(k, row), weight(k))));
                steps.push(Step::divide(weight(row), weight(row), self.factor(row, row)));
            }
        }
        Ok(steps)
    }
}

/// The blocks and programs of [`BlockCg`].
pub struct BlockCgIteration<T: Real, E: Executor> {
    layout: Layout,
    /// The directions.
    p: Vector<T, E>,
    /// A P.
    q: Vector<T, E>,
    /// The preconditioned residuals, then the next directions.
    z: Vector<T, E>,
    nothing: Program<E::Memory>,
    first: Program<E::Memory>,
    factorized: Program<E::Memory>,
    solved: Program<E::Memory>,
    checked: Program<E::Memory>,
}

impl<T: Real, E: Executor> Method<T, E> for BlockCg {
    type Iteration = BlockCgIteration<T, E>;

    fn size(&self, _rows: usize) -> Size {
        let layout = self.layout();
        Size { slots: layout.slots(), sums: (layout.columns * layout.columns) as usize, iterations_at_once: 1 }
    }

    fn prepare(&self, problem: &Problem<'_, T, E>) -> Result<BlockCgIteration<T, E>, Error> {
        if self.columns == 0 || self.columns > Self::MOST_COLUMNS {
            let value = self.columns.to_string();
            return Err(Error::Setting { what: "the number of columns", value, expected: "from 1 to 32" });
        }
        Columns::<T, E::Memory>::in_array(problem.right_hand_side, self.columns as usize)?;
        let (layout, space) = (self.layout(), &problem.space);
        let checked = [&[Step::square_root(NORM, SQUARE)], &problem.check(NORM)[..]].concat();
        Ok(BlockCgIteration {
            layout,
            p: problem.vector()?,
            q: problem.vector()?,
            z: problem.vector()?,
            nothing: space.program(&[])?,
            first: space.program(&[Step::constant(SMALLEST_PIVOT, T::UNIT_ROUNDOFF)])?,
            factorized: space.program(&layout.solution(layout.factorization()?)?)?,
            solved: space.program(&layout.solution(Vec::new())?)?,
            checked: space.program(&checked)?,
        })
    }
}

/// Z ← M R, or R.
fn precondition<T: Real, E: Executor>(problem: &mut Problem<'_, T, E>, z: &mut Vector<T, E>) -> Result<(), Error> {
    let Problem { preconditioner, residual: r, space, .. } = problem;
    match preconditioner {
        Some(preconditioner) => preconditioner.apply(T::ONE, r, T::ZERO, z),
        None => space.pass(Scaled, [ONE], [&*r], [z]),
    }
}

impl<T: Real, E: Executor> Iteration<T, E> for BlockCgIteration<T, E> {
    const BREAKDOWNS: &'static [&'static str] =
        &["the directions are linearly dependent, or the matrix is not positive definite"];

    fn start(&mut self, problem: &mut Problem<'_, T, E>) -> Result<(), Error> {
        problem.space.run(&self.first)?;
        precondition(problem, &mut self.p)
    }

    fn advance(&mut self, problem: &mut Problem<'_, T, E>) -> Result<(), Error> {
        let Self { layout, p, q, z, .. } = self;
        let (columns, weights) = (layout.columns as usize, layout.weights());
        let Problem { operator, residual: r, solution: x, space, .. } = &mut *problem;
        operator.apply(T::ONE, p, T::ZERO, q)?;
        space.gram::<T>(Columns::in_array(p, columns)?, Columns::in_array(q, columns)?)?;
        space.finish(layout.factor(0, 0), &self.nothing)?;
        space.gram::<T>(Columns::in_array(p, columns)?, Columns::in_array(r, columns)?)?;
        space.finish(weights, &self.factorized)?;
        space.combine(
            T::ONE,
            Columns::in_array(p, columns)?,
            weights,
            T::ONE,
            ColumnsMut::in_array(&mut **x, columns)?,
        )?;
        space.combine(-T::ONE, Columns::in_array(q, columns)?, weights, T::ONE, ColumnsMut::in_array(r, columns)?)?;
        space.pass(Dot, [], [&*r, &*r], [])?;
        space.finish(SQUARE, &self.checked)?;
        precondition(problem, z)?;
        // β = −(Pᵀ A P)⁻¹ Qᵀ Z makes the next directions conjugate to these.
        let space = &mut problem.space;
        space.gram::<T>(Columns::in_array(q, columns)?, Columns::in_array(z, columns)?)?;
        space.finish(weights, &self.solved)?;
        space.combine(-T::ONE, Columns::in_array(p, columns)?, weights, T::ONE, ColumnsMut::in_array(z, columns)?)?;
        space.pass(Scaled, [ONE], [&*z], [p])
    }
}
