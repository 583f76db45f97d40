//! Eigenvalues of symmetric and Hermitian matrices.

use host::Plan;
use host::executor::Executor;
use pyo3::prelude::*;
use solvers::dense::Multicolumn;
use solvers::{Lobpcg, Outcome, SpectralBounds, SpectrumEnd};

use crate::device::Device;
use crate::failure::Failure;
use crate::numbers::Number;
use crate::preconditioner::{Given, Preconditioning};
use crate::progress::Listener;
use crate::vectors::Target;

/// The requested eigenpairs, and the method.
pub struct Request {
    method: Lobpcg,
    preconditioning: Preconditioning,
}

impl Request {
    pub fn new(smallest: bool, preconditioner: Option<Given>, options: solvers::Options) -> Result<Self, Failure> {
        let end = if smallest { SpectrumEnd::Smallest } else { SpectrumEnd::Largest };
        Ok(Self { method: Lobpcg { end, options }, preconditioning: Preconditioning::new(preconditioner)? })
    }
}

/// The result, with the names of the fields of `warp_spmv.EigenReport`.
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

/// Computes eigenpairs, starting from the columns of X, with ascending eigenvalues.
pub fn eigenpairs<T: Number, D: Device>(
    plan: &mut Plan<T, D>,
    request: &Request,
    columns: usize,
    x: &mut impl Target<T, D>,
    listener: &mut Listener,
) -> Result<EigenReport, Failure> {
    let executor = plan.executor().clone();
    let rows = plan.matrix().columns();
    request.preconditioning.with(plan, |plan, preconditioner| {
        let mut vectors = Multicolumn::from_array(x.begin(&executor, 0..x.length())?, rows, columns)?;
        let mut hear = |progress: &solvers::Progress| listener.hear(progress);
        let report = request.method.solve(&executor, plan, preconditioner, &mut vectors, Some(&mut hear))?;
        let interrupted = listener.finish()?;
        let mut order: Vec<_> = (0..report.eigenvalues.len()).collect();
        order.sort_by(|&one, &other| report.eigenvalues[one].total_cmp(&report.eigenvalues[other]));
        x.put(&executor, 0..x.length(), vectors.array(), order.iter().copied())?;
        let in_order = |numbers: &[f64]| order.iter().map(|&place| numbers[place]).collect();
        Ok(EigenReport {
            outcome: report.outcome.to_string(),
            converged: report.outcome == Outcome::Converged,
            interrupted,
            iterations: report.iterations,
            eigenvalues: in_order(&report.eigenvalues),
            residual_norms: in_order(&report.residual_norms),
            history: report.history,
            seconds: report.elapsed.as_secs_f64(),
        })
    })
}

/// Estimates both ends of the spectrum.
pub fn bounds<T: Number, E: Executor>(plan: &mut Plan<T, E>, steps: usize) -> Result<(f64, f64), Failure> {
    let executor = plan.executor().clone();
    let SpectralBounds { smallest, largest } = SpectralBounds::estimate(&executor, plan, None, steps)?;
    Ok((smallest, largest))
}
