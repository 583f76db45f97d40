//! The transpose of a matrix in COO times a vector.

use cuda_std::launch::Launch;
use gpu_kernels::transposed::CooTransposed;

use crate::device::Device;
use crate::error::Error;
use crate::format::Coo;
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::transposed::{self, Sums, entries_of_part};
use crate::spmv::{HostOperands, Vectors};

/// The launches of y ← α Aᵀ x + β y.
pub(super) fn launches<T: Scalar, M: Memory>(matrix: &Coo<T, M>, vectors: Vectors<T>, device: &Device) -> Vec<Launch> {
    let nnz = matrix.nnz() as u64;
    let Vectors { alpha, x, y, .. } = vectors;
    let kernel = CooTransposed {
        nnz,
        row_indices: matrix.row_indices().global(),
        column_indices: matrix.column_indices().global(),
        values: matrix.values().global(),
        alpha,
        x,
        y,
    };
    vec![vectors.scale(matrix.columns(), device), Launch::new(device.grid(nnz), kernel)]
}

/// Multiplies the transpose on the CPU, in parallel.
///
/// # Errors
/// When memory runs out.
pub(super) fn multiply_on_cpu<T: Scalar>(matrix: &Coo<T>, operands: HostOperands<'_, T>) -> Result<(), Error> {
    let x = operands.x;
    transposed::multiply_on_cpu(matrix.nnz(), matrix.columns(), operands, |part, parts| sums(matrix, part, parts, x))
}

fn sums<T: Scalar>(matrix: &Coo<T>, part: usize, parts: usize, x: &[T]) -> Result<Sums<T>, Error> {
    let entries = entries_of_part(matrix.nnz(), part, parts);
    let columns = &matrix.column_indices()[entries.clone()];
    let rows = &matrix.row_indices()[entries.clone()];
    let mut sums = Sums::for_columns(columns)?;
    for ((&column, &row), &value) in columns.iter().zip(rows).zip(&matrix.values()[entries]) {
        sums.add_product(column, value, x[row as usize]);
    }
    Ok(sums)
}
