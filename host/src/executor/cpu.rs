//! All cores of the host, through rayon.

use super::{Executor, dense_on_host, host_memory};
use crate::dense;
use crate::error::Error;
use crate::format::{Csr, FillLimit, Format, Matrix};
use crate::memory::{Element, HostMemory};
use crate::real::Real;
use crate::spmv::{
    Device, MultivectorOperands, Operands, Tuning, Workspace, multiply_multivector_on_cpu, multiply_on_cpu,
    multiply_transposed_on_cpu,
};

/// The executor that runs on rayon's threads: the pool it is called from, or the global one. Its results do
/// not depend on how many they are.
pub struct Cpu {
    device: Device,
}

impl Cpu {
    /// The executor; there is nothing to set.
    pub fn new() -> Self {
        let threads = rayon::current_num_threads();
        let name = format!("{threads} thread{}", if threads == 1 { "" } else { "s" });
        let multiprocessors = threads as u32;
        Self {
            device: Device {
                name,
                cache_bytes: cache_bytes(),
                multiprocessors,
                threads_per_multiprocessor: 1,
                shared_bytes: None,
                tuning: Tuning::default(),
            },
        }
    }
}

impl Default for Cpu {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: arrays are vectors, moved and cloned; matrices are converted by their own methods.
unsafe impl Executor for Cpu {
    host_memory!();
    dense_on_host!(Plain);

    fn multiply<T: Real>(
        &self,
        matrix: &Matrix<T>,
        format: Format,
        operands: Operands<'_, T, HostMemory>,
        _workspace: &mut Workspace<T, HostMemory>,
    ) -> Result<(), Error> {
        multiply_on_cpu(matrix, format, operands)
    }

    fn multiply_multivector<T: Real>(
        &self,
        matrix: &Matrix<T>,
        format: Format,
        operands: MultivectorOperands<'_, T, HostMemory>,
        _workspace: &mut Workspace<T, HostMemory>,
    ) -> Result<(), Error> {
        multiply_multivector_on_cpu(matrix, format, operands)
    }

    fn multiply_transposed<T: Real>(
        &self,
        matrix: &Matrix<T>,
        format: Format,
        operands: Operands<'_, T, HostMemory>,
    ) -> Result<(), Error> {
        multiply_transposed_on_cpu(matrix, format, operands)
    }

    fn convert<T: Real>(&self, matrix: Csr<T>, format: Format, limit: FillLimit) -> Result<Matrix<T>, Error> {
        Matrix::try_from_csr(matrix, format, limit)
    }

    fn to_csr<T: Real>(&self, matrix: Matrix<T>) -> Result<Csr<T>, Error> {
        Ok(matrix.into_csr())
    }
}

/// Bytes of the largest cache of the first core, as Linux tells them.
fn cache_bytes() -> Option<u64> {
    let sizes = (0..8).filter_map(|level| {
        let text = std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{level}/size")).ok()?;
        text.trim().strip_suffix('K')?.parse::<u64>().ok()
    });
    sizes.max().map(|kibibytes| kibibytes * 1024)
}
