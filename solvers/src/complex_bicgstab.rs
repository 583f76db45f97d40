//! BiCGSTAB for complex numbers.
//!
//! Passes have only real coefficients. A vector v to be multiplied by a complex number is therefore split into (v, −i v):
//! combining these with the real and imaginary parts of the conjugate c̄ gives c v, and their products with w are the real
//! and imaginary parts of the conjugate of vᴴ w. Hence all numbers are stored as their conjugates.

use cuda_std::GpuScalar;
use host::error::Error;
use host::executor::Executor;
use host::plan::Vector;
use host::real::Scalar;

use super::complex_steps::{Pair, SCRATCH_SLOTS, divide, multiply, pair, size};
use super::method::{FIRST_METHOD_SLOT, NOT_FINITE, Problem, breakdown_code, preconditioned};
use crate::dense::{Apart, Axpby, Columns, ColumnsMut, Dot, Multicolumn, ONE, Program, Scaled, Space, Step};

/// r̃ᴴ r: the first residual and the residual.
const RHO: Pair = pair(FIRST_METHOD_SLOT);
const NEW_RHO: Pair = pair(RHO[0] + 2);
/// r̃ᴴ A p.
const SIGMA: Pair = pair(RHO[0] + 4);
/// tᴴ s, and t · t.
const STEP: Pair = pair(RHO[0] + 6);
const STEP_SQUARE: u32 = RHO[0] + 8;
const ALPHA: Pair = pair(RHO[0] + 9);
const OMEGA: Pair = pair(RHO[0] + 11);
const BETA: Pair = pair(RHO[0] + 13);
const SQUARE: u32 = RHO[0] + 15;
const NORM: u32 = RHO[0] + 16;
const SCRATCH: u32 = RHO[0] + 17;

/// The vectors and programs, with the names of the paper. Vectors stored in two columns are split.
pub(super) struct ComplexIteration<T: Scalar, E: Executor> {
    apart: Apart<T, E>,
    /// r̃, the first residual.
    shadow: Multicolumn<T, E::Memory>,
    /// The direction.
    p: Vector<T, E>,
    /// A M p.
    v: Vector<T, E>,
    v_apart: Multicolumn<T, E::Memory>,
    /// A M s.
    t: Vector<T, E>,
    t_apart: Multicolumn<T, E::Memory>,
    /// M p, then M s, then p.
    z_apart: Multicolumn<T, E::Memory>,
    /// M p, then M s, if there is a preconditioner.
    z: Option<Vector<T, E>>,
    nothing: Program<E::Memory>,
    step_length: Program<E::Memory>,
    second_step_length: Program<E::Memory>,
    next: Program<E::Memory>,
}

/// y ← y ± c v for a split v, where `sign` is 1 or −1.
fn add<T: Scalar, E: Executor>(
    space: &mut Space<E>,
    sign: T::Real,
    coefficient: Pair,
    v: &Multicolumn<T, E::Memory>,
    y: &mut Vector<T, E>,
) -> Result<(), Error> {
    space.combine(sign, v.all(), coefficient[0], T::Real::ONE, ColumnsMut::of(y))
}

impl<T: Scalar, E: Executor> ComplexIteration<T, E> {
    pub(super) const SLOTS: u32 = SCRATCH + SCRATCH_SLOTS - FIRST_METHOD_SLOT;

