//! Norms whose squares are out of range, and powers of two that bring them back.

use std::ops::ControlFlow;
use std::sync::Arc;

use host::error::Error;
use host::executor::Executor;
use host::plan::Vector;
use host::real::{Real, Scalar};

use crate::dense::{Dot, FIRST_SLOT, Program, Scaled, Space, Step};
use crate::operator::Operator;
use crate::options::Options;
use crate::ranks::Ranks;
use crate::report::Progress;
use crate::watch::Callback;

/// The solver's own slot for a product or a norm, after the two slots that steps of every method compare with.
pub(super) const SCRATCH: u32 = FIRST_SLOT + 2;

/// Norms from 2^-`OF_NORMS` to 2^`OF_NORMS` have squares, and products of several of these, in range.
const OF_NORMS: i32 = 300;

/// Operators that lengthen or shorten vectors by at most 2^`OF_GAINS` leave norms with squares in range.
const OF_GAINS: i32 = 400;

/// The largest exponent of a factor; smaller than the magnitude of the smallest number's exponent.
const MOST: i32 = 1000;

/// A smaller norm may have lost squares to underflow.
const LEAST_SURE: f64 = power_of_two(-450);

/// Small vectors are multiplied by 2 to this power, and large ones divided, so that no square underflows or overflows (Blue
/// 1978; reference BLAS, `nrm2`).
const SHIFT: i32 = 600;

/// Returns 2 to a power from -1022 to 1023.
pub(super) const fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// Returns the exponent of the power of two that brings a norm near 1, if its square may be out of range; otherwise 0, also
/// for a norm that no factor improves.
pub(super) fn exponent_for_norm(norm: f64) -> i32 {
    exponent(norm, OF_NORMS)
}

/// [`exponent_for_norm`] for the factor by which an operator lengthens vectors.
fn exponent_for_gain(gain: f64) -> i32 {
    exponent(gain, OF_GAINS)
}

fn exponent(size: f64, safe: i32) -> i32 {
    if size == 0.0 || !size.is_finite() {
        return 0;
    }
    let exponent = size.log2().floor() as i32;
    if exponent.abs() <= safe { 0 } else { (-exponent).clamp(-MOST, MOST) }
}

/// Returns ‖v‖; `square_root` is the program that replaces [`SCRATCH`] by its root. Blocks until the norm is known. If the
/// plain sum of squares may have lost any, it is computed again for a multiple of v.
pub(super) fn norm<T: Scalar, E: Executor>(
    space: &mut Space<E>,
    square_root: &Program<E::Memory>,
    vector: &Vector<T, E>,
) -> Result<f64, Error> {
    let plain = plain_norm(space, square_root, vector)?;
    let factor = power_of_two(if plain < LEAST_SURE { SHIFT } else { -SHIFT });
    // Squares of narrower numbers are summed in 64 bits, which can represent all of them.
    if T::Real::LARGEST < power_of_two(SHIFT) || plain.is_nan() || (LEAST_SURE..f64::INFINITY).contains(&plain) {
        return Ok(plain);
    }
    let mut scaled = space.executor().zeros(host::memory::Buffer::len(vector))?;
    scale(space, factor, vector, &mut scaled)?;
    Ok(plain_norm(space, square_root, &scaled)? / factor)
}

fn plain_norm<T: Scalar, E: Executor>(
    space: &mut Space<E>,
    square_root: &Program<E::Memory>,
    vector: &Vector<T, E>,
) -> Result<f64, Error> {
    space.pass(Dot, [], [vector, vector], [])?;
    space.finish(SCRATCH, square_root)?;
    Ok(space.scalars()?[SCRATCH as usize])
}

/// w ← factor · v. Stores the factor in [`SCRATCH`].
fn scale<T: Scalar, E: Executor>(
    space: &mut Space<E>,
    factor: f64,
    vector: &Vector<T, E>,
    scaled: &mut Vector<T, E>,
) -> Result<(), Error> {
    let constant = space.program(&[Step::constant(SCRATCH, factor)])?;
    space.run(&constant)?;
    space.pass(Scaled, [SCRATCH], [vector], [scaled])
}

/// A power of two that scales norms during a solve, and its inverse.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    pub(super) factor: f64,
    /// One over it.
    pub(super) inverse: f64,
}

