//! What a method is to the [solver](super::Solver), and what it works on.

use host::error::Error;
use host::executor::Executor;
use host::plan::Vector;
use host::real::Scalar;

use super::operator::Operator;
use crate::dense::{FIRST_SLOT, ONE, Program, Scaled, Space, Step};
use crate::range::{SCRATCH, norm};

/// The slot of the residual norm at which a method has converged.
pub(super) const TOLERANCE: u32 = FIRST_SLOT;
/// The slot of the iteration limit.
pub(super) const LIMIT: u32 = FIRST_SLOT + 1;
/// The first slot that is a method's own.
pub const FIRST_METHOD_SLOT: u32 = SCRATCH + 1;

// The codes in the status.
pub(super) const CONVERGED: u32 = 1;
pub(super) const LIMIT_REACHED: u32 = 2;
pub(super) const NOT_FINITE: u32 = 3;
pub(super) const FIRST_BREAKDOWN: u32 = 4;

/// The code with which a step stops for the breakdown of this number in [`Iteration::BREAKDOWNS`].
pub const fn breakdown_code(number: u32) -> u32 {
    FIRST_BREAKDOWN + number
}

/// What a method takes besides its vectors.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Slots of its own, from [`FIRST_METHOD_SLOT`] on.
    pub slots: u32,
    /// Sums of one pass, or products of one gram matrix, at most.
    pub sums: usize,
    /// Iterations that one call of [`Iteration::advance`] does, at least 1.
    pub iterations_at_once: u32,
}

/// A method with its parameters.
pub trait Method<T: Scalar, E: Executor> {
    /// Its vectors and programs.
    type Iteration: Iteration<T, E>;

    /// What it takes for systems of this many rows.
    fn size(&self, rows: usize) -> Size;

    /// Makes room for its vectors, and its programs.
    ///
    /// # Errors
    /// When memory runs out, or the method cannot solve such a problem.
    fn prepare(&self, problem: &Problem<'_, T, E>) -> Result<Self::Iteration, Error>;
}

/// The vectors and programs of a method at work. Everything here only queues work, and waits for nothing.
pub trait Iteration<T: Scalar, E: Executor> {
    /// Why the method can break down, in the order of [`breakdown_code`].
    const BREAKDOWNS: &'static [&'static str];

    /// Begins, or begins anew, at x with [`Problem::residual`], which is b − A x; it may keep its residual there. The
    /// method's slots are 0.
    ///
    /// # Errors
    /// When the device fails.
    fn start(&mut self, problem: &mut Problem<'_, T, E>) -> Result<(), Error>;

    /// Queues the next iterations, always in the same way. Each ends with the steps of [`Problem::check`].
    ///
    /// # Errors
    /// When the device fails.
    fn advance(&mut self, problem: &mut Problem<'_, T, E>) -> Result<(), Error>;

    /// Brings x up to date when the method has stopped after so many iterations since its start, for methods that do not
    /// update x in each iteration. `in_the_midst` says that a step stopped it: then the last
    /// [`advance`](Self::advance) did nothing after that step. The slots are as they were, but for the status, which is 0.
    ///
    /// # Errors
    /// When the device fails.
    fn finish(
        &mut self,
        _problem: &mut Problem<'_, T, E>,
        _iterations: usize,
        _in_the_midst: bool,
    ) -> Result<(), Error> {
        Ok(())
    }
}

/// A x = b, where it is to be solved.
pub struct Problem<'a, T: Scalar, E: Executor> {
    /// A.
    pub operator: &'a mut dyn Operator<T, E>,
    /// M, an approximation of the inverse of A.
    pub preconditioner: Option<&'a mut dyn Operator<T, E>>,
    /// b.
    pub right_hand_side: &'a Vector<T, E>,
    /// x.
    pub solution: &'a mut Vector<T, E>,
    /// b − A x when the method starts; its own afterwards.
    pub residual: Vector<T, E>,
    /// The scalars, and the operations on vectors.
    pub space: Space<E>,
    /// Where the history begins, and its length.
    pub(super) ring: (u32, u32),
    pub(super) norm: Program<E::Memory>,
}

impl<T: Scalar, E: Executor> Problem<'_, T, E> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.operator.rows()
    }

    /// A vector of zeros.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn vector(&self) -> Result<Vector<T, E>, Error> {
        self.space.executor().zeros(self.rows())
    }

    /// The steps with which an iteration's last program ends, or goes on after: they keep the norm of the residual, which
    /// is in this slot, for the history, and stop where the solver is to stop.
    pub fn check(&self, residual_norm: u32) -> [Step; 4] {
        super::watch::check(self.ring, residual_norm)
    }

    /// Steps that stop for the breakdown of this number in [`Iteration::BREAKDOWNS`] unless the value in this slot is
    /// finite and greater than 0.
    pub fn demand_positive(&self, number: u32, value: u32) -> [Step; 2] {
        [Step::stop_unless_finite(NOT_FINITE, value), Step::stop_unless_positive(breakdown_code(number), value)]
    }

    /// residual ← b − A x, and its norm. Waits.
    pub(super) fn true_residual(&mut self) -> Result<f64, Error> {
        self.space.pass(Scaled, [ONE], [self.right_hand_side], [&mut self.residual])?;
        self.operator.apply(-T::ONE, self.solution, T::ONE, &mut self.residual)?;
        norm(&mut self.space, &self.norm, &self.residual)
    }

    /// ‖b‖. Waits.
    pub(super) fn right_hand_side_norm(&mut self) -> Result<f64, Error> {
        norm(&mut self.space, &self.norm, self.right_hand_side)
    }
}

/// M v, which is put into `z`, or v itself where there is no preconditioner.
pub(super) fn preconditioned<'v, T: Scalar, E: Executor>(
    preconditioner: &mut Option<&mut dyn Operator<T, E>>,
    v: &'v Vector<T, E>,
    z: Option<&'v mut Vector<T, E>>,
) -> Result<&'v Vector<T, E>, Error> {
    match (preconditioner, z) {
        (Some(preconditioner), Some(z)) => {
            preconditioner.apply(T::ONE, v, T::ZERO, z)?;
            Ok(z)
        }
        _ => Ok(v),
    }
}
