//! The diagonal of a level's matrix, on the host.

use host::error::Error;
use host::format::Csr;
use host::memory::collect;
use host::parallel;
use host::real::Scalar;

use super::super::AT_ONCE;
use super::{Divisor, InverseDiagonal, no_inverse};
use crate::preconditioner::{inverse_of, shown};

/// What [`InvertDiagonal`](super::InvertDiagonal) does.
pub(super) fn inverse_diagonal<W: Scalar<Real = f64, Wide = W>>(
    matrix: &Csr<W>,
    divisor: Divisor,
) -> Result<InverseDiagonal<W>, Error> {
    let of_row = |row: usize| {
        let (mut diagonal, mut sum) = (W::ZERO, 0.0);
        for (column, value) in matrix.row(row) {
            sum += value.magnitude();
            if column as usize == row {
                diagonal = diagonal + value;
            }
        }
        if sum == 0.0 {
            return Ok((W::ZERO, 0.0));
        }
        let magnitude = diagonal.magnitude();
        let inverse = inverse_of(match divisor {
            Divisor::RowSum => W::from_f64(sum / magnitude) * diagonal,
            Divisor::Diagonal => diagonal,
        });
        if magnitude > 0.0 && inverse.is_finite() && inverse.magnitude() > 0.0 {
            Ok((inverse, inverse.magnitude() * sum))
        } else {
            Err(shown(diagonal))
        }
    };
    let rows = parallel::map(matrix.rows(), AT_ONCE, &of_row)?;
    if let Some((row, &Err(pivot))) = rows.iter().enumerate().find(|(_, result)| result.is_err()) {
        return Err(no_inverse(row, pivot));
    }
    let of_rows = rows.iter().map(|result| result.unwrap_or_default());
    // Not by f64::max, which passes over NaN.
    let larger = |a: f64, b: f64| if a >= b || a.is_nan() { a } else { b };
    Ok(InverseDiagonal {
        bound: of_rows.clone().map(|(_, bound)| bound).fold(0.0, larger),
        positive: of_rows.clone().all(|(inverse, _)| {
            let [re, im] = inverse.parts();
            re >= 0.0 && im == 0.0
        }),
        elements: collect(of_rows.map(|(inverse, _)| inverse))?,
    })
}
