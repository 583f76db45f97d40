//! Power iteration.

use host::error::{Error, check_length};
use host::executor::Executor;
use host::memory::Buffer;
use host::plan::Vector;
use host::real::Scalar;

use super::method::{CONVERGED, FIRST_METHOD_SLOT, LIMIT, TOLERANCE};
use super::operator::{Multiple, Operator, check_square, place_of_part};
use super::options::Options;
use super::range::{Ranger, Scale, exponent_for_norm};
use super::report::{EigenReport, Outcome};
use super::watch::{Callback, Repeated, Watch, check};
use crate::dense::{Dot, DotAndSquare, EigenResidual, ONE, Program, PseudoRandom, Scaled, Space, Step};

/// λ = x · A x, and A x · A x.
const LAMBDA: u32 = FIRST_METHOD_SLOT;
const SQUARE: u32 = LAMBDA + 1;
/// 1 / ‖A x‖.
const INVERSE: u32 = LAMBDA + 2;
/// ‖A x − λ x‖, before the root its square, and its ratio to ‖A x‖.
const RESIDUAL: u32 = LAMBDA + 3;
const RELATIVE: u32 = LAMBDA + 4;
const ABSOLUTE_TOLERANCE: u32 = LAMBDA + 5;
const RING: u32 = LAMBDA + 6;

/// Computes the eigenpair with the eigenvalue of largest magnitude, by power iteration (Saad 2011, §4.1), starting from x;
/// x = 0 selects a fixed starting vector. On return x is the eigenvector, of length 1. A complex matrix must be Hermitian,
/// as the eigenvalue is real.
///
/// Converged when ‖A x − λ x‖ ≤ the relative tolerance times ‖A x‖, or the absolute one. If several eigenvalues have the
/// largest magnitude, such as 1 and −1, it does not converge. An iteration takes a product with the operator, and reads and
/// writes 6 vectors. Vectors besides x: 1, and 2 more at the start, where a product estimates the size of A.
///
/// ```
/// use host::executor::Cpu;
/// use solvers::{Options, Outcome, power_iteration};
/// use host::{Csr, Plan};
///
/// # fn main() -> Result<(), host::Error> {
/// let cpu = Cpu::new();
/// // The eigenvalues are 1 and 3.
/// let matrix = Csr::try_from_triplets(2, 2, &[0, 0, 1, 1], &[0, 1, 0, 1], &[2.0, 1.0, 1.0, 2.0])?;
/// let mut plan = Plan::new(&cpu, matrix)?;
/// let mut x = vec![1.0f64, 0.0];
/// let report = power_iteration(&cpu, &mut plan, &mut x, &Options::default(), None)?;
/// assert_eq!(report.outcome, Outcome::Converged);
/// assert!((report.eigenvalues[0] - 3.0).abs() < 1e-5 && (x[0] - x[1]).abs() < 1e-5);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// When A is not square or has no rows, x does not fit it, an option is invalid, memory runs out, or the device fails.
pub fn power_iteration<T: Scalar, E: Executor>(
    executor: &E,
    operator: &mut dyn Operator<T, E>,
    x: &mut Vector<T, E>,
    options: &Options,
    callback: Option<Callback<'_>>,
) -> Result<EigenReport, Error> {
    options.check()?;
    let rows = check_square(operator, None)?;
    check_length("x", x.len(), rows)?;
    let (first, all_rows) = place_of_part(operator);
    if all_rows == 0 {
        return Err(Error::Setting { what: "the number of rows", value: "0".into(), expected: "1 or more" });
    }
    let mut ranger = Ranger::new(executor, operator.ranks())?;
    let mut begin = executor.duplicate(x)?;
    let mut length = ranger.norm(&begin)?;
    if length == 0.0 {
        begin = executor.run::<PseudoRandom<T>>((first, rows))?;
        length = ranger.norm(&begin)?;
    }
    let begin = ranger.scaled(&begin, exponent_for_norm(length))?;
    // Scale A so that squares of products are in range.
    let scale = Scale::new(ranger.exponent_for(operator, &begin)?);
    let operator = &mut Multiple::new(T::from_f64(scale.factor), operator);
    let (options, mut tell) = (scale.options(options), scale.callback(callback));
    let ring = (RING, Watch::ring_length(&options, 1));
    let mut space = Space::new(executor, RING.saturating_add(ring.1), 2)?.across(operator.ranks())?;
    space.set(&[
        (TOLERANCE, options.relative_tolerance),
        (ABSOLUTE_TOLERANCE, options.absolute_tolerance),
        (LIMIT, options.iteration_limit.into()),
        // Unknown before the first iteration.
        (LAMBDA, f64::NAN),
        (RESIDUAL, f64::NAN),
    ])?;
    let scaling = space.program(&[Step::square_root(INVERSE, SQUARE), Step::divide_or_zero(INVERSE, ONE, INVERSE)])?;
    let [record, finite, _, limit] = check(ring, RESIDUAL);
    let checked = space.program(&[
        Step::square_root(RESIDUAL, RESIDUAL),
        record,
        finite,
        // If A x is 0, then so is the residual.
        Step::multiply(RELATIVE, RESIDUAL, INVERSE),
        Step::stop_if_at_most(CONVERGED, RELATIVE, TOLERANCE),
        Step::stop_if_at_most(CONVERGED, RESIDUAL, ABSOLUTE_TOLERANCE),
        limit,
    ])?;
    space.pass(Dot, [], [&begin, &begin], [])?;
    space.finish(SQUARE, &scaling)?;
    let mut watch = Watch::new(options, Some(&mut tell), ring, 1);
    let mut power = Power { operator, x, product: begin, space, scaling, checked };
    let outcome = watch.go_on(executor, &mut power)?.unwrap_or(Outcome::Converged);
    let scalars = power.space.scalars()?;
    let [mut eigenvalues, mut residual_norms] = [LAMBDA, RESIDUAL].map(|slot| vec![scalars[slot as usize]]);
    let Watch { iterations, mut history, begin, .. } = watch;
    scale.bring_back(eigenvalues.iter_mut().chain(&mut residual_norms).chain(&mut history));
    Ok(EigenReport { outcome, iterations, eigenvalues, residual_norms, history, elapsed: begin.elapsed() })
}

struct Power<'a, T: Scalar, E: Executor> {
    operator: &'a mut dyn Operator<T, E>,
    x: &'a mut Vector<T, E>,
    /// A x; at the start, the initial x.
    product: Vector<T, E>,
    space: Space<E>,
    scaling: Program<E::Memory>,
    checked: Program<E::Memory>,
}

impl<T: Scalar, E: Executor> Repeated<E> for Power<'_, T, E> {
    fn space(&self) -> &Space<E> {
        &self.space
    }

    fn breakdowns(&self) -> &'static [&'static str] {
        &[]
    }

    fn advance(&mut self) -> Result<(), Error> {
        let Self { operator, x, product, space, scaling, checked } = self;
        space.pass(Scaled, [INVERSE], [&*product], [&mut **x])?;
        operator.apply(T::ONE, x, T::ZERO, product)?;
        space.pass(DotAndSquare, [], [product, x], [])?;
        space.finish(LAMBDA, scaling)?;
        space.pass(EigenResidual, [LAMBDA], [&*product, &**x], [])?;
        space.finish(RESIDUAL, checked)
    }
}
