//! Shared by all iterations: limits, history, callback.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use host::error::Error;
use host::executor::Executor;
use host::memory::reserve;

use super::method::{CONVERGED, FIRST_BREAKDOWN, LIMIT, LIMIT_REACHED, NOT_FINITE, TOLERANCE};
use super::options::Options;
use super::report::{Outcome, Progress};
use crate::dense::{ITERATION, STATUS, Space, Step};

/// A norm below this share of the smallest one so far counts as progress.
const PROGRESS: f64 = 0.999;

/// Why an infinite or NaN norm ends the iteration.
pub(super) const NO_NUMBER: &str = "a number that is not finite: in b, x or A, or because of an overflow";

/// Called after each iteration; returns whether to continue.
pub type Callback<'a> = &'a mut dyn FnMut(&Progress) -> ControlFlow<()>;

/// Largest number of iterations between two checks by the host: the device keeps their history.
const MOST_BETWEEN_LOOKS: u32 = 4096;

/// An iteration in the memory of an executor.
pub(super) trait Repeated<E: Executor> {
    /// Returns the space of its scalars.
    fn space(&self) -> &Space<E>;

    /// Returns the reasons for a breakdown, in the order of [`breakdown_code`](super::breakdown_code).
    fn breakdowns(&self) -> &'static [&'static str];

    /// Queues the next iterations, always in the same way.
    fn advance(&mut self) -> Result<(), Error>;
}

/// The host's view of the iterations.
pub(super) struct Watch<'a> {
    pub(super) options: Options,
    callback: Option<Callback<'a>>,
    pub(super) begin: Instant,
    /// The first slot and the length of the history.
    pub(super) ring: (u32, u32),
    /// Iterations per call of [`Repeated::advance`].
    pub(super) iterations_at_once: u32,
    pub(super) history: Vec<f64>,
    pub(super) iterations: usize,
    /// The smallest norm that counted as progress, and its iteration.
    pub(super) best: (f64, usize),
}

impl<'a> Watch<'a> {
    pub(super) fn new(
        options: Options,
        callback: Option<Callback<'a>>,
        ring: (u32, u32),
        iterations_at_once: u32,
    ) -> Self {
        Self {
            options: Options { check_interval: options.check_interval.min(MOST_BETWEEN_LOOKS), ..options },
            callback,
            begin: Instant::now(),
            ring,
            iterations_at_once: iterations_at_once.max(1),
            history: Vec::new(),
            iterations: 0,
            best: (f64::INFINITY, 0),
        }
    }

    /// Returns the length of the device's history.
    pub(super) fn ring_length(options: &Options, iterations_at_once: u32) -> u32 {
        options.check_interval.min(MOST_BETWEEN_LOOKS).saturating_add(iterations_at_once)
    }

    /// Iterates until the work reports convergence (`None`), or another outcome ends it.
    pub(super) fn go_on<E: Executor>(
        &mut self,
        executor: &E,
        work: &mut impl Repeated<E>,
    ) -> Result<Option<Outcome>, Error> {
        let mut recording = E::Recording::default();
        loop {
            let left = u64::from(self.options.iteration_limit).saturating_sub(self.iterations as u64);
            if left == 0 {
                return Ok(Some(Outcome::IterationLimit));
            }
            let wanted = left.min(self.options.check_interval.into());
            let calls = wanted.div_ceil(self.iterations_at_once.into()) as usize;
            executor.repeat(&mut recording, calls, &mut || work.advance())?;
            let scalars = work.space().scalars()?;
            let stopped = self.take_history(&scalars)?;
            let stopped = work.space().any(stopped)?;
            let status = scalars[STATUS as usize] as u32;
            match status {
                0 if stopped => return Ok(Some(Outcome::Stopped)),
                0 => {}
                CONVERGED => return Ok(None),
                LIMIT_REACHED => return Ok(Some(Outcome::IterationLimit)),
                NOT_FINITE => return Ok(Some(Outcome::Breakdown(NO_NUMBER))),
                code => {
                    let reason = work.breakdowns().get((code - FIRST_BREAKDOWN) as usize);
                    return Ok(Some(Outcome::Breakdown(
                        reason.unwrap_or(&"for a reason that the method does not specify"),
                    )));
                }
            }
            if let Some(outcome) = self.limit(work.space())? {
                return Ok(Some(outcome));
            }
        }
    }

    /// Returns the outcome that ends the iteration now, other than convergence and the iteration limit.
    pub(super) fn limit<E: Executor>(&self, space: &Space<E>) -> Result<Option<Outcome>, Error> {
        let Options { stagnation_window, time_limit, .. } = self.options;
        if stagnation_window.is_some_and(|window| self.iterations - self.best.1 >= window as usize) {
            return Ok(Some(Outcome::Stagnated));
        }
        match time_limit {
            Some(limit) => Ok(space.any(self.begin.elapsed() >= limit)?.then_some(Outcome::TimeLimit)),
            None => Ok(None),
        }
    }

    /// Takes the new part of the history, calls the callback, and returns whether it stops the iteration.
    fn take_history(&mut self, scalars: &[f64]) -> Result<bool, Error> {
        let (ring, length) = self.ring;
        let done = scalars[ITERATION as usize] as usize;
        // The same for all iterations since the last check.
        let elapsed = self.begin.elapsed();
        let mut stops = false;
        for iteration in self.iterations..done {
            let norm = scalars[ring as usize + iteration % length as usize];
            stops = self.take(iteration + 1, norm, elapsed, stops)?;
        }
        self.iterations = done;
        Ok(stops)
    }

    /// Takes one norm, calls the callback unless it has already stopped the iteration, and returns whether to stop.
    pub(super) fn take(
        &mut self,
        iteration: usize,
        residual_norm: f64,
        elapsed: Duration,
        stops: bool,
    ) -> Result<bool, Error> {
        self.keep(residual_norm)?;
        if residual_norm < PROGRESS * self.best.0 {
            self.best = (residual_norm, iteration);
        }
        let progress = Progress { iteration, residual_norm, elapsed };
        Ok(stops || self.callback.as_mut().is_some_and(|callback| callback(&progress).is_break()))
    }

    /// Adds a norm to the history.
    pub(super) fn keep(&mut self, residual_norm: f64) -> Result<(), Error> {
        reserve(&mut self.history, 1)?;
        self.history.push(residual_norm);
        Ok(())
    }
}

/// Returns steps for the end of an iteration, which others may follow: they record the norm in slot `norm` in the history,
/// and stop when the iteration must stop.
pub(super) fn check((ring, length): (u32, u32), norm: u32) -> [Step; 4] {
    [
        Step::record(norm, ring, length),
        Step::stop_unless_finite(NOT_FINITE, norm),
        Step::stop_if_at_most(CONVERGED, norm, TOLERANCE),
        Step::stop_if_at_most(LIMIT_REACHED, LIMIT, ITERATION),
    ]
}
