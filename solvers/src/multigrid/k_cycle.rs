//! The inner iteration of a K-cycle on a coarse level: two steps of conjugate gradients, each preconditioned by a cycle.

use host::error::Error;
use host::executor::Executor;
use host::plan::Vector;
use host::real::Scalar;

use super::cycle::{Placed, visit};
use super::options::Cycle;
use crate::dense::{Combined, Dot, ONE, Program, Space, Step, ZERO};

/// The vectors and programs of two steps of conjugate gradients on a coarse level.
pub(super) struct Inner<T: Scalar, E: Executor> {
    directions: [Vector<T, E>; 2],
    products: [Vector<T, E>; 2],
    residual: Vector<T, E>,
    programs: InnerPrograms<E>,
    /// The first of [`INNER_SLOTS`] slots.
    slots: u32,
}

/// Arithmetic between the sums of [`Inner`].
struct InnerPrograms<E: Executor> {
    nothing: Program<E::Memory>,
    first: Program<E::Memory>,
    second: Program<E::Memory>,
}

/// Slots of [`Inner`]: the sums c₁ᵀ A c₁, c₁ᵀ b, c₁ᵀ A c₂, c₂ᵀ A c₂, c₂ᵀ r, a scratch slot, and the numbers computed from
/// them.
pub(super) const INNER_SLOTS: u32 = 10;
const SQUARE: u32 = 0;
const WITH_B: u32 = 1;
const MIXED: u32 = 2;
const SECOND_SQUARE: u32 = 3;
const WITH_RESIDUAL: u32 = 4;
const SCRATCH: u32 = 5;
/// The length of the first step.
const FIRST_LENGTH: u32 = 6;
const MINUS_FIRST_LENGTH: u32 = 7;
/// The factors of the two directions in x.
const FIRST_FACTOR: u32 = 8;
const SECOND_FACTOR: u32 = 9;

impl<T: Scalar, E: Executor> Inner<T, E> {
    pub(super) fn new(space: &Space<E>, rows: usize, slots: u32) -> Result<Self, Error> {
        let at = |slot: u32| slots + slot;
        let first = [
            Step::divide_or_zero(at(FIRST_LENGTH), at(WITH_B), at(SQUARE)),
            Step::subtract(at(MINUS_FIRST_LENGTH), ZERO, at(FIRST_LENGTH)),
        ];
        // The second direction without its component along the first: its square is c₂ᵀ A c₂ − (c₁ᵀ A c₂)² / c₁ᵀ A c₁.
        let second = [
            Step::divide_or_zero(at(SCRATCH), at(MIXED), at(SQUARE)),
            Step::subtract_product(at(SECOND_SQUARE), at(MIXED), at(SCRATCH)),
            Step::divide_or_zero(at(SECOND_FACTOR), at(WITH_RESIDUAL), at(SECOND_SQUARE)),
            Step::copy(at(FIRST_FACTOR), at(FIRST_LENGTH)),
            Step::subtract_product(at(FIRST_FACTOR), at(SECOND_FACTOR), at(SCRATCH)),
        ];
        let executor = space.executor();
        Ok(Self {
            directions: [executor.zeros(rows)?, executor.zeros(rows)?],
            products: [executor.zeros(rows)?, executor.zeros(rows)?],
            residual: executor.zeros(rows)?,
            programs: InnerPrograms {
                nothing: space.program(&[])?,
                first: space.program(&first)?,
                second: space.program(&second)?,
            },
            slots,
        })
    }

    /// x ← two steps of flexible conjugate gradients for A x = b (Notay & Vassilevski 2008, algorithm 3.1, always with the
    /// second step).
    pub(super) fn solve(
        &mut self,
        levels: &mut [Placed<T, E>],
        space: &mut Space<E>,
        cycle: Cycle,
        b: &Vector<T, E>,
        x: &mut Vector<T, E>,
    ) -> Result<(), Error> {
        let at = |slot: u32| self.slots + slot;
        let InnerPrograms { nothing, first, second } = &self.programs;
        let ([direction, other], [product, other_product]) = (&mut self.directions, &mut self.products);
        let multiply = |levels: &mut [Placed<T, E>], direction: &_, product: &mut _| match levels.first_mut() {
            Some(Placed::Smoothed(level)) => level.matrix.apply(T::ONE, direction, T::ZERO, product),
            _ => Err(Error::Operator { operation: "a K-cycle on the coarsest level" }),
        };
        visit(levels, space, cycle, false, b, direction)?;
        multiply(levels, direction, product)?;
        space.pass(Dot, [], [&*direction, &*product], [])?;
        space.finish(at(SQUARE), nothing)?;
        space.pass(Dot, [], [&*direction, b], [])?;
        space.finish(at(WITH_B), first)?;
        space.pass(Combined, [ONE, at(MINUS_FIRST_LENGTH)], [b, &*product], [&mut self.residual])?;
        visit(levels, space, cycle, false, &self.residual, other)?;
        multiply(levels, other, other_product)?;
        space.pass(Dot, [], [&*other, &*product], [])?;
        space.finish(at(MIXED), nothing)?;
        space.pass(Dot, [], [&*other, &*other_product], [])?;
        space.finish(at(SECOND_SQUARE), nothing)?;
        space.pass(Dot, [], [&*other, &self.residual], [])?;
        space.finish(at(WITH_RESIDUAL), second)?;
        space.pass(Combined, [at(FIRST_FACTOR), at(SECOND_FACTOR)], [&*direction, &*other], [x])
    }
}
