//! Restarted GMRES.
//!
//! Each small array has one row per part of a number: the real parts first, then the imaginary parts. A rotation maps (a,
//! b) to (c̄ a + s b, c b − s a); s is real, and so is the diagonal of the triangle.

use cuda_std::GpuScalar;
use host::error::Error;
use host::executor::Executor;
use host::memory::with_capacity;
use host::plan::Vector;
use host::real::Scalar;

use super::method::{FIRST_METHOD_SLOT, Iteration, Method, NOT_FINITE, Problem, Size, breakdown_code, preconditioned};
use crate::complex_steps::negative;
use crate::dense::{
    Axpby, Blocks, ColumnsMut, Dot, Multicolumn, ONE, Part, PartMut, Program, Scaled, ScaledTwice, Step, ZERO,
};

/// GMRES(m) (Saad & Schultz 1986, §3), for any regular matrix. It is preconditioned from the right, so the residual is that
/// of A x = b. The basis is orthogonalised by classical Gram-Schmidt, done twice (Giraud, Langou & Rozložník 2005).
///
/// Iteration j of a cycle takes a product with the matrix and one with the preconditioner, and reads and writes about 4 j +
/// 11 vectors; x is updated at the end of a cycle, which takes one more product. Vectors besides b and x: m + 3, or m + 4.
/// For complex numbers an iteration reads and writes about 20 more vectors, and about 8 more are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gmres {
    /// m: iterations per cycle, from 1 to [`Gmres::LONGEST_CYCLE`], capped at the number of rows.
    pub cycle: u32,
}

impl Gmres {
    /// The largest [`cycle`](Self::cycle).
    pub const LONGEST_CYCLE: u32 = 512;

    fn layout<T: Scalar>(self, rows: usize) -> Layout {
        let cycle = self.cycle.clamp(1, Self::LONGEST_CYCLE).min(u32::try_from(rows.max(1)).unwrap_or(u32::MAX));
        Layout { cycle, parts: T::PARTS as u32 }
    }
}

impl Default for Gmres {
    fn default() -> Self {
        Self { cycle: 30 }
    }
}

const SQUARE: u32 = FIRST_METHOD_SLOT;
const NORM: u32 = SQUARE + 1;
/// Norm of the next basis vector before normalization, or of the residual at the start of a cycle, and its inverse.
const LENGTH: u32 = SQUARE + 2;
const INVERSE: u32 = SQUARE + 3;
/// Columns of this cycle not yet added to x.
const COLUMNS: u32 = SQUARE + 4;
/// Temporaries of complex arithmetic.
const SCRATCH: [u32; 4] = [SQUARE + 5, SQUARE + 6, SQUARE + 7, SQUARE + 8];
const FIRST_ARRAY: u32 = SQUARE + 9;

/// Layout of the small arrays among the slots.
#[derive(Clone, Copy)]
struct Layout {
    cycle: u32,
    /// Parts of a number.
    parts: u32,
}

impl Layout {
    /// Entry `row`, `column` of the Hessenberg matrix, which is turned into a triangle.
    fn entry(self, row: u32, column: u32) -> u32 {
        FIRST_ARRAY + column * (self.parts * self.cycle + 1) + row
    }

    /// The two parts of a complex entry; entries below the diagonal are not stored.
    fn complex_entry(self, row: u32, column: u32) -> [u32; 2] {
        let re = self.entry(row, column);
        [re, re + column + 1]
    }

    /// Corrections to a column by the second orthogonalisation.
    fn correction(self) -> u32 {
        self.entry(0, self.cycle)
    }

    /// The rotated right-hand side: one element more than a cycle has iterations.
    fn right_hand_side(self) -> u32 {
        self.correction() + self.parts * self.cycle
    }

    /// The two parts of one of its elements.
    fn complex_right_hand_side(self, row: u32) -> [u32; 2] {
        let re = self.right_hand_side() + row;
        [re, re + self.cycle + 1]
    }

    /// The numbers c and s of a rotation; for complex numbers, the real part of c.
    fn rotation(self, number: u32) -> [u32; 2] {
        let first = self.right_hand_side() + self.parts * (self.cycle + 1);
        [first + number, first + self.cycle + number]
    }

    /// The imaginary part of c.
    fn rotation_im(self, number: u32) -> u32 {
        self.rotation(number)[1] + self.cycle
    }

    /// The weights of the basis vectors in the update of x.
    fn weights(self) -> u32 {
        self.rotation(0)[0] + (1 + self.parts) * self.cycle
    }

    fn slots(self) -> u32 {
        self.weights() + self.parts * self.cycle - FIRST_METHOD_SLOT
    }

    /// Returns the steps that end an iteration, with the squared length of the next basis vector in [`SQUARE`]: completes
    /// the column and rotates it into a column of the triangle.
    fn column<T: Scalar, E: Executor>(self, problem: &Problem<'_, T, E>, column: u32) -> Vec<Step> {
        let first = self.entry(0, column);
        let mut steps: Vec<_> = (0..self.parts * (column + 1))
            .map(|place| Step::add(first + place, first + place, self.correction() + place))
            .collect();
        steps.push(Step::square_root(LENGTH, SQUARE));
        steps.extend(if T::COMPLEX { self.rotated_complex(column) } else { self.rotated(column) });
        steps.push(Step::add(COLUMNS, COLUMNS, ONE));
        steps.extend(problem.check(NORM));
        // The length is 0 only if the residual is 0.
        steps.push(Step::divide_or_zero(INVERSE, ONE, LENGTH));
        steps
    }

