//! Shared by all methods: limits, history, callback, outcome.

use std::cell::Cell;
use std::time::Instant;

use host::error::{Error, check_length};
use host::executor::Executor;
use host::memory::Buffer;
use host::plan::Vector;
use host::real::Scalar;

use super::lanczos::SpectralBounds;
use super::method::{FIRST_METHOD_SLOT, Iteration, LIMIT, Method, Problem, TOLERANCE};
use super::operator::{Multiple, Operator, check_square, place_of_part};
use super::options::Options;
use super::range::{Ranger, SCRATCH, Scale, exponent_for_norm};
use super::report::{Outcome, Report};
use super::watch::{Callback, NO_NUMBER, Repeated, Watch};
use super::work::{Counted, Counter};
use crate::dense::{Fill, ITERATION, Space, Step, ZERO};

/// A restart must reduce the true residual norm by at least this factor.
pub(super) const RESTART_GAIN: f64 = 2.0;

/// Solves A x = b by any [`Method`].
///
/// ```
/// use host::executor::{Cpu, Executor};
/// use host::{Csr, Plan};
/// use solvers::{Cg, Outcome, Solver};
///
/// # fn main() -> Result<(), host::Error> {
/// let matrix = Csr::try_from_triplets(2, 2, &[0, 0, 1, 1], &[0, 1, 0, 1], &[4.0, 1.0, 1.0, 3.0])?;
/// let cpu = Cpu::new();
/// let mut plan = Plan::new(&cpu, matrix)?;
/// let (b, mut x) = (cpu.upload(vec![1.0, 2.0])?, cpu.zeros(2)?);
/// let report = Solver::new(&cpu, &mut plan).solve(&Cg, &b, &mut x)?;
/// assert!(matches!(report.outcome, Outcome::Converged) && report.iterations <= 2);
/// # Ok(())
/// # }
/// ```
pub struct Solver<'a, T: Scalar, E: Executor> {
    executor: &'a E,
    operator: &'a mut dyn Operator<T, E>,
    preconditioner: Option<&'a mut dyn Operator<T, E>>,
    options: Options,
    callback: Option<Callback<'a>>,
}

impl<'a, T: Scalar, E: Executor> Solver<'a, T, E> {
    /// Creates a solver for `operator`, A, with the default options.
    pub fn new(executor: &'a E, operator: &'a mut dyn Operator<T, E>) -> Self {
        Self { executor, operator, preconditioner: None, options: Options::default(), callback: None }
    }

    /// Sets a preconditioner: an approximation of the inverse of A.
    pub fn preconditioner(self, preconditioner: &'a mut dyn Operator<T, E>) -> Self {
        Self { preconditioner: Some(preconditioner), ..self }
    }

    /// Sets the options.
    pub fn options(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// Sets a callback that receives each iteration in order, at every check by the host, and can stop the solver: at once
    /// with a [check interval](Options::check_interval) of 1, else at the end of the interval.
    pub fn callback(self, callback: Callback<'a>) -> Self {
        Self { callback: Some(callback), ..self }
    }

    /// [`SpectralBounds::estimate`] for the solver's matrix and preconditioner.
    ///
    /// # Errors
    /// As for [`SpectralBounds::estimate`].
    pub fn estimate_spectrum(&mut self, steps: usize) -> Result<SpectralBounds, Error> {
        let preconditioner = self.preconditioner.as_mut().map(|preconditioner| &mut **preconditioner as _);
        SpectralBounds::estimate(self.executor, &mut *self.operator, preconditioner, steps)
    }

    /// Solves A x = b, starting from the given x. A failure of the method is an [`Outcome`], not an error; x then holds the
    /// current iterate. If b is 0, x becomes 0.
    ///
    /// If norms are below 2^-300 or above 2^300, so that squares might be out of range, it solves the system scaled by a
    /// power of two, which takes one extra vector for b and three for x.
    ///
    /// # Errors
    /// When A is not square, a vector or the preconditioner does not fit it, an option is invalid, memory runs out, or the
    /// device fails.
    pub fn solve<M: Method<T, E>>(
        &mut self,
        method: &M,
        b: &Vector<T, E>,
        x: &mut Vector<T, E>,
    ) -> Result<Report, Error> {
        self.options.check()?;
        let rows = check_square(self.operator, self.preconditioner.as_deref())?;
        check_length("b", b.len(), rows)?;
        check_length("x", x.len(), rows)?;
        let begin = Instant::now();
        let mut attempt: Attempt<'_, T, E, M> = Attempt { method, b, exponents: Exponents::default(), begin };
        loop {
            let scales = attempt.exponents != Exponents::default();
            let ended = if scales { attempt.scaled(self, x)? } else { attempt.plain(self, x)? };
            match ended {
                Ended::Report(report) => return Ok(report),
                Ended::Beyond(exponents) => attempt.exponents = exponents,
            }
        }
    }
}

/// One attempt to solve a system.
struct Attempt<'p, T: Scalar, E: Executor, M> {
    method: &'p M,
    b: &'p Vector<T, E>,
    /// The powers of two that scale the system.
    exponents: Exponents,
    /// When the first attempt began.
    begin: Instant,
}

