//! Matrix values of a plan that are stored narrower than they are computed with.

use crate::error::Error;
use crate::executor::Executor;
use crate::format::narrow::Recipe;
use crate::format::{Csr, FillLimit, Format, Matrix, Narrow, ValueStorage};
use crate::memory::Memory;
use crate::real::Scalar;

impl<T: Scalar, M: Memory> Csr<T, M> {
    /// [`convert`](Self::convert), with values stored as `values` specifies.
    ///
    /// # Errors
    /// As for [`convert`](Self::convert), and when the format cannot multiply such values, or the type cannot hold them.
    #[doc(hidden)]
    pub fn convert_with_values<E: Executor<Memory = M>>(
        self,
        executor: &E,
        format: Format,
        limit: FillLimit,
        values: ValueStorage,
    ) -> Result<Matrix<T, M>, Error> {
        let recipe = recipe(executor, &self, format, values, false)?;
        narrowed(executor, self.convert(executor, format, limit)?, format, recipe.as_ref())
    }
}

/// How the values of a matrix in an executor's memory are stored in `format`; `None` if they stay as they are. `updates`
/// tells whether values will be replaced.
///
/// # Errors
/// When the format does not multiply such values, or they cannot be stored that way.
pub(super) fn recipe<T: Scalar, E: Executor>(
    executor: &E,
    matrix: &Csr<T, E::Memory>,
    format: Format,
    values: ValueStorage,
    updates: bool,
) -> Result<Option<Recipe<T>>, Error> {
    match values {
        ValueStorage::Full | ValueStorage::Automatic => Ok(None),
        ValueStorage::Lossless if !format.multiplies_narrow() => Ok(None),
        ValueStorage::Rounded(_) if !format.multiplies_narrow() => Err(format.multiplies_no_narrow_values()),
        _ if updates => Err(no_updates(format)),
        values => Recipe::new(executor, matrix, values),
    }
}

/// The error for new values in a narrow type.
pub(super) fn no_updates(format: Format) -> Error {
    Error::Unsupported { format: format.name(), operation: "new values in a narrow type" }
}

/// A matrix with its values stored by a recipe, if there is one and the format can multiply such values.
pub(super) fn narrowed<T: Scalar, E: Executor>(
    executor: &E,
    matrix: Matrix<T, E::Memory>,
    format: Format,
    recipe: Option<&Recipe<T>>,
) -> Result<Matrix<T, E::Memory>, Error> {
    match recipe {
        // A sum of entries is another number.
        Some(recipe) if matrix.nnz() != recipe.entries => match recipe.is_optional {
            true => Ok(matrix),
            false => Err(Error::Unsupported { format: format.name(), operation: "sums of entries in a narrow type" }),
        },
        Some(recipe) if recipe.is_optional && recipe.has_full_table() && matrix.marks_absence() => Ok(matrix),
        Some(recipe) if format.multiplies_narrow() => Ok(Narrow::new(executor, matrix, recipe)?.into()),
        _ => Ok(matrix),
    }
}