    /// Rotates a column and the right-hand side, and stores the norm of the residual.
    fn rotated(self, column: u32) -> Vec<Step> {
        let (diagonal, below) = (self.entry(column, column), self.entry(column + 1, column));
        let (g, [c, s]) = (self.right_hand_side() + column, self.rotation(column));
        let mut steps = vec![Step::copy(below, LENGTH)];
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
            Step::magnitude(NORM, g + 1),
        ]);
        steps
    }

    /// [`rotated`](Self::rotated) for complex numbers.
    fn rotated_complex(self, column: u32) -> Vec<Step> {
        let [a, b, c, d] = SCRATCH;
        let mut steps = Vec::new();
        for number in 0..column {
            let ([re, im], [cosine, sine]) = (self.complex_entry(number, column), self.rotation(number));
            let of_cosine = self.rotation_im(number);
            steps.extend([
                Step::copy(a, re),
                Step::copy(b, im),
                Step::copy(c, re + 1),
                Step::copy(d, im + 1),
                // The real part of c first, then its imaginary part with the original numbers.
                Step::rotate(re, cosine, sine),
                Step::rotate(im, cosine, sine),
                Step::subtract_product(im, of_cosine, a),
                Step::subtract_product(re + 1, of_cosine, d),
                Step::multiply(b, of_cosine, b),
                Step::add(re, re, b),
                Step::multiply(c, of_cosine, c),
                Step::add(im + 1, im + 1, c),
            ]);
        }
        let ([re, im], [cosine, sine]) = (self.complex_entry(column, column), self.rotation(column));
        let of_cosine = self.rotation_im(column);
        let [g_re, g_im] = self.complex_right_hand_side(column);
        steps.extend([
            Step::multiply(NORM, re, re),
            Step::multiply(a, im, im),
            Step::add(NORM, NORM, a),
            Step::add(NORM, NORM, SQUARE),
            Step::square_root(NORM, NORM),
            Step::stop_unless_finite(NOT_FINITE, NORM),
            Step::stop_if_zero(breakdown_code(0), NORM),
            Step::divide(cosine, re, NORM),
            Step::divide(of_cosine, im, NORM),
            Step::divide(sine, LENGTH, NORM),
            Step::copy(re, NORM),
            Step::copy(im, ZERO),
            Step::multiply(g_re + 1, sine, g_re),
            negative(g_re + 1, g_re + 1),
            Step::multiply(g_im + 1, sine, g_im),
            negative(g_im + 1, g_im + 1),
            Step::copy(a, g_re),
            Step::multiply(b, of_cosine, g_im),
            Step::multiply(g_re, cosine, g_re),
            Step::add(g_re, g_re, b),
            Step::multiply(g_im, cosine, g_im),
            Step::subtract_product(g_im, of_cosine, a),
            Step::multiply(NORM, g_re + 1, g_re + 1),
            Step::multiply(a, g_im + 1, g_im + 1),
            Step::add(NORM, NORM, a),
            Step::square_root(NORM, NORM),
        ]);
        steps
    }

    /// Back substitution with the first columns of the triangle.
    ///
    /// # Errors
    /// When memory runs out.
    fn substitution(self, columns: u32) -> Result<Vec<Step>, Error> {
        let most = if self.parts == 1 { 1 } else { 5 };
        let mut steps = with_capacity((self.parts * self.cycle + most * columns * (columns + 3) / 2 + 1) as usize)?;
        steps.extend((0..self.parts * self.cycle).map(|place| Step::copy(self.weights() + place, ZERO)));
        for row in (0..columns).rev() {
            if self.parts == 1 {
                self.substitute(row, columns, &mut steps);
            } else {
                self.substitute_complex(row, columns, &mut steps);
            }
        }
        steps.push(Step::copy(COLUMNS, ZERO));
        Ok(steps)
    }

    /// The weight of one row, from those of the rows after it.
    fn substitute(self, row: u32, columns: u32, steps: &mut Vec<Step>) {
        let (weights, g) = (self.weights(), self.right_hand_side());
        steps.push(Step::copy(weights + row, g + row));
        steps.extend(
            (row + 1..columns)
                .map(|column| Step::subtract_product(weights + row, self.entry(row, column), weights + column)),
        );
        steps.push(Step::divide(weights + row, weights + row, self.entry(row, row)));
    }

    /// [`substitute`](Self::substitute) for complex numbers.
    fn substitute_complex(self, row: u32, columns: u32, steps: &mut Vec<Step>) {
        let weight = |row: u32| [self.weights() + row, self.weights() + self.cycle + row];
        let ([re, im], [g_re, g_im], [product, ..]) = (weight(row), self.complex_right_hand_side(row), SCRATCH);
        steps.extend([Step::copy(re, g_re), Step::copy(im, g_im)]);
        for column in row + 1..columns {
            let ([a, b], [c, d]) = (self.complex_entry(row, column), weight(column));
            steps.extend([
                Step::subtract_product(re, a, c),
                Step::multiply(product, b, d),
                Step::add(re, re, product),
                Step::subtract_product(im, a, d),
                Step::subtract_product(im, b, c),
            ]);
        }
        let diagonal = self.entry(row, row);
        steps.extend([Step::divide(re, re, diagonal), Step::divide(im, im, diagonal)]);
    }
}

