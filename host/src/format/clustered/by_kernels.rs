//! Conversion by kernels: the parts grow on the host, which needs the pattern alone, and the slots are filled where the
//! matrix is.

use cuda_std::launch::Grid;
use gpu_kernels::convert::clustered::ClusteredFromCsr;

use super::parts::Parts;
use super::{Slices, most};
use crate::convert::primitives::launch;
use crate::convert::width::each_width;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::{Clustered, Csr, FillLimit, PartSize};
use crate::memory::Buffer;
use crate::real::Scalar;

/// Converts `matrix`. Takes the pattern in host memory while it runs.
///
/// # Errors
/// As for [`Clustered::try_from_csr`], and when the device fails.
pub(super) fn from_csr<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: &Csr<T, K::Memory>,
    part_size: PartSize,
    limit: FillLimit,
) -> Result<Clustered<T, K::Memory>, Error> {
    let Slices { parts, slice_begins, words } =
        Slices::new(&matrix.pattern_to_host(executor)?, part_size, matrix.bytes(), limit)?;
    let Parts { part_begins, row_numbers, column_begins, column_numbers, .. } = parts;
    let blocks = part_begins.len() as u32 - 1;
    let mut converted: Clustered<T, K::Memory> = Clustered {
        rows: matrix.rows(),
        columns: matrix.columns(),
        stored: matrix.nnz(),
        part_size,
        most_columns: most(&column_begins),
        part_begins: executor.upload(part_begins)?,
        row_numbers: executor.upload(row_numbers)?,
        column_begins: executor.upload(column_begins)?,
        column_numbers: executor.upload(column_numbers)?,
        slice_begins: executor.upload(slice_begins)?,
        local_columns: executor.unwritten(words)?,
        values: executor.unwritten(2 * words)?,
    };
    let threads_per_block = executor.device().tuning.threads_per_block();
    each_width!(matrix.row_offsets(), offsets => {
        let kernel = ClusteredFromCsr {
            part_begins: converted.part_begins.global(),
            column_begins: converted.column_begins.global(),
            column_numbers: converted.column_numbers.global(),
            row_numbers: converted.row_numbers.global(),
            slice_begins: converted.slice_begins.global(),
            row_offsets: offsets.global(),
            column_indices: matrix.column_indices().global(),
            values: matrix.values().global(),
            local_columns: converted.local_columns.global_mut(),
            new_values: converted.values.global_mut(),
        };
        // SAFETY: the matrix is valid, the parts and the widths of slices are its own, and the arrays are as long as
        // these.
        unsafe { launch(executor, Grid { blocks, threads_per_block, shared_bytes: 0 }, kernel) }
    })?;
    Ok(converted)
}
