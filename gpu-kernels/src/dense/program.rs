//! Arithmetic on the scalars of a method, expressed as data, so that a method needs no kernel of its own for it.

/// The slot of the status: 0 while a method runs, otherwise the code of the step that stopped it.
pub const STATUS: u32 = 0;
/// The slot of the number of recorded iterations.
pub const ITERATION: u32 = 1;

/// Number of words of a step.
pub const WORDS: u32 = 4;

/// One step of a program, executed by [`run`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    operation: u32,
    target: u32,
    left: u32,
    right: u32,
}

const COPY: u32 = 0;
const ADD: u32 = 1;
const SUBTRACT: u32 = 2;
const MULTIPLY: u32 = 3;
const DIVIDE: u32 = 4;
const SQUARE_ROOT: u32 = 5;
const MAGNITUDE: u32 = 6;
const RECORD: u32 = 7;
const STOP_IF_AT_MOST: u32 = 8;
const STOP_UNLESS_POSITIVE: u32 = 9;
const STOP_UNLESS_FINITE: u32 = 10;
const STOP_IF_ZERO: u32 = 11;
const CONSTANT: u32 = 12;
const DIVIDE_OR_ZERO: u32 = 13;
const SUBTRACT_PRODUCT: u32 = 14;
const ROTATE: u32 = 15;

impl Step {
    const fn new(operation: u32, target: u32, left: u32, right: u32) -> Self {
        Self { operation, target, left, right }
    }

    /// target ← value
    pub const fn copy(target: u32, value: u32) -> Self {
        Self::new(COPY, target, value, value)
    }

    /// target ← left + right
    pub const fn add(target: u32, left: u32, right: u32) -> Self {
        Self::new(ADD, target, left, right)
    }

    /// target ← left − right
    pub const fn subtract(target: u32, left: u32, right: u32) -> Self {
        Self::new(SUBTRACT, target, left, right)
    }

    /// target ← left · right
    pub const fn multiply(target: u32, left: u32, right: u32) -> Self {
        Self::new(MULTIPLY, target, left, right)
    }

    /// target ← left / right. Division by 0 follows IEEE 754; [`stop_if_zero`](Self::stop_if_zero) before it prevents
    /// that.
    pub const fn divide(target: u32, left: u32, right: u32) -> Self {
        Self::new(DIVIDE, target, left, right)
    }

    /// target ← left / right, but 0 if right is 0.
    pub const fn divide_or_zero(target: u32, left: u32, right: u32) -> Self {
        Self::new(DIVIDE_OR_ZERO, target, left, right)
    }

    /// target ← target − left · right
    pub const fn subtract_product(target: u32, left: u32, right: u32) -> Self {
        Self::new(SUBTRACT_PRODUCT, target, left, right)
    }

    /// Rotates the pair in slots `target` and `target` + 1: (a, b) ← (c a + s b, c b − s a).
    pub const fn rotate(target: u32, c: u32, s: u32) -> Self {
        Self::new(ROTATE, target, c, s)
    }

    /// target ← value
    pub const fn constant(target: u32, value: f64) -> Self {
        let bits = value.to_bits();
        Self::new(CONSTANT, target, bits as u32, (bits >> 32) as u32)
    }

    /// target ← √value; NaN of a negative number.
    pub const fn square_root(target: u32, value: u32) -> Self {
        Self::new(SQUARE_ROOT, target, value, value)
    }

    /// target ← |value|
    pub const fn magnitude(target: u32, value: u32) -> Self {
        Self::new(MAGNITUDE, target, value, value)
    }

    /// Stores the value in a ring of `length` slots, at least 1, from `ring` on, at the position of this iteration, and
    /// counts the iteration. The first iteration is at the first position.
    pub const fn record(value: u32, ring: u32, length: u32) -> Self {
        Self::new(RECORD, ring, value, length)
    }

    /// Stops with `code`, which is not 0, if left ≤ right.
    pub const fn stop_if_at_most(code: u32, left: u32, right: u32) -> Self {
        Self::new(STOP_IF_AT_MOST, code, left, right)
    }

