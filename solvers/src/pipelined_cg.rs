//! Pipelined conjugate gradients.

use host::error::Error;
use host::executor::Executor;
use host::plan::Vector;
use host::real::Scalar;

use super::method::{FIRST_METHOD_SLOT, Iteration, Method, Problem, Size};
use crate::dense::{Dot, Fill, PipelinedCgUpdate, PreconditionedPipelinedCgUpdate, Program, Step, ZERO};

/// Pipelined conjugate gradients (Ghysels & Vanroose 2014, algorithms 3 and 4), for symmetric or Hermitian positive
/// definite matrices and preconditioners: the same iterates as [`Cg`](super::Cg) up to rounding, with a single reduction
/// per iteration, in the one pass that updates all vectors. On a GPU this means fewer launches, which helps small matrices,
/// but more vectors, which slows down large ones. Its recursive residual deviates from the true one sooner than that of
/// `Cg`.
///
/// Among [ranks](crate::Ranks), the next product runs while they add up their sums.
///
/// An iteration takes a product with the matrix and one with the preconditioner; it reads and writes 13 vectors, or 18 with
/// a preconditioner. Vectors besides b and x: 6, or 10.
#[derive(Clone, Copy, Debug, Default)]
pub struct PipelinedCg;

/// r · u: the residual and the preconditioned residual. The sums of the pass follow.
const GAMMA: u32 = FIRST_METHOD_SLOT;
const NEW_GAMMA: u32 = GAMMA + 1;
/// u · A u.
const DELTA: u32 = GAMMA + 2;
/// r · r, with a preconditioner.
const SQUARE: u32 = GAMMA + 3;
const NORM: u32 = GAMMA + 4;
const ALPHA: u32 = GAMMA + 5;
const BETA: u32 = GAMMA + 6;
/// p · A p for the next direction p.
const CURVATURE: u32 = GAMMA + 7;
const SLOTS: u32 = 8;

/// The vectors and programs of [`PipelinedCg`], with the names of the paper: r is the residual, w = A u with u = M r.
pub struct PipelinedCgIteration<T: Scalar, E: Executor> {
    w: Vector<T, E>,
    /// A p.
    s: Vector<T, E>,
    /// A M s.
    z: Vector<T, E>,
    /// The direction.
    p: Vector<T, E>,
    /// A M w.
    n: Vector<T, E>,
    preconditioned: Option<Preconditioned<T, E>>,
    /// Whether n already belongs to the next iteration: among ranks it is computed while they add up their sums.
    is_multiplied: bool,
    first: Program<E::Memory>,
    nothing: Program<E::Memory>,
    next: Program<E::Memory>,
}

/// Additional vectors with a preconditioner.
struct Preconditioned<T: Scalar, E: Executor> {
    /// M r.
    u: Vector<T, E>,
    /// M s.
    q: Vector<T, E>,
    /// M w.
    m: Vector<T, E>,
}

impl<T: Scalar, E: Executor> Method<T, E> for PipelinedCg {
    type Iteration = PipelinedCgIteration<T, E>;

    fn size(&self, _rows: usize) -> Size {
        Size { slots: SLOTS, sums: 3, iterations_at_once: 1 }
    }

