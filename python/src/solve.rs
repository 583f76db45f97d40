//! Systems of equations.

use host::executor::Executor;
use host::{Error, Plan, Real, Vector};
use pyo3::prelude::*;
use solvers::preconditioner::{Preconditioner, PreconditionerName};
use solvers::{BlockCg, Columnwise, MethodName, Operator, Outcome, Solver};

use crate::failure::Failure;
use crate::numbers::Number;
use crate::options::Stopping;
use crate::plan::csr_of;
use crate::progress::Listener;

/// The method that solves for all right-hand sides together.
pub const BLOCK_CG: &str = "block-cg";

/// How a system is to be solved.
pub struct Request {
    preconditioner: Option<PreconditionerName>,
    options: solvers::Options,
}

impl Request {
    pub fn new(preconditioner: Option<&str>, stopping: Stopping, on_gpu: bool) -> Result<Self, Failure> {
        let preconditioner = preconditioner.map(str::parse).transpose()?;
        Ok(Self { preconditioner, options: stopping.options(on_gpu)? })
    }
}

/// What came of it, by the names of the fields of `warp_spmv.Report`.
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

/// The preconditioner of this name for a plan's matrix.
pub fn preconditioner<T: Number, E: Executor>(
    plan: &Plan<T, E>,
    name: Option<PreconditionerName>,
) -> Result<Option<Preconditioner<T, E>>, Failure> {
    let make = |name| Ok(Preconditioner::new(plan.executor(), &csr_of(plan)?, name)?);
    name.map(make).transpose()
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

/// Solves A x = b from x on. Also says whether Ctrl-C ended it.
fn attempt<T: Number, E: Executor>(
    executor: &E,
    operator: &mut dyn Operator<T, E>,
    preconditioner: Option<&mut Preconditioner<T, E>>,
    options: solvers::Options,
    (b, x): (&[T], &mut [T]),
    listener: &mut Listener,
    solve: impl FnOnce(&mut Solver<'_, T, E>, &Vector<T, E>, &mut Vector<T, E>) -> Result<solvers::Report, Error>,
) -> Result<(solvers::Report, bool), Failure> {
    let b = executor.upload(host::memory::copy(b)?)?;
    let mut iterate = executor.upload(host::memory::copy(x)?)?;
    let mut hear = |progress: &solvers::Progress| listener.hear(progress);
    let solver = Solver::new(executor, operator).options(options).callback(&mut hear);
    let mut solver = match preconditioner {
        Some(preconditioner) => solver.preconditioner(preconditioner),
        None => solver,
    };
    let report = solve(&mut solver, &b, &mut iterate)?;
    let interrupted = listener.finish()?;
    x.copy_from_slice(&executor.download(&iterate)?);
    Ok((report, interrupted))
}

/// Solves A x = b from x on for each column of b, one after the other, until the caller stops it.
pub fn solve<T: Number, E: Executor>(
    plan: &mut Plan<T, E>,
    (method, request): (MethodName, &Request),
    columns: usize,
    b: &[T],
    x: &mut [T],
    listener: &mut Listener,
) -> Result<Vec<Report>, Failure> {
    let executor = plan.executor().clone();
    let mut preconditioner = preconditioner(plan, request.preconditioner)?;
    let mut reports = Vec::new();
    for column in 0..columns {
        let part = |length: usize| column * (length / columns)..(column + 1) * (length / columns);
        let x_part = part(x.len());
        let system = (&b[part(b.len())], &mut x[x_part]);
        let by_method = |solver: &mut Solver<'_, T, E>, b: &_, x: &mut _| method.solve(solver, b, x);
        let (report, interrupted) =
            attempt(&executor, plan, preconditioner.as_mut(), request.options, system, listener, by_method)?;
        let stopped = report.outcome == Outcome::Stopped;
        reports.push(Report::new(report, interrupted));
        if stopped {
            break;
        }
    }
    Ok(reports)
}

/// Solves A X = B from X on by block conjugate gradients.
pub fn solve_together<T: Number + Real, E: Executor>(
    plan: &mut Plan<T, E>,
    request: &Request,
    columns: usize,
    b: &[T],
    x: &mut [T],
    listener: &mut Listener,
) -> Result<Vec<Report>, Failure> {
    // Preconditioners are for one vector.
    if request.preconditioner.is_some() {
        return Err(Failure::value(format!("{BLOCK_CG} takes no preconditioner")));
    }
    let method = BlockCg { columns: u32::try_from(columns).unwrap_or(u32::MAX) };
    let executor = plan.executor().clone();
    let mut operator = Columnwise::new(plan, columns);
    let together = |solver: &mut Solver<'_, T, E>, b: &_, x: &mut _| solver.solve(&method, b, x);
    let (report, interrupted) = attempt(&executor, &mut operator, None, request.options, (b, x), listener, together)?;
    Ok(vec![Report::new(report, interrupted)])
}
