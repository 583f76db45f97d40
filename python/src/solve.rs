//! Systems of equations.

use host::Plan;
use host::executor::Executor;
use pyo3::prelude::*;
use solvers::preconditioner::{Preconditioner, PreconditionerName};
use solvers::{MethodName, Outcome, Solver};

use crate::failure::Failure;
use crate::numbers::Number;
use crate::options::Stopping;
use crate::plan::csr_of;
use crate::progress::Listener;

/// How a system is to be solved.
pub struct Request {
    method: MethodName,
    preconditioner: Option<PreconditionerName>,
    options: solvers::Options,
}

impl Request {
    pub fn new(method: &str, preconditioner: Option<&str>, stopping: Stopping, on_gpu: bool) -> Result<Self, Failure> {
        let preconditioner = preconditioner.map(str::parse).transpose()?;
        Ok(Self { method: method.parse()?, preconditioner, options: stopping.options(on_gpu)? })
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

/// Solves A x = b from x on.
pub fn solve<T: Number, E: Executor>(
    plan: &mut Plan<T, E>,
    request: &Request,
    b: &[T],
    x: &mut [T],
    listener: &mut Listener,
) -> Result<Report, Failure> {
    let executor = plan.executor().clone();
    let mut preconditioner = preconditioner(plan, request.preconditioner)?;
    let b = executor.upload(host::memory::copy(b)?)?;
    let mut iterate = executor.upload(host::memory::copy(x)?)?;
    let mut hear = |progress: &solvers::Progress| listener.hear(progress);
    let solver = Solver::new(&executor, plan).options(request.options).callback(&mut hear);
    let mut solver = match &mut preconditioner {
        Some(preconditioner) => solver.preconditioner(preconditioner),
        None => solver,
    };
    let report = request.method.solve(&mut solver, &b, &mut iterate)?;
    let interrupted = listener.finish()?;
    x.copy_from_slice(&executor.download(&iterate)?);
    Ok(Report {
        outcome: report.outcome.to_string(),
        converged: report.outcome == Outcome::Converged,
        interrupted,
        iterations: report.iterations,
        residual_norm: report.residual_norm,
        right_hand_side_norm: report.right_hand_side_norm,
        history: report.history,
        restarts: report.restarts,
        seconds: report.elapsed.as_secs_f64(),
    })
}