    pub(super) fn new(problem: &Problem<'_, T, E>) -> Result<Self, Error> {
        let (space, rows) = (&problem.space, problem.rows());
        let finite = |[re, im]: Pair| [re, im].map(|part| Step::stop_unless_finite(NOT_FINITE, part));
        let not_zero = |number, value| {
            let [a, b, c] = size(SCRATCH, value);
            [a, b, c, Step::stop_if_zero(breakdown_code(number), SCRATCH)]
        };
        let step_length = [&finite(SIGMA)[..], &not_zero(0, SIGMA), &divide(ALPHA, RHO, SIGMA, SCRATCH)].concat();
        // If s is 0, then x is the solution.
        let second_step_length =
            [&[0, 1].map(|part| Step::divide_or_zero(OMEGA[part], STEP[part], STEP_SQUARE))[..], &finite(OMEGA)]
                .concat();
        let next = [
            &[Step::square_root(NORM, SQUARE)],
            &problem.check(NORM)[..],
            &not_zero(1, NEW_RHO),
            &not_zero(2, OMEGA),
            &divide(BETA, NEW_RHO, RHO, SCRATCH),
            &multiply(BETA, BETA, ALPHA, SCRATCH),
            &divide(BETA, BETA, OMEGA, SCRATCH),
            &[0, 1].map(|part| Step::copy(RHO[part], NEW_RHO[part])),
        ]
        .concat();
        let two_columns = || Multicolumn::zeros(space.executor(), rows, 2);
        Ok(Self {
            apart: Apart::new(space.executor(), rows)?,
            shadow: two_columns()?,
            p: problem.vector()?,
            v: problem.vector()?,
            v_apart: two_columns()?,
            t: problem.vector()?,
            t_apart: two_columns()?,
            z_apart: two_columns()?,
            z: if problem.preconditioner.is_some() { Some(problem.vector()?) } else { None },
            nothing: space.program(&[])?,
            step_length: space.program(&step_length)?,
            second_step_length: space.program(&second_step_length)?,
            next: space.program(&next)?,
        })
    }

    pub(super) fn start(&mut self, problem: &mut Problem<'_, T, E>) -> Result<(), Error> {
        let Problem { residual: r, space, .. } = problem;
        self.apart.apply(space, 1, r, &mut self.shadow)?;
        space.pass(Scaled, [ONE], [r], [&mut self.p])?;
        space.gram(self.shadow.all(), Columns::of(r))?;
        space.finish(RHO[0], &self.nothing)
    }

    pub(super) fn advance(&mut self, problem: &mut Problem<'_, T, E>) -> Result<(), Error> {
        let Problem { operator, preconditioner, residual: r, solution: x, space, .. } = problem;
        let Self { apart, shadow, p, v, v_apart, t, t_apart, z_apart, z, nothing, .. } = self;
        let (plus, minus) = (T::Real::ONE, -T::Real::ONE);

        let direction = preconditioned(preconditioner, p, z.as_mut())?;
        operator.apply(T::ONE, direction, T::ZERO, v)?;
        apart.apply(space, 1, direction, z_apart)?;
        apart.apply(space, 1, v, v_apart)?;
        space.gram(shadow.all(), Columns::of(v))?;
        space.finish(SIGMA[0], &self.step_length)?;
        add(space, plus, ALPHA, z_apart, x)?;
        add(space, minus, ALPHA, v_apart, r)?;

        let direction = preconditioned(preconditioner, r, z.as_mut())?;
        operator.apply(T::ONE, direction, T::ZERO, t)?;
        apart.apply(space, 1, direction, z_apart)?;
        apart.apply(space, 1, t, t_apart)?;
        space.gram(t_apart.all(), Columns::of(r))?;
        space.finish(STEP[0], nothing)?;
        space.pass(Dot, [], [&*t, &*t], [])?;
        space.finish(STEP_SQUARE, &self.second_step_length)?;
        add(space, plus, OMEGA, z_apart, x)?;
        add(space, minus, OMEGA, t_apart, r)?;

        space.gram(shadow.all(), Columns::of(r))?;
        space.finish(NEW_RHO[0], nothing)?;
        space.pass(Dot, [], [&*r, &*r], [])?;
        space.finish(SQUARE, &self.next)?;
        // p ← r + β (p − ω v)
        add(space, minus, OMEGA, v_apart, p)?;
        apart.apply(space, 1, p, z_apart)?;
        space.combine(plus, z_apart.all(), BETA[0], T::Real::ZERO, ColumnsMut::of(p))?;
        space.pass(Axpby, [ONE, ONE], [&*r], [p])
    }
}