    fn prepare(&self, problem: &Problem<'_, T, E>) -> Result<PipelinedCgIteration<T, E>, Error> {
        let preconditioned = match problem.preconditioner {
            Some(_) => Some(Preconditioned { u: problem.vector()?, q: problem.vector()?, m: problem.vector()? }),
            None => None,
        };
        let first = [
            &problem.demand_positive(1, NEW_GAMMA)[..],
            &problem.demand_positive(0, DELTA),
            &[Step::divide(ALPHA, NEW_GAMMA, DELTA), Step::copy(GAMMA, NEW_GAMMA)],
        ]
        .concat();
        let square = if preconditioned.is_some() { SQUARE } else { NEW_GAMMA };
        let next = [
            &[Step::square_root(NORM, square)],
            &problem.check(NORM)[..],
            &problem.demand_positive(1, NEW_GAMMA),
            &[
                Step::divide(BETA, NEW_GAMMA, GAMMA),
                Step::copy(GAMMA, NEW_GAMMA),
                Step::divide(CURVATURE, BETA, ALPHA),
                Step::multiply(CURVATURE, CURVATURE, GAMMA),
                Step::subtract(CURVATURE, DELTA, CURVATURE),
            ],
            &problem.demand_positive(0, CURVATURE),
            &[Step::divide(ALPHA, GAMMA, CURVATURE)],
        ]
        .concat();
        Ok(PipelinedCgIteration {
            w: problem.vector()?,
            s: problem.vector()?,
            z: problem.vector()?,
            p: problem.vector()?,
            n: problem.vector()?,
            preconditioned,
            is_multiplied: false,
            first: problem.space.program(&first)?,
            nothing: problem.space.program(&[])?,
            next: problem.space.program(&next)?,
        })
    }
}

impl<T: Scalar, E: Executor> Iteration<T, E> for PipelinedCgIteration<T, E> {
    const BREAKDOWNS: &'static [&'static str] = &[
        "the matrix is not positive definite, or rounding errors have taken over",
        "the preconditioner is not positive definite",
    ];

    fn start(&mut self, problem: &mut Problem<'_, T, E>) -> Result<(), Error> {
        let Problem { operator, preconditioner, residual: r, space, .. } = problem;
        self.is_multiplied = false;
        // With β = 0, the first iteration ignores these.
        for vector in [&mut self.s, &mut self.z, &mut self.p] {
            space.pass(Fill, [ZERO], [], [vector])?;
        }
        let u = match (&mut self.preconditioned, preconditioner) {
            (Some(Preconditioned { u, q, .. }), Some(preconditioner)) => {
                space.pass(Fill, [ZERO], [], [q])?;
                preconditioner.apply(T::ONE, r, T::ZERO, u)?;
                &*u
            }
            _ => &*r,
        };
        operator.apply(T::ONE, u, T::ZERO, &mut self.w)?;
        space.pass(Dot, [], [r, u], [])?;
        space.finish(NEW_GAMMA, &self.nothing)?;
        space.pass(Dot, [], [&self.w, u], [])?;
        space.finish(DELTA, &self.first)
    }

    fn advance(&mut self, problem: &mut Problem<'_, T, E>) -> Result<(), Error> {
        let Problem { operator, preconditioner, residual: r, solution: x, space, .. } = problem;
        let Self { w, s, z, p, n, is_multiplied, .. } = self;
        match (&mut self.preconditioned, preconditioner) {
            (Some(Preconditioned { u, q, m }), Some(preconditioner)) => {
                let mut multiply = |w: &Vector<T, E>, m: &mut Vector<T, E>, n: &mut Vector<T, E>| {
                    preconditioner.apply(T::ONE, w, T::ZERO, m)?;
                    operator.apply(T::ONE, m, T::ZERO, n)
                };
                if !*is_multiplied {
                    multiply(w, m, n)?;
                }
                let written = [z, q, s, p, &mut **x, r, u, &mut *w];
                space.pass(PreconditionedPipelinedCgUpdate, [ALPHA, BETA], [m, n], written)?;
                *is_multiplied = space.finish_during(NEW_GAMMA, &self.next, &mut || multiply(w, m, n))?;
            }
            _ => {
                if !*is_multiplied {
                    operator.apply(T::ONE, w, T::ZERO, n)?;
                }
                space.pass(PipelinedCgUpdate, [ALPHA, BETA], [n], [z, s, p, &mut **x, r, &mut *w])?;
                let mut multiply = || operator.apply(T::ONE, w, T::ZERO, n);
                *is_multiplied = space.finish_during(NEW_GAMMA, &self.next, &mut multiply)?;
            }
        }
        Ok(())
    }
}
