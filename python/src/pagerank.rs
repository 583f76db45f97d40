//! PageRank.

use host::executor::Executor;
use host::select::{Measure, Selection};
use host::{Csr, Error, Real, Scalar, Vector};
use numpy::PyArray1;
use pyo3::prelude::*;
use solvers::{Outcome, Pagerank};

use crate::csr::Matrices;
use crate::device::AnyExecutor;
use crate::failure::Failure;
use crate::numbers::{Number, Typed, with_real_type};
use crate::options::Stopping;
use crate::progress::Listener;
use crate::scope::released;

/// The result, with the names of the fields of `warp_spmv.PagerankReport`.
#[derive(IntoPyObject)]
pub struct PagerankReport {
    outcome: String,
    converged: bool,
    interrupted: bool,
    iterations: usize,
    history: Vec<f64>,
    seconds: f64,
}

/// The options of a ranking.
pub struct Request {
    pub damping: f64,
    pub stopping: Stopping,
}

/// Ranks the vertices of a graph.
pub fn rank<'py>(
    py: Python<'py>,
    device: &str,
    mut graph: Typed<Matrices>,
    request: &Request,
    personalization: Option<&[f64]>,
    listener: &mut Listener,
) -> Result<(Bound<'py, PyAny>, PagerankReport), Failure> {
    with_real_type!(graph.number_type(), "pagerank", T => {
        let (ranks, report) = released(py, || {
            let Some(graph) = T::of(&mut graph) else { return Err(Failure::runtime("the graph has other numbers")) };
            let weights = personalization
                .map(|weights| host::memory::collect(weights.iter().map(|&weight| T::from_f64(weight))));
            let weights = weights.transpose()?;
            let weights = weights.as_deref();
            match AnyExecutor::new(device)? {
                AnyExecutor::Cpu(executor) => rank_on(&executor, false, graph, request, weights, listener, |ranks| {
                    executor.download(ranks)
                }),
                #[cfg(feature = "cuda")]
                AnyExecutor::Cuda(executor) => rank_on(&executor, true, graph, request, weights, listener, |ranks| {
                    executor.download(ranks)
                }),
            }
        })?;
        Ok((PyArray1::from_vec(py, ranks).into_any(), report))
    })
}

/// As [`rank`], with the ranks passed to `take`.
pub fn rank_on<T: Real, E: Executor, R>(
    executor: &E,
    on_gpu: bool,
    graph: &Csr<T>,
    request: &Request,
    weights: Option<&[T]>,
    listener: &mut Listener,
    take: impl FnOnce(&Vector<T, E>) -> Result<R, Error>,
) -> Result<(R, PagerankReport), Failure> {
    let selection = Selection { measure: Measure::Never, store: None, ..Selection::default() };
    let mut pagerank = Pagerank::automatic(executor, graph, &selection)?;
    let mut hear = |progress: &solvers::Progress| listener.hear(progress);
    let options = request.stopping.options(on_gpu)?;
    let (ranks, report) = pagerank.rank(request.damping, weights, &options, Some(&mut hear))?;
    let interrupted = listener.finish()?;
    let report = PagerankReport {
        outcome: report.outcome.to_string(),
        converged: report.outcome == Outcome::Converged,
        interrupted,
        iterations: report.iterations,
        history: report.history,
        seconds: report.elapsed.as_secs_f64(),
    };
    Ok((take(&ranks)?, report))
}
