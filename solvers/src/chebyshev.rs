//! Chebyshev iteration.

use host::error::Error;
use host::executor::Executor;
use host::plan::Vector;
use host::real::Scalar;

use super::lanczos::SpectralBounds;
use super::method::{FIRST_METHOD_SLOT, Iteration, Method, Problem, Size, preconditioned};
use crate::dense::{Axpby, CgUpdate, ONE, Program, Scaled, Step};

/// Chebyshev iteration (Saad 2003, algorithm 12.1), for symmetric or Hermitian positive definite matrices and
/// preconditioners whose spectrum is known or [estimated](SpectralBounds::estimate): no step length depends on a product
/// of vectors. It diverges if the largest eigenvalue is outside the bounds, and slows down if the smallest one is.
///
/// An iteration takes a product with the matrix and one with the preconditioner, and reads and writes 9 vectors. Vectors
/// besides b and x: 3, or 4.
#[derive(Clone, Copy, Debug)]
pub struct Chebyshev {
    /// Bounds of the eigenvalues of M A, or of A without a preconditioner.
    pub bounds: SpectralBounds,
}

/// 1 / θ, where θ is the middle of the spectrum. Everything else is independent of the spectrum's scale.
const INVERSE: u32 = FIRST_METHOD_SLOT;
/// (δ / θ)², where δ is half the length of the spectrum.
const SQUARED_SHARE: u32 = INVERSE + 1;
/// ρ θ / δ in the names of the book, defined for δ = 0 as well.
const TAU: u32 = INVERSE + 2;
const NEW_TAU: u32 = INVERSE + 3;
/// The coefficients of the next direction.
const OF_RESIDUAL: u32 = INVERSE + 4;
const OF_DIRECTION: u32 = INVERSE + 5;
const SQUARE: u32 = INVERSE + 6;
const NORM: u32 = INVERSE + 7;
const SLOTS: u32 = 8;

/// The vectors and programs of [`Chebyshev`].
pub struct ChebyshevIteration<T: Scalar, E: Executor> {
    /// The next update of x.
    d: Vector<T, E>,
    /// A d.
    q: Vector<T, E>,
    /// The preconditioned residual, if there is a preconditioner.
    z: Option<Vector<T, E>>,
    first: Program<E::Memory>,
    next: Program<E::Memory>,
}

impl<T: Scalar, E: Executor> Method<T, E> for Chebyshev {
    type Iteration = ChebyshevIteration<T, E>;

    fn size(&self, _rows: usize) -> Size {
        Size { slots: SLOTS, sums: 1, iterations_at_once: 1 }
    }

    fn prepare(&self, problem: &Problem<'_, T, E>) -> Result<ChebyshevIteration<T, E>, Error> {
        let SpectralBounds { smallest, largest } = self.bounds;
        // Written so that a NaN is rejected.
        let valid = smallest > 0.0 && smallest <= largest && largest.is_finite();
        if !valid {
            let value = format!("from {smallest} to {largest}");
            return Err(Error::Setting { what: "the spectrum", value, expected: "an interval of positive numbers" });
        }
        let middle = smallest.midpoint(largest);
        let share = (largest - smallest) / 2.0 / middle;
        let first =
            [Step::constant(INVERSE, 1.0 / middle), Step::constant(SQUARED_SHARE, share * share), Step::copy(TAU, ONE)];
        let next = [
            &[Step::square_root(NORM, SQUARE)],
            &problem.check(NORM)[..],
            &[
                Step::add(NEW_TAU, ONE, ONE),
                Step::subtract_product(NEW_TAU, SQUARED_SHARE, TAU),
                Step::divide(NEW_TAU, ONE, NEW_TAU),
                Step::add(OF_RESIDUAL, NEW_TAU, NEW_TAU),
                Step::multiply(OF_RESIDUAL, OF_RESIDUAL, INVERSE),
                Step::multiply(OF_DIRECTION, SQUARED_SHARE, TAU),
                Step::multiply(OF_DIRECTION, OF_DIRECTION, NEW_TAU),
                Step::copy(TAU, NEW_TAU),
            ],
        ]
        .concat();
        Ok(ChebyshevIteration {
            d: problem.vector()?,
            q: problem.vector()?,
            z: if problem.preconditioner.is_some() { Some(problem.vector()?) } else { None },
            first: problem.space.program(&first)?,
            next: problem.space.program(&next)?,
        })
    }
}

impl<T: Scalar, E: Executor> Iteration<T, E> for ChebyshevIteration<T, E> {
    const BREAKDOWNS: &'static [&'static str] = &[];

    fn start(&mut self, problem: &mut Problem<'_, T, E>) -> Result<(), Error> {
        let Problem { preconditioner, residual: r, space, .. } = problem;
        space.run(&self.first)?;
        let z = preconditioned(preconditioner, r, self.z.as_mut())?;
        space.pass(Scaled, [INVERSE], [z], [&mut self.d])
    }

    fn advance(&mut self, problem: &mut Problem<'_, T, E>) -> Result<(), Error> {
        let Problem { operator, preconditioner, residual: r, solution: x, space, .. } = problem;
        let Self { d, q, z, .. } = self;
        operator.apply(T::ONE, d, T::ZERO, q)?;
        space.pass(CgUpdate, [ONE], [d, q], [&mut **x, &mut *r])?;
        space.finish(SQUARE, &self.next)?;
        let z = preconditioned(preconditioner, r, z.as_mut())?;
        space.pass(Axpby, [OF_RESIDUAL, OF_DIRECTION], [z], [d])
    }
}
