//! The diagonal of a level's matrix, on the host.

use gpu_kernels::multigrid::diagonal::inverse_and_bound;
use gpu_kernels::multigrid::numbers::magnitude_of;
use host::error::Error;
use host::format::Csr;
use host::memory::collect;
use host::parallel;
use host::real::Scalar;

use super::super::AT_ONCE;
use super::{Divisor, InverseDiagonal, no_inverse};
use crate::preconditioner::shown;

/// [`InvertDiagonal`](super::InvertDiagonal) on the host.
pub(super) fn inverse_diagonal<W: Scalar<Real = f64, Wide = W>>(
    matrix: &Csr<W>,
    divisor: Divisor,
) -> Result<InverseDiagonal<W>, Error> {
    let of_row = |row: usize| {
        let (mut diagonal, mut sum) = (W::ZERO, 0.0);
        for (column, value) in matrix.row(row) {
            sum += magnitude_of(value);
            if column as usize == row {
                diagonal = diagonal + value;
            }
        }
        inverse_and_bound(diagonal, sum, divisor == Divisor::RowSum).ok_or_else(|| shown(diagonal))
    };
    let rows = parallel::map(matrix.rows(), AT_ONCE, &of_row)?;
    if let Some((row, &Err(pivot))) = rows.iter().enumerate().find(|(_, result)| result.is_err()) {
        return Err(no_inverse(row, pivot));
    }
    let of_rows = rows.iter().map(|result| result.unwrap_or_default());
    // Bounds are rounded up to 32 bits because kernels compute a maximum of 32-bit numbers. The bits of a NaN exceed those
    // of all other numbers, which have no sign.
    let bound = of_rows.clone().map(|(_, bound)| bound).max().unwrap_or_default();
    Ok(InverseDiagonal {
        bound: f32::from_bits(bound).into(),
        positive: of_rows.clone().all(|(inverse, _)| {
            let [re, im] = inverse.parts();
            re >= 0.0 && im == 0.0
        }),
        elements: collect(of_rows.map(|(inverse, _)| inverse))?,
    })
}
