//! What everything that iterates shares: limits, history, callback.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use host::error::Error;
use host::executor::Executor;
use host::memory::reserve;

use super::method::{CONVERGED, FIRST_BREAKDOWN, LIMIT, LIMIT_REACHED, NOT_FINITE, TOLERANCE};
use super::options::Options;
use super::report::{Outcome, Progress};
use crate::dense::{ITERATION, STATUS, Space, Step};

/// The share of the smallest norm that a new one must be below to be progress.
const PROGRESS: f64 = 0.999;

/// Why a norm that is infinite or NaN ends everything.
pub(super) const NO_NUMBER: &str = "a number that is not finite: in b, x or A, or because of an overflow";

/// Says after an iteration whether to go on.
pub type Callback<'a> = &'a mut dyn FnMut(&Progress) -> ControlFlow<()>;

/// Iterations between two looks of the host at most: the history between them is kept on the device.
const MOST_BETWEEN_LOOKS: u32 = 4096;

/// Something that iterates in the memory of an executor.
pub(super) trait Repeated<E: Executor> {
    /// Where its scalars are.
    fn space(&self) -> &Space<E>;

    /// Why it can break down, in the order of [`breakdown_code`](super::breakdown_code).
    fn breakdowns(&self) -> &'static [&'static str];

    /// Queues the next iterations, always in the same way.
    fn advance(&mut self) -> Result<(), Error>;
}

/// What the host sees of the iterations.
pub(super) struct Watch<'a> {
    pub(super) options: Options,
    callback: Option<Callback<'a>>,
    pub(super) begin: Instant,
    /// Where the history begins among the slots, and its length.
    pub(super) ring: (u32, u32),
    /// Iterations that one call of [`Repeated::advance`] does.
    pub(super) iterations_at_once: u32,
    pub(super) history: Vec<f64>,
    pub(super) iterations: usize,
    /// The smallest norm that was progress, and its iteration.
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

    /// Length of the history on the device.
    pub(super) fn ring_length(options: &Options, iterations_at_once: u32) -> u32 {
        options.check_interval.min(MOST_BETWEEN_LOOKS).saturating_add(iterations_at_once)
    }

    /// Goes on until it has converged, as far as it knows itself (`None`), or something else ends it.
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
                        reason.unwrap_or(&"for a reason that the method does not name"),
                    )));
                }
            }
            if let Some(outcome) = self.limit(work.space())? {
                return Ok(Some(outcome));
            }
        }
    }

    /// What ends it now though it has neither converged nor come to the iteration limit.
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

    /// Takes what is new of the history, tells the callback, and says whether that wants to stop.
    fn take_history(&mut self, scalars: &[f64]) -> Result<bool, Error> {
        let (ring, length) = self.ring;
        let done = scalars[ITERATION as usize] as usize;
        // The same for all iterations since the last look.
        let elapsed = self.begin.elapsed();
        let mut stops = false;
        for iteration in self.iterations..done {
            let norm = scalars[ring as usize + iteration % length as usize];
            stops = self.take(iteration + 1, norm, elapsed, stops)?;
        }
        self.iterations = done;
        Ok(stops)
    }

    /// Takes one norm, tells the callback unless it wants to stop already, and says whether it wants to stop.
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

/// The steps with which an iteration ends, or goes on after: they keep the norm in this slot for the history, and stop
/// where that is to stop.
pub(super) fn check((ring, length): (u32, u32), norm: u32) -> [Step; 4] {
    [
        Step::record(norm, ring, length),
        Step::stop_unless_finite(NOT_FINITE, norm),
        Step::stop_if_at_most(CONVERGED, norm, TOLERANCE),
        Step::stop_if_at_most(LIMIT_REACHED, LIMIT, ITERATION),
    ]
}
