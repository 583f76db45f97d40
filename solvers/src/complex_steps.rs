//! Arithmetic on complex numbers in slots: one slot for the real part, one for the imaginary part.

use crate::dense::{Step, ZERO};

/// The slots of a complex number.
pub(super) type Pair = [u32; 2];

/// A slot and the next one.
pub(super) const fn pair(slot: u32) -> Pair {
    [slot, slot + 1]
}

/// Scratch slots of [`divide`], which takes the most.
pub(super) const SCRATCH_SLOTS: u32 = 6;

/// |re| + |im| into `target`: zero only for the number 0. Also uses the next slot.
pub(super) fn size(target: u32, [re, im]: Pair) -> [Step; 3] {
    [Step::magnitude(target, re), Step::magnitude(target + 1, im), Step::add(target, target, target + 1)]
}

/// target ← left · right, with three scratch slots starting at `scratch`.
pub(super) fn multiply([re, im]: Pair, [a, b]: Pair, [c, d]: Pair, scratch: u32) -> [Step; 6] {
    let [of_re, of_im, other] = [scratch, scratch + 1, scratch + 2];
    [
        Step::multiply(of_re, a, c),
        Step::subtract_product(of_re, b, d),
        Step::multiply(of_im, a, d),
        Step::multiply(other, b, c),
        Step::add(im, of_im, other),
        Step::copy(re, of_re),
    ]
}

/// target ← left / right, with [`SCRATCH_SLOTS`] scratch slots. Scaling the divisor before it is squared avoids overflow
/// and underflow.
pub(super) fn divide([re, im]: Pair, [a, b]: Pair, right: Pair, scratch: u32) -> Vec<Step> {
    let [largest, c, d, square, of_re, of_im] = std::array::from_fn(|slot| scratch + slot as u32);
    let mut steps = size(largest, right).to_vec();
    steps.extend([
        Step::divide(c, right[0], largest),
        Step::divide(d, right[1], largest),
        Step::multiply(square, c, c),
        Step::multiply(of_re, d, d),
        Step::add(square, square, of_re),
        Step::multiply(square, square, largest),
        Step::multiply(of_re, a, c),
        Step::multiply(of_im, b, d),
        Step::add(of_re, of_re, of_im),
        Step::multiply(of_im, b, c),
        Step::subtract_product(of_im, a, d),
        Step::divide(re, of_re, square),
        Step::divide(im, of_im, square),
    ]);
    steps
}

/// target ← −value.
pub(super) const fn negative(target: u32, value: u32) -> Step {
    Step::subtract(target, ZERO, value)
}

#[cfg(test)]
mod tests {
    use host::complex::Complex;
    use host::executor::Cpu;

    use super::*;
    use crate::dense::{FIRST_SLOT, Space};

    type C = Complex<f64>;

    /// Result of steps applied to two numbers.
    fn run(steps: &[Step], a: C, b: C) -> [f64; 2] {
        let mut space = Space::new(&Cpu::new(), FIRST_SLOT + 12, 1).unwrap();
        space.set(&(FIRST_SLOT..).zip([a.re, a.im, b.re, b.im]).collect::<Vec<_>>()).unwrap();
        let program = space.program(steps).unwrap();
        space.run(&program).unwrap();
        let scalars = space.scalars().unwrap();
        [scalars[FIRST_SLOT as usize], scalars[FIRST_SLOT as usize + 1]]
    }

    #[test]
    fn steps_are_complex_arithmetic() {
        let (left, right, scratch) = (pair(FIRST_SLOT), pair(FIRST_SLOT + 2), FIRST_SLOT + 4);
        let numbers = [C::new(1.0, -2.0), C::new(0.0, 3.0), C::new(-0.5, 0.25), C::new(4.0, 0.0)];
        for a in numbers {
            for b in numbers {
                let (product, quotient) = (a * b, a / b);
                assert_eq!(run(&multiply(left, left, right, scratch), a, b), [product.re, product.im]);
                let [re, im] = run(&divide(left, left, right, scratch), a, b);
                assert!((C::new(re, im) - quotient).norm() < 1e-15 * quotient.norm(), "{a} / {b}: {re}, {im}");
                // Numbers whose squares underflow.
                let [re, im] = run(&divide(left, left, right, scratch), a * 1e-200, b * 1e-200);
                assert!((C::new(re, im) - quotient).norm() < 1e-15 * quotient.norm(), "{a} / {b}: {re}, {im}");
            }
        }
        assert_eq!(run(&size(FIRST_SLOT, right), C::ONE, C::new(-3.0, 4.0))[0], 7.0);
        assert_eq!(run(&[negative(FIRST_SLOT, FIRST_SLOT + 2)], C::ONE, C::new(-3.0, 4.0))[0], 3.0);
    }
}
