//! The inverse of the diagonal.

use host::error::Error;
use host::executor::Executor;
use host::format::Csr;
use host::plan::Vector;
use host::real::Real;

use super::recipe::{Inverse, Recipe, inverse_diagonal};
use crate::dense::{Multiplied, ONE, Space};

/// One over the diagonal.
struct Jacobi<T: Real, E: Executor>(Vector<T, E>);

const OPERATION: &str = "Jacobi";

/// O(nnz); a vector in the executor's memory.
pub(super) fn recipe<T: Real, E: Executor>(executor: &E, matrix: &Csr<T>) -> Result<Recipe<T, E>, Error> {
    let inverse = Jacobi(executor.upload(inverse_diagonal(OPERATION, matrix)?)?);
    Ok(Recipe { inverse: Box::new(inverse), symmetric: true, scalars: vec![] })
}

impl<T: Real, E: Executor> Inverse<T, E> for Jacobi<T, E> {
    fn apply(&mut self, space: &mut Space<E>, r: &Vector<T, E>, z: &mut Vector<T, E>) -> Result<(), Error> {
        space.pass(Multiplied, [ONE], [&self.0, r], [z])
    }

    fn update(&mut self, space: &mut Space<E>, matrix: &mut Csr<T>) -> Result<(), Error> {
        let executor = space.executor();
        executor.copy(&executor.upload(inverse_diagonal(OPERATION, matrix)?)?, &mut self.0)
    }
}
