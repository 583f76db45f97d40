//! Restarted GMRES.

use host::error::Error;
use host::executor::Executor;
use host::memory::with_capacity;
use host::plan::Vector;
use host::real::Real;

use super::method::{FIRST_METHOD_SLOT, Iteration, Method, NOT_FINITE, Problem, Size, breakdown_code, preconditioned};
use crate::dense::{
    Axpby, Columns, ColumnsMut, Dot, Multicolumn, ONE, Part, PartMut, Program, Scaled, ScaledTwice, Step, ZERO,
};

/// GMRES(m) (Saad & Schultz 1986, §3), for any regular matrix. The preconditioner is on the right, so that the residual is
/// that of A x = b. The basis is orthogonalised by classical Gram-Schmidt, done twice (Giraud, Langou & Rozložník 2005).
///
/// Iteration j of a cycle takes a product with the matrix, one with the preconditioner, and reads and writes about 4 j + 11
/// vectors; x is updated at the end of a cycle, which takes one product more. Vectors besides b and x: m + 3, or m + 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gmres {
    /// m: iterations of a cycle, from 1 to [`Gmres::LONGEST_CYCLE`]. Never more than the matrix has rows are used.
    pub cycle: u32,
}

impl Gmres {
    /// The largest [`cycle`](Self::cycle).
    pub const LONGEST_CYCLE: u32 = 512;

    fn layout(self, rows: usize) -> Layout {
        Layout { cycle: self.cycle.clamp(1, Self::LONGEST_CYCLE).min(u32::try_from(rows.max(1)).unwrap_or(u32::MAX)) }
    }
}

impl Default for Gmres {
    fn default() -> Self {
        Self { cycle: 30 }
    }
}

const SQUARE: u32 = FIRST_METHOD_SLOT;
const NORM: u32 = SQUARE + 1;
/// The norm of the next basis vector before it is 1, or of the residual at the start of a cycle, and 1 over it.
const LENGTH: u32 = SQUARE + 2;
const INVERSE: u32 = SQUARE + 3;
/// Columns of this cycle that x is still to get.
const COLUMNS: u32 = SQUARE + 4;
const FIRST_ARRAY: u32 = SQUARE + 5;

/// Where the small arrays are among the slots.
#[derive(Clone, Copy)]
struct Layout {
    cycle: u32,
}

impl Layout {
    /// Entry `row`, `column` of the Hessenberg matrix, and of the triangle that it becomes.
    fn entry(self, row: u32, column: u32) -> u32 {
        FIRST_ARRAY + column * (self.cycle + 1) + row
    }

    /// What the second orthogonalisation adds to a column.
    fn correction(self) -> u32 {
        self.entry(0, self.cycle)
    }

    /// The rotated right-hand side, one longer than a cycle.
    fn right_hand_side(self) -> u32 {
        self.correction() + self.cycle
    }

    /// The two numbers of a rotation.
    fn rotation(self, number: u32) -> [u32; 2] {
        let first = self.right_hand_side() + self.cycle + 1;
        [first + number, first + self.cycle + number]
    }

    /// What x gets of each basis vector.
    fn weights(self) -> u32 {
        self.rotation(0)[0] + 2 * self.cycle
    }

    fn slots(self) -> u32 {
        self.weights() + self.cycle - FIRST_METHOD_SLOT
    }

