//! Solvers for vectors in arrays on a GPU owned by other libraries. `_gpu.py` has checked their types, shapes and
//! devices.

#[cfg(feature = "cuda")]
pub use on_cuda::{gpu_eigenpairs, gpu_pagerank, gpu_precondition, gpu_solve};
#[cfg(not(feature = "cuda"))]
pub use without_cuda::{gpu_eigenpairs, gpu_pagerank, gpu_precondition, gpu_solve};

#[cfg(feature = "cuda")]
mod on_cuda {
    use host::Scalar;
    use host::executor::{Cuda, Executor};
    use pyo3::prelude::*;
    use solvers::Operator;

    use crate::csr::Csr;
    use crate::device::gpu;
    use crate::eigen::{self, EigenReport};
    use crate::failure::Failure;
    use crate::gpu::{GpuArray, Streams, not_on_gpu};
    use crate::numbers::{Number, with_real_type, with_type};
    use crate::options::Stopping;
    use crate::pagerank::{self, PagerankReport};
    use crate::plan::{AnyPlan, Plan};
    use crate::preconditioner::{AnyInverse, Given, Preconditioner};
    use crate::progress::Listener;
    use crate::scope::released;
    use crate::solve::{self, Report, Request};
    use crate::vectors::on_gpu::{self, Array};

    /// The first iterates, zero by default, the array for the last ones, and the number of columns.
    #[derive(FromPyObject)]
    pub struct Iterates(Option<GpuArray>, GpuArray, usize);

    impl Iterates {
        /// # Safety
        /// As for [`Array::new`].
        unsafe fn of<T: Number>(&self) -> on_gpu::Iterates<T> {
            // SAFETY: the caller's promise.
            unsafe { on_gpu::Iterates { begin: self.0.map(|begin| Array::new(begin)), end: Array::new(self.1) } }
        }
    }

    /// The plan, if it is on a GPU, and its executor.
    fn on_gpu<T: Number>(plan: &mut AnyPlan<T>) -> Result<(Cuda, &mut host::Plan<T, Cuda>), Failure> {
        match plan {
            AnyPlan::Cuda(plan) => Ok((plan.executor().clone(), plan)),
            AnyPlan::Cpu(_) => Err(not_on_gpu()),
        }
    }

    /// Solves A x = b for each column of b, or for all columns together, in the order of streams.
    #[pyfunction]
    #[allow(clippy::too_many_arguments, reason = "Python's are named")]
    pub fn gpu_solve(
        py: Python<'_>,
        plan: &Bound<'_, Plan>,
        b: GpuArray,
        x: Iterates,
        method: &str,
        preconditioner: Option<Given>,
        stopping: Stopping,
        callback: Option<Py<PyAny>>,
        streams: Streams,
    ) -> Result<Vec<Report>, Failure> {
        let shared = plan.get();
        let request = Request::new(method, preconditioner, shared.options(&stopping)?)?;
        let mut listener = Listener::new(callback);
        if request.together() {
            return with_real_type!(shared.number_type(), "block-cg", T => released(py, || shared.solving::<T, _>(|plan| {
                let (gpu, plan) = on_gpu(plan)?;
                // SAFETY: Python's objects, which the caller holds, keep arrays and streams alive during the call; later
                // frees and changes of the arrays are queued on the streams. The last iterates are in an array of their own.
                unsafe {
                    let (b, mut iterates) = (Array::<T>::new(b), x.of::<T>());
                    let solve = || solve::solve_together(plan, &request, x.2, &b, &mut iterates, &mut listener);
                    streams.order(&gpu, solve)
                }
            })));
        }
        with_type!(shared.number_type(), T => released(py, || shared.solving::<T, _>(|plan| {
            let (gpu, plan) = on_gpu(plan)?;
            // SAFETY: as above.
            unsafe {
                let (b, mut iterates) = (Array::<T>::new(b), x.of::<T>());
                streams.order(&gpu, || solve::solve(plan, &request, x.2, &b, &mut iterates, &mut listener))
            }
        })))
    }

