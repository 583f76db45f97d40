//! The interface between a method and the [solver](super::Solver), and the problem that a method works on.

use host::error::Error;
use host::executor::Executor;
use host::plan::Vector;
use host::real::Scalar;

use super::operator::Operator;
use crate::dense::{FIRST_SLOT, ONE, Program, Scaled, Space, Step};
use crate::range::{SCRATCH, norm};

/// The slot of the tolerance: a method has converged when the residual norm is at most this.
pub(super) const TOLERANCE: u32 = FIRST_SLOT;
/// The slot of the iteration limit.
pub(super) const LIMIT: u32 = FIRST_SLOT + 1;
/// The first slot for a method's own use.
pub const FIRST_METHOD_SLOT: u32 = SCRATCH + 1;

// Status codes.
pub(super) const CONVERGED: u32 = 1;
pub(super) const LIMIT_REACHED: u32 = 2;
pub(super) const NOT_FINITE: u32 = 3;
pub(super) const FIRST_BREAKDOWN: u32 = 4;

/// Returns the code that stops a step for breakdown `number` in [`Iteration::BREAKDOWNS`].
pub const fn breakdown_code(number: u32) -> u32 {
    FIRST_BREAKDOWN + number
}

/// The resources that a method takes besides its vectors.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Slots for its own use, starting at [`FIRST_METHOD_SLOT`].
    pub slots: u32,
    /// Largest number of sums of a pass, or of products of a Gram matrix.
    pub sums: usize,
    /// Iterations per call of [`Iteration::advance`], at least 1.
    pub iterations_at_once: u32,
}

/// A method with its parameters.
pub trait Method<T: Scalar, E: Executor> {
    /// The method's vectors and programs.
    type Iteration: Iteration<T, E>;

    /// Returns the resources for systems of `rows` rows.
    fn size(&self, rows: usize) -> Size;

    /// Allocates the vectors, and makes the programs.
    ///
    /// # Errors
    /// When memory runs out, or the method cannot solve such a problem.
    fn prepare(&self, problem: &Problem<'_, T, E>) -> Result<Self::Iteration, Error>;
}

/// The vectors and programs of a running method. All functions only queue work, without waiting for it.
pub trait Iteration<T: Scalar, E: Executor> {
    /// Reasons for a breakdown of the method, in the order of [`breakdown_code`].
    const BREAKDOWNS: &'static [&'static str];

    /// Starts or restarts at x with [`Problem::residual`], which is b − A x; the method may keep its residual there. The
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

    /// Brings x up to date when the method has stopped `iterations` iterations after its start, for methods that do not
    /// update x in each iteration. `in_the_midst` tells whether a step stopped it: then the last [`advance`](Self::advance)
    /// did nothing after that step. The slots are unchanged, except the status, which is 0.
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

/// The system A x = b, and the memory for solving it.
pub struct Problem<'a, T: Scalar, E: Executor> {
    /// A.
    pub operator: &'a mut dyn Operator<T, E>,
    /// M, an approximation of the inverse of A.
    pub preconditioner: Option<&'a mut dyn Operator<T, E>>,
    /// b.
    pub right_hand_side: &'a Vector<T, E>,
    /// x.
    pub solution: &'a mut Vector<T, E>,
    /// b − A x when the method starts; afterwards the method's own.
    pub residual: Vector<T, E>,
    /// The scalars and vector operations.
    pub space: Space<E>,
    /// First slot and length of the history.
    pub(super) ring: (u32, u32),
    pub(super) norm: Program<E::Memory>,
}

impl<T: Scalar, E: Executor> Problem<'_, T, E> {
    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.operator.rows()
    }

    /// Returns a vector of zeros.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn vector(&self) -> Result<Vector<T, E>, Error> {
        self.space.executor().zeros(self.rows())
    }

    /// Returns steps for the end of an iteration's last program, which other steps may follow: they record the norm of the
    /// residual, in slot `residual_norm`, in the history, and stop when the solver must stop.
    pub fn check(&self, residual_norm: u32) -> [Step; 4] {
        super::watch::check(self.ring, residual_norm)
    }

    /// Returns steps that stop for breakdown `number` in [`Iteration::BREAKDOWNS`] unless the value in slot `value` is
    /// finite and greater than 0.
    pub fn demand_positive(&self, number: u32, value: u32) -> [Step; 2] {
        [Step::stop_unless_finite(NOT_FINITE, value), Step::stop_unless_positive(breakdown_code(number), value)]
    }

    /// residual ← b − A x; returns its norm. Blocks until it is known.
    pub(super) fn true_residual(&mut self) -> Result<f64, Error> {
        self.space.pass(Scaled, [ONE], [self.right_hand_side], [&mut self.residual])?;
        self.operator.apply(-T::ONE, self.solution, T::ONE, &mut self.residual)?;
        norm(&mut self.space, &self.norm, &self.residual)
    }

    /// Returns ‖b‖. Blocks until it is known.
    pub(super) fn right_hand_side_norm(&mut self) -> Result<f64, Error> {
        norm(&mut self.space, &self.norm, self.right_hand_side)
    }
}

/// Returns M v, stored in `z`, or v itself without a preconditioner.
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