impl Scale {
    /// 2 to a power from -1022 to 1022.
    pub(super) const fn new(exponent: i32) -> Self {
        Self { factor: power_of_two(exponent), inverse: power_of_two(-exponent) }
    }

    /// Returns the options for scaled norms.
    pub(super) fn options(self, options: &Options) -> Options {
        // An overflow becomes the largest number.
        let absolute_tolerance = (options.absolute_tolerance * self.factor).min(f64::MAX);
        Options { absolute_tolerance, ..*options }
    }

    /// Returns a callback that receives scaled norms and passes the original ones on.
    pub(super) fn callback(self, mut callback: Option<Callback<'_>>) -> impl FnMut(&Progress) -> ControlFlow<()> {
        move |progress: &Progress| match &mut callback {
            Some(callback) => callback(&Progress { residual_norm: progress.residual_norm * self.inverse, ..*progress }),
            None => ControlFlow::Continue(()),
        }
    }

    /// Converts scaled norms to the original ones.
    pub(super) fn bring_back<'n>(self, norms: impl IntoIterator<Item = &'n mut f64>) {
        norms.into_iter().for_each(|norm| *norm *= self.inverse);
    }
}

/// Computes norms and scaled copies of vectors, in its own space.
pub(super) struct Ranger<E: Executor> {
    space: Space<E>,
    square_root: Program<E::Memory>,
}

impl<E: Executor> Ranger<E> {
    pub(super) fn new(executor: &E, ranks: Option<Arc<dyn Ranks<E>>>) -> Result<Self, Error> {
        let space = Space::new(executor, SCRATCH + 1, 1)?.across(ranks)?;
        let square_root = space.program(&[Step::square_root(SCRATCH, SCRATCH)])?;
        Ok(Self { space, square_root })
    }

    /// Returns ‖v‖. Blocks until it is known.
    pub(super) fn norm<T: Scalar>(&mut self, vector: &Vector<T, E>) -> Result<f64, Error> {
        norm(&mut self.space, &self.square_root, vector)
    }

    /// Returns 2^exponent · v, where the exponent may be out of the range of numbers.
    pub(super) fn scaled<T: Scalar>(&mut self, vector: &Vector<T, E>, exponent: i32) -> Result<Vector<T, E>, Error> {
        let executor = self.space.executor().clone();
        let mut scaled = executor.duplicate(vector)?;
        let mut left = exponent;
        while left != 0 {
            let step = left.clamp(-MOST, MOST);
            let before = executor.duplicate(&scaled)?;
            scale(&mut self.space, power_of_two(step), &before, &mut scaled)?;
            left -= step;
        }
        Ok(scaled)
    }

    /// Returns the exponent of the power of two that scales an operator so that squares of its products are in range;
    /// `vector` is a test vector. Takes a product.
    pub(super) fn exponent_for<T: Scalar>(
        &mut self,
        operator: &mut dyn Operator<T, E>,
        vector: &Vector<T, E>,
    ) -> Result<i32, Error> {
        if T::Real::LARGEST < power_of_two(SHIFT) {
            return Ok(0);
        }
        let mut product = self.space.executor().zeros(operator.rows())?;
        operator.apply(T::ONE, vector, T::ZERO, &mut product)?;
        Ok(exponent_for_gain(self.norm(&product)? / self.norm(vector)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_exact() {
        for power in [-1022i32, -600, -450, -1, 0, 1, 52, 600, 1023] {
            let factor = if power < 0 { 0.5 } else { 2.0 };
            let expected = (0..power.abs()).fold(1.0, |product, _| product * factor);
            assert_eq!(power_of_two(power), expected, "2^{power}");
        }
    }

    #[test]
    fn what_is_scaled_comes_near_1() {
        for safe in [1.0, 1e-80, 1e80, 0.0, f64::INFINITY, f64::NAN] {
            assert_eq!(exponent_for_norm(safe), 0, "{safe}");
        }
        for size in [1e-91, 1e91, 1e-170, 1e-300, 1e300, f64::MAX, f64::MIN_POSITIVE] {
            let scaled = size * power_of_two(exponent_for_norm(size));
            assert!(exponent_for_norm(size) != 0 && exponent_for_norm(scaled) == 0, "{size}: {scaled}");
        }
        assert_eq!(exponent_for_norm(f64::from_bits(1)), MOST);
    }
}
