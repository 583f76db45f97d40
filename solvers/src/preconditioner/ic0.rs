//! Incomplete Cholesky factors with the pattern of the matrix.

use cuda_std::GpuScalar;
use host::error::Error;
use host::executor::Executor;
use host::format::Csr;
use host::memory::zeros;
use host::real::Scalar;

use super::coloured::Coloured;
use super::colouring::Read;
use super::factors::{
    Factor, Factorization, NOWHERE, Sorted, beside_diagonal, inverse, nowhere, rounded, shifted_diagonal,
    take_beside_diagonal,
};
use super::name::TriangularSolver;
use super::recipe::{PreconditionerOptions, Recipe};
use crate::levels::Side;

/// Factorises on the host and moves the factors, L and Lᴴ, to the executor.
pub(super) fn recipe<T: Scalar, E: Executor>(
    executor: &E,
    matrix: &Csr<T>,
    solver: TriangularSolver,
    options: PreconditionerOptions,
) -> Result<Recipe<T, E>, Error> {
    let inverse = match solver {
        TriangularSolver::Colours => {
            let coloured = Coloured::new(matrix, Read::Lower, |permuted| Ic0::new(permuted, options))?;
            inverse(executor, matrix, coloured, solver, options)
        }
        _ => inverse(executor, matrix, Ic0::new(matrix, options)?, solver, options),
    }?;
    Ok(Recipe { inverse, symmetric: !T::COMPLEX, scalars: vec![] })
}

/// IC(0) of matrices of one pattern, in 64 bits. Takes one and a half times the memory of the matrix, besides the factors.
pub(super) struct Ic0<T: Scalar> {
    options: PreconditionerOptions,
    /// The matrix, unless its rows are sorted.
    sorted: Option<Sorted<T>>,
    lower: Csr<T::Wide>,
    /// Lᴴ.
    upper: Csr<T::Wide>,
    inverse_diagonal: Vec<T::Wide>,
    /// The indices of a row's entries, by column.
    places: Vec<usize>,
}

impl<T: Scalar> Ic0<T> {
    pub(super) fn new(matrix: &Csr<T>, options: PreconditionerOptions) -> Result<Self, Error> {
        let sorted = Sorted::of(matrix)?;
        let lower = beside_diagonal(sorted.as_ref().map_or(matrix, Sorted::pattern), Side::Lower)?;
        let (inverse_diagonal, places) = (zeros(matrix.rows())?, nowhere(matrix.rows())?);
        Ok(Self { options, sorted, upper: lower.transposed()?, lower, inverse_diagonal, places })
    }
}

impl<T: Scalar> Factorization<T> for Ic0<T> {
    /// Factorises row by row, sequentially: O(sum over the entries below the diagonal of the length of the row of L at
    /// their column). A missing diagonal element counts as 0; that of a Hermitian matrix is real, and its imaginary part is
    /// ignored.
    fn factorize(&mut self, matrix: &Csr<T>) -> Result<[Factor<'_, T>; 2], Error> {
        let Self { sorted, lower, upper, inverse_diagonal, places, .. } = self;
        let (options, rows) = (self.options, matrix.rows());
        let matrix = sorted.as_mut().map_or(matrix, |sorted| sorted.with_values(matrix.values()));
        take_beside_diagonal(matrix, Side::Lower, lower);
        // A failed factorisation leaves some set.
        places.fill(NOWHERE);
        for row in 0..rows {
            let read = matrix.row(row).filter(|&(column, _)| column as usize <= row);
            let [mut pivot, _] = shifted_diagonal(options, row, read).parts();
            let below = lower.range(row);
            for place in below.clone() {
                let column = lower.column_indices()[place] as usize;
                let mut value = lower.values()[place];
                for entry in lower.range(column) {
                    // Elements of this row before `place`, which are final.
                    if let Some(left) = lower.values().get(places[lower.column_indices()[entry] as usize]) {
                        value = value - *left * lower.values()[entry].conjugate();
                    }
                }
                value = value * inverse_diagonal[column];
                let [re, im] = value.parts();
                pivot -= re * re + im * im;
                lower.values_mut()[place] = value;
                places[column] = place;
            }
            below.for_each(|place| places[lower.column_indices()[place] as usize] = NOWHERE);
            let inverse = 1.0 / pivot.sqrt();
            // Written so that a NaN is rejected.
            if !(pivot > 0.0 && pivot.is_finite() && T::from_f64(inverse).is_finite()) {
                let expected =
                    "a finite number greater than 0: a diagonal shift may help if the matrix is positive definite";
                return Err(Error::Pivot { operation: "IC(0)", row, pivot, expected });
            }
            inverse_diagonal[row] = T::Wide::from_f64(inverse);
        }
        take_conjugate_transpose(lower, upper, places);
        let (of_lower, of_upper) = (rounded(inverse_diagonal)?, rounded(inverse_diagonal)?);
        Ok([
            Factor { side: Side::Lower, beside_diagonal: lower, inverse_diagonal: of_lower, elements: None },
            Factor { side: Side::Upper, beside_diagonal: upper, inverse_diagonal: of_upper, elements: None },
        ])
    }
}

/// Copies the values of a matrix to its conjugate transpose. `next` is a workspace with one element per row of the
/// transpose.
fn take_conjugate_transpose<W: Scalar>(matrix: &Csr<W>, transposed: &mut Csr<W>, next: &mut [usize]) {
    next.iter_mut().enumerate().for_each(|(row, next)| *next = transposed.range(row).start);
    let values = transposed.values_mut();
    for row in 0..matrix.rows() {
        for (column, value) in matrix.row(row) {
            let next = &mut next[column as usize];
            values[*next] = value.conjugate();
            *next += 1;
        }
    }
}