    /// Stops with `code`, which is not 0, unless the value is greater than 0; NaN stops too.
    pub const fn stop_unless_positive(code: u32, value: u32) -> Self {
        Self::new(STOP_UNLESS_POSITIVE, code, value, value)
    }

    /// Stops with `code`, which is not 0, if the value is infinite or NaN.
    pub const fn stop_unless_finite(code: u32, value: u32) -> Self {
        Self::new(STOP_UNLESS_FINITE, code, value, value)
    }

    /// Stops with `code`, which is not 0, if the value is 0.
    pub const fn stop_if_zero(code: u32, value: u32) -> Self {
        Self::new(STOP_IF_ZERO, code, value, value)
    }

    /// The step's words, as read by [`run`].
    pub const fn words(self) -> [u32; WORDS as usize] {
        [self.operation, self.target, self.left, self.right]
    }

    /// Number of slots that the step needs.
    ///
    /// # Errors
    /// Names the number that is 0 but must not be: the code of a stop, or the length of a ring.
    pub fn slots(self) -> Result<u64, &'static str> {
        let [target, left, right] = [self.target, self.left, self.right].map(u64::from);
        match self.operation {
            CONSTANT => Ok(target + 1),
            ROTATE => Ok((target + 2).max(left + 1).max(right + 1)),
            RECORD if right == 0 => Err("the length of a ring"),
            RECORD => Ok((left + 1).max(target + right)),
            STOP_IF_AT_MOST..=STOP_IF_ZERO if target == 0 => Err("the code of a stop"),
            STOP_IF_AT_MOST..=STOP_IF_ZERO => Ok(left.max(right) + 1),
            _ => Ok(target.max(left).max(right) + 1),
        }
    }
}

/// Runs a program of `steps` steps on slots that are read by `get` and written by `put`, until one stops it: then
/// [`STATUS`] is that step's code.
#[inline(always)]
pub fn run(steps: u32, word: impl Fn(u32) -> u32, get: impl Fn(u32) -> f64, mut put: impl FnMut(u32, f64)) {
    let mut step = 0;
    while step < steps {
        let at = step * WORDS;
        let [operation, target, left, right] = [at, at + 1, at + 2, at + 3].map(&word);
        // The left operand of a constant is not a slot.
        let value = if operation == CONSTANT { 0.0 } else { get(left) };
        let stops = match operation {
            ROTATE => {
                let (c, s, a, b) = (value, get(right), get(target), get(target + 1));
                put(target, c * a + s * b);
                put(target + 1, c * b - s * a);
                false
            }
            RECORD => {
                let iteration = get(ITERATION);
                // A ring has at least one slot.
                put(target + (iteration as u32).checked_rem(right).unwrap_or(0), value);
                put(ITERATION, iteration + 1.0);
                false
            }
            STOP_IF_AT_MOST => value <= get(right),
            STOP_UNLESS_POSITIVE => value.partial_cmp(&0.0) != Some(core::cmp::Ordering::Greater),
            STOP_UNLESS_FINITE => !value.is_finite(),
            STOP_IF_ZERO => value == 0.0,
            _ => {
                let result = match operation {
                    ADD => value + get(right),
                    SUBTRACT => value - get(right),
                    MULTIPLY => value * get(right),
                    DIVIDE => value / get(right),
                    DIVIDE_OR_ZERO if get(right) == 0.0 => 0.0,
                    DIVIDE_OR_ZERO => value / get(right),
                    SUBTRACT_PRODUCT => get(target) - value * get(right),
                    CONSTANT => f64::from_bits(u64::from(right) << 32 | u64::from(left)),
                    SQUARE_ROOT => cuda_std::square_root(value),
                    MAGNITUDE => value.abs(),
                    _ => value,
                };
                put(target, result);
                false
            }
        };
        if stops {
            put(STATUS, target.into());
            return;
        }
        step += 1;
    }
}