    /// Computes eigenpairs at one end of the spectrum, with ascending eigenvalues, in the order of streams.
    #[pyfunction]
    #[allow(clippy::too_many_arguments, reason = "Python's are named")]
    pub fn gpu_eigenpairs(
        py: Python<'_>,
        plan: &Bound<'_, Plan>,
        x: Iterates,
        smallest: bool,
        preconditioner: Option<Given>,
        stopping: Stopping,
        callback: Option<Py<PyAny>>,
        streams: Streams,
    ) -> Result<EigenReport, Failure> {
        let shared = plan.get();
        let request = eigen::Request::new(smallest, preconditioner, shared.options(&stopping)?)?;
        let mut listener = Listener::new(callback);
        with_type!(shared.number_type(), T => released(py, || shared.solving::<T, _>(|plan| {
            let (gpu, plan) = on_gpu(plan)?;
            // SAFETY: as for systems.
            unsafe {
                let mut iterates = x.of::<T>();
                streams.order(&gpu, || eigen::eigenpairs(plan, &request, x.2, &mut iterates, &mut listener))
            }
        })))
    }

    /// Ranks the vertices of a graph on a GPU, into an array there. Weights, if given, are read by the host.
    #[pyfunction]
    #[allow(clippy::too_many_arguments, reason = "Python's are named")]
    pub fn gpu_pagerank(
        py: Python<'_>,
        number: u32,
        graph: &Bound<'_, Csr>,
        damping: f64,
        personalization: Option<GpuArray>,
        ranks: GpuArray,
        stopping: Stopping,
        callback: Option<Py<PyAny>>,
        streams: Streams,
    ) -> Result<PagerankReport, Failure> {
        let mut graph = graph.get().take()?;
        let request = pagerank::Request { damping, stopping };
        let mut listener = Listener::new(callback);
        with_real_type!(graph.number_type(), "pagerank", T => released(py, || {
            let Some(graph) = T::of(&mut graph) else { return Err(Failure::runtime("the graph has other numbers")) };
            let gpu = gpu(number)?;
            // SAFETY: as for systems.
            unsafe {
                let mut ranks = Array::<T>::new(ranks).whole(&gpu)?;
                streams.order(&gpu, || {
                    let weights = personalization.map(|weights| gpu.download(&Array::<T>::new(weights).whole(&gpu)?));
                    let weights = weights.transpose()?;
                    let (weights, take) = (weights.as_deref(), |found: &_| gpu.copy(found, &mut ranks));
                    let ((), report) = pagerank::rank_on(&gpu, true, graph, &request, weights, &mut listener, take)?;
                    Ok(report)
                })
            }
        }))
    }

    /// y ← α M x + β y for arrays on the preconditioner's GPU, in the order of streams.
    #[pyfunction]
    #[allow(clippy::too_many_arguments, reason = "one call takes less time than several")]
    pub fn gpu_precondition(
        py: Python<'_>,
        preconditioner: &Bound<'_, Preconditioner>,
        alpha: (f64, f64),
        x: GpuArray,
        beta: (f64, f64),
        y: GpuArray,
        streams: Streams,
    ) -> Result<(), Failure> {
        let shared = preconditioner.get();
        with_type!(shared.number_type(), T => released(py, || shared.with::<T, _>(|inverse| {
            let AnyInverse::Cuda(inverse) = inverse else { return Err(not_on_gpu()) };
            let gpu = inverse.executor().clone();
            let [alpha, beta] = [alpha, beta].map(|(re, im)| T::from_parts(re, im));
            // SAFETY: as for systems; x and y do not overlap.
            unsafe {
                let (x, mut y) = (Array::<T>::new(x).whole(&gpu)?, Array::<T>::new(y).whole(&gpu)?);
                streams.order(&gpu, || Ok(inverse.apply(alpha, &x, beta, &mut y)?))
            }
        })))
    }
}

#[cfg(not(feature = "cuda"))]
mod without_cuda {
    use pyo3::prelude::*;
    use pyo3::types::PyTuple;

    use crate::failure::Failure;
    use crate::gpu::not_on_gpu;

    macro_rules! missing {
        ($($name:ident,)*) => {
            $(#[pyfunction(signature = (*_arguments))]
            pub fn $name(_arguments: &Bound<'_, PyTuple>) -> Result<(), Failure> {
                Err(not_on_gpu())
            })*
        };
    }
    missing! {
        gpu_eigenpairs,
        gpu_pagerank,
        gpu_precondition,
        gpu_solve,
    }
}
