//! Transpose of a matrix in COO times a vector.

use cuda_std::launch::{Call, Launch};
use gpu_kernels::transposed::{CooConjugateTransposed, CooTransposed};

use crate::device::Device;
use crate::error::Error;
use crate::format::Coo;
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::transposed::{self, Sums, Transposition, entries_of_part};
use crate::spmv::{HostOperands, Vectors};

/// Returns the launches of y ← α Aᵀ x + β y, or the same with Aᴴ.
pub(super) fn launches<T: Scalar, M: Memory>(
    matrix: &Coo<T, M>,
    transposition: Transposition,
    vectors: Vectors<T>,
    device: &Device,
) -> Vec<Launch> {
    let nnz = matrix.nnz() as u64;
    let Vectors { alpha, x, y, .. } = vectors;
    let (row_indices, column_indices) = (matrix.row_indices().global(), matrix.column_indices().global());
    let values = matrix.values().global();
    let call = if transposition.conjugates::<T>() {
        Call::new(CooConjugateTransposed { nnz, row_indices, column_indices, values, alpha, x, y })
    } else {
        Call::new(CooTransposed { nnz, row_indices, column_indices, values, alpha, x, y })
    };
    vec![vectors.scale(matrix.columns(), device), Launch { grid: device.grid(nnz), call }]
}

/// Multiplies the transpose on the CPU, in parallel.
///
/// # Errors
/// When memory runs out.
pub(super) fn multiply_on_cpu<T: Scalar>(
    matrix: &Coo<T>,
    transposition: Transposition,
    operands: HostOperands<'_, T>,
) -> Result<(), Error> {
    let x = operands.x;
    transposed::multiply_on_cpu(matrix.nnz(), matrix.columns(), operands, |part, parts| {
        sums(matrix, transposition, (part, parts), x)
    })
}

fn sums<T: Scalar>(
    matrix: &Coo<T>,
    transposition: Transposition,
    (part, parts): (usize, usize),
    x: &[T],
) -> Result<Sums<T>, Error> {
    let entries = entries_of_part(matrix.nnz(), part, parts);
    let columns = &matrix.column_indices()[entries.clone()];
    let rows = &matrix.row_indices()[entries.clone()];
    let mut sums = Sums::for_columns(columns)?;
    for ((&column, &row), &value) in columns.iter().zip(rows).zip(&matrix.values()[entries]) {
        sums.add_product(column, transposition.of(value), x[row as usize]);
    }
    Ok(sums)
}
