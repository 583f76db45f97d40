//! Incomplete Cholesky factors with the entries of the matrix.

use host::error::Error;
use host::executor::Executor;
use host::format::Csr;
use host::memory::{copy, zeros};
use host::real::Real;

use super::factors::{Factor, NOWHERE, beside_diagonal, inverse, nowhere, rounded, shifted_diagonal};
use super::name::TriangularSolver;
use super::recipe::{PreconditionerOptions, Recipe};
use crate::triangular::Side;

/// Factorises on the host and moves the factors, L and Lᵀ, to the executor.
pub(super) fn recipe<T: Real, E: Executor>(
    executor: &E,
    matrix: &Csr<T>,
    solver: TriangularSolver,
    options: PreconditionerOptions,
) -> Result<Recipe<T, E>, Error> {
    let lower = factorize(matrix, options)?;
    let upper = Factor {
        side: Side::Upper,
        beside_diagonal: lower.beside_diagonal.transposed()?,
        inverse_diagonal: copy(&lower.inverse_diagonal)?,
    };
    let inverse = inverse(executor, lower, upper, solver, options)?;
    Ok(Recipe { inverse, symmetric: true, scalars: vec![] })
}

/// IC(0), row by row in 64 bits, one after the other: O(sum over the entries below the diagonal of the length of the row
/// of L that they meet). Takes the memory of the matrix one and a half times, besides the factors. A diagonal element
/// that is not stored is taken as 0.
fn factorize<T: Real>(matrix: &Csr<T>, options: PreconditionerOptions) -> Result<Factor<T>, Error> {
    let rows = matrix.rows();
    let mut matrix = matrix.try_clone()?;
    matrix.sort_rows()?;
    matrix.sum_duplicates()?;
    let mut lower = beside_diagonal(&matrix, Side::Lower)?;
    let mut inverse_diagonal = zeros::<f64>(rows)?;
    // Where the entries of this row are.
    let mut places = nowhere(rows)?;
    for row in 0..rows {
        let read = matrix.row(row).filter(|&(column, _)| column as usize <= row);
        let mut pivot = shifted_diagonal(options, row, read);
        let below = lower.range(row);
        for place in below.clone() {
            let column = lower.column_indices()[place] as usize;
            let mut value = lower.values()[place];
            for entry in lower.range(column) {
                // Elements of this row before `place`, which are done.
                if let Some(left) = lower.values().get(places[lower.column_indices()[entry] as usize]) {
                    value -= left * lower.values()[entry];
                }
            }
            value *= inverse_diagonal[column];
            pivot -= value * value;
            lower.values_mut()[place] = value;
            places[column] = place;
        }
        below.for_each(|place| places[lower.column_indices()[place] as usize] = NOWHERE);
        let inverse = 1.0 / pivot.sqrt();
        // Written so that a NaN is refused.
        if !(pivot > 0.0 && pivot.is_finite() && T::from_f64(inverse).to_f64().is_finite()) {
            let expected =
                "a finite number greater than 0: a diagonal shift may help if the matrix is positive definite";
            return Err(Error::Pivot { operation: "IC(0)", row, pivot, expected });
        }
        inverse_diagonal[row] = inverse;
    }
    let inverse_diagonal = rounded(&inverse_diagonal)?;
    Ok(Factor { side: Side::Lower, beside_diagonal: lower.cast()?, inverse_diagonal })
}
