//! Iterative refinement in two precisions.

use std::ops::ControlFlow;
use std::time::Instant;

use host::error::{Error, check_length};
use host::executor::Executor;
use host::memory::{Buffer, reserve};
use host::plan::{Plan, Vector};
use host::real::{Real, Scalar};

use super::drive::{RESTART_GAIN, Solver};
use super::lanczos::SpectralBounds;
use super::method::Method;
use super::operator::{Operator, check_square};
use super::options::Options;
use super::range::{SCRATCH, norm, power_of_two};
use super::report::{Outcome, Progress, Report};
use super::watch::{Callback, NO_NUMBER};
use super::work::Work;
use crate::dense::{Fill, MixedOperands, MixedUpdate, ONE, Scaled, Space, Step, ZERO};

/// The last correction aims at this share of the tolerance.
const AIM: f64 = 0.5;

/// The best factor by which a correction with changed values reduces the residual, as a multiple of the largest change of a
/// value. For finite elements, corrections that aim lower waste iterations, and those that aim higher restart too often.
const OVER_CHANGE: f64 = 16.0;

/// A correction must reduce the residual at least by this factor.
const LEAST_GAIN: f64 = 0.5;

/// Solves A x = b in precision `T` by corrections that any [`Method`] computes in precision `S`, which moves half the
/// bytes: r ← b − A x, A d = r in `S`, x ← x + d, repeatedly (Wilkinson; Higham 2002, §12). It reaches the accuracy of `T`,
/// as long as the method in `S` reduces each residual. Vectors besides b and x: 1 in `T`, and in `S` 2 and the method's.
///
/// The [`Report`] counts the method's iterations. Its history has the norms that the method computes, scaled to the
/// corrected residual; its restarts are the corrections after the first; its work is that of an iteration of the last
/// correction.
///
/// Both precisions may be the same if the corrections use another matrix: [`with_narrow_values`](Self::with_narrow_values).
///
/// ```
/// use host::executor::Cpu;
/// use solvers::{Cg, Options, Outcome, Refinement};
/// use host::{Csr, Plan};
///
/// # fn main() -> Result<(), host::Error> {
/// let cpu = Cpu::new();
/// let matrix = Csr::try_from_triplets(2, 2, &[0, 0, 1, 1], &[0, 1, 0, 1], &[4.0, 1.0, 1.0, 3.0])?;
/// let mut inner = Plan::new(&cpu, matrix.cast::<f32>()?)?;
/// let mut outer = Plan::new(&cpu, matrix)?;
/// let mut x = vec![0.0f64; 2];
/// let options = Options { relative_tolerance: 1e-14, ..Options::default() };
/// let report = Refinement::new(&cpu, &mut outer, &mut inner).options(options).solve(&Cg, &vec![1.0; 2], &mut x)?;
/// assert_eq!(report.outcome, Outcome::Converged);
/// assert!((x[0] - 2.0 / 11.0).abs() < 1e-14);
/// # Ok(())
/// # }
/// ```
pub struct Refinement<'a, T: Scalar, S: Scalar<Wide = T::Wide>, E: Executor> {
    executor: &'a E,
    operator: &'a mut dyn Operator<T, E>,
    inner: &'a mut dyn Operator<S, E>,
    preconditioner: Option<&'a mut dyn Operator<S, E>>,
    inner_tolerance: f64,
    options: Options,
    callback: Option<Callback<'a>>,
}

impl<'a, T: Scalar, E: Executor> Refinement<'a, T, T, E> {
    /// Creates a solver for the A of `plan`, with corrections by the same matrix with [narrow values](host::ValueStorage),
    /// in the same arithmetic. Each correction aims to reduce the residual to 16 times the largest relative change of a
    /// value.
    ///
    /// ```
    /// use host::executor::Cpu;
    /// use host::{Csr, Format, NarrowType, Plan, PlanOptions, ValueStorage};
    /// use solvers::{Cg, Options, Outcome, Refinement};
    ///
    /// # fn main() -> Result<(), host::Error> {
    /// let cpu = Cpu::new();
    /// let matrix = Csr::try_from_triplets(2, 2, &[0, 0, 1, 1], &[0, 1, 0, 1], &[4.1, 1.1, 1.1, 3.1])?;
    /// let mut plan = Plan::new(&cpu, matrix.try_clone()?)?;
    /// let options = PlanOptions { values: ValueStorage::Rounded(NarrowType::Float32), ..PlanOptions::default() };
    /// let mut narrow = Plan::with_options(&cpu, matrix, Format::CSR_TILED, options)?;
    /// let mut x = vec![0.0; 2];
    /// let options = Options { relative_tolerance: 1e-14, ..Options::default() };
    /// let mut solver = Refinement::with_narrow_values(&cpu, &mut plan, &mut narrow).options(options);
    /// assert_eq!(solver.solve(&Cg, &vec![5.2, 4.2], &mut x)?.outcome, Outcome::Converged);
    /// assert!(x.iter().all(|x| f64::abs(x - 1.0) < 1e-13));
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_narrow_values(executor: &'a E, plan: &'a mut Plan<T, E>, narrow: &'a mut Plan<T, E>) -> Self {
        let largest_change = narrow.matrix().largest_change().max(T::Real::UNIT_ROUNDOFF);
        let inner_tolerance = (OVER_CHANGE * largest_change).min(LEAST_GAIN);
        Self { inner_tolerance, ..Self::new(executor, plan, narrow) }
    }
}

