//! 64-bit offsets for kernels that take several arrays of offsets, some of them wide.

use cuda_std::Global;
use gpu_kernels::convert::rows::RowLengths;

use super::primitives::{Array, Scan, launch};
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::Offsets;
use crate::memory::Buffer;

/// 64-bit offsets: a matrix's own, or a copy of its 32-bit offsets.
pub enum WideOffsets<'a, K: KernelExecutor> {
    /// The matrix's own.
    Own(&'a Array<K, u64>),
    /// A copy.
    Copy(Array<K, u64>),
}

impl<K: KernelExecutor> WideOffsets<'_, K> {
    /// Returns the offsets as a kernel reads them.
    pub fn global(&self) -> Global<u64> {
        match self {
            Self::Own(offsets) => offsets.global(),
            Self::Copy(offsets) => offsets.global(),
        }
    }
}

/// Returns the offsets of a valid matrix in 64 bits. A copy takes 8 bytes per row.
pub fn wide<'a, K: KernelExecutor>(executor: &K, offsets: &'a Offsets<K::Memory>) -> Result<WideOffsets<'a, K>, Error> {
    match offsets {
        Offsets::Wide(offsets) => Ok(WideOffsets::Own(offsets)),
        Offsets::Narrow(offsets) => {
            let rows = offsets.len() - 1;
            let mut lengths = executor.unwritten(rows)?;
            let kernel = RowLengths {
                rows: rows as u32,
                skipped: 0,
                row_offsets: offsets.global(),
                lengths: lengths.global_mut(),
            };
            // SAFETY: the offsets are those of a valid matrix, by the caller, and there is a length for each row.
            unsafe { launch(executor, executor.device().grid(rows as u64), kernel) }?;
            Ok(WideOffsets::Copy(Scan::new(executor, &lengths)?.offsets_of(1)?))
        }
    }
}
