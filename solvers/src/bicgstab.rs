//! BiCGSTAB.

use host::error::Error;
use host::executor::Executor;
use host::plan::Vector;
use host::real::Scalar;

use super::complex_bicgstab::ComplexIteration;
use super::method::{FIRST_METHOD_SLOT, Iteration, Method, NOT_FINITE, Problem, Size, breakdown_code};
use crate::dense::{
    BicgstabDirection, BicgstabUpdate, CgUpdate, Dot, ONE, PreconditionedBicgstabUpdate, Program, ScaledTwice, Step,
};

/// BiCGSTAB (van der Vorst 1992, §3), for any regular matrix. It is preconditioned from the right, so the residual is that
/// of A x = b. It can break down, or stagnate if the matrix has eigenvalues near the imaginary axis;
/// [`Gmres`](super::Gmres) does not break down.
///
/// An iteration takes two products with the matrix and two with the preconditioner; it reads and writes 18 vectors, or 19
/// with a preconditioner. Vectors besides b and x: 5, or 7. For complex numbers it reads and writes 3 times as many, and
/// keeps 14 vectors, or 15.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bicgstab;

/// r · r̃: the residual and the first residual. The sums of a pass are in [`SQUARE`] and [`NEW_RHO`].
const RHO: u32 = FIRST_METHOD_SLOT;
const SQUARE: u32 = RHO + 1;
const NEW_RHO: u32 = RHO + 2;
/// A p · r̃.
const SIGMA: u32 = RHO + 3;
/// t · s and t · t.
const STEP: u32 = RHO + 4;
const STEP_SQUARE: u32 = RHO + 5;
const ALPHA: u32 = RHO + 6;
const OMEGA: u32 = RHO + 7;
const BETA: u32 = RHO + 8;
const NORM: u32 = RHO + 9;
const SLOTS: u32 = 10;

/// The vectors and programs of [`Bicgstab`].
pub struct BicgstabIteration<T: Scalar, E: Executor>(OfNumbers<T, E>);

enum OfNumbers<T: Scalar, E: Executor> {
    Real(RealIteration<T, E>),
    Complex(Box<ComplexIteration<T, E>>),
}

/// For real numbers, with the names of the paper.
struct RealIteration<T: Scalar, E: Executor> {
    /// r̃, the first residual.
    shadow: Vector<T, E>,
    /// The direction.
    p: Vector<T, E>,
    /// A M p.
    v: Vector<T, E>,
    /// A M s.
    t: Vector<T, E>,
    /// M p, then M s.
    preconditioned: Option<Vector<T, E>>,
    first: Program<E::Memory>,
    step_length: Program<E::Memory>,
    second_step_length: Program<E::Memory>,
    next: Program<E::Memory>,
}

impl<T: Scalar, E: Executor> Method<T, E> for Bicgstab {
    type Iteration = BicgstabIteration<T, E>;

    fn size(&self, _rows: usize) -> Size {
        let slots = if T::COMPLEX { ComplexIteration::<T, E>::SLOTS } else { SLOTS };
        Size { slots, sums: 2, iterations_at_once: 1 }
    }

    fn prepare(&self, problem: &Problem<'_, T, E>) -> Result<BicgstabIteration<T, E>, Error> {
        Ok(BicgstabIteration(match T::COMPLEX {
            true => OfNumbers::Complex(Box::new(ComplexIteration::new(problem)?)),
            false => OfNumbers::Real(RealIteration::new(problem)?),
        }))
    }
}