impl<T: Scalar, E: Executor, M: Method<T, E>> Attempt<'_, T, E, M> {
    /// Solves A x = b if no square is out of range; otherwise returns the required scaling.
    fn plain(&self, solver: &mut Solver<'_, T, E>, x: &mut Vector<T, E>) -> Result<Ended, Error> {
        let (executor, rows) = (solver.executor, self.b.len());
        let (_, all_rows) = place_of_part(&*solver.operator);
        let size = self.method.size(all_rows);
        let mut options = solver.options;
        if let Some(most) = solver.preconditioner.as_ref().and_then(|operator| operator.iterations_between_looks()) {
            options.check_interval = options.check_interval.min(most.max(1));
        }
        let ring_length = Watch::ring_length(&options, size.iterations_at_once);
        let slots = [FIRST_METHOD_SLOT, size.slots, ring_length].into_iter().map(u64::from).sum::<u64>();
        let too_many = |_| Error::TooLarge { what: "number of slots", value: slots.into(), limit: u32::MAX.into() };
        let slots = u32::try_from(slots).map_err(too_many)?;
        let ring = slots - ring_length;
        let space =
            Space::new(executor, slots, size.sums)?.across(solver.operator.ranks())?.fusing(solver.options.fused_sums);
        let norm = space.program(&[Step::square_root(SCRATCH, SCRATCH)])?;
        let [products, preconditionings] = &[Cell::new(0), Cell::new(0)];
        let mut operator = Counted { operator: &mut *solver.operator, applications: products };
        let mut preconditioner = match &mut solver.preconditioner {
            Some(preconditioner) => Some(Counted { operator: &mut **preconditioner, applications: preconditionings }),
            None => None,
        };
        let callback = solver.callback.as_mut().map(|callback| &mut **callback as _);
        let problem = Problem {
            operator: &mut operator,
            preconditioner: preconditioner.as_mut().map(|preconditioner| preconditioner as _),
            right_hand_side: self.b,
            solution: x,
            residual: executor.zeros(rows)?,
            space,
            ring: (ring, ring_length),
            norm,
        };
        let mut watch = Watch::new(options, callback, (ring, ring_length), size.iterations_at_once);
        watch.begin = self.begin;
        let counter = Counter::new([products, preconditionings], size.iterations_at_once);
        Run { problem, watch, counter, exponents: self.exponents }.solve(self.method)
    }

    /// Solves A x = b as (2^o A) (2^(v − o) x) = 2^v b, whose squares are in range. Scaling by powers of two is exact.
    fn scaled(&self, solver: &mut Solver<'_, T, E>, x: &mut Vector<T, E>) -> Result<Ended, Error> {
        let Exponents { vectors, operator } = self.exponents;
        let (of_vectors, of_operator) = (Scale::new(vectors), Scale::new(operator));
        let executor = solver.executor;
        let mut ranger = Ranger::new(executor, solver.operator.ranks())?;
        let options = of_vectors.options(&solver.options);
        let mut tell = of_vectors.callback(solver.callback.as_mut().map(|callback| &mut **callback as _));
        let mut multiple = Multiple::new(T::from_f64(of_operator.factor), &mut *solver.operator);
        let multiple_of_m = |preconditioner| Multiple::new(T::from_f64(of_operator.inverse), preconditioner);
        let mut preconditioner = solver.preconditioner.as_deref_mut().map(multiple_of_m);
        let mut scaled = Solver {
            executor,
            operator: &mut multiple,
            preconditioner: preconditioner.as_mut().map(|preconditioner| preconditioner as _),
            options,
            callback: Some(&mut tell),
        };
        let of_x = vectors - operator;
        let (b, mut scaled_x) = (ranger.scaled(self.b, vectors)?, ranger.scaled(x, of_x)?);
        let attempt: Attempt<'_, T, E, M> =
            Attempt { method: self.method, b: &b, exponents: self.exponents, begin: self.begin };
        let ended = attempt.plain(&mut scaled, &mut scaled_x)?;
        *x = ranger.scaled(&scaled_x, -of_x)?;
        let mut report = match ended {
            Ended::Report(report) => report,
            beyond @ Ended::Beyond(_) => return Ok(beyond),
        };
        if report.outcome == Outcome::Converged {
            // Also counts what x loses where its own numbers are near the end of the range.
            let mut residual = executor.duplicate(&b)?;
            multiple.apply(-T::ONE, &ranger.scaled(x, of_x)?, T::ONE, &mut residual)?;
            report.residual_norm = ranger.norm(&residual)?;
            let tolerance = options.absolute_tolerance.max(options.relative_tolerance * report.right_hand_side_norm);
            if !report.residual_norm.is_finite() {
                report.outcome = Outcome::Breakdown(NO_NUMBER);
            } else if report.residual_norm > tolerance {
                report.outcome = Outcome::Stagnated;
            }
        }
        let Report { history, residual_norm, right_hand_side_norm, .. } = &mut report;
        of_vectors.bring_back(history.iter_mut().chain([residual_norm, right_hand_side_norm]));
        Ok(Ended::Report(report))
    }
}

