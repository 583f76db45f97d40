//! Solves with triangular factors by Jacobi's method.

use host::error::Error;
use host::executor::Executor;
use host::memory::copy;
use host::plan::{NewValues, Plan, Vector};
use host::real::Scalar;

use super::diagonal::{Diagonal, NewDiagonal};
use super::factors::{Factor, FactorSolver, scaled};
use super::recipe::{PreconditionerOptions, plan_of};
use crate::dense::{Combined, ONE, Scaled, Space};

/// A factor D + N that is solved with by Jacobi's method: x ← D⁻¹ b − D⁻¹ N x, from x = D⁻¹ b on.
pub(super) struct Sweeps<T: Scalar, E: Executor> {
    sweeps: u32,
    inverse_diagonal: Diagonal<T, E>,
    /// D⁻¹ N.
    scaled: Plan<T, E>,
    /// D⁻¹ b.
    begin: Vector<T, E>,
    /// −D⁻¹ N x.
    product: Vector<T, E>,
}

impl<T: Scalar, E: Executor> Sweeps<T, E> {
    /// Moves a factor to an executor.
    ///
    /// # Errors
    /// When memory runs out, or the device fails.
    pub(super) fn new(
        executor: &E,
        factor: Factor<'_, T>,
        sweeps: u32,
        options: PreconditionerOptions,
    ) -> Result<Self, Error> {
        let scaled = scaled(&factor)?;
        Ok(Self {
            sweeps,
            begin: executor.zeros(scaled.rows())?,
            product: executor.zeros(scaled.rows())?,
            inverse_diagonal: Diagonal::new(executor, factor.inverse_diagonal, options.updates)?,
            scaled: plan_of(executor, scaled, options)?,
        })
    }
}

/// D⁻¹ and the values of D⁻¹ N, and what they make of its plan.
pub(super) struct NewSweeps<T: Scalar, E: Executor> {
    inverse_diagonal: NewDiagonal<T, E>,
    values: Vector<T, E>,
    scaled: NewValues<T, E>,
}

impl<T: Scalar, E: Executor> FactorSolver<T, E> for Sweeps<T, E> {
    type New = NewSweeps<T, E>;

    fn solve(&mut self, space: &mut Space<E>, r: &Vector<T, E>, z: &mut Vector<T, E>) -> Result<(), Error> {
        let Self { sweeps, inverse_diagonal, scaled, begin, product } = self;
        inverse_diagonal.apply(space, r, begin)?;
        space.pass(Scaled, [ONE], [begin], [z])?;
        for _ in 0..*sweeps {
            scaled.apply(-T::ONE, z, T::ZERO, product)?;
            space.pass(Combined, [ONE, ONE], [begin, product], [z])?;
        }
        Ok(())
    }

    fn new_values(&self, executor: &E, factor: Factor<'_, T>) -> Result<Self::New, Error> {
        let scaled = scaled(&factor)?;
        let values = executor.upload(copy(scaled.values())?)?;
        let inverse_diagonal = self.inverse_diagonal.new_values(executor, factor.inverse_diagonal)?;
        Ok(NewSweeps { inverse_diagonal, scaled: self.scaled.new_values(&values)?, values })
    }

    fn take_values(&mut self, executor: &E, new: Self::New) -> Result<(), Error> {
        self.inverse_diagonal.take_values(executor, new.inverse_diagonal)?;
        self.scaled.take_values(&new.values, new.scaled)
    }
}
