//! Incomplete LU factors with the pattern of the matrix.

use host::error::Error;
use host::executor::Executor;
use host::format::Csr;
use host::memory::{filled, zeros};
use host::real::Scalar;

use super::coloured::Coloured;
use super::colouring::Read;
use super::factors::{
    Factor, Factorization, NOWHERE, Sorted, beside_diagonal, inverse, nowhere, rounded, shifted_diagonal,
    take_beside_diagonal,
};
use super::name::TriangularSolver;
use super::recipe::{PreconditionerOptions, Recipe, inverse_of, reciprocal};
use crate::levels::Side;

/// Factorises on the host and moves the factors to the executor.
pub(super) fn recipe<T: Scalar, E: Executor>(
    executor: &E,
    matrix: &Csr<T>,
    solver: TriangularSolver,
    options: PreconditionerOptions,
) -> Result<Recipe<T, E>, Error> {
    let inverse = match solver {
        TriangularSolver::Colours => {
            let coloured = Coloured::new(matrix, Read::All, |permuted| Ilu0::new(permuted, options))?;
            inverse(executor, matrix, coloured, solver, options)
        }
        _ => inverse(executor, matrix, Ilu0::new(matrix, options)?, solver, options),
    }?;
    Ok(Recipe { inverse, symmetric: false, scalars: vec![] })
}

/// ILU(0) of matrices of one pattern, in 64 bits. Takes twice the memory of the matrix, besides the factors.
pub(super) struct Ilu0<T: Scalar> {
    options: PreconditionerOptions,
    /// The matrix, unless its rows are sorted.
    sorted: Option<Sorted<T>>,
    lower: Csr<T::Wide>,
    upper: Csr<T::Wide>,
    /// One over the diagonal of U.
    inverse_diagonal: Vec<T::Wide>,
    /// The indices of a row's entries, by column: in L below the diagonal, in U above it.
    places: Vec<usize>,
}

impl<T: Scalar> Ilu0<T> {
    pub(super) fn new(matrix: &Csr<T>, options: PreconditionerOptions) -> Result<Self, Error> {
        let sorted = Sorted::of(matrix)?;
        let pattern = sorted.as_ref().map_or(matrix, Sorted::pattern);
        let (lower, upper) = (beside_diagonal(pattern, Side::Lower)?, beside_diagonal(pattern, Side::Upper)?);
        let (inverse_diagonal, places) = (zeros(matrix.rows())?, nowhere(matrix.rows())?);
        Ok(Self { options, sorted, lower, upper, inverse_diagonal, places })
    }
}

impl<T: Scalar> Factorization<T> for Ilu0<T> {
    /// Factorises row by row, sequentially (Saad 2003, algorithm 10.4): O(sum over the entries below the diagonal of the
    /// length of the row of U at their column). A missing diagonal element counts as a stored 0.
    fn factorize(&mut self, matrix: &Csr<T>) -> Result<[Factor<'_, T>; 2], Error> {
        let Self { sorted, lower, upper, inverse_diagonal, places, .. } = self;
        let (options, rows) = (self.options, matrix.rows());
        let matrix = sorted.as_mut().map_or(matrix, |sorted| sorted.with_values(matrix.values()));
        take_beside_diagonal(matrix, Side::Lower, lower);
        take_beside_diagonal(matrix, Side::Upper, upper);
        // A failed factorisation leaves some set.
        places.fill(NOWHERE);
        let subtract = |value: &mut T::Wide, product| *value = *value - product;
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
                        _ if column == row => diagonal = diagonal - product,
                        NOWHERE => {}
                        place if column < row => subtract(&mut lower.values_mut()[place], product),
                        place => subtract(&mut upper.values_mut()[place], product),
                    }
                }
            }
            below.for_each(|place| places[lower.column_indices()[place] as usize] = NOWHERE);
            above.for_each(|place| places[upper.column_indices()[place] as usize] = NOWHERE);
            // As it is stored: possibly not finite in 32 bits.
            reciprocal::<T>("ILU(0)", row, diagonal)?;
            inverse_diagonal[row] = inverse_of(diagonal);
        }
        let ones = filled(rows, T::ONE)?;
        Ok([
            Factor { side: Side::Lower, beside_diagonal: lower, inverse_diagonal: ones, elements: None },
            Factor {
                side: Side::Upper,
                beside_diagonal: upper,
                inverse_diagonal: rounded(inverse_diagonal)?,
                elements: None,
            },
        ])
    }
}