    /// The end of an iteration, with the square of the next basis vector's length in [`SQUARE`]: the column is done, and
    /// rotated to a column of a triangle.
    fn column<T: Real, E: Executor>(self, problem: &Problem<'_, T, E>, column: u32) -> Vec<Step> {
        let (diagonal, below) = (self.entry(column, column), self.entry(column + 1, column));
        let (g, [c, s]) = (self.right_hand_side() + column, self.rotation(column));
        let mut steps: Vec<_> = (0..=column)
            .map(|row| Step::add(self.entry(row, column), self.entry(row, column), self.correction() + row))
            .collect();
        steps.extend([Step::square_root(LENGTH, SQUARE), Step::copy(below, LENGTH)]);
        steps.extend((0..column).map(|number| {
            let [c, s] = self.rotation(number);
            Step::rotate(self.entry(number, column), c, s)
        }));
        steps.extend([
            Step::multiply(NORM, diagonal, diagonal),
            Step::add(NORM, NORM, SQUARE),
            Step::square_root(NORM, NORM),
            Step::stop_unless_finite(NOT_FINITE, NORM),
            Step::stop_if_zero(breakdown_code(0), NORM),
            Step::divide(c, diagonal, NORM),
            Step::divide(s, below, NORM),
            Step::rotate(diagonal, c, s),
            Step::copy(g + 1, ZERO),
            Step::rotate(g, c, s),
            Step::add(COLUMNS, COLUMNS, ONE),
            Step::magnitude(NORM, g + 1),
        ]);
        steps.extend(problem.check(NORM));
        // Of length 0 only if the residual is 0.
        steps.push(Step::divide_or_zero(INVERSE, ONE, LENGTH));
        steps
    }

    /// Back substitution with the first columns of the triangle.
    ///
    /// # Errors
    /// When memory runs out.
    fn substitution(self, columns: u32) -> Result<Vec<Step>, Error> {
        let (weights, g) = (self.weights(), self.right_hand_side());
        let mut steps = with_capacity((self.cycle + columns * (columns + 3) / 2 + 1) as usize)?;
        steps.extend((0..self.cycle).map(|row| Step::copy(weights + row, ZERO)));
        for row in (0..columns).rev() {
            steps.push(Step::copy(weights + row, g + row));
            steps.extend(
                (row + 1..columns)
                    .map(|column| Step::subtract_product(weights + row, self.entry(row, column), weights + column)),
            );
            steps.push(Step::divide(weights + row, weights + row, self.entry(row, row)));
        }
        steps.push(Step::copy(COLUMNS, ZERO));
        Ok(steps)
    }
}

/// The vectors and programs of [`Gmres`].
pub struct GmresIteration<T: Real, E: Executor> {
    layout: Layout,
    /// The basis.
    basis: Multicolumn<T, E::Memory>,
    /// The vector that M and A are applied to.
    v: Vector<T, E>,
    /// What the next basis vector is made of.
    w: Vector<T, E>,
    /// M v, if there is a preconditioner.
    z: Option<Vector<T, E>>,
    nothing: Program<E::Memory>,
    first: Program<E::Memory>,
    columns: Vec<Program<E::Memory>>,
    substitution: Program<E::Memory>,
}

impl<T: Real, E: Executor> Method<T, E> for Gmres {
    type Iteration = GmresIteration<T, E>;

    fn size(&self, rows: usize) -> Size {
        let layout = self.layout(rows);
        Size { slots: layout.slots(), sums: layout.cycle as usize, iterations_at_once: layout.cycle }
    }

    fn prepare(&self, problem: &Problem<'_, T, E>) -> Result<GmresIteration<T, E>, Error> {
        if self.cycle == 0 || self.cycle > Self::LONGEST_CYCLE {
            let value = self.cycle.to_string();
            return Err(Error::Setting { what: "the cycle of GMRES", value, expected: "from 1 to 512" });
        }
        let layout = self.layout(problem.rows());
        let space = &problem.space;
        let first = [
            Step::square_root(LENGTH, SQUARE),
            Step::copy(layout.right_hand_side(), LENGTH),
            Step::divide_or_zero(INVERSE, ONE, LENGTH),
        ];
        Ok(GmresIteration {
            layout,
            basis: Multicolumn::zeros(space.executor(), problem.rows(), layout.cycle as usize)?,
            v: problem.vector()?,
            w: problem.vector()?,
            z: if problem.preconditioner.is_some() { Some(problem.vector()?) } else { None },
            nothing: space.program(&[])?,
            first: space.program(&first)?,
            columns: (0..layout.cycle)
                .map(|column| space.program(&layout.column(problem, column)))
                .collect::<Result<_, _>>()?,
            substitution: space.program(&layout.substitution(layout.cycle)?)?,
        })
    }
}