/// The vectors and programs of [`Gmres`].
pub struct GmresIteration<T: Scalar, E: Executor> {
    layout: Layout,
    /// The basis.
    basis: Multicolumn<T, E::Memory>,
    blocks: Blocks<T, E>,
    /// The vector that M and A are applied to.
    v: Vector<T, E>,
    /// The vector that becomes the next basis vector.
    w: Vector<T, E>,
    /// M v, if there is a preconditioner.
    z: Option<Vector<T, E>>,
    nothing: Program<E::Memory>,
    first: Program<E::Memory>,
    columns: Vec<Program<E::Memory>>,
    substitution: Program<E::Memory>,
}

impl<T: Scalar, E: Executor> Method<T, E> for Gmres {
    type Iteration = GmresIteration<T, E>;

    fn size(&self, rows: usize) -> Size {
        let layout = self.layout::<T>(rows);
        let sums = (layout.parts * layout.cycle) as usize;
        Size { slots: layout.slots(), sums, iterations_at_once: layout.cycle }
    }

    fn prepare(&self, problem: &Problem<'_, T, E>) -> Result<GmresIteration<T, E>, Error> {
        if self.cycle == 0 || self.cycle > Self::LONGEST_CYCLE {
            let value = self.cycle.to_string();
            return Err(Error::Setting { what: "the cycle of GMRES", value, expected: "from 1 to 512" });
        }
        let layout = self.layout::<T>(problem.space.elements(problem.rows()));
        let space = &problem.space;
        let mut first = vec![
            Step::square_root(LENGTH, SQUARE),
            Step::copy(layout.right_hand_side(), LENGTH),
            Step::divide_or_zero(INVERSE, ONE, LENGTH),
        ];
        if T::COMPLEX {
            first.push(Step::copy(layout.complex_right_hand_side(0)[1], ZERO));
        }
        Ok(GmresIteration {
            layout,
            basis: Multicolumn::zeros(space.executor(), problem.rows(), layout.cycle as usize)?,
            blocks: Blocks::new(space.executor(), problem.rows(), &[1])?,
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

impl<T: Scalar, E: Executor> GmresIteration<T, E> {
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
                self.blocks.combine(space, T::Real::ONE, basis, weights, T::Real::ZERO, (1, &mut self.v))?;
                preconditioner.apply(T::ONE, &self.v, T::ZERO, z)?;
                space.pass(Axpby, [ONE, ONE], [&*z], [&mut **x])
            }
            _ if T::COMPLEX => {
                // If a step has stopped the arithmetic, x must not change.
                self.blocks.combine(space, T::Real::ONE, basis, weights, T::Real::ZERO, (1, &mut self.v))?;
                space.pass(Axpby, [ONE, ONE], [&self.v], [&mut **x])
            }
            _ => space.combine(T::Real::ONE, basis, weights, T::Real::ONE, ColumnsMut::of(&mut **x)),
        }
    }

    /// Makes the first basis vector of a cycle from the residual.
    fn begin_cycle(&mut self, problem: &mut Problem<'_, T, E>) -> Result<(), Error> {
        let Problem { residual: r, space, .. } = problem;
        space.pass(Dot, [], [r, r], [])?;
        space.finish(SQUARE, &self.first)?;
        let first = [PartMut::whole(&mut self.v), self.basis.column_mut(0)];
        space.pass_over_parts(ScaledTwice, [INVERSE], [Part::whole(&*r)], first)
    }
}

impl<T: Scalar, E: Executor> Iteration<T, E> for GmresIteration<T, E> {
    const BREAKDOWNS: &'static [&'static str] = &["the matrix is singular"];

    fn start(&mut self, problem: &mut Problem<'_, T, E>) -> Result<(), Error> {
        self.begin_cycle(problem)
    }

    /// A cycle.
    fn advance(&mut self, problem: &mut Problem<'_, T, E>) -> Result<(), Error> {
        for column in 0..self.layout.cycle {
            let Problem { operator, preconditioner, space, .. } = problem;
            let Self { basis, blocks, v, w, z, .. } = self;
            let z = preconditioned(preconditioner, v, z.as_mut())?;
            operator.apply(T::ONE, z, T::ZERO, w)?;
            let count = column as usize + 1;
            for coefficients in [self.layout.entry(0, column), self.layout.correction()] {
                blocks.inner(space, basis.range(0..count), (1, w))?;
                space.finish(coefficients, &self.nothing)?;
                blocks.combine(space, -T::Real::ONE, basis.range(0..count), coefficients, T::Real::ONE, (1, w))?;
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
