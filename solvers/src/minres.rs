//! MINRES.

use host::error::Error;
use host::executor::Executor;
use host::plan::Vector;
use host::real::Scalar;

use super::lanczos::coefficients;
use super::method::{FIRST_METHOD_SLOT, Iteration, Method, NOT_FINITE, Problem, Size, breakdown_code, preconditioned};
use crate::dense::{Dot, Fill, LanczosUpdate, MinresUpdate, ONE, Program, Scaled, Step, ZERO};

/// MINRES (Paige & Saunders 1975, §6; with a preconditioner Elman, Silvester & Wathen 2014, algorithm 4.1), for symmetric
/// or Hermitian matrices, including indefinite ones, and positive definite preconditioners.
///
/// Without a preconditioner the residual norm never grows; with one, the norm √(r · M r) never grows.
///
/// An iteration takes a product with the matrix and one with the preconditioner; it reads and writes 17 vectors, or 21 with
/// a preconditioner. Vectors besides b and x: 6, or 8.
#[derive(Clone, Copy, Debug, Default)]
pub struct Minres;

/// The norm γ of this Lanczos vector and of the previous one, and that of the next one with its square.
const GAMMA: u32 = FIRST_METHOD_SLOT;
const OLD_GAMMA: u32 = GAMMA + 1;
const NEW_SQUARE: u32 = GAMMA + 2;
const NEW_GAMMA: u32 = GAMMA + 3;
/// z · A z for the normalized vector.
const DELTA: u32 = GAMMA + 4;
/// The coefficients of the three-term recurrence.
const LANCZOS: [u32; 3] = [GAMMA + 5, GAMMA + 6, GAMMA + 7];
/// The last two rotations.
const C: u32 = GAMMA + 8;
const S: u32 = GAMMA + 9;
const OLD_C: u32 = GAMMA + 10;
const OLD_S: u32 = GAMMA + 11;
/// The next entry of the rotated right-hand side.
const ETA: u32 = GAMMA + 12;
/// The column of the triangle: the diagonal before and after this rotation, and the two entries above it.
const RAW: u32 = GAMMA + 13;
const DIAGONAL: u32 = GAMMA + 14;
const ABOVE: u32 = GAMMA + 15;
const ABOVE_THAT: u32 = GAMMA + 16;
/// The coefficients of the updates of the direction, x and the residual.
const UPDATE: [u32; 6] = [GAMMA + 17, GAMMA + 18, GAMMA + 19, GAMMA + 20, GAMMA + 21, GAMMA + 22];
const SQUARE: u32 = GAMMA + 23;
const NORM: u32 = GAMMA + 24;
const SCRATCH: u32 = GAMMA + 25;
const SLOTS: u32 = 26;

/// The vectors and programs of [`Minres`].
pub struct MinresIteration<T: Scalar, E: Executor> {
    /// The last two Lanczos vectors.
    old_v: Vector<T, E>,
    v: Vector<T, E>,
    /// A z.
    q: Vector<T, E>,
    /// The last two directions.
    old_w: Vector<T, E>,
    w: Vector<T, E>,
    preconditioned: Option<Preconditioned<T, E>>,
    first: Program<E::Memory>,
    recurrence: Program<E::Memory>,
    rotation: Program<E::Memory>,
    checked: Program<E::Memory>,
}

/// Additional vectors with a preconditioner.
struct Preconditioned<T: Scalar, E: Executor> {
    /// M times this Lanczos vector and the next one.
    z: Vector<T, E>,
    new_z: Vector<T, E>,
}

/// δ from z · A z, and the recurrence v ← A z / γ − (δ / γ) v − (γ / old γ) old v.
fn recurrence() -> Vec<Step> {
    let mut steps = vec![Step::multiply(SCRATCH, GAMMA, GAMMA), Step::divide(DELTA, DELTA, SCRATCH)];
    steps.extend(coefficients(LANCZOS, DELTA, GAMMA, OLD_GAMMA));
    steps
}