/// The powers of two that scale a system whose norms have squares out of range: for b and the residual, and for A.
#[derive(Clone, Copy, Default, PartialEq)]
struct Exponents {
    vectors: i32,
    operator: i32,
}

/// The result of an attempt.
enum Ended {
    Report(Report),
    /// The system must be scaled first.
    Beyond(Exponents),
}

/// One system being solved.
struct Run<'a, T: Scalar, E: Executor> {
    problem: Problem<'a, T, E>,
    watch: Watch<'a>,
    counter: Counter<'a>,
    /// The powers of two that scale the system.
    exponents: Exponents,
}

impl<T: Scalar, E: Executor> Run<'_, T, E> {
    fn solve<M: Method<T, E>>(mut self, method: &M) -> Result<Ended, Error> {
        let right_hand_side_norm = self.problem.right_hand_side_norm()?;
        if right_hand_side_norm == 0.0 {
            let Problem { space, solution, .. } = &mut self.problem;
            space.pass(Fill, [ZERO], [], [&mut **solution])?;
        }
        let Options { relative_tolerance, absolute_tolerance, .. } = self.watch.options;
        let tolerance = absolute_tolerance.max(relative_tolerance * right_hand_side_norm);
        let mut iteration = None;
        let (mut ended, mut before, mut starts) = (None, f64::INFINITY, 0usize);
        let (outcome, residual_norm) = loop {
            self.begin_at(tolerance)?;
            let norm = self.problem.true_residual()?;
            if starts == 0 {
                self.watch.keep(norm)?;
            }
            self.watch.best = (norm, self.watch.iterations);
            let finite = norm.is_finite() && right_hand_side_norm.is_finite();
            let at_limit = self.watch.iterations >= self.watch.options.iteration_limit as usize;
            let outcome = match ended {
                _ if !finite => Some(Outcome::Breakdown(NO_NUMBER)),
                _ if norm <= tolerance => Some(Outcome::Converged),
                None if at_limit => Some(Outcome::IterationLimit),
                None if norm * RESTART_GAIN > before => Some(Outcome::Stagnated),
                // Rounding may be the cause: restart to find out.
                Some(Outcome::Breakdown(_)) if !at_limit && norm * RESTART_GAIN <= before => None,
                ended => ended,
            };
            if let Some(outcome) = outcome {
                if let Some(exponents) = self.exponents_after(outcome, (norm, right_hand_side_norm))? {
                    return Ok(Ended::Beyond(exponents));
                }
                break (outcome, norm);
            }
            let vectors = exponent_for_norm(norm.max(right_hand_side_norm));
            if starts == 0 && self.exponents.vectors == 0 && vectors != 0 {
                return Ok(Ended::Beyond(Exponents { vectors, ..self.exponents }));
            }
            before = norm;
            starts += 1;
            let iteration = match &mut iteration {
                Some(iteration) => iteration,
                none => none.insert(method.prepare(&self.problem)?),
            };
            let first = self.watch.iterations;
            iteration.start(&mut self.problem)?;
            let executor = self.problem.space.executor().clone();
            let mut repeated =
                AtWork { iteration: &mut *iteration, problem: &mut self.problem, counter: &mut self.counter };
            ended = self.watch.go_on(&executor, &mut repeated)?;
            let in_the_midst = self.problem.space.resume()?;
            iteration.finish(&mut self.problem, self.watch.iterations - first, in_the_midst)?;
        };
        Ok(Ended::Report(Report {
            outcome,
            iterations: self.watch.iterations,
            residual_norm,
            right_hand_side_norm,
            history: self.watch.history,
            restarts: starts.saturating_sub(1),
            work: self.counter.work(),
            elapsed: self.watch.begin.elapsed(),
        }))
    }

    /// Returns the scaling of A after a failure that squares of products with A may have caused. x is then as good a
    /// starting point as any.
    fn exponents_after(
        &mut self,
        outcome: Outcome,
        (norm, right_hand_side_norm): (f64, f64),
    ) -> Result<Option<Exponents>, Error> {
        let failed = matches!(outcome, Outcome::Breakdown(_) | Outcome::Stagnated);
        if !failed || self.exponents.operator != 0 || !(right_hand_side_norm > 0.0 && right_hand_side_norm.is_finite())
        {
            return Ok(None);
        }
        let Problem { operator, right_hand_side, solution, space, .. } = &mut self.problem;
        let operator =
            Ranger::new(space.executor(), operator.ranks())?.exponent_for(&mut **operator, right_hand_side)?;
        if operator == 0 {
            return Ok(None);
        }
        if !norm.is_finite() {
            space.pass(Fill, [ZERO], [], [&mut **solution])?;
        }
        Ok(Some(Exponents { operator, ..self.exponents }))
    }

    /// Resets the scalars, except those that the steps of [`Problem::check`] compare with.
    fn begin_at(&mut self, tolerance: f64) -> Result<(), Error> {
        self.problem.space.set(&[
            (ITERATION, self.watch.iterations as f64),
            (TOLERANCE, tolerance),
            (LIMIT, self.watch.options.iteration_limit.into()),
        ])
    }
}

/// A running method.
struct AtWork<'w, 'a, T: Scalar, E: Executor, I> {
    iteration: &'w mut I,
    problem: &'w mut Problem<'a, T, E>,
    counter: &'w mut Counter<'a>,
}

impl<T: Scalar, E: Executor, I: Iteration<T, E>> Repeated<E> for AtWork<'_, '_, T, E, I> {
    fn space(&self) -> &Space<E> {
        &self.problem.space
    }

    fn breakdowns(&self) -> &'static [&'static str] {
        I::BREAKDOWNS
    }

    fn advance(&mut self) -> Result<(), Error> {
        let before = self.counter.done(self.problem.space.bytes_moved());
        self.iteration.advance(self.problem)?;
        // Every call moves the same number of bytes.
        self.counter.take(before, self.problem.space.bytes_moved());
        Ok(())
    }
}
