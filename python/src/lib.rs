//! The compiled part of the Python package: `warp_spmv._native`. It takes arrays in the library's form, contiguous and
//! of one type, and releases the interpreter while it works. The public interface, with conversions and documentation,
//! is in `warp_spmv/*.py`.

mod arrays;
mod csr;
mod device;
mod dlpack;
mod eigen;
mod failure;
mod gpu;
mod gpu_solvers;
mod numbers;
mod options;
mod pagerank;
mod plan;
mod preconditioner;
mod progress;
mod scope;
mod shared;
mod solve;
mod vectors;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::csr::Csr;
    #[pymodule_export]
    use super::device::why_no_gpu;
    #[pymodule_export]
    use super::dlpack::dlpack_array;
    #[pymodule_export]
    use super::failure::DeviceError;
    #[pymodule_export]
    use super::gpu::{gpu_multiply, gpu_plan, gpu_update_values};
    #[pymodule_export]
    use super::gpu_solvers::{gpu_eigenpairs, gpu_pagerank, gpu_precondition, gpu_solve};
    #[pymodule_export]
    use super::options::formats;
    #[pymodule_export]
    use super::plan::Plan;
    #[pymodule_export]
    use super::preconditioner::Preconditioner;

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        scope::remember_process();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
