//! The inverse of the diagonal.

use host::error::Error;
use host::executor::Executor;
use host::format::Csr;
use host::plan::Vector;
use host::real::Scalar;

use super::diagonal::Diagonal;
use super::recipe::{Inverse, PreconditionerOptions, Recipe, inverse_diagonal};
use crate::dense::Space;

/// One over the diagonal.
struct Jacobi<T: Scalar, E: Executor>(Diagonal<T, E>);

const OPERATION: &str = "Jacobi";

/// O(nnz); takes a vector in the executor's memory.
pub(super) fn recipe<T: Scalar, E: Executor>(
    executor: &E,
    matrix: &Csr<T>,
    options: PreconditionerOptions,
) -> Result<Recipe<T, E>, Error> {
    let inverse = Jacobi(Diagonal::new(executor, inverse_diagonal(OPERATION, matrix)?, options.updates)?);
    Ok(Recipe { inverse: Box::new(inverse), symmetric: true, scalars: vec![] })
}

impl<T: Scalar, E: Executor> Inverse<T, E> for Jacobi<T, E> {
    fn apply(&mut self, space: &mut Space<E>, r: &Vector<T, E>, z: &mut Vector<T, E>) -> Result<(), Error> {
        self.0.apply(space, r, z)
    }

    fn update(&mut self, space: &mut Space<E>, matrix: &mut Csr<T>) -> Result<(), Error> {
        let executor = space.executor();
        let new = self.0.new_values(executor, inverse_diagonal(OPERATION, matrix)?)?;
        self.0.take_values(executor, new)
    }
}