/// The rotation of the new column, and the coefficients that follow from it.
fn rotation() -> Vec<Step> {
    let [a, b, c, step, shrink, d] = UPDATE;
    vec![
        Step::stop_unless_finite(NOT_FINITE, NEW_SQUARE),
        Step::square_root(NEW_GAMMA, NEW_SQUARE),
        Step::stop_unless_finite(breakdown_code(1), NEW_GAMMA),
        Step::multiply(SCRATCH, S, GAMMA),
        Step::multiply(RAW, C, DELTA),
        Step::subtract_product(RAW, OLD_C, SCRATCH),
        Step::multiply(ABOVE, S, DELTA),
        Step::multiply(SCRATCH, C, GAMMA),
        Step::multiply(SCRATCH, OLD_C, SCRATCH),
        Step::add(ABOVE, ABOVE, SCRATCH),
        Step::multiply(ABOVE_THAT, OLD_S, GAMMA),
        Step::multiply(DIAGONAL, RAW, RAW),
        Step::add(DIAGONAL, DIAGONAL, NEW_SQUARE),
        Step::square_root(DIAGONAL, DIAGONAL),
        Step::stop_unless_finite(NOT_FINITE, DIAGONAL),
        Step::stop_if_zero(breakdown_code(0), DIAGONAL),
        Step::copy(OLD_C, C),
        Step::copy(OLD_S, S),
        Step::divide(C, RAW, DIAGONAL),
        Step::divide(S, NEW_GAMMA, DIAGONAL),
        Step::multiply(a, GAMMA, DIAGONAL),
        Step::divide(a, ONE, a),
        Step::divide(b, ABOVE, DIAGONAL),
        Step::subtract(b, ZERO, b),
        Step::divide(c, ABOVE_THAT, DIAGONAL),
        Step::subtract(c, ZERO, c),
        Step::multiply(step, C, ETA),
        Step::multiply(shrink, S, S),
        Step::divide(d, step, DIAGONAL),
        Step::subtract(d, ZERO, d),
        Step::multiply(ETA, S, ETA),
        Step::subtract(ETA, ZERO, ETA),
        Step::copy(OLD_GAMMA, GAMMA),
        Step::copy(GAMMA, NEW_GAMMA),
    ]
}

impl<T: Scalar, E: Executor> Method<T, E> for Minres {
    type Iteration = MinresIteration<T, E>;

    fn size(&self, _rows: usize) -> Size {
        Size { slots: SLOTS, sums: 1, iterations_at_once: 1 }
    }

    fn prepare(&self, problem: &Problem<'_, T, E>) -> Result<MinresIteration<T, E>, Error> {
        let preconditioned = match problem.preconditioner {
            Some(_) => Some(Preconditioned { z: problem.vector()?, new_z: problem.vector()? }),
            None => None,
        };
        let first = [
            &problem.demand_positive(1, NEW_SQUARE)[..],
            &[Step::square_root(GAMMA, NEW_SQUARE), Step::copy(ETA, GAMMA), Step::copy(C, ONE), Step::copy(OLD_C, ONE)],
        ]
        .concat();
        let checked = [&[Step::square_root(NORM, SQUARE)], &problem.check(NORM)[..]].concat();
        Ok(MinresIteration {
            old_v: problem.vector()?,
            v: problem.vector()?,
            q: problem.vector()?,
            old_w: problem.vector()?,
            w: problem.vector()?,
            preconditioned,
            first: problem.space.program(&first)?,
            recurrence: problem.space.program(&recurrence())?,
            rotation: problem.space.program(&rotation())?,
            checked: problem.space.program(&checked)?,
        })
    }
}

impl<T: Scalar, E: Executor> Iteration<T, E> for MinresIteration<T, E> {
    const BREAKDOWNS: &'static [&'static str] =
        &["the matrix is singular", "the preconditioner is not positive definite"];

    fn start(&mut self, problem: &mut Problem<'_, T, E>) -> Result<(), Error> {
        let Problem { preconditioner, residual: r, space, .. } = problem;
        for vector in [&mut self.old_v, &mut self.old_w, &mut self.w] {
            space.pass(Fill, [ZERO], [], [vector])?;
        }
        space.pass(Scaled, [ONE], [r], [&mut self.v])?;
        let z = self.preconditioned.as_mut().map(|preconditioned| &mut preconditioned.z);
        let z = preconditioned(preconditioner, r, z)?;
        space.pass(Dot, [], [r, z], [])?;
        space.finish(NEW_SQUARE, &self.first)
    }

    fn advance(&mut self, problem: &mut Problem<'_, T, E>) -> Result<(), Error> {
        let Problem { operator, preconditioner, residual: r, solution: x, space, .. } = problem;
        let Self { old_v, v, q, old_w, w, preconditioned, .. } = self;
        let z = preconditioned.as_ref().map_or(&*v, |preconditioned| &preconditioned.z);
        space.product(&mut **operator, z, q, z, false)?;
        space.finish(DELTA, &self.recurrence)?;
        space.pass(LanczosUpdate, LANCZOS, [q], [&mut *old_v, &mut *v])?;
        match (preconditioned, preconditioner) {
            (Some(Preconditioned { z, new_z }), Some(preconditioner)) => {
                preconditioner.apply(T::ONE, v, T::ZERO, new_z)?;
                space.pass(Dot, [], [v, new_z], [])?;
                space.finish(NEW_SQUARE, &self.rotation)?;
                space.pass(MinresUpdate, UPDATE, [&*z, v], [old_w, w, &mut **x, &mut *r])?;
                space.finish(SQUARE, &self.checked)?;
                space.pass(Scaled, [ONE], [&*new_z], [z])
            }
            _ => {
                space.finish(NEW_SQUARE, &self.rotation)?;
                // The former v is the z of this iteration.
                space.pass(MinresUpdate, UPDATE, [&*old_v, v], [old_w, w, &mut **x, &mut *r])?;
                space.finish(SQUARE, &self.checked)
            }
        }
    }
}
