//! Eigenvalues of symmetric and Hermitian matrices.

use host::Plan;
use host::executor::Executor;
use pyo3::prelude::*;
use solvers::dense::Multicolumn;
use solvers::preconditioner::PreconditionerName;
use solvers::{Lobpcg, Operator, Outcome, SpectralBounds, SpectrumEnd};

use crate::failure::Failure;
use crate::numbers::Number;
use crate::options::Stopping;
use crate::progress::Listener;
use crate::solve::preconditioner;

/// Which eigenpairs, and how.
pub struct Request {
    method: Lobpcg,
    preconditioner: Option<PreconditionerName>,
}

impl Request {
    pub fn new(
        smallest: bool,
        preconditioner: Option<&str>,
        stopping: Stopping,
        on_gpu: bool,
    ) -> Result<Self, Failure> {
        let end = if smallest { SpectrumEnd::Smallest } else { SpectrumEnd::Largest };
        let preconditioner = preconditioner.map(str::parse).transpose()?;
        Ok(Self { method: Lobpcg { end, options: stopping.options(on_gpu)? }, preconditioner })
    }
}

/// What came of it, by the names of the fields of `warp_spmv.EigenReport`.
#[derive(IntoPyObject)]
pub struct EigenReport {
    outcome: String,
    converged: bool,
    interrupted: bool,
    iterations: usize,
    eigenvalues: Vec<f64>,
    residual_norms: Vec<f64>,
    history: Vec<f64>,
    seconds: f64,
}

/// Eigenpairs from the columns of X on.
pub fn eigenpairs<T: Number, E: Executor>(
    plan: &mut Plan<T, E>,
    request: &Request,
    columns: usize,
    x: &mut [T],
    listener: &mut Listener,
) -> Result<EigenReport, Failure> {
    let executor = plan.executor().clone();
    let mut preconditioner = preconditioner(plan, request.preconditioner)?;
    let array = executor.upload(host::memory::copy(x)?)?;
    let mut vectors = Multicolumn::from_array(array, plan.matrix().columns(), columns)?;
    let mut hear = |progress: &solvers::Progress| listener.hear(progress);
    let preconditioner = preconditioner.as_mut().map(|preconditioner| preconditioner as &mut dyn Operator<T, E>);
    let report = request.method.solve(&executor, plan, preconditioner, &mut vectors, Some(&mut hear))?;
    let interrupted = listener.finish()?;
    x.copy_from_slice(&executor.download(vectors.array())?);
    Ok(EigenReport {
        outcome: report.outcome.to_string(),
        converged: report.outcome == Outcome::Converged,
        interrupted,
        iterations: report.iterations,
        eigenvalues: report.eigenvalues,
        residual_norms: report.residual_norms,
        history: report.history,
        seconds: report.elapsed.as_secs_f64(),
    })
}

/// About where the spectrum begins and ends.
pub fn bounds<T: Number, E: Executor>(plan: &mut Plan<T, E>, steps: usize) -> Result<(f64, f64), Failure> {
    let executor = plan.executor().clone();
    let SpectralBounds { smallest, largest } = SpectralBounds::estimate(&executor, plan, None, steps)?;
    Ok((smallest, largest))
}
