//! Incomplete LU factors with the entries of the matrix.

use host::error::Error;
use host::executor::Executor;
use host::format::Csr;
use host::memory::zeros;
use host::real::Real;

use super::factors::{Factor, NOWHERE, beside_diagonal, inverse, nowhere, rounded, shifted_diagonal};
use super::name::TriangularSolver;
use super::recipe::{PreconditionerOptions, Recipe, reciprocal};
use crate::triangular::Side;

/// Factorises on the host and moves the factors to the executor.
pub(super) fn recipe<T: Real, E: Executor>(
    executor: &E,
    matrix: &Csr<T>,
    solver: TriangularSolver,
    options: PreconditionerOptions,
) -> Result<Recipe<T, E>, Error> {
    let (lower, upper) = factorize(matrix, options)?;
    let inverse = inverse(executor, lower, upper, solver, options)?;
    Ok(Recipe { inverse, symmetric: false, scalars: vec![] })
}

/// ILU(0), row by row in 64 bits (Saad 2003, algorithm 10.4), one after the other: O(sum over the entries below the
/// diagonal of the length of the row of U that they meet). Takes the memory of the matrix twice, besides the factors. A
/// diagonal element that is not stored is taken as 0, and as a place of the factors.
fn factorize<T: Real>(matrix: &Csr<T>, options: PreconditionerOptions) -> Result<(Factor<T>, Factor<T>), Error> {
    let rows = matrix.rows();
    let mut matrix = matrix.try_clone()?;
    matrix.sort_rows()?;
    matrix.sum_duplicates()?;
    let (mut lower, mut upper) = (beside_diagonal(&matrix, Side::Lower)?, beside_diagonal(&matrix, Side::Upper)?);
    let mut inverse_diagonal = zeros::<f64>(rows)?;
    // Where the entries of this row are: those below the diagonal in L, those above it in U.
    let mut places = nowhere(rows)?;
    for row in 0..rows {
        let mut diagonal = shifted_diagonal(options, row, matrix.row(row));
        let (below, above) = (lower.range(row), upper.range(row));
        below.clone().for_each(|place| places[lower.column_indices()[place] as usize] = place);
        above.clone().for_each(|place| places[upper.column_indices()[place] as usize] = place);
        for place in below.clone() {
            let pivot_row = lower.column_indices()[place] as usize;
            let factor = lower.values()[place] * inverse_diagonal[pivot_row];
            lower.values_mut()[place] = factor;
            for entry in upper.range(pivot_row) {
                let (column, product) = (upper.column_indices()[entry] as usize, factor * upper.values()[entry]);
                match places[column] {
                    _ if column == row => diagonal -= product,
                    NOWHERE => {}
                    place if column < row => lower.values_mut()[place] -= product,
                    place => upper.values_mut()[place] -= product,
                }
            }
        }
        below.for_each(|place| places[lower.column_indices()[place] as usize] = NOWHERE);
        above.for_each(|place| places[upper.column_indices()[place] as usize] = NOWHERE);
        // As it is stored, which may not be finite in 32 bits.
        reciprocal::<T>("ILU(0)", row, diagonal)?;
        inverse_diagonal[row] = 1.0 / diagonal;
    }
    let upper_diagonal = rounded(&inverse_diagonal)?;
    inverse_diagonal.fill(1.0);
    let lower_diagonal = rounded(&inverse_diagonal)?;
    Ok((
        Factor { side: Side::Lower, beside_diagonal: lower.cast()?, inverse_diagonal: lower_diagonal },
        Factor { side: Side::Upper, beside_diagonal: upper.cast()?, inverse_diagonal: upper_diagonal },
    ))
}
