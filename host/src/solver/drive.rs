//! What all methods share: limits, history, callback, outcome.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::time::Instant;

use super::method::{
    CONVERGED, FIRST_BREAKDOWN, FIRST_METHOD_SLOT, Iteration, LIMIT, LIMIT_REACHED, Method, NOT_FINITE, Problem,
    SCRATCH, TOLERANCE,
};
use super::operator::Operator;
use super::options::Options;
use super::report::{Outcome, Progress, Report};
use super::work::{Counted, Work};
use crate::dense::{Fill, ITERATION, STATUS, Space, Step, ZERO};
use crate::error::{Error, check_length};
use crate::executor::{Executor, Recording};
use crate::memory::Buffer;
use crate::plan::Vector;
use crate::real::Real;

/// The share of the smallest residual norm that a new one must be below to be progress.
const PROGRESS: f64 = 0.999;

/// What a restart must at least divide the true residual norm by, or it was in vain.
pub(super) const RESTART_GAIN: f64 = 2.0;

/// Why a residual that is infinite or NaN ends everything.
pub(super) const NO_NUMBER: &str = "a number that is not finite: in b, x or A, or because of an overflow";

/// Says after an iteration whether to go on.
pub type Callback<'a> = &'a mut dyn FnMut(&Progress) -> ControlFlow<()>;

/// Solves A x = b by any [`Method`].
pub struct Solver<'a, T: Real, E: Executor> {
    executor: &'a E,
    operator: &'a mut dyn Operator<T, E>,
    preconditioner: Option<&'a mut dyn Operator<T, E>>,
    options: Options,
    callback: Option<Callback<'a>>,
}

impl<'a, T: Real, E: Executor> Solver<'a, T, E> {
    /// A solver for this A, with the default options.
    pub fn new(executor: &'a E, operator: &'a mut dyn Operator<T, E>) -> Self {
        Self { executor, operator, preconditioner: None, options: Options::default(), callback: None }
    }

    /// With a preconditioner: an approximation of the inverse of A.
    pub fn preconditioner(self, preconditioner: &'a mut dyn Operator<T, E>) -> Self {
        Self { preconditioner: Some(preconditioner), ..self }
    }

    /// With other options.
    pub fn options(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// With a callback that hears of each iteration, in order, whenever the host looks, and can stop the solver: at once
    /// with a [check interval](Options::check_interval) of 1, else at the end of the interval.
    pub fn callback(self, callback: Callback<'a>) -> Self {
        Self { callback: Some(callback), ..self }
    }

    /// Solves A x = b, from the given x on. That a method fails is no error but an [`Outcome`]; x is then what it
    /// had come to. If b is 0, then so is x.
    ///
    /// # Errors
    /// When A is not square, a vector or the preconditioner does not fit it, an option means nothing, memory runs out, or
    /// the device fails.
    pub fn solve<M: Method<T, E>>(
        &mut self,
        method: &M,
        b: &Vector<T, E>,
        x: &mut Vector<T, E>,
    ) -> Result<Report, Error> {
        let rows = self.operator.rows();
        self.options.check()?;
        check_length("a row of the operator", self.operator.columns(), rows)?;
        if let Some(preconditioner) = &self.preconditioner {
            check_length("x of the preconditioner", preconditioner.columns(), rows)?;
            check_length("y of the preconditioner", preconditioner.rows(), rows)?;
        }
        check_length("b", b.len(), rows)?;
        check_length("x", x.len(), rows)?;

        let size = method.size(rows);
        let ring = FIRST_METHOD_SLOT.saturating_add(size.slots);
        let interval = self.options.check_interval.min(MOST_BETWEEN_LOOKS);
        let ring_length = interval.saturating_add(size.iterations_at_once);
        let space = Space::new(self.executor, ring.saturating_add(ring_length), size.sums)?;
        let norm = space.program(&[Step::square_root(SCRATCH, SCRATCH)])?;
        let [products, preconditionings] = &[Cell::new(0), Cell::new(0)];
        let mut operator = Counted { operator: &mut *self.operator, applications: products };
        let mut preconditioner = match &mut self.preconditioner {
            Some(preconditioner) => Some(Counted { operator: &mut **preconditioner, applications: preconditionings }),
            None => None,
        };
        let mut goes_on = |_: &Progress| ControlFlow::Continue(());
        let callback: Callback<'_> = match &mut self.callback {
            Some(callback) => &mut **callback,
            None => &mut goes_on,
        };
        let problem = Problem {
            operator: &mut operator,
            preconditioner: preconditioner.as_mut().map(|preconditioner| preconditioner as _),
            right_hand_side: b,
            solution: x,
            residual: self.executor.zeros(rows)?,
            space,
            ring: (ring, ring_length),
            norm,
        };
        let run = Run {
            problem,
            options: Options { check_interval: interval, ..self.options },
            callback,
            begin: Instant::now(),
            iterations_at_once: size.iterations_at_once.max(1),
            history: Vec::new(),
            iterations: 0,
            best: (f64::INFINITY, 0),
            applications: [products, preconditionings],
            work: Work::default(),
        };
        run.solve(method)
    }
}