impl<T: Scalar, E: Executor> RealIteration<T, E> {
    fn new(problem: &Problem<'_, T, E>) -> Result<Self, Error> {
        let next = [
            &[Step::square_root(NORM, SQUARE)],
            &problem.check(NORM)[..],
            &[
                Step::stop_if_zero(breakdown_code(1), NEW_RHO),
                Step::stop_if_zero(breakdown_code(2), OMEGA),
                Step::divide(BETA, NEW_RHO, RHO),
                Step::multiply(BETA, BETA, ALPHA),
                Step::divide(BETA, BETA, OMEGA),
                Step::copy(RHO, NEW_RHO),
            ],
        ]
        .concat();
        let step_length = [
            Step::stop_unless_finite(NOT_FINITE, SIGMA),
            Step::stop_if_zero(breakdown_code(0), SIGMA),
            Step::divide(ALPHA, RHO, SIGMA),
        ];
        // If s is 0, then x is the solution.
        let second_step_length =
            [Step::divide_or_zero(OMEGA, STEP, STEP_SQUARE), Step::stop_unless_finite(NOT_FINITE, OMEGA)];
        Ok(Self {
            shadow: problem.vector()?,
            p: problem.vector()?,
            v: problem.vector()?,
            t: problem.vector()?,
            preconditioned: if problem.preconditioner.is_some() { Some(problem.vector()?) } else { None },
            first: problem.space.program(&[])?,
            step_length: problem.space.program(&step_length)?,
            second_step_length: problem.space.program(&second_step_length)?,
            next: problem.space.program(&next)?,
        })
    }
}

impl<T: Scalar, E: Executor> Iteration<T, E> for BicgstabIteration<T, E> {
    const BREAKDOWNS: &'static [&'static str] = &[
        "the first residual is orthogonal to the product with the direction",
        "the residual is orthogonal to the first one",
        "the residual is orthogonal to its product with the matrix",
    ];

    fn start(&mut self, problem: &mut Problem<'_, T, E>) -> Result<(), Error> {
        match &mut self.0 {
            OfNumbers::Real(iteration) => iteration.start(problem),
            OfNumbers::Complex(iteration) => iteration.start(problem),
        }
    }

    fn advance(&mut self, problem: &mut Problem<'_, T, E>) -> Result<(), Error> {
        match &mut self.0 {
            OfNumbers::Real(iteration) => iteration.advance(problem),
            OfNumbers::Complex(iteration) => iteration.advance(problem),
        }
    }
}

impl<T: Scalar, E: Executor> RealIteration<T, E> {
    fn start(&mut self, problem: &mut Problem<'_, T, E>) -> Result<(), Error> {
        let Problem { residual: r, space, .. } = problem;
        space.pass(ScaledTwice, [ONE], [r], [&mut self.p, &mut self.shadow])?;
        space.pass(Dot, [], [r, &self.shadow], [])?;
        space.finish(RHO, &self.first)
    }

    fn advance(&mut self, problem: &mut Problem<'_, T, E>) -> Result<(), Error> {
        let Problem { operator, preconditioner, residual: r, solution: x, space, .. } = problem;
        let Self { shadow, p, v, t, preconditioned, .. } = self;
        match (preconditioned, preconditioner) {
            (Some(z), Some(preconditioner)) => {
                preconditioner.apply(T::ONE, p, T::ZERO, z)?;
                space.product(&mut **operator, z, v, shadow, false)?;
                space.finish(SIGMA, &self.step_length)?;
                space.pass(CgUpdate, [ALPHA], [z, v], [&mut **x, &mut *r])?;
                preconditioner.apply(T::ONE, r, T::ZERO, z)?;
                space.product(&mut **operator, z, t, r, true)?;
                space.finish(STEP, &self.second_step_length)?;
                space.pass(PreconditionedBicgstabUpdate, [OMEGA], [z, t, shadow], [&mut **x, &mut *r])?;
            }
            _ => {
                space.product(&mut **operator, p, v, shadow, false)?;
                space.finish(SIGMA, &self.step_length)?;
                space.pass(CgUpdate, [ALPHA], [p, v], [&mut **x, &mut *r])?;
                space.product(&mut **operator, r, t, r, true)?;
                space.finish(STEP, &self.second_step_length)?;
                space.pass(BicgstabUpdate, [OMEGA], [t, shadow], [&mut **x, &mut *r])?;
            }
        }
        space.finish(SQUARE, &self.next)?;
        space.pass(BicgstabDirection, [BETA, OMEGA], [r, v], [p])
    }
}