impl<T: Real, E: Executor> GmresIteration<T, E> {
    /// x ← x + M V y, after the program that computes y.
    fn update(
        &mut self,
        problem: &mut Problem<'_, T, E>,
        substitution: Option<&Program<E::Memory>>,
    ) -> Result<(), Error> {
        let Problem { preconditioner, solution: x, space, .. } = problem;
        let (basis, weights) = (self.basis.all(), self.layout.weights());
        space.run(substitution.unwrap_or(&self.substitution))?;
        match (preconditioner, &mut self.z) {
            (Some(preconditioner), Some(z)) => {
                space.combine(T::ONE, basis, weights, T::ZERO, ColumnsMut::of(&mut self.v))?;
                preconditioner.apply(T::ONE, &self.v, T::ZERO, z)?;
                space.pass(Axpby, [ONE, ONE], [&*z], [&mut **x])
            }
            _ => space.combine(T::ONE, basis, weights, T::ONE, ColumnsMut::of(&mut **x)),
        }
    }

    /// The first basis vector of a cycle, from the residual.
    fn begin_cycle(&mut self, problem: &mut Problem<'_, T, E>) -> Result<(), Error> {
        let Problem { residual: r, space, .. } = problem;
        space.pass(Dot, [], [r, r], [])?;
        space.finish(SQUARE, &self.first)?;
        let first = [PartMut::whole(&mut self.v), self.basis.column_mut(0)];
        space.pass_over_parts(ScaledTwice, [INVERSE], [Part::whole(&*r)], first)
    }
}

impl<T: Real, E: Executor> Iteration<T, E> for GmresIteration<T, E> {
    const BREAKDOWNS: &'static [&'static str] = &["the matrix is singular"];

    fn start(&mut self, problem: &mut Problem<'_, T, E>) -> Result<(), Error> {
        self.begin_cycle(problem)
    }

    /// A cycle.
    fn advance(&mut self, problem: &mut Problem<'_, T, E>) -> Result<(), Error> {
        for column in 0..self.layout.cycle {
            let Problem { operator, preconditioner, space, .. } = problem;
            let Self { basis, v, w, z, .. } = self;
            let z = preconditioned(preconditioner, v, z.as_mut())?;
            operator.apply(T::ONE, z, T::ZERO, w)?;
            let count = column as usize + 1;
            for coefficients in [self.layout.entry(0, column), self.layout.correction()] {
                space.gram(basis.range(0..count), Columns::of(w))?;
                space.finish(coefficients, &self.nothing)?;
                space.combine(-T::ONE, basis.range(0..count), coefficients, T::ONE, ColumnsMut::of(w))?;
            }
            space.pass(Dot, [], [w, w], [])?;
            space.finish(SQUARE, &self.columns[column as usize])?;
            if column + 1 < self.layout.cycle {
                let next = [PartMut::whole(v), basis.column_mut(count)];
                space.pass_over_parts(ScaledTwice, [INVERSE], [Part::whole(&*w)], next)?;
            }
        }
        self.update(problem, None)?;
        let Problem { operator, right_hand_side: b, residual: r, solution: x, space, .. } = problem;
        space.pass(Scaled, [ONE], [b], [&mut *r])?;
        operator.apply(-T::ONE, x, T::ONE, r)?;
        self.begin_cycle(problem)
    }

    fn finish(
        &mut self,
        problem: &mut Problem<'_, T, E>,
        _iterations: usize,
        _in_the_midst: bool,
    ) -> Result<(), Error> {
        let columns = problem.space.scalars()?[COLUMNS as usize] as u32;
        if columns == 0 {
            return Ok(());
        }
        let substitution = problem.space.program(&self.layout.substitution(columns)?)?;
        self.update(problem, Some(&substitution))
    }
}
