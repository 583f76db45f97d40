//! Conjugate gradients.

use host::error::Error;
use host::executor::Executor;
use host::plan::Vector;
use host::real::Scalar;

use super::method::{FIRST_METHOD_SLOT, Iteration, Method, Problem, Size, preconditioned};
use crate::dense::{Axpby, CgUpdate, Dot, ONE, Program, Scaled, Step};

/// Conjugate gradients (Hestenes & Stiefel 1952), for symmetric or Hermitian positive definite matrices and
/// preconditioners.
///
/// An iteration takes a product with the matrix and one with the preconditioner; it reads and writes 11 vectors, or 13 with
/// a preconditioner. Vectors besides b and x: 3, or 4.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cg;

/// r · z: the residual and the preconditioned residual.
const RHO: u32 = FIRST_METHOD_SLOT;
/// p · A p.
const CURVATURE: u32 = RHO + 1;
const ALPHA: u32 = RHO + 2;
const BETA: u32 = RHO + 3;
/// r · r.
const SQUARE: u32 = RHO + 4;
const NORM: u32 = RHO + 5;
const NEW_RHO: u32 = RHO + 6;
const SLOTS: u32 = 7;

/// The vectors and programs of [`Cg`].
pub struct CgIteration<T: Scalar, E: Executor> {
    /// The direction.
    p: Vector<T, E>,
    /// A p.
    q: Vector<T, E>,
    /// The preconditioned residual, if there is a preconditioner.
    z: Option<Vector<T, E>>,
    first_rho: Program<E::Memory>,
    step_length: Program<E::Memory>,
    checked: Program<E::Memory>,
    next_rho: Program<E::Memory>,
}

impl<T: Scalar, E: Executor> Method<T, E> for Cg {
    type Iteration = CgIteration<T, E>;

    fn size(&self, _rows: usize) -> Size {
        Size { slots: SLOTS, sums: 1, iterations_at_once: 1 }
    }

    fn prepare(&self, problem: &Problem<'_, T, E>) -> Result<CgIteration<T, E>, Error> {
        let preconditioned = problem.preconditioner.is_some();
        let next = [Step::divide(BETA, NEW_RHO, RHO), Step::copy(RHO, NEW_RHO)];
        let checked = [&[Step::square_root(NORM, SQUARE)], &problem.check(NORM)[..]].concat();
        // Without a preconditioner, r · r is r · z.
        let checked_and_next = [&checked[..], &[Step::copy(NEW_RHO, SQUARE)], &next].concat();
        let step_length = [&problem.demand_positive(0, CURVATURE)[..], &[Step::divide(ALPHA, RHO, CURVATURE)]].concat();
        Ok(CgIteration {
            p: problem.vector()?,
            q: problem.vector()?,
            z: if preconditioned { Some(problem.vector()?) } else { None },
            first_rho: problem.space.program(&problem.demand_positive(1, RHO))?,
            step_length: problem.space.program(&step_length)?,
            checked: problem.space.program(if preconditioned { &checked } else { &checked_and_next })?,
            next_rho: problem.space.program(&[&problem.demand_positive(1, NEW_RHO)[..], &next].concat())?,
        })
    }
}

impl<T: Scalar, E: Executor> Iteration<T, E> for CgIteration<T, E> {
    const BREAKDOWNS: &'static [&'static str] =
        &["the matrix is not positive definite", "the preconditioner is not positive definite"];

    fn start(&mut self, problem: &mut Problem<'_, T, E>) -> Result<(), Error> {
        let Problem { preconditioner, residual: r, space, .. } = problem;
        let z = preconditioned(preconditioner, r, self.z.as_mut())?;
        space.pass(Scaled, [ONE], [z], [&mut self.p])?;
        space.pass(Dot, [], [r, z], [])?;
        space.finish(RHO, &self.first_rho)
    }

    fn advance(&mut self, problem: &mut Problem<'_, T, E>) -> Result<(), Error> {
        let Problem { operator, preconditioner, residual: r, solution: x, space, .. } = problem;
        let Self { p, q, z, .. } = self;
        space.product(&mut **operator, p, q, p, false)?;
        space.finish(CURVATURE, &self.step_length)?;
        space.pass(CgUpdate, [ALPHA], [p, q], [x, r])?;
        space.finish(SQUARE, &self.checked)?;
        let z = match (z, preconditioner) {
            (Some(z), Some(preconditioner)) => {
                preconditioner.apply(T::ONE, r, T::ZERO, z)?;
                space.pass(Dot, [], [r, z], [])?;
                space.finish(NEW_RHO, &self.next_rho)?;
                &*z
            }
            _ => &*r,
        };
        space.pass(Axpby, [ONE, BETA], [z], [p])
    }
}
