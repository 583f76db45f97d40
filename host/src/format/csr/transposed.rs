//! Transpose of a matrix in CSR times a vector.

use cuda_std::launch::Launch;
use gpu_kernels::transposed::{CsrConjugateTransposed, CsrTransposed};

use super::balanced::with_offsets;
use super::lanes::lanes_for;
use crate::device::Device;
use crate::error::Error;
use crate::format::{Csr, Offsets};
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::transposed::{self, Sums, Transposition, entries_of_part};
use crate::spmv::{HostOperands, Vectors};

/// Returns the launches of y ← α Aᵀ x + β y, or the same with Aᴴ.
pub(super) fn launches<T: Scalar, M: Memory>(
    matrix: &Csr<T, M>,
    transposition: Transposition,
    vectors: Vectors<T>,
    device: &Device,
) -> Vec<Launch> {
    let lanes = lanes_for(matrix.rows(), matrix.nnz());
    let Vectors { alpha, x, y, .. } = vectors;
    let (rows, column_indices) = (matrix.rows() as u32, matrix.column_indices().global());
    let values = matrix.values().global();
    let call = if transposition.conjugates::<T>() {
        with_offsets!(matrix, offsets => {
            let row_offsets = offsets.global();
            CsrConjugateTransposed { rows, lanes, row_offsets, column_indices, values, alpha, x, y }
        })
    } else {
        with_offsets!(matrix, offsets => {
            let row_offsets = offsets.global();
            CsrTransposed { rows, lanes, row_offsets, column_indices, values, alpha, x, y }
        })
    };
    let grid = device.grid(matrix.rows() as u64 * u64::from(lanes));
    vec![vectors.scale(matrix.columns(), device), Launch { grid, call }]
}

/// Multiplies the transpose on the CPU, in parallel.
///
/// # Errors
/// When memory runs out.
pub(super) fn multiply_on_cpu<T: Scalar>(
    matrix: &Csr<T>,
    transposition: Transposition,
    operands: HostOperands<'_, T>,
) -> Result<(), Error> {
    let x = operands.x;
    transposed::multiply_on_cpu(matrix.nnz(), matrix.columns(), operands, |part, parts| {
        sums(matrix, transposition, (part, parts), x)
    })
}

/// Returns the sums over the rows that begin among the entries of a part.
fn sums<T: Scalar>(
    matrix: &Csr<T>,
    transposition: Transposition,
    (part, parts): (usize, usize),
    x: &[T],
) -> Result<Sums<T>, Error> {
    let entries = entries_of_part(matrix.nnz(), part, parts);
    let first_row_from = |entry| match matrix.row_offsets() {
        Offsets::Narrow(offsets) => offsets.partition_point(|&offset| (offset as usize) < entry),
        Offsets::Wide(offsets) => offsets.partition_point(|&offset| (offset as usize) < entry),
    };
    let rows = first_row_from(entries.start)..first_row_from(entries.end);
    let entries = matrix.row_offsets().get(rows.start)..matrix.row_offsets().get(rows.end);
    let mut sums = Sums::for_columns(&matrix.column_indices()[entries])?;
    for row in rows {
        let element = x[row];
        matrix.row(row).for_each(|(column, value)| sums.add_product(column, transposition.of(value), element));
    }
    Ok(sums)
}
