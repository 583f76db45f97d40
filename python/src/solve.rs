//! Systems of equations.

use std::ops::Range;

use host::executor::Executor;
use host::{Error, Plan, Real, Vector};
use pyo3::prelude::*;
use solvers::{BlockCg, Columnwise, MethodName, Operator, Outcome, Solver};

use crate::device::Device;
use crate::failure::Failure;
use crate::numbers::Number;
use crate::preconditioner::{Given, Preconditioning};
use crate::progress::Listener;
use crate::vectors::{Source, Target};

/// The method that solves for all right-hand sides together.
const BLOCK_CG: &str = "block-cg";

/// The options of a solve.
pub struct Request {
    /// `None` for [`BLOCK_CG`].
    method: Option<MethodName>,
    preconditioning: Preconditioning,
    options: solvers::Options,
}

impl Request {
    pub fn new(method: &str, preconditioner: Option<Given>, options: solvers::Options) -> Result<Self, Failure> {
        let preconditioning = Preconditioning::new(preconditioner)?;
        let method = if method == BLOCK_CG { None } else { Some(method.parse()?) };
        // Preconditioners are for single vectors.
        if method.is_none() && !preconditioning.is_nothing() {
            return Err(Failure::value(format!("{BLOCK_CG} takes no preconditioner")));
        }
        Ok(Self { method, preconditioning, options })
    }

    /// Whether all right-hand sides are solved for together.
    pub fn together(&self) -> bool {
        self.method.is_none()
    }
}

/// The result, with the names of the fields of `warp_spmv.Report`.
#[derive(IntoPyObject)]
pub struct Report {
    outcome: String,
    converged: bool,
    interrupted: bool,
    iterations: usize,
    residual_norm: f64,
    right_hand_side_norm: f64,
    history: Vec<f64>,
    restarts: usize,
    seconds: f64,
}

impl Report {
    fn new(report: solvers::Report, interrupted: bool) -> Self {
        Self {
            outcome: report.outcome.to_string(),
            converged: report.outcome == Outcome::Converged,
            interrupted,
            iterations: report.iterations,
            residual_norm: report.residual_norm,
            right_hand_side_norm: report.right_hand_side_norm,
            history: report.history,
            restarts: report.restarts,
            seconds: report.elapsed.as_secs_f64(),
        }
    }
}

/// Right-hand sides and iterates, and the part of each that is used.
struct System<'a, B, X> {
    b: (&'a B, Range<usize>),
    x: (&'a mut X, Range<usize>),
}

/// Solves A x = b, starting from x. Also returns whether Ctrl-C stopped it.
fn attempt<T: Number, E: Executor>(
    executor: &E,
    operator: &mut dyn Operator<T, E>,
    preconditioner: Option<&mut dyn Operator<T, E>>,
    options: solvers::Options,
    system: System<'_, impl Source<T, E>, impl Target<T, E>>,
    listener: &mut Listener,
    solve: impl FnOnce(&mut Solver<'_, T, E>, &Vector<T, E>, &mut Vector<T, E>) -> Result<solvers::Report, Error>,
) -> Result<(solvers::Report, bool), Failure> {
    let System { b: (b, of_b), x: (x, of_x) } = system;
    let b = b.vector(executor, of_b)?;
    let mut iterate = x.begin(executor, of_x.clone())?;
    let mut hear = |progress: &solvers::Progress| listener.hear(progress);
    let solver = Solver::new(executor, operator).options(options).callback(&mut hear);
    let mut solver = match preconditioner {
        Some(preconditioner) => solver.preconditioner(preconditioner),
        None => solver,
    };
    let report = solve(&mut solver, &b, &mut iterate)?;
    let interrupted = listener.finish()?;
    x.put(executor, of_x, &iterate, 0..1)?;
    Ok((report, interrupted))
}

/// Solves A x = b, starting from x, for each column of b in order, until the caller stops it.
pub fn solve<T: Number, D: Device>(
    plan: &mut Plan<T, D>,
    request: &Request,
    columns: usize,
    b: &impl Source<T, D>,
    x: &mut impl Target<T, D>,
    listener: &mut Listener,
) -> Result<Vec<Report>, Failure> {
    let Some(method) = request.method else { return Err(Failure::runtime("block-cg solves for columns together")) };
    let executor = plan.executor().clone();
    request.preconditioning.with(plan, |plan, mut preconditioner| {
        let mut reports = Vec::new();
        for column in 0..columns {
            let part = |length: usize| column * (length / columns)..(column + 1) * (length / columns);
            let (of_b, of_x) = (part(b.length()), part(x.length()));
            let system = System { b: (b, of_b), x: (&mut *x, of_x) };
            let by_method = |solver: &mut Solver<'_, T, D>, b: &_, x: &mut _| method.solve(solver, b, x);
            let preconditioner = preconditioner.as_mut().map(|preconditioner| &mut **preconditioner as _);
            let (report, interrupted) =
                attempt(&executor, plan, preconditioner, request.options, system, listener, by_method)?;
            let stopped = report.outcome == Outcome::Stopped;
            reports.push(Report::new(report, interrupted));
            if stopped {
                break;
            }
        }
        Ok(reports)
    })
}

/// Solves A X = B, starting from X, by block conjugate gradients.
pub fn solve_together<T: Number + Real, D: Device>(
    plan: &mut Plan<T, D>,
    request: &Request,
    columns: usize,
    b: &impl Source<T, D>,
    x: &mut impl Target<T, D>,
    listener: &mut Listener,
) -> Result<Vec<Report>, Failure> {
    let method = BlockCg { columns: u32::try_from(columns).unwrap_or(u32::MAX) };
    let executor = plan.executor().clone();
    let mut operator = Columnwise::new(plan, columns);
    let (of_b, of_x) = (0..b.length(), 0..x.length());
    let system = System { b: (b, of_b), x: (x, of_x) };
    let together = |solver: &mut Solver<'_, T, D>, b: &_, x: &mut _| solver.solve(&method, b, x);
    let (report, interrupted) = attempt(&executor, &mut operator, None, request.options, system, listener, together)?;
    Ok(vec![Report::new(report, interrupted)])
}