impl<'a, T: Scalar, S: Scalar<Wide = T::Wide>, E: Executor> Refinement<'a, T, S, E> {
    /// Creates a solver for an A given in both precisions, with the default options. Each correction aims to reduce the
    /// residual by the square root of the unit roundoff of `S`.
    pub fn new(executor: &'a E, operator: &'a mut dyn Operator<T, E>, inner: &'a mut dyn Operator<S, E>) -> Self {
        Self {
            executor,
            operator,
            inner,
            preconditioner: None,
            inner_tolerance: S::Real::UNIT_ROUNDOFF.sqrt(),
            options: Options::default(),
            callback: None,
        }
    }

    /// Sets a preconditioner for the method: an approximation of the inverse of A, or of the A of the corrections.
    pub fn preconditioner(self, preconditioner: &'a mut dyn Operator<S, E>) -> Self {
        Self { preconditioner: Some(preconditioner), ..self }
    }

    /// Sets the factor by which each correction aims to reduce the residual.
    pub fn inner_tolerance(self, inner_tolerance: f64) -> Self {
        Self { inner_tolerance, ..self }
    }

    /// Sets the options. The limits apply to all corrections together, the stagnation window to each.
    pub fn options(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// Sets a callback, as [`Solver::callback`] does.
    pub fn callback(self, callback: Callback<'a>) -> Self {
        Self { callback: Some(callback), ..self }
    }

    /// Solves A x = b, starting from the given x, as [`Solver::solve`] does.
    ///
    /// # Errors
    /// As for [`Solver::solve`], and when the two operators differ in shape, or the inner tolerance is not between 0 and 1.
    pub fn solve<M: Method<S, E>>(
        &mut self,
        method: &M,
        b: &Vector<T, E>,
        x: &mut Vector<T, E>,
    ) -> Result<Report, Error> {
        let begin = Instant::now();
        let rows = self.operator.rows();
        self.check(b, x)?;
        let mut space = Space::new(self.executor, SCRATCH + 1, 1)?.across(self.operator.ranks())?;
        let square_root = space.program(&[Step::square_root(SCRATCH, SCRATCH)])?;
        let mut residual = self.executor.zeros::<T>(rows)?;
        let (mut scaled, mut correction) = (self.executor.zeros::<S>(rows)?, self.executor.zeros::<S>(rows)?);

        let right_hand_side_norm = norm(&mut space, &square_root, b)?;
        if right_hand_side_norm == 0.0 {
            space.pass(Fill, [ZERO], [], [&mut *x])?;
        }
        let options = self.options;
        let tolerance = options.absolute_tolerance.max(options.relative_tolerance * right_hand_side_norm);
        let mut report = Report {
            outcome: Outcome::Stagnated,
            iterations: 0,
            residual_norm: f64::INFINITY,
            right_hand_side_norm,
            history: Vec::new(),
            restarts: 0,
            work: Work::default(),
            elapsed: begin.elapsed(),
        };
        let (mut ended, mut corrections) = (None, 0usize);
        loop {
            space.pass(Scaled, [ONE], [b], [&mut residual])?;
            self.operator.apply(-T::ONE, x, T::ONE, &mut residual)?;
            let before = report.residual_norm;
            let now = norm(&mut space, &square_root, &residual)?;
            report.residual_norm = now;
            report.elapsed = begin.elapsed();
            if corrections == 0 {
                reserve(&mut report.history, 1)?;
                report.history.push(now);
            }
            let late = match options.time_limit {
                Some(limit) => space.any(report.elapsed >= limit)?,
                None => false,
            };
            let outcome = match ended {
                _ if !(now.is_finite() && right_hand_side_norm.is_finite()) => Some(Outcome::Breakdown(NO_NUMBER)),
                _ if now <= tolerance => Some(Outcome::Converged),
                Some(Outcome::Stopped) => ended,
                _ if report.iterations >= options.iteration_limit as usize => Some(Outcome::IterationLimit),
                _ if late => Some(Outcome::TimeLimit),
                _ if now * RESTART_GAIN > before => ended.or(Some(Outcome::Stagnated)),
                // Whatever ended the method, the residual has decreased.
                _ => None,
            };
            if let Some(outcome) = outcome {
                return Ok(Report { outcome, restarts: corrections.saturating_sub(1), ..report });
            }
            corrections += 1;

            // Scaled to norm 1, so that nothing is too small or too large for the other precision; to less if the inverse
            // of the norm is out of range.
            let unit = now.max(power_of_two(-1000));
            let operands = MixedOperands { alpha: 1.0 / unit, x: &residual, beta: 0.0, y: &mut scaled };
            self.executor.run::<MixedUpdate<_, _>>(operands)?;
            space.pass(Fill, [ZERO], [], [&mut correction])?;
            let inner = self.correct(method, (&scaled, &mut correction), (now, unit, tolerance), &report, begin)?;
            report.iterations += inner.iterations;
            report.work = inner.work;
            let corrected = inner.history.get(1..).unwrap_or_default();
            reserve(&mut report.history, corrected.len())?;
            report.history.extend(corrected.iter().map(|norm| norm * unit));
            ended = (inner.outcome != Outcome::Converged).then_some(inner.outcome);
            if inner.residual_norm.is_finite() {
                self.executor.run::<MixedUpdate<_, _>>(MixedOperands {
                    alpha: unit,
                    x: &correction,
                    beta: 1.0,
                    y: &mut *x,
                })?;
            }
        }
    }

    /// [`SpectralBounds::estimate`] for the matrix of the corrections with the preconditioner.
    pub(super) fn estimate_spectrum(&mut self, steps: usize) -> Result<SpectralBounds, Error> {
        let preconditioner = self.preconditioner.as_mut().map(|preconditioner| &mut **preconditioner as _);
        SpectralBounds::estimate(self.executor, &mut *self.inner, preconditioner, steps)
    }

    fn check(&self, b: &Vector<T, E>, x: &Vector<T, E>) -> Result<(), Error> {
        self.options.check()?;
        // Written so that a NaN is rejected.
        if !(self.inner_tolerance > 0.0 && self.inner_tolerance < 1.0) {
            let value = self.inner_tolerance.to_string();
            return Err(Error::Setting { what: "the inner tolerance", value, expected: "more than 0 and less than 1" });
        }
        let rows = check_square(self.operator, None)?;
        check_length("x of the inner operator", self.inner.columns(), rows)?;
        check_length("y of the inner operator", self.inner.rows(), rows)?;
        check_length("b", b.len(), rows)?;
        check_length("x", x.len(), rows)
    }

    /// Solves A d = r for the correction d, where r is the residual divided by `unit`.
    fn correct<M: Method<S, E>>(
        &mut self,
        method: &M,
        (scaled, correction): (&Vector<S, E>, &mut Vector<S, E>),
        (residual_norm, unit, tolerance): (f64, f64, f64),
        report: &Report,
        begin: Instant,
    ) -> Result<Report, Error> {
        let options = Options {
            relative_tolerance: 0.0,
            absolute_tolerance: self.inner_tolerance.max(AIM * tolerance / residual_norm) * (residual_norm / unit),
            iteration_limit: self.options.iteration_limit - report.iterations as u32,
            time_limit: self.options.time_limit.map(|limit| limit.saturating_sub(begin.elapsed())),
            ..self.options
        };
        let callback = &mut self.callback;
        let mut tell = |progress: &Progress| match callback {
            Some(callback) => callback(&Progress {
                iteration: report.iterations + progress.iteration,
                residual_norm: progress.residual_norm * unit,
                elapsed: begin.elapsed(),
            }),
            None => ControlFlow::Continue(()),
        };
        let solver = Solver::new(self.executor, &mut *self.inner).options(options).callback(&mut tell);
        match &mut self.preconditioner {
            Some(preconditioner) => solver.preconditioner(&mut **preconditioner).solve(method, scaled, correction),
            None => { solver }.solve(method, scaled, correction),
        }
    }
}