/// Iterations between two looks of the host at most: the history between them is kept on the device.
const MOST_BETWEEN_LOOKS: u32 = 4096;

/// One system being solved.
struct Run<'a, T: Real, E: Executor> {
    problem: Problem<'a, T, E>,
    options: Options,
    callback: Callback<'a>,
    begin: Instant,
    iterations_at_once: u32,
    history: Vec<f64>,
    iterations: usize,
    /// The smallest residual norm that was progress, and its iteration.
    best: (f64, usize),
    /// Of the matrix and of the preconditioner.
    applications: [&'a Cell<u64>; 2],
    work: Work,
}

impl<T: Real, E: Executor> Run<'_, T, E> {
    fn solve<M: Method<T, E>>(mut self, method: &M) -> Result<Report, Error> {
        let right_hand_side_norm = self.problem.right_hand_side_norm()?;
        if right_hand_side_norm == 0.0 {
            let Problem { space, solution, .. } = &mut self.problem;
            space.pass(Fill, [ZERO], [], [&mut **solution])?;
        }
        let Options { relative_tolerance, absolute_tolerance, .. } = self.options;
        let tolerance = absolute_tolerance.max(relative_tolerance * right_hand_side_norm);
        let mut iteration = None;
        let (mut ended, mut before, mut starts) = (None, f64::INFINITY, 0usize);
        let (outcome, residual_norm) = loop {
            self.begin_at(tolerance)?;
            let norm = self.problem.true_residual()?;
            if starts == 0 {
                self.history.push(norm);
            }
            self.best = (norm, self.iterations);
            let finite = norm.is_finite() && right_hand_side_norm.is_finite();
            let at_limit = self.iterations >= self.options.iteration_limit as usize;
            let outcome = match ended {
                _ if !finite => Some(Outcome::Breakdown(NO_NUMBER)),
                _ if norm <= tolerance => Some(Outcome::Converged),
                None if at_limit => Some(Outcome::IterationLimit),
                None if norm * RESTART_GAIN > before => Some(Outcome::Stagnated),
                // Rounding may be the reason: another start tells.
                Some(Outcome::Breakdown(_)) if !at_limit && norm * RESTART_GAIN <= before => None,
                ended => ended,
            };
            if let Some(outcome) = outcome {
                break (outcome, norm);
            }
            before = norm;
            starts += 1;
            let iteration = match &mut iteration {
                Some(iteration) => iteration,
                none => none.insert(method.prepare(&self.problem)?),
            };
            let first = self.iterations;
            iteration.start(&mut self.problem)?;
            ended = self.advance(iteration)?;
            let scalars = self.problem.space.scalars()?;
            let in_the_midst = scalars[STATUS as usize] != 0.0;
            let scalars: Vec<_> = (0..).zip(scalars).filter(|&(slot, _)| slot != STATUS).collect();
            self.problem.space.set(&scalars)?;
            iteration.finish(&mut self.problem, self.iterations - first, in_the_midst)?;
        };
        Ok(Report {
            outcome,
            iterations: self.iterations,
            residual_norm,
            right_hand_side_norm,
            history: self.history,
            restarts: starts.saturating_sub(1),
            work: self.work,
            elapsed: self.begin.elapsed(),
        })
    }

    /// Sets the scalars back, but for what the steps of [`Problem::check`] compare with.
    fn begin_at(&mut self, tolerance: f64) -> Result<(), Error> {
        self.problem.space.set(&[
            (ITERATION, self.iterations as f64),
            (TOLERANCE, tolerance),
            (LIMIT, self.options.iteration_limit.into()),
        ])
    }

    /// Goes on until the method has converged, as far as it knows itself, or something else ends it.
    fn advance<I: Iteration<T, E>>(&mut self, iteration: &mut I) -> Result<Option<Outcome>, Error> {
        let mut recording = Recording::default();
        loop {
            let left = u64::from(self.options.iteration_limit).saturating_sub(self.iterations as u64);
            let wanted = left.clamp(1, self.options.check_interval.into());
            let calls = wanted.div_ceil(self.iterations_at_once.into()) as usize;
            let executor = self.problem.space.executor();
            executor.repeat(&mut recording, calls, &mut || {
                let [products, preconditionings] = self.applications;
                let now = |bytes| [products.get(), preconditionings.get(), bytes];
                let before = now(self.problem.space.bytes_moved());
                iteration.advance(&mut self.problem)?;
                let after = now(self.problem.space.bytes_moved());
                // It is the same every time.
                let taken = |what: usize| (after[what] - before[what]) as f64 / f64::from(self.iterations_at_once);
                self.work = Work { products: taken(0), preconditionings: taken(1), vector_bytes: taken(2) };
                Ok(())
            })?;
            let scalars = self.problem.space.scalars()?;
            let stopped = self.take_history(&scalars);
            let status = scalars[STATUS as usize] as u32;
            match status {
                0 if stopped => return Ok(Some(Outcome::Stopped)),
                0 => {}
                CONVERGED => return Ok(None),
                LIMIT_REACHED => return Ok(Some(Outcome::IterationLimit)),
                NOT_FINITE => return Ok(Some(Outcome::Breakdown(NO_NUMBER))),
                code => {
                    let reason = I::BREAKDOWNS.get((code - FIRST_BREAKDOWN) as usize);
                    return Ok(Some(Outcome::Breakdown(
                        reason.unwrap_or(&"for a reason that the method does not name"),
                    )));
                }
            }
            if self.options.stagnation_window.is_some_and(|window| self.iterations - self.best.1 >= window as usize) {
                return Ok(Some(Outcome::Stagnated));
            }
            if self.options.time_limit.is_some_and(|limit| self.begin.elapsed() >= limit) {
                return Ok(Some(Outcome::TimeLimit));
            }
        }
    }

    /// Takes what is new of the history, tells the callback, and says whether that wants to stop.
    fn take_history(&mut self, scalars: &[f64]) -> bool {
        let (ring, length) = self.problem.ring;
        let done = scalars[ITERATION as usize] as usize;
        let elapsed = self.begin.elapsed();
        let mut stops = false;
        for iteration in self.iterations..done {
            let residual_norm = scalars[ring as usize + iteration % length as usize];
            self.history.push(residual_norm);
            let iteration = iteration + 1;
            if residual_norm < PROGRESS * self.best.0 {
                self.best = (residual_norm, iteration);
            }
            if !stops {
                stops = (self.callback)(&Progress { iteration, residual_norm, elapsed }).is_break();
            }
        }
        self.iterations = done;
        stops
    }
}
